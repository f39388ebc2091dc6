/* SPDX-License-Identifier: MIT */
/* The command line of `trivet run`. */
#ifndef TRIVET_TERMINAL_OPTIONS_H
#define TRIVET_TERMINAL_OPTIONS_H

#include "engine/settings.h"

struct run_mode {
    const char *name;
    enum mode covers;
    enum sandbox_kind sandbox;
    bool asks, is_plan;
};

struct run_rule {
    enum verdict verdict;
    struct str text;
};

struct run_options {
    struct str model, resume; /* or STR_NONE */
    struct str workspace;
    const struct run_mode *mode;
    struct run_rule *rules;
    size_t n_rules;
    bool network, asks, is_quiet, asks_help;
    struct buf prompt;
};

extern const char run_usage[];

/* ERR_INVALID names the argument.  The prompt is read from stdin when it is "-" or, with nothing
 * said, when stdin is not a terminal. */
bool run_options_read(int argc, char **argv, struct run_options *ret, struct error *err);
void run_options_clear(struct run_options *o);

#endif
