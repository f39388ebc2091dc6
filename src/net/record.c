/* SPDX-License-Identifier: MIT */
/* Recording (record.h): a net_api between the core and the module.
 *
 * The core sees a tape as its request.  Each callback first writes its line and calls the core
 * last, because the core may cancel, and so free the tape, in it.
 */
#include "net/record.h"

#include "base/base64.h"
#include "base/json.h"
#include "base/log.h"
#include "base/path.h"
#include "base/time.h"
#include "base/utf8.h"
#include "net/secrets.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { MOST_HELD = 4 << 20 }; /* largest answer written as one line */

struct recording {
    struct http_request rq; /* the core's */
    struct http *http;      /* the real one */
    int fd;                 /* -1: writing failed */
    int64_t begun_us;
    struct buf held; /* of the body, not written yet */
    bool is_whole;   /* the body is written at its end */
    bool is_sign_in;
    struct loop *loop;
    struct recording *next, **prev;
};

/* Static because net_api functions get no context; a process records into one directory. */
static struct {
    const struct net_api *under;
    char *dir;
    unsigned n;
    struct secrets secrets;
    struct recording *tapes;
} recorder;

void record_put_path(struct buf *out, const char *dir, unsigned n)
{
    buf_addf(out, "%s/%04u.jsonl", dir, n);
}

/* ---- lines ---- */

static void write_line(struct recording *t, struct buf *line)
{
    buf_addc(line, '\n');
    if (t->fd < 0 || path_write_all(t->fd, buf_str(line)))
        return;
    log_error("the recording in %s is not complete: %s", recorder.dir, strerror(errno));
    close(t->fd);
    t->fd = -1;
}

static struct jw begin_line(const struct recording *t, struct buf *line, const char *type)
{
    struct jw w = JW(line);
    jw_obj(&w);
    jw_kz(&w, "type", type);
    jw_kint(&w, "ms", (time_mono_us() - t->begun_us) / 1000);
    return w;
}

static void end_line(struct recording *t, struct jw *w)
{
    jw_obj_end(w);
    write_line(t, w->out);
}

static void put_bytes(struct jw *w, struct str bytes)
{
    AUTO(buf) struct buf coded = BUF_INIT;
    if (utf8_is_valid(bytes)) {
        jw_kstr(w, "text", bytes);
        return;
    }
    base64_put(&coded, bytes);
    jw_kstr(w, "base64", buf_str(&coded));
}

static void put_clean(struct jw *w, const char *name, struct str text)
{
    AUTO(buf) struct buf clean = BUF_INIT;
    secrets_put(&recorder.secrets, text, &clean);
    jw_kstr(w, name, buf_str(&clean));
}

static void write_request(struct recording *t)
{
    AUTO(buf) struct buf line = BUF_INIT;
    AUTO(buf) struct buf clean = BUF_INIT;
    struct jw w = JW(&line);
    jw_obj(&w);
    jw_kz(&w, "type", "request");
    jw_kint(&w, "version", 1);
    jw_kz(&w, "method", t->rq.method);
    secrets_put_url(&recorder.secrets, t->rq.url, &clean);
    jw_kstr(&w, "url", buf_str(&clean));
    jw_karr(&w, "headers");
    for (size_t i = 0; i < t->rq.n_headers; i++) {
        const struct http_header *h = &t->rq.headers[i];
        buf_reset(&clean);
        secrets_put(&recorder.secrets, h->value, &clean);
        jw_arr(&w);
        jw_str(&w, h->name);
        jw_str(&w, secrets_is_header(h->name) ? STR(SECRETS_MARK) : buf_str(&clean));
        jw_arr_end(&w);
    }
    jw_arr_end(&w);
    buf_reset(&clean);
    secrets_put_body(&recorder.secrets, t->rq.body, &clean);
    put_bytes(&w, buf_str(&clean));
    end_line(t, &w);
}

/* Writes the held bytes; a possible beginning of a secret is kept back unless is_all. */
static void write_held(struct recording *t, bool is_all)
{
    AUTO(buf) struct buf line = BUF_INIT;
    AUTO(buf) struct buf clean = BUF_INIT;
    size_t done = t->held.n;
    if (is_all)
        secrets_put(&recorder.secrets, buf_str(&t->held), &clean);
    else
        done = secrets_put_part(&recorder.secrets, buf_str(&t->held), &clean);
    if (done == 0)
        return;
    struct jw w = begin_line(t, &line, "body");
    put_bytes(&w, buf_str(&clean));
    end_line(t, &w);
    buf_drop(&t->held, done);
}

static void write_last(struct recording *t, const char *type, const struct error *err)
{
    AUTO(buf) struct buf line = BUF_INIT;
    if (t->is_whole)
        secrets_learn_json(&recorder.secrets, buf_str(&t->held), t->is_sign_in);
    write_held(t, true);
    struct jw w = begin_line(t, &line, type);
    if (err) {
        jw_kz(&w, "code", err_code_name(err->code));
        put_clean(&w, "error", error_str(err));
    }
    end_line(t, &w);
}

static void tape_free(struct recording *t)
{
    *t->prev = t->next;
    if (t->next)
        t->next->prev = t->prev;
    if (t->fd >= 0)
        close(t->fd);
    buf_clear(&t->held);
    free(t);
}

/* ---- callbacks of the module ---- */

static void on_status(void *arg, int status, struct str content_type)
{
    struct recording *t = arg;
    AUTO(buf) struct buf line = BUF_INIT;
    struct str type;
    str_split(content_type, ';', &type);
    t->is_whole = type.n > 0 && !str_ieq(str_trim(type), STR("text/event-stream"));
    struct jw w = begin_line(t, &line, "status");
    jw_kint(&w, "status", status);
    put_clean(&w, "content_type", content_type);
    end_line(t, &w);
    if (t->rq.on_status)
        t->rq.on_status(t->rq.arg, status, content_type);
}

static void on_header(void *arg, struct str name, struct str value)
{
    struct recording *t = arg;
    AUTO(buf) struct buf line = BUF_INIT;
    struct jw w = begin_line(t, &line, "header");
    jw_kstr(&w, "name", name);
    put_clean(&w, "value", secrets_is_header(name) ? STR(SECRETS_MARK) : value);
    end_line(t, &w);
    if (t->rq.on_header)
        t->rq.on_header(t->rq.arg, name, value);
}

static void on_body(void *arg, struct str bytes)
{
    struct recording *t = arg;
    buf_add(&t->held, bytes);
    if (!t->is_whole || t->held.n > MOST_HELD)
        write_held(t, false);
    if (t->rq.on_body)
        t->rq.on_body(t->rq.arg, bytes);
}

static void on_end(void *arg, const struct error *err)
{
    struct recording *t = arg;
    struct http_request rq = t->rq;
    write_last(t, "end", err);
    tape_free(t);
    rq.on_end(rq.arg, err);
}

/* ---- calls of the core ---- */

static int open_file(struct error *err)
{
    AUTO(buf) struct buf path = BUF_INIT;
    record_put_path(&path, recorder.dir, recorder.n + 1);
    int fd = open(path.p, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        error_errno(err, errno, "cannot record into %s", path.p);
    else
        recorder.n++;
    return fd;
}

static struct http *tape_start(struct loop *l, const struct http_request *rq, struct error *err)
{
    int fd = open_file(err);
    if (fd < 0)
        return NULL;
    struct recording *t = xnew(struct recording);
    *t = (struct recording){.rq = *rq, .fd = fd, .begun_us = time_mono_us(), .loop = l};
    t->is_sign_in = secrets_is_sign_in(rq->url);
    t->next = recorder.tapes;
    t->prev = &recorder.tapes;
    if (t->next)
        t->next->prev = &t->next;
    recorder.tapes = t;
    secrets_learn(&recorder.secrets, rq);
    write_request(t);
    struct http_request inner = *rq;
    inner.on_status = on_status;
    inner.on_header = on_header;
    inner.on_body = on_body;
    inner.on_end = on_end;
    inner.arg = t;
    t->http = recorder.under->start(l, &inner, err);
    if (t->http)
        return (struct http *)t; /* an opaque pointer to the core */
    write_last(t, "end", err);
    tape_free(t);
    return NULL;
}

static void tape_pause(struct http *h, bool paused)
{
    recorder.under->pause(((struct recording *)h)->http, paused);
}

static void tape_stop(struct recording *t, const char *type, void (*stop)(struct http *h))
{
    struct http *http = t->http;
    write_last(t, type, NULL);
    tape_free(t);
    stop(http);
}

static void tape_cancel(struct http *h)
{
    tape_stop((struct recording *)h, "canceled", recorder.under->cancel);
}

static void tape_leave(struct http *h)
{
    tape_stop((struct recording *)h, "left", recorder.under->leave);
}

static void tape_close(struct loop *l)
{
    for (struct recording *t = recorder.tapes, *next; t; t = next) {
        next = t->next;
        if (t->loop == l)
            tape_cancel((struct http *)t);
    }
    recorder.under->close(l);
    if (!recorder.tapes)
        secrets_clear(&recorder.secrets);
}

const struct net_api *record_open(const char *dir, const struct net_api *under, struct error *err)
{
    static const struct net_api api = {
        .start = tape_start,
        .pause = tape_pause,
        .cancel = tape_cancel,
        .leave = tape_leave,
        .close = tape_close,
    };
    AUTO(buf) struct buf first = BUF_INIT;
    if (!path_make_dirs(str_of(dir), 0700, err))
        return NULL;
    record_put_path(&first, dir, 1);
    if (path_exists(buf_str(&first))) {
        error_set(err, ERR_EXISTS, "%s holds recordings already", dir);
        return NULL;
    }
    free(recorder.dir);
    recorder.dir = xstrdup(dir);
    recorder.under = under;
    recorder.n = 0;
    return &api;
}
