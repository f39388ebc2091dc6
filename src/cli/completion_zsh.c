/* SPDX-License-Identifier: MIT */
#include "cli/completion.h"

/* Text inside single quotes of a specification of _arguments. */
static void put_quoted(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] == '\'')
            buf_addz(out, "'\\''");
        else if (strchr("[]:\\", text.p[i]))
            buf_addf(out, "\\%c", text.p[i]);
        else
            buf_addc(out, text.p[i]);
}

static void put_action(struct buf *out, const struct value *v)
{
    static const char *const actions[N_KINDS] = {
        [KIND_NONE] = " ",
        [KIND_FILE] = "_files",
        [KIND_DIR] = "_files -/",
        [KIND_SESSION] = "_trivet_sessions",
        [KIND_MODEL] = "_trivet_models",
    };
    if (v->kind == KIND_WORDS)
        buf_addf(out, "(%.*s)", STR_FMT(buf_str(&v->words)));
    else
        buf_addz(out, actions[v->kind]);
}

static void put_spec(struct buf *out, const char *name, const char *value_sign,
                     const struct option *o)
{
    buf_addf(out, "            '%s%s[", name, o->value ? value_sign : "");
    put_quoted(out, first_line(o->about));
    buf_addc(out, ']');
    if (o->value) {
        AUTO(value) struct value v = VALUE_INIT;
        value_of_option(o, &v);
        buf_addc(out, ':');
        put_quoted(out, str_of(o->value));
        buf_addc(out, ':');
        put_action(out, &v);
    }
    buf_addz(out, "' \\\n");
}

static void put_options(struct buf *out, const struct option *o)
{
    for (; o && o->name; o++) {
        AUTO(buf) struct buf name = BUF_INIT;
        char letter[] = {'-', o->letter, '\0'};
        buf_addf(&name, "--%s", o->name);
        put_spec(out, name.p, "=", o);
        if (o->letter)
            put_spec(out, letter, "+", o);
    }
}

static void put_verbs(struct buf *out, const struct command_row *row)
{
    buf_addz(out, "            '1:command:((");
    for (const struct verb *v = row->verbs; v->name; v++) {
        buf_addf(out, "%s%s\\:\"", v == row->verbs ? "" : " ", v->name);
        put_quoted(out, first_line(v->about));
        buf_addc(out, '"');
    }
    buf_addz(out, "))' \\\n            '2: :{ case $words[2] in");
    for (const struct verb *v = row->verbs; v->name; v++) {
        AUTO(value) struct value value = VALUE_INIT;
        value_of_args(v->args, &value);
        if (value.kind == KIND_NONE)
            continue;
        buf_addf(out, " %s) ", v->name);
        if (value.kind == KIND_WORDS)
            buf_addf(out, "compadd %.*s", STR_FMT(buf_str(&value.words)));
        else
            put_action(out, &value);
        buf_addz(out, " ;;");
    }
    buf_addz(out, " esac }'\n");
}

static void put_command(struct buf *out, const struct command_row *row)
{
    buf_addf(out, "        %s%s%s) _arguments -s \\\n", row->name, row->other ? "|" : "",
             row->other ? row->other : "");
    put_options(out, row->options);
    if (row->verbs) {
        put_verbs(out, row);
    } else {
        AUTO(value) struct value v = VALUE_INIT;
        value_of_command(row, &v);
        buf_addz(out, "            '1: :");
        put_action(out, &v);
        buf_addz(out, "' '*: : '\n");
    }
    buf_addz(out, "            ;;\n");
}

static void put_names(struct buf *out)
{
    buf_addz(out, "_trivet_commands() {\n    local -a commands=(\n");
    for (const struct command_row *row = command_rows; row->name; row++) {
        buf_addf(out, "        '%s:", row->name);
        put_quoted(out, str_of(row->about));
        buf_addz(out, "'\n");
    }
    buf_addz(out, "    )\n    _describe -t commands command commands\n}\n\n");
}

void completion_zsh(struct buf *out)
{
    buf_addz(
        out,
        "#compdef trivet\n# Completion of trivet for zsh, written by `trivet completion zsh`.\n\n");
    buf_addf(out, "_trivet_sessions() { compadd -- ${(f)\"$(%s)\"} }\n",
             value_command(KIND_SESSION));
    buf_addf(out, "_trivet_models() { compadd -- ${(f)\"$(%s)\"} }\n\n", value_command(KIND_MODEL));
    put_names(out);
    buf_addz(out, "_trivet() {\n"
                  "    local curcontext=$curcontext state line\n"
                  "    local -A opt_args\n"
                  "    _arguments -C \\\n");
    put_options(out, global_options);
    buf_addz(out, "            '(- *)--help[show help]' '(- *)--version[show the version]' \\\n"
                  "            '1: :_trivet_commands' '*:: :->rest'\n"
                  "    [[ $state == rest ]] && case $words[1] in\n");
    for (const struct command_row *row = command_rows; row->name; row++)
        put_command(out, row);
    buf_addz(
        out,
        "    esac\n}\n\n"
        "if [[ $funcstack[1] == _trivet ]]; then _trivet \"$@\"; else compdef _trivet trivet; fi\n");
}
