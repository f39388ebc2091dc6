/* SPDX-License-Identifier: MIT */
/* The file tools of loaf that look and do not touch: read_file, list_dir, grep_files.  Their output
 * is a string; a fault is the same string as output and as error.
 */
#include "base/path.h"
#include "tools/grep.h"
#include "tools/list.h"
#include "tools/picture.h"
#include "tools/seen.h"
#include "toolsets/loaf.h"
#include "toolsets/look.h"
#include "toolsets/words.h"

enum {
    LINE_CHARS = 500,
    READ_LINES = 2000,
    READ_BYTES = 50 << 10,
    BLOCK_BYTES = 16 << 20, /* largest file for block mode */
    LIST_ENTRIES = 25,
    LIST_DEPTH = 2,
    LIST_MOST = 20000,
    GREP_FILES = 100,
    GREP_MOST = 2000,
    GREP_TIMEOUT_MS = 30000,
};

static bool is_absolute(struct str path)
{
    return str_starts(path, STR("/"));
}

/* Members of `indentation`. */
struct indent_args {
    double anchor_line, max_levels, max_lines;
    bool include_siblings, include_header;
};

static const struct row indent_rows[] = {
    ROW(indent_args, anchor_line, T_NUM, OPTIONAL, "line inside the block (default: offset)"),
    ROW(indent_args, max_levels, T_NUM, OPTIONAL, "levels above the line to show (default 0: all)"),
    ROW(indent_args, include_siblings, T_BOOL, OPTIONAL, "also blocks of the same level"),
    ROW(indent_args, include_header, T_BOOL, OPTIONAL,
        "also the comment above the block (default true)"),
    ROW(indent_args, max_lines, T_NUM, OPTIONAL, "lines to return"),
    ROW_END,
};

struct read_args {
    struct str file_path, mode;
    double offset, limit;
    yyjson_val *indentation;
};

static const struct read_args read_defaults = {.offset = 1, .limit = READ_LINES};

static const struct row read_rows[] = {
    ROW(read_args, file_path, T_STR, NEEDED, "absolute path of the file", .max = LIMIT_PATH_BYTES),
    ROW(read_args, offset, T_NUM, OPTIONAL, "first line, counted from 1 (default 1)"),
    ROW(read_args, limit, T_NUM, OPTIONAL, "lines to return (default 2000)"),
    ROW(read_args, mode, T_STR, OPTIONAL,
        "slice (default) or indentation: the block around a line"),
    ROW(read_args, indentation, T_OBJ, OPTIONAL, "options of the indentation mode",
        .rows = indent_rows),
    ROW_END,
};

static void put_lines(const struct read_lines *lines, size_t low, size_t high, int64_t first,
                      struct buf *out)
{
    for (size_t i = low; i <= high && i < lines->n; i++)
        buf_addf(out, "%sL%lld: %.*s", i > low ? "\n" : "", (long long)(first + (int64_t)i),
                 STR_FMT(lines->lines[i]));
}

static bool put_block(const struct read_args *a, const struct read_lines *lines, int64_t offset,
                      int64_t limit, struct tool_result *ret)
{
    struct indent_args i = {(double)offset, 0, (double)limit, false, true};
    struct fault ignored;
    size_t low, high;
    if (a->indentation)
        rows_decode(indent_rows, ROWS_LENIENT, a->indentation, &i, &ignored);
    int64_t anchor = loaf_whole(i.anchor_line), max_lines = loaf_whole(i.max_lines);
    if (anchor < 1)
        return loaf_fail(ret, "anchor_line must be a 1-indexed line number");
    if (max_lines < 1)
        return loaf_fail(ret, "max_lines must be greater than zero");
    if (lines->has_more)
        return loaf_fail(ret, "failed to read file: it is too large for the indentation mode");
    if (anchor > (int64_t)lines->n)
        return loaf_fail(ret, "anchor_line exceeds file length");
    struct block_options o = {
        .anchor = (size_t)anchor - 1,
        .max_levels = loaf_whole(i.max_levels),
        .include_siblings = i.include_siblings,
        .include_header = i.include_header,
        .max_lines = (size_t)MIN(limit, max_lines),
    };
    loaf_block(lines, &o, &low, &high);
    put_lines(lines, low, high, 1, &ret->text);
    return loaf_done(ret);
}

/* For the model alone: the output itself is prescribed. */
static void put_notes(const struct read_lines *lines, int64_t offset, struct buf *out)
{
    int64_t last = offset + (int64_t)lines->n - 1;
    if (lines->longest)
        buf_addf(out, "\n[lines are cut at %d characters; the longest has %lld]", LINE_CHARS,
                 (long long)lines->longest);
    if (lines->has_more)
        buf_addf(out, "\n[lines %lld-%lld of %lld; use offset %lld to continue]", (long long)offset,
                 (long long)last, (long long)lines->n_seen, (long long)last + 1);
}

static bool read_tool_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                            struct error *err)
{
    const struct read_args *a = args;
    AUTO(buf) struct buf path = BUF_INIT;
    AUTO(read_lines) struct read_lines lines = READ_LINES_INIT;
    int64_t offset = loaf_whole(a->offset), limit = loaf_whole(a->limit);
    bool is_block = str_is(a->mode, "indentation");
    if (!is_absolute(a->file_path))
        return loaf_fail(ret, "file_path must be an absolute path");
    if (offset < 1)
        return loaf_fail(ret, "offset must be a 1-indexed line number");
    if (limit < 1)
        return loaf_fail(ret, "limit must be greater than zero");
    if (!tool_path(cx, a->file_path, &path, err))
        return loaf_fail(ret, "failed to read file: %s", cause_of(err));
    AUTO(buf) struct buf whole = BUF_MAX(SEEN_FILE_BYTES);
    struct read_options o = {
        .path = buf_str(&path),
        .whole = &whole,
        .first = is_block ? 1 : offset,
        .count = is_block ? INT64_MAX : limit,
        .max_line_chars = LINE_CHARS,
        .max_bytes = is_block ? BLOCK_BYTES : READ_BYTES,
        .counts = !is_block,
    };
    if (!read_lines_await(cx->loop, &o, &lines, err)) {
        if (err->code == ERR_CANCELED)
            return false;
        loaf_fail(ret, "failed to read file: %s", cause_of(err));
        return look_hint_await(cx, a->file_path, buf_str(&path), "list_dir", &ret->text, err);
    }
    if (lines.is_whole)
        seen_put(cx->seen, buf_str(&path), buf_str(&whole));
    if (lines.is_binary) {
        bool is_known;
        if (!picture_read_await(cx, buf_str(&path), a->file_path, ret, &is_known, err))
            return false;
        if (is_known && ret->is_error)
            buf_add(&ret->error, buf_str(&ret->text));
        if (is_known)
            return loaf_done(ret);
    }
    if (is_block)
        return put_block(a, &lines, offset, limit, ret);
    if (lines.n == 0) {
        loaf_fail(ret, "offset exceeds file length");
        buf_addf(&ret->text, "\n%s", lines.n_seen ? "" : "The file is empty.");
        if (lines.n_seen)
            buf_addf(&ret->text, "The file has %lld lines.", (long long)lines.n_seen);
        return true;
    }
    put_lines(&lines, 0, lines.n - 1, offset, &ret->text);
    loaf_done(ret);
    put_notes(&lines, offset, &ret->text);
    return true;
}

const struct tool loaf_read_tool = {
    .name = "read_file",
    .kind = TOOL_READ,
    .about = "Reads lines of a file, each with its number, or the indented block around a line.",
    .args = read_rows,
    .args_size = sizeof(struct read_args),
    .defaults = &read_defaults,
    .mode = MODE_READ_ONLY,
    .target = TARGET(struct read_args, file_path),
    .reads_file = true,
    .run_await = read_tool_await,
};

struct list_args {
    struct str dir_path;
    double offset, limit, depth;
};

static const struct list_args list_defaults = {
    .offset = 1, .limit = LIST_ENTRIES, .depth = LIST_DEPTH};

static const struct row list_rows[] = {
    ROW(list_args, dir_path, T_STR, NEEDED, "absolute path of the directory",
        .max = LIMIT_PATH_BYTES),
    ROW(list_args, offset, T_NUM, OPTIONAL, "first entry, counted from 1 (default 1)"),
    ROW(list_args, limit, T_NUM, OPTIONAL, "entries to return (default 25)"),
    ROW(list_args, depth, T_NUM, OPTIONAL, "levels to descend (default 2)"),
    ROW_END,
};

static const char *mark_of(enum walk_kind kind)
{
    static const char *const marks[] = {"", "/", "@", "?"};
    return marks[kind];
}

static void put_entries(const struct listing *found, struct buf *out)
{
    for (size_t i = 0; i < found->n; i++) {
        const struct list_entry *e = &found->entries[i];
        buf_addf(out, "\n%*s%.*s%s", (int)(2 * (e->depth - 1)), "", STR_FMT(path_base(e->rel)),
                 mark_of(e->kind));
    }
    if (found->has_more)
        buf_addf(out, "\nMore than %zu entries found", found->n);
}

static bool list_tool_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                            struct error *err)
{
    const struct list_args *a = args;
    AUTO(buf) struct buf path = BUF_INIT;
    AUTO(listing) struct listing found = LISTING_INIT;
    int64_t offset = loaf_whole(a->offset), limit = loaf_whole(a->limit);
    int64_t depth = loaf_whole(a->depth);
    if (!is_absolute(a->dir_path))
        return loaf_fail(ret, "dir_path must be an absolute path");
    if (offset < 1)
        return loaf_fail(ret, "offset must be a 1-indexed entry number");
    if (limit < 1)
        return loaf_fail(ret, "limit must be greater than zero");
    if (depth < 1)
        return loaf_fail(ret, "depth must be greater than zero");
    if (!tool_path(cx, a->dir_path, &path, err))
        return loaf_fail(ret, "failed to read directory: %s", cause_of(err));
    struct list_options o = {
        .root = buf_str(&path),
        .depth = (unsigned)MIN(depth, 1000),
        .first = offset,
        .max = (size_t)MIN(limit, LIST_MOST),
    };
    if (!list_await(cx->loop, &o, &found, err))
        return err->code != ERR_CANCELED &&
               loaf_fail(ret, "failed to read directory: %s", cause_of(err));
    if (found.n == 0 && offset > 1)
        return loaf_fail(ret, "offset exceeds directory entry count");
    buf_addf(&ret->text, "Absolute path: %.*s", STR_FMT(a->dir_path));
    put_entries(&found, &ret->text);
    return loaf_done(ret);
}

const struct tool loaf_list_tool = {
    .name = "list_dir",
    .kind = TOOL_LIST,
    .about = "Lists a directory and what is below it as an indented tree. / marks directories, @ "
             "links.",
    .args = list_rows,
    .args_size = sizeof(struct list_args),
    .defaults = &list_defaults,
    .mode = MODE_READ_ONLY,
    .target = TARGET(struct list_args, dir_path),
    .run_await = list_tool_await,
};

struct grep_args {
    struct str pattern, include, path;
    double limit;
};

static const struct grep_args grep_defaults = {.limit = GREP_FILES};

static const struct row grep_rows[] = {
    ROW(grep_args, pattern, T_STR, NEEDED | NOT_BLANK, "regular expression to search for"),
    ROW(grep_args, include, T_STR, OPTIONAL | TRIM, "only files that match, such as *.{ts,tsx}",
        .max = LIMIT_PATH_BYTES),
    ROW(grep_args, path, T_STR, OPTIONAL,
        "file or directory to search (default: the working directory)", .max = LIMIT_PATH_BYTES),
    ROW(grep_args, limit, T_NUM, OPTIONAL, "paths to return (default 100, at most 2000)"),
    ROW_END,
};

/* Relative paths mean the directory the process was started in. */
static bool grep_root(struct tool_cx *cx, struct str path, struct buf *ret, struct error *err)
{
    AUTO(buf) struct buf absolute = BUF_INIT;
    struct str base = cx->launch_dir.n ? cx->launch_dir : cx->root;
    path_absolute(&absolute, base, path.n ? path : STR("."));
    return tool_path(cx, buf_str(&absolute), ret, err);
}

static bool say_found(const struct grep_found *found, struct str root, struct tool_result *ret)
{
    for (size_t i = 0; i < found->n_files; i++) {
        struct str path = found->files[i].path;
        buf_addf(&ret->text, "%s%.*s%s%.*s", i ? "\n" : "", STR_FMT(root),
                 path.n && !str_ends(root, STR("/")) ? "/" : "", STR_FMT(path));
    }
    if (found->n_files == 0 && found->is_timed_out)
        return loaf_fail(ret, "search timed out after %d seconds", GREP_TIMEOUT_MS / 1000);
    if (found->n_files == 0) {
        buf_addz(&ret->text, "No matches found.");
        ret->is_error = true;
        loaf_done(ret);
        buf_addz(&ret->text,
                 "\nUpper and lower case differ ((?i) makes them the same); hidden files, "
                 "files that .gitignore names and binary files are not searched.");
        return true;
    }
    return loaf_done(ret);
}

static bool grep_tool_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                            struct error *err)
{
    const struct grep_args *a = args;
    AUTO(buf) struct buf root = BUF_INIT;
    AUTO(grep_found) struct grep_found found = GREP_FOUND_INIT;
    int64_t limit = loaf_whole(a->limit);
    if (limit < 1)
        return loaf_fail(ret, "limit must be greater than zero");
    if (!grep_root(cx, a->path, &root, err) || !path_exists(buf_str(&root)))
        return loaf_fail(ret, "unable to access `%.*s`", STR_FMT(a->path));
    struct grep_options o = {
        .root = buf_str(&root),
        .pattern = a->pattern,
        .include = a->include,
        .skip_hidden = true,
        .newest_first = true,
        .max_files = (size_t)MIN(limit, GREP_MOST),
        .timeout_ms = GREP_TIMEOUT_MS,
        .sandbox = cx->sandbox,
    };
    if (!grep_await(cx->loop, &o, &found, err))
        return err->code != ERR_CANCELED && loaf_fail(ret, "search failed: %s", err->text);
    return say_found(&found, o.root, ret);
}

const struct tool loaf_grep_tool = {
    .name = "grep_files",
    .kind = TOOL_GREP,
    .about =
        "Finds files whose contents match a regular expression and lists their paths, the last "
        "changed first.",
    .args = grep_rows,
    .args_size = sizeof(struct grep_args),
    .defaults = &grep_defaults,
    .mode = MODE_READ_ONLY,
    .target = TARGET(struct grep_args, path),
    .from_launch_dir = true,
    .run_await = grep_tool_await,
};
