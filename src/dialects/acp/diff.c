/* SPDX-License-Identifier: MIT */
/* Unified diffs to pairs of texts: ACP shows the old and the new text of a region, here of each
 * hunk. */
#include "dialects/acp/methods.h"

struct hunk {
    struct buf old_text, new_text;
    int64_t line;  /* first changed line of the new text */
    bool is_new;   /* there was no line before */
    bool is_begun; /* a changed line was met */
};

/* "@@ -3,7 +3,8 @@": the numbers of both sides. */
static void begin_hunk(struct hunk *h, struct str head)
{
    struct str words = str_from(head, 4), before, after;
    int64_t first = 1, n_old = -1;
    words = str_split(words, ' ', &before);
    str_split(words, ' ', &after);
    struct str count = str_split(before, ',', &before);
    str_split(str_from(after, 1), ',', &after);
    str_int(count, &n_old);
    str_int(after, &first);
    buf_reset(&h->old_text);
    buf_reset(&h->new_text);
    *h = (struct hunk){.old_text = h->old_text,
                       .new_text = h->new_text,
                       .line = first < 1 ? 1 : first,
                       .is_new = n_old == 0 || str_is(before, "0")};
}

static void cut_newline(struct buf *b)
{
    if (b->n && b->p[b->n - 1] == '\n')
        buf_cut(b, b->n - 1);
}

static void add_line(struct hunk *h, struct str line, char *last)
{
    struct str text = str_from(line, 1);
    char sign = line.n ? line.p[0] : ' ';
    if (sign == '\\') { /* no newline at the end of the line before */
        if (*last != '+')
            cut_newline(&h->old_text);
        if (*last != '-')
            cut_newline(&h->new_text);
        return;
    }
    h->is_begun |= sign != ' ';
    h->line += !h->is_begun;
    *last = sign;
    if (sign != '+') {
        buf_add(&h->old_text, text);
        buf_addc(&h->old_text, '\n');
    }
    if (sign != '-') {
        buf_add(&h->new_text, text);
        buf_addc(&h->new_text, '\n');
    }
}

static void put_hunk(struct jw *w, struct str path, const struct hunk *h)
{
    jw_obj(w);
    jw_kz(w, "type", "diff");
    jw_kstr(w, "path", path);
    if (h->is_new && !h->old_text.n)
        jw_knull(w, "oldText");
    else
        jw_kstr(w, "oldText", buf_str(&h->old_text));
    jw_kstr(w, "newText", buf_str(&h->new_text));
    jw_obj_end(w);
}

int64_t acp_put_diff(struct jw *w, struct str path, struct str diff)
{
    struct hunk h = {0};
    struct str line;
    int64_t first = 0;
    bool is_open = false;
    char last = ' ';
    while (str_line(&diff, &line)) {
        if (str_starts(line, STR("@@ "))) {
            if (is_open)
                put_hunk(w, path, &h);
            first = first ? first : is_open ? h.line : 0;
            begin_hunk(&h, line);
            is_open = true;
        } else if (is_open) {
            add_line(&h, line, &last);
        }
    }
    if (is_open)
        put_hunk(w, path, &h);
    first = first ? first : h.line;
    buf_clear(&h.old_text);
    buf_clear(&h.new_text);
    return first;
}
