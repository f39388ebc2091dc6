/* SPDX-License-Identifier: MIT */
/* The optional tools of ScaiFlux, in groups that are switched on and off as a whole (scaiflux
 * 73-103 and 12): web, todo, skills.
 */
#include "base/path.h"
#include "context/skill_store.h"
#include "tools/exa.h"
#include "tools/fetch_url.h"
#include "tools/skill.h"
#include "toolsets/todo.h"
#include "toolsets/scaiflux.h"
#include "toolsets/web_text.h"
#include "toolsets/words.h"

enum {
    PAGE_BYTES = 100 << 10,
    URL_BYTES = 8 << 10,
    RESULTS = 8,
    SENTENCES = 2,
    PER_URL = 3,
};

/* ---- WebFetch ---- */

struct fetch_args {
    struct str url, prompt;
};

static const struct row fetch_rows[] = {
    ROW(fetch_args, url, T_STR, NEEDED | NOT_BLANK, "address of the page, http or https",
        .max = URL_BYTES),
    ROW(fetch_args, prompt, T_STR, NEEDED, "what you want to know from the page"),
    ROW_END,
};

static void put_page(const struct fetched_page *p, struct buf *out)
{
    buf_addf(out, "%s\n", p->url.p);
    if (p->title.n)
        buf_addf(out, "%s\n", p->title.p);
    if (p->status != 200)
        buf_addf(out, "status %d\n", p->status);
    buf_addc(out, '\n');
    buf_add(out, buf_str(&p->text));
    if (p->is_cut)
        buf_addf(out, "\n[the page goes on; only its first %d bytes are shown]\n", PAGE_BYTES);
}

static bool fetch_tool_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                             struct error *err)
{
    const struct fetch_args *a = args;
    AUTO(fetched_page) struct fetched_page page = FETCHED_PAGE_INIT;
    struct fetch_url_options o = {
        .url = a->url,
        .is_local_fine = cx->may_fetch_local,
        .max_text = PAGE_BYTES,
    };
    if (!tool_may_use_network(cx, err) || !fetch_url_await(cx->loop, &o, &page, err))
        return err->code != ERR_CANCELED &&
               tool_fail(ret, "cannot fetch %.*s: %s", STR_FMT(str_cut(a->url, 300)), err->text);
    put_page(&page, &ret->text);
    ret->is_error = page.status >= 400;
    return true;
}

const struct tool scaiflux_fetch_tool = {
    .name = "WebFetch",
    .about = "Fetches a web page and returns its text. Say in prompt what you are looking for.",
    .args = fetch_rows,
    .args_size = sizeof(struct fetch_args),
    .mode = MODE_FULL,
    .has_long_text = true,
    .run_await = fetch_tool_await,
    .gadget = "web",
};

/* ---- WebSearch ---- */

struct search_args {
    struct str query;
    yyjson_val *allowed_domains, *blocked_domains;
};

static const struct row search_rows[] = {
    ROW(search_args, query, T_STR, NEEDED | NOT_BLANK, "what to look for"),
    ROW(search_args, allowed_domains, T_ARR, OPTIONAL, "only pages of these domains",
        .items = T_STR),
    ROW(search_args, blocked_domains, T_ARR, OPTIONAL, "no pages of these domains", .items = T_STR),
    ROW_END,
};

static bool search_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                         struct error *err)
{
    const struct search_args *a = args;
    AUTO(json) struct json answer = JSON_INIT;
    struct exa_query q = {
        .query = str_trim(a->query),
        .n_results = RESULTS,
        .wants_highlights = true,
        .sentences = SENTENCES,
        .per_url = PER_URL,
        .include = a->allowed_domains,
        .exclude = a->blocked_domains,
    };
    if (!exa_search_await(cx, &q, &answer, err))
        return err->code != ERR_CANCELED && tool_fail(ret, "the search failed: %s", err->text);
    web_text_results(answer.root, &ret->text);
    return true;
}

const struct tool scaiflux_search_tool = {
    .name = "WebSearch",
    .about = "Searches the web and returns titles, addresses and passages.",
    .args = search_rows,
    .args_size = sizeof(struct search_args),
    .mode = MODE_FULL,
    .run_await = search_await,
    .gadget = "web",
    .is_offered = exa_is_offered,
};

/* ---- TodoWrite ---- */

static const char *const todo_states[] = {"pending", "in_progress", "completed", NULL};

static const struct row todo_item_rows[] = {
    ROW_OUT("content", T_STR, NEEDED | NOT_BLANK, "what is to be done"),
    ROW_OUT("activeForm", T_STR, NEEDED | NOT_BLANK, "the same while it is being done"),
    ROW_OUT("status", T_STR, NEEDED, "how far it is", .choices = todo_states),
    ROW_END,
};

static const struct row flux_todo_rows[] = {
    ROW(todo_args, todos, T_ARR, NEEDED, "the whole new list", .items = T_OBJ,
        .rows = todo_item_rows),
    ROW_END,
};

static bool todo_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                       struct error *err)
{
    const struct todo_args *a = args;
    return todo_update(cx, a->todos, &ret->text, err) || tool_fail(ret, "%s", err->text);
}

#define TODO_TOOL(needed)                                                                          \
    .is_kept_whole = true, .name = "TodoWrite", .about = TODO_ABOUT,                               \
    .args_size = sizeof(struct todo_args), .mode = needed, .run_await = todo_await,                \
    .gadget = "todo"

const struct tool scaiflux_todo_tool = {TODO_TOOL(MODE_WORKSPACE_WRITE), .args = flux_todo_rows};
/* Changes no file: it may be used in every mode. */
static bool wants_todos(const struct tool_cx *cx)
{
    return !cx->spares_todos;
}

const struct tool run_todo_tool = {TODO_TOOL(MODE_READ_ONLY), .args = todo_rows,
                                   .is_sent = wants_todos};

/* ---- Skill ---- */

struct skill_args {
    struct str skill, args;
};

static const struct row skill_rows[] = {
    ROW(skill_args, skill, T_STR, NEEDED | NOT_BLANK | TRIM, "name of the skill",
        .max = LIMIT_PATH_BYTES),
    ROW(skill_args, args, T_STR, OPTIONAL, "what it is to be applied to"),
    ROW_END,
};

static struct skill_places skill_places(const struct tool_cx *cx, struct arena *a)
{
    struct skill_places p = skill_places_own(cx->root, a);
    if (cx->config_dir.n)
        p.more[0] = arena_fmt(a, "%.*s/skills", STR_FMT(cx->config_dir));
    return p;
}

static bool skill_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                        struct error *err)
{
    const struct skill_args *a = args;
    AUTO(arena) struct arena arena = ARENA_INIT;
    AUTO(buf) struct buf text = BUF_INIT;
    struct skill_places places = skill_places(cx, &arena);
    const struct skill *skill = skills_find(skill_store_look_await(cx->skills, &places), a->skill);
    if (!skill)
        return tool_fail(ret, "unknown skill: %.*s", STR_FMT(a->skill));
    if (!skill_read(cx, skill->folder, STR_NONE, &text, err))
        return tool_fail(ret, "cannot read the skill %.*s: %s", STR_FMT(a->skill), err->text);
    buf_addf(&ret->text, "Skill %.*s; its files lie in %.*s\n", STR_FMT(skill->name),
             STR_FMT(skill->folder));
    if (a->args.n)
        buf_addf(&ret->text, "Apply it to: %.*s\n", STR_FMT(a->args));
    buf_addc(&ret->text, '\n');
    buf_add(&ret->text, buf_str(&text));
    return true;
}

static bool has_skills(const struct tool_cx *cx)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct skill_places places = skill_places(cx, &a);
    return cx->skills && skill_store_get(cx->skills, &places)->n > 0;
}

const struct tool scaiflux_skill_tool = {
    .is_kept_whole = true,
    .name = "Skill",
    .about = "Reads the instructions of a skill: how something is done in this project or by this "
             "user.",
    .args = skill_rows,
    .args_size = sizeof(struct skill_args),
    .mode = MODE_READ_ONLY,
    .run_await = skill_await,
    .gadget = "skills",
    .is_offered = has_skills,
};
