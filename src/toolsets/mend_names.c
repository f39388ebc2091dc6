/* SPDX-License-Identifier: MIT */
/* Names: under which other names an argument is known, and how alike two names are. */
#include "toolsets/mend.h"

#define OF(kind) (1u << TOOL_##kind)

enum { MAX_NAMES = 12, MAX_LETTERS = 64 };

/* Names of one argument.  A tool that has a row of one of the names takes the others for it. */
static const struct {
    unsigned kinds;
    bool is_one_way; /* only the first is a row that the others stand for */
    const char *names[MAX_NAMES];
} groups[] = {
    {OF(READ) | OF(WRITE) | OF(EDIT),
     false,
     {"path", "file_path", "filename", "target_file", "file", "absolute_path", "abs_path"}},
    {OF(LIST),
     false,
     {"dir_path", "path", "directory", "dir", "directory_path", "folder", "target_directory"}},
    {OF(GREP) | OF(GLOB), false, {"path", "dir_path", "file_path"}},
    {OF(GREP) | OF(GLOB), false, {"pattern", "query", "regex", "regexp"}},
    {OF(GLOB), false, {"pattern", "glob", "glob_pattern"}},
    {OF(SHELL), false, {"command", "cmd", "script", "shell_command", "commands"}},
    {OF(SHELL), false, {"cwd", "workdir", "working_directory", "working_dir"}},
    {OF(SHELL), true, {"timeout_seconds", "timeout"}},
    {OF(SHELL), true, {"timeout", "timeout_ms"}},
    {OF(SHELL), false, {"run_in_background", "is_background", "background"}},
    {OF(WRITE), false, {"content", "text", "file_text", "contents", "file_content"}},
    {OF(EDIT),
     false,
     {"old_string", "old_str", "old_text", "old", "old_content", "search", "find"}},
    {OF(EDIT),
     false,
     {"new_string", "new_str", "new_text", "new", "new_content", "replace", "replacement"}},
    {OF(EDIT), false, {"edits", "changes", "replacements"}},
    {OF(PATCH), false, {"input", "patch", "diff", "patch_text"}},
};

/* Words about the call itself; nothing depends on them. */
static const char *const small_talk[] = {
    "description", "explanation", "reason",       "thought",  "title",
    "purpose",     "instruction", "instructions", "thoughts", "reasoning",
};

/* Words by which names of tools speak of their kind. */
static const struct {
    enum tool_kind kind;
    const char *words[8];
} kind_words[] = {
    {TOOL_READ, {"read", "view", "cat", "open"}},
    {TOOL_WRITE, {"write", "create", "save"}},
    {TOOL_EDIT, {"edit", "replace", "update", "modify"}},
    {TOOL_PATCH, {"patch", "diff", "edit", "replace", "write", "create"}},
    {TOOL_SHELL, {"bash", "shell", "exec", "terminal", "command"}},
    {TOOL_LIST, {"list", "ls", "dir"}},
    {TOOL_GLOB, {"glob", "find"}},
    {TOOL_GREP, {"grep", "search", "rg"}},
};

static bool is_joint(char c)
{
    return c == '_' || c == '-' || c == ' ';
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* The next letter of *s that counts, 0 at the end. */
static char next_letter(struct str *s)
{
    while (s->n && is_joint(s->p[0]))
        *s = str_from(*s, 1);
    if (!s->n)
        return '\0';
    char c = lower(s->p[0]);
    *s = str_from(*s, 1);
    return c;
}

/* The same but for case, _ and -. */
static bool is_alike(struct str a, struct str b)
{
    for (;;) {
        char x = next_letter(&a), y = next_letter(&b);
        if (x != y)
            return false;
        if (!x)
            return true;
    }
}

/* The place of a name in a group; SIZE_MAX: not there. */
static size_t find_name(size_t group, struct str name)
{
    const char *const *names = groups[group].names;
    for (size_t i = 0; i < MAX_NAMES && names[i]; i++)
        if (is_alike(name, str_of(names[i])))
            return i;
    return SIZE_MAX;
}

static bool is_in_group(size_t group, enum tool_kind kind, const struct row *row)
{
    size_t at = groups[group].kinds & (1u << kind) ? find_name(group, str_of(row->name)) : SIZE_MAX;
    return at != SIZE_MAX && (at == 0 || !groups[group].is_one_way);
}

const struct row *mend_row(enum tool_kind kind, const struct row *rows, struct str name)
{
    const struct row *exact = row_find(rows, name);
    if (exact)
        return exact;
    for (const struct row *row = rows; row->name; row++)
        if (is_alike(name, str_of(row->name)))
            return row;
    for (size_t g = 0; g < ARRAY_LEN(groups); g++) {
        if (find_name(g, name) == SIZE_MAX)
            continue;
        for (const struct row *row = rows; row->name; row++)
            if (is_in_group(g, kind, row))
                return row;
    }
    return NULL;
}

void mend_each_alias(enum tool_kind kind, const struct row *rows, const struct row *row,
                     void (*fn)(void *arg, const char *alias), void *arg)
{
    for (size_t g = 0; g < ARRAY_LEN(groups); g++) {
        if (!is_in_group(g, kind, row))
            continue;
        for (const char *const *n = groups[g].names; n < groups[g].names + MAX_NAMES && *n; n++)
            if (!is_alike(str_of(*n), str_of(row->name)) && mend_row(kind, rows, str_of(*n)) == row)
                fn(arg, *n);
    }
}

bool mend_is_small_talk(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(small_talk); i++)
        if (is_alike(name, str_of(small_talk[i])))
            return true;
    return false;
}

static size_t fold(struct str s, char *ret_letters)
{
    size_t n = 0;
    char c;
    while (n < MAX_LETTERS && (c = next_letter(&s)))
        ret_letters[n++] = c;
    return n;
}

size_t mend_distance(struct str a, struct str b)
{
    char x[MAX_LETTERS], y[MAX_LETTERS];
    size_t n = fold(a, x), m = fold(b, y), row[MAX_LETTERS + 1];
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = MIN(MIN(row[j], row[j - 1]) + 1, diagonal + (x[i - 1] != y[j - 1]));
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[m];
}

bool mend_speaks_of(struct str tool_name, enum tool_kind kind)
{
    for (size_t i = 0; i < ARRAY_LEN(kind_words); i++) {
        if (kind_words[i].kind != kind)
            continue;
        for (const char *const *w = kind_words[i].words; *w; w++)
            if (str_ifind(tool_name, str_of(*w)) != SIZE_MAX)
                return true;
    }
    return false;
}
