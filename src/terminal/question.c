/* SPDX-License-Identifier: MIT */
#include "terminal/question.h"

#include "base/limits.h"
#include "base/shown.h"
#include "toolsets/toolset.h"

struct putting {
    question_line *fn;
    void *arg;
};

static void put_lines(const struct putting *p, enum question_part part, const char *mark,
                      struct str text)
{
    AUTO(buf) struct buf shown = BUF_INIT;
    struct str line, rest;
    shown_add(&shown, text, true);
    rest = buf_str(&shown);
    while (str_line(&rest, &line)) {
        AUTO(buf) struct buf whole = BUF_INIT;
        buf_addf(&whole, "%s%.*s", mark, STR_FMT(line));
        p->fn(p->arg, part, buf_str(&whole));
    }
}

/* What the tool wants, with the path where it has one. */
static void put_head(const struct putting *p, const struct tool *f, const struct event *e,
                     struct str path)
{
    static const char *const wishes[] = {
        [TOOL_READ] = "read",    [TOOL_LIST] = "list",    [TOOL_GLOB] = "search",
        [TOOL_GREP] = "search",  [TOOL_WRITE] = "change", [TOOL_EDIT] = "change",
        [TOOL_PATCH] = "change",
    };
    AUTO(buf) struct buf head = BUF_INIT;
    enum tool_kind kind = f ? f->kind : TOOL_OTHER;
    const char *wish = kind < ARRAY_LEN(wishes) ? wishes[kind] : NULL;
    buf_addz(&head, "? ");
    shown_add(&head, e->call->name, false);
    buf_addf(&head, " wants to %s", wish ? wish : "run");
    if (wish)
        buf_addc(&head, ' ');
    if (wish && path.n)
        shown_add(&head, path, false);
    else if (wish)
        buf_addz(&head, "files");
    buf_addz(&head, e->permission->is_outside ? " outside of the sandbox" : "");
    p->fn(p->arg, QUESTION_HEAD, buf_str(&head));
}

void question_put(const struct rules *rules, const struct event *e, const struct rule_offer *offer,
                  question_line *fn, void *arg)
{
    const struct putting p = {fn, arg};
    const struct tool *f = rules->tools ? toolset_find(rules->tools, e->call->name) : NULL;
    AUTO(json) struct json j = JSON_INIT;
    AUTO(buf) struct buf open = BUF_INIT;
    struct error ignored;
    json_parse(e->call->args, JSON_FIX_SURROGATES, LIMIT_JSON_DEPTH, &j, &ignored);
    struct str command = json_get_str(j.root, "command"), path = json_get_str(j.root, "path");
    struct str old = json_get_str(j.root, "old_string"), now = json_get_str(j.root, "new_string");
    struct str content = json_get_str(j.root, "content");
    put_head(&p, f, e, path);
    if (command.p) {
        put_lines(&p, QUESTION_TEXT, "  ", command);
    } else if (path.p && (old.p || content.p)) {
        put_lines(&p, QUESTION_OLD, "  - ", old);
        put_lines(&p, QUESTION_NEW, "  + ", now.p ? now : content);
    } else if (!path.p || yyjson_obj_size(j.root) > 1) {
        put_lines(&p, QUESTION_TEXT, "  ", e->call->args);
    }
    put_lines(&p, QUESTION_TEXT, "  it leads to ", e->permission->leads_to);
    put_lines(&p, QUESTION_NOTE, "", e->permission->reason);
    if (offer->is_part)
        buf_addf(&open, "no rule covers %.*s", STR_FMT(offer->open));
    put_lines(&p, QUESTION_NOTE, "", buf_str(&open));
}
