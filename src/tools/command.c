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
    struct commands done;
    size_t room; /* of done.v */
    struct command now;
    size_t now_room;
};

/* Words that begin something which is not a simple command. */
static const char *const reserved[] = {
    "if",    "then", "else",   "elif",     "fi",   "do",     "done",  "case", "esac", "while",
    "until", "for",  "select", "function", "time", "coproc", "in",    "{",    "}",    "!",
    "[[",    "]]",   "eval",   "source",   ".",    "exec",   "alias", "trap", NULL};

static bool is_reserved(struct str word)
{
    for (size_t i = 0; reserved[i]; i++)
        if (str_is(word, reserved[i]))
            return true;
    return false;
}

static void *grown(struct arena *a, const void *old, size_t n, size_t *room, size_t size)
{
    if (n < *room)
        return (void *)old;
    *room = *room ? *room * 2 : 8;
    void *v = arena_alloc(a, *room * size);
    if (n)
        memcpy(v, old, n * size);
    return v;
}

static bool is_assignment(struct str word)
{
    size_t eq = str_chr(word, '=');
    if (eq == SIZE_MAX || eq == 0)
        return false;
    for (size_t i = 0; i < eq; i++) {
        char c = word.p[i];
        bool is_name = c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       (i && c >= '0' && c <= '9');
        if (!is_name)
            return false;
    }
    return true;
}

/* False when the word makes the command one that cannot be read. */
static bool end_word(struct splitter *s)
{
    if (!s->has_word)
        return true;
    struct str word = arena_str(s->arena, s->word.n ? buf_str(&s->word) : STR(""));
    bool is_first = s->now.n == 0;
    if (is_first && ((!s->is_quoted && is_reserved(word)) || is_assignment(word)))
        return false;
    s->now.words = grown(s->arena, s->now.words, s->now.n, &s->now_room, sizeof *s->now.words);
    s->now.words[s->now.n++] = word;
    buf_reset(&s->word);
    s->has_word = s->is_quoted = false;
    return true;
}

static bool end_command(struct splitter *s)
{
    if (!end_word(s))
        return false;
    if (!s->now.n)
        return true;
    s->done.v = grown(s->arena, s->done.v, s->done.n, &s->room, sizeof *s->done.v);
    s->done.v[s->done.n++] = s->now;
    s->now = (struct command){0};
    s->now_room = 0;
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

/* >/dev/null, 2>/dev/null, >&2, 2>&1: output that goes nowhere new. */
static bool read_redirection(struct splitter *s)
{
    struct str before = buf_str(&s->word);
    bool is_numbered = before.n == 1 && before.p[0] >= '0' && before.p[0] <= '9' && !s->is_quoted;
    if (is_numbered) {
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
        s->at += c != ';' && c != '\n' && peek(s, 1) == c ? 2 : 1;
        return end_command(s);
    }
    if (c == '\'')
        return read_single(s);
    if (c == '"')
        return read_double(s);
    if (c == '<' || c == '>')
        return read_redirection(s);
    if (c == '#' && !s->has_word) {
        skip_comment(s);
        return true;
    }
    if (c == '\\') {
        if (peek(s, 1) == '\0' || peek(s, 1) == '\n')
            return false;
        s->at++;
        s->is_quoted = true;
    }
    word_add(s, peek(s, 0));
    return true;
}

bool command_split(struct arena *a, struct str line, struct commands *ret)
{
    struct splitter s = {.arena = a, .line = line};
    bool ok = true;
    while (ok && s.at < line.n)
        ok = step(&s);
    ok = ok && end_command(&s);
    *ret = s.done;
    buf_clear(&s.word);
    return ok;
}

struct command command_words(struct arena *a, struct str line)
{
    struct splitter s = {.arena = a, .line = line};
    struct command all = {0};
    size_t room = 0;
    for (size_t i = 0; i <= line.n; i++) {
        char c = i < line.n ? line.p[i] : '\0';
        bool is_edge = c == '\0' || strchr(" \t\r\n;&|()<>{}$`=", c);
        if (!is_edge && !strchr("'\"\\", c))
            buf_addc(&s.word, c);
        if (is_edge && s.word.n) {
            all.words = grown(a, all.words, all.n, &room, sizeof *all.words);
            all.words[all.n++] = arena_str(a, buf_str(&s.word));
            buf_reset(&s.word);
        }
    }
    buf_clear(&s.word);
    return all;
}
