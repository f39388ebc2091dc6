/* SPDX-License-Identifier: MIT */
#include "base/entity.h"

#include "base/mem.h"
#include "base/utf8.h"

enum { MAX_NAME = 16 };

static const uint16_t windows_1252[32] = {
    0x20ac, 0x81,   0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160,
    0x2039, 0x0152, 0x8d,   0x017d, 0x8f,   0x90,   0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
    0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x9d,   0x017e, 0x0178,
};

static const struct {
    const char *name;
    uint16_t code;
} entities[] = {
    {"amp", '&'},       {"lt", '<'},        {"gt", '>'},        {"quot", '"'},
    {"apos", '\''},     {"nbsp", ' '},      {"copy", 0xa9},     {"reg", 0xae},
    {"trade", 0x2122},  {"hellip", 0x2026}, {"mdash", 0x2014},  {"ndash", 0x2013},
    {"lsquo", 0x2018},  {"rsquo", 0x2019},  {"ldquo", 0x201c},  {"rdquo", 0x201d},
    {"sbquo", 0x201a},  {"bdquo", 0x201e},  {"laquo", 0xab},    {"raquo", 0xbb},
    {"lsaquo", 0x2039}, {"rsaquo", 0x203a}, {"bull", 0x2022},   {"middot", 0xb7},
    {"sect", 0xa7},     {"para", 0xb6},     {"dagger", 0x2020}, {"deg", 0xb0},
    {"micro", 0xb5},    {"times", 0xd7},    {"divide", 0xf7},   {"plusmn", 0xb1},
    {"minus", 0x2212},  {"ne", 0x2260},     {"le", 0x2264},     {"ge", 0x2265},
    {"asymp", 0x2248},  {"infin", 0x221e},  {"sum", 0x2211},    {"radic", 0x221a},
    {"frac12", 0xbd},   {"frac14", 0xbc},   {"frac34", 0xbe},   {"sup1", 0xb9},
    {"sup2", 0xb2},     {"sup3", 0xb3},     {"euro", 0x20ac},   {"pound", 0xa3},
    {"yen", 0xa5},      {"cent", 0xa2},     {"larr", 0x2190},   {"uarr", 0x2191},
    {"rarr", 0x2192},   {"darr", 0x2193},   {"harr", 0x2194},   {"check", 0x2713},
    {"lbrace", '{'},    {"rbrace", '}'},    {"lbrack", '['},    {"rbrack", ']'},
    {"lpar", '('},      {"rpar", ')'},      {"colon", ':'},     {"semi", ';'},
    {"comma", ','},     {"period", '.'},    {"excl", '!'},      {"quest", '?'},
    {"num", '#'},       {"dollar", '$'},    {"percnt", '%'},    {"ast", '*'},
    {"plus", '+'},      {"equals", '='},    {"sol", '/'},       {"bsol", '\\'},
    {"lowbar", '_'},    {"vert", '|'},      {"grave", '`'},     {"commat", '@'},
    {"ensp", ' '},      {"emsp", ' '},      {"thinsp", ' '},    {"iexcl", 0xa1},
    {"iquest", 0xbf},   {"szlig", 0xdf},    {"auml", 0xe4},     {"ouml", 0xf6},
    {"uuml", 0xfc},     {"Auml", 0xc4},     {"Ouml", 0xd6},     {"Uuml", 0xdc},
    {"agrave", 0xe0},   {"aacute", 0xe1},   {"acirc", 0xe2},    {"atilde", 0xe3},
    {"aring", 0xe5},    {"aelig", 0xe6},    {"ccedil", 0xe7},   {"egrave", 0xe8},
    {"eacute", 0xe9},   {"ecirc", 0xea},    {"euml", 0xeb},     {"igrave", 0xec},
    {"iacute", 0xed},   {"icirc", 0xee},    {"iuml", 0xef},     {"ntilde", 0xf1},
    {"ograve", 0xf2},   {"oacute", 0xf3},   {"ocirc", 0xf4},    {"otilde", 0xf5},
    {"oslash", 0xf8},   {"ugrave", 0xf9},   {"uacute", 0xfa},   {"ucirc", 0xfb},
    {"yacute", 0xfd},   {"yuml", 0xff},     {"Eacute", 0xc9},   {"Egrave", 0xc8},
    {"Agrave", 0xc0},   {"Aacute", 0xc1},   {"Aring", 0xc5},    {"AElig", 0xc6},
    {"Ccedil", 0xc7},   {"Ntilde", 0xd1},   {"Oslash", 0xd8},   {"alpha", 0x3b1},
    {"beta", 0x3b2},    {"gamma", 0x3b3},   {"delta", 0x3b4},   {"lambda", 0x3bb},
    {"mu", 0x3bc},      {"pi", 0x3c0},      {"sigma", 0x3c3},   {"omega", 0x3c9},
    {"Delta", 0x394},   {"Omega", 0x3a9},
};

static void put_code(struct buf *out, uint32_t code)
{
    if (code >= 0x80 && code < 0xa0)
        code = windows_1252[code - 0x80];
    if (code == 0xa0)
        code = ' ';
    bool is_bad = code == 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000);
    utf8_put(out, is_bad ? 0xfffd : code);
}

void html_put_latin(struct buf *out, unsigned char byte)
{
    utf8_put(out, byte >= 0x80 && byte < 0xa0 ? windows_1252[byte - 0x80] : byte);
}

static int digit_of(char c, int base)
{
    int d = c >= '0' && c <= '9'   ? c - '0'
            : c >= 'a' && c <= 'f' ? c - 'a' + 10
            : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                   : 99;
    return d < base ? d : -1;
}

static size_t number_entity(struct str s, struct buf *out)
{
    bool is_hex = s.n > 2 && (s.p[2] == 'x' || s.p[2] == 'X');
    size_t from = is_hex ? 3 : 2, i = from;
    uint32_t code = 0;
    for (int d; i < s.n && (d = digit_of(s.p[i], is_hex ? 16 : 10)) >= 0; i++)
        code = MIN(code * (is_hex ? 16u : 10u) + (uint32_t)d, 0x110000u);
    if (i == from)
        return 0;
    put_code(out, code);
    return i + (i < s.n && s.p[i] == ';');
}

size_t html_entity(struct str s, struct buf *out)
{
    if (s.n < 2 || s.p[0] != '&')
        return 0;
    if (s.p[1] == '#')
        return number_entity(s, out);
    struct str name = str_cut(str_from(s, 1), MAX_NAME);
    size_t end = str_chr(name, ';');
    if (end == SIZE_MAX)
        return 0;
    name = str_cut(name, end);
    for (size_t i = 0; i < ARRAY_LEN(entities); i++) {
        if (!str_is(name, entities[i].name))
            continue;
        put_code(out, entities[i].code);
        return end + 2;
    }
    return 0;
}
