/* SPDX-License-Identifier: MIT */
#include "cli/completion.h"

static const char *const kind_names[N_KINDS] = {
    [KIND_NONE] = "none",       [KIND_FILE] = "files",   [KIND_DIR] = "dirs",
    [KIND_SESSION] = "session", [KIND_MODEL] = "models", [KIND_WORDS] = "words",
};

static void put_value(struct buf *out, const struct value *v)
{
    buf_addf(out, "echo \"%s%s%.*s\"", kind_names[v->kind], v->words.n ? " " : "",
             STR_FMT(buf_str(&v->words)));
}

static void put_names(struct buf *out, const struct option *o)
{
    for (; o && o->name; o++) {
        if (o->letter)
            buf_addf(out, "-%c ", o->letter);
        buf_addf(out, "--%s ", o->name);
    }
}

/* _trivet_options COMMAND: its options; without a command those that stand before one. */
static void put_options(struct buf *out)
{
    buf_addz(out, "_trivet_options() {\n    case $1 in\n");
    for (const struct command_row *row = command_rows; row->name; row++) {
        buf_addf(out, "    %s%s%s) echo \"", row->name, row->other ? "|" : "",
                 row->other ? row->other : "");
        put_names(out, row->options);
        buf_addz(out, row->options ? "\" ;;\n" : "--help\" ;;\n");
    }
    buf_addz(out, "    '') echo \"");
    put_names(out, global_options);
    buf_addz(out, "--help --version\" ;;\n    esac\n}\n\n");
}

static void put_option_values(struct buf *out, const char *command, const struct option *o)
{
    for (; o && o->name; o++) {
        AUTO(value) struct value v = VALUE_INIT;
        if (!o->value)
            continue;
        value_of_option(o, &v);
        buf_addf(out, "    %s:--%s", command, o->name);
        if (o->letter)
            buf_addf(out, "|%s:-%c", command, o->letter);
        buf_addz(out, ") ");
        put_value(out, &v);
        buf_addz(out, " ;;\n");
    }
}

/* _trivet_value COMMAND:OPTION: the kind of its value, and the words if they are known; false for
 * an option without a value. */
static void put_values(struct buf *out)
{
    buf_addz(out, "_trivet_value() {\n    case $1 in\n");
    for (const struct command_row *row = command_rows; row->name; row++)
        put_option_values(out, row->name, row->options);
    put_option_values(out, "", global_options);
    buf_addz(out, "    *) return 1 ;;\n    esac\n}\n\n");
}

/* _trivet_words COMMAND [VERB]: what stands behind it. */
static void put_words(struct buf *out)
{
    buf_addz(out, "_trivet_words() {\n    case $1:$2 in\n");
    for (const struct command_row *row = command_rows; row->name; row++) {
        for (const struct verb *verb = row->verbs; verb && verb->name; verb++) {
            AUTO(value) struct value v = VALUE_INIT;
            value_of_args(verb->args, &v);
            buf_addf(out, "    %s:%s) ", row->name, verb->name);
            put_value(out, &v);
            buf_addz(out, " ;;\n");
        }
        AUTO(value) struct value v = VALUE_INIT;
        value_of_command(row, &v);
        buf_addf(out, "    %s:) ", row->name);
        put_value(out, &v);
        buf_addz(out, " ;;\n");
    }
    buf_addz(out, "    :) echo \"words");
    for (const struct command_row *row = command_rows; row->name; row++)
        buf_addf(out, " %s%s%s", row->name, row->other ? " " : "", row->other ? row->other : "");
    buf_addz(out, "\" ;;\n    *) echo none ;;\n    esac\n}\n\n");
}

static void put_others(struct buf *out)
{
    buf_addz(out, "_trivet_name() {\n    case $1 in\n");
    for (const struct command_row *row = command_rows; row->name; row++)
        if (row->other)
            buf_addf(out, "    %s) echo %s ;;\n", row->other, row->name);
    buf_addz(out, "    *) echo \"$1\" ;;\n    esac\n}\n\n");
}

/* Words that contain a colon are split by readline: what stands before the last one is removed from
 * the replies. */
static const char body[] =
    "_trivet_reply() { # CURRENT KIND WORDS...\n"
    "    local cur=$1 kind=$2 list\n"
    "    shift 2\n"
    "    case $kind in\n"
    "    files) compopt -o filenames; COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n"
    "    dirs) compopt -o filenames; COMPREPLY=($(compgen -d -- \"$cur\")); return ;;\n"
    "    session) list=$(_trivet_sessions) ;;\n"
    "    models) list=$(_trivet_models) ;;\n"
    "    words) list=$* ;;\n"
    "    *) return ;;\n"
    "    esac\n"
    "    COMPREPLY=($(compgen -W \"$list\" -- \"$cur\"))\n"
    "    if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then\n"
    "        local i prefix=${cur%\"${cur##*:}\"}\n"
    "        for i in \"${!COMPREPLY[@]}\"; do COMPREPLY[i]=${COMPREPLY[i]#\"$prefix\"}; done\n"
    "    fi\n"
    "}\n"
    "\n"
    "_trivet() {\n"
    "    local line=${COMP_LINE:0:COMP_POINT} cur= prev= command= verb= word value i\n"
    "    local -a words\n"
    "    read -ra words <<<\"$line\"\n"
    "    [[ $line == *[[:space:]] ]] || { cur=${words[-1]}; unset 'words[-1]'; }\n"
    "    COMPREPLY=()\n"
    "    for ((i = 1; i < ${#words[@]}; i++)); do\n"
    "        word=${words[i]}\n"
    "        if [[ $word == -* ]]; then\n"
    "            [[ $word == *=* ]] || ! _trivet_value \"$command:$word\" >/dev/null || ((i++))\n"
    "        elif [[ -z $command ]]; then command=$(_trivet_name \"$word\")\n"
    "        elif [[ -z $verb ]]; then verb=$word\n"
    "        fi\n"
    "    done\n"
    "    prev=${words[-1]}\n"
    "    if [[ $cur == --*=* ]]; then\n"
    "        value=$(_trivet_value \"$command:${cur%%=*}\") || return 0\n"
    "        _trivet_reply \"${cur#*=}\" $value\n"
    "    elif [[ $prev == -* && $prev != *=* ]] && value=$(_trivet_value \"$command:$prev\"); then\n"
    "        _trivet_reply \"$cur\" $value\n"
    "    elif [[ $cur == -* ]]; then\n"
    "        COMPREPLY=($(compgen -W \"$(_trivet_options \"$command\")\" -- \"$cur\"))\n"
    "    else\n"
    "        _trivet_reply \"$cur\" $(_trivet_words \"$command\" \"$verb\")\n"
    "    fi\n"
    "    return 0\n"
    "}\n"
    "\n"
    "complete -F _trivet trivet\n";

void completion_bash(struct buf *out)
{
    buf_addz(out, "# Completion of trivet for bash, written by `trivet completion bash`.\n\n");
    put_options(out);
    put_values(out);
    put_words(out);
    put_others(out);
    buf_addf(out, "_trivet_sessions() { %s; }\n", value_command(KIND_SESSION));
    buf_addf(out, "_trivet_models() { %s; }\n\n", value_command(KIND_MODEL));
    buf_addz(out, body);
}
