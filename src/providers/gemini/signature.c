/* SPDX-License-Identifier: MIT */
/* Converts thought signatures between the API and the history.  The API requires each one on
 * exactly the part it was sent with; the history can store opaque JSON only in reasoning blocks.
 *
 *     {"thoughtSignature": "CiQB"}                                of a thought
 *     {"thoughtSignature": "CiQB", "text": "<hash of the text>"}  of a text
 *     {"thoughtSignature": "CiQB", "call": "f1"}                  of a call
 */
#include "providers/gemini/gemini.h"

#include "base/limits.h"

static struct str hash_text(struct arena *a, struct str part)
{
    return arena_fmt(a, "%016llx", (unsigned long long)str_hash(part));
}

void gemini_signature_put(struct buf *out, enum gemini_signed kind, struct str part,
                          struct str signature)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct jw w = JW(out);
    jw_obj(&w);
    jw_kstr(&w, "thoughtSignature", signature);
    if (kind == GEMINI_SIGNED_TEXT)
        jw_kstr(&w, "text", hash_text(&a, part));
    else if (kind == GEMINI_SIGNED_CALL)
        jw_kstr(&w, "call", part);
    jw_obj_end(&w);
}

struct str gemini_signature_of(struct arena *a, struct str opaque, enum gemini_signed kind,
                               struct str part)
{
    AUTO(json) struct json json = JSON_INIT;
    struct error ignored;
    if (opaque.n == 0 || !json_parse(opaque, 0, LIMIT_JSON_DEPTH, &json, &ignored))
        return STR_NONE;
    struct str text = json_get_str(json.root, "text"), call = json_get_str(json.root, "call");
    bool is_it = kind == GEMINI_SIGNED_TEXT   ? text.p && str_eq(text, hash_text(a, part))
                 : kind == GEMINI_SIGNED_CALL ? call.p && str_eq(call, part)
                                              : !text.p && !call.p;
    return is_it ? arena_str(a, json_get_str(json.root, "thoughtSignature")) : STR_NONE;
}
