/* SPDX-License-Identifier: MIT */
/* `trivet sessions export`: a conversation as Markdown, or as a web page. */
#include "base/path.h"
#include "base/utf8.h"
#include "cli/sessions_impl.h"
#include "context/export.h"
#include "dialects/page.h"

#include <unistd.h>

static void put_page(struct sessions_command *c, const struct session_found *f,
                     const struct message *all, size_t n, struct buf *out)
{
    struct page p = {
        .title = sessions_title(&f->row).n ? utf8_cut_chars(sessions_title(&f->row), 120)
                                           : f->row.id,
        .id = f->row.id,
        .program = str_of(f->program),
        .model = f->row.model,
        .cwd = f->row.cwd,
        .created_ms = f->row.created_ms,
        .modified_ms = f->row.modified_ms,
        .messages = all,
        .n_messages = n,
    };
    page_read_calls(&c->arena, f->row.path, &p);
    page_put(out, &p);
}

/* Never over a file that is there. */
static bool write_new(struct str to, struct str text, struct error *err)
{
    AUTO(buf) struct buf path = BUF_INIT;
    path_absolute(&path, path_cwd(), to);
    return export_create(buf_str(&path), path_cwd(), text, err);
}

bool sessions_export_await(void *state, struct error *err)
{
    struct sessions_command *c = state;
    AUTO(buf) struct buf text = BUF_INIT;
    struct message *all;
    size_t n;
    const struct session_found *f = sessions_named(c, 1, "export needs the id of a session", err);
    if (!f || !sessions_read_await(c, f, &c->arena, &all, &n, err))
        return false;
    c->exit_code = 0;
    struct str title = sessions_title(&f->row).n ? sessions_title(&f->row) : f->row.id;
    bool is_page = c->args.as_html || str_ends(c->args.output, STR(".html"));
    if (is_page)
        put_page(c, f, all, n, &text);
    else
        export_markdown(&text, title, all, n);
    if (c->args.output.p)
        return write_new(c->args.output, buf_str(&text), err);
    buf_add(&c->out, buf_str(&text));
    return true;
}
