/* SPDX-License-Identifier: MIT */
/* Any file as rules, and any text as what a call is about: "RULES\n%%\nTEXT".  A file that is
 * refused says why and adds nothing that allows; what is judged is judged the same twice, never
 * allowed by a file of the workspace, and never allowed against a rule that denies all.
 */
#include "fuzz_place.h"
#include "toolsets/rules.h"

static struct str text_of(const void *args)
{
    return *(const struct str *)args;
}

static const struct tool tools[] = {
    {.name = "bash", .mode = MODE_FULL, .command = text_of},
    {.name = "write_file", .mode = MODE_WORKSPACE_WRITE, .target = 1},
    {.name = "todo", .mode = MODE_READ_ONLY},
};

static enum verdict judge(const struct rules *r, const struct tool *f, struct str about)
{
    struct tool_cx cx = {.root = fuzz_dir()};
    struct str by, same;
    enum verdict v = rules_judge(r, f, &cx, &about, &by);
    PROMISE((by.p != NULL) == (v != VERDICT_NONE));
    PROMISE(rules_judge(r, f, &cx, &about, &same) == v && str_eq(by, same));
    return v;
}

static void judge_all(struct rules *r, bool may_allow, struct str about)
{
    struct error err;
    for (size_t i = 0; i < ARRAY_LEN(tools); i++)
        PROMISE(judge(r, &tools[i], about) != VERDICT_ALLOW || may_allow);
    PROMISE(rules_add(r, VERDICT_DENY, STR("*"), &err));
    for (size_t i = 0; i < ARRAY_LEN(tools); i++)
        PROMISE(judge(r, &tools[i], about) == VERDICT_DENY);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str rest = str_n((const char *)data, n), file = fuzz_part(&rest);
    char path[256];
    fuzz_write("rules.json", file, 0600);
    for (int may_allow = 0; may_allow < 2; may_allow++) {
        struct rules r = RULES_INIT;
        struct error err = ERROR_INIT;
        if (rules_load(&r, fuzz_path(path, "rules.json"), may_allow ? STR_NONE : STR("/"), &err))
            judge_all(&r, may_allow, rest);
        else
            PROMISE(err.code != ERR_NONE && err.text[0]);
        rules_clear(&r);
    }
    return 0;
}
