/* SPDX-License-Identifier: MIT */
/* Kward's code_search (kward 309-317): code and documentation outside of the workspace.
 *
 *     search   places where code lies or is explained, by a question
 *     read     one of these as text; a file shown on GitHub or GitLab is fetched as it is
 *
 * The protocol documents only the member `action` and that the network is used; the two actions are
 * trivet's own.
 */
#include "tools/exa.h"
#include "tools/fetch_url.h"
#include "toolsets/kward.h"
#include "toolsets/web_text.h"
#include "toolsets/words.h"

enum {
    RESULTS = 5,
    SENTENCES = 6,
    PER_URL = 3,
    MAX_TEXT = 51200,
    URL_BYTES = 8 << 10,
};

static const char places[] =
    "[\"github.com\",\"gitlab.com\",\"codeberg.org\",\"sr.ht\",\"stackoverflow.com\","
    "\"developer.mozilla.org\",\"docs.rs\",\"pkg.go.dev\",\"rubydoc.info\",\"readthedocs.io\"]";

struct code_args {
    struct str action, query, url;
    int64_t max_results;
};

static const struct code_args code_defaults = {.max_results = RESULTS};

static const char *const actions[] = {"search", "read", NULL};

static const struct row code_rows[] = {
    ROW(code_args, action, T_STR, NEEDED | TRIM, "search finds places, read fetches one",
        .choices = actions),
    ROW(code_args, query, T_STR, OPTIONAL | NULLABLE | TRIM, "for search: what to look for"),
    ROW(code_args, url, T_STR, OPTIONAL | NULLABLE | TRIM, "for read: the address",
        .max = URL_BYTES),
    ROW(code_args, max_results, T_INT, OPTIONAL | NULLABLE, "for search: 1 to 25 (default 5)",
        .has_min = true, .min = 1),
    ROW_END,
};

static bool search_await(struct tool_cx *cx, const struct code_args *a, struct tool_result *ret,
                         struct error *err)
{
    AUTO(json) struct json include = JSON_INIT, answer = JSON_INIT;
    struct error ignored;
    if (!a->query.n)
        return tool_fail(ret, "Error: query is required");
    json_parse(str_of(places), 0, 2, &include, &ignored);
    struct exa_query q = {.query = a->query,
                          .n_results = MIN(a->max_results, EXA_MAX_RESULTS),
                          .wants_highlights = true,
                          .sentences = SENTENCES,
                          .per_url = PER_URL,
                          .include = include.root};
    if (!exa_search_await(cx, &q, &answer, err))
        return err->code != ERR_CANCELED &&
               tool_fail(ret, "Error: code search failed: %s", err->text);
    web_text_results(answer.root, &ret->text);
    return true;
}

/* https://github.com/o/r/blob/REF/PATH is a page around the file; /raw/ in its place is the file.
 * GitLab has /-/blob/ and /-/raw/. */
static void put_raw_address(struct buf *out, struct str url)
{
    size_t at = str_find(url, STR("/blob/"));
    bool is_forge = str_starts(url, STR("https://github.com/")) ||
                    str_find(url, STR("/-/blob/")) != SIZE_MAX;
    if (!is_forge || at == SIZE_MAX) {
        buf_add(out, url);
        return;
    }
    buf_add(out, str_cut(url, at));
    buf_addz(out, "/raw/");
    buf_add(out, str_from(url, at + 6));
}

static bool read_await(struct tool_cx *cx, const struct code_args *a, struct tool_result *ret,
                       struct error *err)
{
    AUTO(buf) struct buf url = BUF_INIT;
    AUTO(fetched_page) struct fetched_page page = FETCHED_PAGE_INIT;
    if (!a->url.n)
        return tool_fail(ret, "Error: url is required");
    put_raw_address(&url, a->url);
    struct fetch_url_options o = {
        .url = buf_str(&url), .is_local_fine = cx->may_fetch_local, .max_text = MAX_TEXT};
    if (!tool_may_use_network(cx, err) || !fetch_url_await(cx->loop, &o, &page, err))
        return err->code != ERR_CANCELED && tool_fail(ret, "Error: %s", err->text);
    if (page.status >= 400)
        return tool_fail(ret, "Error: %.*s answered %d", STR_FMT(buf_str(&page.url)), page.status);
    buf_add(&ret->text, buf_str(&page.text));
    if (page.is_cut)
        buf_addf(&ret->text, "\n\n[Only the first %d bytes are shown.]", MAX_TEXT);
    return true;
}

static bool code_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                       struct error *err)
{
    const struct code_args *a = args;
    return str_is(a->action, "search") ? search_await(cx, a, ret, err)
                                       : read_await(cx, a, ret, err);
}

const struct tool kward_code_tool = {
    .name = "code_search",
    .about = "Looks for code and documentation outside of the workspace: `search` finds public "
             "repositories, answers and documentation for a query, `read` fetches one address.",
    .args = code_rows,
    .args_size = sizeof(struct code_args),
    .defaults = &code_defaults,
    .mode = MODE_FULL,
    .run_await = code_await,
};
