/* SPDX-License-Identifier: MIT */
/* Searching the contents of files with regular expressions.
 *
 * The expressions come from the module `search`, which is opened at the first search; what it
 * promises is struct search_api.  Everything else, the walk and the lines, is here.
 */
#ifndef TRIVET_TOOLS_GREP_H
#define TRIVET_TOOLS_GREP_H

#include "base/arena.h"
#include "base/err.h"
#include "loop/loop.h"
#include "sandbox/policy.h"

struct regex;

enum regex_flags {
    REGEX_ANY_CASE = 1,
    REGEX_MANY_LINES = 2, /* . matches line ends too */
};
enum regex_found { REGEX_NO, REGEX_YES, REGEX_GAVE_UP /* match limit */ };

struct search_api {
    /* ^ and $ stand at line ends.  NULL with ERR_INVALID and the place of the mistake. */
    struct regex *(*compile)(struct str pattern, unsigned flags, struct error *err);
    /* The first match in text (valid UTF-8) at or behind `from`. */
    enum regex_found (*find)(struct regex *r, struct str text, size_t from, size_t *ret_start,
                             size_t *ret_end);
    /* A second one for another thread; to be freed before the first. */
    struct regex *(*share)(const struct regex *r);
    void (*free)(struct regex *r);
};

struct grep_options {
    struct str root;    /* resolved; directory or file */
    struct str pattern; /* regular expression */
    bool any_case;
    bool many_lines;                 /* a match may reach over line ends */
    struct str include;              /* path pattern, "!" in front excludes; STR_NONE: every file */
    const char *const *include_more; /* file name patterns, one of which must match; may be NULL */
    const char *const *skip;         /* names left out; may be NULL */
    bool skip_hidden;
    bool newest_first;                    /* files by modification time, else as walk.h goes */
    bool want_lines;                      /* keep the lines, else one match per file is enough */
    bool want_counts;                     /* count the matching lines of each file */
    int64_t before, after;                /* context lines */
    size_t max_files;                     /* files kept: the first in the order */
    size_t max_lines;                     /* lines kept, of all files */
    size_t max_line_bytes;                /* of one line */
    int64_t timeout_ms;                   /* 0: none */
    const struct sandbox_policy *sandbox; /* files it hides are not searched; may be NULL */
};

struct grep_line {
    int64_t number;  /* from 1 */
    struct str text; /* without its end */
    bool is_match;   /* else context */
};

struct grep_file {
    struct str path; /* below root; "" when root is the file */
    int64_t mtime_ns;
    int64_t n_matches;          /* matching lines, with want_lines or want_counts */
    size_t first_line, n_lines; /* in the lines of the result */
};

struct grep_found {
    struct arena arena;
    struct grep_file *files;
    size_t n_files;
    struct grep_line *lines;
    size_t n_lines;
    bool is_cut; /* a limit was met: there may be more */
    bool is_timed_out;
    int64_t n_too_large; /* files not searched */
    int64_t n_gave_up;   /* lines on which the expression took too long */
};
#define GREP_FOUND_INIT ((struct grep_found){0})
void grep_found_clear(struct grep_found *g);

/* Files with a NUL in the first 8 KiB are skipped; ignore files are honoured; links are not
 * followed.  ERR_INVALID for a bad expression, ERR_MODULE without the module. */
bool grep_await(struct loop *l, const struct grep_options *o, struct grep_found *ret,
                struct error *err);

#endif
