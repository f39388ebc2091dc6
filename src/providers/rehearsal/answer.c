/* SPDX-License-Identifier: MIT */
/* A small grammar of words.  The text is split into words; the first known verb with a valid object
 * decides:
 *
 *     search, find, grep, look for       and a pattern: quoted, or the next word that is no filler
 *     read, show, open, cat, look at     and a word that looks like a file name
 *     list, ls, show, what, which        and a word like files, here, directory (or nothing else)
 */
#include "providers/rehearsal/answer.h"

#include "base/path.h"
#include "base/utf8.h"

enum { MAX_WORDS = 64, QUOTED_LINES = 5, QUOTED_BYTES = 120, SUMMARY_MESSAGES = 12 };

struct words {
    struct str all[MAX_WORDS];
    bool is_quoted[MAX_WORDS];
    size_t n;
};

/* --- words --- */

static bool is_one_of(struct str word, const char *const *list)
{
    for (; *list; list++)
        if (str_ieq(word, str_of(*list)))
            return true;
    return false;
}

static struct str strip_punctuation(struct str w)
{
    while (w.n && strchr(",;:!?()", w.p[w.n - 1]))
        w.n--;
    while (w.n && strchr("(", w.p[0]))
        w = str_from(w, 1);
    if (w.n > 1 && w.p[w.n - 1] == '.' && !str_is(w, ".."))
        w.n--;
    return w;
}

/* A quote opens only at the beginning of a word, so that apostrophes do not count. */
static struct str take_word(struct str text, struct str *ret_word, bool *ret_is_quoted)
{
    char quote = text.p[0];
    if (quote == '"' || quote == '\'' || quote == '`') {
        size_t end = str_chr(str_from(text, 1), quote);
        if (end != SIZE_MAX) {
            *ret_word = str_n(text.p + 1, end);
            *ret_is_quoted = true;
            return str_from(text, end + 2);
        }
    }
    size_t n = 0;
    while (n < text.n && (n == 0 || !strchr(" \t\r\n", text.p[n])))
        n++;
    *ret_word = strip_punctuation(str_cut(text, n));
    *ret_is_quoted = false;
    return str_from(text, n);
}

static void words_split(struct words *w, struct str text)
{
    w->n = 0;
    for (text = str_trim(text); text.n && w->n < MAX_WORDS; text = str_trim(text)) {
        text = take_word(text, &w->all[w->n], &w->is_quoted[w->n]);
        if (w->all[w->n].n)
            w->n++;
    }
}

/* --- intents --- */

static bool looks_like_path(const struct words *w, size_t i)
{
    static const char *const known[] = {"readme", "makefile", "license", "dockerfile", NULL};
    struct str s = w->all[i];
    if (w->is_quoted[i] || is_one_of(s, known))
        return true;
    size_t dot = str_rchr(s, '.');
    return str_chr(s, '/') != SIZE_MAX || (dot != SIZE_MAX && dot + 1 < s.n);
}

static struct str find_path(const struct words *w, size_t from)
{
    for (size_t i = from; i < w->n; i++)
        if (looks_like_path(w, i))
            return w->all[i];
    return STR_NONE;
}

/* "... in src": the word after in, of or under, unless it only means "here". */
static struct str find_place(const struct words *w, size_t from)
{
    static const char *const in[] = {"in", "of", "under", "inside", "below", NULL};
    static const char *const here[] = {"the",       "this",    "here",  "my",   "current",
                                       "directory", "folder",  "files", "it",   "workspace",
                                       "project",   "working", "all",   "file", NULL};
    for (size_t i = from; i + 1 < w->n; i++) {
        if (!is_one_of(w->all[i], in))
            continue;
        for (size_t k = i + 1; k < w->n && k < i + 4; k++)
            if (!is_one_of(w->all[k], here))
                return w->all[k];
    }
    return STR_NONE;
}

static bool parse_search(const struct words *w, size_t at, struct intent *ret)
{
    static const char *const dull[] = {"for",  "the",    "a",     "all",   "any",  "me",
                                       "in",   "files",  "file",  "code",  "that", "which",
                                       "with", "where",  "lines", "named", "text", "containing",
                                       "word", "string", "out",   "every", NULL};
    for (size_t i = at + 1; i < w->n; i++) {
        if (!w->is_quoted[i] && is_one_of(w->all[i], dull))
            continue;
        *ret = (struct intent){
            .action = ACTION_SEARCH, .pattern = w->all[i], .path = find_place(w, i + 1)};
        return true;
    }
    return false;
}

static bool parse_read(const struct words *w, size_t at, struct intent *ret)
{
    struct str path = find_path(w, at + 1);
    if (!path.n || str_ends(path, STR("/")))
        return false;
    *ret = (struct intent){.action = ACTION_READ, .path = path};
    return true;
}

static bool parse_list(const struct words *w, size_t at, struct intent *ret)
{
    static const char *const things[] = {"files",   "file",     "here",        "directory", "dir",
                                         "folder",  "folders",  "directories", "workspace", "tree",
                                         "project", "contents", NULL};
    static const char *const bare[] = {"ls", "list", "dir", NULL};
    static const char *const dull[] = {"everything", "all", "it", "them", "please", "now", NULL};
    struct str path = find_path(w, at + 1), place = find_place(w, at + 1);
    bool makes_sense = path.n || (w->n <= at + 2 && is_one_of(w->all[at], bare));
    for (size_t i = at + 1; i < w->n && !makes_sense; i++)
        makes_sense = is_one_of(w->all[i], things);
    if (!makes_sense)
        return false;
    struct str next = w->n == at + 2 ? w->all[at + 1] : STR_NONE;
    if (!path.n && next.n && next.p[0] != '-' && !is_one_of(next, things) && !is_one_of(next, dull))
        path = next;
    bool is_file = path_ext(path).n > 1; /* "what is in main.c" */
    *ret = (struct intent){.action = is_file ? ACTION_READ : ACTION_LIST,
                           .path = path.n ? path : place};
    return true;
}

/* "look for x" searches, "look at x" reads. */
static bool parse_look(const struct words *w, size_t at, struct intent *ret)
{
    if (at + 1 >= w->n)
        return false;
    return str_ieq(w->all[at + 1], STR("for")) ? parse_search(w, at, ret) : parse_read(w, at, ret);
}

bool answer_intent(struct str text, struct intent *ret)
{
    static const char *const search[] = {"search", "find", "grep", NULL};
    static const char *const read[] = {"read", "show", "open", "cat", "print", "display", NULL};
    static const char *const list[] = {"list",   "ls",    "show",  "dir",     "what",
                                       "what's", "whats", "which", "display", NULL};
    struct words w;
    words_split(&w, text);
    for (size_t i = 0; i < w.n; i++) {
        if (w.is_quoted[i])
            continue;
        if (is_one_of(w.all[i], search) && parse_search(&w, i, ret))
            return true;
        if (str_ieq(w.all[i], STR("look")) && parse_look(&w, i, ret))
            return true;
        if (is_one_of(w.all[i], read) && parse_read(&w, i, ret))
            return true;
        if (is_one_of(w.all[i], list) && parse_list(&w, i, ret))
            return true;
    }
    return false;
}

/* --- answers --- */

static void put_excerpt(struct buf *out, struct str text)
{
    struct str line;
    for (int i = 0; i < QUOTED_LINES && str_line(&text, &line); i++) {
        struct str cut = utf8_cut(line, QUOTED_BYTES);
        buf_addf(out, "    %.*s%s\n", STR_FMT(cut), cut.n < line.n ? "..." : "");
    }
}

static size_t count_lines(struct str text)
{
    size_t n = 0;
    struct str line;
    while (str_line(&text, &line))
        n++;
    return n;
}

static void say_result(struct buf *out, const struct facts *f)
{
    struct str text = f->tool_output;
    size_t n = count_lines(text);
    if (str_is_blank(text)) {
        buf_addf(out, "The tool %.*s gave nothing back.", STR_FMT(f->tool_name));
        return;
    }
    if (f->tool_failed)
        buf_addf(out, "The tool %.*s could not do it. It says:\n\n", STR_FMT(f->tool_name));
    else
        buf_addf(out, "The tool %.*s gave %zu line%s. %s\n\n", STR_FMT(f->tool_name), n,
                 n == 1 ? "" : "s", n > QUOTED_LINES ? "It begins like this:" : "Here it is:");
    put_excerpt(out, text);
}

static void say_who(struct buf *out)
{
    buf_addz(out,
             "This is trivet's rehearsal model: no real model is connected, and everything I say "
             "is made up by a small script on this machine.\n\n"
             "Offline I can use the tools of this session. Try \"list the files\", "
             "\"read README.md\" or \"search for main\".\n\n"
             "To connect a real model set OPENAI_API_KEY and TRIVET_MODEL=openai/MODEL, or point "
             "OPENAI_BASE_URL at a local server.");
}

static void put_first_line(struct buf *out, struct str text)
{
    struct str rest = str_trim(text), line = STR("");
    str_line(&rest, &line);
    line = str_trim(line);
    struct str cut = utf8_cut(line, QUOTED_BYTES);
    buf_addf(out, "%.*s%s", STR_FMT(cut), cut.n < line.n || rest.n ? " ..." : "");
}

static void put_message_line(struct buf *out, struct arena *a, const struct message *m)
{
    buf_addf(out, "- %s: ", m->role == ROLE_SUMMARY ? "earlier summary" : role_name(m->role));
    put_first_line(out, message_text_of(a, m));
    for (size_t i = 0; i < m->n_blocks; i++)
        if (m->blocks[i].kind == BLOCK_CALL)
            buf_addf(out, " [calls %.*s]", STR_FMT(m->blocks[i].name));
    buf_addc(out, '\n');
}

static void say_summary(struct buf *out, struct arena *a, const struct facts *f)
{
    const struct ask *ask = f->ask;
    size_t first = ask->n_messages > SUMMARY_MESSAGES ? ask->n_messages - SUMMARY_MESSAGES : 0;
    buf_addz(out, "## Goal\n");
    for (size_t i = 0; i < ask->n_messages; i++) {
        if (ask->messages[i].role == ROLE_USER) {
            put_first_line(out, message_text_of(a, &ask->messages[i]));
            break;
        }
    }
    buf_addf(out, "\n\n## Progress\nThe conversation had %zu messages so far.\n", ask->n_messages);
    if (first)
        buf_addf(out, "- (%zu earlier messages)\n", first);
    for (size_t i = first; i < ask->n_messages; i++)
        put_message_line(out, a, &ask->messages[i]);
    buf_addz(out, "\n## Next step\nGo on with what the user asks next.");
}

/* --- steps --- */

static void add_text(struct steps *s, struct arena *a, const struct buf *text)
{
    AUTO(buf) struct buf clean = BUF_INIT;
    utf8_repair(&clean, buf_str(text));
    s->steps[s->n++] = (struct step){.verb = VERB_SAY, .text = arena_str(a, buf_str(&clean))};
}

static void do_intent(struct steps *s, struct arena *a, const struct facts *f,
                      const struct intent *intent, struct buf *text)
{
    const struct tool_def *tool = action_tool(f->ask, intent->action);
    if (!tool) {
        buf_addf(text, "I would like to %s, but this session offers no tool for it.",
                 action_about(intent->action));
        add_text(s, a, text);
        return;
    }
    buf_addf(text, "I will %s with %.*s.", action_about(intent->action), STR_FMT(tool->name));
    add_text(s, a, text);
    s->steps[s->n++] = (struct step){
        .verb = VERB_CALL,
        .name = arena_str(a, tool->name),
        .raw = action_arguments(a, f, tool, intent),
    };
}

struct steps answer_steps(struct arena *a, const struct facts *f)
{
    AUTO(buf) struct buf text = BUF_INIT;
    struct steps s = {arena_array(a, struct step, 2), 0};
    struct intent intent;
    if (f->is_summary) {
        say_summary(&text, a, f);
    } else if (f->has_result) {
        say_result(&text, f);
    } else if (answer_intent(f->last_user, &intent)) {
        do_intent(&s, a, f, &intent, &text);
        return s;
    } else {
        say_who(&text);
    }
    add_text(&s, a, &text);
    return s;
}
