/* SPDX-License-Identifier: MIT */
/* Ignore files: .gitignore, .ignore and .git/info/exclude, one struct per file read. */
#ifndef TRIVET_TOOLS_IGNORE_H
#define TRIVET_TOOLS_IGNORE_H

#include "base/buf.h"

enum ignore_verdict { IGNORE_SILENT, IGNORE_YES, IGNORE_NO };

struct ignore_rule;

struct ignore_file {
    struct buf text; /* the rules borrow from it */
    struct ignore_rule *rules;
    size_t n_rules;
    size_t dir_n; /* length of the absolute directory the rules speak of, with its slash */
};
#define IGNORE_FILE_INIT ((struct ignore_file){0})

/* Reads <dir>/<name>, which may be missing; files above 1 MiB are not read.  `dir` is absolute, and
 * every path that is checked later must lie below it. */
void ignore_load(struct ignore_file *f, struct str dir, const char *name);
/* The same from memory. */
void ignore_parse(struct ignore_file *f, struct str dir, struct str text);
/* The last rule that matches decides. */
enum ignore_verdict ignore_check(const struct ignore_file *f, struct str path, bool is_dir);
void ignore_file_clear(struct ignore_file *f);

#endif
