/* SPDX-License-Identifier: MIT */
/* What a dialect copies from one session to another, and keeps with one. */
#include "engine/file.h"

/* Up to the last place where every call has its result. */
static size_t whole_part(const struct message *m, size_t n)
{
    for (size_t i = n; i-- > 0;) {
        if (m[i].role == ROLE_TOOL)
            continue;
        return message_n_calls(&m[i]) > n - i - 1 ? i : n;
    }
    return n;
}

bool session_copy_await(struct session *from, size_t n, bool reads, struct session *to,
                        struct error *err)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t n_all;
    session_refresh_await(from);
    const struct message *m = session_messages(from, &a, &n_all);
    bool ok = true;
    n = whole_part(m, MIN(n, n_all));
    session_hold(to);
    ok = session_need_file_await(to, err);
    for (size_t i = 0; ok && i < n; i++) {
        AUTO(buf) struct buf line = BUF_INIT;
        struct message copy = message_copy(&to->history.arena, &m[i]);
        copy.entry_id = STR_NONE;
        record_copy(&line, &copy);
        ok = session_write(to, buf_str(&line), err);
        history_keep(&to->history, &copy, NULL);
        to->history.was_ever_used = true;
    }
    if (reads) {
        read_set_free(to->reads);
        to->reads = read_set_copy(from->reads);
    }
    ok = ok && session_sync_through_await(to, err);
    session_measure(to);
    session_release(to);
    return ok;
}

struct str session_memory(struct session *s)
{
    return str_of(s->memory);
}

bool session_set_memory(struct session *s, struct str members, struct error *err)
{
    AUTO(buf) struct buf line = BUF_INIT;
    record_memory(&line, members);
    free(s->memory);
    s->memory = str_dup(buf_str(&line));
    s->owes_memory = s->has_file && !s->log;
    session_flush(s);
    return !s->log || session_write(s, buf_str(&line), err);
}
