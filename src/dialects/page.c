/* SPDX-License-Identifier: MIT */
#include "dialects/page.h"

#include "base/base64.h"
#include "base/path.h"
#include "base/sha256.h"
#include "base/time.h"
#include "base/utf8.h"
#include "context/web.h"
#include "dialects/profile.h"
#include "toolsets/todo.h"

enum { FILE_BYTES = 1 << 30, GIST_CHARS = 100, OPEN_LINES = 40, MAX_DEPTH = 64 };

static const char style[] =
    ":root{color-scheme:light dark;--bg:#fff;--fg:#1f2328;--dim:#59636e;--line:#d1d9e0;"
    "--soft:#f6f8fa;--user:#eaf2fd;--link:#0757ba;--add:#dafbe1;--del:#ffebe9;--hunk:#ddf4ff;"
    "--bad:#b3261e}"
    "@media(prefers-color-scheme:dark){:root{--bg:#0f1318;--fg:#e2e8ee;--dim:#9aa5b1;--line:#303842;"
    "--soft:#171d24;--user:#172a43;--link:#79b8ff;--add:#12361f;--del:#481c1c;--hunk:#13304a;"
    "--bad:#ff8a80}}"
    "*{box-sizing:border-box}"
    "body{margin:0;background:var(--bg);color:var(--fg);"
    "font:16px/1.6 system-ui,-apple-system,'Segoe UI',sans-serif;overflow-wrap:break-word}"
    "main{max-width:52rem;margin:0 auto;padding:1.5rem 1rem 4rem}"
    "h1{font-size:1.5rem;line-height:1.3;margin:0 0 .5rem}"
    "h2{font-size:.8rem;letter-spacing:.06em;text-transform:uppercase;color:var(--dim);margin:0 0 .3rem}"
    "h3,h4,h5,h6{margin:1.2em 0 .4em;line-height:1.3}h3{font-size:1.2rem}h4{font-size:1.05rem}"
    "h5,h6{font-size:1rem}"
    "header{border-bottom:1px solid var(--line);margin-bottom:1.5rem;padding-bottom:1rem}"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem .8rem;margin:0;"
    "font-size:.875rem;color:var(--dim)}dd{margin:0;min-width:0}"
    "section{margin:1.25rem 0 0}section.more{margin:0}"
    ".user{background:var(--user);border-radius:.6rem;padding:.8rem 1rem}"
    ".text{white-space:pre-wrap}"
    "p{margin:.5em 0}ul,ol{margin:.5em 0;padding-left:1.6em}li{margin:.15em 0}"
    "blockquote{margin:.6em 0;padding-left:1em;border-left:3px solid var(--line);color:var(--dim)}"
    "a{color:var(--link)}hr{border:0;border-top:1px solid var(--line);margin:1.2em 0}"
    "code,pre{font:.875em/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}"
    "code{background:var(--soft);border-radius:.3em;padding:.1em .3em}"
    "pre{background:var(--soft);border:1px solid var(--line);border-radius:.5rem;padding:.7rem .9rem;"
    "margin:.6em 0;overflow-x:auto;white-space:pre;tab-size:4}"
    "pre code{background:none;padding:0;font-size:1em}"
    "pre.output{white-space:pre-wrap;max-height:32rem;overflow:auto}"
    "img{max-width:100%;border-radius:.4rem;display:block;margin:.5em 0}"
    ".wide{overflow-x:auto}table{border-collapse:collapse;margin:.6em 0;font-size:.95em}"
    "th,td{border:1px solid var(--line);padding:.25em .6em;text-align:left;vertical-align:top}"
    "th{background:var(--soft)}.num{text-align:right}.mid{text-align:center}"
    "details{margin:.4rem 0;border:1px solid var(--line);border-radius:.5rem}"
    "summary{cursor:pointer;padding:.35rem .7rem;font-size:.9rem;display:flex;gap:.6rem;"
    "align-items:baseline;list-style:none}summary::-webkit-details-marker{display:none}"
    "summary::before{content:'\\25B8';color:var(--dim)}details[open]>summary::before{content:'\\25BE'}"
    "summary:focus-visible{outline:2px solid var(--link);border-radius:.5rem}"
    "summary b{font-weight:600}"
    "summary code{background:none;padding:0;color:var(--dim);flex:1;min-width:0;overflow:hidden;"
    "text-overflow:ellipsis;white-space:nowrap}"
    "summary span{color:var(--dim);white-space:nowrap;font-size:.8rem}summary .bad{color:var(--bad)}"
    "details>:not(summary){margin:0 .7rem .7rem}"
    ".reasoning>div{color:var(--dim);font-size:.925rem}"
    ".diff{display:grid;grid-template-columns:minmax(max-content,1fr);padding:.5rem 0}"
    ".diff span{padding:0 .9rem;min-height:1.5em}.diff .add{background:var(--add)}.diff .del{background:var(--del)}"
    ".diff .hunk{background:var(--hunk);color:var(--dim)}.diff .file{color:var(--dim)}"
    "footer{color:var(--dim);font-size:.8rem;margin-top:3rem;border-top:1px solid var(--line);"
    "padding-top:.8rem}"
    "@media print{details>*{display:block}}";

/* ---- the head ---- */

static void put_head(struct buf *out, const struct page *p)
{
    unsigned char hash[SHA256_LEN];
    sha256_of(str_of(style), hash);
    buf_addz(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                  "style-src 'sha256-");
    base64_put(out, str_n((char *)hash, sizeof hash));
    buf_addz(out, "'; img-src data:; base-uri 'none'; form-action 'none'\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                  "<meta name=\"referrer\" content=\"no-referrer\">\n<title>");
    web_escape(out, p->title);
    buf_addf(out, "</title>\n<style>%s</style>\n</head>\n<body>\n<main>\n", style);
}

static void put_fact(struct buf *out, const char *name, struct str value)
{
    if (!value.n)
        return;
    buf_addf(out, "<dt>%s</dt><dd>", name);
    web_escape(out, value);
    buf_addz(out, "</dd>\n");
}

static void put_time(struct buf *out, const char *name, int64_t ms)
{
    char iso[TIME_ISO_LEN + 1];
    AUTO(buf) struct buf text = BUF_INIT;
    if (ms <= 0)
        return;
    time_iso(ms, iso);
    buf_addf(&text, "%.10s %.5s UTC", iso, iso + 11);
    put_fact(out, name, buf_str(&text));
}

static void put_usage(struct buf *out, const struct page *p)
{
    struct usage sum = {0};
    AUTO(buf) struct buf text = BUF_INIT;
    for (size_t i = 0; i < p->n_messages; i++)
        usage_add(&sum, &p->messages[i].usage);
    if (sum.input + sum.output == 0)
        return;
    buf_addf(&text, "%lld in, %lld out", (long long)sum.input, (long long)sum.output);
    if (sum.cost > 0)
        buf_addf(&text, ", $%.4f", sum.cost);
    put_fact(out, "Tokens", buf_str(&text));
}

static void put_header(struct buf *out, const struct page *p)
{
    buf_addz(out, "<header>\n<h1>");
    web_escape(out, p->title);
    buf_addz(out, "</h1>\n<dl>\n");
    put_fact(out, "Model", p->model);
    put_fact(out, "Directory", p->cwd);
    put_time(out, "Created", p->created_ms);
    put_time(out, "Changed", p->modified_ms);
    put_usage(out, p);
    put_fact(out, "Program", p->program);
    put_fact(out, "Session", p->id);
    buf_addz(out, "</dl>\n</header>\n");
}

/* ---- calls ---- */

static const char *line_class(struct str line)
{
    if (str_starts(line, STR("+++")) || str_starts(line, STR("---")) ||
        str_starts(line, STR("*** ")))
        return "file";
    if (str_starts(line, STR("@@")))
        return "hunk";
    return str_starts(line, STR("+")) ? "add" : str_starts(line, STR("-")) ? "del" : NULL;
}

/* "--- a" before "+++ a" adds nothing. */
static struct str without_repeat(struct str diff)
{
    struct str first, second, rest = diff;
    bool repeats = str_line(&rest, &first) && str_starts(first, STR("--- ")) &&
                   str_line(&rest, &second) && str_starts(second, STR("+++ ")) &&
                   str_eq(str_from(first, 4), str_from(second, 4));
    return repeats ? str_from(diff, first.n + 1 + second.n + 1) : diff;
}

static void put_diff(struct buf *out, struct str diff)
{
    buf_addz(out, "<pre class=\"diff\">");
    diff = without_repeat(diff);
    for (struct str line; str_line(&diff, &line);) {
        const char *class = line_class(line);
        if (class)
            buf_addf(out, "<span class=\"%s\">", class);
        else
            buf_addz(out, "<span>");
        web_escape(out, line);
        buf_addz(out, "</span>");
    }
    buf_addz(out, "</pre>\n");
}

static size_t count_lines(struct str text)
{
    size_t n = 0;
    for (struct str line; str_line(&text, &line);)
        n++;
    return n;
}

const struct page_call *page_next_call(const struct page *p, struct str id)
{
    for (size_t i = 0; i < p->n_calls; i++)
        if (!p->calls[i].is_used && str_eq(p->calls[i].id, id)) {
            p->calls[i].is_used = true;
            return &p->calls[i];
        }
    return NULL;
}

/* The result that follows a call. */
static const struct message *find_result(const struct page *p, size_t from, struct str id)
{
    size_t i = from + 1;
    while (i < p->n_messages && p->messages[i].role == ROLE_TOOL)
        i++;
    return message_find_result(p->messages + from + 1, i - from - 1, id);
}

/* Members of the arguments, each with its value; texts as they are. */
static void put_arguments(struct buf *out, yyjson_val *args)
{
    size_t i, max;
    yyjson_val *key, *value;
    AUTO(buf) struct buf text = BUF_INIT;
    yyjson_obj_foreach(args, i, max, key, value) {
        struct jw w = JW(&text);
        buf_addf(&text, "%s%s: ", text.n ? "\n" : "", yyjson_get_str(key));
        if (yyjson_is_str(value))
            buf_add(&text, str_n(yyjson_get_str(value), yyjson_get_len(value)));
        else
            jw_val(&w, value);
    }
    if (!text.n)
        return;
    struct str all = buf_str(&text);
    bool is_patch = str_find(all, STR("*** Begin Patch")) != SIZE_MAX ||
                    str_find(all, STR("\n@@ ")) != SIZE_MAX;
    if (is_patch) {
        put_diff(out, all);
        return;
    }
    buf_addz(out, "<pre class=\"output\">");
    web_escape(out, all);
    buf_addz(out, "</pre>\n");
}

static void put_image(struct buf *out, const struct block *b)
{
    static const char *const types[] = {"image/png", "image/jpeg", "image/gif", "image/webp"};
    bool is_known = false;
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        is_known |= str_is(b->mime, types[i]);
    if (is_known && base64_size(b->data) != SIZE_MAX) {
        buf_addf(out, "<img alt=\"");
        web_escape(out, b->alt);
        buf_addf(out, "\" src=\"data:%.*s;base64,%.*s\">\n", STR_FMT(b->mime), STR_FMT(b->data));
        return;
    }
    buf_addz(out, "<p>[");
    web_escape(out, b->alt.n ? b->alt : b->mime);
    buf_addz(out, "]</p>\n");
}

static void put_result(struct buf *out, const struct message *m)
{
    for (size_t i = 0; i < m->n_blocks; i++)
        if (m->blocks[i].kind == BLOCK_IMAGE) {
            put_image(out, &m->blocks[i]);
        } else if (m->blocks[i].kind == BLOCK_TEXT && !str_is_blank(m->blocks[i].text)) {
            buf_addz(out, "<pre class=\"output\">");
            web_escape(out, m->blocks[i].text);
            buf_addz(out, "</pre>\n");
        }
}

static void put_summary(struct buf *out, const struct block *call, struct str gist,
                        const struct message *result, const struct page_call *more)
{
    buf_addz(out, "<summary><b>");
    web_escape(out, call->name);
    buf_addz(out, "</b> <code>");
    web_escape(out, gist);
    buf_addz(out, "</code>");
    if (more && more->ms >= 1000)
        buf_addf(out, "<span>%.1f s</span>", more->ms / 1000);
    if (!result || result->is_error)
        buf_addf(out, "<span class=\"bad\">%s</span>", result ? "failed" : "no result");
    buf_addz(out, "</summary>\n");
}

/* list: lines of todo_text. */
static void put_todos(struct buf *out, struct str list)
{
    struct str line;
    buf_addz(out, "<ul class=\"todo\">\n");
    while (str_line(&list, &line) && line.n > 4) {
        char state = line.p[1];
        buf_addf(out, "<li>%s ", state == 'x' ? "\u2611" : state == '~' ? "\u25b8" : "\u2610");
        web_escape(out, str_from(line, 4));
        buf_addz(out, "</li>\n");
    }
    buf_addz(out, "</ul>\n");
}

static void put_call(struct buf *out, const struct page *p, size_t at, const struct block *call)
{
    AUTO(json) struct json args = JSON_INIT;
    AUTO(buf) struct buf line = BUF_INIT, progress = BUF_INIT, todos = BUF_INIT;
    struct error ignored;
    const struct message *result = find_result(p, at, call->id);
    const struct page_call *more = page_next_call(p, call->id);
    bool has_diff = more && more->diff.n;
    if (!json_parse(call_arguments(call), 0, MAX_DEPTH, &args, &ignored))
        args = JSON_INIT;
    bool sets_todos = result && !result->is_error && todo_text(call->arguments, &progress, &todos);
    struct str gist = sets_todos ? buf_str(&progress) : profile_gist(args.root, call->arguments);
    utf8_collapse(&line, utf8_cut_chars(gist, GIST_CHARS * 4));
    bool is_open = sets_todos || (has_diff && count_lines(more->diff) <= OPEN_LINES);
    buf_addf(out, "<details class=\"tool\"%s>", is_open ? " open" : "");
    put_summary(out, call, utf8_cut_chars(buf_str(&line), GIST_CHARS), result, more);
    bool is_in_summary = yyjson_obj_size(args.root) == 1 && utf8_chars(gist) <= GIST_CHARS &&
                         str_chr(gist, '\n') == SIZE_MAX;
    if (has_diff)
        put_diff(out, more->diff);
    else if (sets_todos)
        put_todos(out, buf_str(&todos));
    else if (!is_in_summary)
        put_arguments(out, args.root);
    if (result && !sets_todos && (!has_diff || result->is_error))
        put_result(out, result);
    buf_addz(out, "</details>\n");
}

/* ---- messages ---- */

static void put_folded(struct buf *out, const char *class, const char *title, struct str text)
{
    buf_addf(out, "<details class=\"%s\"><summary>%s</summary>\n<div>", class, title);
    web_markdown(out, text);
    buf_addz(out, "</div></details>\n");
}

static void put_user(struct buf *out, const struct message *m)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    if (m->is_note) {
        buf_addz(out, "<section>\n");
        put_folded(out, "summary", "Note for the model", message_text_of(&a, m));
        buf_addz(out, "</section>\n");
        return;
    }
    buf_addz(out, "<section class=\"user\">\n<h2>You</h2>\n");
    if (m->display.n) {
        buf_addz(out, "<div class=\"text\">");
        web_escape(out, m->display);
        buf_addz(out, "</div>\n");
    }
    for (size_t i = 0; i < m->n_blocks; i++)
        if (m->blocks[i].kind == BLOCK_IMAGE) {
            put_image(out, &m->blocks[i]);
        } else if (m->blocks[i].kind == BLOCK_TEXT && !m->display.n) {
            buf_addz(out, "<div class=\"text\">");
            web_escape(out, m->blocks[i].text);
            buf_addz(out, "</div>\n");
        }
    buf_addz(out, "</section>\n");
}

/* Replies of one turn stand below one heading. */
static void put_assistant(struct buf *out, const struct page *p, size_t at)
{
    const struct message *m = &p->messages[at];
    size_t before = at;
    while (before && p->messages[before - 1].role == ROLE_TOOL)
        before--;
    bool goes_on = before && p->messages[before - 1].role == ROLE_ASSISTANT;
    buf_addz(out, goes_on ? "<section class=\"more\">\n" : "<section>\n<h2>Answer</h2>\n");
    for (size_t i = 0; i < m->n_blocks; i++) {
        const struct block *b = &m->blocks[i];
        if (b->kind == BLOCK_TEXT)
            web_markdown(out, b->text);
        else if (b->kind == BLOCK_REASONING && !str_is_blank(b->text))
            put_folded(out, "reasoning", "Reasoning", b->text);
        else if (b->kind == BLOCK_CALL)
            put_call(out, p, at, b);
        else if (b->kind == BLOCK_IMAGE)
            put_image(out, b);
    }
    if (m->is_partial)
        buf_addz(out, "<p><em>(interrupted)</em></p>\n");
    buf_addz(out, "</section>\n");
}

static void put_compaction(struct buf *out, const struct message *m)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    buf_addz(out, "<section>\n");
    put_folded(out, "summary", "Summary of what came before, for the model",
               message_text_of(&a, m));
    buf_addz(out, "</section>\n");
}

void page_put(struct buf *out, const struct page *p)
{
    put_head(out, p);
    put_header(out, p);
    for (size_t i = 0; i < p->n_messages; i++)
        switch (p->messages[i].role) {
        case ROLE_USER:
            put_user(out, &p->messages[i]);
            break;
        case ROLE_ASSISTANT:
            put_assistant(out, p, i);
            break;
        case ROLE_SUMMARY:
            put_compaction(out, &p->messages[i]);
            break;
        case ROLE_TOOL: /* below its call */
            break;
        }
    buf_addz(out,
             "<footer>Written by trivet " TRIVET_VERSION ".</footer>\n</main>\n</body>\n</html>\n");
}

/* ---- the session file ---- */

static void add_call(struct arena *a, struct str line, struct page *p, size_t *capacity)
{
    AUTO(json) struct json j = JSON_INIT;
    struct error ignored;
    if (!json_parse(line, 0, MAX_DEPTH, &j, &ignored)) {
        j = JSON_INIT;
        return;
    }
    if (!str_is(json_get_str(j.root, "type"), "tool_execution_end"))
        return;
    ARENA_GROW(a, p->calls, p->n_calls, *capacity);
    yyjson_val *result = yyjson_obj_get(j.root, "result");
    p->calls[p->n_calls++] = (struct page_call){
        .id = arena_str(a, json_get_str(j.root, "toolCallId")),
        .diff = arena_str(a, json_get_str(result, "diff")),
        .ms = yyjson_get_num(yyjson_obj_get(j.root, "durationMs")),
    };
}

void page_read_calls(struct arena *a, struct str path, struct page *p)
{
    AUTO(buf) struct buf text = BUF_INIT;
    struct error ignored;
    size_t capacity = 0;
    if (!path_read(&text, path, FILE_BYTES, &ignored))
        return;
    struct str rest = buf_str(&text);
    for (struct str line; str_line(&rest, &line);)
        if (str_find(str_cut(line, 200), STR("tool_execution_end")) != SIZE_MAX)
            add_call(a, line, p, &capacity);
}
