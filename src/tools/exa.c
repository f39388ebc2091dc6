/* SPDX-License-Identifier: MIT */
#include "tools/exa.h"

#include "base/limits.h"
#include "base/time.h"
#include "base/utf8.h"
#include "net/fetch.h"

enum { DEPTH = 32, REASON_CHARS = 300 };

/* ---- asking ---- */

static void put_domains(struct jw *w, const char *name, yyjson_val *list)
{
    size_t i, max, n = 0;
    yyjson_val *item;
    yyjson_arr_foreach(list, i, max, item)
        n += !str_is_blank(json_str(item));
    if (n == 0)
        return;
    jw_karr(w, name);
    yyjson_arr_foreach(list, i, max, item)
        if (!str_is_blank(json_str(item)))
            jw_str(w, str_trim(json_str(item)));
    jw_arr_end(w);
}

const struct search_service search_service = {
    .env_key = "EXA_API_KEY",
    .env_base = "EXA_BASE_URL",
    .auth_entry = "exa",
    .base_url = "https://api.exa.ai",
};

static void put_highlights(struct jw *w, const struct exa_query *q)
{
    jw_kobj(w, "highlights");
    jw_kstr(w, "query", q->highlight_query.n ? q->highlight_query : q->query);
    jw_kint(w, "numSentences", q->sentences);
    jw_kint(w, "highlightsPerUrl", q->per_url);
    jw_obj_end(w);
}

static void put_contents(struct jw *w, const struct exa_query *q)
{
    if (!q->wants_text && !q->wants_highlights)
        return;
    jw_kobj(w, "contents");
    if (q->wants_text && q->max_text) {
        jw_kobj(w, "text");
        jw_kint(w, "maxCharacters", (int64_t)q->max_text);
        jw_obj_end(w);
    } else if (q->wants_text) {
        jw_kbool(w, "text", true);
    }
    if (q->wants_highlights)
        put_highlights(w, q);
    jw_obj_end(w);
    if (q->wants_highlights)
        put_highlights(w, q); /* older servers look for it here */
}

static void put_query(struct buf *out, const struct exa_query *q)
{
    struct jw w = JW(out);
    char since[TIME_ISO_LEN + 1];
    jw_obj(&w);
    jw_kstr(&w, "query", q->query);
    jw_kstr(&w, "type", q->type.n ? q->type : STR("auto"));
    jw_kint(&w, "numResults", q->n_results);
    put_contents(&w, q);
    put_domains(&w, "includeDomains", q->include);
    put_domains(&w, "excludeDomains", q->exclude);
    if (q->since_ms) {
        time_iso(q->since_ms, since);
        jw_kz(&w, "startPublishedDate", since);
    }
    jw_obj_end(&w);
}

/* ---- hearing ---- */

static enum err_code code_of(int status)
{
    switch (status) {
    case 401:
    case 403:
        return ERR_AUTH;
    case 402:
        return ERR_QUOTA;
    case 429:
        return ERR_RATE;
    default:
        return status >= 500 ? ERR_PROVIDER : ERR_BAD_REQUEST;
    }
}

/* What the server says about its refusal: a member of its JSON, or the beginning of its text. */
static bool say_refusal(const struct fetched *f, struct error *err)
{
    AUTO(json) struct json doc = JSON_INIT;
    AUTO(buf) struct buf line = BUF_INIT;
    struct error ignored;
    struct str why = STR_NONE;
    if (json_parse(buf_str(&f->body), JSON_FIX_UTF8, DEPTH, &doc, &ignored)) {
        why = json_get_str(doc.root, "error");
        why = why.n ? why : json_get_str(doc.root, "message");
        why = why.n ? why : json_get_str(json_get(doc.root, "error"), "message");
    }
    if (!why.n && !doc.root)
        utf8_repair(&line, str_cut(str_trim(buf_str(&f->body)), REASON_CHARS));
    why = utf8_cut_chars(why.n ? why : buf_str(&line), REASON_CHARS);
    error_set_origin(err, code_of(f->status), ORIGIN_REMOTE, "%.*s",
                     STR_FMT(why.n ? why : STR("no reason given")));
    err->status = f->status;
    return false;
}

static bool read_answer(const struct fetched *f, struct json *ret, struct error *err)
{
    struct json doc = JSON_INIT;
    if (f->status < 200 || f->status > 299)
        return say_refusal(f, err);
    if (json_parse(buf_str(&f->body), JSON_FIX_SURROGATES | JSON_FIX_UTF8, DEPTH, &doc, err) &&
        yyjson_is_arr(json_get(doc.root, "results"))) {
        *ret = doc;
        return true;
    }
    json_clear(&doc);
    return error_set_origin(err, ERR_BAD_REPLY, ORIGIN_REMOTE,
                            "the search service did not answer with a list of results");
}

bool exa_is_offered(const struct tool_cx *cx)
{
    return cx->search_key.n > 0;
}

bool exa_search_await(struct tool_cx *cx, const struct exa_query *q, struct json *ret,
                      struct error *err)
{
    AUTO(buf) struct buf url = BUF_INIT, body = BUF_INIT;
    AUTO(fetched) struct fetched answer = FETCHED_INIT;
    struct http_header headers[] = {
        {STR("Content-Type"), STR("application/json")},
        {STR("Accept"), STR("application/json")},
        {STR("x-api-key"), cx->search_key},
    };
    if (!tool_may_use_network(cx, err))
        return false;
    if (!cx->search_key.n)
        return error_set(err, ERR_NO_KEY, "no API key for Exa; set EXA_API_KEY");
    buf_addf(&url, "%.*s/search",
             STR_FMT(cx->search_url.n ? cx->search_url : str_of(search_service.base_url)));
    put_query(&body, q);
    struct fetch what = {
        .method = "POST",
        .url = buf_str(&url),
        .headers = headers,
        .n_headers = ARRAY_LEN(headers),
        .body = buf_str(&body),
        .max_bytes = LIMIT_SEARCH_BYTES,
        .timeout_ms = LIMIT_SEARCH_MS,
    };
    return fetch_await(cx->loop, &what, &answer, err) && read_answer(&answer, ret, err);
}

static yyjson_val *either(yyjson_val *item, const char *one, const char *other)
{
    yyjson_val *v = json_get(item, one);
    return v ? v : json_get(item, other);
}

bool exa_result_read(yyjson_val *item, struct exa_result *ret)
{
    yyjson_val *score = json_get(item, "score"), *highlights = json_get(item, "highlights"),
               *scores = either(item, "highlightScores", "highlight_scores");
    *ret = (struct exa_result){
        .title = json_get_str(item, "title"),
        .url = json_get_str(item, "url"),
        .author = json_get_str(item, "author"),
        .published = json_str(either(item, "publishedDate", "published_date")),
        .text = json_get_str(item, "text"),
        .score = yyjson_is_num(score) ? score : NULL,
        .highlights = yyjson_is_arr(highlights) ? highlights : NULL,
        .highlight_scores = yyjson_is_arr(scores) ? scores : NULL,
    };
    return ret->url.n > 0;
}
