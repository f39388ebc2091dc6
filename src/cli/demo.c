/* SPDX-License-Identifier: MIT */
/* `trivet demo`: a minimal client.  It starts this program once per dialect, talks to it over
 * pipes, and prints every message of both sides.
 *
 * A play is a list of steps: send a message, then read until a message contains all strings of
 * `until`.  An id from the server is stored and replaces $id in later steps.
 */
#include "cli/demo.h"

#include "base/json.h"
#include "base/path.h"
#include "base/utf8.h"
#include "wire/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct step {
    const char *say;      /* NULL: only read; $id, $workspace are replaced */
    const char *until[3]; /* strings in the awaited message */
    const char *remember; /* member of the awaited message's result that becomes $id */
};

struct play {
    const char *title;
    const char *args[8];
    enum frame_kind framing;
    const struct step *steps;
};

/* clang-format off */
static const struct step loaf_steps[] = {
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"rpc.handshake\",\"params\":{\"client_name\":\"demo\"}}",
     {"\"id\":1"}, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"session.create\",\"params\":{\"title\":\"demo\"}}",
     {"\"id\":2"}, "session_id"},
    {"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"session.send\",\"params\":{\"session_id\":\"$id\","
     "\"text\":\"list the files here\"}}",
     {"session.status", "\"ready\""}, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"system.shutdown\"}", {"\"id\":4"}, NULL},
    {0},
};
/* clang-format on */

/* clang-format off */
static const struct step scaiflux_steps[] = {
    {NULL, {"\"ready\""}, NULL},
    {"{\"type\":\"prompt\",\"text\":\"list the files here\"}", {"permission_request"}, "request_id"},
    {"{\"type\":\"permission_response\",\"request_id\":\"$id\",\"decision\":\"allow\"}",
     {"turn_complete"}, NULL},
    {"{\"type\":\"shutdown\"}", {NULL}, NULL},
    {0},
};
/* clang-format on */

/* clang-format off */
static const struct step kward_steps[] = {
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}", {"\"id\":1"}, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"sessions/create\",\"params\":"
     "{\"workspaceRoot\":\"$workspace\"}}",
     {"\"id\":2"}, "id"},
    {"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"turns/start\",\"params\":{\"sessionId\":\"$id\","
     "\"input\":\"list the files here\"}}",
     {"turnFinished"}, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"shutdown\"}", {"\"id\":4"}, NULL},
    {0},
};
/* clang-format on */

/* clang-format off */
static const struct step acp_steps[] = {
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":1}}",
     {"\"id\":1"}, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"session/new\",\"params\":"
     "{\"cwd\":\"$workspace\",\"mcpServers\":[]}}",
     {"\"id\":2"}, "sessionId"},
    {"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"$id\","
     "\"prompt\":[{\"type\":\"text\",\"text\":\"list the files here\"}]}}",
     {"stopReason"}, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"session/close\",\"params\":{\"sessionId\":\"$id\"}}",
     {"\"id\":4"}, NULL},
    {0},
};
/* clang-format on */

/* clang-format off */
static const struct play plays[] = {
    {"loaf rpc: JSON-RPC, one object per line", {"loaf", "rpc"}, FRAME_LINES, loaf_steps},
    {"scaiflux serve: typed messages, every tool call is asked for",
     {"scaiflux", "serve", "--workspace", ".", "--permission-mode", "prompt"}, FRAME_LINES,
     scaiflux_steps},
    {"kward rpc: JSON-RPC in Content-Length frames", {"kward", "rpc"}, FRAME_LENGTH, kward_steps},
    {"acp: the Agent Client Protocol, JSON-RPC, one object per line", {"acp"}, FRAME_LINES, acp_steps},
};
/* clang-format on */

/* ---- state ---- */

struct stage {
    const struct play *play;
    const char *workspace;
    pid_t pid;
    int to, from;
    struct frame *frame;
    struct buf id;           /* $id */
    const struct step *step; /* the current one */
    bool is_reached;
    bool is_over; /* end of its output */
    int n_pieces; /* of text, in a row */
};

static const char *paint(const char *code)
{
    return isatty(STDOUT_FILENO) ? code : "";
}

/* The length of a UUID at s, or 0. */
static size_t uuid_at(struct str s)
{
    if (s.n < 36)
        return 0;
    for (size_t i = 0; i < 36; i++) {
        bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
        char c = s.p[i];
        bool is_hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
        if (is_dash ? c != '-' : !is_hex)
            return 0;
    }
    return 36;
}

/* Shortened for display: without the members of every message; long ids and messages are cut. */
static void show(const char *arrow, const char *colour, struct str body)
{
    enum { WIDTH = 200 };
    static const struct str common = {"\"jsonrpc\":\"2.0\",", 16};
    AUTO(buf) struct buf line = BUF_INIT;
    for (size_t i = 0; i < body.n;) {
        struct str rest = str_from(body, i);
        if (str_starts(rest, common)) {
            i += common.n;
        } else if (uuid_at(rest)) {
            buf_add(&line, str_cut(rest, 4));
            buf_addz(&line, "..");
            i += 36;
        } else {
            buf_addc(&line, body.p[i++]);
        }
    }
    bool is_cut = line.n > WIDTH;
    buf_cut(&line, utf8_cut(buf_str(&line), WIDTH).n);
    printf("  %s%s%s %s%s\n", paint(colour), arrow, paint("\033[0m"), line.p, is_cut ? " ..." : "");
    fflush(stdout);
}

/* A piece of streamed text, or an event that comes with each of them. */
static bool is_piece(struct str body)
{
    static const char *const words[] = {"\"text_delta\"", "session.stream.chunk",
                                        "drafting response", "\"assistantDelta\""};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_find(body, str_of(words[i])) != SIZE_MAX)
            return true;
    return false;
}

/* Shows the first pieces of a run and counts the rest. */
static void show_heard(struct stage *st, struct str body)
{
    enum { SHOWN = 4 };
    bool counts = body.p && is_piece(body);
    if (counts && ++st->n_pieces > SHOWN)
        return;
    if (!counts && st->n_pieces > SHOWN)
        printf("     ... and %d more pieces of text\n", st->n_pieces - SHOWN);
    if (!counts)
        st->n_pieces = 0;
    if (body.p)
        show("<-", "\033[36m", body);
}

/* The value of the first member with this name, at any depth. */
static struct str find_member(yyjson_val *v, const char *name)
{
    struct str found = json_get_str(v, name);
    size_t i, max;
    yyjson_val *key, *item;
    if (found.p || !yyjson_is_obj(v))
        return found;
    yyjson_obj_foreach(v, i, max, key, item) {
        if (!found.p)
            found = find_member(item, name);
    }
    return found;
}

static void remember(struct stage *st, struct str body)
{
    AUTO(json) struct json j = JSON_INIT;
    struct error ignored;
    if (!st->step->remember)
        return;
    if (!json_parse(body, 0, 512, &j, &ignored)) {
        j = JSON_INIT;
        return;
    }
    buf_reset(&st->id);
    buf_add(&st->id, find_member(j.root, st->step->remember));
}

static void on_message(void *arg, struct str body)
{
    struct stage *st = arg;
    show_heard(st, body);
    if (!st->step || st->is_reached)
        return;
    for (size_t i = 0; i < ARRAY_LEN(st->step->until) && st->step->until[i]; i++)
        if (str_find(body, str_of(st->step->until[i])) == SIZE_MAX)
            return;
    st->is_reached = true;
    remember(st, body);
}

static void on_fault(void *arg, enum frame_fault fault, struct str detail)
{
    (void)arg;
    printf("  the stream is broken (%d): %.*s\n", (int)fault, STR_FMT(detail));
}

static bool spawn(struct stage *st, struct error *err)
{
    int in[2], out[2];
    const char *argv[10] = {path_program()};
    for (size_t i = 0; st->play->args[i]; i++)
        argv[i + 1] = st->play->args[i];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
        return error_errno(err, errno, "pipe");
    posix_spawn_file_actions_t fa;
    posix_spawn_file_actions_init(&fa);
    posix_spawn_file_actions_adddup2(&fa, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&fa, out[1], STDOUT_FILENO);
    posix_spawn_file_actions_addchdir_np(&fa, st->workspace);
    int rc = posix_spawn(&st->pid, argv[0], &fa, NULL, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&fa);
    close(in[0]);
    close(out[1]);
    st->to = in[1];
    st->from = out[0];
    return rc == 0 || error_errno(err, rc, "cannot start %s", argv[0]);
}

static void say(struct stage *st, const char *text)
{
    AUTO(buf) struct buf body = BUF_INIT;
    AUTO(buf) struct buf framed = BUF_INIT;
    for (const char *p = text; *p;) {
        if (strncmp(p, "$id", 3) == 0) {
            buf_add(&body, buf_str(&st->id));
            p += 3;
        } else if (strncmp(p, "$workspace", 10) == 0) {
            buf_addz(&body, st->workspace);
            p += 10;
        } else {
            buf_addc(&body, *p++);
        }
    }
    show_heard(st, STR_NONE);
    show("->", "\033[33m", buf_str(&body));
    frame_put(&framed, st->play->framing, buf_str(&body));
    if (write(st->to, framed.p, framed.n) < 0)
        st->is_over = true;
}

/* Reads until the message of the step came; to the end of output when it waits for none. */
static bool listen_for(struct stage *st)
{
    char bytes[4096];
    while (!st->is_over && !st->is_reached) {
        struct pollfd fd = {.fd = st->from, .events = POLLIN};
        if (poll(&fd, 1, 20000) <= 0)
            return false;
        ssize_t n = read(st->from, bytes, sizeof bytes);
        if (n > 0)
            frame_feed(st->frame, str_n(bytes, (size_t)n));
        else
            st->is_over = true;
    }
    return st->is_reached || !st->step->until[0];
}

static bool perform(struct stage *st, struct error *err)
{
    struct frame_sink sink = {on_message, on_fault, st};
    if (!spawn(st, err))
        return false;
    st->frame = frame_new(st->play->framing, 64 << 20, sink);
    bool ok = true;
    for (const struct step *s = st->play->steps; ok && (s->say || s->until[0]); s++) {
        st->step = s;
        st->is_reached = false;
        if (s->say)
            say(st, s->say);
        ok = listen_for(st);
    }
    close(st->to);
    st->step = &(const struct step){0};
    st->is_reached = false;
    listen_for(st);
    close(st->from);
    frame_free(st->frame);
    int status = 0;
    if (!ok)
        kill(st->pid, SIGKILL);
    waitpid(st->pid, &status, 0);
    if (!ok || status != 0)
        return error_set(err, ERR_INTERNAL, "%s did not send the expected message (status %d)",
                         st->play->args[0], status);
    return true;
}

/* ---- the temporary home and workspace ---- */

static bool make_workspace(char *dir, struct error *err)
{
    static const char *const files[] = {"README.md", "main.c", "notes.txt"};
    if (!mkdtemp(dir))
        return error_errno(err, errno, "no temporary directory");
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        AUTO(buf) struct buf path = BUF_INIT;
        buf_addf(&path, "%s/%s", dir, files[i]);
        FILE *f = fopen(path.p, "w");
        if (!f)
            return error_errno(err, errno, "%s", path.p);
        fprintf(f, "This is %s of the demo.\n", files[i]);
        fclose(f);
    }
    return true;
}

static void remove_tree(const char *dir)
{
    pid_t pid;
    const char *const argv[] = {"rm", "-rf", "--", dir, NULL};
    if (posix_spawnp(&pid, "rm", NULL, NULL, (char *const *)(uintptr_t)argv, environ) == 0)
        waitpid(pid, NULL, 0);
}

struct demo_options {
    bool asks_help;
};
const struct option demo_options[] = {
    OPTION(demo_options, asks_help, OPT_FLAG, "help", 'h', NULL, "this text"),
    OPTION_END,
};

int demo_run(const struct command_row *row, int argc, char **argv)
{
    struct demo_options o = {0};
    int exit_code;
    if (!command_read(row, &argc, argv, &o, &o.asks_help, &exit_code))
        return exit_code;
    char workspace[] = "/tmp/trivet-demo-XXXXXX", home[] = "/tmp/trivet-home-XXXXXX";
    struct error err = ERROR_INIT;
    signal(SIGPIPE, SIG_IGN);
    bool ok = make_workspace(workspace, &err) && mkdtemp(home);
    setenv("HOME", home, 1); /* no file of the user is changed */
    unsetenv("KWARD_CONFIG_PATH");
    unsetenv("XDG_STATE_HOME");
    setenv("TRIVET_MODEL", "rehearsal/default", 1);
    if (ok)
        printf(
            "A workspace with three files: %s\nThe model is trivet's own rehearsal model: no key, "
            "no network.\n",
            workspace);
    for (size_t i = 0; ok && i < ARRAY_LEN(plays); i++) {
        struct stage st = {.play = &plays[i], .workspace = workspace};
        printf("\n%s%s%s\n", paint("\033[1m"), plays[i].title, paint("\033[0m"));
        ok = perform(&st, &err);
        buf_clear(&st.id);
    }
    remove_tree(workspace);
    remove_tree(home);
    if (!ok) {
        fprintf(stderr, "trivet demo: %s\n", err.text);
        return 1;
    }
    printf(
        "\nAll four protocols work. Let your client start `trivet loaf rpc`, `trivet scaiflux serve`, "
        "`trivet kward rpc` or `trivet acp`.\n");
    return 0;
}
