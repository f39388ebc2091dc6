/* SPDX-License-Identifier: MIT */
/* JSON in and out.
 *
 * In: yyjson documents, parsed with a depth limit, numbers beyond 64 bits kept as text.
 * Out: a small appender that writes straight into a buf.  It never produces invalid JSON: broken
 * UTF-8 becomes U+FFFD, control characters, U+2028 and U+2029 are escaped, there are no line ends.
 *
 *     struct jw w = JW(&out);
 *     jw_obj(&w);
 *     jw_kstr(&w, "type", STR("ready"));
 *     jw_key(&w, "tools"); jw_arr(&w); jw_str(&w, name); jw_arr_end(&w);
 *     jw_obj_end(&w);
 */
#ifndef TRIVET_BASE_JSON_H
#define TRIVET_BASE_JSON_H

#include "base/arena.h"
#include "base/blob.h"
#include "base/buf.h"
#include "base/err.h"

#include <yyjson.h>

struct json { /* an owned document */
    yyjson_doc *doc;
    yyjson_val *root;
};

#define JSON_INIT ((struct json){0})

enum json_flags {
    JSON_FIX_SURROGATES = 1, /* lone \udXXX escapes become \ufffd instead of an error */
    JSON_FIX_UTF8 = 2,       /* raw invalid UTF-8 becomes U+FFFD instead of an error */
    /* Strings keep lone surrogates, as three bytes, and invalid UTF-8.  For texts that arrive in
     * pieces and are joined and repaired by utf8_join. */
    JSON_KEEP_HALVES = 4,
};

/* Parses the whole text as one value.  ERR_INVALID with the parser's message, ERR_LIMIT when nested
 * deeper than max_depth.  The document owns its strings: text may be freed. */
bool json_parse(struct str text, unsigned flags, unsigned max_depth, struct json *ret,
                struct error *err);
void json_clear(struct json *j);
/* Appends the text with control characters inside strings escaped and backslashes that begin no
 * escape doubled.  False when nothing needs repair, or when it ends inside a string. */
bool json_mend(struct str text, struct buf *out);

/* Lookup in an object; the last of equal names wins; NULL when absent or obj is no object. */
yyjson_val *json_get(yyjson_val *obj, const char *name);
/* STR_NONE unless v is a string.  Borrowed from the document. */
struct str json_str(yyjson_val *v);
struct str json_get_str(yyjson_val *obj, const char *name);
int64_t json_get_int(yyjson_val *obj, const char *name, int64_t otherwise);
double json_get_num(yyjson_val *obj, const char *name, double otherwise);
bool json_get_bool(yyjson_val *obj, const char *name, bool otherwise);
bool json_is_whole(yyjson_val *v, int64_t *ret_value); /* an integer, also written as 5.0 */

/* Whether an object in v, at any depth, has two members with the same name, *ret_name. */
bool json_has_double(yyjson_val *v, struct str *ret_name);

struct jw {
    struct buf *out;
    bool comma;              /* a comma is needed before the next value */
    struct splices *splices; /* positions of shared values; NULL: they are copied */
};

#define JW(buffer) ((struct jw){.out = (buffer)})

void jw_obj(struct jw *w);
void jw_obj_end(struct jw *w);
void jw_arr(struct jw *w);
void jw_arr_end(struct jw *w);
void jw_key(struct jw *w, const char *name);
void jw_keys(struct jw *w, struct str name);
void jw_str(struct jw *w, struct str s); /* STR_NONE is written as "" */
void jw_int(struct jw *w, int64_t v);
void jw_num(struct jw *w, double v); /* shortest form; NaN and infinity become null */
void jw_bool(struct jw *w, bool v);
void jw_null(struct jw *w);
void jw_val(struct jw *w, yyjson_val *v);   /* any value; NULL is written as null */
void jw_raw(struct jw *w, struct str json); /* a complete JSON value, copied unchanged */

/* Member with value. */
void jw_kstr(struct jw *w, const char *name, struct str s);
void jw_kz(struct jw *w, const char *name, const char *z);       /* NULL is written as null */
void jw_kstr_opt(struct jw *w, const char *name, struct str s);  /* nothing when s.p is NULL */
void jw_kstr_null(struct jw *w, const char *name, struct str s); /* null when s.p is NULL */
void jw_kint(struct jw *w, const char *name, int64_t v);
void jw_knum(struct jw *w, const char *name, double v);
void jw_kbool(struct jw *w, const char *name, bool v);
void jw_knull(struct jw *w, const char *name);
void jw_kval(struct jw *w, const char *name, yyjson_val *v);
void jw_kraw(struct jw *w, const char *name, struct str json);
void jw_kblob(struct jw *w, const char *name, struct blob *json); /* the same, by reference if
                                                                   * possible */
void jw_kobj(struct jw *w, const char *name);
void jw_karr(struct jw *w, const char *name);
/* "name":["a","b"] from a NULL-ended list. */
void jw_klist(struct jw *w, const char *name, const char *const *items);

/* Appends s with JSON escapes and without quotes. */
void json_escape(struct buf *out, struct str s);

#endif
