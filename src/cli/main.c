/* SPDX-License-Identifier: MIT */
/* The command line.  What trivet can do stands in the table of commands.c; this file finds the row.
 *
 *     trivet COMMAND ...                        a row of the table
 *     loaf rpc, scaiflux serve, kward rpc       by the name of the program
 *     trivet [OPTIONS] ["A PROMPT"]             the chat, on a terminal
 *
 * Called as `hold`, the program is the process that supervises a running command (loop/child.h).
 */
#include "base/log.h"
#include "base/path.h"
#include "base/shown.h"
#include "cli/commands.h"
#include "dialects/settings.h"
#include "engine/site.h"
#include "loop/child.h"
#include "sandbox/sandbox.h"
#include "terminal/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool is_word(const char *word, const char *one, const char *other)
{
    return strcmp(word, one) == 0 || strcmp(word, other) == 0;
}

/* *ret_value: what stands behind the equals sign, or STR_NONE. */
static const struct option *find_option(const char *word, struct str *ret_value)
{
    struct str name;
    *ret_value = str_split(str_of(word), '=', &name);
    for (const struct option *row = global_options; row->name; row++)
        if (str_starts(name, STR("--")) && str_is(str_from(name, 2), row->name))
            return row;
    return NULL;
}

/* Takes the options of every command from the front of argv. */
static bool take_options(int *argc, char ***argv, struct error *err)
{
    struct str value;
    for (const struct option *row; *argc > 1 && (row = find_option((*argv)[1], &value));) {
        int n = value.p ? 1 : 2;
        if (!value.p && *argc > 2)
            value = str_of((*argv)[2]);
        if (!value.n)
            return error_set(err, ERR_INVALID, "--%s needs a value: %s", row->name, row->value);
        if (!row->accept(NULL, row, value, err))
            return false;
        (*argv)[n] = (*argv)[0];
        *argc -= n;
        *argv += n;
    }
    if (getenv("TRIVET_RECORD") && getenv("TRIVET_REPLAY"))
        return error_set(err, ERR_INVALID, "--record and --replay exclude each other");
    return true;
}

/* Without a policy that can be read no tool may run; help and repair stay possible. */
static bool is_ready(const struct command_row *row, struct error *err)
{
    return site_load(SITE_PATH, err) || row->group == GROUP_SETUP;
}

static int start(const struct command_row *row, int argc, char **argv)
{
    struct error err;
    if (is_ready(row, &err)) {
        if (row->group != GROUP_SETUP)
            path_cwd();
        settings_begin();
        return row->run(row, argc, argv);
    }
    shown_line(stderr, "trivet: %s", err.text);
    return 2;
}

static int run_row(struct str name, int argc, char **argv)
{
    const struct command_row *row = command_find(name);
    return start(row, argc, argv);
}

/* An option of the chat, or a prompt: it has a blank, no command has one. */
static bool is_for_chat(struct str word)
{
    return options_have(chat_option_rows, word) || str_is(word, "--") ||
           str_chr(word, ' ') != SIZE_MAX || str_chr(word, '\n') != SIZE_MAX;
}

static int run_word(int argc, char **argv)
{
    const struct command_row *row = command_find(str_of(argv[0]));
    if (row)
        return start(row, argc - 1, argv + 1);
    if (is_word(argv[0], "--version", "-V"))
        return command_print(str_of("trivet " TRIVET_VERSION "\n"));
    if (is_word(argv[0], "--help", "-h"))
        return run_row(STR("help"), argc - 1, argv + 1);
    if (is_for_chat(str_of(argv[0])))
        return run_row(STR("chat"), argc, argv);
    return help_unknown(str_of(argv[0]));
}

int main(int argc, char **argv)
{
    struct str name = path_base(str_of(argc > 0 ? argv[0] : "trivet"));
    struct error err;
    if (str_is(name, "hold"))
        return hold_main(argc, argv, &sandbox_hooks);
    bool is_dialect = program_dialect(name) != NULL;
    if ((!is_dialect && !take_options(&argc, &argv, &err)) || !log_open(&err)) {
        shown_line(stderr, "trivet: %s", err.text);
        return 2;
    }
    if (is_dialect)
        return run_row(name, argc - 1, argv + 1);
    if (argc > 1)
        return run_word(argc - 1, argv + 1);
    if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
        return run_row(STR("chat"), 0, argv + 1);
    AUTO(buf) struct buf help = BUF_INIT;
    help_all(&help);
    path_write_all(STDERR_FILENO, buf_str(&help));
    return 2;
}
