/* SPDX-License-Identifier: MIT */
/* A stage for engine tests: a real loop, a real engine with the rehearsal provider, a temporary
 * home, three small tools, and a listener that writes down what it hears. */
#ifndef TRIVET_TESTS_ENGINE_SCENE_H
#define TRIVET_TESTS_ENGINE_SCENE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/path.h"
#include "base/time.h"
#include "engine/session.h"
#include "providers/rehearsal/rehearsal.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SCENE static __attribute__((unused))

struct scene {
    struct loop *loop;
    struct engine *engine;
    struct session *session;
    struct listener listener;
    char dir[64];
    struct str path; /* of the session file */
    struct session_settings settings;
    struct buf heard; /* one word per event, blank separated */
    struct buf text;  /* all EV_TEXT */
    int n_ended;
    enum turn_state last_state;
    const char *last_stop;
    struct error last_error;
    enum { ANSWER_ALLOW, ANSWER_DENY, ANSWER_NEVER } answers;
    int64_t last_seq;
    bool order_is_broken;
};

struct tool_args {
    struct str text;
};
static const struct row tool_arg_rows[] = {
    ROW(tool_args, text, T_STR, OPTIONAL, "anything"),
    ROW_END,
};
static int n_tool_runs;

static bool note_await(struct tool_cx *cx, const void *args, struct tool_result *r,
                       struct error *err)
{
    (void)cx;
    (void)err;
    n_tool_runs++;
    buf_add(&r->text, STR("noted: "));
    buf_add(&r->text, ((const struct tool_args *)args)->text);
    return true;
}

static bool nap_await(struct tool_cx *cx, const void *args, struct tool_result *r,
                      struct error *err)
{
    (void)args;
    n_tool_runs++;
    buf_add(&r->text, STR("half a nap"));
    return sleep_await(cx->loop, 20000, err);
}

static bool pause_await(struct tool_cx *cx, const void *args, struct tool_result *r,
                        struct error *err)
{
    (void)args;
    n_tool_runs++;
    buf_add(&r->text, STR("paused"));
    return sleep_await(cx->loop, 1, err);
}

static const struct tool note_tool = {.name = "note",
                                      .about = "notes",
                                      .args = tool_arg_rows,
                                      .args_size = sizeof(struct tool_args),
                                      .run_await = note_await};
static const struct tool nap_tool = {.name = "nap",
                                     .about = "naps",
                                     .args = tool_arg_rows,
                                     .args_size = sizeof(struct tool_args),
                                     .run_await = nap_await};
static const struct tool pause_tool = {.name = "pause",
                                       .about = "pauses",
                                       .args = tool_arg_rows,
                                       .args_size = sizeof(struct tool_args),
                                       .run_await = pause_await};
static const struct tool *const scene_tool_list[] = {&note_tool, &nap_tool, &pause_tool};

SCENE void scene_unknown(struct str name, struct str call_id, struct tool_result *r)
{
    (void)call_id;
    tool_fail(r, "unknown tool: %.*s", STR_FMT(name));
}

SCENE void scene_invalid(const struct tool *f, const struct fault *fault, struct str raw,
                         struct tool_result *r)
{
    AUTO(buf) struct buf why = BUF_INIT;
    (void)raw;
    fault_say(fault, &why);
    tool_fail(r, "invalid arguments for %s: %s", f->name, why.p);
}

static const struct toolset scene_tools = {.name = "scene",
                                           .tools = scene_tool_list,
                                           .n_tools = 3,
                                           .say_unknown = scene_unknown,
                                           .say_invalid = scene_invalid};

SCENE void scene_hear(void *arg, struct session *s, const struct event *e)
{
    struct scene *sc = arg;
    if (e->seq != sc->last_seq + event_rows[e->kind].is_kept)
        sc->order_is_broken = true;
    sc->last_seq = e->seq;
    if (sc->heard.n)
        buf_addc(&sc->heard, ' ');
    buf_addz(&sc->heard, event_rows[e->kind].name);
    switch (e->kind) {
    case EV_TEXT:
        buf_add(&sc->text, e->text);
        break;
    case EV_PERMISSION_ASKED:
        if (sc->answers != ANSWER_NEVER)
            session_permit(s, e->request_id, sc->answers == ANSWER_ALLOW, STR_NONE, STR_NONE);
        break;
    case EV_TURN_ENDED:
        sc->n_ended++;
        sc->last_state = e->end->state;
        sc->last_stop = e->end->stop;
        break;
    case EV_FAILED:
        sc->last_error = *e->error;
        break;
    default:
        break;
    }
}

static const struct provider *const scene_providers[] = {&provider_rehearsal};

SCENE void scene_write(const struct scene *sc, const char *name, const char *text)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", sc->dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

SCENE void scene_engine(struct scene *sc)
{
    sc->loop = loop_new();
    sc->engine = engine_new(sc->loop, scene_providers, 1);
    sc->listener = (struct listener){.on_event = scene_hear, .arg = sc};
}

SCENE struct session_spec scene_spec(struct scene *sc, struct str model)
{
    return (struct session_spec){.workspace = str_of(sc->dir),
                                 .path = sc->path,
                                 .id = STR("11111111-2222-4333-8444-555555555555"),
                                 .model = model,
                                 .mode = MODE_FULL,
                                 .settings = &sc->settings};
}

/* The slug of a scenario file in the scene's directory. */
SCENE struct str scene_model(struct scene *sc, char *out, size_t capacity, const char *file)
{
    snprintf(out, capacity, "rehearsal/%s/%s", sc->dir, file);
    return str_of(out);
}

#define SCENE_RULE                                                                                 \
    {                                                                                              \
        .attempts = 3, .first_ms = 1, .max_ms = 4                                                  \
    }
static const struct retry_rules scene_retry = {
    .rules = {SCENE_RULE, SCENE_RULE, SCENE_RULE, SCENE_RULE, SCENE_RULE, SCENE_RULE, SCENE_RULE},
    .statuses = {{408, 409}, {500, 599}},
    .max_retry_after_ms = 1000,
};

SCENE void scene_init(struct scene *sc)
{
    *sc = (struct scene){.path = STR_NONE};
    strcpy(sc->dir, "/tmp/trivet-scene-XXXXXX");
    assert_non_null(mkdtemp(sc->dir));
    sc->settings = (struct session_settings){.toolset = &scene_tools,
                                             .permit = PERMIT_ALL,
                                             .retry = scene_retry,
                                             .max_rounds = 10,
                                             .stall_ms = 5000,
                                             .kill_grace_ms = 100,
                                             .canceled_text = "interrupted",
                                             .system = "You are a test."};
    static char path[100];
    snprintf(path, sizeof path, "%s/session.jsonl", sc->dir);
    sc->path = str_of(path);
    n_tool_runs = 0;
    scene_engine(sc);
}

SCENE void scene_begin(struct scene *sc, const char *model)
{
    struct error err;
    struct session_spec spec = scene_spec(sc, str_of(model));
    sc->session = session_new(sc->engine, &spec, &err);
    assert_non_null(sc->session);
    session_listen(sc->session, &sc->listener);
}

/* Closes everything that a process would close at its end. */
SCENE void scene_stop(struct scene *sc)
{
    if (sc->session)
        session_close(sc->session);
    sc->session = NULL;
    for (int i = 0; i < 200 && !engine_is_idle(sc->engine); i++)
        loop_step(sc->loop, true);
    engine_free(sc->engine);
    for (int i = 0; i < 5; i++)
        loop_step(sc->loop, false);
    loop_free(sc->loop);
}

SCENE void scene_clear(struct scene *sc)
{
    char cmd[120];
    scene_stop(sc);
    buf_clear(&sc->heard);
    buf_clear(&sc->text);
    snprintf(cmd, sizeof cmd, "rm -rf %s", sc->dir);
    assert_int_equal(system(cmd), 0);
}

struct scene_open {
    struct engine *engine;
    const struct session_spec *spec;
    struct session_report *report;
    struct error *err;
    struct session *session;
    bool is_over;
};

SCENE void scene_open_fiber(void *arg)
{
    struct scene_open *o = arg;
    o->session = session_open_await(o->engine, o->spec, o->report, o->err);
    o->is_over = true;
}

SCENE struct session *scene_open(struct scene *sc, const struct session_spec *spec,
                                 struct session_report *report, struct error *err)
{
    struct scene_open o = {.engine = sc->engine, .spec = spec, .report = report, .err = err};
    fiber_start(sc->loop, "open", scene_open_fiber, &o);
    while (!o.is_over)
        loop_step(sc->loop, true);
    return o.session;
}

struct scene_send {
    struct scene *scene;
    const char *text;
    enum send_how how;
    bool is_done, ok;
    struct error err;
    char turn[UUID_LEN + 1];
};

SCENE void scene_send_fiber(void *arg)
{
    struct scene_send *s = arg;
    struct input in = {.text = str_of(s->text)};
    s->ok = session_send_await(s->scene->session, &in, s->how, s->turn, &s->err);
    s->is_done = true;
}

SCENE void scene_start_send(struct scene *sc, struct scene_send *s, const char *text,
                            enum send_how how)
{
    *s = (struct scene_send){.scene = sc, .text = text, .how = how};
    fiber_start(sc->loop, "send", scene_send_fiber, s);
}

SCENE void scene_until(struct scene *sc, int n_ended)
{
    int64_t limit = time_mono_us() + 20000000;
    while (sc->n_ended < n_ended && time_mono_us() < limit)
        loop_step(sc->loop, true);
    assert_int_equal(sc->n_ended, n_ended);
    for (int i = 0; i < 200 && !engine_is_idle(sc->engine); i++)
        loop_step(sc->loop, false);
}

/* Sends and waits for the end of its turn. */
SCENE bool scene_say(struct scene *sc, const char *text)
{
    struct scene_send s;
    int before = sc->n_ended;
    scene_start_send(sc, &s, text, SEND_NEW);
    while (!s.is_done)
        loop_step(sc->loop, true);
    if (s.ok)
        scene_until(sc, before + 1);
    return s.ok;
}

/* Steps until the heard events end with the word. */
SCENE void scene_hear_until(struct scene *sc, const char *word)
{
    int64_t limit = time_mono_us() + 20000000;
    while (str_find(buf_str(&sc->heard), str_of(word)) == SIZE_MAX && time_mono_us() < limit)
        loop_step(sc->loop, true);
    assert_true(str_find(buf_str(&sc->heard), str_of(word)) != SIZE_MAX);
}

#endif
