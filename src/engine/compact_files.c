/* SPDX-License-Identifier: MIT */
/* The files that the summarised part of a conversation read and changed: found in its calls, kept
 * with the summary, and put into its text, where the model may have forgotten some (kward 146-157).
 */
#include "engine/compact.h"

/* ---- finding ---- */

struct files {
    struct str *names;
    size_t n;
};

static void add_file(struct files *f, struct arena *a, struct str name)
{
    size_t at = 0;
    while (at < f->n && str_cmp(f->names[at], name) < 0)
        at++;
    if (at < f->n && str_eq(f->names[at], name))
        return;
    struct str *names = arena_array(a, struct str, f->n + 1);
    for (size_t i = 0; i < f->n; i++)
        names[i + (i >= at)] = f->names[i];
    names[at] = arena_str(a, name);
    f->names = names;
    f->n++;
}

/* Whether the call has a result that is no error; it stands right behind the reply. */
static bool has_succeeded(const struct history *h, size_t reply, struct str call_id)
{
    for (size_t i = reply + 1; i < h->n && h->messages[i].role == ROLE_TOOL; i++)
        if (str_eq(h->messages[i].call_id, call_id))
            return !h->messages[i].is_error;
    return false;
}

static void add_call_file(const struct toolset *set, const struct block *call, struct arena *a,
                          struct files *read, struct files *modified)
{
    const struct tool *f = toolset_find(set, call->name);
    struct str path;
    if (!f || !(f->reads_file || f->changes_files))
        return;
    path = tool_call_target(f, call->arguments, a);
    if (path.n)
        add_file(f->reads_file ? read : modified, a, path);
}

void compact_note_files(const struct toolset *set, const struct history *h, size_t from, size_t to,
                        struct arena *a, struct message *summary)
{
    struct files read = {summary->read_files, summary->n_read_files};
    struct files modified = {summary->modified_files, summary->n_modified_files};
    for (size_t i = from; i < to; i++) {
        const struct message *m = &h->messages[i];
        for (size_t k = 0; k < m->n_read_files; k++)
            add_file(&read, a, m->read_files[k]);
        for (size_t k = 0; k < m->n_modified_files; k++)
            add_file(&modified, a, m->modified_files[k]);
        for (size_t b = 0; b < m->n_blocks; b++)
            if (m->blocks[b].kind == BLOCK_CALL && has_succeeded(h, i, m->blocks[b].id))
                add_call_file(set, &m->blocks[b], a, &read, &modified);
    }
    summary->read_files = read.names;
    summary->n_read_files = read.n;
    summary->modified_files = modified.names;
    summary->n_modified_files = modified.n;
}

/* ---- text for the model ---- */

struct lister {
    struct buf *out;
    const struct files_words *words;
    const struct message *summary;
    bool is_inside;   /* the section of files */
    bool was_there;   /* it has been seen */
    bool is_skipping; /* the model's own list */
    bool has_read, has_modified;
};

static void put_list(struct buf *out, const char *title, const struct str *names, size_t n)
{
    buf_addf(out, "### %s\n", title);
    for (size_t i = 0; i < n; i++)
        buf_addf(out, "- %.*s\n", STR_FMT(names[i]));
    buf_addz(out, n ? "\n" : "(none)\n\n");
}

static void put_read(struct lister *l)
{
    put_list(l->out, l->words->read, l->summary->read_files, l->summary->n_read_files);
    l->has_read = true;
}

static void put_modified(struct lister *l)
{
    put_list(l->out, l->words->modified, l->summary->modified_files, l->summary->n_modified_files);
    l->has_modified = true;
}

/* What the model left out of the section, before it ends. */
static void leave_section(struct lister *l)
{
    if (l->is_inside && !l->has_read)
        put_read(l);
    if (l->is_inside && !l->has_modified)
        put_modified(l);
    l->is_inside = l->is_skipping = false;
}

/* 0: it is no heading. */
static size_t heading_level(struct str line, struct str *ret_title)
{
    size_t n = 0;
    while (n < line.n && line.p[n] == '#')
        n++;
    *ret_title = str_trim(str_from(line, n));
    return n < line.n && n <= 6 && line.p[n] == ' ' ? n : 0;
}

static void put_line(struct lister *l, struct str line)
{
    struct str title;
    size_t level = heading_level(line, &title);
    if (level > 0 && level <= 2) {
        leave_section(l);
        l->is_inside = !l->was_there && str_ifind(title, str_of(l->words->title)) != SIZE_MAX;
        l->was_there |= l->is_inside;
    }
    if (level > 2)
        l->is_skipping = false;
    if (level > 2 && l->is_inside && !l->has_read && str_ieq(title, str_of(l->words->read))) {
        put_read(l);
        l->is_skipping = true;
    } else if (level > 2 && l->is_inside && !l->has_modified &&
               str_ieq(title, str_of(l->words->modified))) {
        put_modified(l);
        l->is_skipping = true;
    } else if (!l->is_skipping) {
        buf_addf(l->out, "%.*s\n", STR_FMT(line));
    }
}

void compact_list_files(struct buf *out, struct str text, const struct files_words *words,
                        const struct message *summary)
{
    struct lister l = {.out = out, .words = words, .summary = summary};
    struct str line, rest = text;
    while (rest.n) {
        rest = str_split(rest, '\n', &line);
        put_line(&l, line);
    }
    if (!l.was_there) {
        buf_addf(out, "\n## %s\n", words->title);
        l.is_inside = true;
    }
    leave_section(&l);
}
