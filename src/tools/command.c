/* SPDX-License-Identifier: MIT */
#include "tools/command.h"

#include "base/buf.h"

struct splitter {
    struct arena *arena;
    struct str line;
    size_t at;
    struct buf word;
    bool has_word;  /* also an empty one, by quotes */
    bool is_quoted; /* a part of the word was */
    bool is_open;   /* an unquoted part of it is the shell's to fill in: a glob or ~ */
    bool is_split;  /* behind "&>": bash goes on with the command, sh begins another */
    bool has_texts; /* here-documents are read */
    struct commands done;
    size_t capacity; /* of done.v */
    struct simple_command now;
    size_t now_capacity, opens_capacity;
};

/* Words that begin something which is not a simple command, unless they are quoted. */
/* clang-format off */
static const char *const keywords[] = {
    "if",    "then", "else",   "elif",     "fi",   "do",     "done", "case", "esac", "while", "until",
    "for",   "select", "function", "time", "coproc", "in",   "{",    "}",    "!",    "[[",    "]]",
    NULL};
/* Builtins that run or change what other words say; quotes make no difference to those. */
static const char *const builtins[] = {"eval", "source", ".", "exec", "alias", "trap", NULL};

static bool is_among(struct str word, const char *const *list)
{
    for (size_t i = 0; list[i]; i++)
        if (str_is(word, list[i]))
            return true;
    return false;
}
/* clang-format on */

/* NAME=x and NAME+=x; NAME[i]=x is open. */
static bool is_assignment(struct str word)
{
    size_t eq = str_chr(word, '=');
    if (eq == SIZE_MAX || eq == 0)
        return false;
    if (eq > 1 && word.p[eq - 1] == '+')
        eq--;
    for (size_t i = 0; i < eq; i++) {
        char c = word.p[i];
        bool is_name = c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       (i && c >= '0' && c <= '9');
        if (!is_name)
            return false;
    }
    return true;
}

/* Whether a command that begins so is not read. */
static bool is_refused(const struct splitter *s, struct str word)
{
    return s->is_open || (!s->is_quoted && is_among(word, keywords)) || is_among(word, builtins) ||
           is_assignment(word) || str_starts(word, STR("%")); /* fg %JOB */
}

/* False when the word makes the command one that cannot be read. */
static bool end_word(struct splitter *s)
{
    if (!s->has_word)
        return true;
    struct str word = arena_str(s->arena, s->word.n ? buf_str(&s->word) : STR(""));
    if (s->is_split || (s->now.n == 0 && is_refused(s, word)))
        return false;
    ARENA_GROW(s->arena, s->now.words, s->now.n, s->now_capacity);
    ARENA_GROW(s->arena, s->now.opens, s->now.n, s->opens_capacity);
    s->now.opens[s->now.n] = s->is_open;
    s->now.words[s->now.n++] = word;
    buf_reset(&s->word);
    s->has_word = s->is_quoted = s->is_open = false;
    return true;
}

static bool end_command(struct splitter *s, enum command_join join)
{
    if (!end_word(s))
        return false;
    if (!s->now.n)
        return true;
    s->now.join = join;
    ARENA_GROW(s->arena, s->done.v, s->done.n, s->capacity);
    s->done.v[s->done.n++] = s->now;
    s->now = (struct simple_command){0};
    s->now_capacity = s->opens_capacity = 0;
    return true;
}

static char peek(const struct splitter *s, size_t ahead)
{
    return s->at + ahead < s->line.n ? s->line.p[s->at + ahead] : '\0';
}

static void word_add(struct splitter *s, char c)
{
    buf_addc(&s->word, c);
    s->has_word = true;
    s->at++;
}

static bool read_single(struct splitter *s)
{
    size_t end = str_chr(str_from(s->line, s->at + 1), '\'');
    if (end == SIZE_MAX)
        return false;
    buf_add(&s->word, str_n(s->line.p + s->at + 1, end));
    s->has_word = s->is_quoted = true;
    s->at += end + 2;
    return true;
}

/* ---- here-documents ---- */

static bool is_name_char(char c)
{
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Reads <<'NAME', the end of the line, and the text up to a line that is NAME, that line's own end
 * excluded.  A line that only begins with NAME is refused: bash ends a text inside $( ) also at
 * "NAME)". */
static bool read_text(struct splitter *s, struct str *ret_text)
{
    struct str rest = str_from(s->line, s->at), line, name;
    size_t n = 0;
    if (!str_starts(rest, STR("<<'")))
        return false;
    rest = str_from(rest, 3);
    while (n < rest.n && is_name_char(rest.p[n]))
        n++;
    name = str_cut(rest, n);
    if (!n || !str_starts(str_from(rest, n), STR("'\n")))
        return false;
    rest = str_from(rest, n + 2);
    *ret_text = str_n(rest.p, 0);
    while (str_line(&rest, &line)) {
        if (str_eq(line, name)) {
            ret_text->n = (size_t)(line.p - ret_text->p);
            s->at = (size_t)(line.p + line.n - s->line.p);
            return true;
        }
        while (line.n && line.p[0] == '\t')
            line = str_from(line, 1);
        if (str_starts(line, name))
            return false;
    }
    return false;
}

/* "$(cat <<'NAME' ... )": the word gets the text without the ends of its last lines. */
static bool read_cat(struct splitter *s)
{
    struct str text;
    s->at += strlen("\"$(cat ");
    if (!read_text(s, &text) || !str_starts(str_from(s->line, s->at), STR("\n)\"")))
        return false;
    s->at += 3;
    while (text.n && text.p[text.n - 1] == '\n')
        text.n--;
    buf_add(&s->word, text);
    s->has_word = s->is_quoted = true;
    return true;
}

static bool is_cat(const struct splitter *s)
{
    return s->has_texts && str_starts(str_from(s->line, s->at), STR("\"$(cat <<'"));
}

/* Input of the command at the end of its line. */
static bool read_input(struct splitter *s)
{
    struct str text;
    return !s->has_word && s->now.n && read_text(s, &text) && end_command(s, JOIN_THEN);
}

static bool is_input(const struct splitter *s)
{
    return s->has_texts && str_starts(str_from(s->line, s->at), STR("<<'"));
}

/* ---- words ---- */

static bool read_double(struct splitter *s)
{
    s->has_word = s->is_quoted = true;
    for (s->at++; s->at < s->line.n && peek(s, 0) != '"';) {
        char c = peek(s, 0);
        if (c == '$' || c == '`')
            return false;
        if (c == '\\' && strchr("\\\"", peek(s, 1)) && peek(s, 1))
            s->at++;
        else if (c == '\\' && strchr("$`\n", peek(s, 1)))
            return false;
        word_add(s, peek(s, 0));
    }
    s->at++;
    return s->at <= s->line.n;
}

static bool is_number(struct str word)
{
    size_t i = 0;
    while (i < word.n && word.p[i] >= '0' && word.p[i] <= '9')
        i++;
    return word.n && i == word.n;
}

/* >/dev/null, 2>/dev/null, >&2, 2>&1: output that goes nowhere new. */
static bool read_redirection(struct splitter *s)
{
    struct str before = buf_str(&s->word);
    if (is_number(before) && !s->is_quoted) {
        if (before.n > 1) /* how many digits a shell takes for a stream is its own affair */
            return false;
        buf_reset(&s->word);
        s->has_word = false;
    }
    struct str rest = str_from(s->line, s->at);
    static const char *const harmless[] = {">&1",         ">&2",        ">/dev/null",
                                           "> /dev/null", "</dev/null", "< /dev/null",
                                           ">>/dev/null", NULL};
    for (size_t i = 0; harmless[i]; i++) {
        size_t n = strlen(harmless[i]);
        if (!str_starts(rest, str_of(harmless[i])))
            continue;
        if (rest.n > n && !strchr(" \t\n;|&", rest.p[n]))
            return false;
        s->at += n;
        return end_word(s);
    }
    return false;
}

static enum command_join join_of(char c, bool is_double)
{
    if (c == '&')
        return is_double ? JOIN_AND : JOIN_BACKGROUND;
    if (c == '|')
        return is_double ? JOIN_OR : JOIN_PIPE;
    return JOIN_THEN;
}

static void skip_comment(struct splitter *s)
{
    while (s->at < s->line.n && peek(s, 0) != '\n')
        s->at++;
}

static bool step(struct splitter *s)
{
    char c = peek(s, 0);
    if (c == '\0' || c == '\r' || strchr("$`(){}", c)) /* braces expand, also inside a word */
        return false;
    if (c == ' ' || c == '\t') {
        s->at++;
        return end_word(s);
    }
    if (strchr(";&|\n", c)) {
        bool is_double = c != ';' && c != '\n' && peek(s, 1) == c;
        bool ok = end_command(s, join_of(c, is_double));
        s->is_split = c == '&' && peek(s, 1) == '>';
        s->at += is_double ? 2 : 1;
        return ok;
    }
    if (c == '\'')
        return read_single(s);
    if (c == '"')
        return is_cat(s) ? read_cat(s) : read_double(s);
    if (c == '<' || c == '>')
        return is_input(s) ? read_input(s) : read_redirection(s);
    if (c == '#' && !s->has_word) {
        skip_comment(s);
        return true;
    }
    if (c == '\\') {
        if (peek(s, 1) == '\0' || peek(s, 1) == '\n')
            return false;
        s->at++;
        s->is_quoted = true;
    } else if (strchr("*?[", c) || (!s->has_word && c == '~'))
        s->is_open = true;
    word_add(s, peek(s, 0));
    return true;
}

static bool split(struct arena *a, struct str line, bool has_texts, struct commands *ret)
{
    struct splitter s = {.arena = a, .line = line, .has_texts = has_texts};
    bool ok = str_chr(line, '\0') == SIZE_MAX; /* shells end there, or drop it */
    while (ok && s.at < line.n)
        ok = step(&s);
    ok = ok && end_command(&s, JOIN_END);
    *ret = s.done;
    buf_clear(&s.word);
    return ok;
}

bool command_split(struct arena *a, struct str line, struct commands *ret)
{
    return split(a, line, false, ret);
}

bool command_split_texts(struct arena *a, struct str line, struct commands *ret)
{
    return split(a, line, true, ret);
}

static void add_words(struct arena *a, struct str line, struct simple_command *all,
                      size_t *capacity)
{
    AUTO(buf) struct buf word = BUF_INIT;
    for (size_t i = 0; i <= line.n; i++) {
        char c = i < line.n ? line.p[i] : '\0';
        bool is_edge = c == '\0' || strchr(" \t\r\n;&|()<>{}$`=", c);
        if (!is_edge && !strchr("'\"\\", c))
            buf_addc(&word, c);
        if (is_edge && word.n) {
            ARENA_GROW(a, all->words, all->n, *capacity);
            all->words[all->n++] = arena_str(a, buf_str(&word));
            buf_reset(&word);
        }
    }
}

/* Behind a backslash at the end of a line the word goes on, unless the backslash is quoted or
 * stands in a comment: such lines are read both ways. */
struct simple_command command_words(struct arena *a, struct str line)
{
    AUTO(buf) struct buf joined = BUF_INIT;
    struct simple_command all = {0};
    size_t capacity = 0, at;
    add_words(a, line, &all, &capacity);
    struct str rest = line, mark = STR("\\\n");
    for (; (at = str_find(rest, mark)) != SIZE_MAX; rest = str_from(rest, at + mark.n))
        buf_add(&joined, str_cut(rest, at));
    if (rest.n < line.n) {
        buf_add(&joined, rest);
        add_words(a, buf_str(&joined), &all, &capacity);
    }
    return all;
}
