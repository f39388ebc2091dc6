/* SPDX-License-Identifier: MIT */
/* HTML to text: what pages look like, and what they should not be able to do. */
#include "base/mem.h"
#include "base/time.h"
#include "base/utf8.h"
#include "tools/html.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void check(const char *html, const char *want)
{
    AUTO(buf) struct buf out = BUF_INIT;
    html_text(str_of(html), STR("https://e.org/d/page?q=1"), &out, NULL);
    assert_string_equal(buf_str(&out).p, want);
}

static void test_blocks(void **state)
{
    (void)state;
    check("", "");
    check("plain", "plain\n");
    check("  a \n\t b  ", "a b\n");
    check("<p>one<p>two</p></p>", "one\n\ntwo\n");
    check("<div><div><div>a</div></div></div><div>b</div>", "a\nb\n");
    check("<h1>T</h1><h3> U </h3>v", "# T\n\n### U\n\nv\n");
    check("a<br>b<br/><br />c", "a\nb\n\nc\n");
    check("<ul><li>a<li>b<ul><li>c</ul></ul>d", "- a\n- b\n  - c\n\nd\n");
    check("<ul><li></li><li>x</li></ul>", "- x\n");
    check("<h2></h2>x", "x\n");
    check("<table><tr><th>k</th><th>v</th></tr><tr><td>1</td><td>2</td></tr></table>",
          "k | v\n1 | 2\n");
    check("a<hr>b", "a\n\n---\n\nb\n");
    check("x<b>bold</b><i> it</i>", "xbold it\n");
}

static void test_code_and_links(void **state)
{
    (void)state;
    check("<pre>\n  a\n    b\n</pre>c", "```\n  a\n    b\n```\n\nc\n");
    check("<pre><code>x &lt; y</code></pre>", "```\nx < y\n```\n");
    check("<pre></pre>x", "x\n");
    check("use <code>a b</code>.", "use `a b`.\n");
    check("see <a href='x.html'>this</a>, <a href=\"/y?a=1&amp;b=2\">that</a>",
          "see [this](https://e.org/d/x.html), [that](https://e.org/y?a=1&b=2)\n");
    check("<a href=http://o.org/>o</a>", "[o](http://o.org/)\n");
    check("<a href='#top'>top</a> <a href='javascript:alert(1)'>js</a> <a>none</a>",
          "top js none\n");
    check("<a href='/e'></a>x", "x\n");
    check("<a href='/a'>one<a href='/b'>two</a>", "[one](https://e.org/a)[two](https://e.org/b)\n");
    check("<a href='/a'><div>in</div></a>out", "[in](https://e.org/a)\nout\n");
    check("<img src=x alt='a picture'><img src=y>", "(a picture)\n");
}

static void test_dropped(void **state)
{
    (void)state;
    AUTO(buf) struct buf out = BUF_INIT, title = BUF_INIT;
    check("a<script>if (a < b) document.write('<p>x</p>')</script>b", "ab\n");
    check("a<SCRIPT>x</sCrIpT >b<style>p{}</style>c", "abc\n");
    check("a<script>never closed", "a\n");
    check("a<scripted>b", "ab\n");
    check("a<script>x</scripts>y</script>b", "ab\n");
    check("a<!-- <p>no</p> -->b<!doctype html><?xml a?>c", "abc\n");
    check("a<svg><path d='x'/></svg>b<svg/>c", "abc\n");
    check("a<noscript>enable it</noscript>b", "ab\n");
    html_text(STR("<title> A\n &amp;  B </title><title>second</title>x"), STR(""), &out, &title);
    assert_string_equal(title.p, "A & B");
    assert_string_equal(out.p, "x\n");
}

static void test_entities(void **state)
{
    (void)state;
    check("&lt;p&gt; &amp;amp; &quot;&apos;&nbsp;x&copy;", "<p> &amp; \"' x\xc2\xa9\n");
    check("&#65;&#x42;&#X43;&#150;", "ABC\xe2\x80\x93\n");
    check("&#0;&#xD800;&#x110000;&#99999999999999999999;", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
                                                           "\xef\xbf\xbd\n");
    check("a & b &unknown; &; &# &#x; &", "a & b &unknown; &; &# &#x; &\n");
    check("AT&T", "AT&T\n");
}

static void test_broken(void **state)
{
    (void)state;
    check("a < b > c", "a < b > c\n");
    check("a <", "a <\n");
    check("a </", "a </\n");
    check("<", "<\n");
    check("<p", "");
    check("<a href=\"x", "");
    check("<a href='>'>b</a>", "[b](https://e.org/d/%3E)\n");
    check("</ul></ul></li></pre></a>x", "x\n");
    check("<!--", "");
    check("<!-->x", "");
}

/* Whatever comes, it costs its length and ends. */
static void check_flood(const char *unit, size_t n)
{
    AUTO(buf) struct buf html = BUF_INIT, out = BUF_MAX(1 << 20), title = BUF_INIT;
    for (size_t i = 0; i < n; i++)
        buf_addz(&html, unit);
    int64_t begun = time_mono_us();
    html_text(buf_str(&html), STR("http://e.org/"), &out, &title);
    assert_true(time_mono_us() - begun < 5000000);
    assert_true(out.n <= 1 << 20);
}

static void test_floods(void **state)
{
    (void)state;
    static const char *const units[] = {"<ul><li>",  "<a href=x>", "<",       "<script>", "<!--",
                                        "&#",        "&",          "<pre>",   "<h1>",     "<td>",
                                        "</",        "<a href='",  "<title>", "<p><br>",  "\n",
                                        "</script>", "<li>- # "};
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        check_flood(units[i], 100000);
}

static void test_random(void **state)
{
    (void)state;
    static const char letters[] = "<>/!-=\"'&;#ax pre script\n\xc3\xbc";
    srandom(7);
    for (int round = 0; round < 2000; round++) {
        AUTO(buf) struct buf html = BUF_INIT, out = BUF_MAX(64), title = BUF_INIT;
        for (int i = 0; i < 60; i++)
            buf_addc(&html, letters[(size_t)random() % (sizeof letters - 1)]);
        html_text(buf_str(&html), STR("http://e.org/"), &out, &title);
        assert_true(out.n <= 64);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),  cmocka_unit_test(test_code_and_links),
        cmocka_unit_test(test_dropped), cmocka_unit_test(test_entities),
        cmocka_unit_test(test_broken),  cmocka_unit_test(test_floods),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
