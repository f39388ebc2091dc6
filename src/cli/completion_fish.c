/* SPDX-License-Identifier: MIT */
#include "cli/completion.h"

static void put_quoted(struct buf *out, struct str text)
{
    buf_addc(out, '\'');
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\'' || text.p[i] == '\\')
            buf_addc(out, '\\');
        buf_addc(out, text.p[i]);
    }
    buf_addc(out, '\'');
}

/* What follows -x or -r. */
static void put_value(struct buf *out, const struct value *v)
{
    static const char *const actions[N_KINDS] = {
        [KIND_NONE] = " -x",
        [KIND_FILE] = " -r -F",
        [KIND_DIR] = " -x -a '(__fish_complete_directories)'",
        [KIND_SESSION] = " -x -a '(__trivet_sessions)'",
        [KIND_MODEL] = " -x -a '(__trivet_models)'",
    };
    if (v->kind == KIND_WORDS)
        buf_addf(out, " -x -a '%.*s'", STR_FMT(buf_str(&v->words)));
    else
        buf_addz(out, actions[v->kind]);
}

static void put_options(struct buf *out, const char *condition, const struct option *o)
{
    for (; o && o->name; o++) {
        AUTO(value) struct value v = VALUE_INIT;
        buf_addf(out, "complete -c trivet -n '%s' -l %s", condition, o->name);
        if (o->letter)
            buf_addf(out, " -s %c", o->letter);
        if (o->value) {
            value_of_option(o, &v);
            put_value(out, &v);
        }
        buf_addz(out, " -d ");
        put_quoted(out, first_line(o->about));
        buf_addc(out, '\n');
    }
}

static void put_verbs(struct buf *out, const struct command_row *row)
{
    AUTO(buf) struct buf all = BUF_INIT;
    for (const struct verb *v = row->verbs; v->name; v++)
        buf_addf(&all, " %s", v->name);
    for (const struct verb *v = row->verbs; v->name; v++) {
        AUTO(value) struct value value = VALUE_INIT;
        buf_addf(out,
                 "complete -c trivet -n '__fish_seen_subcommand_from %s; and not "
                 "__fish_seen_subcommand_from%s' -f -a %s -d ",
                 row->name, all.p, v->name);
        put_quoted(out, first_line(v->about));
        buf_addc(out, '\n');
        value_of_args(v->args, &value);
        if (value.kind == KIND_NONE)
            continue;
        buf_addf(out,
                 "complete -c trivet -n '__fish_seen_subcommand_from %s; and "
                 "__fish_seen_subcommand_from %s'",
                 row->name, v->name);
        put_value(out, &value);
        buf_addc(out, '\n');
    }
}

static void put_command(struct buf *out, const struct command_row *row)
{
    AUTO(buf) struct buf condition = BUF_INIT;
    AUTO(value) struct value v = VALUE_INIT;
    buf_addf(out, "complete -c trivet -n __fish_use_subcommand -f -a %s -d ", row->name);
    put_quoted(out, str_of(row->about));
    buf_addc(out, '\n');
    buf_addf(&condition, "__fish_seen_subcommand_from %s%s%s", row->name, row->other ? " " : "",
             row->other ? row->other : "");
    put_options(out, condition.p, row->options);
    if (row->verbs) {
        put_verbs(out, row);
        return;
    }
    value_of_command(row, &v);
    if (v.kind == KIND_NONE)
        return;
    buf_addf(out, "complete -c trivet -n '%s'", condition.p);
    put_value(out, &v);
    buf_addc(out, '\n');
}

void completion_fish(struct buf *out)
{
    buf_addz(out, "# Completion of trivet for fish, written by `trivet completion fish`.\n\n");
    buf_addf(out, "function __trivet_sessions\n    %s\nend\n", value_command(KIND_SESSION));
    buf_addf(out, "function __trivet_models\n    %s\nend\n\n", value_command(KIND_MODEL));
    buf_addz(out, "complete -c trivet -f\n");
    put_options(out, "__fish_use_subcommand", global_options);
    buf_addz(out,
             "complete -c trivet -n __fish_use_subcommand -l help -s h -d 'show help'\n"
             "complete -c trivet -n __fish_use_subcommand -l version -s V -d 'show the version'\n");
    for (const struct command_row *row = command_rows; row->name; row++)
        put_command(out, row);
}
