/* SPDX-License-Identifier: MIT */
/* A stage for the rehearsal model in tests: a request, a listener, a scenario file.  Everything the
 * sink hears is written into one transcript, so that a test compares text: T[piece] R[piece]
 * A (alive) END or END(code).
 */
#ifndef TRIVET_TESTS_UNIT_REHEARSAL_SCENE_H
#define TRIVET_TESTS_UNIT_REHEARSAL_SCENE_H

#include "providers/rehearsal/rehearsal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

/* --- a listener --- */

struct listener {
    struct buf log;  /* the transcript */
    struct buf text; /* text pieces joined */
    struct buf reasoning;
    int n_pieces, n_ends;
    int free_at, pause_at; /* number of the piece, 0: never */
    struct stream *stream;
    struct error err; /* of the end */
    struct loop *loop;
    int *n_running;
};

static inline void hear_piece(struct listener *h, char kind, struct buf *joined, struct str delta)
{
    assert_true(delta.n > 0);
    assert_int_equal(h->n_ends, 0);
    buf_addf(&h->log, "%c[%.*s]", kind, STR_FMT(delta));
    buf_add(joined, delta);
    h->n_pieces++;
    if (h->n_pieces == h->pause_at)
        provider_rehearsal.pause(h->stream, true);
    if (h->n_pieces == h->free_at) {
        provider_rehearsal.free(h->stream);
        h->stream = NULL;
    }
}

static inline void on_text(void *arg, struct str delta)
{
    struct listener *h = arg;
    hear_piece(h, 'T', &h->text, delta);
}

static inline void on_reasoning(void *arg, struct str delta)
{
    struct listener *h = arg;
    hear_piece(h, 'R', &h->reasoning, delta);
}

static inline void on_alive(void *arg)
{
    struct listener *h = arg;
    buf_addc(&h->log, 'A');
}

static inline void on_end(void *arg, struct reply *reply, const struct error *err)
{
    struct listener *h = arg;
    assert_non_null(reply);
    h->n_ends++;
    if (err)
        h->err = *err;
    if (err)
        buf_addf(&h->log, "END(%s)", err_code_name(err->code));
    else
        buf_addz(&h->log, "END");
    if (h->n_running && --*h->n_running == 0)
        loop_stop(h->loop);
}

static inline struct ask_sink sink_of(struct listener *h)
{
    return (struct ask_sink){on_text, on_reasoning, NULL, on_alive, on_end, h};
}

static inline void listener_clear(struct listener *h)
{
    provider_rehearsal.free(h->stream);
    h->stream = NULL;
    buf_clear(&h->log);
    buf_clear(&h->text);
    buf_clear(&h->reasoning);
}

/* --- a request --- */

static const struct tool_def loaf_tools[] = {
    {STR("read_file"), STR("reads"),
     STR("{\"type\":\"object\",\"properties\":{\"file_path\":{\"type\":\"string\"}}}")},
    {STR("list_dir"), STR("lists"), STR("{\"properties\":{\"dir_path\":{}}}")},
    {STR("grep_files"), STR("greps"), STR("{\"properties\":{\"pattern\":{},\"path\":{}}}")},
    {STR("bash"), STR("runs"), STR("{\"properties\":{\"command\":{}}}")},
};
static const struct tool_def scaiflux_tools[] = {
    {STR("bash"), STR(""), STR("{}")},
    {STR("read_file"), STR(""), STR("{\"properties\":{\"path\":{}}}")},
    {STR("write_file"), STR(""), STR("{\"properties\":{\"path\":{},\"content\":{}}}")},
    {STR("glob_search"), STR(""), STR("{\"properties\":{\"pattern\":{},\"path\":{}}}")},
    {STR("grep_search"), STR(""), STR("{\"properties\":{\"pattern\":{},\"path\":{}}}")},
};
static const struct tool_def kward_tools[] = {
    {STR("list_directory"), STR(""), STR("{\"properties\":{\"path\":{}}}")},
    {STR("read_file"), STR(""), STR("{\"properties\":{\"path\":{}}}")},
    {STR("run_shell_command"), STR(""), STR("{\"properties\":{\"command\":{}}}")},
    {STR("write_file"), STR(""), STR("{\"properties\":{\"path\":{},\"content\":{}}}")},
};

struct scene {
    struct loop *loop;
    struct arena arena;
    struct message messages[16];
    struct ask ask;
    struct listener h;
};

static inline void scene_init(struct scene *s, const char *model)
{
    *s = (struct scene){.loop = loop_new()};
    s->ask = (struct ask){
        .model = {.provider = "rehearsal", .id = str_of(model)},
        .system = STR("You help.\nWorkspace: /w/space\nBe brief."),
        .messages = s->messages,
        .session_id = STR("s1"),
    };
    s->h.loop = s->loop;
}

static inline void scene_clear(struct scene *s)
{
    listener_clear(&s->h);
    for (int i = 0; i < 3; i++)
        loop_step(s->loop, false);
    loop_free(s->loop);
    arena_clear(&s->arena);
}

static inline void scene_say(struct scene *s, enum role role, const char *text)
{
    s->messages[s->ask.n_messages++] = message_text(&s->arena, role, str_of(text));
}

static inline void scene_tool(struct scene *s, const char *name, const char *text, bool is_error)
{
    s->messages[s->ask.n_messages++] = message_tool(&s->arena, STR("c"), str_of(name), str_of(text),
                                                    is_error);
}

static inline void scene_tools(struct scene *s, const struct tool_def *tools, size_t n)
{
    s->ask.tools = tools;
    s->ask.n_tools = n;
}

static inline void scene_start(struct scene *s)
{
    struct error err = ERROR_INIT;
    struct ask_sink sink = sink_of(&s->h);
    listener_clear(&s->h);
    s->h.n_pieces = s->h.n_ends = 0;
    s->h.err = ERROR_INIT;
    s->h.stream = provider_rehearsal.start(s->loop, &s->ask, &sink, &err);
    if (!s->h.stream)
        fail_msg("start: %s", err.text);
    assert_ptr_equal(s->h.stream->provider, &provider_rehearsal);
    assert_int_equal(s->h.n_pieces + s->h.n_ends, 0); /* nothing from inside start */
}

static inline void scene_play(struct scene *s)
{
    scene_start(s);
    loop_run(s->loop);
    assert_int_equal(s->h.n_ends, 1);
}

static inline struct reply *scene_reply(struct scene *s)
{
    return provider_rehearsal.reply(s->h.stream);
}

/* The calls of the reply: "name(arguments) name(arguments)". */
static inline const char *scene_calls(struct scene *s)
{
    AUTO(buf) struct buf out = BUF_INIT;
    struct message m = reply_message(scene_reply(s), &s->arena);
    for (size_t i = 0; i < m.n_blocks; i++)
        if (m.blocks[i].kind == BLOCK_CALL)
            buf_addf(&out, "%s%.*s(%.*s)", out.n ? " " : "", STR_FMT(m.blocks[i].name),
                     STR_FMT(m.blocks[i].arguments));
    return arena_strz(&s->arena, buf_str(&out));
}

static inline bool says(const struct scene *s, const char *part)
{
    return str_find(buf_str(&s->h.text), str_of(part)) != SIZE_MAX;
}

/* --- scenario files --- */

static char file_name[] = "/tmp/trivet-rehearsal-XXXXXX.json";

static inline void file_write(const char *text)
{
    FILE *f = fopen(file_name, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* Plays a scenario written to a file, one user message "hi". */
static inline void play_text(struct scene *s, const char *text)
{
    file_write(text);
    scene_init(s, file_name);
    scene_say(s, ROLE_USER, "hi");
    scene_play(s);
}

static inline void expect_log(const char *steps, const char *log)
{
    struct scene s;
    char text[2000];
    snprintf(text, sizeof text, "{\"rounds\":[[%s]]}", steps);
    play_text(&s, text);
    assert_string_equal(s.h.log.p, log);
    scene_clear(&s);
}

static inline void expect_calls(const char *model, const struct tool_def *tools, size_t n,
                                const char *user, const char *calls)
{
    struct scene s;
    scene_init(&s, model);
    scene_tools(&s, tools, n);
    scene_say(&s, ROLE_USER, user);
    scene_play(&s);
    assert_string_equal(scene_calls(&s), calls);
    scene_clear(&s);
}

#define LOAF loaf_tools, ARRAY_LEN(loaf_tools)
#define SCAIFLUX scaiflux_tools, ARRAY_LEN(scaiflux_tools)
#define KWARD kward_tools, ARRAY_LEN(kward_tools)

static inline int scene_main(const struct CMUnitTest *tests, size_t n, const char *name)
{
    int fd = mkstemps(file_name, 5);
    if (fd < 0)
        return 1;
    close(fd);
    int rc = _cmocka_run_group_tests(name, tests, n, NULL, NULL);
    unlink(file_name);
    return rc;
}

#endif
