/* SPDX-License-Identifier: MIT */
/* context/web.c: Markdown as HTML, in which no text becomes markup. */
#include "context/web.h"

#include "base/mem.h"
#include "base/time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct {
    const char *text, *html;
} cases[] = {
    {"one\ntwo\n\nthree", "<p>one\ntwo</p>\n<p>three</p>\n"},
    {"one  \ntwo", "<p>one<br>\ntwo</p>\n"},
    {"# A *b*\n", "<h3>A <em>b</em></h3>\n"},
    {"####### no", "<p>####### no</p>\n"},
    {"#no", "<p>#no</p>\n"},
    {"**a *b* c** ~~d~~ `e*f*` ``g`h``",
     "<p><strong>a <em>b</em> c</strong> <del>d</del> <code>e*f*</code> <code>g`h</code></p>\n"},
    {"snake_case_name and 2 * 3 * 4", "<p>snake_case_name and 2 * 3 * 4</p>\n"},
    {"**open and *open", "<p>**open and *open</p>\n"},
    {"\\*no\\* \\x", "<p>*no* \\x</p>\n"},
    {"<script>alert(\"1\")</script> & 'x'",
     "<p>&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;x&#39;</p>\n"},
    {"[a](https://e.org/?b=1&c=2 \"t\") [b](javascript:alert(1)) [c](\"onx=1)",
     "<p><a rel=\"noreferrer noopener\" href=\"https://e.org/?b=1&amp;c=2\">a</a> "
     "[b](javascript:alert(1)) [c](&quot;onx=1)</p>\n"},
    {"see https://e.org/x.", "<p>see <a rel=\"noreferrer noopener\" "
                             "href=\"https://e.org/x\">https://e.org/x</a>.</p>\n"},
    {"![pic](http://e.org/a.png)", "<p><a rel=\"noreferrer noopener\" "
                                   "href=\"http://e.org/a.png\">pic</a></p>\n"},
    {"```c\na < b\n  c\n```\nx", "<pre><code>a &lt; b\n  c\n</code></pre>\n<p>x</p>\n"},
    {"~~~\nopen", "<pre><code>open\n</code></pre>\n"},
    {"    code\n\n    more\n\ntext", "<pre><code>code\n\nmore\n</code></pre>\n<p>text</p>\n"},
    {"- a\n- b\n  - c\n  - d\n- e",
     "<ul>\n<li>a\n</li>\n<li>b\n<ul>\n<li>c\n</li>\n<li>d\n</li>\n</ul>\n</li>\n<li>e\n</li>\n"
     "</ul>\n"},
    {"3. a\n4. b\n", "<ol start=\"3\">\n<li>a\n</li>\n<li>b\n</li>\n</ol>\n"},
    {"1. a\n\n   more\n2. b", "<ol>\n<li>a\nmore\n</li>\n<li>b\n</li>\n</ol>\n"},
    {"> q\n> > r\n",
     "<blockquote>\n<p>q</p>\n<blockquote>\n<p>r</p>\n</blockquote>\n</blockquote>\n"},
    {"---\n", "<hr>\n"},
    {"| a | b |\n|---|--:|\n| `x` | 1\\|2 |\n",
     "<div class=\"wide\"><table>\n<thead><tr><th>a</th><th class=\"num\">b</th></tr>\n</thead>\n"
     "<tr><td><code>x</code></td><td class=\"num\">1|2</td></tr>\n</table></div>\n"},
    {"a\x1b[31m\x01z", "<p>a\xef\xbf\xbd[31m\xef\xbf\xbdz</p>\n"},
    {"bad \xff byte", "<p>bad \xef\xbf\xbd byte</p>\n"},
    {"", ""},
};

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(buf) struct buf out = BUF_INIT;
        web_markdown(&out, str_of(cases[i].text));
        assert_string_equal(out.p ? out.p : "", cases[i].html);
    }
}

/* Tags in the output are those that the converter writes, whatever the text. */
static void test_random(void **state)
{
    static const char letters[] = "<>&\"'*_~`[]()!|-#+.1 \n\\h:/ab\xc3\xff";
    (void)state;
    srand(7);
    for (int i = 0; i < 3000; i++) {
        AUTO(buf) struct buf text = BUF_INIT, out = BUF_INIT;
        for (int k = rand() % 200; k > 0; k--)
            buf_addc(&text, letters[(size_t)rand() % (sizeof letters - 1)]);
        web_markdown(&out, buf_str(&text));
        struct str rest = buf_str(&out);
        for (size_t at; (at = str_chr(rest, '<')) != SIZE_MAX;) {
            static const char *const tags[] = {"p>",
                                               "/p>",
                                               "br>",
                                               "h",
                                               "/h",
                                               "em>",
                                               "/em>",
                                               "strong>",
                                               "/strong>",
                                               "del>",
                                               "/del>",
                                               "code>",
                                               "/code>",
                                               "pre>",
                                               "/pre>",
                                               "a rel=",
                                               "/a>",
                                               "ul>",
                                               "/ul>",
                                               "ol",
                                               "/ol>",
                                               "li>",
                                               "/li>",
                                               "blockquote>",
                                               "/blockquote>",
                                               "div class=\"wide\">",
                                               "/div>",
                                               "table>",
                                               "/table>",
                                               "thead>",
                                               "/thead>",
                                               "tr>",
                                               "/tr>",
                                               "t",
                                               "/t"};
            bool is_known = false;
            rest = str_from(rest, at + 1);
            for (size_t t = 0; t < ARRAY_LEN(tags); t++)
                is_known |= str_starts(rest, str_of(tags[t]));
            assert_true(is_known);
        }
    }
}

/* A megabyte of signs takes little time. */
static void test_hostile(void **state)
{
    static const char *const parts[] = {"*", "_a", "[", "`", "> ", "- ", "**a ", "![](", "|", "~~"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        AUTO(buf) struct buf text = BUF_INIT, out = BUF_INIT;
        int64_t began = time_mono_us();
        while (text.n < 200000)
            buf_addz(&text, parts[i]);
        web_markdown(&out, buf_str(&text));
        assert_true(time_mono_us() - began < 20000000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
