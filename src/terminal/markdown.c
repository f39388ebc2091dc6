/* SPDX-License-Identifier: MIT */
#include "terminal/markdown.h"

#include "base/entity.h"
#include "base/mem.h"
#include "base/shown.h"
#include "terminal/highlight.h"
#include "terminal/table.h"

enum {
    CODE_STYLE = STYLE_CYAN,
    LINK_MAX = 600,  /* bytes that a link may have to be taken for one */
    ENTITY_MAX = 32, /* the same of a character reference */
    LINE_MAX = 4096, /* a line of code that is longer is printed in pieces */
};

void markdown_clear(struct markdown *m)
{
    buf_clear(&m->held);
    buf_clear(&m->table);
}

/* ---- inside of a line ---- */

static void print(struct markdown *m, unsigned more, struct str text)
{
    if (!text.n)
        return;
    m->screen->hang = m->hang;
    screen_text(m->screen, m->base | m->on | more, text);
    m->screen->hang = 0;
    m->before = text.p[text.n - 1];
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\0';
}

static bool is_letter(char c)
{
    return (unsigned char)c >= 0x80 || (c >= '0' && c <= '9') ||
           ((c | 32) >= 'a' && (c | 32) <= 'z');
}

static size_t count(struct str s, char c)
{
    size_t n = 0;
    while (n < s.n && s.p[n] == c)
        n++;
    return n;
}

/* Each of these takes something off the front of s and returns its bytes; 0: more must come. */

static size_t take_ticks(struct markdown *m, struct str s, bool is_over)
{
    size_t n = count(s, '`');
    if (n == s.n && !is_over)
        return 0;
    if (m->n_ticks == 0)
        m->n_ticks = n;
    else if (m->n_ticks == n)
        m->n_ticks = 0;
    else
        print(m, CODE_STYLE, str_cut(s, n));
    return n;
}

static unsigned emphasis(char c, size_t n)
{
    if (c == '~')
        return n == 2 ? STYLE_STRIKE : 0;
    return n == 1 ? STYLE_ITALIC : n == 2 ? STYLE_BOLD : n == 3 ? STYLE_ITALIC | STYLE_BOLD : 0;
}

static size_t take_stars(struct markdown *m, struct str s, bool is_over)
{
    char c = s.p[0];
    size_t n = count(s, c);
    if (n == s.n && !is_over)
        return 0;
    char after = n < s.n ? s.p[n] : '\0';
    unsigned style = emphasis(c, n);
    bool closes = style && (m->on & style) == style && !is_blank(m->before);
    bool opens = style && !(m->on & style) && !is_blank(after);
    if (c == '_') {
        closes = closes && !is_letter(after);
        opens = opens && !is_letter(m->before);
    }
    if (closes)
        m->on &= ~style;
    else if (opens)
        m->on |= style;
    else
        print(m, 0, str_cut(s, n));
    return n;
}

/* Where a link [text](address) ends; 0: it is none, SIZE_MAX: not known yet. */
static size_t link_end(struct str s, bool is_over, size_t *ret_text_end)
{
    size_t depth = 0, i;
    for (i = 0; i < s.n && i < LINK_MAX && s.p[i] != '\n'; i++) {
        depth += s.p[i] == '[';
        if (s.p[i] == ']' && --depth == 0)
            break;
    }
    if (i == s.n && i < LINK_MAX)
        return is_over ? 0 : SIZE_MAX;
    if (i >= LINK_MAX || s.p[i] != ']')
        return 0;
    *ret_text_end = i;
    if (i + 1 == s.n)
        return is_over ? 0 : SIZE_MAX;
    if (s.p[i + 1] != '(')
        return 0;
    size_t parens = 0;
    for (i++; i < s.n && i < LINK_MAX && s.p[i] != '\n'; i++) {
        parens += s.p[i] == '(';
        if (s.p[i] == ')' && --parens == 0)
            return i + 1;
    }
    return i == s.n && i < LINK_MAX && !is_over ? SIZE_MAX : 0;
}

static size_t take_inline(struct markdown *m, struct str s, bool is_over);

/* The text of a link or an image, marks in it included. */
static void put_inside(struct markdown *m, unsigned style, struct str text)
{
    struct markdown outer = *m;
    m->base |= style;
    m->is_linked = true;
    for (size_t at = 0; at < text.n;)
        at += take_inline(m, str_from(text, at), true);
    m->base = outer.base;
    m->on = outer.on;
    m->n_ticks = outer.n_ticks;
    m->is_linked = outer.is_linked;
}

/* The address is printed too: it must be seen where a link leads.  Without its title; of the bytes
 * that an address holds itself only their type. */
static void put_address(struct markdown *m, struct str address)
{
    if (str_starts(address, STR("data:")))
        address = str_cut(address, MIN(str_chr(address, ';'), str_chr(address, ',')));
    print(m, STYLE_DIM, STR(" ("));
    screen_link(m->screen, address);
    print(m, STYLE_DIM, address);
    screen_link(m->screen, STR_NONE);
    print(m, STYLE_DIM, STR(")"));
}

/* Words that cannot be taken for another address than the one behind them. */
static bool is_words(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] >= 0x80 ||
            (!is_letter(text.p[i]) && !strchr(" -_*`,!?()", text.p[i])))
            return false;
    return true;
}

static size_t take_link(struct markdown *m, struct str s, bool is_over)
{
    bool is_image = s.p[0] == '!', is_one = !is_image || (s.n > 1 && s.p[1] == '[');
    size_t text_end = 0, end = 0;
    if (is_image && s.n == 1 && !is_over)
        return 0;
    if (is_one && (is_image || !m->is_linked))
        end = link_end(str_from(s, is_image), is_over, &text_end);
    if (end == SIZE_MAX)
        return 0;
    if (end == 0) {
        print(m, 0, str_cut(s, 1));
        return 1;
    }
    struct str text = str_n(s.p + is_image + 1, text_end - 1), address;
    str_split(str_trim(str_n(s.p + is_image + text_end + 2, end - text_end - 3)), ' ', &address);
    if (is_image)
        print(m, STYLE_DIM, text.n ? STR("[image: ") : STR("[image"));
    bool is_address = !is_image && (!text.n || str_eq(text, address));
    if (is_address || (!is_image && is_words(text)))
        screen_link(m->screen, address);
    if (is_address)
        print(m, STYLE_UNDER, address);
    else
        put_inside(m, is_image ? STYLE_DIM : STYLE_UNDER, text);
    screen_link(m->screen, STR_NONE);
    if (is_image)
        print(m, STYLE_DIM, STR("]"));
    if (!is_address)
        put_address(m, address);
    return is_image + end;
}

/* What a character reference stands for may be an order to the terminal, too. */
static size_t take_entity(struct markdown *m, struct str s, bool is_over)
{
    AUTO(buf) struct buf text = BUF_INIT, shown = BUF_INIT;
    size_t n = 1;
    while (n < s.n && n < ENTITY_MAX && (is_letter(s.p[n]) || s.p[n] == '#'))
        n++;
    if (n == s.n && n < ENTITY_MAX && !is_over)
        return 0;
    bool is_one = n < s.n && s.p[n] == ';' && html_entity(str_cut(s, n + 1), &text) == n + 1;
    shown_add(&shown, is_one ? buf_str(&text) : str_cut(s, 1), false);
    print(m, 0, buf_str(&shown));
    return is_one ? n + 1 : 1;
}

static size_t take_escape(struct markdown *m, struct str s, bool is_over)
{
    if (s.n < 2 && !is_over)
        return 0;
    bool is_one = s.n > 1 && strchr("\\`*_{}[]()#+-.!|~<>&", s.p[1]);
    print(m, 0, is_one ? str_n(s.p + 1, 1) : str_cut(s, 1));
    return is_one ? 2 : 1;
}

/* Text up to the next byte that may mean something. */
static size_t take_plain(struct markdown *m, struct str s)
{
    const char *marks = m->n_ticks ? "`\n" : "`*_~[\\!&\n";
    size_t n = 0;
    while (n < s.n && !strchr(marks, s.p[n]))
        n++;
    print(m, m->n_ticks ? CODE_STYLE : 0, str_cut(s, n));
    return n;
}

static size_t take_verbatim(struct markdown *m, struct str s)
{
    size_t end = str_chr(s, '\n');
    print(m, 0, str_cut(s, end));
    return MIN(end, s.n);
}

static size_t take_inline(struct markdown *m, struct str s, bool is_over)
{
    if (m->is_verbatim)
        return take_verbatim(m, s);
    switch (s.p[0]) {
    case '`':
        return take_ticks(m, s, is_over);
    case '*':
    case '_':
    case '~':
        return m->n_ticks ? take_plain(m, s) : take_stars(m, s, is_over);
    case '[':
    case '!':
        return m->n_ticks ? take_plain(m, s) : take_link(m, s, is_over);
    case '&':
        return m->n_ticks ? take_plain(m, s) : take_entity(m, s, is_over);
    case '\\':
        return m->n_ticks ? take_plain(m, s) : take_escape(m, s, is_over);
    default:
        return take_plain(m, s);
    }
}

void markdown_inline(struct screen *s, unsigned style, struct str text)
{
    struct markdown m = {.screen = s, .base = style, .hang = s->hang};
    for (size_t at = 0; at < text.n;)
        at += take_inline(&m, str_from(text, at), true);
}

static void end_line(struct markdown *m)
{
    screen_text(m->screen, 0, STR("\n"));
    m->was_text = m->is_inside && !m->is_verbatim;
    m->is_inside = m->is_verbatim = false;
    m->base = m->on = 0;
    m->hang = 0;
    m->n_ticks = 0;
    m->before = '\0';
}

/* ---- the beginning of a line ---- */

/* Whether the line is of these characters and blanks alone, three at least. */
static bool is_rule(struct str line)
{
    size_t n = 0;
    char c = line.n ? line.p[0] : '\0';
    for (size_t i = 0; i < line.n; i++) {
        if (line.p[i] != c && !is_blank(line.p[i]))
            return false;
        n += line.p[i] == c;
    }
    return n >= 3 && strchr("-*_", c);
}

static void begin_inline(struct markdown *m, unsigned base)
{
    m->is_inside = true;
    m->base |= base;
}

/* Bytes of the mark of a list item, "- " or "12. "; 0: none, SIZE_MAX: not known yet. */
static size_t item_mark(struct str s)
{
    size_t n = 0;
    while (n < s.n && n < 9 && s.p[n] >= '0' && s.p[n] <= '9')
        n++;
    if (n == s.n || !strchr(n ? ".)" : "-*+", s.p[n]))
        return n == s.n ? SIZE_MAX : 0;
    if (n + 1 == s.n)
        return SIZE_MAX;
    return s.p[n + 1] == ' ' ? n + 2 : 0;
}

enum box { BOX_NONE, BOX_OPEN, BOX_DONE, BOX_UNKNOWN };

/* The box of a task behind the mark of its item. */
static enum box box_at(struct str s)
{
    static const char *const fits[] = {"[", " xX", "]", " "};
    for (size_t i = 0; i < ARRAY_LEN(fits); i++) {
        if (i == s.n)
            return BOX_UNKNOWN;
        if (!strchr(fits[i], s.p[i]))
            return BOX_NONE;
    }
    return s.p[1] == ' ' ? BOX_OPEN : BOX_DONE;
}

/* Whether enough of the line is there to know what its first mark means. */
static bool is_known(struct str s)
{
    if (s.p[0] == '#')
        return count(s, '#') < s.n;
    if (s.p[0] == '>')
        return s.n > 1;
    size_t mark = item_mark(s);
    return mark != SIZE_MAX && (!mark || box_at(str_from(s, mark)) != BOX_UNKNOWN);
}

static size_t take_heading(struct markdown *m, struct str s)
{
    size_t n = count(s, '#');
    bool is_one = n <= 6 && n < s.n && s.p[n] == ' ';
    begin_inline(m, is_one ? STYLE_BOLD | (n == 1 ? STYLE_UNDER : 0) : 0);
    if (is_one && m->screen->has_colour)
        return n + 1;
    print(m, 0, str_cut(s, n));
    return n;
}

/* A line of code fences, whole, behind its blanks. */
static void take_fence_line(struct markdown *m, struct str blanks, struct str line)
{
    char c = line.p[0];
    m->n_fence = count(line, c);
    m->fence = c;
    m->language = highlight_language(str_trim(str_from(line, m->n_fence)));
    m->in_comment = 0;
    if (!m->screen->has_colour) {
        screen_code(m->screen, 0, blanks);
        screen_code(m->screen, 0, line);
        screen_code(m->screen, 0, STR("\n"));
    }
}

/* Kinds that need the whole line; false: it is none of these. */
static bool take_whole_line(struct markdown *m, struct str blanks, struct str line)
{
    char c = line.n ? line.p[0] : '\0';
    if ((c == '`' || c == '~') && count(line, c) >= 3) {
        take_fence_line(m, blanks, line);
    } else if (c == '|') {
        buf_add(&m->table, line);
        buf_addc(&m->table, '\n');
    } else if (is_rule(line)) {
        screen_line(m->screen, m->screen->is_plain ? 3 : MIN(m->screen->cols - 1, LIVE_COLUMNS));
        screen_code(m->screen, 0, STR("\n"));
    } else {
        return false;
    }
    return true;
}

/* The line may be one of those as far as it is there. */
static bool may_be_whole(struct str s)
{
    char c = s.p[0];
    size_t n = count(s, c);
    if (c == '`' || c == '~')
        return n >= 3 || n == s.n;
    for (size_t i = 0; i < s.n && s.p[i] != '\n'; i++)
        if (s.p[i] != c && !is_blank(s.p[i]))
            return c == '|';
    return strchr("|-*_", c) != NULL;
}

static void take_box(struct markdown *m, enum box box)
{
    bool is_plain = m->screen->is_plain;
    struct str open = is_plain ? STR("[ ] ") : STR("\u2610 ");
    struct str done = is_plain ? STR("[x] ") : STR("\u2611 ");
    print(m, 0, box == BOX_OPEN ? open : done);
    m->hang += is_plain ? 4 : 2;
}

/* The first mark of a line behind its blanks; 0: there is none.  Behind that of a quote, another
 * one may follow. */
static size_t take_mark(struct markdown *m, struct str s, bool is_indented)
{
    if (s.p[0] == '#')
        return take_heading(m, s);
    if (s.p[0] == '>') {
        m->base = STYLE_DIM;
        m->is_in_list = false;
        print(m, 0, STR("> "));
        m->hang += 2;
        return s.n > 1 && s.p[1] == ' ' ? 2 : 1;
    }
    size_t n = item_mark(s);
    bool is_item = n && n != SIZE_MAX;
    begin_inline(m, 0);
    m->is_in_list = is_item || (m->is_in_list && is_indented);
    if (!is_item)
        return 0;
    print(m, 0, n == 2 ? STR("- ") : str_cut(s, n));
    m->hang += (int)n;
    enum box box = box_at(str_from(s, n));
    if (box != BOX_OPEN && box != BOX_DONE)
        return n;
    take_box(m, box);
    return n + 4;
}

static void end_table(struct markdown *m)
{
    if (m->table.n)
        table_print(m->screen, buf_str(&m->table));
    buf_reset(&m->table);
}

static size_t take_line_start(struct markdown *m, struct str s, bool is_over)
{
    size_t end = str_chr(s, '\n'), blanks = 0;
    while (blanks < s.n && (s.p[blanks] == ' ' || s.p[blanks] == '\t'))
        blanks++;
    if (blanks == s.n && !is_over)
        return 0;
    struct str rest = str_from(s, blanks);
    bool is_quoted = m->hang > 0;
    if (rest.n && (rest.p[0] != '|' || is_quoted))
        end_table(m);
    if (!rest.n || rest.p[0] == '\n') {
        end_line(m);
        return MIN(blanks + 1, s.n);
    }
    if (blanks >= 4 && !m->is_in_list && !m->was_text && !is_quoted) {
        screen_text(m->screen, 0, str_cut(s, blanks));
        begin_inline(m, 0);
        m->is_verbatim = true;
        return blanks;
    }
    if ((blanks < 4 || m->is_in_list) && !is_quoted && may_be_whole(rest)) {
        if (end == SIZE_MAX && !is_over)
            return 0;
        struct str line = str_cut(rest, end == SIZE_MAX ? rest.n : end - blanks);
        if (take_whole_line(m, str_cut(s, blanks), line))
            return end == SIZE_MAX ? s.n : end + 1;
        end_table(m);
    }
    if (!is_over && !is_known(rest))
        return 0;
    print(m, 0, str_cut(s, blanks));
    for (size_t i = 0; i < blanks; i++)
        m->hang += s.p[i] == '\t' ? 4 : 1;
    return blanks + take_mark(m, rest, blanks > 0);
}

/* ---- code ---- */

static bool ends_fence(const struct markdown *m, struct str line)
{
    line = str_trim(line);
    return line.n >= m->n_fence && count(line, m->fence) == line.n;
}

static size_t take_code(struct markdown *m, struct str s, bool is_over)
{
    size_t end = str_chr(s, '\n');
    if (end == SIZE_MAX && !is_over && s.n < LINE_MAX)
        return 0;
    struct str line = str_cut(s, end == SIZE_MAX ? s.n : end);
    bool is_end = ends_fence(m, line);
    if (is_end)
        m->fence = '\0';
    if (!is_end)
        highlight_line(m->screen, m->language, &m->in_comment, line);
    else if (!m->screen->has_colour)
        screen_code(m->screen, 0, line);
    if (end != SIZE_MAX && (!is_end || !m->screen->has_colour))
        screen_code(m->screen, 0, STR("\n"));
    return end == SIZE_MAX ? s.n : end + 1;
}

/* ---- */

static size_t take_piece(struct markdown *m, struct str s, bool is_over)
{
    if (m->fence)
        return take_code(m, s, is_over);
    if (!m->is_inside)
        return take_line_start(m, s, is_over);
    if (s.p[0] == '\n') {
        end_line(m);
        return 1;
    }
    return take_inline(m, s, is_over);
}

static void go_on(struct markdown *m, bool is_over)
{
    size_t at = 0;
    while (at < m->held.n) {
        bool was_inside = m->is_inside;
        struct str s = str_from(buf_str(&m->held), at);
        size_t n = take_piece(m, s, is_over);
        if (n == 0 && was_inside == m->is_inside)
            break;
        at += n;
    }
    buf_drop(&m->held, at);
}

void markdown_add(struct markdown *m, struct str text)
{
    AUTO(buf) struct buf whole = BUF_INIT, shown = BUF_INIT;
    buf_addz(&whole, m->owes_return ? "\r" : "");
    buf_add(&whole, text);
    m->owes_return = str_ends(buf_str(&whole), STR("\r"));
    shown_add(&shown, str_cut(buf_str(&whole), whole.n - m->owes_return), true);
    for (size_t i = 0; i < shown.n; i++)
        if (shown.p[i] != '\r')
            buf_addc(&m->held, shown.p[i]);
    go_on(m, false);
}

void markdown_end(struct markdown *m)
{
    go_on(m, true);
    end_table(m);
    if (m->is_inside)
        end_line(m);
    buf_reset(&m->held);
    m->owes_return = false;
    m->fence = '\0';
    m->hang = 0;
    m->base = 0;
    screen_fresh(m->screen);
}
