/* SPDX-License-Identifier: MIT */
#include "base/options.h"

#include "base/mem.h"
#include "base/num.h"

#include <stdlib.h>

/* ---- similar names ---- */

enum { MAX_NAME = 40 };

/* Edit distance: letters to insert, remove, replace or swap with their neighbour. */
static size_t count_changes(struct str a, struct str b)
{
    size_t rows[3][MAX_NAME + 1], *last = rows[0], *row = rows[1], *before = rows[2];
    for (size_t k = 0; k <= b.n; k++)
        row[k] = k;
    for (size_t i = 1; i <= a.n; i++) {
        size_t *free_row = before;
        before = last;
        last = row;
        row = free_row;
        row[0] = i;
        for (size_t k = 1; k <= b.n; k++) {
            size_t cost = a.p[i - 1] != b.p[k - 1];
            row[k] = MIN(MIN(last[k] + 1, row[k - 1] + 1), last[k - 1] + cost);
            bool is_swap = i > 1 && k > 1 && a.p[i - 1] == b.p[k - 2] && a.p[i - 2] == b.p[k - 1];
            if (is_swap)
                row[k] = MIN(row[k], before[k - 2] + 1);
        }
    }
    return row[b.n];
}

const char *nearest_name(struct str word, const char *const *names)
{
    const char *best = NULL;
    size_t fewest = 3;
    for (; word.n <= MAX_NAME && *names; names++) {
        struct str name = str_of(*names);
        size_t n = name.n <= MAX_NAME ? count_changes(word, name) : SIZE_MAX;
        if (n < fewest && 2 * n < name.n) {
            fewest = n;
            best = *names;
        }
    }
    return best;
}

static bool say_unknown(const struct option *rows, struct str word, struct error *err)
{
    const char *names[100];
    size_t n = 0;
    for (; rows->name && n + 1 < ARRAY_LEN(names); rows++)
        names[n++] = rows->name;
    names[n] = NULL;
    struct str name;
    str_split(str_starts(word, STR("--")) ? str_from(word, 2) : STR_NONE, '=', &name);
    const char *meant = nearest_name(name, names);
    if (meant)
        return error_set(err, ERR_INVALID, "unknown option %.*s: did you mean --%s?",
                         STR_FMT(str_cut(word, 60)), meant);
    return error_set(err, ERR_INVALID,
                     "unknown option %.*s (text that begins with a dash goes "
                     "behind --)",
                     STR_FMT(str_cut(word, 60)));
}

/* ---- values ---- */

static bool read_time(struct str text, int64_t *ret_ms)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}, {"", 1000}};
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        struct str unit = str_of(units[i].unit);
        int64_t n;
        if (!str_ends(text, unit) || !str_int(str_cut(text, text.n - unit.n), &n))
            continue;
        if (n < 1 || n > INT64_MAX / 1000 / units[i].ms)
            return false;
        *ret_ms = n * units[i].ms;
        return true;
    }
    return false;
}

static bool read_money(struct str text, double *ret)
{
    char copy[40], *end;
    if (text.n == 0 || text.n >= sizeof copy ||
        !((text.p[0] >= '0' && text.p[0] <= '9') || text.p[0] == '.'))
        return false;
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    *ret = strtod(copy, &end);
    return *end == '\0' && *ret > 0 && *ret < 1e12;
}

static bool is_choice(const struct option *o, struct str value)
{
    for (const char *const *c = o->choices; *c; c++)
        if (str_is(value, *c))
            return true;
    return false;
}

static bool say_choices(const struct option *o, struct str value, struct error *err)
{
    AUTO(buf) struct buf list = BUF_INIT;
    for (const char *const *c = o->choices; *c; c++)
        buf_addf(&list, "%s%s", c == o->choices ? "" : c[1] ? ", " : " or ", *c);
    return error_set(err, ERR_INVALID, "--%s is one of %.*s, not %.*s", o->name,
                     STR_FMT(buf_str(&list)), STR_FMT(str_cut(value, 60)));
}

static bool set(const struct option *o, struct str value, void *into, struct error *err)
{
    void *place = (char *)into + o->offset;
    switch (o->kind) {
    case OPT_FLAG:
        *(bool *)place = true;
        return true;
    case OPT_TEXT:
        *(struct str *)place = value;
        return true;
    case OPT_CHOICE:
        *(struct str *)place = value;
        return is_choice(o, value) || say_choices(o, value, err);
    case OPT_COUNT:
        return (str_int(value, place) && *(int64_t *)place > 0) ||
               error_set(err, ERR_INVALID, "--%s needs a whole number from 1 on, not %.*s", o->name,
                         STR_FMT(str_cut(value, 60)));
    case OPT_MONEY:
        return read_money(value, place) ||
               error_set(err, ERR_INVALID, "--%s needs an amount such as 0.50, not %.*s", o->name,
                         STR_FMT(str_cut(value, 60)));
    case OPT_TIME:
        return read_time(value, place) ||
               error_set(err, ERR_INVALID, "--%s needs a time such as 90s, 5m or 2h, not %.*s",
                         o->name, STR_FMT(str_cut(value, 60)));
    case OPT_TAKEN:
        break;
    }
    return o->accept(into, o, value, err);
}

/* ---- reading ---- */

static const struct option *find(const struct option *rows, struct str word, struct str *ret_value)
{
    struct str name, value = str_split(word, '=', &name);
    bool is_long = str_starts(name, STR("--"));
    *ret_value = value;
    for (; rows->name; rows++)
        if (is_long ? str_is(str_from(name, 2), rows->name)
                    : rows->letter && name.n == 2 && name.p[1] == rows->letter)
            return rows;
    return NULL;
}

bool options_have(const struct option *rows, struct str word)
{
    struct str value;
    return str_starts(word, STR("-")) && find(rows, word, &value);
}

/* argv[*at] is an option; its value may be the next word. */
static bool read_one(const struct option *rows, int argc, char **argv, int *at, void *into,
                     struct error *err)
{
    struct str value;
    const struct option *o = find(rows, str_of(argv[*at]), &value);
    if (!o)
        return say_unknown(rows, str_of(argv[*at]), err);
    if (!o->value && value.p)
        return error_set(err, ERR_INVALID, "--%s takes no value", o->name);
    if (!o->value)
        return set(o, STR_NONE, into, err);
    bool has_next = *at + 1 < argc && strncmp(argv[*at + 1], "--", 2) != 0;
    if (!value.p && has_next)
        value = str_of(argv[++*at]);
    if (!value.n)
        return error_set(err, ERR_INVALID, "--%s needs a value: %s", o->name, o->value);
    return set(o, value, into, err);
}

bool options_read(const struct option *rows, int *argc, char **argv, void *into, int *ret_dashes,
                  struct error *err)
{
    int n = 0, at = 0;
    for (; at < *argc && strcmp(argv[at], "--") != 0; at++)
        if (argv[at][0] != '-' || !argv[at][1])
            argv[n++] = argv[at];
        else if (!read_one(rows, *argc, argv, &at, into, err))
            return false;
    if (ret_dashes)
        *ret_dashes = n;
    for (at++; at < *argc; at++)
        argv[n++] = argv[at];
    *argc = n;
    return true;
}

/* ---- help ---- */

void options_help(const struct option *rows, struct buf *out)
{
    enum { COLUMN = 26 };
    for (; rows->name; rows++) {
        size_t begin = out->n;
        struct str line, rest = str_of(rows->about);
        char letter[] = {'-', rows->letter, ',', '\0'};
        buf_addf(out, "  %-3s --%s%s%s", rows->letter ? letter : "", rows->name,
                 rows->value ? " " : "", rows->value ? rows->value : "");
        bool fits = out->n - begin < COLUMN;
        if (!fits)
            buf_addc(out, '\n');
        for (bool is_first = true; str_line(&rest, &line); is_first = false)
            buf_addf(out, "%*s%.*s\n", is_first && fits ? (int)(COLUMN - (out->n - begin)) : COLUMN,
                     "", STR_FMT(line));
    }
}
