/* SPDX-License-Identifier: MIT */
/* Facts about the user that are kept across sessions (kward 280-301).
 *
 *     core.json     array of core records: always given to the model
 *     soft.jsonl    one soft record per line: given when they match the input
 *     events.jsonl  log of changes, append-only
 *
 * Many processes share the files: a change reads, changes and replaces them under one lock. Unknown
 * members and lines that cannot be parsed are kept.
 */
#ifndef TRIVET_CONTEXT_MEMORY_H
#define TRIVET_CONTEXT_MEMORY_H

#include "base/json.h"
#include "store/file.h"

struct memory { /* the loaded records */
    struct file_lock lock;
    yyjson_mut_doc *doc;
    yyjson_mut_val *core, *soft; /* arrays */
    yyjson_mut_val *core_root;   /* the array, or the object that holds it as `memories` */
    struct buf odd;              /* lines of soft.jsonl that are no records; kept behind them */
    char *dir;
};
#define MEMORY_INIT ((struct memory){.lock = FILE_LOCK_INIT})

/* Reads both files; with for_change the lock is held until memory_clear. */
bool memory_open(struct memory *m, struct str dir, bool for_change, struct error *err);
bool memory_save(struct memory *m, struct error *err);
/* The same without blocking the loop. */
bool memory_change_await(struct memory *m, struct str dir, struct error *err);
bool memory_save_await(struct memory *m, struct error *err);
void memory_clear(struct memory *m);
/* Makes the directory and the three files. */
bool memory_make_await(struct str dir, struct error *err);
/* A line of events.jsonl; members is "" or finished members with a leading comma. */
void memory_note(struct str dir, const char *type, struct str members);

enum memory_layer { MEMORY_CORE, MEMORY_SOFT };

struct memory_new {
    enum memory_layer layer;
    struct str text;  /* as it was typed */
    struct str scope; /* "global" or "workspace:<path>" */
    yyjson_val *tags; /* strings, or NULL */
    const char *source;
    double confidence; /* soft */
};
/* The new record, cleaned; ERR_INVALID "Memory text cannot be empty". */
yyjson_mut_val *memory_add(struct memory *m, const struct memory_new *n, struct error *err);
bool memory_forget(struct memory *m, struct str id); /* false: unknown or forgotten already */
/* A core record with what the active soft one says; NULL: there is none. */
yyjson_mut_val *memory_promote(struct memory *m, struct str id);
/* Moves a core record from "global" to the scope, or from any other to "global" when the scope is
 * that.  NULL with ERR_INVALID: "Unknown core memory: <id>", or the record cannot be moved there.
 */
yyjson_mut_val *memory_move(struct memory *m, struct str id, struct str scope, struct error *err);
bool memory_is_active(yyjson_mut_val *record);

struct retrieval {
    struct buf json;  /* {enabled, scopes, core, soft, reasons} */
    struct buf block; /* for the system instruction; empty when nothing was selected */
    bool has_soft;    /* the soft file must be saved: hits and dates changed */
};
/* tag: the name of the element that encloses the block. */
void memory_retrieve(struct memory *m, struct str input, struct str workspace, const char *tag,
                     struct retrieval *ret);

/* memory_text.c */
/* Without preambles such as "Remember that", one line, first letter upper case; in the arena. */
struct str memory_clean(struct str text, struct arena *a);
/* Sentences of the user that are worth keeping, at most max; returns how many. */
size_t memory_candidates(struct str text, struct arena *a, struct str *ret, size_t max);

#endif
