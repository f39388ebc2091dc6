/* SPDX-License-Identifier: MIT */
#include "terminal/markdown.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "terminal/width.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

/* What is printed of a text that comes in pieces of n bytes; styles as <numbers>. */
static void render(struct str text, size_t n, bool has_colour, struct buf *out)
{
    struct screen s;
    screen_init(&s, 80, 24, true, false);
    s.has_colour = has_colour;
    struct markdown m = {.screen = &s};
    for (size_t at = 0; at < text.n; at += n)
        markdown_add(&m, str_cut(str_from(text, at), n));
    markdown_end(&m);
    screen_frame(&s);
    for (size_t i = 0; i < s.out.n; i++)
        if (s.out.p[i] == '\033')
            buf_addc(out, '<');
        else if (s.out.p[i] == 'm' && i > 1 &&
                 (s.out.p[i - 1] == '[' || s.out.p[i - 2] == ';' ||
                  (i > 2 && s.out.p[i - 3] == ';')))
            buf_addc(out, '>');
        else if (s.out.p[i] != '[' || i == 0 || s.out.p[i - 1] != '\033')
            buf_addc(out, s.out.p[i]);
    markdown_clear(&m);
    screen_clear(&s);
}

static void shows(const char *text, const char *wanted)
{
    AUTO(buf) struct buf whole = BUF_INIT;
    render(str_of(text), strlen(text), false, &whole);
    assert_string_equal(whole.p ? whole.p : "", wanted);
    for (size_t n = 1; n < 7; n++) { /* the same in any pieces */
        AUTO(buf) struct buf pieces = BUF_INIT, styled = BUF_INIT, styled_pieces = BUF_INIT;
        render(str_of(text), n, false, &pieces);
        assert_string_equal(pieces.p ? pieces.p : "", wanted);
        render(str_of(text), strlen(text), true, &styled);
        render(str_of(text), n, true, &styled_pieces);
        assert_string_equal(styled_pieces.p ? styled_pieces.p : "", styled.p ? styled.p : "");
    }
}

/* The rows of a terminal of so many columns, without the blanks at their ends. */
static void lays(int cols, const char *text, const char *wanted)
{
    for (size_t n = 1; n < 8; n++) { /* characters of a piece */
        AUTO(buf) struct buf rows = BUF_INIT;
        struct screen s;
        screen_init(&s, cols, 24, false, false);
        struct markdown m = {.screen = &s};
        for (struct str left = str_of(text), piece; left.n; left = str_from(left, piece.n)) {
            piece = utf8_cut_chars(left, n);
            markdown_add(&m, piece);
        }
        markdown_end(&m);
        screen_frame(&s);
        int col = 0;
        for (struct str rest = buf_str(&s.out); rest.n;) {
            struct cluster k = cluster_first(rest);
            if (rest.p[0] == '\033') {
                k.n = 2;
                while (k.n < rest.n && strchr("0123456789;?", rest.p[k.n]))
                    k.n++;
                k.n++;
            } else if (rest.p[0] == '\n' || col + k.width > cols) {
                while (rows.n && rows.p[rows.n - 1] == ' ')
                    buf_cut(&rows, rows.n - 1);
                buf_addc(&rows, '\n');
                col = 0;
            }
            if (rest.p[0] != '\033' && rest.p[0] != '\n' && rest.p[0] != '\r') {
                buf_add(&rows, str_cut(rest, k.n));
                col += k.width;
            }
            rest = str_from(rest, k.n);
        }
        assert_string_equal(rows.p ? rows.p : "", wanted);
        markdown_clear(&m);
        screen_clear(&s);
    }
}

static void test_inline(void **state)
{
    (void)state;
    shows("a **bold** b", "a bold b\n");
    shows("*it* and _it_ and ***both***", "it and it and both\n");
    shows("2 * 3 * 4 and a_b_c and __init__", "2 * 3 * 4 and a_b_c and init\n");
    shows("`a*b*c` and ``x ` y``", "a*b*c and x ` y\n");
    shows("~~gone~~ ~5", "gone ~5\n");
    shows("\\*not\\* \\x", "*not* \\x\n");
    shows("[text](https://x.y) [ ] [a] (b)", "text (https://x.y) [ ] [a] (b)\n");
    shows("[https://x](https://x)", "https://x\n");
    shows("an open **end", "an open end\n");
    shows("an open [end", "an open [end\n");
    shows("[**bold** `c`](https://x.y)", "bold c (https://x.y)\n");
    shows("[a [b](c) d](e)", "a [b](c) d (e)\n");
    shows("![a *cat*](cat.png) and ![](b.png) ! ![no",
          "[image: a cat] (cat.png) and [image] (b.png) ! ![no\n");
    shows("[![logo](l.png)](https://x.y)", "[image: logo] (l.png) (https://x.y)\n");
    shows("![dot](data:image/png;base64,iVBORw0KGgo=) end", "[image: dot] (data:image/png) end\n");
    shows("a &lt;b&gt; &amp;amp; &#65;&#x42; &eacute; AT&T &nothing; &",
          "a <b> &amp; AB \u00e9 AT&T &nothing; &\n");
    shows("`&lt;` \\&lt; &#42;no&#42;", "&lt; &lt; *no*\n");
}

static void test_blocks(void **state)
{
    (void)state;
    shows("# Head\n\ntext\n", "# Head\n\ntext\n");
    shows("#hash\n", "#hash\n");
    shows("* one\n+ two\n  - three\n1. four\n", "- one\n- two\n  - three\n1. four\n");
    shows("a\n---\nb\n", "a\n---\nb\n");
    shows("**Bold** first\n", "Bold first\n");
    shows("> quoted\n", "> quoted\n");
    shows("```c\nint *a; **b\n\n```\nafter\n", "```c\nint *a; **b\n\n```\nafter\n");
    shows("```\nopen *end*", "```\nopen *end*\n");
    shows("~~~\n```\n~~~\n", "~~~\n```\n~~~\n");
    shows("a\r\nb\r\n", "a\nb\n");
    /* Indented code is shown as it is; in a paragraph or a list the indentation means nothing. */
    shows("it is:\n\n    # no *head*\n    - `x`\n\nafter *it*\n",
          "it is:\n\n    # no *head*\n    - `x`\n\nafter it\n");
    shows("text\n    *more*\n", "text\n    more\n");
    shows("- item\n\n    *more*\n", "- item\n\n    more\n");
    shows("- a\n    - b\n\n        ```c\n        *x*\n        ```\n",
          "- a\n    - b\n\n        ```c\n        *x*\n        ```\n");
    shows("- [ ] one\n- [x] two\n3) [X] three\n- [ ](a)\n- [y] no\n[ ] no\n",
          "- [ ] one\n- [x] two\n3) [x] three\n-   (a)\n- [y] no\n[ ] no\n");
    shows("> # Head\n> - *item*\n>\n>> deep\n> > deep\n",
          "> # Head\n> - item\n>\n> > deep\n> > deep\n");
    shows("- ---\n- --x\n* * *\n* *x*\n", "---\n- --x\n---\n- x\n");
    shows("1986. A great year\n12", "1986. A great year\n12\n");
}

static void test_drawn(void **state)
{
    (void)state;
    lays(12, "***\nx\n", "\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\nx\n");
    lays(20, "- [ ] one\n- [x] two\n", "- \u2610 one\n- \u2611 two\n");
}

static void test_indents(void **state)
{
    (void)state;
    lays(20, "- one two three four five six\n", "- one two three\n  four five six\n");
    lays(20, "  * one two three four five six\n", "  - one two three\n    four five six\n");
    lays(20, "12. one two three four five\n", "12. one two three\n    four five\n");
    lays(20, "- [x] one two three four five\n", "- \u2611 one two three\n    four five\n");
    lays(20, "> one two three four five six\n", "> one two three\n  four five six\n");
    lays(20, "> - one two three four five six\n", "> - one two three\n    four five six\n");
    /* A terminal may take four columns for a hand with a colour. */
    lays(20, "- words words a \U0001f44d\U0001f3fd\n", "- words words a\n  \U0001f44d\U0001f3fd\n");
    lays(20, "- one\n\n  two three four five six\n", "- one\n\n  two three four\n  five six\n");
    lays(20, "- one\n\ntwo three four five six seven\n",
         "- one\n\ntwo three four five\nsix seven\n");
    lays(20, "- a https://example.org/a/long/address\n",
         "- a\nhttps://example.org/\na/long/address\n");
    lays(12, "- \u65e5\u672c\u8a9e\u65e5\u672c\u8a9e\u65e5\n",
         "- \u65e5\u672c\u8a9e\u65e5\u672c\n  \u8a9e\u65e5\n");
    lays(8, "- x\n            - deep in it\n", "- x\n    -\ndeep in\n    it\n");
}

static void test_tables(void **state)
{
    (void)state;
    shows("| a | b |\n|---|---|\n| 1 | `two` |\nafter\n", "a  b\n-  ---\n1  two\nafter\n");
    shows("| a |\n|---|\n| **x** |", "a\n-\nx\n");
    shows("| a | b | c |\n|:--|:-:|--:|\n| one | two | three |\n| 1 | 2 | 3 |\n",
          "a     b       c\n---  ---  -----\none  two  three\n1     2       3\n");
    shows("| a \\| b | `x\\|y` |\n|---|---|\n| [t](u) | &lt; |\n",
          "a | b  x|y\n-----  ---\nt (u)  <\n");
    shows("|x| is no *table*\n", "|x| is no table\n");
    shows("| a | b |\n|---|\n| 1 | 2 | 3 |\n| 4 |\n", "a  b\n-  -  -\n1  2  3\n4\n");
    /* Lines of text alone: rows are read one after the other. */
    shows(
        "| one | two |\n|---|---|\n| a long value that needs the whole width of a row | and a second "
        "value that is as long as the first one |\n",
        "one: a long value that needs the whole width of a row\n"
        "two: and a second value that is as long as the first one\n");
}

/* A table that is too wide wraps the text of its cells. */
static void test_wide_tables(void **state)
{
    (void)state;
    lays(
        24, "| k | text |\n|---|---|\n| a | one two three four five |\n| b | six |\n",
        "k  text\n\u2500  \u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\n"
        "a  one two three four\n   five\n\nb  six\n");
    lays(
        16, "| r | n |\n|--:|:-:|\n| one two three | 1 |\n| x | four five six |\n",
        "     r     n\n\u2500\u2500\u2500\u2500\u2500\u2500  \u2500\u2500\u2500\u2500\u2500\u2500\u2500\n   one     1\n   two\n three\n\n     x   four\n         five\n          six\n");
    lays(
        12, "| a | b |\n|---|---|\n| abcdefghij | 1 |\n",
        "a         b\n\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500  \u2500\nabcdefgh  1\nij\n");
    lays(
        12, "| a | b |\n|---|---|\n| \u65e5\u672c\u8a9e\u65e5\u672c\u8a9e | 1 |\n",
        "a         b\n\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500  \u2500\n\u65e5\u672c\u8a9e\u65e5  1\n\u672c\u8a9e\n");
    lays(12, "| a | b | c |\n|---|---|---|\n| one | two three | four |\n",
         "a: one\nb: two\n  three\nc: four\n");
}

/* What is sent of a text; links as <address> and </>, other sequences left out. */
static void links(const char *text, int cols, bool has_links, const char *wanted)
{
    AUTO(buf) struct buf got = BUF_INIT;
    struct screen s;
    screen_init(&s, cols, 24, false, false);
    s.has_links = has_links;
    struct markdown m = {.screen = &s};
    for (struct str left = str_of(text), piece; left.n; left = str_from(left, piece.n)) {
        piece = utf8_cut_chars(left, 1);
        markdown_add(&m, piece);
        screen_frame(&s);
    }
    markdown_end(&m);
    screen_frame(&s);
    for (struct str rest = buf_str(&s.out); rest.n;) {
        size_t n = 1;
        if (str_starts(rest, STR("\033]8;;"))) {
            n = str_find(rest, STR("\033\\")) + 2;
            buf_addf(&got, "<%.*s>", n > 7 ? (int)n - 7 : 1, n > 7 ? rest.p + 5 : "/");
        } else if (rest.p[0] == '\033') {
            for (n = 2; strchr("0123456789;?", rest.p[n]);)
                n++;
            n++;
        } else if (rest.p[0] != '\r' && rest.p[0] != '\n') { /* each frame ends its row */
            buf_addc(&got, rest.p[0]);
        }
        rest = str_from(rest, n);
    }
    if (!strstr(got.p, wanted))
        fail_msg("%s is not in %s", wanted, got.p);
    markdown_clear(&m);
    screen_clear(&s);
}

/* An address is a link where it can be read; the words before it too, unless they look like one. */
static void test_links(void **state)
{
    (void)state;
    const char *both = "<https://x.y/z>the man-ual</> (<https://x.y/z>https://x.y/z</>) end";
    links("[the man-ual](https://x.y/z) end", 80, true, both);
    links("[the man-ual](https://x.y/z) end", 80, false, "the man-ual (https://x.y/z) end");
    links("[https://x.y](https://x.y) end", 80, true, "<https://x.y>https://x.y</> end");
    links("[](http://x.y/a_b_c)", 80, true, "<http://x.y/a_b_c>http://x.y/a_b_c</>");
    links("[https://bank.com](https://evil.org)", 80, true,
          "https://bank.com (<https://evil.org>https://evil.org</>)");
    links("[bank\u3002com](https://evil.org)", 80, true, "bank\u3002com (<https://evil.org>");
    links("[bank&#46;com](https://evil.org)", 80, true, "bank.com (<https://evil.org>");
    links("[run](file:///etc/passwd)", 80, true, "run (file:///etc/passwd)");
    links("[run](javascript:x)", 80, true, "run (javascript:x)");
    links("[a](https://x\033\\y)", 80, true,
          "<https://x\\u001b\\y>a</> (<https://x\\u001b\\y>https://x\\u001b\\y</>)");
    links("[a](https://x\xc3\xa4.y)", 80, true, "a (https://x\xc3\xa4.y)");
    links("| [a](https://x.y) | b |\n|---|---|\n", 80, true,
          "<https://x.y>a</> (<https://x.y>https://x.y</>)  b");
    links("word [two words](https://x.y)", 10, true,
          "word <https://x.y>two</>  <https://x.y>words</>");
}

/* Orders to the terminal are shown, also when they come in pieces. */
static void test_orders(void **state)
{
    (void)state;
    shows("a\033[2Jb\aend", "a\\u001b[2Jb\\u0007end\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inline), cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_drawn),  cmocka_unit_test(test_indents),
        cmocka_unit_test(test_tables), cmocka_unit_test(test_wide_tables),
        cmocka_unit_test(test_links),  cmocka_unit_test(test_orders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
