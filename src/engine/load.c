/* SPDX-License-Identifier: MIT */
/* Reading a session file back: version 1 in order, version 2 along the active branch, with the
 * compactions applied, our own records understood and everything unknown skipped.
 */
#include "engine/history.h"

#include "base/time.h"
#include "engine/form.h"
#include "store/log.h"

struct node {            /* an entry of a version 2 file */
    struct node *before; /* in the file */
    struct str id, parent;
    struct message message;
    struct turn_mark *turn;
};

struct loader {
    struct history *h;
    struct header *hd;
    const struct file_form *form; /* or NULL */
    void *form_arg;
    bool has_header;
    bool keeps_all;     /* compactions are not applied */
    struct node *nodes; /* newest first; version 2 */
    struct str leaf;    /* target of the last leaf record that came after the last entry */
    bool has_leaf;
    bool has_records; /* messages came as records since the last head */
    size_t block_at;  /* where messages in the form follow them; SIZE_MAX: nowhere */
};

/* ---- compaction ---- */

static bool kept_index(const struct history *h, struct str first_kept, size_t *ret)
{
    int64_t n;
    if (str_starts(first_kept, STR("message:")) && str_int(str_from(first_kept, 8), &n) && n >= 0 &&
        (size_t)n < h->n) {
        *ret = (size_t)n;
        return true;
    }
    for (size_t i = 0; i < h->n; i++)
        if (first_kept.n && str_eq(h->messages[i].entry_id, first_kept)) {
            *ret = i;
            return true;
        }
    return false;
}

/* ---- turns that are over, in a dialect's form ---- */

/* The head that belongs to these messages never came: the records before them count. */
static void drop_block(struct loader *ld)
{
    if (ld->block_at != SIZE_MAX)
        ld->h->n = ld->block_at;
    ld->block_at = SIZE_MAX;
}

/* The messages behind the records stand for the entries from `from` on. */
static void settle(struct loader *ld, int64_t from)
{
    struct history *h = ld->h;
    size_t first = (size_t)MIN(MAX(from, 0), (int64_t)h->n);
    size_t block = MAX(MIN(ld->block_at, h->n), first);
    if (from >= 0)
        history_remove(h, first, block);
    ld->block_at = SIZE_MAX;
    ld->has_records = false;
}

static void add_message(struct loader *ld, const struct message *m, struct turn_mark *turn)
{
    size_t keep_from = ld->h->n;
    ld->h->was_ever_used = true;
    ld->hd->is_compacted |= m->role == ROLE_SUMMARY && ld->has_records;
    if (m->role != ROLE_SUMMARY || ld->keeps_all) {
        history_keep(ld->h, m, turn);
        return;
    }
    if (!kept_index(ld->h, m->first_kept, &keep_from))
        keep_from = ld->h->n;
    history_compact(ld->h, m, keep_from);
}

/* ---- records ---- */

static struct str keep(struct loader *ld, yyjson_val *v, const char *name)
{
    return arena_str(&ld->h->arena, json_get_str(v, name));
}

static void take_header(struct loader *ld, yyjson_val *v)
{
    struct header *hd = ld->hd;
    if (ld->has_header || !json_get_str(v, "id").n)
        return;
    ld->has_header = true;
    hd->version = json_get_int(v, "version", 1);
    hd->id = keep(ld, v, "id");
    hd->cwd = keep(ld, v, "cwd");
    hd->model = keep(ld, v, "model");
    hd->effort = keep(ld, v, "reasoningEffort");
    hd->parent_id = keep(ld, v, "parentId");
    hd->parent_path = keep(ld, v, "parentPath");
    if (!time_from_iso(json_get_str(v, "timestamp"), &hd->created_ms))
        hd->created_ms = 0;
    ld->h->is_tree = hd->version >= 2;
}

static void take_seq(struct loader *ld, yyjson_val *v)
{
    int64_t seq = json_get_int(v, "seq", 0);
    if (seq > ld->hd->last_seq)
        ld->hd->last_seq = seq;
}

static void take_node(struct loader *ld, yyjson_val *v, const struct message *m,
                      struct turn_mark *turn)
{
    struct node *n = arena_new(&ld->h->arena, struct node);
    *n = (struct node){.before = ld->nodes, .message = *m, .turn = turn};
    n->id = keep(ld, v, "id");
    n->parent = keep(ld, v, "parentId");
    n->message.entry_id = n->id;
    ld->nodes = n;
    ld->has_leaf = false;
}

/* The input waits no longer. */
static void end_waiting(struct loader *ld, struct str id)
{
    for (struct unrun_input **at = &ld->hd->waiting; id.n && *at; at = &(*at)->next)
        if (str_eq((*at)->turn_id, id)) {
            *at = (*at)->next;
            return;
        }
}

static void take_message(struct loader *ld, yyjson_val *v)
{
    struct message m;
    if (!message_get(&ld->h->arena, json_get(v, "message"), &m))
        return;
    struct turn_mark *turn = history_mark(ld->h, json_get_str(v, "turn"));
    drop_block(ld);
    ld->has_records = true;
    take_seq(ld, v);
    end_waiting(ld, json_get_str(v, "turn")); /* a turn that has said something waits no more */
    end_waiting(ld, json_get_str(v, "input"));
    if (m.role != ROLE_USER && !json_get(v, "seq")) /* an input has no event of its own */
        ld->hd->lost_seq = ld->hd->last_seq;
    if (ld->h->is_tree && json_get_str(v, "id").n)
        take_node(ld, v, &m, turn);
    else
        add_message(ld, &m, turn);
}

static void take_branch_summary(struct loader *ld, yyjson_val *v)
{
    struct message m = message_text(&ld->h->arena, ROLE_USER, keep(ld, v, "summary"));
    m.is_branch = true;
    take_node(ld, v, &m, NULL);
}

static void take_leaf(struct loader *ld, yyjson_val *v)
{
    ld->leaf = keep(ld, v, "targetId");
    ld->has_leaf = true;
}

static void take_info(struct loader *ld, yyjson_val *v)
{
    ld->hd->name = keep(ld, v, "name");
    if (json_get_str(v, "model").n)
        ld->hd->model = keep(ld, v, "model");
    if (json_get_str(v, "reasoningEffort").n)
        ld->hd->effort = keep(ld, v, "reasoningEffort");
}

static void take_input(struct loader *ld, yyjson_val *v)
{
    struct unrun_input *w = arena_new(&ld->h->arena, struct unrun_input), **end = &ld->hd->waiting;
    if (!message_get(&ld->h->arena, json_get(v, "message"), &w->message))
        return;
    end_waiting(ld, json_get_str(v, "of"));
    w->turn_id = keep(ld, v, "turn");
    w->kind = keep(ld, v, "kind");
    time_from_iso(json_get_str(v, "timestamp"), &w->time_ms);
    while (*end)
        end = &(*end)->next;
    *end = w;
}

/* The turn was refused after its message had been written. */
static void drop_refused(struct loader *ld, struct str turn_id)
{
    struct history *h = ld->h;
    for (size_t i = h->n; i-- > 0;)
        if (h->entries[i].turn && str_eq(h->entries[i].turn->id, turn_id))
            history_remove(h, i, i + 1);
    for (struct node **at = &ld->nodes; *at;)
        if ((*at)->turn && str_eq((*at)->turn->id, turn_id))
            *at = (*at)->before;
        else
            at = &(*at)->before;
}

static void take_input_over(struct loader *ld, yyjson_val *v)
{
    struct str turn = json_get_str(v, "turn");
    end_waiting(ld, turn);
    if (str_is(json_get_str(v, "how"), "refused") && turn.n)
        drop_refused(ld, turn);
}

static void take_turn(struct loader *ld, yyjson_val *v)
{
    struct turn_mark *m = history_mark(ld->h, json_get_str(v, "turn"));
    struct str state = json_get_str(v, "state");
    take_seq(ld, v);
    if (!m)
        return;
    for (enum turn_state s = TURN_RUNNING; s <= TURN_CANCELED; s++)
        if (str_is(state, turn_state_name(s)))
            m->state = s;
    m->is_lost |= str_is(state, "lost");
    m->is_kept |= json_get_bool(v, "kept", false);
    if (m->state != TURN_RUNNING) {
        struct usage usage = usage_get(json_get(v, "usage"));
        usage_add(&ld->hd->usage, &usage);
        ld->hd->n_turns++;
    }
}

/* Goes with the last input of the turn. */
static void take_context(struct loader *ld, yyjson_val *v)
{
    struct str turn = json_get_str(v, "turn"), text = keep(ld, v, "text");
    struct history *h = ld->h;
    for (struct node *n = ld->nodes; n; n = n->before)
        if (n->message.role == ROLE_USER && n->turn && str_eq(n->turn->id, turn)) {
            n->message.context = text;
            return;
        }
    for (size_t i = h->n; i-- > 0;)
        if (h->messages[i].role == ROLE_USER && h->entries[i].turn &&
            str_eq(h->entries[i].turn->id, turn)) {
            history_set_context(h, i, text);
            return;
        }
}

static void take_call(struct loader *ld, yyjson_val *v)
{
    history_start_call(ld->h, json_get_str(v, "toolCallId"));
}

static struct str json_text(struct loader *ld, yyjson_val *v)
{
    AUTO(buf) struct buf text = BUF_INIT;
    struct jw w = JW(&text);
    jw_val(&w, v);
    return arena_str(&ld->h->arena, buf_str(&text));
}

static void take_memory(struct loader *ld, yyjson_val *v)
{
    ld->hd->memory = json_text(ld, v);
}

static void take_clear(struct loader *ld, yyjson_val *v)
{
    (void)v;
    ld->h->n = ld->h->usage_from = 0;
    ld->h->next_number = 0;
    ld->h->ends_with_compaction = false;
    ld->nodes = NULL;
}

static const struct {
    const char *type;
    void (*read)(struct loader *ld, yyjson_val *v);
} record_types[] = {
    {"session", take_header},
    {"message", take_message},
    {"compaction", take_message},
    {"session_info", take_info},
    {"branch_summary", take_branch_summary},
    {"leaf", take_leaf},
    {"memory_state", take_memory},
    {"trivet_input", take_input},
    {"trivet_input_over", take_input_over},
    {"trivet_turn", take_turn},
    {"trivet_call", take_call},
    {"trivet_clear", take_clear},
    {"trivet_context", take_context},
};

/* A line in the form of the dialect's own program. */
static bool take_form_line(struct loader *ld, yyjson_val *v)
{
    struct form_line line = {.settles = -1};
    if (!ld->form || !ld->form->read(ld->form_arg, &ld->h->arena, v, &line))
        return false;
    if (!line.is_head) {
        if (ld->has_records && ld->block_at == SIZE_MAX)
            ld->block_at = ld->h->n;
        add_message(ld, &line.message, NULL);
        return true;
    }
    settle(ld, line.settles);
    ld->has_header = true;
    ld->hd->version = 1;
    ld->hd->id = line.id;
    ld->hd->model = line.model;
    ld->hd->effort = line.effort;
    ld->hd->created_ms = line.created_ms;
    ld->hd->modified_ms = line.modified_ms;
    ld->hd->head = json_text(ld, v);
    return true;
}

static bool on_line(void *arg, struct str line, int64_t offset)
{
    (void)offset;
    struct loader *ld = arg;
    AUTO(json) struct json j = JSON_INIT;
    struct error ignored;
    unsigned flags = JSON_FIX_SURROGATES | (ld->form ? JSON_FIX_UTF8 : 0);
    if (!json_parse(line, flags, LIMIT_JSON_DEPTH, &j, &ignored)) {
        j = JSON_INIT;
        ld->hd->n_bad++;
        return true;
    }
    if (take_form_line(ld, j.root)) {
        ld->hd->form_bytes += (int64_t)line.n + 1;
        ld->hd->lost_seq = ld->hd->last_seq;
        return true;
    }
    struct str type = json_get_str(j.root, "type");
    for (size_t i = 0; i < ARRAY_LEN(record_types); i++)
        if (str_is(type, record_types[i].type))
            record_types[i].read(ld, j.root);
    return true;
}

/* ---- version 2: the active branch ---- */

static struct node *find_node(struct node *newest, struct str id)
{
    for (struct node *n = newest; n; n = n->before)
        if (id.n && str_eq(n->id, id))
            return n;
    return NULL;
}

static void take_branch(struct loader *ld)
{
    struct node *leaf = ld->has_leaf ? find_node(ld->nodes, ld->leaf) : ld->nodes;
    size_t n_nodes = 0, n = 0;
    for (struct node *at = ld->nodes; at; at = at->before)
        n_nodes++;
    struct node **chain = xcalloc(n_nodes + 1, sizeof(struct node *));
    for (struct node *at = leaf; at && n < n_nodes; at = find_node(at->before, at->parent))
        chain[n++] = at; /* parents stand earlier in the file, so there can be no cycle */
    for (size_t i = n; i-- > 0;)
        add_message(ld, &chain[i]->message, chain[i]->turn);
    if (leaf && leaf->id.n) {
        struct str id = str_cut(leaf->id, sizeof ld->h->leaf - 1);
        memcpy(ld->h->leaf, id.p, id.n);
        history_settle(ld->h, true);
    }
    free(chain);
}

/* Other programs may leave out the last newline: a line that is whole counts all the same. */
static void take_tail(struct loader *ld, struct str path, int64_t from)
{
    AUTO(buf) struct buf tail = BUF_INIT;
    AUTO(json) struct json j = JSON_INIT;
    struct error ignored;
    if (!slog_read_tail(path, from, &tail, &ignored))
        return;
    struct str line = str_trim(buf_str(&tail));
    if (!line.n ||
        !json_parse(line, JSON_FIX_SURROGATES | JSON_FIX_UTF8, LIMIT_JSON_DEPTH, &j, &ignored))
        return;
    ld->hd->has_open_tail = true;
    on_line(ld, line, from);
}

static bool read_all(struct loader *ld, struct str path, struct error *err)
{
    int64_t n_foreign = 0;
    *ld->hd = (struct header){.is_clean = true, .lost_seq = -1};
    bool ok = slog_read_counting(path, on_line, ld, &n_foreign, &ld->hd->end, err);
    ld->hd->n_bad += n_foreign;
    if (ok && ld->form)
        take_tail(ld, path, ld->hd->end);
    if (ok && !ld->has_header)
        ok = error_set(err, ERR_CORRUPT, "%.*s is damaged, or not a session file", STR_FMT(path));
    drop_block(ld);
    if (ok && ld->nodes)
        take_branch(ld);
    return ok;
}

bool history_load_all(struct history *h, struct str path, const struct session_settings *st,
                      struct error *err)
{
    struct header ignored;
    struct loader ld = {.h = h,
                        .hd = &ignored,
                        .form = st->form,
                        .form_arg = st->context_arg,
                        .block_at = SIZE_MAX,
                        .keeps_all = true};
    return read_all(&ld, path, err);
}

bool history_load(struct history *h, struct str path, const struct session_settings *st,
                  struct header *ret, struct error *err)
{
    struct loader ld = {
        .h = h, .hd = ret, .form = st->form, .form_arg = st->context_arg, .block_at = SIZE_MAX};
    bool ok = read_all(&ld, path, err);
    for (struct turn_mark *m = h->marks; ok && m; m = m->next)
        if (m->state == TURN_RUNNING && !m->is_lost)
            ret->is_clean = false;
    return ok;
}
