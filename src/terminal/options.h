/* SPDX-License-Identifier: MIT */
/* The command line of `trivet exec` and of the chat. */
#ifndef TRIVET_TERMINAL_OPTIONS_H
#define TRIVET_TERMINAL_OPTIONS_H

#include "base/options.h"
#include "dialects/profile.h"

struct run_rule {
    enum verdict verdict;
    struct str text;
};

struct run_options {
    struct str model, effort, resume; /* or STR_NONE */
    struct str workspace;             /* STR_NONE: the current directory, or the session's own */
    const struct run_mode *mode;
    struct run_rule *rules;
    size_t n_rules;
    struct str_list images, files;
    struct str title;
    struct str schema_file, output_file; /* or STR_NONE */
    int64_t max_rounds;                  /* 0: the usual limit */
    int64_t timeout_ms;
    double max_cost;          /* USD; 0: no limit */
    int64_t max_total_tokens; /* 0: no limit */
    int64_t max_time_ms;      /* 0: no limit */
    struct str color;         /* "auto", "always", "never" */
    bool network, asks, is_quiet, is_verbose, asks_help;
    bool as_json, as_stream; /* one document, or one event per line */
    bool continues, forks, is_ephemeral;
    bool undoes;   /* instead of a prompt */
    bool is_plain; /* the chat: lines of text only */
    struct buf prompt;
};

/* Ended by a NULL name. */
extern const struct option exec_option_rows[], chat_option_rows[];

/* What --help prints, made from the rows. */
void run_options_usage(struct buf *out);

/* Reads options anywhere among the words and joins the words, what stdin brings and --file to the
 * prompt.  ERR_INVALID names the argument. */
bool run_options_read(int argc, char **argv, struct run_options *ret, struct error *err);
void run_options_clear(struct run_options *o);
/* The same for the chat, whose prompt may be empty and never comes from stdin. */
void chat_options_usage(struct buf *out);
bool chat_options_read(int argc, char **argv, struct run_options *ret, struct error *err);

/* Puts the settings of the user and the project into *ret, before options are read. */
bool run_options_begin(const struct option *rows, int argc, char **argv, struct run_options *ret,
                       struct error *err);
/* For rows of options. */
extern const char *const run_mode_names[]; /* NULL-ended */
bool run_take_mode(void *into, const struct option *row, struct str value, struct error *err);
bool run_take_dir(void *into, const struct option *row, struct str value, struct error *err);
bool run_take_rule(void *into, const struct option *row, struct str value, struct error *err);

#endif
