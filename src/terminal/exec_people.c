/* SPDX-License-Identifier: MIT */
/* stdout has the answer alone, stderr the progress:
 *
 *     session 4d40...
 *     > bash make test
 *       failed: 3 of 214
 *     > edit_file src/parse.c
 *     2 rounds, 12.4k tokens in, 1.4k out, $0.03, 14 s
 */
#include "base/json.h"
#include "base/limits.h"
#include "base/shown.h"
#include "base/time.h"
#include "base/utf8.h"
#include "dialects/accounts.h"
#include "terminal/exec_impl.h"

#include <stdio.h>
#include <string.h>

enum { QUEUE_BYTES = 256 << 10 }; /* more waiting for a slow reader pauses the model */
enum { GIST_BYTES = 160 };

void exec_put_json(struct exec *x, struct str line)
{
    AUTO(buf) struct buf shown = BUF_INIT;
    if (x->is_live)
        shown_add(&shown, line, true);
    writer_put(x->out, x->is_live ? buf_str(&shown) : line);
}

/* A \r at the end of a piece waits for the \n that may follow. */
void exec_put_text(struct exec *x, struct str text)
{
    AUTO(buf) struct buf whole = BUF_INIT, shown = BUF_INIT;
    buf_addz(&whole, x->owes_return ? "\r" : "");
    buf_add(&whole, text);
    x->owes_return = str_ends(buf_str(&whole), STR("\r"));
    shown_add(&shown, str_cut(buf_str(&whole), whole.n - x->owes_return), true);
    if (!shown.n)
        return;
    writer_put(x->out, buf_str(&shown));
    if (writer_queued(x->out) > QUEUE_BYTES && x->launch.session)
        listener_set_full(x->launch.session, &x->listener, true);
    x->ends_line = shown.p[shown.n - 1] == '\n';
}

void exec_end_line(struct exec *x)
{
    if (!x->ends_line || x->owes_return)
        exec_put_text(x, STR("\n"));
}

void exec_put_gist(struct str args, struct buf *out)
{
    AUTO(json) struct json j = JSON_INIT;
    struct error ignored;
    struct str text = args;
    if (json_parse(args, JSON_FIX_SURROGATES, LIMIT_JSON_DEPTH, &j, &ignored))
        text = profile_gist(j.root, args);
    utf8_collapse(out, utf8_cut(text, GIST_BYTES));
}

static void show_line(const struct exec *x, const char *mark, struct str text)
{
    AUTO(buf) struct buf shown = BUF_INIT;
    shown_add(&shown, text, false);
    fprintf(stderr, "%s%s%.*s%s\n", x->has_color ? "\033[2m" : "", mark, STR_FMT(buf_str(&shown)),
            x->has_color ? "\033[0m" : "");
}

static void show_lines(const struct exec *x, const char *mark, struct str text)
{
    struct str line, rest = text;
    while (str_line(&rest, &line))
        show_line(x, mark, line);
}

void exec_drop_call(struct exec *x)
{
    loop_take_back(take(&x->call_soon));
    buf_clear(&x->call);
}

void exec_show_call(struct exec *x)
{
    if (x->call.n)
        show_line(x, "> ", buf_str(&x->call));
    exec_drop_call(x);
}

static void on_soon(void *arg)
{
    struct exec *x = arg;
    x->call_soon = NULL;
    exec_show_call(x);
}

/* The things to do: its result is the list. */
static bool is_list(const struct event_call *c)
{
    return str_is(c->name, "TodoWrite");
}

/* Not at once: a question may follow, which shows the call itself. */
static void show_call_soon(struct exec *x, const struct event_call *c)
{
    buf_add(&x->call, c->name);
    if (!is_list(c)) {
        buf_addc(&x->call, ' ');
        exec_put_gist(c->args, &x->call);
    }
    x->call_soon = loop_soon(x->loop, on_soon, x);
}

/* The first line of what went wrong; what went well needs no words. */
static void show_result(const struct exec *x, const struct event *e)
{
    AUTO(buf) struct buf text = BUF_INIT;
    const struct event_result *r = e->result;
    struct str line, rest = r->text;
    if (x->options.is_verbose) {
        show_lines(x, "  ", r->text);
    } else if (is_list(e->call) && !r->is_error) {
        str_line(&rest, &line); /* how many */
        show_lines(x, "  ", rest);
    } else if (r->is_error && str_line(&rest, &line)) {
        buf_addf(&text, "failed: %.*s", STR_FMT(utf8_cut(line, GIST_BYTES)));
        show_line(x, "  ", buf_str(&text));
    }
}

static void show_retry(const struct exec *x, const struct event *e)
{
    AUTO(buf) struct buf text = BUF_INIT;
    buf_addf(&text, "%.*s; again in %lld ms", STR_FMT(e->text), (long long)e->retry->delay_ms);
    show_line(x, "  ", buf_str(&text));
}

static void keep_said(struct exec *x)
{
    if (x->text.n) {
        buf_reset(&x->said);
        buf_add(&x->said, buf_str(&x->text));
    }
    buf_reset(&x->text);
}

void exec_add_text(struct exec *x, struct str text)
{
    if (x->is_text_whole) /* another reply begins */
        keep_said(x);
    x->is_text_whole = false;
    buf_add(&x->text, text);
    if (x->is_streaming)
        exec_put_text(x, text);
}

/* What was said before a call is progress, not the answer. */
static void show_text(struct exec *x)
{
    if (x->is_streaming)
        exec_end_line(x);
    else if (!x->options.is_quiet)
        show_lines(x, "", buf_str(&x->text));
    keep_said(x);
}

void exec_show_event(struct exec *x, const struct event *e)
{
    bool is_shown = !x->options.is_quiet;
    if (e->kind != EV_PERMISSION_ASKED)
        exec_show_call(x);
    if (e->kind == EV_CALL_STARTED)
        show_text(x);
    if (e->kind == EV_RETRY_WAITING) /* the reply begins again */
        buf_reset(&x->text);
    if (e->kind == EV_CALL_STARTED && is_shown)
        show_call_soon(x, e->call);
    else if (e->kind == EV_CALL_DONE && is_shown)
        show_result(x, e);
    else if (e->kind == EV_RETRY_WAITING && is_shown)
        show_retry(x, e);
    else if (e->kind == EV_REASONING && x->options.is_verbose)
        show_lines(x, "  ", e->text);
    else if (e->kind == EV_NOTICE && is_shown)
        show_line(x, "", e->text);
    else if (e->kind == EV_COMPACTION_STARTED && is_shown)
        show_line(x, "", STR("summarising older messages"));
}

static void add_count(struct buf *out, int64_t n)
{
    if (n < 10000)
        buf_addf(out, "%lld", (long long)n);
    else
        buf_addf(out, "%.1fk", (double)n / 1000);
}

static void show_figures(const struct exec *x)
{
    AUTO(buf) struct buf text = BUF_INIT;
    buf_addf(&text, "%lld round%s, ", (long long)x->n_rounds, x->n_rounds == 1 ? "" : "s");
    add_count(&text, x->usage.input);
    buf_addz(&text, " tokens in, ");
    add_count(&text, x->usage.output);
    buf_addz(&text, " out");
    if (x->usage.cost > 0)
        buf_addf(&text, ", $%.*f", x->usage.cost < 0.1 ? 4 : 2, x->usage.cost);
    buf_addf(&text, ", %.1f s", (double)(time_mono_us() - x->began_us) / 1e6);
    show_line(x, "", buf_str(&text));
}

/* Members of objects have backticks around their names, which are for protocols. */
static void show_error(const struct exec *x)
{
    AUTO(buf) struct buf plain = BUF_INIT;
    for (const char *p = x->error.text; *p; p++)
        if (*p != '`')
            buf_addc(&plain, *p);
    shown_line(stderr, "trivet exec: %.*s", STR_FMT(buf_str(&plain)));
}

/* Where the credentials came from that were refused. */
static void show_source(const struct exec *x)
{
    AUTO(buf) struct buf source = BUF_INIT;
    struct session_info info;
    if (!x->launch.session)
        return;
    session_info(x->launch.session, &info);
    account_put_source(x->engine, info.model, &source);
    if (source.n)
        shown_line(stderr, "  %.*s", STR_FMT(buf_str(&source)));
}

void exec_show_end(struct exec *x)
{
    static const char *const words[] = {
        [EXEC_FAILED] = "failed",
        [EXEC_UNFINISHED] = "stopped early",
        [EXEC_DENIED] = "a call needed a permission, and there is no terminal to ask on",
        [EXEC_SCHEMA] = "the answer does not fit the schema",
        [EXEC_INTERRUPTED] = "interrupted",
        [EXEC_TIMEOUT] = "stopped by --timeout",
    };
    if (x->status != EXEC_OK && x->error.code != ERR_NONE)
        show_error(x);
    else if (x->status == EXEC_UNFINISHED)
        shown_line(stderr, "trivet exec: %s: %s", words[x->status], x->stop);
    else if (x->status != EXEC_OK)
        shown_line(stderr, "trivet exec: %s", words[x->status]);
    if (x->exit_code == EXIT_USAGE)
        fputs("  try: trivet exec --help\n", stderr);
    if (x->error.code == ERR_AUTH)
        show_source(x);
    else if (x->exit_code == EXIT_NO_MODEL)
        fputs("  try: TRIVET_MODEL=rehearsal/default, a key in the environment, or trivet doctor\n",
              stderr);
    if (!x->options.is_quiet && x->launch.session)
        show_figures(x);
}
