/* SPDX-License-Identifier: MIT */
/* Patches in other forms, rewritten as the parser wants them:
 *
 *     a patch without *** Begin Patch or *** End Patch, in a code fence, or with prose around it;
 *     lines of a chunk without a sign are context, a new file may be without signs
 *     a unified diff, of git or not
 *     blocks <<<<<<< SEARCH, =======, >>>>>>> REPLACE below a line with the path
 *
 * Whether the rewritten patch fits is seen when it is placed.
 */
#include "tools/patch.h"

static bool is_header(struct str line)
{
    return str_starts(line, STR("*** Add File: ")) || str_starts(line, STR("*** Update File: ")) ||
           str_starts(line, STR("*** Delete File: "));
}

static bool is_fence(struct str line)
{
    return str_starts(line, STR("```"));
}

static struct str next_line(struct str text)
{
    struct str line;
    return str_line(&text, &line) ? line : STR_NONE;
}

static bool has_line(struct str text, struct str word)
{
    struct str line;
    while (str_line(&text, &line))
        if (str_starts(line, word))
            return true;
    return false;
}

static void put(struct buf *out, const char *before, struct str line)
{
    buf_addz(out, before);
    buf_add(out, str_ends(line, STR("\r")) ? str_cut(line, line.n - 1) : line);
    buf_addc(out, '\n');
}

/* ---- the format itself ---- */

static void put_own_line(struct str line, bool is_add, struct buf *out)
{
    char sign = line.n ? line.p[0] : '\0';
    if (is_add)
        put(out, sign == '+' ? "" : "+", line);
    else if (!sign || strchr(" +-@", sign) || str_starts(line, STR("***")))
        put(out, "", line);
    else
        put(out, " ", line);
}

/* Lines from the first header on; blank ones before a header are left out. */
static bool mend_own(struct str text, struct buf *out)
{
    bool has_header = false, is_add = false;
    bool is_wrapped = str_starts(str_trim(text), STR("<<")); /* a here-document */
    size_t n_blank = 0;
    struct str line;
    while (str_line(&text, &line)) {
        struct str word = str_trim(line);
        if (is_fence(line) || str_is(word, "*** Begin Patch"))
            continue;
        if (has_header && (str_is(word, "*** End Patch") || (is_wrapped && str_is(word, "EOF"))))
            break;
        if (!is_header(word) && !has_header)
            continue;
        if (!word.n) {
            n_blank++;
            continue;
        }
        for (; n_blank && !is_header(word); n_blank--)
            put_own_line(STR(""), is_add, out);
        n_blank = 0;
        if (is_header(word)) /* a new file whose lines have no signs at all */
            is_add = str_starts(word, STR("*** Add")) && !str_starts(next_line(text), STR("+"));
        has_header |= is_header(word);
        if (is_header(word) || str_starts(word, STR("*** ")))
            put(out, "", word);
        else
            put_own_line(line, is_add, out);
    }
    return has_header;
}

/* ---- unified diffs ---- */

struct diff_file {
    struct str old, new;
    bool is_git; /* names begin with a/ and b/ */
};

/* The name behind --- or +++, without a time behind it. */
static struct str name_of(struct str line)
{
    struct str name = str_from(line, 4);
    return str_trim(str_cut(name, str_chr(name, '\t')));
}

static bool is_nothing(struct str name)
{
    return str_is(name, "/dev/null");
}

static struct str without_prefix(struct str name, bool has_prefix)
{
    return has_prefix && !is_nothing(name) ? str_from(name, 2) : name;
}

static bool is_diff_head(struct str line, struct str rest)
{
    return str_starts(line, STR("--- ")) && str_starts(next_line(rest), STR("+++ "));
}

/* Takes the two lines of names; the first is `line`. */
static void put_diff_head(struct str line, struct str *rest, struct buf *out)
{
    struct str second, old = name_of(line);
    str_line(rest, &second);
    struct str new = name_of(second);
    bool is_git = (is_nothing(old) || str_starts(old, STR("a/"))) &&
                  (is_nothing(new) || str_starts(new, STR("b/")));
    old = without_prefix(old, is_git);
    new = without_prefix(new, is_git);
    if (is_nothing(old)) {
        put(out, "*** Add File: ", new);
    } else if (is_nothing(new)) {
        put(out, "*** Delete File: ", old);
    } else {
        put(out, "*** Update File: ", old);
        if (!str_eq(old, new))
            put(out, "*** Move to: ", new);
    }
}

/* What git writes between the files of a diff. */
static bool is_git_line(struct str line)
{
    static const char *const words[] = {"diff --git ",   "index ",       "new file mode ",
                                        "deleted file ", "similarity ",  "rename from ",
                                        "rename to ",    "old mode ",    "new mode ",
                                        "Index: ",       "\\ No newline"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_starts(line, str_of(words[i])))
            return true;
    return false;
}

static bool mend_diff(struct str text, struct buf *out)
{
    bool has_file = false, is_deleted = false, is_added = false;
    struct str line;
    while (str_line(&text, &line)) {
        if (is_diff_head(line, text)) {
            is_added = is_nothing(name_of(line));
            is_deleted = is_nothing(name_of(next_line(text)));
            put_diff_head(line, &text, out);
            has_file = true;
        } else if (has_file && !is_deleted && !is_git_line(line) && !is_fence(line) &&
                   !(is_added && str_starts(line, STR("@@")))) {
            put_own_line(line, is_added && line.n, out);
        }
    }
    return has_file;
}

/* ---- SEARCH and REPLACE ---- */

/* The file that a line names: without the decoration models put around it. */
static struct str path_in(struct str line)
{
    line = str_trim(line);
    while (line.n && strchr("`*#:\" ", line.p[0]))
        line = str_from(line, 1);
    while (line.n && strchr("`*:\" ", line.p[line.n - 1]))
        line.n--;
    return line;
}

static bool is_mark(struct str line, char c, const char *word)
{
    size_t n = 0;
    line = str_trim(line);
    while (n < line.n && line.p[n] == c)
        n++;
    return n >= 5 && n <= 9 && str_is(str_trim(str_from(line, n)), word);
}

/* The text up to a mark, which is skipped; false when the mark does not come. */
static bool take_part(struct str *rest, char c, const char *word, struct str *ret_part)
{
    struct str line, part = *rest;
    while (str_line(rest, &line))
        if (is_mark(line, c, word)) {
            *ret_part = str_n(part.p, (size_t)(line.p - part.p));
            return true;
        }
    return false;
}

static void put_all(const char *sign, struct str part, struct buf *out)
{
    struct str line;
    while (str_line(&part, &line))
        put(out, sign, line);
}

/* Lines that both parts begin with are context. */
static void put_block(struct str old, struct str new, struct buf *out)
{
    struct str a, b, old_rest = old, new_rest = new;
    buf_addz(out, "@@\n");
    while (str_line(&old_rest, &a) && str_line(&new_rest, &b) && str_eq(a, b)) {
        put(out, " ", a);
        old = old_rest;
        new = new_rest;
    }
    put_all("-", old, out);
    put_all("+", new, out);
}

static bool mend_blocks(struct str text, struct buf *out)
{
    struct str line, path = STR_NONE, old, new;
    bool has_block = false;
    while (str_line(&text, &line)) {
        if (!is_mark(line, '<', "SEARCH")) {
            if (!str_is_blank(line) && !is_fence(line))
                path = path_in(line);
            continue;
        }
        if (!path.n || !take_part(&text, '=', "", &old) || !take_part(&text, '>', "REPLACE", &new))
            return false;
        put(out, old.n ? "*** Update File: " : "*** Add File: ", path);
        if (old.n)
            put_block(old, new, out);
        else
            put_all("+", new, out);
        has_block = true;
    }
    return has_block;
}

bool patch_mend(struct str text, struct buf *out)
{
    buf_addz(out, "*** Begin Patch\n");
    bool ok = has_line(text, STR("<<<<<")) ? mend_blocks(text, out)
              : has_line(text, STR("*** Update File: ")) || has_line(text, STR("*** Add File: ")) ||
                      has_line(text, STR("*** Delete File: "))
                  ? mend_own(text, out)
                  : mend_diff(text, out);
    buf_addz(out, "*** End Patch");
    return ok;
}

static bool is_idle(const struct patch *p, const struct patch_hunk *h)
{
    for (size_t c = 0; c < h->n_chunks; c++) {
        const struct patch_chunk *chunk = &p->chunks[h->chunk + c];
        for (size_t i = 0; i < chunk->n_lines; i++)
            if (p->lines[chunk->line + i].sign != ' ')
                return false;
    }
    return h->kind == PATCH_UPDATE && !h->move_to.p;
}

bool patch_read(struct str text, struct buf *mended, struct patch *ret, struct patch_fault *fault)
{
    AUTO(patch_fault) struct patch_fault again = PATCH_FAULT_INIT;
    if (patch_parse(text, ret, fault))
        return true;
    patch_clear(ret);
    bool ok = fault->kind != PATCH_TOO_LARGE && patch_mend(text, mended) &&
              patch_parse(buf_str(mended), ret, &again);
    for (size_t i = 0; ok && i < ret->n_hunks;
         i++) /* an update that changes nothing was not meant */
        ok = !is_idle(ret, &ret->hunks[i]);
    if (!ok)
        patch_clear(ret);
    return ok;
}
