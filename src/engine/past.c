/* SPDX-License-Identifier: MIT */
/* The whole conversation, with what was replaced by summaries: it is in the file only. */
#include "engine/session_impl.h"

struct past { /* on the thread pool */
    const struct session_settings *settings;
    struct str path;
    struct history history;
    bool ok;
};

static void past_read(void *arg)
{
    struct past *p = arg;
    struct error ignored;
    p->ok = history_load_all(&p->history, p->path, p->settings, &ignored);
}

static bool is_compacted(const struct history *h)
{
    return h->n > 0 && h->messages[0].role == ROLE_SUMMARY;
}

struct message *session_whole_await(struct session *s, struct arena *a, size_t *ret_n)
{
    struct past p = {.settings = s->settings, .path = str_of(s->path)};
    if (!is_compacted(&s->history) || !s->has_file)
        return session_messages(s, a, ret_n);
    session_hold(s);
    work_through_await(s->engine->loop, past_read, &p);
    struct message *all = p.ok ? history_view(&p.history, s->settings, NULL,
                                              (struct history_range){0, p.history.n}, a, ret_n)
                               : session_messages(s, a, ret_n);
    for (size_t i = 0; p.ok && i < *ret_n; i++)
        all[i] = message_copy(a, &all[i]);
    history_clear_later(&p.history, s->engine->loop);
    session_release(s);
    return all;
}
