/* SPDX-License-Identifier: MIT */
/* Reads a scenario.  A step is an object with exactly one verb; each verb has its rows, and the
 * rows do most of the checking. `where` is the place being read, for errors:
 * "turns[1].rounds[0][2]: unknown member `peice`".
 */
#include "providers/rehearsal/scenario.h"

#include "base/limits.h"
#include "base/rows.h"

struct reading {
    struct arena *arena;
    struct buf where;
    int n_steps; /* seen so far */
    int depth;   /* of repeats */
    struct error *err;
};

static const char *const stop_words[] = {"end", "length", "filter", NULL};

static const struct row say_rows[] = {
    ROW_AS(step, text, "say", T_STR, NEEDED, "text of the reply"),
    ROW(step, piece, T_INT, OPTIONAL, "characters of a piece; words when absent", .has_min = true,
        .min = 1),
    ROW(step, pause_ms, T_INT, OPTIONAL, "pause after each piece", .has_min = true),
    ROW_END,
};

static const struct row think_rows[] = {
    ROW_AS(step, text, "think", T_STR, NEEDED, "text of the reasoning"),
    ROW(step, piece, T_INT, OPTIONAL, "characters of a piece; words when absent", .has_min = true,
        .min = 1),
    ROW(step, pause_ms, T_INT, OPTIONAL, "pause after each piece", .has_min = true),
    ROW_END,
};

static const struct row call_rows[] = {
    ROW_AS(step, name, "call", T_STR, NEEDED | NOT_BLANK, "name of the tool, or @list and so on"),
    ROW(step, args, T_OBJ, OPTIONAL, "arguments"),
    ROW(step, raw, T_STR, OPTIONAL, "arguments as text, not necessarily JSON"),
    ROW(step, id, T_STR, OPTIONAL | NOT_BLANK, "id of the call"),
    ROW_END,
};

static const struct row wait_rows[] = {
    ROW(step, wait_ms, T_INT, NEEDED, "how long nothing comes", .has_min = true),
    ROW_END,
};

static const struct row fail_rows[] = {
    ROW_AS(step, json, "fail", T_ANY, NEEDED, "HTTP status or \"network\""),
    ROW(step, message, T_STR, OPTIONAL, "what the vendor says"),
    ROW(step, retry_after_ms, T_INT, OPTIONAL, "delay before a retry", .has_min = true),
    ROW(step, times, T_INT, OPTIONAL, "only so many requests fail", .has_min = true),
    ROW(step, above_messages, T_INT, OPTIONAL, "only longer conversations fail", .has_min = true),
    ROW_END,
};

static const struct row stall_rows[] = {
    ROW_AS(step, json, "stall", T_ANY, NEEDED, "true"),
    ROW_END,
};

static const struct row cut_rows[] = {
    ROW_AS(step, json, "cut", T_ANY, NEEDED, "true"),
    ROW_END,
};

static const struct row answer_rows[] = {
    ROW_AS(step, json, "answer", T_ANY, NEEDED, "true"),
    ROW_END,
};

static const struct row usage_rows[] = {
    ROW_AS(step, json, "usage", T_OBJ, NEEDED, "tokens of the request and the reply"),
    ROW_END,
};

static const struct row tokens_rows[] = {
    ROW(step, input, T_INT, NEEDED, "tokens of the request", .has_min = true),
    ROW(step, output, T_INT, NEEDED, "tokens of the reply", .has_min = true),
    ROW(step, cached, T_INT, OPTIONAL, "input tokens from the cache", .has_min = true),
    ROW_END,
};

static const struct row stop_rows[] = {
    ROW(step, stop, T_STR, NEEDED, "why the reply ends", .choices = stop_words),
    ROW_END,
};

static const struct row repeat_rows[] = {
    ROW_AS(step, count, "repeat", T_INT, NEEDED, "how often", .has_min = true),
    ROW_AS(step, json, "steps", T_ARR, NEEDED, "what"),
    ROW_END,
};

static const struct verb_row {
    const char *name;
    enum verb verb;
    const struct row *rows;
} verb_rows[] = {
    {"say", VERB_SAY, say_rows},          {"think", VERB_THINK, think_rows},
    {"call", VERB_CALL, call_rows},       {"wait_ms", VERB_WAIT, wait_rows},
    {"fail", VERB_FAIL, fail_rows},       {"stall", VERB_STALL, stall_rows},
    {"cut", VERB_CUT, cut_rows},          {"usage", VERB_USAGE, usage_rows},
    {"stop", VERB_STOP, stop_rows},       {"repeat", VERB_REPEAT, repeat_rows},
    {"answer", VERB_ANSWER, answer_rows},
};

/* Sets an error text that begins with the place. */
static bool fail_at(struct reading *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static bool fail_at(struct reading *r, const char *fmt, ...)
{
    AUTO(buf) struct buf text = BUF_INIT;
    va_list ap;
    if (r->where.n)
        buf_addf(&text, "%.*s: ", STR_FMT(buf_str(&r->where)));
    va_start(ap, fmt);
    buf_addv(&text, fmt, ap);
    va_end(ap);
    return error_set(r->err, ERR_INVALID, "%.*s", STR_FMT(buf_str(&text)));
}

static bool decode(struct reading *r, const struct row *rows, yyjson_val *v, void *into)
{
    struct fault fault;
    AUTO(buf) struct buf text = BUF_INIT;
    if (rows_decode(rows, ROWS_CLOSED | ROWS_NO_DOUBLES, v, into, &fault))
        return true;
    fault_say(&fault, &text);
    return fail_at(r, "%.*s", STR_FMT(buf_str(&text)));
}

static bool find_verb(struct reading *r, yyjson_val *v, const struct verb_row **ret)
{
    const struct verb_row *found = NULL;
    if (!yyjson_is_obj(v))
        return fail_at(r, "a step must be an object");
    for (size_t i = 0; i < ARRAY_LEN(verb_rows); i++) {
        if (!json_get(v, verb_rows[i].name))
            continue;
        if (found)
            return fail_at(r, "a step has one verb, not both `%s` and `%s`", found->name,
                           verb_rows[i].name);
        found = &verb_rows[i];
    }
    if (!found) {
        yyjson_obj_iter it = yyjson_obj_iter_with(v);
        struct str first = json_str(yyjson_obj_iter_next(&it));
        return fail_at(r, "no verb in the step%s%.*s%s", first.p ? "; unknown member `" : "",
                       STR_FMT(str_cut(first, 100)), first.p ? "`" : "");
    }
    *ret = found;
    return true;
}

static bool check_status(struct reading *r, struct step *s)
{
    if (str_is(json_str(s->json), "network")) {
        s->status = 0;
        return true;
    }
    if (json_is_whole(s->json, &s->status) && s->status >= 400 && s->status <= 599)
        return true;
    return fail_at(r, "`fail` must be a status from 400 to 599 or \"network\"");
}

static bool read_steps(struct reading *r, yyjson_val *v, struct steps *ret);

static bool read_repeat(struct reading *r, struct step *s)
{
    struct steps inner;
    if (s->count > SCENARIO_REPEATS)
        return fail_at(r, "`repeat` must be at most %d", SCENARIO_REPEATS);
    if (++r->depth > SCENARIO_NESTING)
        return fail_at(r, "`repeat` is nested deeper than %d", SCENARIO_NESTING);
    size_t n = r->where.n;
    buf_addz(&r->where, ".steps");
    if (!read_steps(r, s->json, &inner))
        return false;
    buf_cut(&r->where, n);
    r->depth--;
    s->steps = inner.steps;
    s->n_steps = inner.n;
    return true;
}

static bool read_tokens(struct reading *r, struct step *s)
{
    size_t n = r->where.n;
    buf_addz(&r->where, ".usage");
    if (!decode(r, tokens_rows, s->json, s))
        return false;
    buf_cut(&r->where, n);
    return true;
}

/* Checks that rows cannot express. */
static bool check_step(struct reading *r, const char *name, struct step *s)
{
    switch (s->verb) {
    case VERB_CALL:
        if (s->args && s->raw.p)
            return fail_at(r, "`args` and `raw` exclude each other");
        return true;
    case VERB_FAIL:
        return check_status(r, s);
    case VERB_STALL:
    case VERB_CUT:
    case VERB_ANSWER:
        return yyjson_is_true(s->json) || fail_at(r, "`%s` must be true", name);
    case VERB_USAGE:
        return read_tokens(r, s);
    case VERB_REPEAT:
        return read_repeat(r, s);
    default:
        return true;
    }
}

static bool read_step(struct reading *r, yyjson_val *v, struct step *ret)
{
    const struct verb_row *row = NULL;
    if (!find_verb(r, v, &row))
        return false;
    *ret = (struct step){
        .verb = row->verb, .number = ++r->n_steps, .times = -1, .above_messages = -1};
    return decode(r, row->rows, v, ret) && check_step(r, row->name, ret);
}

static bool read_steps(struct reading *r, yyjson_val *v, struct steps *ret)
{
    size_t i, max, n = r->where.n;
    yyjson_val *item;
    if (!yyjson_is_arr(v))
        return fail_at(r, "must be an array of steps");
    struct steps all = {arena_array(r->arena, struct step, yyjson_arr_size(v) + 1), 0};
    yyjson_arr_foreach(v, i, max, item) {
        buf_addf(&r->where, "[%zu]", i);
        if (!read_step(r, item, &all.steps[all.n++]))
            return false;
        buf_cut(&r->where, n);
    }
    *ret = all;
    return true;
}

/* `where` already names the rounds. */
static bool read_rounds(struct reading *r, yyjson_val *v, struct scenario_turn *ret)
{
    size_t i, max, n = r->where.n;
    yyjson_val *item;
    ret->rounds = arena_array(r->arena, struct steps, yyjson_arr_size(v) + 1);
    yyjson_arr_foreach(v, i, max, item) {
        buf_addf(&r->where, "[%zu]", i);
        if (!read_steps(r, item, &ret->rounds[ret->n_rounds++]))
            return false;
        buf_cut(&r->where, n);
    }
    return true;
}

struct turn_members {
    struct str when;
    yyjson_val *rounds;
};

static const struct row turn_rows[] = {
    ROW(turn_members, when, T_STR, OPTIONAL, "part of the last user message"),
    ROW(turn_members, rounds, T_ARR, NEEDED, "lists of steps"),
    ROW_END,
};

static bool read_turn(struct reading *r, yyjson_val *v, struct scenario_turn *ret)
{
    struct turn_members m = {0};
    if (!decode(r, turn_rows, v, &m))
        return false;
    ret->when = m.when;
    buf_addz(&r->where, ".rounds");
    return read_rounds(r, m.rounds, ret);
}

static bool read_turns(struct reading *r, yyjson_val *v, struct scenario *s)
{
    size_t i, max;
    yyjson_val *item;
    s->turns = arena_array(r->arena, struct scenario_turn, yyjson_arr_size(v) + 1);
    yyjson_arr_foreach(v, i, max, item) {
        buf_reset(&r->where);
        buf_addf(&r->where, "turns[%zu]", i);
        if (!read_turn(r, item, &s->turns[s->n_turns++]))
            return false;
    }
    return true;
}

struct scenario_members {
    struct str about;
    int64_t context_window;
    bool forever;
    yyjson_val *rounds, *turns, *summary;
};

static const struct row scenario_rows[] = {
    ROW(scenario_members, about, T_STR, OPTIONAL, "what it is for"),
    ROW(scenario_members, context_window, T_INT, OPTIONAL, "tokens", .has_min = true, .min = 1),
    ROW(scenario_members, forever, T_BOOL, OPTIONAL, "the last round never ends"),
    ROW(scenario_members, rounds, T_ARR, OPTIONAL, "lists of steps"),
    ROW(scenario_members, turns, T_ARR, OPTIONAL, "rounds by what the user said"),
    ROW(scenario_members, summary, T_ARR, OPTIONAL, "steps for a request to summarise"),
    ROW_END,
};

static bool read_members(struct reading *r, struct scenario *s)
{
    struct scenario_members m = {0};
    if (!decode(r, scenario_rows, s->json.root, &m))
        return false;
    if (!m.rounds && !m.turns)
        return fail_at(r, "`rounds` is missing");
    s->about = m.about;
    s->context_window = m.context_window ? m.context_window : 128000;
    s->is_forever = m.forever;
    if (m.turns && !read_turns(r, m.turns, s))
        return false;
    buf_reset(&r->where);
    buf_addz(&r->where, "rounds");
    if (m.rounds && !read_rounds(r, m.rounds, &s->rest))
        return false;
    buf_reset(&r->where);
    buf_addz(&r->where, "summary");
    s->has_summary = m.summary != NULL;
    return !m.summary || read_steps(r, m.summary, &s->summary);
}

bool scenario_read(struct str text, struct scenario *ret, struct error *err)
{
    AUTO(scenario) struct scenario s = SCENARIO_INIT;
    if (!json_parse(text, 0, LIMIT_JSON_DEPTH, &s.json, err))
        return false;
    struct reading r = {.arena = &s.arena, .err = err};
    bool ok = read_members(&r, &s);
    buf_clear(&r.where);
    if (ok)
        *ret = take(&s);
    return ok;
}

void scenario_clear(struct scenario *s)
{
    json_clear(&s->json);
    arena_clear(&s->arena);
    *s = SCENARIO_INIT;
}
