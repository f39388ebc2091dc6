/* SPDX-License-Identifier: MIT */
#include "providers/rehearsal/facts.h"

#include "base/utf8.h"

enum { TOOL_OUTPUT_SHOWN = 400 };

static struct str find_workspace(struct str system)
{
    struct str line, prefix = STR("Workspace: ");
    while (str_line(&system, &line)) {
        if (!str_starts(line, prefix))
            continue;
        struct str path = str_trim(str_from(line, prefix.n));
        if (path.n)
            return path;
    }
    return STR(".");
}

/* Reads the messages after the last user message, from the end: a conversation may be long. */
static void take_last_part(struct facts *f, struct arena *a)
{
    const struct ask *ask = f->ask;
    size_t i = ask->n_messages;
    while (i > 0 && ask->messages[i - 1].role != ROLE_USER) {
        enum role role = ask->messages[--i].role;
        f->round += role == ROLE_ASSISTANT;
        f->has_result |= role == ROLE_TOOL;
    }
    if (i > 0)
        f->last_user = message_text_of(a, &ask->messages[i - 1]);
}

static const struct message *find_last_result(const struct ask *ask)
{
    for (size_t i = ask->n_messages; i-- > 0;)
        if (ask->messages[i].role == ROLE_TOOL)
            return &ask->messages[i];
    return NULL;
}

static void take_last_result(struct facts *f, struct arena *a)
{
    const struct message *m = f->has_result ? find_last_result(f->ask) : NULL;
    if (!m)
        return;
    f->tool_output = message_text_of(a, m);
    f->tool_name = m->name.n ? m->name : STR("call");
    f->tool_failed = m->is_error;
}

/* Output of an earlier turn is searched for only when needed. */
static struct str last_output(const struct facts *f)
{
    const struct message *m = f->has_result ? NULL : find_last_result(f->ask);
    return m && m->n_blocks ? m->blocks[0].text : f->tool_output;
}

static int64_t count_bytes(const struct ask *ask)
{
    int64_t n = ask->message_bytes;
    for (size_t i = 0; !ask->message_bytes && i < ask->n_messages; i++)
        n += message_bytes(&ask->messages[i]);
    return (int64_t)ask->system.n + n;
}

struct facts facts_of(struct arena *a, const struct ask *ask)
{
    struct facts f = {
        .ask = ask,
        .last_user = STR(""),
        .tool_output = STR(""),
        .tool_name = STR("call"),
        .call_tail = STR(""),
        .workspace = find_workspace(ask->system),
        .bytes = count_bytes(ask),
        .is_summary = ask->n_tools == 0 && str_ifind(ask->system, STR("summar")) != SIZE_MAX,
    };
    take_last_part(&f, a);
    take_last_result(&f, a);
    if (ask->n_messages && ask->messages[0].role == ROLE_SUMMARY)
        f.call_tail = arena_fmt(a, "_%08x",
                                (unsigned)str_hash(message_text_of(a, &ask->messages[0])));
    return f;
}

/* False for an unknown name. */
static bool put_value(struct buf *out, const struct facts *f, struct str name)
{
    if (str_is(name, "last_user"))
        buf_add(out, f->last_user);
    else if (str_is(name, "tool_output"))
        buf_add(out, utf8_cut(last_output(f), TOOL_OUTPUT_SHOWN));
    else if (str_is(name, "n_messages"))
        buf_addf(out, "%zu", f->ask->n_messages);
    else if (str_is(name, "model"))
        buf_addf(out, "rehearsal/%.*s", STR_FMT(f->ask->model.id));
    else
        return false;
    return true;
}

/* Handles the "{{" at the start of text; returns the rest. */
static struct str put_braces(struct buf *out, const struct facts *f, struct str text)
{
    if (str_starts(text, STR("{{{{"))) {
        buf_add(out, STR("{{"));
        return str_from(text, 4);
    }
    struct str inner = str_from(text, 2);
    size_t end = str_find(inner, STR("}}"));
    if (end != SIZE_MAX && put_value(out, f, str_cut(inner, end)))
        return str_from(inner, end + 2);
    buf_add(out, STR("{{"));
    return inner;
}

struct str facts_fill(struct arena *a, const struct facts *f, struct str text)
{
    AUTO(buf) struct buf out = BUF_INIT;
    AUTO(buf) struct buf clean = BUF_INIT;
    size_t at;
    while ((at = str_find(text, STR("{{"))) != SIZE_MAX) {
        buf_add(&out, str_cut(text, at));
        text = put_braces(&out, f, str_from(text, at));
    }
    buf_add(&out, text);
    utf8_repair(&clean, buf_str(&out));
    return arena_str(a, buf_str(&clean));
}

void facts_fill_json(struct jw *w, struct arena *a, const struct facts *f, yyjson_val *v)
{
    size_t i, max;
    yyjson_val *key, *item;
    if (yyjson_is_obj(v)) {
        jw_obj(w);
        yyjson_obj_foreach(v, i, max, key, item) {
            jw_keys(w, json_str(key));
            facts_fill_json(w, a, f, item);
        }
        jw_obj_end(w);
    } else if (yyjson_is_arr(v)) {
        jw_arr(w);
        yyjson_arr_foreach(v, i, max, item)
            facts_fill_json(w, a, f, item);
        jw_arr_end(w);
    } else if (yyjson_is_str(v)) {
        jw_str(w, facts_fill(a, f, json_str(v)));
    } else {
        jw_val(w, v);
    }
}
