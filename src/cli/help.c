/* SPDX-License-Identifier: MIT */
/* What the tables of commands.h say, for people and as JSON. */
#include "base/shown.h"
#include "cli/commands.h"

#include <stdio.h>

static const char *const group_titles[] = {
    [GROUP_TERMINAL] = "At the terminal and in scripts",
    [GROUP_PROTOCOL] = "Protocols on stdin and stdout",
    [GROUP_SETUP] = "Setup and information",
};

/* ---- all commands ---- */

static void put_row(const struct command_row *row, struct buf *out)
{
    enum { COLUMN = 34 };
    size_t begin = out->n;
    buf_addf(out, "  trivet %s%s%s", row->name, *row->args ? " " : "", row->args);
    buf_addf(out, "%*s%s\n", (int)(COLUMN - MIN(out->n - begin, (size_t)COLUMN - 1)), "",
             row->about);
}

void help_all(struct buf *out)
{
    buf_addz(out, "trivet: the engine behind coding-agent user interfaces\n");
    for (int g = 0; g < N_GROUPS; g++) {
        buf_addf(out, "\n%s\n", group_titles[g]);
        for (const struct command_row *row = command_rows; row->name; row++)
            if ((int)row->group == g)
                put_row(row, out);
    }
    buf_addz(out, "\n"
                  "trivet COMMAND --help, or trivet help COMMAND, says more; trivet help options\n"
                  "lists what may stand before a command (--sandbox, --record, --log-file, ...),\n"
                  "trivet help environment the variables.\n"
                  "Called under the name loaf, scaiflux or kward it behaves as that program.\n");
}

/* ---- one command ---- */

static void put_verbs(const struct command_row *row, struct buf *out)
{
    enum { COLUMN = 40 };
    for (const struct verb *v = row->verbs; v->name; v++) {
        size_t begin = out->n;
        bool is_default = v == row->verbs;
        struct str line, rest = str_of(v->about);
        buf_addf(out, "  trivet %s %s%s%s%s%s", row->name, is_default ? "[" : "", v->name,
                 is_default ? "]" : "", *v->args ? " " : "", v->args);
        bool fits = out->n - begin < COLUMN;
        if (!fits)
            buf_addc(out, '\n');
        for (bool is_first = true; str_line(&rest, &line); is_first = false)
            buf_addf(out, "%*s%.*s\n", is_first && fits ? (int)(COLUMN - (out->n - begin)) : COLUMN,
                     "", STR_FMT(line));
    }
    buf_addc(out, '\n');
}

void help_command(const struct command_row *row, struct buf *out)
{
    const struct dialect *d = program_dialect(str_of(row->name));
    if (row->usage) {
        row->usage(out);
        return;
    }
    if (d && d->usage) {
        buf_addz(out, d->usage);
        return;
    }
    buf_addf(out, "trivet %s%s%s   %s\n\n", row->name, *row->args ? " " : "", row->args,
             row->about);
    if (row->verbs)
        put_verbs(row, out);
    if (row->options)
        options_help(row->options, out);
    if (row->more)
        buf_addf(out, "%s%s", row->options ? "\n" : "", row->more);
}

/* ---- topics ---- */

static void put_options(struct buf *out)
{
    buf_addz(out, "Options before a command.  Those of the sandbox may also stand behind exec and\n"
                  "chat, and each is a variable of the same name: TRIVET_SANDBOX_NET for\n"
                  "--sandbox-net; the option wins.\n\n");
    options_help(global_options, out);
}

static void put_environment(struct buf *out)
{
    for (const struct env_row *row = env_rows; row->name; row++) {
        struct str line, rest = str_of(row->about);
        const char *name = row->name;
        while (str_line(&rest, &line)) {
            buf_addf(out, "  %-24s  %.*s\n", name, STR_FMT(line));
            name = "";
        }
    }
}

static const struct {
    const char *name;
    void (*put)(struct buf *out);
} topics[] = {{"options", put_options}, {"environment", put_environment}};

int help_unknown(struct str word)
{
    const char *names[64] = {"--help", "--version"};
    size_t n = 2;
    for (const struct command_row *row = command_rows; row->name; row++) {
        if (n + 3 > ARRAY_LEN(names))
            BUG("there are more commands than expected");
        names[n++] = row->name;
        if (row->other)
            names[n++] = row->other;
    }
    names[n] = NULL;
    const char *meant = nearest_name(word, names);
    shown_line(stderr, "trivet: unknown %s %.*s%s%s",
               word.n && word.p[0] == '-' ? "option" : "command", STR_FMT(str_cut(word, 100)),
               meant ? ": did you mean " : "", meant ? meant : "");
    fputs("  try: trivet --help\n", stderr);
    return 2;
}

int help_run(const struct command_row *row, int argc, char **argv)
{
    AUTO(buf) struct buf out = BUF_INIT;
    bool asks_itself = argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0);
    const struct command_row *about = argc > 0 ? command_find(str_of(argv[0])) : NULL;
    for (size_t i = 0; argc > 0 && i < ARRAY_LEN(topics); i++)
        if (strcmp(argv[0], topics[i].name) == 0)
            topics[i].put(&out);
    if (argc == 0)
        help_all(&out);
    else if (asks_itself)
        help_command(row, &out);
    else if (about)
        help_command(about, &out);
    else if (!out.n)
        return help_unknown(str_of(argv[0]));
    return command_print(buf_str(&out));
}

/* ---- describe ---- */

static void put_options_json(struct jw *w, const struct option *row)
{
    jw_karr(w, "options");
    for (; row && row->name; row++) {
        char letter[] = {row->letter, '\0'};
        jw_obj(w);
        jw_kz(w, "name", row->name);
        jw_kz(w, "letter", row->letter ? letter : NULL);
        jw_kz(w, "value", row->value);
        jw_kz(w, "about", row->about);
        if (row->choices)
            jw_klist(w, "choices", row->choices);
        jw_obj_end(w);
    }
    jw_arr_end(w);
}

static void put_command_json(struct jw *w, const struct command_row *row)
{
    jw_obj(w);
    jw_kz(w, "name", row->name);
    jw_kz(w, "other", row->other);
    jw_kz(w, "group", group_titles[row->group]);
    jw_kz(w, "args", row->args);
    jw_kz(w, "about", row->about);
    jw_kz(w, "more", row->more);
    put_options_json(w, row->options);
    jw_karr(w, "verbs");
    for (const struct verb *v = row->verbs; v && v->name; v++) {
        jw_obj(w);
        jw_kz(w, "name", v->name);
        jw_kz(w, "args", v->args);
        jw_kz(w, "about", v->about);
        jw_obj_end(w);
    }
    jw_arr_end(w);
    static const char *const none[] = {NULL};
    jw_klist(w, "words", row->words ? row->words : none);
    jw_obj_end(w);
}

static void describe_json(struct buf *out)
{
    struct jw w = JW(out);
    jw_obj(&w);
    jw_karr(&w, "commands");
    for (const struct command_row *row = command_rows; row->name; row++)
        put_command_json(&w, row);
    jw_arr_end(&w);
    put_options_json(&w, global_options);
    jw_karr(&w, "environment");
    for (const struct env_row *row = env_rows; row->name; row++) {
        jw_obj(&w);
        jw_kz(&w, "name", row->name);
        jw_kz(&w, "about", row->about);
        jw_obj_end(&w);
    }
    jw_arr_end(&w);
    jw_karr(&w, "topics");
    for (size_t i = 0; i < ARRAY_LEN(topics); i++) {
        jw_obj(&w);
        jw_kz(&w, "name", topics[i].name);
        jw_obj_end(&w);
    }
    jw_arr_end(&w);
    jw_obj_end(&w);
    buf_addc(out, '\n');
}

void help_describe(struct buf *out, bool as_json)
{
    if (as_json) {
        describe_json(out);
        return;
    }
    for (const struct command_row *row = command_rows; row->name; row++) {
        help_command(row, out);
        buf_addc(out, '\n');
    }
}
