/* SPDX-License-Identifier: MIT */
/* `trivet demo`: a minimal client.  It starts this program once per dialect, talks to it over
 * pipes, and shows what happens: prompt, answer, tool, result, time.  With --raw it prints every
 * message of both sides.
 *
 * A play is a list of steps: send a message, then read until a message contains all strings of
 * `until`.  An id from the server is stored and replaces $id in later steps.
 */
#include "cli/demo.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/time.h"
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

struct demo_step {
    const char *say;      /* NULL: only read; $id, $workspace are replaced */
    const char *until[3]; /* strings in the awaited message */
    const char *remember; /* member of the awaited message's result that becomes $id */
};

enum part { PART_TEXT, PART_TOOL, PART_ASKED, PART_RESULT, PART_PROMPT };

struct part_pattern { /* what to show of a message that contains the strings */
    const char *fits[2];
    enum part part;
    const char *member; /* that holds the text */
};

struct play {
    const char *name, *title;
    const char *args[8];
    enum frame_kind framing;
    const struct demo_step *steps;
    const struct part_pattern *patterns; /* ended by PART_TEXT without a string */
};

static const char prompt[] = "list the files here";

/* clang-format off */
static const struct part_pattern loaf_patterns[] = {
    {{"session.stream.chunk"}, PART_TEXT, "text"},
    {{"session.tool.call.started"}, PART_TOOL, "tool_name"},
    {{"session.tool.call.completed"}, PART_RESULT, "result"},
    {{NULL}, PART_TEXT, NULL},
};
static const struct part_pattern scaiflux_patterns[] = {
    {{"\"text_delta\""}, PART_TEXT, "delta"},
    {{"\"tool_start\""}, PART_TOOL, "name"},
    {{"\"permission_request\""}, PART_ASKED, "tool"},
    {{"\"tool_result\""}, PART_RESULT, "output"},
    {{NULL}, PART_TEXT, NULL},
};
static const struct part_pattern kward_patterns[] = {
    {{"\"type\":\"assistantDelta\""}, PART_TEXT, "delta"},
    {{"\"type\":\"toolCall\""}, PART_TOOL, "toolName"},
    {{"\"type\":\"toolResult\""}, PART_RESULT, "content"},
    {{NULL}, PART_TEXT, NULL},
};
static const struct part_pattern acp_patterns[] = {
    {{"agent_message_chunk"}, PART_TEXT, "text"},
    {{"\"sessionUpdate\":\"tool_call\""}, PART_TOOL, "title"},
    {{"tool_call_update", "\"completed\""}, PART_RESULT, "text"},
    {{NULL}, PART_TEXT, NULL},
};
/* clang-format on */

/* clang-format off */
static const struct demo_step loaf_steps[] = {
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
static const struct demo_step scaiflux_steps[] = {
    {NULL, {"\"ready\""}, NULL},
    {"{\"type\":\"prompt\",\"text\":\"list the files here\"}", {"permission_request"}, "request_id"},
    {"{\"type\":\"permission_response\",\"request_id\":\"$id\",\"decision\":\"allow\"}",
     {"turn_complete"}, NULL},
    {"{\"type\":\"shutdown\"}", {NULL}, NULL},
    {0},
};
/* clang-format on */

/* clang-format off */
static const struct demo_step kward_steps[] = {
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
static const struct demo_step acp_steps[] = {
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
    {"loaf", "JSON-RPC, one object per line", {"loaf", "rpc"}, FRAME_LINES, loaf_steps, loaf_patterns},
    {"scaiflux", "typed messages, every tool call is asked for",
     {"scaiflux", "serve", "--workspace", ".", "--permission-mode", "prompt"}, FRAME_LINES,
     scaiflux_steps, scaiflux_patterns},
    {"kward", "JSON-RPC in Content-Length frames", {"kward", "rpc"}, FRAME_LENGTH, kward_steps,
     kward_patterns},
    {"acp", "the Agent Client Protocol of editors", {"acp"}, FRAME_LINES, acp_steps, acp_patterns},
};
/* clang-format on */

/* ---- state ---- */

struct shown {
    enum part part;
    char *text;
};

struct stage {
    const struct play *play;
    const char *workspace;
    pid_t pid;
    int to, from;
    struct frame *frame;
    struct buf id;                /* $id */
    const struct demo_step *step; /* the current one */
    bool is_reached;
    bool is_over; /* end of its output */
    int n_pieces; /* of text, in a row */
    bool is_raw;
    bool in_text;   /* the line of an answer is open */
    bool is_broken; /* a line end came that is not printed yet */
    int column;
    int n_messages;
    int64_t asked_us, ended_us; /* when the prompt was sent, and the last awaited message came */
    struct shown *shown;        /* shown when the turn is over */
    size_t n_shown;
};

static const char *paint(const char *code)
{
    const char *none = getenv("NO_COLOR");
    return isatty(STDOUT_FILENO) && !(none && *none) ? code : "";
}

/* ---- for people ---- */

enum { MARGIN = 12, WIDTH = 78, PIECE_MS = 24, TURN_MS = 200 };

/* On a terminal it goes as slowly as people read; everywhere else it does not wait. */
static void pace(int ms)
{
    fflush(stdout);
    if (isatty(STDOUT_FILENO))
        usleep((useconds_t)ms * 1000);
}

static void end_text(struct stage *st)
{
    if (st->in_text)
        putchar('\n');
    st->in_text = st->is_broken = false;
}

static void begin_line(struct stage *st, const char *who, const char *colour)
{
    end_text(st);
    printf("  %s%-*s%s", paint(colour), MARGIN - 2, who, paint("\033[0m"));
    st->column = MARGIN;
}

static void break_line(struct stage *st)
{
    printf("\n%*s", MARGIN, "");
    st->column = MARGIN;
    st->is_broken = false;
}

/* Lines of a text below each other, without empty ones; words are broken at the end of a line. */
static void put_text(struct stage *st, struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        size_t word = 0;
        while (i + word < text.n && text.p[i + word] != ' ' && text.p[i + word] != '\n')
            word++;
        if (text.p[i] == '\n') {
            st->is_broken = true;
            continue;
        }
        bool is_full = st->column > MARGIN && st->column + (int)word > WIDTH;
        if (st->is_broken || is_full)
            break_line(st);
        if (is_full && text.p[i] == ' ')
            continue;
        putchar((unsigned char)text.p[i] < 32 ? '?' : text.p[i]);
        st->column += ((unsigned char)text.p[i] & 0xc0) != 0x80;
    }
}

/* ACP sends results inside a fence. */
static struct str without_fence(struct str text)
{
    struct str fence = STR("```"), first;
    if (!str_starts(text, fence) || !str_ends(text, fence))
        return text;
    struct str rest = str_split(text, '\n', &first);
    return str_trim(str_cut(rest, rest.n - fence.n));
}

static void keep(struct stage *st, enum part part, struct str text)
{
    st->shown = xrealloc(st->shown, (st->n_shown + 1) * sizeof *st->shown);
    st->shown[st->n_shown++] = (struct shown){part, str_dup(text)};
}

static void show_part(struct stage *st, enum part part, struct str text)
{
    static const struct {
        const char *who, *colour;
    } words[] = {[PART_TEXT] = {"model", "\033[36m"},
                 [PART_TOOL] = {"tool", "\033[35m"},
                 [PART_ASKED] = {"question", "\033[33m"},
                 [PART_RESULT] = {"result", "\033[2m"},
                 [PART_PROMPT] = {"you", "\033[32m"}};
    if (part != PART_TEXT || !st->in_text)
        begin_line(st, words[part].who, words[part].colour);
    st->in_text = true;
    put_text(st, part == PART_TEXT ? text : without_fence(str_trim(text)));
    if (part == PART_ASKED)
        put_text(st, STR(" may run? allowed"));
    if (part != PART_TEXT)
        end_text(st);
    pace(part == PART_TEXT ? PIECE_MS : TURN_MS);
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
    enum { RAW_WIDTH = 200 };
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
    bool is_cut = line.n > RAW_WIDTH;
    buf_cut(&line, utf8_cut(buf_str(&line), RAW_WIDTH).n);
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
    if (yyjson_is_arr(v)) {
        yyjson_arr_foreach(v, i, max, item) {
            if (!found.p)
                found = find_member(item, name);
        }
    }
    if (found.p || !yyjson_is_obj(v))
        return found;
    yyjson_obj_foreach(v, i, max, key, item) {
        if (!found.p)
            found = find_member(item, name);
    }
    return found;
}

static void show_message(struct stage *st, struct str body)
{
    AUTO(json) struct json j = JSON_INIT;
    struct error ignored;
    for (const struct part_pattern *t = st->play->patterns; t->fits[0]; t++) {
        bool fits = str_find(body, str_of(t->fits[0])) != SIZE_MAX &&
                    (!t->fits[1] || str_find(body, str_of(t->fits[1])) != SIZE_MAX);
        if (!fits)
            continue;
        if (!json_parse(body, 0, 512, &j, &ignored)) {
            j = JSON_INIT;
            return;
        }
        struct str text = find_member(j.root, t->member);
        if (text.n)
            keep(st, t->part, text);
        return;
    }
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
    st->n_messages++;
    if (st->is_raw)
        show_heard(st, body);
    else
        show_message(st, body);
    if (!st->step || st->is_reached)
        return;
    for (size_t i = 0; i < ARRAY_LEN(st->step->until) && st->step->until[i]; i++)
        if (str_find(body, str_of(st->step->until[i])) == SIZE_MAX)
            return;
    st->is_reached = true;
    bool is_farewell = st->step->say && (strstr(st->step->say, "shutdown") ||
                                         strstr(st->step->say, "session/close"));
    if (!is_farewell)
        st->ended_us = time_mono_us();
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
    if (st->is_raw) {
        show_heard(st, STR_NONE);
        show("->", "\033[33m", buf_str(&body));
    } else if (strstr(text, prompt)) {
        keep(st, PART_PROMPT, str_of(prompt));
    }
    if (strstr(text, prompt))
        st->asked_us = time_mono_us();
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
    for (const struct demo_step *s = st->play->steps; ok && (s->say || s->until[0]); s++) {
        st->step = s;
        st->is_reached = false;
        if (s->say)
            say(st, s->say);
        ok = listen_for(st);
    }
    close(st->to);
    st->step = &(const struct demo_step){0};
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
    bool is_raw, asks_help;
};
const struct option demo_options[] = {
    OPTION(demo_options, is_raw, OPT_FLAG, "raw", 0, NULL, "print the messages of both sides"),
    OPTION(demo_options, asks_help, OPT_FLAG, "help", 'h', NULL, "this text"),
    OPTION_END,
};

/* How this program is started here: by ./run in the directory of a source tree, by its path
 * elsewhere in one, else by its name. */
static void put_start(struct buf *out)
{
    AUTO(buf) struct buf run = BUF_INIT;
    struct str build = path_dir(str_of(path_program())), tree = path_dir(build);
    buf_addf(&run, "%.*s/run", STR_FMT(tree));
    if (!str_is(path_base(build), "build") || !path_exists(buf_str(&run)))
        buf_addz(out, "trivet");
    else
        buf_add(out, str_eq(tree, path_cwd()) ? STR("./run") : buf_str(&run));
}

static void show_step(const char *start, const char *words, const char *about)
{
    int width = (int)(strlen(start) + strlen(words));
    printf("  %s%s%s%s%*s %s\n", paint("\033[1m"), start, words, paint("\033[0m"),
           width < 22 ? 22 - width : 1, "", about);
}

static void show_next(void)
{
    AUTO(buf) struct buf start = BUF_INIT;
    put_start(&start);
    printf("\nAll protocols work.  What to do next:\n\n");
    show_step(start.p, "", "a chat; it asks which model shall answer");
    show_step(start.p, " login", "sign in, or enter a key");
    show_step(start.p, " exec \"hello\"", "one prompt from a script");
    show_step(start.p, " demo --raw", "the messages behind what you have just seen");
    printf("  docs/first-client.md   a client of your own, in ten lines of Python\n");
}

/* One turn in one dialect, and how long it took. */
static bool play(const struct play *p, bool is_raw, struct error *err)
{
    char workspace[] = "/tmp/trivet-demo-XXXXXX";
    struct stage st = {.play = p, .workspace = workspace, .is_raw = is_raw};
    printf("\n%s%s%s  %s\n", paint("\033[1m"), p->name, paint("\033[0m"), p->title);
    bool ok = make_workspace(workspace, err) && perform(&st, err);
    remove_tree(workspace);
    for (size_t i = 0; i < st.n_shown; i++) {
        show_part(&st, st.shown[i].part, str_of(st.shown[i].text));
        free(st.shown[i].text);
    }
    free(st.shown);
    end_text(&st);
    if (ok && !is_raw)
        printf("  %s%-*s%d messages, %lld ms from the prompt to the end%s\n", paint("\033[2m"),
               MARGIN - 2, "done", st.n_messages, (long long)(st.ended_us - st.asked_us) / 1000,
               paint("\033[0m"));
    buf_clear(&st.id);
    return ok;
}

int demo_run(const struct command_row *row, int argc, char **argv)
{
    struct demo_options o = {0};
    char home[] = "/tmp/trivet-home-XXXXXX";
    struct error err = ERROR_INIT;
    int exit_code;
    if (!command_read(row, &argc, argv, &o, &o.asks_help, &exit_code))
        return exit_code;
    if (argc) {
        error_set(&err, ERR_INVALID, "takes no words");
        return command_refuse(row, &err);
    }
    signal(SIGPIPE, SIG_IGN);
    bool ok = mkdtemp(home) || error_errno(&err, errno, "no temporary directory");
    setenv("HOME", home, 1); /* no file of the user is changed */
    unsetenv("KWARD_CONFIG_PATH");
    unsetenv("XDG_STATE_HOME");
    unsetenv("XDG_CONFIG_HOME");
    setenv("TRIVET_MODEL", "rehearsal/default", 1);
    if (ok)
        printf("Three files and the built-in rehearsal model: no key, no network.\n"
               "One turn in each protocol:\n");
    for (size_t i = 0; ok && i < ARRAY_LEN(plays); i++)
        ok = play(&plays[i], o.is_raw, &err);
    remove_tree(home);
    if (!ok) {
        fprintf(stderr, "trivet demo: %s\n", err.text);
        return 1;
    }
    show_next();
    return fflush(stdout) == 0 ? 0 : 9;
}
