/* SPDX-License-Identifier: MIT */
/* Kward's web_search and read_skill (kward 309-317).
 *
 * domain_filter: a domain that begins with a minus is left out of the results, the others are the
 * only ones wanted.
 */
#include "base/path.h"
#include "base/time.h"
#include "context/library.h"
#include "context/skill_store.h"
#include "tools/exa.h"
#include "tools/skill.h"
#include "toolsets/kward.h"
#include "toolsets/web_text.h"
#include "toolsets/words.h"

enum { MAX_QUERIES = 4, RESULTS = 5, SENTENCES = 2, PER_URL = 2 };

/* ---- web_search ---- */

struct search_args {
    yyjson_val *queries, *domain_filter;
    int64_t max_results;
    struct str provider, recency_filter;
};

static const struct search_args search_defaults = {.max_results = RESULTS};

static const char *const recencies[] = {"day", "week", "month", "year", NULL};
static const char *const providers[] = {"auto", "exa", NULL};

static const struct row search_rows[] = {
    ROW(search_args, queries, T_ARR, NEEDED | NOT_BLANK, "one to four queries", .items = T_STR,
        .has_min = true, .min = 1, .max = MAX_QUERIES),
    ROW(search_args, max_results, T_INT, OPTIONAL | NULLABLE,
        "results for each query, 1 to 25 (default 5)", .has_min = true, .min = 1),
    ROW(search_args, provider, T_STR, OPTIONAL | NULLABLE | NOT_BLANK | TRIM,
        "who searches (default auto)", .choices = providers),
    ROW(search_args, recency_filter, T_STR, OPTIONAL | NULLABLE, "only pages that are so new",
        .choices = recencies),
    ROW(search_args, domain_filter, T_ARR, OPTIONAL | NULLABLE,
        "only these domains; with a minus in front: not these", .items = T_STR),
    ROW_END,
};

static int64_t since(struct str recency)
{
    static const int days[] = {1, 7, 31, 366};
    for (size_t i = 0; recency.n && i < ARRAY_LEN(days); i++)
        if (str_is(recency, recencies[i]))
            return time_now_ms() - (int64_t)days[i] * 24 * 3600 * 1000;
    return 0;
}

/* The domains with (or without) a minus, as a list of their own. */
static void split_domains(yyjson_val *filter, bool excluded, struct json *ret)
{
    AUTO(buf) struct buf text = BUF_INIT;
    struct jw w = JW(&text);
    struct error ignored;
    size_t i, max;
    yyjson_val *item;
    jw_arr(&w);
    yyjson_arr_foreach(filter, i, max, item) {
        struct str s = str_trim(json_str(item));
        if (s.n && (s.p[0] == '-') == excluded)
            jw_str(&w, str_from(s, excluded));
    }
    jw_arr_end(&w);
    json_parse(buf_str(&text), 0, 2, ret, &ignored);
}

static bool search_all_await(struct tool_cx *cx, const struct search_args *a, struct exa_query *q,
                             struct tool_result *ret, struct error *err)
{
    size_t i, max;
    yyjson_val *item;
    yyjson_arr_foreach(a->queries, i, max, item) {
        AUTO(json) struct json answer = JSON_INIT;
        q->query = str_trim(json_str(item));
        if (!exa_search_await(cx, q, &answer, err))
            return err->code != ERR_CANCELED &&
                   tool_fail(ret, "Error: web search failed: %s", err->text);
        buf_addf(&ret->text, "%sResults for: %.*s\n\n", i ? "\n" : "", STR_FMT(q->query));
        web_text_results(answer.root, &ret->text);
    }
    return true;
}

static bool search_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                         struct error *err)
{
    const struct search_args *a = args;
    AUTO(json) struct json include = JSON_INIT, exclude = JSON_INIT;
    split_domains(a->domain_filter, false, &include);
    split_domains(a->domain_filter, true, &exclude);
    struct exa_query q = {
        .n_results = MIN(a->max_results, EXA_MAX_RESULTS),
        .wants_highlights = true,
        .sentences = SENTENCES,
        .per_url = PER_URL,
        .include = include.root,
        .exclude = exclude.root,
        .since_ms = since(a->recency_filter),
    };
    return search_all_await(cx, a, &q, ret, err);
}

const struct tool kward_search_tool = {
    .name = "web_search",
    .about =
        "Searches the web with one to four queries and returns titles, addresses and passages.",
    .args = search_rows,
    .args_size = sizeof(struct search_args),
    .defaults = &search_defaults,
    .mode = MODE_FULL,
    .run_await = search_await,
    .gadget = "web",
    .is_offered = exa_is_offered,
};

/* ---- read_skill ---- */

struct skill_args {
    struct str name, path;
};

static const struct row skill_rows[] = {
    ROW(skill_args, name, T_STR, NEEDED | NOT_BLANK | TRIM, "name of the skill",
        .max = LIMIT_PATH_BYTES),
    ROW(skill_args, path, T_STR, OPTIONAL | NULLABLE, "file of the skill (default SKILL.md)",
        .max = LIMIT_PATH_BYTES),
    ROW_END,
};

static bool skill_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                        struct error *err)
{
    const struct skill_args *a = args;
    AUTO(arena) struct arena arena = ARENA_INIT;
    size_t n;
    struct skill_places places = library_skill_places(cx->config_dir, cx->root, ".kward", &arena);
    const struct item *skills = library_skills(skill_store_look_await(cx->skills, &places),
                                               cx->config_dir, &arena, &n);
    const struct item *skill = item_find(skills, n, a->name);
    if (!skill)
        return tool_fail(ret, "Error: unknown skill: %.*s", STR_FMT(a->name));
    if (!skill_read(cx, path_dir(skill->path), a->path, &ret->text, err))
        return tool_fail(ret, "Error: %s", err->text);
    return true;
}

static bool has_skills(const struct tool_cx *cx)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct skill_places places = library_skill_places(cx->config_dir, cx->root, ".kward", &a);
    return cx->config_dir.n && cx->skills &&
           library_has_skills(skill_store_get(cx->skills, &places));
}

const struct tool kward_skill_tool = {
    .name = "read_skill",
    .is_kept_whole = true,
    .about = "Reads a file of a skill: its SKILL.md, or another one in its folder.",
    .args = skill_rows,
    .args_size = sizeof(struct skill_args),
    .mode = MODE_READ_ONLY,
    .run_await = skill_await,
    .is_offered = has_skills,
};
