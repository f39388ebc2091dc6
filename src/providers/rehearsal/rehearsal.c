/* SPDX-License-Identifier: MIT */
/* From an ask to a playing scenario: find the text by the model's id, read it, choose the round,
 * bind its steps to the ask, pass them to the player.
 */
#include "providers/rehearsal/rehearsal.h"

#include "base/path.h"
#include "providers/rehearsal/bind.h"
#include "providers/rehearsal/player.h"

#define MODEL(scenario, label, ...)                                                                \
    {                                                                                              \
        .provider = "rehearsal", .id = {scenario, sizeof(scenario) - 1},                           \
        .name = {label, sizeof(label) - 1}, .context_window = 128000, __VA_ARGS__                  \
    }

/* Must list the built-in scenarios in the same order; a test compares them. */
static const struct model models[] = {
    MODEL("default", "Rehearsal (offline)"),
    MODEL("hello", "Rehearsal: one short text"),
    MODEL("tools", "Rehearsal: lists a directory"),
    MODEL("think", "Rehearsal: reasoning and text", .reasons = true),
    MODEL("long", "Rehearsal: 2000 pieces"),
    MODEL("slow", "Rehearsal: five seconds of text"),
    MODEL("stall", "Rehearsal: stops sending"),
    MODEL("cut", "Rehearsal: stream cut off"),
    MODEL("fail401", "Rehearsal: wrong key"),
    MODEL("fail429", "Rehearsal: rate limit, twice"),
    MODEL("fail500", "Rehearsal: server error"),
    MODEL("flaky", "Rehearsal: one server error"),
    MODEL("overflow", "Rehearsal: context overflow"),
    MODEL("parallel", "Rehearsal: three calls at once"),
    MODEL("shell", "Rehearsal: a long command"),
    MODEL("write", "Rehearsal: writes a file"),
    MODEL("loop", "Rehearsal: calls for ever"),
    MODEL("echo", "Rehearsal: echo"),
    {.id = {NULL, 0}},
};

static bool fail_unknown(struct str id, struct error *err)
{
    AUTO(buf) struct buf names = BUF_INIT;
    for (const struct scenario_text *t = scenario_texts; t->name; t++)
        buf_addf(&names, "%s%s", names.n ? ", " : "", t->name);
    return error_set_origin(err, ERR_NO_MODEL, ORIGIN_LOCAL,
                            "the rehearsal model has no scenario %.*s; there are %.*s, or a path "
                            "to a .json file",
                            STR_FMT(str_cut(id, 100)), STR_FMT(buf_str(&names)));
}

static bool is_file(struct str id)
{
    return str_ends(id, STR(".json")) || str_chr(id, '/') != SIZE_MAX ||
           str_starts(id, STR("file:"));
}

static bool load_file(struct str id, struct scenario *ret, struct error *err)
{
    AUTO(buf) struct buf text = BUF_INIT;
    struct str path = str_starts(id, STR("file:")) ? str_from(id, 5) : id;
    if (!path_read(&text, path, SCENARIO_BYTES, err)) {
        if (err->code == ERR_NOT_FOUND)
            err->code = ERR_NO_MODEL;
        return error_prefix(err, "scenario");
    }
    if (!scenario_read(buf_str(&text), ret, err))
        return error_prefix(err, "scenario %.*s", STR_FMT(str_cut(path, 150)));
    return true;
}

static bool load(struct str id, struct scenario *ret, struct error *err)
{
    if (is_file(id))
        return load_file(id, ret, err);
    for (const struct scenario_text *t = scenario_texts; t->name; t++)
        if (str_is(id, t->name))
            return scenario_read(str_of(t->text), ret, err);
    return fail_unknown(id, err);
}

/* Of the file of a scenario. */
static int64_t find_window(struct str id)
{
    AUTO(scenario) struct scenario s = SCENARIO_INIT;
    struct error err;
    return is_file(id) && load(id, &s, &err) ? s.context_window : 0;
}

static int64_t tools_bytes(const struct ask *ask)
{
    size_t n = 0;
    for (size_t i = 0; i < ask->n_tools; i++)
        n += ask->tools[i].name.n + ask->tools[i].about.n + ask->tools[i].schema.n;
    return (int64_t)n;
}

static struct stream *start(struct loop *l, const struct ask *ask, const struct ask_sink *sink,
                            struct error *err)
{
    AUTO(scenario) struct scenario s = SCENARIO_INIT;
    AUTO(arena) struct arena scratch = ARENA_INIT;
    struct player_input part = {.n_messages = ask->n_messages};
    if (!load(ask->model.id, &s, err))
        return NULL;
    struct facts f = facts_of(&scratch, ask);
    part.steps = steps_bind(&part.arena, &f, scenario_choose(&s, &f));
    part.key = arena_fmt(&part.arena, "%.*s\n%zu\n%.*s", STR_FMT(ask->model.id), f.round,
                         STR_FMT(ask->session_id));
    part.call_tail = arena_str(&part.arena, f.call_tail);
    part.input_tokens = f.bytes / 4;
    part.request_bytes = f.bytes + tools_bytes(ask);
    return player_start(&provider_rehearsal, l, &part, sink);
}

const struct provider provider_rehearsal = {
    .name = "rehearsal",
    .label = "Rehearsal",
    .is_played = true,
    .models = models,
    .find_window = find_window,
    .start = start,
    .pause = player_pause,
    .reply = player_reply,
    .free = player_free,
    .request_bytes = player_request_bytes,
};
