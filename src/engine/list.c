/* SPDX-License-Identifier: MIT */
#include "engine/list.h"

#include "base/path.h"
#include "engine/form.h"
#include "engine/history.h"
#include "store/scan.h"

#include <sys/stat.h>

struct list_work {
    struct arena *arena;
    struct str dir;
    bool is_deep;
    size_t limit;
    struct session_list list;
    struct error err;
    bool ok;
};

static void read_list(void *arg)
{
    struct list_work *l = arg;
    l->ok = list_sessions(l->arena, l->dir, l->is_deep, l->limit, &l->list, &l->err);
}

static bool list_await(struct engine *e, struct list_work *l, struct session_list *ret,
                       struct error *err)
{
    work_through_await(engine_loop(e), read_list, l); /* it cannot be stopped, so it is answered */
    if (!l->ok)
        *err = l->err;
    else
        *ret = l->list;
    return l->ok;
}

bool engine_list_await(struct engine *e, struct arena *a, struct str dir, size_t limit,
                       struct session_list *ret, struct error *err)
{
    struct list_work l = {.arena = a, .dir = dir, .limit = limit};
    return list_await(e, &l, ret, err);
}

bool engine_list_below_await(struct engine *e, struct arena *a, struct str dir,
                             struct session_list *ret, struct error *err)
{
    struct list_work l = {.arena = a, .dir = dir, .is_deep = true};
    return list_await(e, &l, ret, err);
}

/* ---- whole conversations ---- */

struct reading { /* on the thread pool */
    const struct session_settings *settings;
    struct str place; /* a file or a directory */
    struct arena *arena;
    struct saved_chat *chats;
    size_t n;
    struct error err;
    bool ok;
};

static bool read_chat(struct reading *r, struct str path, bool with_messages,
                      struct saved_chat *ret, struct error *err)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct history h = {0};
    struct header hd;
    bool ok = history_load(&h, path, r->settings, &hd, err);
    if (ok && !hd.head.p)
        ok = error_set(err, ERR_CORRUPT, "%.*s has no head", STR_FMT(path));
    if (ok) {
        struct message *all = history_view(&h, r->settings, NULL, (struct history_range){0, h.n},
                                           &a, &ret->n_messages);
        ret->path = arena_str(r->arena, path);
        ret->head = arena_str(r->arena, hd.head);
        ret->messages = with_messages ? arena_array(r->arena, struct message, ret->n_messages + 1)
                                      : NULL;
        for (size_t i = 0; with_messages && i < ret->n_messages; i++)
            ret->messages[i] = message_copy(r->arena, &all[i]);
    }
    history_clear(&h);
    return ok;
}

static void read_one(void *arg)
{
    struct reading *r = arg;
    r->chats = arena_new(r->arena, struct saved_chat);
    r->ok = read_chat(r, r->place, true, r->chats, &r->err);
}

static bool is_wanted(struct reading *r, struct str path)
{
    AUTO_FREE char *z = str_dup(path);
    struct stat st;
    return r->settings->form->is_name(path_base(path)) && lstat(z, &st) == 0 && S_ISREG(st.st_mode);
}

static void read_all(void *arg)
{
    struct reading *r = arg;
    struct session_file *files;
    size_t n_files;
    r->ok = session_files(r->arena, r->place, true, &files, &n_files, &r->err);
    if (!r->ok)
        return;
    r->chats = arena_array(r->arena, struct saved_chat, n_files + 1);
    for (size_t i = 0; i < n_files; i++) {
        struct saved_chat *chat = &r->chats[r->n];
        struct error why;
        if (!is_wanted(r, files[i].path))
            continue;
        *chat = (struct saved_chat){.path = files[i].path};
        if (!read_chat(r, files[i].path, false, chat, &why))
            chat->trouble = arena_str(r->arena, error_str(&why));
        r->n++;
    }
}

static bool run_await(struct engine *e, loop_fn *fn, struct reading *r, struct error *err)
{
    if (!work_await(engine_loop(e), fn, r, NULL, err))
        return false;
    if (!r->ok)
        *err = r->err;
    return r->ok;
}

bool engine_read_await(struct engine *e, const struct session_settings *st, struct str path,
                       struct arena *a, struct saved_chat *ret, struct error *err)
{
    struct reading r = {.settings = st, .place = path, .arena = a};
    if (!run_await(e, read_one, &r, err))
        return false;
    *ret = *r.chats;
    return true;
}

bool engine_read_all_await(struct engine *e, const struct session_settings *st, struct str dir,
                           struct arena *a, struct saved_chats *ret, struct error *err)
{
    struct reading r = {.settings = st, .place = dir, .arena = a};
    if (!run_await(e, read_all, &r, err))
        return false;
    *ret = (struct saved_chats){r.chats, r.n};
    return true;
}
