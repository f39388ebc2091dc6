/* SPDX-License-Identifier: MIT */
/* The core's side of HTTP: checks requests, opens the module `net` at first use, forwards calls.
 * TRIVET_RECORD names a directory for a copy of the traffic; TRIVET_REPLAY one with recorded
 * answers, and then the module is not opened at all (record.h).
 */
#include "net/http.h"

#include "base/module.h"
#include "net/record.h"

/* Set by the first request and never changed; NULL means that there is nothing to close. */
static const struct net_api *net;

static const char *setting(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static const struct net_api *net_open(struct error *err)
{
    return module_open("net", "libcurl4", err);
}

static const struct net_api *net_choose(struct error *err)
{
    const char *replay = setting("TRIVET_REPLAY"), *record = setting("TRIVET_RECORD");
    if (replay)
        return replay_open(replay, err);
    const struct net_api *module = net_open(err);
    return module && record ? record_open(record, module, err) : module;
}

static bool is_plain(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < ' ' || (unsigned char)s.p[i] > '~')
            return false;
    return true;
}

static bool check_request(const struct http_request *rq, struct error *err)
{
    bool is_http = str_starts(rq->url, STR("http://")) || str_starts(rq->url, STR("https://"));
    if (!is_http || !is_plain(rq->url) || str_chr(rq->url, ' ') != SIZE_MAX)
        return error_set(err, ERR_INVALID, "the address is not an http:// or https:// URL");
    for (size_t i = 0; i < rq->n_headers; i++) {
        const struct http_header *header = &rq->headers[i];
        if (header->name.n == 0 || !is_plain(header->name) || !is_plain(header->value))
            return error_set(err, ERR_INVALID, "the header %.*s has characters HTTP does not allow",
                             STR_FMT(header->name));
    }
    return true;
}

struct http *http_start(struct loop *l, const struct http_request *rq, struct error *err)
{
    if (!check_request(rq, err) || (!net && !(net = net_choose(err))))
        return NULL;
    return net->start(l, rq, err);
}

void http_pause(struct http *h, bool paused)
{
    net->pause(h, paused);
}

void http_cancel(struct http *h)
{
    if (h)
        net->cancel(h);
}

void http_leave(struct http *h)
{
    if (h)
        net->leave(h);
}

void http_close(struct loop *l)
{
    if (net)
        net->close(l);
}

static void open_early(void *arg)
{
    (void)arg;
    struct error ignored; /* the first request reports the failure */
    net_open(&ignored);
}

void http_warm_up(struct loop *l)
{
    static bool is_begun; /* once per process */
    if (is_begun || http_is_replay())
        return;
    is_begun = true;
    work_start(l, open_early, NULL, NULL);
}

bool http_is_replay(void)
{
    return setting("TRIVET_REPLAY") != NULL;
}
