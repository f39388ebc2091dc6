/* SPDX-License-Identifier: MIT */
#include "mcp/search.h"

#include "base/table.h"
#include "base/utf8.h"

enum { FOUND = 20, ABOUT_BYTES = 160, BYTES_PER_TOKEN = 4, NAMES_BYTES = 6000 };

struct mcp_search {
    struct mcp_hub *hub;
    struct tool tool;
    struct arena arena;
    struct table loaded; /* names that were found; in the arena */
    struct buf about;
    size_t n_listed; /* tools that the description counts */
};

struct search_args {
    struct str query;
};

static const struct row search_rows[] = {
    ROW(search_args, query, T_STR, NEEDED, "words that the tool's name or description contains"),
    ROW_END,
};

/* ---- searching ---- */

struct hit {
    const struct tool *tool;
    int score;
};

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* 2 where the word stands alone, 1 inside of another, 0 where it is not. */
static int find_word(struct str text, struct str word)
{
    int found = 0;
    for (size_t from = 0, n; (n = str_ifind(str_from(text, from), word)) != SIZE_MAX;) {
        size_t at = from + n, end = at + word.n;
        bool is_alone = (at == 0 || !is_letter(text.p[at - 1])) &&
                        (end == text.n || !is_letter(text.p[end]));
        if (is_alone)
            return 2;
        found = 1;
        from = at + 1;
    }
    return found;
}

/* How well a tool fits: a word counts twice in the name, once in the description. */
static int score_of(const struct tool *f, struct str query)
{
    int score = 0;
    while (query.p) {
        struct str word;
        query = str_split(query, ' ', &word);
        if (!word.n)
            continue;
        score += 2 * find_word(str_of(f->name), word) + find_word(str_of(f->about), word);
    }
    return score;
}

static void add_hit(struct hit *hits, size_t *n, struct hit hit)
{
    size_t at = *n;
    while (at > 0 && hits[at - 1].score < hit.score)
        at--;
    if (at == FOUND)
        return;
    if (*n < FOUND)
        (*n)++;
    memmove(&hits[at + 1], &hits[at], (*n - at - 1) * sizeof *hits);
    hits[at] = hit;
}

static void put_line(struct buf *out, const struct tool *f)
{
    struct str about = str_of(f->about), line;
    str_line(&about, &line);
    buf_addf(out, "%s: %.*s\n", f->name, STR_FMT(utf8_cut(line, ABOUT_BYTES)));
}

static bool search_run_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                             struct error *err)
{
    struct mcp_search *s = (struct mcp_search *)cx->self;
    const struct search_args *given = args;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct hit hits[FOUND + 1];
    size_t n_all, n = 0;
    const struct tool **all = mcp_hub_tools(s->hub, &a, &n_all);
    (void)err;
    for (size_t i = 0; i < n_all; i++) {
        int score = score_of(all[i], given->query);
        if (score)
            add_hit(hits, &n, (struct hit){all[i], score});
    }
    if (!n)
        return tool_fail(ret, "none of the %zu tools fits; try other words", n_all);
    buf_addz(&ret->text, "These tools can be called from now on:\n");
    for (size_t i = 0; i < n; i++) {
        put_line(&ret->text, hits[i].tool);
        if (!table_get(&s->loaded, str_of(hits[i].tool->name)))
            table_put(&s->loaded, arena_str(&s->arena, str_of(hits[i].tool->name)), s);
    }
    return true;
}

/* ---- the tool ---- */

struct mcp_search *mcp_search_new(struct mcp_hub *h)
{
    struct mcp_search *s = xnew(struct mcp_search);
    s->hub = h;
    s->tool = (struct tool){
        .name = MCP_SEARCH_NAME,
        .args = search_rows,
        .args_size = sizeof(struct search_args),
        .mode = MODE_READ_ONLY,
        .run_await = search_run_await,
        .self = s,
        .is_kept_whole = true,
    };
    return s;
}

void mcp_search_free(struct mcp_search *s)
{
    if (!s)
        return;
    table_clear(&s->loaded);
    arena_clear(&s->arena);
    buf_clear(&s->about);
    free(s);
}

/* The names, as far as they fit; the description changes only when the list does. */
static void describe(struct mcp_search *s, const struct tool **tools, size_t n)
{
    if (s->n_listed == n && s->about.n)
        return;
    s->n_listed = n;
    buf_reset(&s->about);
    buf_addf(&s->about,
             "Finds tools of MCP servers by words of their names and descriptions. %zu tools can "
             "be found; those that were found can be called. Names:",
             n);
    for (size_t i = 0; i < n && s->about.n < NAMES_BYTES; i++)
        buf_addf(&s->about, "%s %s", i ? "," : "", tools[i]->name);
    if (s->about.n >= NAMES_BYTES)
        buf_addz(&s->about, ", and more");
    s->tool.about = s->about.p;
}

static int64_t weight(const struct tool **tools, size_t n)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += tools[i]->schema.n + strlen(tools[i]->name) + strlen(tools[i]->about);
    return (int64_t)(bytes / BYTES_PER_TOKEN);
}

const struct tool **mcp_search_tools(struct mcp_search *s, int64_t max_tokens, struct arena *a,
                                     size_t *ret_n)
{
    size_t n, n_shown = 1;
    const struct tool **all = mcp_hub_tools(s->hub, a, &n);
    *ret_n = n;
    if (weight(all, n) <= max_tokens)
        return all;
    const struct tool **shown = arena_array(a, const struct tool *, n + 2);
    describe(s, all, n);
    shown[0] = &s->tool;
    for (size_t i = 0; i < n; i++)
        if (table_get(&s->loaded, str_of(all[i]->name)))
            shown[n_shown++] = all[i];
    *ret_n = n_shown;
    return shown;
}

const struct tool *mcp_search_find(struct mcp_search *s, struct str name)
{
    return str_is(name, MCP_SEARCH_NAME) ? &s->tool : mcp_hub_find(s->hub, name);
}
