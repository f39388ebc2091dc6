/* SPDX-License-Identifier: MIT */
/* Any file as what a user keeps for the agent: a plugin's manifest, a prompt template, a skill, and
 * the manifest of a custom tool.
 */
#include "context/library.h"
#include "fuzz_place.h"
#include "loop/fiber.h"
#include "loop/loop.h"
#include "toolsets/custom_internal.h"

static void make_place(void)
{
    static bool is_made;
    static const char *const dirs[] = {"plugins",  "plugins/p", "prompts", "skills",
                                       "skills/s", "tools",     "tools/t"};
    for (size_t i = 0; !is_made && i < ARRAY_LEN(dirs); i++)
        fuzz_make_dir(dirs[i]);
    fuzz_write("plugins/p/run", STR("#!/bin/sh\n"), 0700);
    is_made = true;
}

static void check_items(const struct item *items, size_t n, struct str inside, struct arena *a)
{
    for (size_t i = 0; i < n; i++) {
        PROMISE(items[i].name.n && items[i].about.p && items[i].hint.p);
        PROMISE(str_starts(items[i].path, inside));
        PROMISE(utf8_is_valid(items[i].name) && utf8_is_valid(items[i].about));
        PROMISE(i == 0 || str_cmp(items[i - 1].name, items[i].name) < 0);
        if (items[i].text.p)
            PROMISE(item_expand(&items[i], STR("x $ARGUMENTS y"), a).p);
    }
}

struct hunt {
    struct custom *custom;
    bool is_over;
};

static void hunt_fiber(void *arg)
{
    struct hunt *h = arg;
    custom_find_programs_through_await(h->custom, &toolset_kward);
    h->is_over = true;
}

static void find_programs(struct custom *c)
{
    struct hunt h = {.custom = c};
    struct loop *l = loop_new();
    fiber_start(l, "hunt", hunt_fiber, &h);
    while (!h.is_over)
        loop_step(l, true);
    loop_free(l);
}

static void try_tool(struct str bytes, struct arena *a)
{
    size_t n, n_errors;
    fuzz_write("tools/t/tool.json", bytes, 0600);
    struct custom *c = custom_new(arena_fmt(a, "%.*s/tools", STR_FMT(fuzz_dir())));
    find_programs(c);
    const struct tool *const *tools = custom_tools(c, &n);
    custom_errors(c, &n_errors);
    PROMISE(n + n_errors == 1);
    if (n) {
        AUTO(buf) struct buf out = BUF_INIT;
        struct jw w = JW(&out);
        tool_schema(tools[0], &w);
        fuzz_expect_json(buf_str(&out));
        PROMISE(utf8_is_valid(str_of(tools[0]->about)));
        PROMISE(c->tools[0]->argv[0][0] && c->tools[0]->timeout_ms >= 1000);
    }
    custom_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct str bytes = str_n((const char *)data, n), dir = fuzz_dir();
    size_t n_items;
    make_place();
    fuzz_write("plugins/p/plugin.json", bytes, 0600);
    fuzz_write("prompts/fix.md", bytes, 0600);
    fuzz_write("skills/s/SKILL.md", bytes, 0600);
    struct item *items = library_prompts(dir, &a, &n_items);
    check_items(items, n_items, dir, &a);
    AUTO(skills) struct skills found = SKILLS_INIT;
    struct skill_places places = library_skill_places(dir, STR_NONE, "", &a);
    places.home = places.more[0] = STR_NONE;
    skills_add_places(&found, &places);
    skills_scan(&found);
    items = library_skills(&found, dir, &a, &n_items);
    check_items(items, n_items, dir, &a);
    items = library_plugins(dir, &a, &n_items);
    check_items(items, n_items, arena_fmt(&a, "%.*s/plugins/p/", STR_FMT(dir)), &a);
    try_tool(bytes, &a);
    return 0;
}
