/* SPDX-License-Identifier: MIT */
/* The parser of patches.  One pass over the lines between *** Begin Patch and *** End Patch:
 *
 *     patch  := { add | delete | update }
 *     add    := "*** Add File: " path     { "+" text }
 *     delete := "*** Delete File: " path
 *     update := "*** Update File: " path  [ "*** Move to: " path ]  chunk { chunk }
 *     chunk  := "@@" [ " " locator ]      { sign text }  [ "*** End of File" ]
 *
 * The first chunk may leave out its @@ line.  Blank lines between hunks and between chunks are
 * skipped; inside of a chunk an empty line is an empty context line.
 */
#include "tools/patch.h"

#include "base/mem.h"

void patch_clear(struct patch *p)
{
    free(p->hunks);
    free(p->chunks);
    free(p->lines);
    *p = PATCH_INIT;
}

void patch_fault_clear(struct patch_fault *f)
{
    buf_clear(&f->path);
}

struct parser {
    struct patch *out;
    struct patch_fault *fault;
    struct str rest; /* behind the current line */
    struct str line; /* current; p == NULL: no more */
    size_t number;   /* of it */
    bool is_crlf;    /* the patch itself came with \r\n */
};

static bool fail(struct parser *p, enum patch_fault_kind kind, size_t number, struct str text)
{
    p->fault->kind = kind;
    p->fault->line = number;
    p->fault->text = text;
    return false;
}

/* The word and at most white space behind it. */
static bool is_word(struct str line, struct str word)
{
    return str_starts(line, word) && str_is_blank(str_from(line, word.n));
}

/* The end of the patch has no line; a line that is empty has one without bytes. */
static void step(struct parser *p)
{
    p->number++;
    if (!str_line(&p->rest, &p->line))
        p->line = STR_NONE;
    else if (p->is_crlf && str_ends(p->line, STR("\r")))
        p->line.n--;
}

static void add_line(struct parser *p, char sign, struct str text)
{
    struct patch *o = p->out;
    GROW(o->lines, o->n_lines, o->line_capacity);
    size_t i = o->n_lines++;
    o->lines[i] = (struct patch_line){sign, text};
}

/* Reads digits at the start of *s. */
static bool take_number(struct str *s, size_t *ret)
{
    size_t n = 0;
    for (*ret = 0; n < s->n && n < 9 && s->p[n] >= '0' && s->p[n] <= '9'; n++)
        *ret = 10 * *ret + (size_t)(s->p[n] - '0');
    *s = str_from(*s, n);
    return n > 0;
}

/* The line numbers of a unified diff, "-12,3 +12,4 @@ ...": the first, or 0 when they are none. */
static size_t take_range(struct str s)
{
    size_t line, ignored;
    if (!str_starts(s, STR("-")) || (s = str_from(s, 1), !take_number(&s, &line)))
        return 0;
    if (str_starts(s, STR(",")) && (s = str_from(s, 1), !take_number(&s, &ignored)))
        return 0;
    return str_starts(s, STR(" +")) && str_find(s, STR(" @@")) != SIZE_MAX ? MAX(line, 1) : 0;
}

/* Takes the head of a chunk; false when the line is none. */
static bool take_locator(struct parser *p, struct str *ret_locator, size_t *ret_near)
{
    struct str line = p->line;
    *ret_locator = STR_NONE;
    if (str_starts(line, STR("@@ ")))
        *ret_near = take_range(str_from(line, 3));
    if (!*ret_near && !is_word(line, STR("@@"))) {
        if (!str_starts(line, STR("@@ ")))
            return false;
        *ret_locator = str_from(line, 3);
    }
    step(p);
    return true;
}

static void take_chunk_lines(struct parser *p, struct patch_chunk *c)
{
    c->line = p->out->n_lines;
    for (; p->line.p; step(p)) {
        char sign = p->line.n ? p->line.p[0] : ' ';
        if (sign == ' ' || sign == '-' || sign == '+')
            add_line(p, sign, str_from(p->line, 1));
        else
            break;
    }
    c->n_lines = p->out->n_lines - c->line;
}

static bool parse_chunk(struct parser *p, bool is_first)
{
    struct patch_chunk c = {0};
    if (!take_locator(p, &c.locator, &c.near) && !is_first)
        return fail(p, PATCH_NO_MARKER, p->number, p->line);
    take_chunk_lines(p, &c);
    if (c.n_lines == 0 && p->line.p && !str_starts(p->line, STR("***")))
        return fail(p, PATCH_BAD_LINE, p->number, p->line);
    if (c.n_lines == 0)
        return fail(p, PATCH_NO_LINES, p->number, STR_NONE);
    if (is_word(p->line, STR("*** End of File"))) {
        c.is_at_end = true;
        step(p);
    }
    struct patch *o = p->out;
    GROW(o->chunks, o->n_chunks, o->chunk_capacity);
    size_t i = o->n_chunks++;
    o->chunks[i] = c;
    return true;
}

/* The path behind a header's word, or STR_NONE when the line is another header or names none.  A
 * path with a NUL is no path. */
static struct str path_behind(struct str line, struct str word)
{
    line = str_trim(line);
    if (!str_starts(line, word) || str_chr(line, '\0') != SIZE_MAX)
        return STR_NONE;
    struct str path = str_trim(str_from(line, word.n));
    return path.n ? path : STR_NONE;
}

static bool parse_update(struct parser *p, struct patch_hunk *h)
{
    size_t number = p->number;
    step(p);
    if (p->line.p)
        h->move_to = path_behind(p->line, STR("*** Move to: "));
    if (h->move_to.p)
        step(p);
    h->chunk = p->out->n_chunks;
    while (p->line.p && !str_starts(p->line, STR("***"))) {
        if (str_is_blank(p->line))
            step(p);
        else if (!parse_chunk(p, p->out->n_chunks == h->chunk))
            return false;
    }
    h->n_chunks = p->out->n_chunks - h->chunk;
    return h->n_chunks > 0 || fail(p, PATCH_EMPTY_HUNK, number, h->path);
}

static void parse_add(struct parser *p, struct patch_hunk *h)
{
    h->line = p->out->n_lines;
    for (step(p); str_starts(p->line, STR("+")); step(p))
        add_line(p, '+', str_from(p->line, 1));
    h->n_lines = p->out->n_lines - h->line;
}

static bool parse_hunk(struct parser *p)
{
    struct patch_hunk h = {0};
    if ((h.path = path_behind(p->line, STR("*** Add File: "))).p) {
        h.kind = PATCH_ADD;
        parse_add(p, &h);
    } else if ((h.path = path_behind(p->line, STR("*** Delete File: "))).p) {
        h.kind = PATCH_DELETE;
        step(p);
    } else if ((h.path = path_behind(p->line, STR("*** Update File: "))).p) {
        h.kind = PATCH_UPDATE;
        if (!parse_update(p, &h))
            return false;
    } else {
        return fail(p, PATCH_BAD_HEADER, p->number, str_trim(p->line));
    }
    struct patch *o = p->out;
    if (o->n_hunks == PATCH_HUNKS)
        return fail(p, PATCH_TOO_LARGE, p->number, STR_NONE);
    GROW(o->hunks, o->n_hunks, o->hunk_capacity);
    size_t i = o->n_hunks++;
    o->hunks[i] = h;
    return true;
}

/* A patch that comes as a here-document: without the line before it and the one behind it. */
static struct str unwrap(struct str text)
{
    struct str first, rest = str_split(text, '\n', &first);
    first = str_trim(first);
    size_t last = str_rchr(rest, '\n');
    bool is_wrapped = str_is(first, "<<EOF") || str_is(first, "<<'EOF'") ||
                      str_is(first, "<<\"EOF\"");
    if (!is_wrapped || last == SIZE_MAX || !str_is(str_trim(str_from(rest, last)), "EOF"))
        return text;
    return str_trim(str_cut(rest, last));
}

/* Leaves what stands between the first and the last line in p->rest. */
static bool open_envelope(struct parser *p, struct str text)
{
    struct str first;
    p->rest = str_split(text, '\n', &first);
    if (!str_is(str_trim(first), "*** Begin Patch"))
        return fail(p, PATCH_NO_BEGIN, 1, STR_NONE);
    size_t last = str_rchr(p->rest, '\n');
    last = last == SIZE_MAX ? 0 : last + 1;
    if (!str_is(str_trim(str_from(p->rest, last)), "*** End Patch"))
        return fail(p, PATCH_NO_END, 1, STR_NONE);
    p->rest = str_cut(p->rest, last);
    p->is_crlf = str_ends(first, STR("\r"));
    p->number = 1;
    return true;
}

bool patch_parse(struct str text, struct patch *ret, struct patch_fault *fault)
{
    struct parser p = {.out = ret, .fault = fault};
    if (text.n > PATCH_BYTES)
        return fail(&p, PATCH_TOO_LARGE, 0, STR_NONE);
    if (!open_envelope(&p, unwrap(str_trim(text))))
        return false;
    step(&p);
    while (p.line.p) {
        if (str_is_blank(p.line))
            step(&p);
        else if (!parse_hunk(&p))
            return false;
    }
    return ret->n_hunks > 0 || fail(&p, PATCH_NO_HUNKS, 0, STR_NONE);
}
