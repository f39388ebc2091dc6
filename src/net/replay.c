/* SPDX-License-Identifier: MIT */
/* Replaying (record.h): a net_api without a network.
 *
 * The core sees a reel as its request.  It delivers one line of its file per round of the loop, so
 * that pause, cancel and leave work as with a real peer.  The times in the file are ignored.  After
 * a recorded cancel nothing is delivered: the core is expected to cancel.
 */
#include "net/record.h"

#include "base/base64.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "net/secrets.h"

enum { MOST_BYTES = 256 << 20, UUID_BYTES = 36, SHOWN_BYTES = 40 };

struct reel {
    struct http_request rq;
    struct loop *loop;
    struct buf text;    /* the file */
    struct str rest;    /* of it, not delivered yet */
    struct ready *soon; /* the next line; NULL: none is due */
    bool is_paused, is_silent;
    bool has_status;              /* the head of the answer was delivered */
    bool is_in_callback, is_dead; /* inside a callback; canceled inside it */
    struct reel *next, **prev;
};

struct id_pair {
    char recorded[UUID_BYTES], sent[UUID_BYTES];
};

static struct {
    char *dir;
    unsigned n;
    struct secrets secrets;
    struct id_pair *ids;
    size_t n_ids;
    bool has_failed;
    struct error failure; /* the first one */
    struct reel *reels;
} player;

/* ---- comparing ---- */

static bool is_uuid(struct str s)
{
    if (s.n < UUID_BYTES)
        return false;
    for (size_t i = 0; i < UUID_BYTES; i++) {
        bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (is_dash ? s.p[i] != '-' : !s.p[i] || !strchr("0123456789abcdefABCDEF", s.p[i]))
            return false;
    }
    return true;
}

/* Maps a recorded id to the one sent; the mapping must not change. */
static bool match_ids(const char *recorded, const char *sent)
{
    for (size_t i = 0; i < player.n_ids; i++) {
        bool is_known = memcmp(player.ids[i].recorded, recorded, UUID_BYTES) == 0;
        bool is_same = memcmp(player.ids[i].sent, sent, UUID_BYTES) == 0;
        if (is_known || is_same)
            return is_known && is_same;
    }
    player.ids = xrealloc(player.ids, (player.n_ids + 1) * sizeof *player.ids);
    struct id_pair *pair = &player.ids[player.n_ids++];
    memcpy(pair->recorded, recorded, UUID_BYTES);
    memcpy(pair->sent, sent, UUID_BYTES);
    return true;
}

/* Where the ids around a difference at `at` end, or SIZE_MAX when there are none. */
static size_t skip_ids(struct str recorded, struct str sent, size_t at)
{
    for (size_t from = at < UUID_BYTES ? 0 : at - UUID_BYTES + 1; from <= at; from++)
        if (is_uuid(str_from(recorded, from)) && is_uuid(str_from(sent, from)))
            return match_ids(recorded.p + from, sent.p + from) ? from + UUID_BYTES : SIZE_MAX;
    return SIZE_MAX;
}

/* The first place where the two differ, or SIZE_MAX. */
static size_t find_difference(struct str recorded, struct str sent)
{
    size_t i = 0;
    for (;;) {
        while (i < recorded.n && i < sent.n && recorded.p[i] == sent.p[i])
            i++;
        if (i == recorded.n && i == sent.n)
            return SIZE_MAX;
        size_t behind = skip_ids(recorded, sent, i);
        if (behind == SIZE_MAX)
            return i;
        i = behind;
    }
}

static bool check_part(const char *what, struct str recorded, struct str sent, struct error *err)
{
    size_t at = find_difference(recorded, sent);
    if (at == SIZE_MAX)
        return true;
    size_t from = at < SHOWN_BYTES / 2 ? 0 : at - SHOWN_BYTES / 2;
    AUTO(buf) struct buf path = BUF_INIT;
    AUTO(buf) struct buf before = BUF_INIT;
    AUTO(buf) struct buf now = BUF_INIT;
    record_put_path(&path, player.dir, player.n + 1);
    json_escape(&before, str_cut(str_from(recorded, from), SHOWN_BYTES));
    json_escape(&now, str_cut(str_from(sent, from), SHOWN_BYTES));
    return error_set(err, ERR_BAD_REQUEST,
                     "replay: the %s differs from %s at byte %zu: recorded \"%s\", now \"%s\"",
                     what, path.p, at, before.p ? before.p : "", now.p ? now.p : "");
}

/* ---- the file ---- */

static bool next_line(struct reel *r, struct json *ret)
{
    struct str line;
    struct error ignored;
    if (r->rest.n == 0 || !str_line(&r->rest, &line))
        return false;
    return json_parse(line, 0, LIMIT_JSON_DEPTH, ret, &ignored);
}

static struct str line_bytes(yyjson_val *line, struct buf *decoded)
{
    struct str coded = json_get_str(line, "base64");
    if (!coded.p)
        return json_get_str(line, "text");
    base64_get(decoded, coded);
    return buf_str(decoded);
}

static bool check_request(struct reel *r, struct error *err)
{
    AUTO(json) struct json line = JSON_INIT;
    AUTO(buf) struct buf url = BUF_INIT;
    AUTO(buf) struct buf body = BUF_INIT;
    AUTO(buf) struct buf decoded = BUF_INIT;
    if (!next_line(r, &line) || !str_is(json_get_str(line.root, "type"), "request"))
        return error_set(err, ERR_BAD_REQUEST, "replay: %s/%04u.jsonl is not a recording",
                         player.dir, player.n + 1);
    secrets_learn(&player.secrets, &r->rq);
    secrets_put_url(&player.secrets, r->rq.url, &url);
    secrets_put_body(&player.secrets, r->rq.body, &body);
    return check_part("method", json_get_str(line.root, "method"), str_of(r->rq.method), err) &&
           check_part("URL", json_get_str(line.root, "url"), buf_str(&url), err) &&
           check_part("body", line_bytes(line.root, &decoded), buf_str(&body), err);
}

static bool load(struct reel *r, struct error *err)
{
    AUTO(buf) struct buf path = BUF_INIT;
    record_put_path(&path, player.dir, player.n + 1);
    if (!path_exists(buf_str(&path)))
        return error_set(err, ERR_BAD_REQUEST, "replay: there is no %s; %u requests were recorded",
                         path.p, player.n);
    if (!path_read(&r->text, buf_str(&path), MOST_BYTES, err)) {
        error_prefix(err, "replay");
        err->code = ERR_BAD_REQUEST;
        return false;
    }
    r->rest = buf_str(&r->text);
    return true;
}

/* ---- delivering ---- */

static void deliver_next(void *arg);

static void reel_release(struct reel *r)
{
    loop_take_back(r->soon);
    *r->prev = r->next;
    if (r->next)
        r->next->prev = r->prev;
    buf_clear(&r->text);
    free(r);
}

static void go_on(struct reel *r)
{
    if (!r->soon && !r->is_paused && !r->is_silent && !r->is_in_callback)
        r->soon = loop_soon(r->loop, deliver_next, r);
}

static enum err_code code_of(struct str name)
{
    for (int code = ERR_NONE + 1; code < ERR_N_CODES; code++)
        if (str_is(name, err_code_name(code)))
            return code;
    return ERR_CUT;
}

/* Calls on_end; the reel is freed before. */
static void deliver_end(struct reel *r, yyjson_val *line)
{
    struct http_request rq = r->rq;
    struct error err = ERROR_INIT;
    struct str text = json_get_str(line, "error");
    bool is_fine = line && !text.p && r->has_status;
    if (!line || !text.p)
        error_set(&err, ERR_CUT, "replay: the recording ends before the answer does");
    else if (!is_fine)
        error_set(&err, code_of(json_get_str(line, "code")), "%.*s", STR_FMT(text));
    reel_release(r);
    rq.on_end(rq.arg, is_fine ? NULL : &err);
}

static void deliver_line(struct reel *r, yyjson_val *line)
{
    AUTO(buf) struct buf decoded = BUF_INIT;
    struct str type = json_get_str(line, "type");
    r->has_status |= str_is(type, "status") && json_get_int(line, "status", 0) > 0;
    if (str_is(type, "status") && r->rq.on_status)
        r->rq.on_status(r->rq.arg, (int)json_get_int(line, "status", 0),
                        json_get_str(line, "content_type"));
    else if (str_is(type, "header") && r->rq.on_header)
        r->rq.on_header(r->rq.arg, json_get_str(line, "name"), json_get_str(line, "value"));
    else if (str_is(type, "body") && r->rq.on_body)
        r->rq.on_body(r->rq.arg, line_bytes(line, &decoded));
    else if (str_is(type, "canceled"))
        r->is_silent = true;
}

static void deliver_next(void *arg)
{
    struct reel *r = arg;
    AUTO(json) struct json line = JSON_INIT;
    r->soon = NULL;
    bool has_line = next_line(r, &line);
    struct str type = json_get_str(line.root, "type");
    if (!has_line || str_is(type, "end") || str_is(type, "left")) {
        deliver_end(r, has_line ? line.root : NULL);
        return;
    }
    r->is_in_callback = true;
    deliver_line(r, line.root);
    r->is_in_callback = false;
    if (r->is_dead)
        reel_release(r);
    else
        go_on(r);
}

/* ---- calls of the core ---- */

static struct http *reel_start(struct loop *l, const struct http_request *rq, struct error *err)
{
    if (player.has_failed) {
        *err = player.failure;
        return NULL;
    }
    struct reel *r = xnew(struct reel);
    *r = (struct reel){.rq = *rq, .loop = l, .next = player.reels, .prev = &player.reels};
    if (r->next)
        r->next->prev = &r->next;
    player.reels = r;
    if (!load(r, err) || !check_request(r, err)) {
        player.has_failed = true;
        player.failure = *err;
        reel_release(r);
        return NULL;
    }
    player.n++;
    go_on(r);
    return (struct http *)r; /* an opaque pointer to the core */
}

static void reel_pause(struct http *h, bool paused)
{
    struct reel *r = (struct reel *)h;
    r->is_paused = paused;
    if (paused)
        loop_take_back(take(&r->soon));
    else
        go_on(r);
}

static void reel_cancel(struct http *h)
{
    struct reel *r = (struct reel *)h;
    if (r->is_in_callback)
        r->is_dead = true;
    else
        reel_release(r);
}

static void reel_close(struct loop *l)
{
    for (struct reel *r = player.reels, *next; r; r = next) {
        next = r->next;
        if (r->loop == l)
            reel_cancel((struct http *)r);
    }
    if (player.reels)
        return;
    secrets_clear(&player.secrets);
    free(take(&player.ids));
    player.n_ids = 0;
}

const struct net_api *replay_open(const char *dir, struct error *err)
{
    static const struct net_api api = {
        .start = reel_start,
        .pause = reel_pause,
        .cancel = reel_cancel,
        .leave = reel_cancel,
        .close = reel_close,
    };
    if (!path_is_dir(str_of(dir))) {
        error_set(err, ERR_BAD_REQUEST, "replay: %s is no directory", dir);
        return NULL;
    }
    free(player.dir);
    player.dir = xstrdup(dir);
    player.n = 0;
    player.has_failed = false;
    return &api;
}
