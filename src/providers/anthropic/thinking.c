/* SPDX-License-Identifier: MIT */
/* The thinking settings of a request.  The API has two forms, and a model supports one of them
 * (providers 32-35, 41):
 *
 *     older models   "thinking": {"type": "enabled", "budget_tokens": n}
 *     newer models   "thinking": {"type": "adaptive"}, "output_config": {"effort": "low" ... "max"}
 *
 * Some of the newer ones always think.  Without a chosen effort nothing is sent, except to those:
 * they are asked for a summary of their thinking.
 */
#include "providers/anthropic/anthropic.h"

enum { DEFAULT_MAX_TOKENS = 32000, MIN_BUDGET = 1024 };

enum how { HOW_NOT, HOW_BUDGET, HOW_ADAPTIVE };

enum {
    CAN_BE_OFF = 1, /* "disabled" is known to be accepted */
    ALWAYS = 2,     /* thinking cannot be disabled */
    NO_XHIGH = 4,   /* the level between high and max is missing */
};

static const struct family {
    const char *prefix; /* of the model's id; the first match counts */
    enum how how;
    int traits;
} families[] = {
    {"claude-fable-", HOW_ADAPTIVE, ALWAYS},
    {"claude-mythos-", HOW_ADAPTIVE, ALWAYS},
    {"claude-opus-5-5", HOW_ADAPTIVE, ALWAYS},
    {"claude-sonnet-5-5", HOW_ADAPTIVE, ALWAYS},
    {"claude-opus-5", HOW_ADAPTIVE, CAN_BE_OFF},
    {"claude-haiku-5-5", HOW_ADAPTIVE, CAN_BE_OFF},
    {"claude-opus-4-8", HOW_ADAPTIVE, CAN_BE_OFF},
    {"claude-opus-4-7", HOW_ADAPTIVE, CAN_BE_OFF},
    {"claude-opus-4-6", HOW_ADAPTIVE, CAN_BE_OFF | NO_XHIGH},
    {"claude-sonnet-4-6", HOW_ADAPTIVE, CAN_BE_OFF | NO_XHIGH},
    {"claude-opus-4", HOW_BUDGET, CAN_BE_OFF},
    {"claude-sonnet-4", HOW_BUDGET, CAN_BE_OFF},
    {"claude-haiku-4", HOW_BUDGET, CAN_BE_OFF},
    {"claude-3-7", HOW_BUDGET, CAN_BE_OFF},
    {"claude-3", HOW_NOT, 0},
    {"claude-2", HOW_NOT, 0},
    {"claude-", HOW_ADAPTIVE, 0}, /* newer than this table */
    {"", HOW_BUDGET, 0},          /* other vendors use the older form */
};

static const struct level {
    const char *effort;
    const char *word; /* in output_config */
    int64_t budget;   /* tokens */
} levels[] = {
    {"minimal", "low", 1024}, {"low", "low", 4096},      {"medium", "medium", 10240},
    {"high", "high", 20480},  {"xhigh", "xhigh", 32000}, {"max", "max", 48000},
};

static const struct family *family_of(struct str id)
{
    const struct family *f = families;
    while (!str_starts(id, str_of(f->prefix)))
        f++;
    return f;
}

/* An unknown effort counts as high. */
static const struct level *level_of(struct str effort)
{
    const struct level *high = NULL;
    for (size_t i = 0; i < ARRAY_LEN(levels); i++) {
        if (str_ieq(effort, str_of(levels[i].effort)))
            return &levels[i];
        if (strcmp(levels[i].effort, "high") == 0)
            high = &levels[i];
    }
    return high;
}

int64_t anthropic_max_tokens(const struct ask *ask)
{
    int64_t most = ask->model.max_output;
    if (ask->max_tokens > 0)
        return most > 0 ? MIN(ask->max_tokens, most) : ask->max_tokens;
    return most > 0 ? most : DEFAULT_MAX_TOKENS;
}

bool anthropic_is_replayed(const struct ask *ask, const struct message *m, const struct block *b)
{
    return b->kind == BLOCK_REASONING && b->opaque.n > 0 &&
           str_is(m->provider, provider_anthropic.name) && str_eq(m->model, ask->model.id);
}

/* With a budget the API requires thoughts before the last calls.  A history of another model has
 * none, and is continued without thinking. */
static bool lacks_thoughts(const struct ask *ask)
{
    for (size_t i = ask->n_messages; i-- > 0;) {
        const struct message *m = &ask->messages[i];
        if (m->role != ROLE_ASSISTANT)
            continue;
        return message_n_calls(m) > 0 && !anthropic_is_replayed(ask, m, &m->blocks[0]);
    }
    return false;
}

static void put_type(struct jw *w, const char *type)
{
    jw_kobj(w, "thinking");
    jw_kz(w, "type", type);
    jw_obj_end(w);
}

static void put_budget(struct jw *w, const struct ask *ask, int64_t budget)
{
    budget = MIN(budget, anthropic_max_tokens(ask) / 2); /* the rest is for the answer */
    if (budget < MIN_BUDGET || lacks_thoughts(ask))
        return;
    jw_kobj(w, "thinking");
    jw_kz(w, "type", "enabled");
    jw_kint(w, "budget_tokens", budget);
    jw_obj_end(w);
}

static void put_adaptive(struct jw *w, const char *effort)
{
    jw_kobj(w, "thinking");
    jw_kz(w, "type", "adaptive");
    jw_kz(w, "display", "summarized");
    jw_obj_end(w);
    if (!effort)
        return;
    jw_kobj(w, "output_config");
    jw_kz(w, "effort", effort);
    jw_obj_end(w);
}

void anthropic_put_thinking(struct jw *w, const struct ask *ask)
{
    const struct family *f = family_of(ask->model.id);
    struct str effort = str_trim(ask->effort);
    bool is_off = str_ieq(effort, STR("none")) || str_ieq(effort, STR("off"));
    if (f->how == HOW_NOT)
        return;
    if (effort.n == 0 || is_off) {
        if (f->traits & ALWAYS)
            put_adaptive(w, is_off ? "low" : NULL);
        else if (is_off && (f->traits & CAN_BE_OFF))
            put_type(w, "disabled");
        return;
    }
    const struct level *level = level_of(effort);
    if (f->how == HOW_BUDGET)
        put_budget(w, ask, level->budget);
    else
        put_adaptive(w, (f->traits & NO_XHIGH) && strcmp(level->word, "xhigh") == 0 ? "high"
                                                                                    : level->word);
}
