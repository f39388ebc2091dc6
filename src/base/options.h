/* SPDX-License-Identifier: MIT */
/* Command line options as rows: reading, errors, --help and shell completion come from one table.
 *
 *     static const struct option rows[] = {
 *         OPTION(run_options, model, OPT_TEXT, "model", 'm', "SLUG", "provider/model-id"),
 *         OPTION(run_options, is_quiet, OPT_FLAG, "quiet", 'q', NULL, "say less"),
 *         OPTION_END,
 *     };
 *
 * Options may stand between other words; `--` ends them.  A value is the next word, or follows an
 * equals sign.  An option takes one value or none, never a list; repeated options are given again.
 */
#ifndef TRIVET_BASE_OPTIONS_H
#define TRIVET_BASE_OPTIONS_H

#include "base/buf.h"
#include "base/err.h"

enum option_kind {
    OPT_FLAG,   /* bool; no value */
    OPT_TEXT,   /* struct str, not empty */
    OPT_CHOICE, /* struct str, one of `choices` */
    OPT_COUNT,  /* int64_t from 1 on */
    OPT_MONEY,  /* double above 0 */
    OPT_TIME,   /* int64_t in milliseconds from "90", "90s", "5m", "2h" or "500ms" */
    OPT_TAKEN,  /* passed to `accept` */
};

struct option {
    const char *name;  /* without the dashes */
    char letter;       /* 0: none */
    const char *value; /* name of the value in --help; NULL for a flag */
    const char *about; /* further lines are indented in --help */
    enum option_kind kind;
    size_t offset;              /* of the member that is set; unused for OPT_TAKEN */
    const char *const *choices; /* NULL-ended */
    bool (*accept)(void *into, const struct option *o, struct str value, struct error *err);
    int number; /* for `accept` */
};

#define OPTION(in, member, what, wire, short_name, value_name, text, ...)                          \
    {                                                                                              \
        .name = (wire), .letter = (short_name), .value = (value_name), .about = (text),            \
        .kind = (what), .offset = offsetof(struct in, member), __VA_ARGS__                         \
    }
#define OPTION_END                                                                                 \
    {                                                                                              \
        .name = NULL                                                                               \
    }

/* Reads the options of argv into the struct at `into`; afterwards argv[0] to argv[*argc - 1] are
 * the other words in their order, and *ret_dashes (may be NULL) is how many of them stood before
 * `--`.  ERR_INVALID names the option and, for an unknown one, a similar one. */
bool options_read(const struct option *rows, int *argc, char **argv, void *into, int *ret_dashes,
                  struct error *err);
/* Whether the word is an option of the rows, with or without a value behind an equals sign. */
bool options_have(const struct option *rows, struct str word);
/* The lines of --help, one option each, in the order of the rows. */
void options_help(const struct option *rows, struct buf *out);

/* The most similar name: the smallest edit distance, at most 2 and less than half of its letters;
 * NULL: none.  The list is NULL-ended. */
const char *nearest_name(struct str word, const char *const *names);

#endif
