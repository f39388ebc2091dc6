/* SPDX-License-Identifier: MIT */
#include "terminal/screen.h"

#include "base/mem.h"
#include "terminal/width.h"

#include <stdarg.h>

void screen_init(struct screen *s, int cols, int lines, bool is_plain, bool has_colour)
{
    *s = (struct screen){.cols = MAX(cols, 8),
                         .lines = MAX(lines, 4),
                         .is_plain = is_plain,
                         .has_colour = has_colour && !is_plain,
                         .blank = 1};
}

void screen_clear(struct screen *s)
{
    screen_drop_text(s);
    buf_clear(&s->out);
    buf_clear(&s->pending);
    free(s->runs);
    free(s->link);
    for (int i = 0; i < LIVE_ROWS; i++) {
        buf_clear(&s->live.rows[i].text);
        buf_clear(&s->next.rows[i].text);
    }
}

/* ---- styles ---- */

/* from: what is set already; nothing has to be taken back when there is nothing. */
static void put_style(struct buf *out, unsigned from, unsigned style)
{
    static const struct {
        unsigned bit;
        const char *code;
    } codes[] = {{STYLE_BOLD, ";1"},
                 {STYLE_DIM, ";2"},
                 {STYLE_ITALIC, ";3"},
                 {STYLE_UNDER, ";4"},
                 {STYLE_STRIKE, ";9"}};
    buf_addz(out, "\033[");
    size_t begun = out->n;
    for (size_t i = 0; i < ARRAY_LEN(codes); i++)
        if (style & codes[i].bit)
            buf_addz(out, codes[i].code + (!from && out->n == begun));
    if (style & STYLE_COLOUR)
        buf_addf(out, "%s3%u", !from && out->n == begun ? "" : ";", style & STYLE_COLOUR);
    buf_addc(out, 'm');
}

static void set_style(struct screen *s, unsigned style)
{
    if (s->style != style && s->has_colour)
        put_style(&s->out, s->style, style);
    s->style = style;
}

static bool is_same_link(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* OSC 8.  What it leads to has no control characters (screen_link). */
static void set_link(struct screen *s, const char *link)
{
    if (!is_same_link(s->open, link))
        buf_addf(&s->out, "\033]8;;%s\033\\", link ? link : "");
    s->open = link;
}

/* ---- pending text ---- */

void screen_link(struct screen *s, struct str address)
{
    bool is_web = str_starts(address, STR("https://")) || str_starts(address, STR("http://"));
    for (size_t i = 0; i < address.n; i++)
        is_web = is_web && address.p[i] > ' ' && address.p[i] < 0x7f;
    free(s->link);
    s->link = is_web && s->has_links ? str_dup(address) : NULL;
}

static void add_run(struct screen *s, unsigned style, bool is_code, struct str text)
{
    struct text_run *last = s->n_runs ? &s->runs[s->n_runs - 1] : NULL;
    if (!text.n)
        return;
    s->is_whole = false;
    buf_add(&s->pending, text);
    if (last && last->style == style && last->is_code == is_code && last->hang == s->hang &&
        is_same_link(last->link, s->link)) {
        last->n += text.n;
        return;
    }
    GROW(s->runs, s->n_runs, s->runs_capacity);
    s->runs[s->n_runs++] = (struct text_run){text.n, style, is_code, s->hang,
                                             s->link ? xstrdup(s->link) : NULL};
}

void screen_text(struct screen *s, unsigned style, struct str text)
{
    add_run(s, style, false, text);
}

void screen_code(struct screen *s, unsigned style, struct str text)
{
    add_run(s, style, true, text);
}

void screen_print(struct screen *s, unsigned style, const char *fmt, ...)
{
    AUTO(buf) struct buf text = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_addv(&text, fmt, ap);
    va_end(ap);
    screen_text(s, style, buf_str(&text));
}

void screen_drop_text(struct screen *s)
{
    for (size_t i = 0; i < s->n_runs; i++)
        free(s->runs[i].link);
    s->n_runs = 0;
    buf_reset(&s->pending);
}

void screen_line(struct screen *s, int columns)
{
    for (int i = 0; i < columns; i++)
        screen_code(s, STYLE_DIM, s->is_plain ? STR("-") : STR("\u2500"));
}

void screen_copy(struct screen *s, const struct screen *from, size_t at, size_t n)
{
    size_t begun = 0;
    for (size_t i = 0; i < from->n_runs; begun += from->runs[i++].n) {
        size_t first = MAX(at, begun), last = MIN(at + n, begun + from->runs[i].n);
        if (first >= last)
            continue;
        screen_link(s, str_of(from->runs[i].link));
        screen_code(s, from->runs[i].style, str_n(from->pending.p + first, last - first));
    }
    screen_link(s, STR_NONE);
}

/* Line ends at the end of all that was given, printed or not; at most 2. */
static int line_ends(const struct screen *s)
{
    int n = 0;
    while ((size_t)n < s->pending.n && s->pending.p[s->pending.n - 1 - (size_t)n] == '\n')
        n++;
    if ((size_t)n == s->pending.n && s->col == 0)
        n += s->blank;
    return MIN(n, 2);
}

void screen_fresh(struct screen *s)
{
    if (line_ends(s) == 0)
        screen_text(s, 0, STR("\n"));
    s->is_whole = true;
}

void screen_paragraph(struct screen *s)
{
    screen_fresh(s);
    if (line_ends(s) == 1)
        screen_text(s, 0, STR("\n"));
    s->is_whole = true;
}

bool screen_has_text(const struct screen *s)
{
    return s->n_runs > 0;
}

/* ---- layout ---- */

struct layout { /* a place in the pending text */
    struct screen *s;
    size_t run, in_run, at;
};

static void step(struct layout *l, size_t n)
{
    l->at += n;
    l->in_run += n;
    while (l->run < l->s->n_runs && l->in_run >= l->s->runs[l->run].n) {
        l->in_run -= l->s->runs[l->run].n;
        l->run++;
    }
}

static void begin_style(struct screen *s, const struct text_run *run)
{
    set_style(s, run->style);
    set_link(s, run->link);
}

static void end_style(struct screen *s)
{
    set_style(s, 0);
    set_link(s, NULL);
}

static bool may_break_behind(struct str text, const struct cluster *k)
{
    uint32_t first = (unsigned char)text.p[0];
    return k->width == 2 && first >= 0xe3 && first <= 0xed; /* CJK: between any two characters */
}

/* Bytes and columns up to the next place for a break; false: its end is not there yet. */
static bool find_word(const struct layout *l, struct str text, size_t *ret_n, int *ret_width)
{
    size_t n = 0;
    int width = 0;
    while (n < text.n && !strchr(" \n\t", text.p[n])) {
        struct cluster k = cluster_first(str_from(text, n));
        bool ends = may_break_behind(str_from(text, n), &k);
        if (ends && n > 0)
            break;
        n += k.n;
        width += k.most;
        if (ends)
            break;
    }
    *ret_n = n;
    *ret_width = width;
    return n < text.n || l->s->is_whole || width > 200;
}

static void end_row(struct screen *s)
{
    end_style(s);
    buf_addz(&s->out, s->is_plain ? "\n" : "\r\n");
    s->blank = s->col ? 1 : MIN(s->blank + 1, 2);
    s->col = s->gap = 0;
    s->is_cut = false;
}

static void put_blanks(struct screen *s, int n)
{
    for (; n > 0; n--, s->col++)
        buf_addc(&s->out, ' ');
}

/* The row is full: the next one continues it. */
static void wrap_row(struct screen *s, int hang)
{
    if (s->col < s->cols)
        put_blanks(s, s->cols - s->col);
    s->col = 0;
    put_blanks(s, hang);
}

/* Behind a doubtful cluster the column is set, which is none behind the last one.  Where a word is
 * broken there are no blanks: a long address stays one. */
static void put_cluster(struct screen *s, struct str text, const struct cluster *k)
{
    if (!s->is_plain && s->col + MAX(k->most, k->width) + k->is_doubtful > s->cols)
        wrap_row(s, 0);
    buf_add(&s->out, str_cut(text, k->n));
    s->col += k->width;
    if (k->is_doubtful && !s->is_plain)
        buf_addf(&s->out, "\033[%dG", s->col + 1);
}

/* The blanks before a word; those behind a link or underlined text do not belong to it. */
static void put_gap(const struct layout *l)
{
    const struct text_run *run = &l->s->runs[l->run];
    if (l->s->gap && (l->s->style != run->style || !is_same_link(l->s->open, run->link)))
        end_style(l->s);
    put_blanks(l->s, l->s->gap);
}

static void put_word(struct layout *l, struct str text, size_t n)
{
    struct screen *s = l->s;
    for (size_t at = 0; at < n;) {
        struct cluster k = cluster_first(str_n(text.p + at, n - at));
        begin_style(s, &s->runs[l->run]);
        put_cluster(s, str_n(text.p + at, n - at), &k);
        at += k.n;
        step(l, k.n);
    }
}

/* One word with the blanks before it; false when it has to wait for what follows. */
static bool lay_word(struct layout *l, struct str text)
{
    struct screen *s = l->s;
    size_t n;
    int width;
    if (!find_word(l, text, &n, &width))
        return false;
    int hang = MIN(s->runs[l->run].hang, s->cols / 2);
    if (hang + width >= s->cols)
        hang = 0;
    if (s->col == 0 && !s->is_plain)
        s->gap = MIN(s->gap, s->cols / 2);
    bool is_last = n == text.n, fits = s->col + s->gap + width < s->cols;
    if (!s->gap && !fits && may_break_behind(text, &(struct cluster){.width = 2}) && width == 2) {
        if (is_last)
            return false; /* a full row cannot be gone on with later */
        if (hang && s->col + width > s->cols) {
            end_style(s);
            wrap_row(s, hang);
        }
        put_word(l, text, n);
        return true;
    }
    if (!fits && s->col > 0 && !s->is_plain && (s->gap || width < s->cols)) {
        end_style(s);
        wrap_row(s, hang);
    } else {
        put_gap(l);
    }
    s->gap = 0;
    put_word(l, text, n);
    return true;
}

/* Text that breaks nowhere: up to its line end, as far as it is there. */
static bool lay_code(struct layout *l, struct str text)
{
    struct screen *s = l->s;
    size_t n = 0, limit = MIN(text.n, s->runs[l->run].n - l->in_run);
    put_gap(l);
    begin_style(s, &s->runs[l->run]);
    s->gap = 0;
    while (n < limit && text.p[n] != '\n') {
        struct cluster k = cluster_first(str_n(text.p + n, limit - n));
        bool is_last = n + k.n == text.n;
        if (is_last && s->col + k.width >= s->cols && !s->is_plain)
            break;
        if (text.p[n] == '\t') {
            k.width = 8 - s->col % 8;
            for (int i = 0; i < k.width; i++)
                put_cluster(s, STR(" "), &(struct cluster){.n = 1, .width = 1});
        } else {
            put_cluster(s, str_from(text, n), &k);
        }
        n += k.n;
    }
    step(l, n);
    return n > 0;
}

static bool lay_one(struct layout *l)
{
    struct screen *s = l->s;
    struct str text = str_from(buf_str(&s->pending), l->at);
    if (!text.n)
        return false;
    if (text.p[0] == '\n') {
        end_row(s);
        step(l, 1);
        return true;
    }
    if (s->runs[l->run].is_code)
        return lay_code(l, text);
    if (text.p[0] == ' ' || text.p[0] == '\t') {
        s->gap += text.p[0] == '\t' ? 4 : 1;
        step(l, 1);
        return true;
    }
    return lay_word(l, text);
}

/* What was laid out is not pending any more. */
static void drop(const struct layout *l)
{
    struct screen *s = l->s;
    buf_drop(&s->pending, l->at);
    for (size_t i = 0; i < l->run; i++)
        free(s->runs[i].link);
    s->n_runs -= l->run;
    if (!s->n_runs)
        return;
    memmove(s->runs, s->runs + l->run, s->n_runs * sizeof *s->runs);
    s->runs[0].n -= l->in_run;
}

/* Prints what can be printed; the rest stays pending. */
static void lay_out(struct screen *s)
{
    struct layout l = {.s = s};
    while (lay_one(&l))
        ;
    end_style(s);
    drop(&l);
    if (s->is_plain && s->is_whole && !s->n_runs) { /* a prompt */
        put_blanks(s, s->gap);
        s->gap = 0;
    }
}

/* ---- live rows ---- */

void live_row(struct screen *s)
{
    if (s->next.n == LIVE_ROWS)
        return;
    buf_reset(&s->next.rows[s->next.n].text);
    s->next.rows[s->next.n++].width = 0;
}

void live_put(struct screen *s, unsigned style, struct str text)
{
    struct buf *row = &s->next.rows[s->next.n - 1].text;
    text = width_cut(text, live_left(s, s->cols - 1));
    if (!text.n)
        return;
    if (style && s->has_colour)
        put_style(row, 0, style);
    while (text.n) {
        struct cluster k = cluster_first(text);
        buf_add(row, str_cut(text, k.n));
        s->next.rows[s->next.n - 1].width += k.width;
        if (k.is_doubtful && !s->is_plain)
            buf_addf(row, "\033[%dG", s->next.rows[s->next.n - 1].width + 1);
        text = str_from(text, k.n);
    }
    if (style && s->has_colour)
        buf_addz(row, "\033[m");
}

void live_print(struct screen *s, unsigned style, const char *fmt, ...)
{
    AUTO(buf) struct buf text = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_addv(&text, fmt, ap);
    va_end(ap);
    live_put(s, style, buf_str(&text));
}

int live_left(const struct screen *s, int columns)
{
    return MAX(0, MIN(columns, s->cols - 1) - s->next.rows[s->next.n - 1].width);
}

void live_cursor(struct screen *s)
{
    s->next.cursor_row = s->next.n - 1;
    s->next.cursor_col = s->next.rows[s->next.n - 1].width;
}

/* ---- frames ---- */

static void move_up(struct screen *s, int rows)
{
    if (rows > 0)
        buf_addf(&s->out, "\033[%dA", rows);
    else if (rows < 0)
        buf_addf(&s->out, "\033[%dB", -rows);
}

static bool row_is_same(const struct screen *s, int i)
{
    return i < s->live.n && i < s->next.n &&
           str_eq(buf_str(&s->live.rows[i].text), buf_str(&s->next.rows[i].text));
}

/* Only rows that differ, when no text was printed.  The cursor goes from row to row. */
static void draw_changes(struct screen *s)
{
    int at = s->live.cursor_row;
    for (int i = 0; i < s->next.n; i++) {
        if (row_is_same(s, i))
            continue;
        bool is_new = i >= s->live.n; /* behind the last one */
        move_up(s, at - (i - is_new));
        buf_addz(&s->out, is_new ? "\r\n\033[K" : "\r\033[K");
        at = i;
        buf_add(&s->out, buf_str(&s->next.rows[i].text));
    }
    move_up(s, at - s->next.cursor_row);
    buf_addf(&s->out, "\033[%dG", s->next.cursor_col + 1);
}

/* From the first live row on; the cursor is at its beginning, and nothing stands below it. */
static void draw_all(struct screen *s)
{
    for (int i = 0; i < s->next.n; i++) {
        buf_addz(&s->out, i ? "\r\n" : "");
        buf_add(&s->out, buf_str(&s->next.rows[i].text));
    }
    move_up(s, s->next.n - 1 - s->next.cursor_row);
    buf_addf(&s->out, "\033[%dG", s->next.cursor_col + 1);
}

static void take_over(struct screen *s)
{
    struct live_rows old = s->live;
    s->live = s->next;
    s->next = old;
    s->next.n = s->next.cursor_row = s->next.cursor_col = 0;
}

/* A resize has moved the open row, or it is full: text goes on in the first live one. */
static void leave_row(struct screen *s)
{
    struct layout l = {.s = s};
    s->col = s->gap = 0;
    s->blank = 1;
    s->is_cut = false;
    if (s->pending.n && s->pending.p[0] == '\n') {
        step(&l, 1);
        drop(&l);
    } else if (s->n_runs) {
        s->gap = MIN(s->runs[0].hang, s->cols / 2);
    }
}

/* The text, from the open row on, behind which all is cleared: where a terminal takes fewer columns
 * for a cluster than we do, a column is skipped.  False when all of it has to wait. */
static bool draw_text(struct screen *s)
{
    size_t before = s->out.n;
    if (s->is_cut || s->col >= s->cols)
        leave_row(s);
    move_up(s, s->live.cursor_row + (s->col > 0));
    buf_addf(&s->out, "\033[%dG\033[J", s->col + 1);
    size_t begun = s->out.n;
    lay_out(s);
    if (s->out.n == begun) {
        buf_cut(&s->out, before);
        return false;
    }
    buf_addz(&s->out, s->col > 0 ? "\r\n" : "");
    return true;
}

static bool is_unchanged(const struct screen *s)
{
    bool same = s->next.n == s->live.n && s->next.cursor_row == s->live.cursor_row &&
                s->next.cursor_col == s->live.cursor_col;
    for (int i = 0; same && i < s->next.n; i++)
        same = row_is_same(s, i);
    return same;
}

/* Draws all live rows again when there are fewer than before or none yet. */
static void draw_live(struct screen *s)
{
    if (s->live.n && s->next.n >= s->live.n) {
        draw_changes(s);
        return;
    }
    move_up(s, s->live.cursor_row);
    buf_addz(&s->out, "\r\033[J");
    draw_all(s);
}

/* A window of a few rows shows those around the cursor. */
static void fit_live(struct screen *s)
{
    struct live_rows *l = &s->next;
    while (l->n > s->lines - 1) {
        if (l->cursor_row == 0) {
            l->n--;
            continue;
        }
        struct buf first = l->rows[0].text;
        memmove(&l->rows[0], &l->rows[1], (size_t)(l->n - 1) * sizeof l->rows[0]);
        l->rows[--l->n].text = first;
        l->cursor_row--;
    }
}

void screen_frame(struct screen *s)
{
    if (s->is_plain) {
        lay_out(s);
        s->next.n = 0;
        return;
    }
    size_t before = s->out.n;
    fit_live(s);
    buf_addz(&s->out, "\033[?2026h");
    size_t begun = s->out.n;
    if (s->n_runs && draw_text(s))
        draw_all(s);
    else if (!is_unchanged(s))
        draw_live(s);
    if (s->out.n == begun)
        buf_cut(&s->out, before);
    else
        buf_addz(&s->out, "\033[?2026l");
    take_over(s);
}

/* Rows above the cursor that a terminal of the new width makes of the live ones. */
static int rows_above(const struct screen *s)
{
    const struct live_rows *l = &s->live;
    int n = 0, width = l->n ? l->rows[l->cursor_row].width : 0;
    for (int i = 0; i < l->cursor_row; i++)
        n += MAX(1, (l->rows[i].width + s->cols - 1) / s->cols);
    return n + MIN(l->cursor_col, MAX(width - 1, 0)) / s->cols;
}

/* A terminal with fewer lines may have dropped those below the cursor. */
void screen_resize(struct screen *s, int cols, int lines)
{
    bool is_wrapped = MAX(cols, 8) != s->cols;
    s->cols = MAX(cols, 8);
    s->lines = MAX(lines, 4);
    if (s->is_plain)
        return;
    int above = rows_above(s);
    move_up(s, above);
    buf_addc(&s->out, '\r');
    s->live.n = s->live.cursor_row = s->live.cursor_col = 0;
    s->is_cut = s->is_cut || (s->col > 0 && (is_wrapped || above >= s->lines - 1));
}

void screen_leave(struct screen *s)
{
    if (s->is_plain)
        return;
    move_up(s, s->live.cursor_row);
    if (s->live.n)
        buf_addz(&s->out, "\r\033[J");
    screen_forget(s);
}

void screen_forget(struct screen *s)
{
    s->live.n = s->live.cursor_row = s->live.cursor_col = 0;
    s->col = s->gap = 0;
    s->is_cut = false;
    s->blank = 1;
}
