/* SPDX-License-Identifier: MIT */
#include "dialects/find.h"

#include "base/path.h"
#include "base/utf8.h"

void find_sessions_dir(struct buf *out)
{
    path_xdg(out, "XDG_STATE_HOME", ".local/state");
    buf_addz(out, "/trivet/sessions");
}

static bool list_await(struct engine *e, struct arena *a, struct session_list *ret,
                       struct error *err)
{
    AUTO(buf) struct buf dir = BUF_INIT;
    find_sessions_dir(&dir);
    return engine_list_await(e, a, arena_str(a, buf_str(&dir)), 0, ret, err);
}

bool find_fits(const struct session_row *row, struct str word)
{
    return (word.n >= SHORT_ID && str_starts(row->id, word)) || str_eq(row->name, word);
}

static bool say_several(struct str word, const struct session_row *const *rows, size_t n,
                        struct error *err)
{
    AUTO(buf) struct buf list = BUF_INIT;
    for (size_t i = 0; i < n && i < 5; i++) {
        struct str title = rows[i]->name.p ? rows[i]->name : rows[i]->first_message;
        buf_addf(&list, "%s%.*s (%.*s)", i ? ", " : "", STR_FMT(str_cut(rows[i]->id, 13)),
                 STR_FMT(utf8_cut(title, 30)));
    }
    return error_set(err, ERR_INVALID, "%zu sessions fit %.*s: %.*s%s", n,
                     STR_FMT(str_cut(word, 60)), STR_FMT(buf_str(&list)), n > 5 ? " ..." : "");
}

bool find_session_await(struct engine *e, struct arena *a, struct str word, struct session_row *ret,
                        struct error *err)
{
    struct session_list list;
    size_t n = 0;
    if (!list_await(e, a, &list, err))
        return false;
    const struct session_row **fits = arena_array(a, const struct session_row *, list.n + 1);
    for (size_t i = 0; i < list.n; i++) {
        const struct session_row *row = &list.rows[i];
        if (str_eq(row->id, word)) {
            *ret = *row;
            return true;
        }
        if (find_fits(row, word))
            fits[n++] = row;
    }
    if (n > 1)
        return say_several(word, fits, n, err);
    if (n == 0)
        return error_set(err, ERR_NOT_FOUND,
                         "no session has the id or name %.*s, nor an id that begins so",
                         STR_FMT(str_cut(word, 60)));
    *ret = *fits[0];
    return true;
}

bool find_newest_await(struct engine *e, struct arena *a, struct str workspace,
                       struct session_row *ret, struct error *err)
{
    struct session_list list;
    if (!list_await(e, a, &list, err))
        return false;
    for (size_t i = 0; i < list.n; i++)
        if (str_eq(list.rows[i].cwd, workspace)) {
            *ret = list.rows[i];
            return true;
        }
    return error_set(err, ERR_NOT_FOUND, "there is no session of %.*s to continue",
                     STR_FMT(str_cut(workspace, 200)));
}
