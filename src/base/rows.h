/* SPDX-License-Identifier: MIT */
/* Rows: a table that describes the members of a JSON object.  It drives decoding into a struct,
 * faults (worded by each dialect), JSON Schema and documentation.
 *
 *     struct send_params { struct str session_id, text; yyjson_val *images; bool enqueue; };
 *     static const struct row send_rows[] = {
 *         ROW(send_params, session_id, T_STR,  NEEDED,   "session to speak to"),
 *         ROW(send_params, images,     T_ANY,  OPTIONAL, "pictures by path or data URL"),
 *         ROW_END,
 *     };
 *
 * Where a value goes: T_STR struct str, T_BOOL bool, T_INT int64_t, T_NUM double; T_OBJ, T_ARR and
 * T_ANY yyjson_val *.  Absent members leave the struct as it was, so defaults are set before.
 */
#ifndef TRIVET_BASE_ROWS_H
#define TRIVET_BASE_ROWS_H

#include "base/json.h"

enum row_type { T_ANY, T_STR, T_BOOL, T_INT, T_NUM, T_OBJ, T_ARR };

enum row_flags {
    OPTIONAL = 0,
    NEEDED = 1,    /* absence is a fault */
    NULLABLE = 2,  /* null counts as absent; absent is not null otherwise */
    NOT_BLANK = 4, /* T_STR: white space only is a fault (NEEDED) or counts as absent */
    TRIM = 8,      /* T_STR: outer white space is removed */
    OPEN = 16,     /* T_OBJ, T_ARR of T_OBJ: the schema allows further members */
    TEXT = 32,     /* T_STR: any text of any length, even with ROWS_TIDY */
    UNLISTED = 64, /* accepted, but not shown in schema and documentation */
    WIDE = 128,    /* T_STR: white space as defined by JavaScript, not only ASCII */
    PATH = 256,    /* T_STR: a path; a NUL inside is a fault */
    MAP = 512,     /* T_OBJ: members of any name, whose values are `items`, or objects of `rows` */
};
/* NOT_BLANK and TEXT of a T_ARR of T_STR hold for its items. */

struct row_variant {
    const char *value; /* NULL ends the list */
    const struct row *rows;
    const char *about;
};

struct row {
    const char *name;
    enum row_type type;
    unsigned flags;
    size_t offset; /* ROW_NOWHERE: documented, not stored */
    const char *about;
    const struct row *rows;     /* T_OBJ: its members; T_ARR of T_OBJ: the members of an item */
    enum row_type items;        /* T_ARR: what an item is (T_ANY: anything) */
    const char *const *choices; /* T_STR, T_ARR of T_STR: closed list, NULL-ended */
    /* T_OBJ, T_ARR of T_OBJ: the object or each item is one of these.  With `by`, the value of that
     * sibling member selects it; without, a member inside that has a single choice. */
    const struct row_variant *variants;
    const char *by;
    bool has_min;
    int64_t min;        /* T_INT, T_NUM: smallest value; T_ARR: fewest items */
    int64_t max;        /* T_STR: most bytes; T_ARR: most items; 0: no limit */
    const char *schema; /* JSON Schema text to use instead of the generated one */
};

#define ROW_NOWHERE SIZE_MAX
#define ROW(in, member, kind, how, text, ...)                                                      \
    {                                                                                              \
        .name = #member, .type = (kind), .flags = (how), .offset = offsetof(struct in, member),    \
        .about = (text), __VA_ARGS__                                                               \
    }
/* The wire name is not the member's name. */
#define ROW_AS(in, member, wire, kind, how, text, ...)                                             \
    {                                                                                              \
        .name = (wire), .type = (kind), .flags = (how), .offset = offsetof(struct in, member),     \
        .about = (text), __VA_ARGS__                                                               \
    }
/* Documented only: results, events, and members that are checked but not used. */
#define ROW_OUT(wire, kind, how, text, ...)                                                        \
    {                                                                                              \
        .name = (wire), .type = (kind), .flags = (how), .offset = ROW_NOWHERE, .about = (text),    \
        __VA_ARGS__                                                                                \
    }
#define ROW_END                                                                                    \
    {                                                                                              \
        .name = NULL                                                                               \
    }

enum fault_kind {
    FAULT_NONE,
    FAULT_NOT_OBJECT,
    FAULT_NOT_JSON,  /* the text could not be read */
    FAULT_UNKNOWN,   /* a member without a row */
    FAULT_CLASH,     /* name is another name of the row, and both are given with different values */
    FAULT_DUPLICATE, /* a member given twice */
    FAULT_MISSING,
    FAULT_TYPE,
    FAULT_BLANK,
    FAULT_CHOICE,
    FAULT_RANGE,
    FAULT_LONG, /* more bytes or items than max */
    FAULT_NUL,
    FAULT_UTF8,
};

struct fault {
    enum fault_kind kind;
    const struct row *row; /* NULL for NOT_OBJECT, NOT_JSON, UNKNOWN; the inner one when nested */
    struct str name;       /* the member's name as the peer wrote it */
    char inside[100];      /* place in the member's value: "[2].status"; empty: the whole value */
    bool is_item;          /* the fault is in an item of the row's list, not in the list */
};

enum rows_flags {
    ROWS_CLOSED = 1,     /* unknown members are a fault */
    ROWS_NO_DOUBLES = 2, /* duplicate members are a fault; else the last wins */
    ROWS_LENIENT = 4,    /* a member of the wrong type counts as absent */
    /* Strings without TEXT have at most LIMIT_ARGUMENT_BYTES or their own max, and contain neither
     * U+0000 nor U+FFFD, the replacement for invalid UTF-8. */
    ROWS_TIDY = 8,
};

/* Decodes obj into the struct at `into` (NULL: only checks).  The first fault is reported; with
 * ROWS_CLOSED unknown members come before missing ones, missing before wrong ones; otherwise rows
 * are checked in their order. */
bool rows_decode(const struct row *rows, unsigned flags, yyjson_val *obj, void *into,
                 struct fault *ret_fault);

/* One English sentence about a fault, without a full stop: "`text` must be a string". */
void fault_say(const struct fault *f, struct buf *out);
/* The invalid member and the place in it: "todos[2].status". */
void fault_name(const struct fault *f, struct buf *out);

/* The row of a member, or NULL. */
const struct row *row_find(const struct row *rows, struct str name);
/* Whether a value has the type; nothing else is checked. */
bool row_type_fits(enum row_type type, yyjson_val *v);
/* "string", "integer", ... as JSON Schema names it. */
const char *row_type_name(enum row_type type);

/* Rows with a name.  A schema that contains these rows refers to the definition of that name
 * instead of listing their members.  The list ends with a NULL name. */
struct row_shape {
    const char *name;
    const struct row *rows;             /* or: */
    const struct row_variant *variants; /* one of these */
    bool is_open;                       /* further members are allowed */
};

/* Writes {"type":"object","properties":{...},"required":[...],"additionalProperties":false}. */
void rows_schema(const struct row *rows, bool is_closed, struct jw *w);
/* The same with references to shapes (NULL: none); the rows themselves are always written out. */
void rows_schema_with(const struct row *rows, bool is_closed, const struct row_shape *shapes,
                      struct jw *w);
/* The definition of a shape. */
void shape_schema(const struct row_shape *shape, const struct row_shape *shapes, struct jw *w);
/* {"$ref":"#/$defs/NAME"} */
void schema_ref(struct jw *w, const char *name);
/* A plain text table, one line per row, indented by `indent` spaces. */
void rows_text(const struct row *rows, int indent, struct buf *out);

#endif
