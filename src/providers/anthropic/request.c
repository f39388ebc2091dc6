/* SPDX-License-Identifier: MIT */
/* An ask as a Messages request: the address, the headers, and the body around the messages.  The
 * same ask gives the same bytes, and members that do not change from round to round are first, the
 * messages last: prompt caches match prefixes.
 *
 * Of the four cache marks allowed in a request, one is on the system text, one on the last tool,
 * and two are in the messages (messages.c).
 */
#include "providers/anthropic/anthropic.h"

static struct str base_of(const struct ask *ask)
{
    struct str base = ask->base_url.n ? ask->base_url : str_of(provider_anthropic.base_url);
    while (base.n > 0 && base.p[base.n - 1] == '/')
        base.n--;
    return base;
}

static bool is_anthropic_itself(const struct ask *ask)
{
    struct str rest = base_of(ask), host = STR("https://api.anthropic.com");
    return str_starts(rest, host) && (rest.n == host.n || rest.p[host.n] == '/');
}

void anthropic_put_url(const struct ask *ask, struct buf *url)
{
    buf_add(url, base_of(ask));
    buf_addz(url, "/messages");
}

/* Other servers support only the older version. */
size_t anthropic_headers(const struct ask *ask, struct arena *a, struct http_header *out,
                         size_t max)
{
    (void)a;
    if (max == 0)
        return 0;
    out[0] = (struct http_header){STR("anthropic-version"),
                                  is_anthropic_itself(ask) ? STR("2026-10-21") : STR("2023-06-01")};
    return 1;
}

static void put_mark(struct jw *w)
{
    jw_kraw(w, "cache_control", STR(ANTHROPIC_CACHE_KIND));
}

static void put_system(struct jw *w, const struct ask *ask)
{
    if (str_is_blank(ask->system))
        return; /* blank text is refused */
    jw_karr(w, "system");
    jw_obj(w);
    jw_kz(w, "type", "text");
    jw_kstr(w, "text", ask->system);
    put_mark(w);
    jw_obj_end(w);
    jw_arr_end(w);
}

static void put_tools(struct jw *w, const struct ask *ask)
{
    if (ask->n_tools == 0)
        return;
    jw_karr(w, "tools");
    for (size_t i = 0; i < ask->n_tools; i++) {
        const struct tool_def *tool = &ask->tools[i];
        jw_obj(w);
        jw_kstr(w, "name", tool->name);
        jw_kstr(w, "description", tool->about);
        jw_kraw(w, "input_schema",
                tool->schema.n ? tool->schema : STR("{\"type\":\"object\",\"properties\":{}}"));
        if (i + 1 == ask->n_tools)
            put_mark(w);
        jw_obj_end(w);
    }
    jw_arr_end(w);
}

void anthropic_put_body(const struct ask *ask, struct buf *body)
{
    struct jw w = JW(body);
    jw_obj(&w);
    jw_kstr(&w, "model", ask->model.id);
    jw_kint(&w, "max_tokens", anthropic_max_tokens(ask));
    jw_kbool(&w, "stream", true);
    anthropic_put_thinking(&w, ask);
    put_tools(&w, ask);
    put_system(&w, ask);
    anthropic_put_messages(&w, ask);
    jw_obj_end(&w);
}
