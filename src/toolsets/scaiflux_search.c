/* SPDX-License-Identifier: MIT */
/* glob_search and grep_search.  Paths in results are relative to the workspace, absolute outside.
 */
#include "base/path.h"
#include "tools/glob.h"
#include "tools/grep.h"
#include "toolsets/scaiflux.h"
#include "toolsets/words.h"

enum {
    GLOB_PATHS = 10000,
    GREP_ENTRIES = 1000, /* lines or files without a head_limit */
    GREP_MOST = 20000,   /* lines or files with one */
    GREP_LINE_BYTES = 500,
    OUTPUT_BYTES = 256 << 10,
};

static const char *const skipped[] = {".git", ".scaiflux", "node_modules", NULL};

/* Where to search: the path given, or the workspace. */
static bool search_root(struct tool_cx *cx, struct str path, struct buf *ret, struct error *err)
{
    return tool_path(cx, path.n ? path : STR("."), ret, err);
}

/* What stands before a path found below root, to make it relative to the workspace. */
static void put_prefix(const struct tool_cx *cx, struct str root, struct buf *out)
{
    struct str rel = path_relative(cx->root, root);
    if (str_is(rel, "."))
        return;
    buf_add(out, rel);
    if (!str_ends(rel, STR("/")))
        buf_addc(out, '/');
}

struct glob_args {
    struct str pattern, path;
};

static const struct row glob_rows[] = {
    ROW(glob_args, pattern, T_STR, NEEDED, "path pattern such as **/*.c or src/{a,b}*.h",
        .max = LIMIT_PATH_BYTES),
    ROW(glob_args, path, T_STR, OPTIONAL, "directory to search (default: the workspace)",
        .max = LIMIT_PATH_BYTES),
    ROW_END,
};

static void put_paths(const struct glob_found *found, struct str prefix, struct buf *out)
{
    size_t i = 0;
    for (; i < found->n && out->n < OUTPUT_BYTES; i++)
        buf_addf(out, "%.*s%.*s\n", STR_FMT(prefix), STR_FMT(found->paths[i]));
    if (i < found->n || found->is_cut)
        buf_addz(out, "[more paths match; narrow the pattern]\n");
}

static void say_no_path(const struct glob_args *a, struct buf *out)
{
    struct str name = path_base(a->pattern);
    buf_addf(out, "No files match %.*s.\n", STR_FMT(a->pattern));
    if (str_find(a->pattern, STR("**")) == SIZE_MAX)
        buf_addf(out, "**/%.*s would match at any depth.\n", STR_FMT(name));
}

static bool glob_tool_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                            struct error *err)
{
    const struct glob_args *a = args;
    AUTO(buf) struct buf root = BUF_INIT, prefix = BUF_INIT;
    AUTO(glob_found) struct glob_found found = GLOB_FOUND_INIT;
    if (!search_root(cx, a->path, &root, err))
        return tool_fail(ret, "cannot search %.*s: %s", STR_FMT(a->path), cause_of(err));
    struct glob_options o = {
        .root = buf_str(&root),
        .pattern = a->pattern,
        .skip = skipped,
        .use_ignore = true,
        .max = GLOB_PATHS,
    };
    bool ok = glob_await(cx->loop, &o, &found, err);
    if (ok && found.n == 0) { /* what was asked for by name may be ignored */
        glob_found_clear(&found);
        found = GLOB_FOUND_INIT;
        o.use_ignore = false;
        ok = glob_await(cx->loop, &o, &found, err);
    }
    if (!ok)
        return err->code != ERR_CANCELED && tool_fail(ret, "cannot search: %s", err->text);
    put_prefix(cx, o.root, &prefix);
    put_paths(&found, buf_str(&prefix), &ret->text);
    if (found.n == 0)
        say_no_path(a, &ret->text);
    else if (!o.use_ignore)
        buf_addz(&ret->text, "[only files that .gitignore leaves out match]\n");
    return true;
}

const struct tool scaiflux_glob_tool = {
    .name = "glob_search",
    .kind = TOOL_GLOB,
    .about = "Lists the files whose path matches a pattern, one per line. ** stands for any number "
             "of directories.",
    .args = glob_rows,
    .args_size = sizeof(struct glob_args),
    .mode = MODE_READ_ONLY,
    .target = TARGET(struct glob_args, path),
    .run_await = glob_tool_await,
};

struct grep_args {
    struct str pattern, path, glob, output_mode, type;
    int64_t after, before, around, context, head_limit, offset;
    bool has_numbers, any_case, multiline;
};

static const struct grep_args grep_defaults = {.has_numbers = true};

static const char *const output_modes[] = {"files_with_matches", "content", "count", NULL};

static const struct row grep_rows[] = {
    ROW(grep_args, pattern, T_STR, NEEDED, "regular expression (PCRE)"),
    ROW(grep_args, path, T_STR, OPTIONAL, "file or directory to search (default: the workspace)",
        .max = LIMIT_PATH_BYTES),
    ROW(grep_args, glob, T_STR, OPTIONAL, "only files that match, such as *.c",
        .max = LIMIT_PATH_BYTES),
    ROW(grep_args, output_mode, T_STR, OPTIONAL, "what to return (default files_with_matches)",
        .choices = output_modes),
    ROW_AS(grep_args, after, "-A", T_INT, OPTIONAL, "lines to show after a match", .has_min = true),
    ROW_AS(grep_args, before, "-B", T_INT, OPTIONAL, "lines to show before a match",
           .has_min = true),
    ROW_AS(grep_args, around, "-C", T_INT, OPTIONAL, "lines to show around a match",
           .has_min = true),
    ROW(grep_args, context, T_INT, OPTIONAL, "the same as -C", .has_min = true),
    ROW_AS(grep_args, has_numbers, "-n", T_BOOL, OPTIONAL,
           "show line numbers in content mode (default true)"),
    ROW_AS(grep_args, any_case, "-i", T_BOOL, OPTIONAL, "upper and lower case are the same"),
    ROW(grep_args, type, T_STR, OPTIONAL, "kind of file, such as c, py, js, rust"),
    ROW(grep_args, head_limit, T_INT, OPTIONAL, "lines or files to return", .has_min = true,
        .min = 1),
    ROW(grep_args, offset, T_INT, OPTIONAL, "lines or files to skip", .has_min = true),
    ROW(grep_args, multiline, T_BOOL, OPTIONAL, "a match may reach over line ends"),
    ROW_END,
};

static const struct {
    const char *name;
    const char *const *globs;
} types[] = {
#define GLOBS(...) ((const char *const[]){__VA_ARGS__, NULL})
    {"c", GLOBS("*.c", "*.h")},
    {"cpp", GLOBS("*.cpp", "*.cc", "*.cxx", "*.hpp", "*.hh", "*.hxx", "*.h")},
    {"cs", GLOBS("*.cs")},
    {"css", GLOBS("*.css", "*.scss", "*.less")},
    {"go", GLOBS("*.go")},
    {"html", GLOBS("*.html", "*.htm")},
    {"java", GLOBS("*.java")},
    {"js", GLOBS("*.js", "*.jsx", "*.mjs", "*.cjs")},
    {"json", GLOBS("*.json", "*.jsonl")},
    {"kotlin", GLOBS("*.kt", "*.kts")},
    {"make", GLOBS("Makefile", "makefile", "GNUmakefile", "*.mk")},
    {"markdown", GLOBS("*.md", "*.markdown")},
    {"md", GLOBS("*.md", "*.markdown")},
    {"php", GLOBS("*.php")},
    {"py", GLOBS("*.py", "*.pyi")},
    {"python", GLOBS("*.py", "*.pyi")},
    {"ruby", GLOBS("*.rb", "Rakefile", "Gemfile", "*.gemspec")},
    {"rust", GLOBS("*.rs")},
    {"sh", GLOBS("*.sh", "*.bash", "*.zsh")},
    {"sql", GLOBS("*.sql")},
    {"swift", GLOBS("*.swift")},
    {"toml", GLOBS("*.toml")},
    {"ts", GLOBS("*.ts", "*.tsx", "*.mts", "*.cts")},
    {"txt", GLOBS("*.txt")},
    {"xml", GLOBS("*.xml")},
    {"yaml", GLOBS("*.yaml", "*.yml")},
#undef GLOBS
};

static const char *const *globs_of(struct str type)
{
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (str_is(type, types[i].name))
            return types[i].globs;
    return NULL;
}

/* Writes results one by one, leaving out the first `skip` and those behind the last wanted one. */
struct result_page {
    struct buf *out;
    int64_t skip, left, n_shown;
    bool is_cut;
};

static bool page_wants(struct result_page *p)
{
    if (p->skip > 0) {
        p->skip--;
        return false;
    }
    if (p->left == 0 || p->out->n >= OUTPUT_BYTES) {
        p->is_cut = true;
        return false;
    }
    p->left--;
    p->n_shown++;
    return true;
}

struct grep_listing {
    const struct grep_args *a;
    const struct grep_found *found;
    struct str prefix; /* of every path */
    bool has_context;
    struct result_page page;
};

static void put_lines(struct grep_listing *t, const struct grep_file *f)
{
    int64_t last = -1;
    for (size_t i = f->first_line; i < f->first_line + f->n_lines; i++) {
        const struct grep_line *l = &t->found->lines[i];
        char mark = l->is_match ? ':' : '-';
        bool is_gap = t->has_context && l->number != last + 1 && (last >= 0 || f->first_line > 0);
        last = l->number;
        if (!page_wants(&t->page))
            continue;
        if (is_gap && t->page.n_shown > 1)
            buf_addz(t->page.out, "--\n");
        buf_addf(t->page.out, "%.*s%.*s%c", STR_FMT(t->prefix), STR_FMT(f->path), mark);
        if (t->a->has_numbers)
            buf_addf(t->page.out, "%lld%c", (long long)l->number, mark);
        buf_addf(t->page.out, "%.*s\n", STR_FMT(l->text));
    }
}

static void put_file(struct grep_listing *t, const struct grep_file *f)
{
    if (str_is(t->a->output_mode, "content")) {
        put_lines(t, f);
        return;
    }
    if (!page_wants(&t->page))
        return;
    buf_addf(t->page.out, "%.*s%.*s", STR_FMT(t->prefix), STR_FMT(f->path));
    if (str_is(t->a->output_mode, "count"))
        buf_addf(t->page.out, ":%lld", (long long)f->n_matches);
    buf_addc(t->page.out, '\n');
}

/* Reasons why nothing may have matched. */
static void say_no_match(const struct grep_args *a, struct buf *out)
{
    if (!a->any_case)
        buf_addz(out, "Upper and lower case differ; -i makes them the same.\n");
    if (a->glob.n || a->type.n)
        buf_addz(out, "Only files that fit glob and type were searched.\n");
    buf_addz(out, "Files that .gitignore names and binary files are not searched.\n");
}

static void put_found(struct grep_listing *t, struct tool_result *ret)
{
    const struct grep_found *g = t->found;
    for (size_t i = 0; i < g->n_files; i++)
        put_file(t, &g->files[i]);
    if (ret->text.n == 0)
        buf_addz(&ret->text, g->n_files ? "No more matches.\n" : "No matches found.\n");
    if (g->n_files == 0)
        say_no_match(t->a, &ret->text);
    else if (t->page.is_cut || g->is_cut)
        buf_addf(&ret->text, "[more matches; use offset=%lld to continue]\n",
                 (long long)(t->a->offset + t->page.n_shown));
    if (g->n_too_large)
        buf_addf(&ret->text, "[%lld files above 64 MiB were not searched]\n",
                 (long long)g->n_too_large);
    if (g->n_gave_up)
        buf_addf(&ret->text, "[the expression took too long on %lld lines; they were skipped]\n",
                 (long long)g->n_gave_up);
}

static int64_t wanted_entries(const struct grep_args *a)
{
    return a->head_limit ? MIN(a->head_limit, GREP_MOST) : GREP_ENTRIES;
}

static struct grep_options options_of(const struct grep_args *a, struct str root)
{
    int64_t around = MIN(MAX(a->around, a->context), 1000);
    size_t most = (size_t)(MIN(a->offset, GREP_MOST) + wanted_entries(a) + 1);
    bool is_content = str_is(a->output_mode, "content");
    return (struct grep_options){
        .root = root,
        .pattern = a->pattern,
        .any_case = a->any_case,
        .many_lines = a->multiline,
        .include = a->glob,
        .include_more = a->type.n ? globs_of(a->type) : NULL,
        .skip = skipped,
        .want_lines = is_content,
        .want_counts = str_is(a->output_mode, "count"),
        .before = is_content ? MAX(MIN(a->before, 1000), around) : 0,
        .after = is_content ? MAX(MIN(a->after, 1000), around) : 0,
        .max_files = most,
        .max_lines = most,
        .max_line_bytes = GREP_LINE_BYTES,
    };
}

static bool grep_tool_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                            struct error *err)
{
    const struct grep_args *a = args;
    AUTO(buf) struct buf root = BUF_INIT, prefix = BUF_INIT;
    AUTO(grep_found) struct grep_found found = GREP_FOUND_INIT;
    if (!search_root(cx, a->path, &root, err))
        return tool_fail(ret, "cannot search %.*s: %s", STR_FMT(a->path), cause_of(err));
    struct grep_options o = options_of(a, buf_str(&root));
    o.sandbox = cx->sandbox;
    if (a->type.n && !o.include_more)
        return tool_fail(ret, "unknown type %.*s; use glob instead", STR_FMT(a->type));
    if (!grep_await(cx->loop, &o, &found, err))
        return err->code != ERR_CANCELED && tool_fail(ret, "cannot search: %s", err->text);
    if (path_is_dir(o.root))
        put_prefix(cx, o.root, &prefix);
    else
        buf_add(&prefix, path_relative(cx->root, o.root));
    struct grep_listing t = {
        .a = a,
        .found = &found,
        .prefix = buf_str(&prefix),
        .has_context = o.before || o.after,
        .page = {.out = &ret->text, .skip = a->offset, .left = wanted_entries(a)},
    };
    put_found(&t, ret);
    return true;
}

const struct tool scaiflux_grep_tool = {
    .name = "grep_search",
    .kind = TOOL_GREP,
    .about = "Searches the contents of files for a regular expression. Ignored files and binary "
             "files are left out.",
    .args = grep_rows,
    .args_size = sizeof(struct grep_args),
    .defaults = &grep_defaults,
    .mode = MODE_READ_ONLY,
    .target = TARGET(struct grep_args, path),
    .run_await = grep_tool_await,
};
