/* SPDX-License-Identifier: MIT */
/* The player walks the steps with a small stack, one frame per repeat it is in:
 *
 *     play ──> step ──> piece ──> sink      then loop_later (or a timer) ──> play ...
 *
 * Only one of three things is ever outstanding: a call of loop_later, a timer, or nothing (paused,
 * stalled, ended).  A call of loop_later cannot be canceled, so a player that is freed while one is
 * outstanding, or from inside a callback of its sink, is marked dead and freed later.
 */
#include "providers/rehearsal/player.h"

#include "base/utf8.h"

enum {
    STEPS_AT_ONCE = 64, /* silent steps in one round of the loop */
    WORD_CHARS = 64,    /* longest piece when pieces are words */
    N_COUNTERS = 4096,  /* sessions and steps whose failures are counted */
};

struct frame {
    const struct step *steps;
    size_t n, at;
    int64_t left; /* rounds still to come after this one */
};

struct player {
    struct stream head;
    struct loop *loop;
    struct timer *timer; /* NULL until the first pause */
    struct ask_sink sink;
    struct player_input part;
    struct reply reply;
    struct frame frames[SCENARIO_NESTING + 2]; /* one for the round, one for an answer */
    size_t n_frames;
    struct str text; /* rest of the text that is being said or thought */
    int64_t n_calls;
    enum stop_reason stop;
    const char *raw_stop;
    bool is_paused, is_held; /* held: playing continues when the pause ends */
    bool is_queued, is_busy; /* a loop_later is outstanding; play is running */
    bool is_over, is_dead;
};

/* --- counters of failures --- */

/* Requests outlive streams, and `times` counts requests of the whole process: therefore static.
 * When the table is full, the oldest counters are dropped. */
static struct counter {
    uint64_t key; /* 0: free */
    int64_t n;
} counters[N_COUNTERS];
static size_t next_counter;

static int64_t count_up(uint64_t key)
{
    for (size_t i = 0; i < N_COUNTERS && counters[i].key; i++)
        if (counters[i].key == key)
            return ++counters[i].n;
    counters[next_counter] = (struct counter){key, 1};
    next_counter = (next_counter + 1) % N_COUNTERS;
    return 1;
}

/* --- scheduling --- */

static void play(struct player *p);

static void destroy(struct player *p)
{
    reply_clear(&p->reply);
    arena_clear(&p->part.arena);
    free(p);
}

static void on_later(void *arg)
{
    struct player *p = arg;
    p->is_queued = false;
    if (p->is_dead)
        destroy(p);
    else
        play(p);
}

static void on_timer(void *arg)
{
    play(arg);
}

static void go_on(struct player *p, int64_t ms)
{
    if (ms <= 0) {
        p->is_queued = true;
        loop_later(p->loop, on_later, p);
        return;
    }
    if (!p->timer)
        p->timer = timer_new(p->loop, on_timer, p);
    timer_start(p->timer, ms);
}

/* The sink may free the player: callers must not use it afterwards. */
static void end(struct player *p, const struct error *err)
{
    p->is_over = true;
    if (!err) {
        p->reply.stop = p->stop != STOP_NONE           ? p->stop
                        : reply_n_calls(&p->reply) > 0 ? STOP_CALLS
                                                       : STOP_END;
        p->reply.raw_stop = p->raw_stop                   ? str_of(p->raw_stop)
                            : p->reply.stop == STOP_CALLS ? STR("tool_calls")
                                                          : STR("stop");
        if (!p->reply.has_usage) {
            p->reply.usage.input = p->part.input_tokens;
            p->reply.usage.output = (int64_t)p->reply.bytes / 4;
            p->reply.has_usage = true;
        }
    }
    p->sink.on_end(p->sink.arg, &p->reply, err);
}

static void end_too_long(struct player *p)
{
    struct error err;
    error_set(&err, ERR_LIMIT, "Rehearsal: the reply is too long");
    end(p, &err);
}

/* --- the verbs --- */

static struct str take_piece(struct player *p, int64_t chars)
{
    struct str piece;
    if (chars > 0) {
        piece = utf8_cut_chars(p->text, (size_t)chars);
    } else {
        size_t n = 0;
        while (n < p->text.n && p->text.p[n] != ' ' && p->text.p[n] != '\n')
            n++;
        while (n < p->text.n && (p->text.p[n] == ' ' || p->text.p[n] == '\n'))
            n++;
        piece = utf8_cut_chars(str_cut(p->text, n), WORD_CHARS);
    }
    p->text = str_from(p->text, piece.n);
    return piece;
}

/* One piece of the open text. */
static void play_piece(struct player *p, const struct step *s)
{
    struct str piece = take_piece(p, s->piece);
    bool is_say = s->verb == VERB_SAY;
    if (!(is_say ? reply_add_text(&p->reply, piece) : reply_add_reasoning(&p->reply, piece))) {
        end_too_long(p);
        return;
    }
    go_on(p, s->pause_ms);
    if (is_say && p->sink.on_text)
        p->sink.on_text(p->sink.arg, piece);
    else if (!is_say && p->sink.on_reasoning)
        p->sink.on_reasoning(p->sink.arg, piece);
}

static void play_call(struct player *p, const struct step *s)
{
    struct str id = s->id;
    p->n_calls++;
    if (!id.n)
        id = arena_fmt(&p->part.arena, "call_%zu_%lld%.*s", p->part.n_messages,
                       (long long)p->n_calls, STR_FMT(p->part.call_tail));
    if (!reply_add_call(&p->reply, p->n_calls, id, s->name, s->raw)) {
        end_too_long(p);
        return;
    }
    go_on(p, 0);
    if (p->sink.on_alive)
        p->sink.on_alive(p->sink.arg);
}

static bool says_too_long(struct str text)
{
    static const char *const signs[] = {"context length", "context_length", "context window"};
    for (size_t i = 0; i < ARRAY_LEN(signs); i++)
        if (str_ifind(text, str_of(signs[i])) != SIZE_MAX)
            return true;
    return false;
}

static enum err_code code_of_status(int64_t status, struct str message)
{
    switch (status) {
    case 0:
        return ERR_NETWORK;
    case 401:
    case 403:
        return ERR_AUTH;
    case 402:
        return ERR_QUOTA;
    case 404:
        return ERR_NO_MODEL;
    case 413:
        return ERR_OVERFLOW;
    case 429:
        return ERR_RATE;
    case 400:
        return says_too_long(message) ? ERR_OVERFLOW : ERR_BAD_REQUEST;
    default:
        return status >= 500 ? ERR_PROVIDER : ERR_BAD_REQUEST;
    }
}

static void play_fail(struct player *p, const struct step *s)
{
    struct error err;
    struct str message = s->message.n ? s->message : STR("rehearsed failure");
    enum err_code code = code_of_status(s->status, message);
    if (s->status)
        error_set(&err, code, "Rehearsal: HTTP %d: %.*s", (int)s->status, STR_FMT(message));
    else
        error_set(&err, code, "Rehearsal: cannot connect: %.*s", STR_FMT(message));
    err.said = s->status ? strlen("Rehearsal: HTTP 503: ") : 0;
    err.status = (int)s->status;
    err.retry_after_ms = s->retry_after_ms;
    end(p, &err);
}

/* Whether this request must fail. */
static bool is_due(struct player *p, const struct step *s)
{
    if (s->above_messages >= 0 && p->part.n_messages <= (size_t)s->above_messages)
        return false;
    if (s->times < 0)
        return true;
    uint64_t key = str_hash(p->part.key) * 1099511628211u + (uint64_t)s->number;
    return count_up(key ? key : 1) <= s->times;
}

static void play_cut(struct player *p)
{
    struct error err;
    error_set(&err, ERR_CUT, "Rehearsal: the stream ended before its end");
    end(p, &err);
}

static void set_stop(struct player *p, struct str word)
{
    if (str_is(word, "length")) {
        p->stop = STOP_LENGTH;
        p->raw_stop = "length";
    } else if (str_is(word, "filter")) {
        p->stop = STOP_FILTER;
        p->raw_stop = "content_filter";
    } else {
        p->stop = STOP_END;
        p->raw_stop = "stop";
    }
}

static void set_usage(struct player *p, const struct step *s)
{
    p->reply.usage = (struct usage){
        .input = s->input, .output = s->output, .cache_read = s->cached};
    p->reply.has_usage = true;
}

/* --- walking --- */

static void push(struct player *p, const struct step *steps, size_t n, int64_t count)
{
    if (n > 0 && count > 0)
        p->frames[p->n_frames++] = (struct frame){steps, n, 0, count - 1};
}

/* The next step, or NULL at the end. */
static const struct step *next_step(struct player *p)
{
    while (p->n_frames > 0) {
        struct frame *f = &p->frames[p->n_frames - 1];
        if (f->at < f->n)
            return &f->steps[f->at++];
        if (f->left-- > 0)
            f->at = 0;
        else
            p->n_frames--;
    }
    return NULL;
}

/* The step that `text` is the rest of. */
static const struct step *open_step(struct player *p)
{
    struct frame *f = &p->frames[p->n_frames - 1];
    return &f->steps[f->at - 1];
}

/* Plays a step.  False when the player now waits, has ended or was freed. */
static bool play_step(struct player *p, const struct step *s)
{
    switch (s->verb) {
    case VERB_SAY:
    case VERB_THINK:
        p->text = s->text;
        if (!p->text.n)
            return true;
        play_piece(p, s);
        return false;
    case VERB_CALL:
        play_call(p, s);
        return false;
    case VERB_WAIT:
        go_on(p, s->wait_ms);
        return false;
    case VERB_FAIL:
        if (!is_due(p, s))
            return true;
        play_fail(p, s);
        return false;
    case VERB_STALL:
        return false;
    case VERB_CUT:
        play_cut(p);
        return false;
    case VERB_USAGE:
        set_usage(p, s);
        return true;
    case VERB_STOP:
        set_stop(p, s->stop);
        return true;
    case VERB_REPEAT:
        push(p, s->steps, s->n_steps, s->count);
        return true;
    case VERB_ANSWER:
        BUG("an answer was not bound");
    }
    return true;
}

static void play_round(struct player *p)
{
    if (p->text.n) {
        play_piece(p, open_step(p));
        return;
    }
    for (int i = 0; i < STEPS_AT_ONCE; i++) {
        const struct step *s = next_step(p);
        if (!s) {
            end(p, NULL);
            return;
        }
        if (!play_step(p, s))
            return;
    }
    go_on(p, 0);
}

static void play(struct player *p)
{
    if (p->is_over)
        return;
    if (p->is_paused) {
        p->is_held = true;
        return;
    }
    p->is_busy = true;
    play_round(p);
    p->is_busy = false;
    if (p->is_dead && !p->is_queued)
        destroy(p);
}

/* --- the stream --- */

struct stream *player_start(const struct provider *provider, struct loop *l,
                            struct player_input *part, const struct ask_sink *sink)
{
    struct player *p = xnew(struct player);
    p->head.provider = provider;
    p->loop = l;
    p->sink = *sink;
    p->part = take(part);
    push(p, p->part.steps.steps, p->part.steps.n, 1);
    go_on(p, 0);
    return &p->head;
}

void player_pause(struct stream *s, bool paused)
{
    struct player *p = (struct player *)s;
    p->is_paused = paused;
    if (!paused && p->is_held) {
        p->is_held = false;
        go_on(p, 0);
    }
}

struct reply *player_reply(struct stream *s)
{
    return &((struct player *)s)->reply;
}

void player_free(struct stream *s)
{
    struct player *p = (struct player *)s;
    if (!p)
        return;
    timer_free(p->timer);
    p->timer = NULL;
    p->is_dead = true;
    if (!p->is_busy && !p->is_queued)
        destroy(p);
}

int64_t player_request_bytes(const struct stream *s)
{
    return ((const struct player *)s)->part.request_bytes;
}
