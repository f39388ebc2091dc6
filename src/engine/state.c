/* SPDX-License-Identifier: MIT */
/* Looking at a session and setting what can be set while it lives. */
#include "engine/file.h"
#include "engine/turn_impl.h"

#include "base/path.h"

struct engine *session_engine(struct session *s)
{
    return s->engine;
}

static size_t count_waiting(const struct session *s)
{
    size_t n = 0;
    for (const struct turn *t = s->waiting; t; t = t->next)
        n++;
    return n;
}

static int64_t count_steers(const struct session *s)
{
    int64_t n = 0;
    for (const struct steer *t = s->running ? s->running->steers : NULL; t; t = t->next)
        n++;
    return n;
}

int64_t session_window(struct session *s)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct error ignored;
    struct model m = {0};
    if (s->settings->context_window)
        return s->settings->context_window;
    if (!s->slug || !engine_find_model(s->engine, &a, str_of(s->slug), &m, &ignored))
        return 0;
    return m.context_window;
}

void session_info(struct session *s, struct session_info *ret)
{
    *ret = (struct session_info){
        .id = session_id_str(s),
        .path = str_of(s->path),
        .workspace = str_of(s->workspace),
        .cwd = str_of(s->cwd),
        .name = str_of(s->name),
        .parent_id = str_of(s->parent_id),
        .parent_path = str_of(s->parent_path),
        .model = str_of(s->slug),
        .effort = str_of(s->effort),
        .mode = s->mode,
        .is_busy = session_is_busy(s),
        .is_compacting = s->is_compacting,
        .created_ms = s->created_ms,
        .modified_ms = s->modified_ms,
        .n_messages = (int64_t)s->history.n,
        .n_settled = (int64_t)s->n_settled,
        .epoch = s->history.epoch,
        .n_waiting = (int64_t)count_waiting(s),
        .n_steering = count_steers(s),
        .context_tokens = s->context_tokens,
        .max_tokens = s->max_tokens,
        .n_turns = s->n_turns,
        .usage = s->usage,
        .running_turn = s->running ? str_of(s->running->id) : STR_NONE,
    };
}

struct message *session_messages_range(struct session *s, size_t from, size_t to, struct arena *a,
                                       size_t *ret_n)
{
    const struct turn_mark *mark = s->running ? s->running->mark : NULL;
    if (mark && mark->state != TURN_RUNNING)
        mark = NULL; /* it ends just now */
    if (to > s->n_settled)
        to = s->history.n;
    return history_view(&s->history, s->settings, mark, (struct history_range){from, to}, a, ret_n);
}

struct message *session_messages(struct session *s, struct arena *a, size_t *ret_n)
{
    return session_messages_range(s, 0, SIZE_MAX, a, ret_n);
}

struct waiting_input *session_waiting(struct session *s, struct arena *a, size_t *ret_n)
{
    struct waiting_input *out = arena_array(a, struct waiting_input, count_waiting(s) + 1);
    size_t n = 0;
    for (const struct turn *t = s->waiting; t; t = t->next) {
        struct waiting_input w = {str_of(t->id), t->text, t->created_ms, 0};
        for (size_t b = 0; b < t->input.n_blocks; b++)
            w.n_images += t->input.blocks[b].kind == BLOCK_IMAGE;
        out[n++] = w;
    }
    *ret_n = n;
    return out;
}

static void emit_settings(struct session *s)
{
    session_emit(s, NULL, &(struct event){.kind = EV_SETTINGS_CHANGED});
}

/* Settings of a session whose file is closed are written with the next input. */
static bool write_info(struct session *s, struct error *err)
{
    AUTO(buf) struct buf line = BUF_INIT;
    if (!s->has_file)
        return true;
    s->owes_info = !s->log;
    session_flush(s);
    if (!s->log)
        return true;
    record_info(&line, str_of(s->name), str_of(s->slug), str_of(s->effort));
    return session_write(s, buf_str(&line), err);
}

static bool set_and_write(struct session *s, char **slot, struct str value, struct error *err)
{
    char *old = *slot;
    *slot = value.p ? str_dup(value) : NULL;
    if (!write_info(s, err)) {
        free(*slot);
        *slot = old;
        return false;
    }
    free(old);
    emit_settings(s);
    return true;
}

bool session_set_model(struct session *s, struct str slug, struct error *err)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct model m;
    if (!engine_find_model(s->engine, &a, slug, &m, err))
        return false;
    return set_and_write(s, &s->slug, str_trim(slug), err);
}

bool session_set_effort(struct session *s, struct str effort, struct error *err)
{
    return set_and_write(s, &s->effort, effort, err);
}

/* On disk when it returns: a name is for other processes too. */
bool session_set_name_await(struct session *s, struct str name, struct error *err)
{
    session_hold(s);
    bool ok = !s->has_file || session_need_file_await(s, err);
    if (ok) {
        char *old = s->name;
        s->name = name.p ? str_dup(name) : NULL;
        ok = write_info(s, err) && (!s->log || session_sync_through_await(s, err));
        free(ok ? old : s->name);
        if (!ok)
            s->name = old;
        else
            emit_settings(s);
    }
    session_release(s);
    return ok;
}

bool session_choose(struct session *s, struct str slug, struct str effort, struct error *err)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct model m;
    if (!engine_find_model(s->engine, &a, slug, &m, err))
        return false;
    char *old_slug = s->slug, *old_effort = s->effort;
    s->slug = str_dup(str_trim(slug));
    s->effort = effort.p ? str_dup(effort) : NULL;
    bool ok = write_info(s, err);
    free(ok ? old_slug : s->slug);
    free(ok ? old_effort : s->effort);
    if (!ok) {
        s->slug = old_slug;
        s->effort = old_effort;
        return false;
    }
    emit_settings(s);
    return true;
}

void session_set_route(struct session *s, struct str route)
{
    char *copy = route.n ? str_dup(route) : NULL;
    free(s->route);
    s->route = copy;
}

void session_set_mode(struct session *s, enum mode mode)
{
    if (s->mode == mode)
        return;
    s->mode = mode;
    emit_settings(s);
}

void session_set_max_tokens(struct session *s, int64_t max_tokens)
{
    s->max_tokens = max_tokens;
}

bool session_clear(struct session *s, struct error *err)
{
    AUTO(buf) struct buf line = BUF_INIT;
    if (s->running || s->is_compacting)
        return error_set(err, ERR_BUSY, "a turn is running");
    record_clear(&line);
    if (s->has_file && !session_write(s, buf_str(&line), err))
        return false;
    session_flush(s);
    history_empty(&s->history, s->engine->loop);
    read_set_empty(s->reads);
    nested_clear(&s->nested);
    s->last_end = TURN_COMPLETED;
    session_measure(s);
    return true;
}

bool session_is_unused(struct session *s)
{
    return !s->name && !s->history.was_ever_used && !s->running && !s->waiting;
}
