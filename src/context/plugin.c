/* SPDX-License-Identifier: MIT */
#include "context/plugin.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"

enum { WHY_MAX = 300, GRACE_MS = 200, LINGER_MS = 500, FEW_LINES = 16 };

struct hearing {
    const struct plugin_call *call;
    struct child *child;
    struct buf line; /* the incomplete last line */
    struct buf why;  /* the beginning of stderr */
    bool has_said;
    bool is_too_much; /* output above the limit; the process is killed */
    size_t n_bytes;
};

static void say(struct hearing *h, struct str text)
{
    AUTO(buf) struct buf clean = BUF_INIT;
    buf_addz(&clean, h->has_said ? "\n" : "");
    utf8_repair(&clean, text);
    h->has_said = true;
    if (h->call->on_text && clean.n)
        h->call->on_text(h->call->arg, buf_str(&clean));
}

/* Reports whole lines: a few one by one, many that arrived together in one call. */
static void say_lines(struct hearing *h, struct str text)
{
    struct str rest = text;
    size_t n = 0, end;
    while (n < FEW_LINES && (end = str_chr(rest, '\n')) != SIZE_MAX) {
        rest = str_from(rest, end + 1);
        n++;
    }
    if (n == FEW_LINES) {
        say(h, text);
        return;
    }
    for (; (end = str_chr(text, '\n')) != SIZE_MAX; text = str_from(text, end + 1))
        say(h, str_cut(text, end));
    say(h, text);
}

static void on_output(void *arg, int stream, struct str bytes)
{
    struct hearing *h = arg;
    if (stream == 2) {
        buf_add(&h->why, str_cut(bytes, WHY_MAX - MIN(h->why.n, WHY_MAX)));
        return;
    }
    h->n_bytes += bytes.n;
    if (h->n_bytes > LIMIT_PLUGIN_BYTES && !h->is_too_much && h->child)
        child_kill(h->child);
    h->is_too_much |= h->n_bytes > LIMIT_PLUGIN_BYTES;
    if (h->is_too_much)
        return;
    const char *last = memrchr(bytes.p, '\n', bytes.n);
    buf_add(&h->line, bytes);
    if (!last)
        return;
    size_t end = h->line.n - (size_t)(bytes.p + bytes.n - last);
    say_lines(h, str_cut(buf_str(&h->line), end));
    buf_drop(&h->line, end + 1);
}

static void put_input(struct buf *out, const struct plugin_call *c)
{
    struct jw w = JW(out);
    jw_obj(&w);
    jw_kstr(&w, "command", c->command);
    jw_kstr(&w, "arguments", c->arguments);
    jw_kz(&w, "workspace", c->workspace);
    jw_kraw(&w, "session", c->session);
    jw_obj_end(&w);
    buf_addc(out, '\n');
}

static bool judge(const struct plugin_call *c, const struct child_end *end, bool is_too_much,
                  struct str why, struct error *err)
{
    struct str line;
    if (is_too_much)
        return error_set(err, ERR_LIMIT, "/%.*s failed: it wrote more than %d bytes",
                         STR_FMT(c->command), LIMIT_PLUGIN_BYTES);
    if (end->exit_code == 0)
        return true;
    why = str_trim(why);
    if (!str_line(&why, &line))
        line = STR("it said nothing on stderr");
    return error_set(err, ERR_INTERNAL, "/%.*s failed (%s %d): %.*s", STR_FMT(c->command),
                     end->signal ? "signal" : "exit status",
                     end->signal ? end->signal : end->exit_code, STR_FMT(line));
}

bool plugin_run_await(struct loop *l, const struct plugin_call *c, struct error *err)
{
    AUTO(buf) struct buf input = BUF_INIT;
    struct hearing h = {.call = c};
    AUTO_FREE char *command = str_dup(c->command);
    const char *argv[] = {c->program, command, NULL};
    struct child_end end;
    put_input(&input, c);
    struct child_options o = {.argv = argv,
                              .env = c->env,
                              .cwd = c->workspace,
                              .input = buf_str(&input),
                              .grace_ms = GRACE_MS,
                              .linger_ms = LINGER_MS,
                              .on_output = on_output,
                              .arg = &h};
    bool ok = child_run_await(l, &o, &h.child, &end, err);
    if (ok && h.line.n && !h.is_too_much)
        say(&h, buf_str(&h.line));
    ok = ok && judge(c, &end, h.is_too_much, buf_str(&h.why), err);
    buf_clear(&h.line);
    buf_clear(&h.why);
    return ok;
}
