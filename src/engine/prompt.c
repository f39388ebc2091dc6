/* SPDX-License-Identifier: MIT */
#include "engine/prompt.h"

#include "base/utf8.h"
#include "context/system.h"
#include "engine/compact.h"
#include "engine/file.h"

void prompt_clear(struct prompt *p)
{
    free(p->system);
    free(p->latest);
    free(p->memory);
    free(p->sent_memory);
    free(p->place);
    free(p->branch);
    *p = (struct prompt){0};
}

void prompt_renew(struct session *s)
{
    free(take(&s->prompt.system));
    free(take(&s->prompt.latest));
    session_set_str(&s->prompt.memory, str_of(s->prompt.sent_memory));
}

/* ---- the system text ---- */

static void build(struct session *s, struct buf *out)
{
    AUTO(buf) struct buf base = BUF_INIT;
    const struct turn *t = s->running;
    const struct sandbox_policy *sandbox = session_sandbox(s);
    buf_addz(&base, s->settings->system);
    if (t)
        buf_add(&base, t->parts.head);
    if (s->prompt.memory)
        buf_addz(&base, s->prompt.memory);
    if (t)
        buf_add(&base, t->parts.tail);
    if (sandbox) {
        buf_addz(&base, base.n ? "\n\n" : "");
        sandbox_describe(sandbox, &base);
        buf_addz(&base, session_leave_hint(s));
    }
    system_prompt(out, buf_str(&base), str_of(s->workspace), s->settings->instructions);
}

struct str prompt_system(struct session *s, struct arena *a)
{
    if (!s->prompt.system || s->settings->rebuilds_system) {
        AUTO(buf) struct buf text = BUF_INIT;
        build(s, &text);
        session_set_str(&s->prompt.system, buf_str(&text));
    }
    return arena_str(a, str_of(s->prompt.system));
}

/* ---- what goes with a message ---- */

static void put_section(struct buf *out, struct str text)
{
    text = str_trim(text);
    if (out->n && text.n)
        buf_addz(out, "\n\n");
    buf_add(out, text);
}

/* Instructions that are not what the system text says: from the first line that differs on. */
static void put_changed(struct session *s, struct buf *out)
{
    AUTO(buf) struct buf text = BUF_INIT;
    struct prompt *p = &s->prompt;
    if (!p->system || s->settings->rebuilds_system)
        return;
    build(s, &text);
    struct str now = buf_str(&text), sent = str_of(p->latest ? p->latest : p->system);
    if (str_eq(now, sent))
        return;
    size_t same = 0;
    while (same < now.n && same < sent.n && now.p[same] == sent.p[same])
        same++;
    while (same > 0 && now.p[same - 1] != '\n')
        same--;
    buf_addf(out,
             "%sSome of the instructions in the system text have changed. From now on this holds "
             "instead:\n\n%.*s",
             out->n ? "\n\n" : "", STR_FMT(str_from(now, same)));
    session_set_str(&p->latest, now);
}

/* Memories stand in the system text as they were when it was made. */
static void put_memory(struct session *s, struct str memory, struct buf *out)
{
    struct prompt *p = &s->prompt;
    if (str_eq(str_of(p->sent_memory ? p->sent_memory : ""), memory))
        return;
    if (p->system && !(p->memory && *p->memory) && s->settings->rebuilds_system)
        prompt_renew(s); /* the first one is worth it */
    if (p->system)
        put_section(out, memory.n ? memory : STR("The memories above do not count any more."));
    else
        session_set_str(&p->memory, memory);
    session_set_str(&p->sent_memory, memory);
}

/* The text without the block of memory; itself where it has none. */
static struct str without_memory(struct str text, const char *tag, struct arena *a)
{
    struct str end = arena_fmt(a, "</%s>", tag);
    size_t from = str_find(text, arena_fmt(a, "<%s>", tag)), at;
    struct str rest = from == SIZE_MAX ? STR_NONE : str_from(text, from);
    struct str behind = STR_NONE;
    while (rest.p && (at = str_find(rest, end)) != SIZE_MAX) /* a memory may hold the tag, too */
        behind = rest = str_from(rest, at + end.n);
    if (!behind.p)
        return text;
    AUTO(buf) struct buf out = BUF_INIT;
    put_section(&out, str_cut(text, from));
    put_section(&out, behind);
    return arena_str(a, buf_str(&out));
}

/* Memory is off: nothing of it is sent any more, at the price of what the server has cached. */
static void drop_memory(struct session *s)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct prompt *p = &s->prompt;
    struct history *h = &s->history;
    const char *tag = s->settings->memory_tag;
    for (size_t i = 0; tag && i < h->n; i++) {
        struct str context = h->messages[i].context;
        struct str rest = context.n ? without_memory(context, tag, &a) : context;
        if (rest.n != context.n)
            history_set_context(h, i, rest);
    }
    session_set_str(&p->sent_memory, STR_NONE);
    if (p->memory && *p->memory)
        prompt_renew(s);
}

static void put_surroundings_await(struct session *s, struct arena *a, struct buf *out)
{
    AUTO(buf) struct buf text = BUF_INIT;
    struct prompt *p = &s->prompt;
    char day[16];
    struct str branch = STR_NONE;
    surroundings_day(day);
    if (!p->place) {
        surroundings_put_await(s, a, &text, &branch);
        session_set_str(&p->place, buf_str(&text));
    } else {
        branch = surroundings_branch_await(s, a);
        if (strcmp(day, p->day) != 0)
            buf_addf(&text, "The date is now %s.", day);
        if (branch.n && !str_is(branch, p->branch ? p->branch : ""))
            buf_addf(&text, "%sThe branch is now %.*s.", text.n ? "\n" : "", STR_FMT(branch));
    }
    memcpy(p->day, day, sizeof day);
    session_set_str(&p->branch, branch);
    put_section(out, buf_str(&text));
}

/* With other tools nothing of an earlier request is repeated anyway. */
static void look_at_tools(struct session *s, struct arena *a)
{
    size_t n;
    uint64_t hash = 0;
    const struct tool **tools = engine_tools(s->engine, s->settings, str_of(s->workspace), a, &n);
    for (size_t i = 0; i < n; i++)
        hash = hash * 31 + str_hash(str_of(tools[i]->name));
    if (hash != s->prompt.tools)
        prompt_renew(s);
    s->prompt.tools = hash;
}

/* A turn that did not come to its end, once. */
static void put_last_end(struct session *s, struct buf *out)
{
    enum { ERROR_CHARS = 300 };
    AUTO(buf) struct buf text = BUF_INIT;
    const char *rest = s->settings->drops_failed_turns && s->last_end == TURN_FAILED &&
                               !s->is_last_kept
                           ? " and is not part of this conversation; what it did to files stays"
                           : "; what it had begun may be incomplete";
    switch (s->last_end) {
    case TURN_CANCELED:
        buf_addf(&text, "The user interrupted the turn before this message%s.", rest);
        break;
    case TURN_FAILED:
        buf_addf(&text, "The turn before this message failed%s.", rest);
        if (s->last_error)
            buf_addf(&text, " The error: %.*s",
                     STR_FMT(utf8_cut_chars(str_of(s->last_error), ERROR_CHARS)));
        break;
    case TURN_RUNNING:
        buf_addf(&text, "The program ended during the turn before this message%s.%s", rest,
                 s->last_error ? s->last_error : "");
        break;
    default:
        break;
    }
    s->last_end = TURN_COMPLETED;
    put_section(out, buf_str(&text));
}

static void put_undone_await(struct session *s, struct buf *out)
{
    AUTO(buf) struct buf note = BUF_INIT;
    undo_take_note_await(s, &note);
    put_section(out, buf_str(&note));
}

void prompt_begin_await(struct turn *t)
{
    AUTO(buf) struct buf out = BUF_INIT;
    struct session *s = t->session;
    const struct session_settings *st = s->settings;
    struct context_parts parts = {0};
    if (st->put_context_await)
        st->put_context_await(st->context_arg, s, message_text_of(&t->arena, &t->input), &parts);
    t->parts.head = arena_str(&t->arena, buf_str(&parts.head));
    t->parts.tail = arena_str(&t->arena, buf_str(&parts.tail));
    if (st->sends_surroundings)
        put_surroundings_await(s, &t->arena, &out);
    look_at_tools(s, &t->arena);
    if (parts.has_no_memory)
        drop_memory(s);
    else
        put_memory(s, buf_str(&parts.memory), &out);
    put_changed(s, &out);
    put_last_end(s, &out);
    put_undone_await(s, &out);
    put_section(&out, buf_str(&parts.turn));
    t->parts.context = arena_str(&t->arena, buf_str(&out));
    buf_clear(&parts.head);
    buf_clear(&parts.memory);
    buf_clear(&parts.tail);
    buf_clear(&parts.turn);
}

bool prompt_attach(struct turn *t, struct error *err)
{
    AUTO(buf) struct buf line = BUF_INIT;
    struct session *s = t->session;
    struct history *h = &s->history;
    if (!t->parts.context.n || t->first_entry >= h->n ||
        h->messages[t->first_entry].role != ROLE_USER)
        return true;
    history_set_context(h, t->first_entry, t->parts.context);
    record_context(&line, str_of(t->id), t->parts.context);
    return session_write(s, buf_str(&line), err);
}
