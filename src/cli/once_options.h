/* SPDX-License-Identifier: MIT */
/* The command line of `trivet run`. */
#ifndef TRIVET_CLI_ONCE_OPTIONS_H
#define TRIVET_CLI_ONCE_OPTIONS_H

#include "engine/settings.h"

struct once_mode {
    const char *name;
    enum mode covers;
    enum sandbox_kind sandbox;
    bool asks, is_plan;
};

struct once_rule {
    enum verdict verdict;
    struct str text;
};

struct once_options {
    struct str model, resume; /* or STR_NONE */
    struct str workspace;
    const struct once_mode *mode;
    struct once_rule *rules;
    size_t n_rules;
    bool network, asks, is_quiet, asks_help;
    struct buf prompt;
};

extern const char once_usage[];

/* ERR_INVALID names the argument.  The prompt is read from stdin when it is "-" or, with nothing
 * said, when stdin is not a terminal. */
bool once_read_options(int argc, char **argv, struct once_options *ret, struct error *err);
void once_options_clear(struct once_options *o);

#endif
