/* SPDX-License-Identifier: MIT */
/* The window keeper: asked before every request whether it will fit, and made to see to it.
 *
 *     estimate   (system + tools + messages) by message_weight, times what the provider counted
 *                for the last request divided by our own count for it
 *     60 %       results older than the newest third of the window shrink, a sixth at a time
 *     limit      window less the reserve: everything but the newest becomes a summary
 *     above it   still: the newest results shrink, too
 *     refused    the window is learned from the refusal, and the request shrinks by a tenth at
 * least
 *
 * The settings decide whether it acts by itself (compact.is_enabled).
 */
#ifndef TRIVET_ENGINE_WINDOW_H
#define TRIVET_ENGINE_WINDOW_H

#include "base/err.h"
#include "base/str.h"

struct ask;
struct session;
struct turn;
struct usage;

struct gauge {        /* what a session knows about the size of its requests; all zero at first */
    uint64_t about;   /* the model and the server that the figures are of */
    double ratio;     /* tokens that the provider counted per estimated token; 0: it is not known */
    int64_t fixed;    /* weight of the instruction and the tools */
    int64_t sent;     /* weight of the last request */
    int64_t accepted; /* tokens of the last accepted request */
    int64_t window, reserve; /* tokens */
    int64_t cap;             /* the window by refusals that named none; 0: there was none */
    bool is_assumed;         /* the catalogue knows nothing about the window */
    char *server;            /* its address; owned */
};

enum { ASSUMED_WINDOW = 128000 };

/* Whose window it is. */
void window_model(struct session *s, const struct ask *ask);
/* The same, before a request of a turn is made: what it has besides messages. */
void window_begin(struct session *s, const struct ask *ask);
/* Tokens of the next request, about. */
int64_t window_estimate(struct session *s);
/* The same as a weight (message_weight). */
int64_t window_sent(struct session *s);
/* Room for messages before something must be done, in tokens; at least a quarter of the window. */
int64_t window_space(const struct session *s);
/* Tokens as weights, by the last usage. */
int64_t window_weight(const struct session *s, int64_t tokens);
/* Makes the conversation fit, if it does not.  ERR_CANCELED alone. */
bool window_fit_await(struct turn *t, struct error *err);
/* The request was answered; its usage counts unless it is estimated. */
void window_accepted(struct session *s, const struct usage *usage);
/* How the provider counts, for the next process, if that is far from the estimate. */
void window_keep_ratio_await(struct session *s);
/* The request was refused as too long.  True: it is shorter now and can be made again.  False: err
 * is what the turn ends with; it names what is largest. */
bool window_refused_await(struct turn *t, struct error *err);
/* Learns the window from the words of a refusal. */
void window_learn_await(struct turn *t, const struct error *why);

#endif
