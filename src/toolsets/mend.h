/* SPDX-License-Identifier: MIT */
/* Mends the arguments of a call before its rows decode them.  Models mistake names and types in
 * ways that leave no doubt about what they mean: file_path for path, "200" for 200, null for an
 * argument that is left out, one edit instead of a list of edits.  Such a call is understood; what
 * is in doubt stays for the rows to refuse.
 *
 *     numeric text -> number, "true" -> true, null -> absent, JSON text -> list or object,
 *     a single value -> list, old and new text at the top -> edits, and the other way round,
 *     another name -> the row's name: by the table in mend_names.c, by the kind of the tool;
 *     names may differ in case, _ and - as well
 *
 * Members that no row names: small talk (description, reason, ...) is dropped; reading tools run
 * and say at the end what was ignored; tools that change something refuse and say what is accepted.
 * Two names of one argument with different values are refused.
 */
#ifndef TRIVET_TOOLSETS_MEND_H
#define TRIVET_TOOLSETS_MEND_H

#include "toolsets/toolset.h"

struct mended {
    struct json args; /* the mended copy; root NULL: the arguments are fine as they are */
    struct buf note;  /* for the end of the result, without line end: what was ignored; or empty */
};
#define MENDED_INIT ((struct mended){0})
void mended_clear(struct mended *d);

/* Reads the text of arguments as JSON, mended when that is needed (json_mend); an object that
 * stands in a string is read.  False when it is no JSON. */
bool mend_parse(struct str raw, struct json *ret);
/* The tool that the arguments are for: f, or f->for_edits. */
const struct tool *mend_pick(const struct tool *f, yyjson_val *args);
/* args is an object and is left alone.  False with FAULT_CLASH. */
bool mend_args(const struct toolset *t, const struct tool *f, yyjson_val *args, struct mended *ret,
               struct fault *ret_fault);

/* Lines for behind a refusal, each with a \n in front. */
/* Unreadable arguments: how long they are and how they end. */
void mend_say_cut(struct str raw, struct buf *out);
/* A fault of names: what is nearest and what is accepted; other faults: nothing. */
void mend_say_names(const struct tool *f, const struct fault *fault, struct buf *out);
/* An unknown tool: the three that are nearest. */
void mend_say_tools(const struct tool *const *tools, size_t n, struct str name, struct buf *out);

/* mend_names.c */
/* The row that a member means: by its own name, or by another one.  NULL: none. */
const struct row *mend_row(enum tool_kind kind, const struct row *rows, struct str name);
/* Hears the other names under which a row is accepted. */
void mend_each_alias(enum tool_kind kind, const struct row *rows, const struct row *row,
                     void (*fn)(void *arg, const char *alias), void *arg);
bool mend_is_small_talk(struct str name);
/* How many letters must be changed, added or removed to turn a into b; case, _ and - do not
 * count. */
size_t mend_distance(struct str a, struct str b);
/* Whether the words of a tool's name speak of tools of this kind. */
bool mend_speaks_of(struct str tool_name, enum tool_kind kind);

#endif
