/* SPDX-License-Identifier: MIT */
/* The index: lists of sessions and full-text search, kept in SQLite by the module `index`.  It can
 * be deleted at any time and is rebuilt from the session files, which are authoritative.
 *
 * Without the module (or when the database cannot be opened) list_scan returns the same results by
 * reading the files.
 */
#ifndef TRIVET_STORE_INDEX_H
#define TRIVET_STORE_INDEX_H

#include "base/arena.h"
#include "base/err.h"

struct session_row {
    struct str path, id, name, cwd; /* name may be STR_NONE */
    struct str first_message;       /* collapsed, at most 120 characters */
    struct str parent_id, parent_path;
    struct str model;
    int64_t created_ms, modified_ms;
    int64_t n_messages;
};

struct session_list {
    struct session_row *rows; /* newest modification first */
    size_t n;
};

struct search_hit {
    struct str path, id;   /* session */
    struct str role, text; /* the message's role; its text around the match */
    int64_t message;       /* number within the session, from 0 */
};

struct search_hits {
    struct search_hit *v;
    size_t n;
};

/* Reads the list row of one session file; false when it has no header. */
bool session_row_read(struct arena *a, struct str path, struct session_row *ret, struct error *err);
/* All *.jsonl below dir (recursively when deep), at most limit (0: all).  Files without a header
 * are left out.  Reads every file. */
bool list_scan(struct arena *a, struct str dir, bool deep, size_t limit, struct session_list *ret,
               struct error *err);
/* The same through the index: only files whose size or time changed are read again.  Falls back to
 * list_scan on failure. */
bool list_sessions(struct arena *a, struct str dir, bool deep, size_t limit,
                   struct session_list *ret, struct error *err);
/* Full-text search over the sessions of dir and below, best first, at most limit (0: all): every
 * word of the query, or a word that begins with it, must be in the message; "quoted words" must be
 * adjacent.  ERR_MODULE without the module. */
bool search_sessions(struct arena *a, struct str dir, struct str query, size_t limit,
                     struct search_hits *ret, struct error *err);

/* The table of the module `index` (sqlite.c). */
struct index_api {
    bool (*list)(struct arena *a, struct str dir, bool deep, size_t limit, struct session_list *ret,
                 struct error *err);
    bool (*search)(struct arena *a, struct str dir, struct str query, size_t limit,
                   struct search_hits *ret, struct error *err);
};

#endif
