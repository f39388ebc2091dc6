/* SPDX-License-Identifier: MIT */
/* search_web of loaf: Exa's results as an object. */
#include "base/utf8.h"
#include "tools/exa.h"
#include "toolsets/loaf.h"
#include "toolsets/words.h"

enum {
    RESULTS = 8,
    SENTENCES = 2,
    PER_URL = 3,
    HIGHLIGHT_MOST = 8,
    TEXT_CHARS = 2000,
    HIGHLIGHT_CHARS = 400,
};

struct search_args {
    struct str query, type, highlight_query;
    double num_results, highlight_sentences, highlights_per_url;
    bool include_text, include_highlights;
    yyjson_val *include_domains, *exclude_domains;
};

static const struct search_args search_defaults = {
    .num_results = RESULTS,
    .highlight_sentences = SENTENCES,
    .highlights_per_url = PER_URL,
    .include_highlights = true,
};

static const struct row search_rows[] = {
    ROW(search_args, query, T_STR, NEEDED | NOT_BLANK | TRIM, "what to look for"),
    ROW(search_args, type, T_STR, OPTIONAL | TRIM, "auto (default), fast, neural or deep"),
    ROW(search_args, num_results, T_NUM, OPTIONAL, "results, 1 to 25 (default 8)"),
    ROW(search_args, include_text, T_BOOL, OPTIONAL, "also the text of the pages"),
    ROW(search_args, include_highlights, T_BOOL, OPTIONAL,
        "also the passages that fit best (default true)"),
    ROW(search_args, highlight_query, T_STR, OPTIONAL | TRIM,
        "what the passages should be about (default: the query)"),
    ROW(search_args, highlight_sentences, T_NUM, OPTIONAL,
        "sentences of a passage, 1 to 8 (default 2)"),
    ROW(search_args, highlights_per_url, T_NUM, OPTIONAL, "passages of a page, 1 to 8 (default 3)"),
    ROW(search_args, include_domains, T_ARR, OPTIONAL, "only pages of these domains",
        .items = T_STR),
    ROW(search_args, exclude_domains, T_ARR, OPTIONAL, "no pages of these domains", .items = T_STR),
    ROW_END,
};

static struct str type_of(struct str type)
{
    static const char *const types[] = {"fast", "neural", "deep"};
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (str_ieq(type, str_of(types[i])))
            return str_of(types[i]);
    return STR("auto");
}

static struct exa_query query_of(const struct search_args *a)
{
    return (struct exa_query){
        .query = a->query,
        .type = type_of(a->type),
        .n_results = loaf_clamp(a->num_results, 1, EXA_MAX_RESULTS),
        .wants_text = a->include_text,
        .wants_highlights = a->include_highlights,
        .highlight_query = a->highlight_query,
        .sentences = loaf_clamp(a->highlight_sentences, 1, HIGHLIGHT_MOST),
        .per_url = loaf_clamp(a->highlights_per_url, 1, HIGHLIGHT_MOST),
        .include = a->include_domains,
        .exclude = a->exclude_domains,
    };
}

static void put_highlights(struct jw *w, yyjson_val *list)
{
    size_t i, max;
    yyjson_val *item;
    jw_karr(w, "highlights");
    yyjson_arr_foreach(list, i, max, item)
        if (yyjson_is_str(item))
            jw_str(w, utf8_cut_chars(json_str(item), HIGHLIGHT_CHARS));
    jw_arr_end(w);
}

static void put_result(struct jw *w, const struct exa_result *r, bool with_text)
{
    jw_obj(w);
    jw_kstr(w, "title", r->title);
    jw_kstr(w, "url", r->url);
    if (r->score)
        jw_kval(w, "score", r->score);
    jw_kstr_opt(w, "author", r->author);
    jw_kstr_opt(w, "published_date", r->published);
    if (with_text && r->text.p)
        jw_kstr(w, "text", utf8_cut_chars(r->text, TEXT_CHARS));
    if (r->highlights)
        put_highlights(w, r->highlights);
    if (r->highlight_scores)
        jw_kval(w, "highlight_scores", r->highlight_scores);
    jw_obj_end(w);
}

static void put_answer(const struct exa_query *q, yyjson_val *answer, struct buf *out)
{
    yyjson_val *results = json_get(answer, "results"), *item;
    struct jw w = JW(out);
    struct exa_result r;
    size_t i, max;
    int64_t n = 0;
    jw_obj(&w);
    jw_kz(&w, "status", "ok");
    jw_kstr(&w, "query", q->query);
    jw_kstr(&w, "type", q->type);
    jw_kint(&w, "num_results", q->n_results);
    yyjson_arr_foreach(results, i, max, item)
        n += exa_result_read(item, &r);
    jw_kint(&w, "total_results", n);
    jw_karr(&w, "results");
    yyjson_arr_foreach(results, i, max, item)
        if (exa_result_read(item, &r))
            put_result(&w, &r, q->wants_text);
    jw_arr_end(&w);
    jw_kstr_opt(&w, "request_id", json_get_str(answer, "requestId"));
    jw_obj_end(&w);
}

static bool say_failure(const struct error *err, struct tool_result *ret)
{
    AUTO(buf) struct buf message = BUF_INIT;
    struct jw w = JW(&ret->value);
    if (err->status)
        buf_addf(&message, "exa search failed (%d): %s", err->status, err->text);
    else
        buf_addf(&message, "exa search failed: %s", err->text);
    jw_obj(&w);
    jw_kz(&w, "status", "error");
    jw_kstr(&w, "message", buf_str(&message));
    jw_obj_end(&w);
    buf_add(&ret->error, buf_str(&message));
    return tool_fail(ret, "%s", ret->value.p);
}

static bool search_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                         struct error *err)
{
    AUTO(json) struct json answer = JSON_INIT;
    struct exa_query q = query_of(args);
    if (!cx->search_key.n)
        return loaf_refuse(ret, "search_web unavailable: missing exa api key. run /onboarding to "
                                "set one.");
    if (!exa_search_await(cx, &q, &answer, err))
        return err->code != ERR_CANCELED && say_failure(err, ret);
    put_answer(&q, answer.root, &ret->value);
    buf_add(&ret->text, buf_str(&ret->value));
    return true;
}

const struct tool loaf_search_tool = {
    .name = "search_web",
    .about = "Searches the web and returns titles, addresses and the passages that fit best.",
    .args = search_rows,
    .args_size = sizeof(struct search_args),
    .defaults = &search_defaults,
    .mode = MODE_FULL,
    .is_sent = exa_is_offered,
    .run_await = search_await,
};
