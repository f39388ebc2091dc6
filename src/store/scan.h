/* SPDX-License-Identifier: MIT */
/* Data about a session file for lists and search, collected line by line.  Used by the list that
 * reads every file and by the index that reads only new lines: the state of a scan can be saved
 * after the last complete line and loaded again when the file has grown.
 */
#ifndef TRIVET_STORE_SCAN_H
#define TRIVET_STORE_SCAN_H

#include "base/arena.h"
#include "base/buf.h"
#include "store/index.h"

struct scan_entry;

/* role is "user", "assistant" or "tool"; message counts the file's message records from 0. */
typedef void scan_text_fn(void *arg, struct str role, struct str text, int64_t message);

struct scan {
    struct arena arena; /* owns everything below */
    bool has_header;
    int64_t version; /* 2: entries form a tree, see leaf */
    struct str id, cwd, name, model, parent_id, parent_path;
    int64_t created_ms; /* 0 when missing in the header */
    struct scan_entry *entries;
    size_t n_entries, entries_capacity;
    int64_t leaf;          /* the active end of the tree, an index; -1: nothing */
    int64_t n_messages;    /* message records so far */
    bool has_head;         /* an entry has a `head` */
    scan_text_fn *on_text; /* NULL: texts are not wanted */
    void *arg;
};

#define SCAN_INIT ((struct scan){.leaf = -1})

void scan_clear(struct scan *s);
/* Reads one line of the file; lines that are not JSON or not needed are ignored. */
void scan_line(struct scan *s, struct str line);
/* Reads the file from the beginning of a line; *ret_end as in slog_read_from. */
bool scan_file(struct scan *s, struct str path, int64_t from, int64_t *ret_end, struct error *err);
/* Fills everything but path and modified_ms; strings are copied to a.  False without a header. */
bool scan_row(const struct scan *s, struct arena *a, struct session_row *ret);
void scan_save(const struct scan *s, struct buf *out);
bool scan_load(struct scan *s, struct str saved);

struct session_file {
    struct str path;
    int64_t size, mtime_ns, inode;
};

/* All *.jsonl of dir, and of the directories below when deep, newest first.  None, and true, when
 * dir does not exist. */
bool session_files(struct arena *a, struct str dir, bool deep, struct session_file **ret,
                   size_t *ret_n, struct error *err);

#endif
