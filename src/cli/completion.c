/* SPDX-License-Identifier: MIT */
#include "cli/completion.h"

#include "dialects/settings.h"

#include <stdio.h>

/* ---- values ---- */

void value_clear(struct value *v)
{
    buf_clear(&v->words);
}

static void add_word(struct value *v, const char *word)
{
    v->kind = KIND_WORDS;
    buf_addf(&v->words, "%s%s", v->words.n ? " " : "", word);
}

static void add_words(struct value *v, const char *const *words)
{
    for (; words && *words; words++)
        add_word(v, *words);
}

static void add_providers(struct value *v)
{
    for (size_t i = 0; i < program_n_providers; i++)
        add_word(v, program_providers[i]->name);
}

static void add_settings(struct value *v)
{
    for (const struct setting *row = setting_rows; row->name; row++)
        add_word(v, row->name);
}

static void add_commands(struct value *v)
{
    for (const struct command_row *row = command_rows; row->name; row++)
        add_word(v, row->name);
    add_word(v, "options");
    add_word(v, "environment");
}

/* What the name of a value says. */
static const struct {
    const char *name;
    enum value_kind kind;
    void (*add)(struct value *v); /* for KIND_WORDS */
} names[] = {
    {"FILE", KIND_FILE, NULL},
    {"DIR", KIND_DIR, NULL},
    {"ID", KIND_SESSION, NULL},
    {"SLUG", KIND_MODEL, NULL},
    {"PROVIDER", KIND_WORDS, add_providers},
    {"COMMAND", KIND_WORDS, add_commands},
    {"NAME", KIND_WORDS, add_settings},
};

static void value_named(struct str name, struct value *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_is(name, names[i].name)) {
            ret->kind = names[i].kind;
            if (names[i].add)
                names[i].add(ret);
        }
}

void value_of_option(const struct option *o, struct value *ret)
{
    struct str word, rest = str_of(o->value);
    if (o->choices)
        add_words(ret, o->choices);
    else if (str_chr(rest, '|') == SIZE_MAX)
        value_named(rest, ret);
    else
        while (rest.p) {
            rest = str_split(rest, '|', &word);
            buf_addf(&ret->words, "%s%.*s", ret->words.n ? " " : "", STR_FMT(word));
            ret->kind = KIND_WORDS;
        }
}

void value_of_args(const char *args, struct value *ret)
{
    struct str word, rest = str_of(args);
    while (rest.p) {
        rest = str_split(rest, ' ', &word);
        if (str_is(word, "[OPTIONS]"))
            continue;
        if (str_starts(word, STR("[")) && word.n > 2)
            word = str_n(word.p + 1, word.n - 2);
        value_named(word, ret);
        return;
    }
}

void value_of_command(const struct command_row *row, struct value *ret)
{
    if (row->words)
        add_words(ret, row->words);
    else if (row->verbs)
        for (const struct verb *v = row->verbs; v->name; v++)
            add_word(ret, v->name);
    else
        value_of_args(row->args, ret);
}

const char *value_command(enum value_kind kind)
{
    static const char *const commands[N_KINDS] = {
        [KIND_SESSION] = "trivet sessions list --all --plain --limit 200 2>/dev/null | cut -f1",
        [KIND_MODEL] = "trivet models --plain --offline 2>/dev/null | cut -f1",
    };
    return commands[kind];
}

struct str first_line(const char *about)
{
    struct str line, rest = str_of(about);
    str_line(&rest, &line);
    return line;
}

/* ---- the command ---- */

static const struct {
    const char *name;
    void (*put)(struct buf *out);
} shells[] = {{"bash", completion_bash}, {"zsh", completion_zsh}, {"fish", completion_fish}};

const char *const completion_words[] = {"bash", "zsh", "fish", NULL};
const char completion_more[] =
    "  bash:  trivet completion bash > ~/.local/share/bash-completion/completions/trivet\n"
    "  zsh:   trivet completion zsh > DIR/_trivet, a directory of $fpath\n"
    "  fish:  trivet completion fish > ~/.config/fish/completions/trivet.fish\n";

struct completion_options {
    bool asks_help;
};
const struct option completion_options[] = {
    OPTION(completion_options, asks_help, OPT_FLAG, "help", 'h', NULL, "this text"),
    OPTION_END,
};

int completion_run(const struct command_row *row, int argc, char **argv)
{
    AUTO(buf) struct buf out = BUF_INIT;
    struct completion_options o = {0};
    struct error err;
    int exit_code;
    if (!command_read(row, &argc, argv, &o, &o.asks_help, &exit_code))
        return exit_code;
    for (size_t i = 0; argc == 1 && i < ARRAY_LEN(shells); i++)
        if (strcmp(argv[0], shells[i].name) == 0)
            shells[i].put(&out);
    if (out.n)
        return command_print(buf_str(&out));
    error_set(&err, ERR_INVALID, "name one of bash, zsh, fish");
    return command_refuse(row, &err);
}
