/* SPDX-License-Identifier: MIT */
/* The text about skills in the system instruction (loaf 184). */
#include "context/skills.h"

#include "base/err.h"
#include "base/mem.h"
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

static void put_line(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        buf_addc(out, text.p[i] == '\n' || text.p[i] == '\r' ? ' ' : text.p[i]);
}

static void put_list(const struct skills *s, struct buf *out)
{
    buf_addz(out, "\n\n## Skills\n\n");
    for (size_t i = 0; i < s->n; i++) {
        buf_addf(out, "- %.*s: ", STR_FMT(s->items[i].name));
        put_line(out, s->items[i].description);
        buf_addf(out, " (file: %.*s)\n", STR_FMT(s->items[i].path));
    }
    buf_addz(out, rules);
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

void skills_put_list(const struct skills *s, struct buf *out)
{
    if (s->n)
        put_list(s, out);
}

void skills_put_chosen(const struct skill *const *chosen, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n; i++)
        put_content(chosen[i], out);
}
