/* SPDX-License-Identifier: MIT */
#include "providers/rehearsal/bind.h"

#include "providers/rehearsal/answer.h"
#include "providers/rehearsal/action.h"

static struct step over_steps[] = {
    {.verb = VERB_SAY, .text = {"(end of scenario)", 17}},
};

static const struct scenario_turn *choose_turn(const struct scenario *s, const struct facts *f)
{
    for (size_t i = 0; i < s->n_turns; i++)
        if (!s->turns[i].when.p || str_find(f->last_user, s->turns[i].when) != SIZE_MAX)
            return &s->turns[i];
    return &s->rest;
}

struct steps scenario_choose(const struct scenario *s, const struct facts *f)
{
    const struct scenario_turn *turn = choose_turn(s, f);
    if (f->is_summary && s->has_summary)
        return s->summary;
    if (f->round < turn->n_rounds)
        return turn->rounds[f->round];
    if (s->is_forever && turn->n_rounds)
        return turn->rounds[turn->n_rounds - 1];
    return (struct steps){over_steps, ARRAY_LEN(over_steps)};
}

static struct intent intent_of(struct arena *a, const struct facts *f, enum action action,
                               yyjson_val *args)
{
    return (struct intent){
        .action = action,
        .path = facts_fill(a, f, json_get_str(args, "path")),
        .pattern = facts_fill(a, f, json_get_str(args, "pattern")),
        .command = facts_fill(a, f, json_get_str(args, "command")),
        .content = facts_fill(a, f, json_get_str(args, "content")),
    };
}

/* A call of @list and the like becomes a call of the session's tool for it, or a text when there is
 * none. */
static void bind_action(struct arena *a, const struct facts *f, struct step *s, enum action action)
{
    const struct tool_def *tool = action_tool(f->ask, action);
    struct intent intent = intent_of(a, f, action, s->args);
    if (tool) {
        s->name = arena_str(a, tool->name);
        s->raw = action_arguments(a, f, tool, &intent);
    } else {
        s->verb = VERB_SAY;
        s->text = arena_fmt(a, "(This session offers no tool to %s.) ", action_about(action));
    }
}

static void bind_call(struct arena *a, const struct facts *f, struct step *s)
{
    AUTO(buf) struct buf out = BUF_INIT;
    struct jw w = JW(&out);
    enum action action;
    s->id = arena_str(a, s->id);
    if (!s->raw.p && action_named(s->name, &action)) {
        bind_action(a, f, s, action);
        return;
    }
    s->name = arena_str(a, s->name);
    if (s->raw.p) {
        s->raw = facts_fill(a, f, s->raw);
    } else if (s->args) {
        facts_fill_json(&w, a, f, s->args);
        s->raw = arena_str(a, buf_str(&out));
    } else {
        s->raw = STR("{}");
    }
}

/* A repeat of one round, so that one step can be replaced by several. */
static void bind_answer(struct arena *a, const struct facts *f, struct step *s)
{
    struct steps said = answer_steps(a, f);
    s->verb = VERB_REPEAT;
    s->count = 1;
    s->steps = said.steps;
    s->n_steps = said.n;
}

static void bind_step(struct arena *a, const struct facts *f, struct step *s)
{
    struct steps inner;
    switch (s->verb) {
    case VERB_SAY:
    case VERB_THINK:
        s->text = facts_fill(a, f, s->text);
        break;
    case VERB_CALL:
        bind_call(a, f, s);
        break;
    case VERB_FAIL:
        s->message = s->message.p ? facts_fill(a, f, s->message) : STR_NONE;
        break;
    case VERB_STOP:
        s->stop = arena_str(a, s->stop);
        break;
    case VERB_REPEAT:
        inner = steps_bind(a, f, (struct steps){s->steps, s->n_steps});
        s->steps = inner.steps;
        break;
    case VERB_ANSWER:
        bind_answer(a, f, s);
        break;
    default:
        break;
    }
    s->args = s->json = NULL;
}

struct steps steps_bind(struct arena *a, const struct facts *f, struct steps steps)
{
    struct steps bound = {arena_array(a, struct step, steps.n + 1), steps.n};
    for (size_t i = 0; i < steps.n; i++) {
        bound.steps[i] = steps.steps[i];
        bind_step(a, f, &bound.steps[i]);
    }
    return bound;
}
