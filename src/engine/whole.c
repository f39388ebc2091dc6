/* SPDX-License-Identifier: MIT */
/* The whole file of a session, made from memory: in the form of the dialect's own program where it
 * has one, as records otherwise.  A turn that runs is always in records, with everything a crash
 * must not lose: what was said, which calls have begun, which inputs wait.
 */
#include "engine/file.h"
#include "engine/turn_impl.h"

#include "engine/form.h"

void session_put_header(struct session *s, struct buf *out)
{
    struct header hd = {
        .version = 1,
        .id = session_id_str(s),
        .cwd = str_of(s->cwd),
        .model = str_of(s->slug),
        .effort = str_of(s->effort),
        .parent_id = str_of(s->parent_id),
        .parent_path = str_of(s->parent_path),
        .created_ms = s->created_ms,
    };
    record_header(out, &hd);
}

enum { FIRST_MESSAGES = 8 }; /* of which a title can be made */

/* The head of a conversation of n messages, of which the first entries are settled. */
static void put_form_head(struct session *s, size_t n, int64_t settles, struct buf *out)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct form_head h = {.n = n, .settles = settles};
    h.first = history_view(&s->history, s->settings, NULL,
                           (struct history_range){0, MIN(n, FIRST_MESSAGES)}, &a, &h.n_first);
    s->settings->form->put_head(s->settings->context_arg, s, &h, out);
}

void session_put_form_head(struct session *s, struct buf *out)
{
    put_form_head(s, 0, -1, out);
}

/* Messages made of the entries [from, to), which are all settled before `from`. */
struct loaded_part {
    struct arena arena;
    struct message *messages;
    size_t from, n;
};

static void loaded_part_clear(struct loaded_part *p)
{
    arena_clear(&p->arena);
}

static void part_make(struct session *s, size_t from, size_t to, struct loaded_part *p)
{
    size_t n_view;
    p->messages = history_view(&s->history, s->settings, NULL, (struct history_range){from, to},
                               &p->arena, &n_view);
    p->from = from;
    for (size_t i = 0; i < n_view; i++)
        if (!message_is_empty(&p->messages[i]))
            p->messages[p->n++] = p->messages[i];
}

static void put_part(struct session *s, const struct loaded_part *p, struct buf *out)
{
    for (size_t i = 0; i < p->n; i++)
        s->settings->form->put_message(s->settings->context_arg, &p->messages[i], p->from + i, out);
}

void session_put_settled(struct session *s, size_t from, size_t to, int64_t settles,
                         struct buf *out)
{
    AUTO(loaded_part) struct loaded_part p = {0};
    part_make(s, from, to, &p);
    put_part(s, &p, out);
    put_form_head(s, from + p.n, settles, out);
}

bool session_has_kept(struct session *s)
{
    AUTO(loaded_part) struct loaded_part p = {0};
    AUTO(buf) struct buf inputs = BUF_INIT;
    if (s->n_settled > 0 || session_put_waiting(s, &inputs) > 0)
        return true;
    part_make(s, 0, s->history.n, &p);
    return p.n > 0;
}

static void end_line(struct buf *out)
{
    buf_addc(out, '\n');
}

static void put_input(struct buf *out, const char *id, const char *kind, const struct message *m)
{
    record_input(out, str_of(id), kind, m, STR_NONE);
    end_line(out);
}

size_t session_put_waiting(struct session *s, struct buf *out)
{
    size_t n = 0;
    for (const struct turn *t = s->waiting; t; t = t->next)
        if (!t->errand && t->is_queued_input) {
            put_input(out, t->id, "queue", &t->input);
            n++;
        }
    return n;
}

/* The turn that runs, or whose input is on its way to the disk; NULL: everything is settled. */
static const struct turn *open_turn(const struct session *s)
{
    const struct turn *t = s->running;
    if (t)
        return t->state == TURN_RUNNING || t->state == TURN_QUEUED ? t : NULL;
    return s->waiting && s->waiting->mark ? s->waiting : NULL;
}

size_t session_put_kept(struct session *s, size_t n_entries, struct buf *out)
{
    AUTO(loaded_part) struct loaded_part p = {0};
    part_make(s, 0, n_entries, &p);
    put_form_head(s, p.n, -1, out);
    put_part(s, &p, out);
    return p.n;
}

static void put_entries(struct session *s, size_t from, struct buf *out)
{
    for (size_t i = from; i < s->history.n; i++) {
        const struct entry *e = &s->history.entries[i];
        record_entry(out, &s->history.messages[i], e->turn ? e->turn->id : STR_NONE);
        end_line(out);
    }
}

/* One record per turn; the first that has ended carries what all of them used. */
static void put_turns(struct session *s, struct buf *out)
{
    struct event_end end = {.stop = "end_turn", .usage = s->usage};
    for (const struct turn_mark *m = s->history.marks; m; m = m->next) {
        bool is_over = m->state != TURN_RUNNING;
        record_turn(
            out, &(struct turn_record){
                     .id = m->id, .state = m->state, .seq = s->seq, .end = is_over ? &end : NULL});
        end_line(out);
        if (is_over)
            end.usage = (struct usage){0};
    }
}

/* What the running turn has begun and not finished. */
static void put_open_turn(struct session *s, const struct turn *t, struct buf *out)
{
    if (t->is_queued_input && !t->mark && !t->errand && t == s->running)
        put_input(out, t->id, "queue", &t->input);
    for (const struct started *c = s->history.started; c; c = c->next) {
        record_call(out, str_of(t->id), c->call_id, 0);
        end_line(out);
    }
}

static void put_steers(struct session *s, struct buf *out)
{
    for (const struct steer *steer = s->running ? s->running->steers : NULL; steer;
         steer = steer->next)
        put_input(out, steer->id, "steer", &steer->message);
}

static void put_head_records(struct session *s, struct buf *out)
{
    session_put_header(s, out);
    end_line(out);
    if (s->name) {
        record_info(out, str_of(s->name), STR_NONE, STR_NONE);
        end_line(out);
    }
    if (s->memory) {
        buf_addz(out, s->memory);
        end_line(out);
    }
}

void session_put_whole(struct session *s, struct buf *out)
{
    const struct turn *t = open_turn(s);
    size_t first = 0;
    if (s->settings->form) {
        first = t && t->mark ? t->first_entry : s->history.n;
        session_put_kept(s, first, out);
    } else {
        put_head_records(s, out);
    }
    put_entries(s, first, out);
    if (!s->settings->form || t)
        put_turns(s, out);
    if (t)
        put_open_turn(s, t, out);
    put_steers(s, out);
    session_put_waiting(s, out);
}
