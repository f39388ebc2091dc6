/* SPDX-License-Identifier: MIT */
/* Asking the model: one request with its retries, its stall watchdog, and what is kept when it is
 * stopped.
 *
 * A request is repeated only while nothing of it was shown.  The watchdog counts useful events, not
 * bytes: a stream that sends only comments is stalled too.  It does not count while trivet itself
 * have paused the stream for a slow client.
 */
#include "engine/compact.h"
#include "engine/journal.h"
#include "engine/text_loop.h"

#include "auth/keys.h"
#include "base/log.h"
#include "base/time.h"
#include "toolsets/custom.h"

struct asking {
    struct turn *turn; /* NULL for a plain request */
    struct session *session;
    struct wait wait;
    bool is_shown; /* something of the reply was emitted */
    bool has_ended, ok;
    struct text_loop texts, thoughts; /* of the reply */
    bool is_loop;                     /* one of them repeats itself: nothing more is emitted */
    size_t n_text;                    /* bytes of text that were emitted */
    struct error err;
    int64_t last_useful_us;
    struct buf *text; /* plain requests collect here */
    const struct provider *provider;
    struct str token; /* that was used, in the turn's arena */
};

bool session_model(struct session *s, struct arena *a, struct model *ret,
                   const struct provider **ret_p, struct error *err)
{
    struct model m;
    if (!s->slug)
        return error_set(err, ERR_NO_MODEL, "no model is chosen; name one as provider/model-id");
    if (!engine_find_model(s->engine, a, str_of(s->slug), &m, err))
        return false;
    const struct provider *p = engine_find_provider(s->engine, str_of(m.provider));
    if (!engine_has_key(s->engine, p))
        return engine_no_key(p, err);
    *ret = m;
    *ret_p = p;
    return true;
}

/* ---- building ---- */

/* Large models remember what is to be done, and every change of the list costs a round; after a
 * compaction it is worth that.  By what they cost, since no list says it. */
static bool spares_todos(struct session *s, struct arena *a)
{
    const double large = 1; /* USD per million tokens of input */
    const struct history *h = &s->history;
    const struct provider *p;
    struct model m;
    struct error ignored;
    bool is_compacted = h->n > 0 && h->messages[0].role == ROLE_SUMMARY;
    return s->settings->spares_todos && !is_compacted && !s->todos.n &&
           session_model(s, a, &m, &p, &ignored) && m.reasons && m.price_in >= large;
}

static struct tool_def *make_tools(struct session *s, struct arena *a, size_t *ret_n)
{
    const struct tool **tools = session_tools(s, a, ret_n);
    struct tool_def *defs = arena_array(a, struct tool_def, *ret_n + 1);
    struct tool_cx cx;
    size_t n = 0;
    engine_fill_cx(s->engine, s->settings, str_of(s->workspace), &cx);
    cx.model = str_of(s->slug);
    cx.spares_todos = spares_todos(s, a);
    for (size_t i = 0; i < *ret_n; i++) {
        if (tools[i]->is_sent && !tools[i]->is_sent(&cx))
            continue;
        AUTO(buf) struct buf schema = BUF_INIT, name = BUF_INIT;
        struct jw w = JW(&schema);
        tool_schema(tools[i], &w);
        custom_put_provider_name(&name, tools[i]->name);
        defs[n++] = (struct tool_def){arena_str(a, buf_str(&name)), str_of(tools[i]->about),
                                      arena_str(a, buf_str(&schema))};
    }
    *ret_n = n;
    return defs;
}

/* Everything but system text, messages and tools. */
static bool begin_ask_await(struct session *s, struct arena *a, struct credential *key,
                            const struct provider **ret_p, struct ask *ask, struct error *err)
{
    struct model m;
    if (!session_model(s, a, &m, ret_p, err) || !engine_key_await(s->engine, *ret_p, key, err))
        return false;
    const struct provider *p = *ret_p;
    *ask = (struct ask){
        .model = m,
        .max_tokens = s->max_tokens,
        .effort = str_of(s->effort),
        .session_id = session_id_str(s),
        .route = str_of(s->route),
        .base_url = engine_base_url(s->engine, p),
        .key = key->token,
        .account_id = key->account_id,
        .limits = s->engine->limits,
    };
    if (p->needs_project && key->source == CREDENTIAL_STORED &&
        !catalogue_project_await(engine_catalogue(s->engine), p, a, &ask->project, err))
        return false;
    return true;
}

/* ---- hearing ---- */

static void on_useful(struct asking *k)
{
    k->last_useful_us = time_mono_us();
}

static void look_for_loop(struct asking *k, struct text_loop *loop, struct str delta)
{
    k->is_loop = !k->provider->is_played && text_loop_add(loop, delta);
    if (k->is_loop)
        wait_wake(&k->wait);
}

static void on_text(void *arg, struct str delta)
{
    struct asking *k = arg;
    struct turn *t = k->turn;
    on_useful(k);
    if (!t) {
        buf_add(k->text, delta);
        return;
    }
    if (k->is_loop)
        return;
    k->n_text += delta.n;
    k->is_shown = true;
    journal_add(k->session->journal, t, false, delta, k->session->seq + 1);
    session_emit(k->session, t, &(struct event){.kind = EV_TEXT, .text = delta});
    look_for_loop(k, &k->texts, delta);
}

static void on_reasoning(void *arg, struct str delta)
{
    struct asking *k = arg;
    on_useful(k);
    if (!k->turn || k->is_loop)
        return;
    k->is_shown = true;
    journal_add(k->session->journal, k->turn, true, delta, k->session->seq + 1);
    session_emit(k->session, k->turn, &(struct event){.kind = EV_REASONING, .text = delta});
    look_for_loop(k, &k->thoughts, delta);
}

static void on_reasoning_part(void *arg)
{
    struct asking *k = arg;
    if (k->turn && !k->is_loop)
        session_emit(k->session, k->turn, &(struct event){.kind = EV_REASONING_PART});
}

static void on_alive(void *arg)
{
    on_useful(arg);
}

static void on_end(void *arg, struct reply *reply, const struct error *err)
{
    (void)reply;
    struct asking *k = arg;
    k->has_ended = true;
    k->ok = err == NULL;
    if (err)
        k->err = *err;
    wait_wake(&k->wait);
}

/* ---- waiting ---- */

/* Waits for the end of the stream; ERR_STALLED when nothing useful came for too long. */
static bool hear_out_await(struct asking *k, struct error *err)
{
    int64_t limit_us = k->session->settings->stall_ms * 1000;
    k->last_useful_us = time_mono_us();
    while (!k->has_ended && !k->is_loop) {
        if (k->session->n_full > 0)
            on_useful(k); /* trivet itself holds the stream */
        int64_t left_us = limit_us - (time_mono_us() - k->last_useful_us);
        if (left_us <= 0)
            return error_set(err, ERR_STALLED, "the model sent nothing for %lld seconds",
                             (long long)(limit_us / 1000000));
        struct error why;
        if (!wait_timed_await(k->session->engine->loop, &k->wait, left_us / 1000 + 1, &why) &&
            why.code != ERR_TIMEOUT) {
            *err = why;
            return false;
        }
    }
    if (!k->ok && !k->is_loop)
        *err = k->err;
    return k->ok || k->is_loop;
}

/* The session knows its stream, so that a listener that is full pauses it. */
static bool open_stream(struct asking *k, const struct provider *p, const struct ask *ask,
                        struct error *err)
{
    struct ask_sink sink = {on_text, on_reasoning, on_reasoning_part, on_alive, on_end, k};
    struct session *s = k->session;
    if (s->stream)
        BUG("a session asks two things at once");
    s->stream = p->start(s->engine->loop, ask, &sink, err);
    if (s->stream && s->n_full)
        session_pause_sources(s);
    return s->stream != NULL;
}

static void close_stream(struct session *s)
{
    struct stream *stream = take(&s->stream);
    stream->provider->free(stream);
}

/* In dollars.  What the provider's cache had is cheaper; what was written to it costs what the
 * model says, else a quarter more, as vendors that count it take for five minutes. */
static double cost_of(const struct usage *u, const struct model *m)
{
    double write = m->price_cache_write > 0 ? m->price_cache_write : m->price_in * 1.25;
    double cached = (double)MIN(u->cache_read, u->input);
    double written = (double)MIN(u->cache_write, u->input - (int64_t)cached);
    double price = m->price_cached > 0 ? m->price_cached : m->price_in;
    return (((double)u->input - cached - written) * m->price_in + cached * price + written * write +
            (double)u->output * m->price_out) /
           1e6;
}

static void add_usage(struct turn *t, const struct model *m, struct message *reply,
                      const struct reply *from)
{
    reply->provider = arena_str(&t->arena, str_of(m->provider));
    reply->model = arena_str(&t->arena, m->id);
    reply->usage = from->usage;
    if (!from->has_usage) {
        reply->usage.output = (int64_t)(from->bytes + 3) / 4;
        reply->usage.input = history_tokens(&t->session->history);
        reply->usage.is_estimated = true;
    }
    if (reply->usage.cost == 0)
        reply->usage.cost = cost_of(&reply->usage, m);
    usage_add(&t->usage, &reply->usage);
}

/* What was shown of a reply that an interrupt cut stays in the conversation. */
static void keep_partial(struct turn *t, const struct model *m, const struct reply *reply)
{
    struct error ignored;
    struct str text = reply_text_so_far(reply, &t->arena);
    if (str_is_blank(text))
        return;
    struct message partial = message_text(&t->arena, ROLE_ASSISTANT, text);
    partial.is_partial = true;
    partial.provider = str_of(m->provider);
    partial.model = m->id;
    turn_add_message(t, &partial, &ignored);
}

/* A reply that repeats itself ends here.  The model reads it without most of the repetitions. */
static struct message cut_loop(struct asking *k, const struct reply *reply)
{
    static const char note[] = "\n\n[The reply was cut: it repeated the same passage.]";
    struct turn *t = k->turn;
    struct str text = str_cut(reply_text_so_far(reply, &t->arena), k->n_text);
    size_t surplus = MIN(k->texts.surplus, text.n);
    struct message m = message_text(&t->arena, ROLE_ASSISTANT,
                                    arena_fmt(&t->arena, "%.*s%s", STR_FMT(text), note));
    if (surplus)
        m.brief = arena_fmt(&t->arena, "%.*s%s", STR_FMT(str_cut(text, text.n - surplus)), note);
    session_emit(k->session, t, &(struct event){.kind = EV_TEXT, .text = str_of(note)});
    return m;
}

static void emit_request(struct turn *t, const struct provider *p)
{
    struct str body = p->request_body ? p->request_body(t->session->stream) : STR_NONE;
    session_emit(t->session, t,
                 &(struct event){
                     .kind = EV_REQUEST, .text = str_of(p->name), .json = body, .count = t->round});
}

static void put_messages(struct turn *t, struct arena *a, struct ask *ask)
{
    struct session *s = t->session;
    const struct message *messages = history_peek(&s->history, s->settings, t->mark, s->n_settled);
    size_t n = s->history.n;
    bool is_whole = messages != NULL;
    if (!is_whole)
        messages = history_view(&s->history, s->settings, t->mark,
                                (struct history_range){0, s->history.n}, a, &n);
    outgoing_put(&s->outgoing, &s->history, &s->recent, is_whole ? NULL : messages, n);
    ask->messages = s->outgoing.messages;
    ask->n_messages = s->outgoing.n;
    ask->message_bytes = s->outgoing.bytes;
    s->gauge.sent = window_sent(s);
}

static bool ask_once_await(struct turn *t, struct asking *k, struct message *ret,
                           enum stop_reason *ret_stop, int64_t *ret_bytes, struct error *err)
{
    struct session *s = t->session;
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(credential) struct credential key = CREDENTIAL_INIT;
    const struct provider *p = NULL;
    struct ask ask;
    if (!begin_ask_await(s, &a, &key, &p, &ask, err))
        return false;
    k->provider = p;
    k->token = arena_str(&t->arena, key.token);
    ask.turn_state = t->provider_state;
    if (!engine_load_tools_await(s->engine, s->settings, str_of(s->workspace), err) ||
        !session_load_servers_await(s, err))
        return false;
    session_report_servers(s, t);
    ask.tools = make_tools(s, &a, &ask.n_tools);
    ask.system = prompt_system(s, &a);
    window_begin(s, &ask);
    if (!window_fit_await(t, err))
        return false;
    ask.system = prompt_system(s, &a); /* a compaction renews it, and may add a tool */
    ask.tools = make_tools(s, &a, &ask.n_tools);
    put_messages(t, &a, &ask);
    t->round++;
    if (!open_stream(k, p, &ask, err))
        return false;
    t->n_requests++;
    *ret_bytes = t->request_bytes = p->request_bytes(s->stream);
    if (s->settings->sends_requests)
        emit_request(t, p);
    bool ok = hear_out_await(k, err);
    struct reply *reply = p->reply(s->stream);
    struct str state = p->turn_state ? p->turn_state(s->stream) : STR_NONE;
    if (state.n)
        t->provider_state = arena_str(&t->arena, state);
    if (ok) {
        *ret_stop = k->is_loop ? STOP_LOOP : reply->stop;
        *ret = k->is_loop ? cut_loop(k, reply) : reply_take_message(reply, &t->arena);
        add_usage(t, &ask.model, ret, reply);
        window_accepted(s, &ret->usage);
        t->n_refusals = 0;
    } else if (err->code == ERR_CANCELED ||
               (s->settings->compact.continuation && overflow_recognise(s, err))) {
        keep_partial(t, &ask.model, reply);
    }
    close_stream(s);
    if (ok)
        window_keep_ratio_await(s);
    return ok;
}

/* ---- retrying ---- */

static void emit_retry(struct turn *t, const struct retry_rule *rule, int attempt, int64_t delay_ms,
                       int64_t bytes, const struct error *err)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    const struct provider *p = NULL;
    struct model m = {0};
    struct error ignored;
    session_model(t->session, &a, &m, &p, &ignored);
    struct event_retry retry = {.provider = str_of(p ? p->label : ""),
                                .model = m.id,
                                .attempt = attempt,
                                .delay_ms = delay_ms,
                                .request_bytes = bytes,
                                .max_attempts = rule->attempts};
    session_emit(
        t->session, t,
        &(struct event){
            .kind = EV_RETRY_WAITING, .retry = &retry, .error = err, .text = error_str(err)});
}

static void prefix_attempts(struct turn *t, int attempt, struct error *err)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    const struct provider *p = NULL;
    struct model m;
    struct error ignored;
    session_model(t->session, &a, &m, &p, &ignored);
    error_prefix(err, "%s request failed after %d attempts", p ? p->label : "Model", attempt);
}

/* err: NULL when it was answered. */
static void log_request(const struct turn *t, int attempt, int64_t began_us, int64_t bytes,
                        const struct error *err)
{
    log_write(&(struct log_entry){.level = LOG_INFO,
                                  .source = __FILE__,
                                  .what = "request",
                                  .us = time_mono_us() - began_us,
                                  .session = session_id_str(t->session),
                                  .turn = str_of(t->id)},
              "%s, attempt %d, %lld bytes%s%s", t->session->slug, attempt, (long long)bytes,
              err ? ": " : "", err ? err->text : "");
}

static void log_retry(const struct turn *t, int attempt, int64_t delay_ms)
{
    log_write(&(struct log_entry){.level = LOG_INFO,
                                  .source = __FILE__,
                                  .what = "retry",
                                  .us = delay_ms * 1000,
                                  .session = session_id_str(t->session),
                                  .turn = str_of(t->id)},
              "%s, the wait before attempt %d", t->session->slug, attempt);
}

bool ask_model_await(struct turn *t, struct message *ret, enum stop_reason *ret_stop,
                     struct error *err)
{
    const struct retry_rules *rules = &t->session->settings->retry;
    for (int attempt = 1;; attempt++) {
        struct asking k = {.turn = t, .session = t->session};
        int64_t bytes = 0;
        int64_t began_us = time_mono_us();
        bool ok = ask_once_await(t, &k, ret, ret_stop, &bytes, err);
        text_loop_clear(&k.texts);
        text_loop_clear(&k.thoughts);
        log_request(t, attempt, began_us, bytes, ok ? NULL : err);
        if (ok)
            return true;
        bool is_too_long = overflow_recognise(t->session, err);
        if (is_too_long && t->session->settings->compact.continuation) {
            window_learn_await(t, err);
            return false; /* the next turn goes on */
        }
        if (k.is_shown || err->code == ERR_CANCELED)
            return false;
        if (is_too_long) {
            if (!window_refused_await(t, err))
                return false;
            attempt--;
            continue;
        }
        if (err->code == ERR_AUTH && !t->has_renewed && k.provider) {
            struct error why;
            t->has_renewed = true;
            if (engine_renew_key_await(t->engine, k.provider, k.token, &why)) {
                attempt--;
                continue;
            }
            if (why.code == ERR_CANCELED) {
                *err = why;
                return false;
            }
        }
        const struct retry_rule *rule = retry_rule_for(rules, k.provider ? k.provider->name : NULL,
                                                       err, attempt);
        if (!rule) {
            retry_say_wait(rules, err);
            if (attempt > 1 && t->session->settings->counts_attempts)
                prefix_attempts(t, attempt, err);
            return false;
        }
        int64_t delay_ms = retry_delay_ms(rule, err, attempt);
        log_retry(t, attempt + 1, delay_ms);
        emit_retry(t, rule, attempt + 1, delay_ms, bytes, err);
        if (!sleep_await(t->engine->loop, delay_ms, err))
            return false;
    }
}

/* ---- plain requests, for summaries ---- */

/* The model's own limit, as a model that thinks may spend most of it on that; but no more than is
 * left of the window.  0: the provider's default. */
static int64_t summary_tokens(struct session *s, const struct ask *ask)
{
    enum { LEAST = 1024 };
    int64_t most = ask->model.max_output ? ask->model.max_output : s->max_tokens;
    int64_t asked = text_weight(ask->system) + message_weight(&ask->messages[0]);
    int64_t left = s->gauge.window - asked * 5 / 4;
    return most ? MAX(MIN(most, left), LEAST) : 0;
}

bool ask_plain_await(struct session *s, struct turn *t, const struct summary_ask *what,
                     struct buf *ret_text, struct error *err)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(credential) struct credential key = CREDENTIAL_INIT;
    const struct provider *p = NULL;
    struct ask ask;
    struct asking k = {.session = s, .text = ret_text};
    if (!begin_ask_await(s, &a, &key, &p, &ask, err))
        return false;
    struct message question = message_text(&a, ROLE_USER, what->text);
    ask.system = what->system;
    ask.messages = &question;
    ask.n_messages = 1;
    window_model(s, &ask);
    ask.max_tokens = summary_tokens(s, &ask);
    if (s->settings->compact.without_thinking && ask.effort.n)
        ask.effort = STR("none");
    if (!open_stream(&k, p, &ask, err))
        return false;
    bool ok = hear_out_await(&k, err);
    if (ok && t)
        usage_add(&t->usage, &p->reply(s->stream)->usage);
    close_stream(s);
    return ok;
}
