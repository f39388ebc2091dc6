/* SPDX-License-Identifier: MIT */
/* The text about skills in the system instruction (loaf 184). */
#include "context/skills.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/utf8.h"
#include "context/foreign.h"

enum { CONTENT_MAX = 256 << 10 };

static const char rules[] =
    "\nHow to use them:\n"
    "- When the user names a skill with $name, or the task fits what a skill says about itself, "
    "open its file before anything else and do what it says.\n"
    "- Relative paths inside a skill belong to the directory of its file.\n"
    "- Read only those further files of a skill that the task needs.\n"
    "- A skill holds for this turn; later turns name it again.\n";

enum { BUDGET_MOST = 8000, BUDGET_LEAST = 1000, WHOLE = 1 << 20, PLACES_MAX = 8, ABOUT_MAX = 300 };

size_t skills_budget(int64_t window)
{
    int64_t chars = window * 4 * 2 / 100;
    return window ? (size_t)MIN(MAX(chars, (int64_t)BUDGET_LEAST), (int64_t)BUDGET_MOST)
                  : BUDGET_MOST;
}

/* chars: of the description that are shown. */
static void put_line(struct buf *out, const struct skill_line *line, size_t chars)
{
    struct str text = utf8_cut_chars(line->description, chars);
    buf_addf(out, "- %.*s%s", STR_FMT(line->name), text.n ? ": " : "");
    for (size_t i = 0; i < text.n; i++)
        buf_addc(out, text.p[i] == '\n' || text.p[i] == '\r' ? ' ' : text.p[i]);
    buf_addz(out, text.n && text.n < line->description.n ? "..." : "");
    if (line->path.n)
        buf_addf(out, " (file: %.*s)", STR_FMT(line->path));
    buf_addc(out, '\n');
}

/* The directories that have the files, each once. */
static void put_places(const struct skill_line *lines, size_t n, struct buf *out)
{
    struct str places[PLACES_MAX];
    size_t n_places = 0;
    for (size_t i = 0; i < n; i++) {
        struct str place = path_dir(path_dir(lines[i].path));
        bool is_new = lines[i].path.n && n_places < PLACES_MAX;
        for (size_t k = 0; k < n_places; k++)
            is_new &= !str_eq(places[k], place);
        if (is_new)
            places[n_places++] = place;
    }
    for (size_t i = 0; i < n_places; i++)
        buf_addf(out, "%s %.*s/NAME/SKILL.md", i ? "," : "Files:", STR_FMT(places[i]));
    if (n_places)
        buf_addc(out, '\n');
}

/* All names in one paragraph. */
static void put_names(const struct skill_line *lines, size_t n, size_t budget, struct buf *out)
{
    size_t before = out->n, i = 0;
    for (; i < n && out->n - before < budget * 2; i++)
        buf_addf(out, "%s%.*s", i ? ", " : "", STR_FMT(lines[i].name));
    if (i < n)
        buf_addf(out, " and %zu more", n - i);
    buf_addc(out, '\n');
    put_places(lines, n, out);
}

void skills_put_lines(const struct skill_line *lines, size_t n, size_t budget, struct buf *out)
{
    static const size_t steps[] = {WHOLE, 300, 160, 80, 40};
    for (size_t k = 0; k < ARRAY_LEN(steps); k++) {
        AUTO(buf) struct buf text = BUF_INIT;
        for (size_t i = 0; i < n; i++)
            put_line(&text, &lines[i], steps[k]);
        if (text.n <= budget) {
            buf_add(out, buf_str(&text));
            return;
        }
    }
    put_names(lines, n, budget, out);
}

static void put_list(const struct skills *s, size_t budget, struct buf *out)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct skill_line *lines = arena_array(&a, struct skill_line, s->n);
    for (size_t i = 0; i < s->n; i++)
        lines[i] = (struct skill_line){s->items[i].name, s->items[i].description, s->items[i].path};
    buf_addz(out, "\n\n## Skills\n\n");
    skills_put_lines(lines, s->n, budget, out);
    buf_addz(out, rules);
}

void skills_put_list_for(const struct skills *s, const char *tool, size_t budget, struct buf *out)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct skill_line *lines = arena_array(&a, struct skill_line, s->n + 1);
    for (size_t i = 0; i < s->n; i++)
        lines[i] = (struct skill_line){
            .name = s->items[i].name,
            .description = utf8_cut_chars(s->items[i].description, ABOUT_MAX)};
    if (!s->n)
        return;
    buf_addf(out, "\n\nSkills of this project and user; the tool %s reads one:\n\n", tool);
    skills_put_lines(lines, s->n, budget, out);
    buf_cut(out, out->n - 1);
}

/* Nothing if the file was removed meanwhile: the list still names it. */
static void put_content(const struct skill *skill, struct buf *out)
{
    AUTO(buf) struct buf text = BUF_INIT;
    struct error ignored;
    if (!foreign_read(skill->tree, skill->path, CONTENT_MAX, &text, &ignored))
        return;
    buf_addf(out, "\n<skill>\n<name>%.*s</name>\n<path>%.*s</path>\n", STR_FMT(skill->name),
             STR_FMT(skill->path));
    utf8_repair(out, str_trim(buf_str(&text)));
    buf_addz(out, "\n</skill>\n");
}

void skills_put_list(const struct skills *s, size_t budget, struct buf *out)
{
    if (s->n)
        put_list(s, budget, out);
}

void skills_put_chosen(const struct skill *const *chosen, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n; i++)
        put_content(chosen[i], out);
}
