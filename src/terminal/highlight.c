/* SPDX-License-Identifier: MIT */
#include "terminal/highlight.h"

#include "base/mem.h"

struct language {
    const char *names;       /* between blanks */
    const char *comment;     /* up to the line's end; or NULL */
    const char *open, *shut; /* of several lines; or NULL */
    const char *words;       /* between blanks */
};

#define C_WORDS                                                                                    \
    " if else for while do switch case default break continue return goto sizeof static const "    \
    "struct union enum typedef void int char long short unsigned signed float double bool true "   \
    "false NULL extern inline "

static const struct language languages[] = {
    {" ", NULL, NULL, NULL, " "},
    {" c h cpp c++ cc cxx hpp objc ", "//", "/*", "*/",
     C_WORDS "class public private protected virtual template typename namespace using new delete "
             "auto this nullptr try catch throw override constexpr "},
    {" js javascript ts typescript jsx tsx mjs json ", "//", "/*", "*/",
     " if else for while do switch case default break continue return function const let var class "
     "extends new this import export from async await try catch finally throw typeof instanceof in "
     "of null undefined true false interface type yield "},
    {" java kotlin kt scala cs csharp swift dart ", "//", "/*", "*/",
     C_WORDS "class interface extends implements public private protected final new this super "
             "import package try catch finally throw throws null fun val var when is in let func "
             "guard override string "},
    {" go golang ", "//", "/*", "*/",
     " if else for switch case default break continue return func package import type struct "
     "interface map chan go defer select range var const nil true false string int error bool "},
    {" rust rs ", "//", "/*", "*/",
     " if else for while loop match break continue return fn let mut const static struct enum impl "
     "trait pub use mod crate self Self super as in where async await move ref dyn type unsafe true "
     "false Some None Ok Err "},
    {" py python python3 ", "#", NULL, NULL,
     " if elif else for while break continue return def class import from as with try except "
     "finally raise pass lambda yield in is not and or None True False self async await global "
     "nonlocal assert del "},
    {" sh bash shell zsh console fish ", "#", NULL, NULL,
     " if then elif else fi for while until do done case esac function return in local export exit "
     "set unset echo cd test source "},
    {" rb ruby ", "#", NULL, NULL,
     " if elsif else end unless while until for in do def class module return yield begin rescue "
     "ensure nil true false self require then case when and or not "},
    {" lua ", "--", "--[[", "]]",
     " if then elseif else end for while do repeat until function local return break nil true false "
     "and or not in "},
    {" sql ", "--", "/*", "*/",
     " select from where insert into values update set delete create table index drop alter join "
     "left right inner outer on group by order having limit and or not null as distinct SELECT FROM "
     "WHERE INSERT INTO VALUES UPDATE SET DELETE CREATE TABLE INDEX DROP ALTER JOIN LEFT RIGHT INNER "
     "OUTER ON GROUP BY ORDER HAVING LIMIT AND OR NOT NULL AS DISTINCT "},
    {" yaml yml toml ini conf make makefile dockerfile cmake meson ", "#", NULL, NULL,
     " true false null yes no FROM RUN COPY CMD ENV WORKDIR EXPOSE ENTRYPOINT ARG if endif foreach "},
    {" diff patch ", NULL, NULL, NULL, " "},
};
enum { DIFF = ARRAY_LEN(languages) - 1 };

static bool has_word(const char *list, struct str word)
{
    char text[40];
    if (word.n == 0 || word.n > sizeof text - 3 || str_chr(word, ' ') != SIZE_MAX)
        return false;
    text[0] = ' ';
    memcpy(text + 1, word.p, word.n);
    memcpy(text + 1 + word.n, " ", 2);
    return strstr(list, text) != NULL;
}

int highlight_language(struct str name)
{
    struct str first;
    str_split(name, ' ', &first);
    for (size_t i = 1; i < ARRAY_LEN(languages); i++)
        if (has_word(languages[i].names, first))
            return (int)i;
    return 0;
}

static bool is_word_byte(char c)
{
    return (unsigned char)c >= 0x80 || (c >= '0' && c <= '9') ||
           ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_';
}

static size_t string_end(struct str s)
{
    for (size_t i = 1; i < s.n; i++) {
        if (s.p[i] == '\\')
            i++;
        else if (s.p[i] == s.p[0])
            return i + 1;
    }
    return s.n;
}

/* The comment at the front; *in_comment when it goes on in the next line. */
static size_t comment_end(const struct language *l, struct str s, int *in_comment)
{
    if (l->comment && str_starts(s, str_of(l->comment)) &&
        !(l->open && str_starts(s, str_of(l->open))))
        return s.n;
    if (!*in_comment && !(l->open && str_starts(s, str_of(l->open))))
        return 0;
    size_t skip = *in_comment ? 0 : strlen(l->open);
    size_t end = str_find(str_from(s, skip), str_of(l->shut));
    *in_comment = end == SIZE_MAX;
    return end == SIZE_MAX ? s.n : skip + end + strlen(l->shut);
}

static size_t word_end(struct str s)
{
    size_t n = 0;
    while (n < s.n && is_word_byte(s.p[n]))
        n++;
    return n;
}

static void print_diff(struct screen *s, struct str line)
{
    char c = line.n ? line.p[0] : ' ';
    screen_code(s, c == '+' ? STYLE_GREEN : c == '-' ? STYLE_RED : c == '@' ? STYLE_CYAN : 0, line);
}

void highlight_line(struct screen *s, int language, int *in_comment, struct str line)
{
    const struct language *l = &languages[language];
    if (language == DIFF) {
        print_diff(s, line);
        return;
    }
    if (language == 0) {
        screen_code(s, STYLE_CYAN, line);
        return;
    }
    while (line.n) {
        size_t n = comment_end(l, line, in_comment);
        unsigned style = n ? STYLE_DIM : 0;
        if (!n && strchr("\"'`", line.p[0])) {
            n = string_end(line);
            style = STYLE_GREEN;
        } else if (!n && is_word_byte(line.p[0])) {
            n = word_end(line);
            bool is_number = line.p[0] >= '0' && line.p[0] <= '9';
            style = is_number ? STYLE_YELLOW : 0;
            if (has_word(l->words, str_cut(line, n)))
                style = STYLE_BLUE | STYLE_BOLD;
        }
        n = n ? n : 1;
        screen_code(s, style, str_cut(line, n));
        line = str_from(line, n);
    }
}
