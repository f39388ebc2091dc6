/* SPDX-License-Identifier: MIT */
#include "providers/rehearsal/action.h"

#include "base/limits.h"
#include "base/path.h"

static const struct craft_row {
    const char *name;
    const char *about;
    const char *tools[6]; /* in the order of preference */
} actions[N_ACTIONS] = {
    [ACTION_LIST] = {"@list",
                     "list a directory",
                     {"list_dir", "list_directory", "glob_search", "ls"}},
    [ACTION_READ] = {"@read", "read a file", {"read_file"}},
    /* Without a search tool, the shell runs grep. */
    [ACTION_SEARCH] = {"@search",
                       "search files",
                       {"grep_files", "grep_search", "bash", "run_shell_command"}},
    [ACTION_SHELL] = {"@shell", "run a command", {"bash", "run_shell_command"}},
    [ACTION_WRITE] = {"@write", "write a file", {"write_file"}},
};

bool action_named(struct str name, enum action *ret)
{
    for (int i = 0; i < N_ACTIONS; i++) {
        if (str_is(name, actions[i].name)) {
            *ret = (enum action)i;
            return true;
        }
    }
    return false;
}

const char *action_about(enum action action)
{
    return actions[action].about;
}

const struct tool_def *action_tool(const struct ask *ask, enum action action)
{
    for (const char *const *name = actions[action].tools; *name; name++)
        for (size_t i = 0; i < ask->n_tools; i++)
            if (str_is(ask->tools[i].name, *name))
                return &ask->tools[i];
    return NULL;
}

/* The name of the path argument: from the tool's schema, else by the tool's name. */
static const char *path_member(const struct tool_def *tool)
{
    static const char *const names[] = {"file_path", "dir_path", "path"};
    const char *found = str_is(tool->name, "list_dir") ? "dir_path" : "path";
    struct json schema = JSON_INIT;
    struct error err;
    if (!json_parse(tool->schema, 0, LIMIT_JSON_DEPTH, &schema, &err))
        return found;
    yyjson_val *properties = json_get(schema.root, "properties");
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (json_get(properties, names[i])) {
            found = names[i];
            break;
        }
    }
    json_clear(&schema);
    return found;
}

/* file_path and dir_path are absolute by their tools' documents, path is relative. */
static void put_path(struct jw *w, const struct facts *f, const struct tool_def *tool,
                     struct str path)
{
    AUTO(buf) struct buf full = BUF_INIT;
    const char *member = path_member(tool);
    if (!path.n)
        path = STR(".");
    if (strcmp(member, "path") != 0 && str_starts(f->workspace, STR("/")))
        path_absolute(&full, f->workspace, path);
    else
        buf_add(&full, path);
    jw_kstr(w, member, buf_str(&full));
}

static void put_glob(struct jw *w, struct str path)
{
    AUTO(buf) struct buf pattern = BUF_INIT;
    while (str_ends(path, STR("/")) && path.n > 1)
        path.n--;
    if (path.n && !str_is(path, "."))
        buf_addf(&pattern, "%.*s/", STR_FMT(path));
    buf_addc(&pattern, '*');
    jw_kstr(w, "pattern", buf_str(&pattern));
}

static void put_quoted(struct buf *out, struct str word)
{
    buf_addc(out, '\'');
    for (size_t i = 0; i < word.n; i++) {
        if (word.p[i] == '\'')
            buf_addz(out, "'\\''");
        else
            buf_addc(out, word.p[i]);
    }
    buf_addc(out, '\'');
}

static void put_grep_command(struct jw *w, const struct intent *intent)
{
    AUTO(buf) struct buf command = BUF_INIT;
    buf_addz(&command, "grep -rnE -- ");
    put_quoted(&command, intent->pattern);
    buf_addc(&command, ' ');
    put_quoted(&command, intent->path.n ? intent->path : STR("."));
    jw_kstr(w, "command", buf_str(&command));
}

static void put_search(struct jw *w, const struct facts *f, const struct tool_def *tool,
                       const struct intent *intent)
{
    if (str_is(tool->name, "bash") || str_is(tool->name, "run_shell_command")) {
        put_grep_command(w, intent);
        return;
    }
    jw_kstr(w, "pattern", intent->pattern);
    if (str_is(tool->name, "grep_search"))
        jw_kz(w, "output_mode", "content");
    if (intent->path.n || str_is(tool->name, "grep_files"))
        put_path(w, f, tool, intent->path);
}

struct str action_arguments(struct arena *a, const struct facts *f, const struct tool_def *tool,
                            const struct intent *intent)
{
    AUTO(buf) struct buf out = BUF_INIT;
    struct jw w = JW(&out);
    jw_obj(&w);
    switch (intent->action) {
    case ACTION_SEARCH:
        put_search(&w, f, tool, intent);
        break;
    case ACTION_SHELL:
        jw_kstr(&w, "command", intent->command);
        break;
    case ACTION_WRITE:
        put_path(&w, f, tool, intent->path);
        jw_kstr(&w, "content", intent->content);
        break;
    case ACTION_LIST:
        if (str_is(tool->name, "glob_search"))
            put_glob(&w, intent->path);
        else
            put_path(&w, f, tool, intent->path);
        break;
    default:
        put_path(&w, f, tool, intent->path);
    }
    jw_obj_end(&w);
    return arena_str(a, buf_str(&out));
}
