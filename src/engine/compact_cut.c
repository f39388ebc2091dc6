/* SPDX-License-Identifier: MIT */
/* Where a compaction cuts (kward 146-157).
 *
 *     [summary] m m m | kept ...                 the usual: at a message of the user
 *     [summary] m m m | user - - - | kept ...    one turn is too long: its question and its end
 *                       kept  split              stay, what lies between is summarised apart
 *
 * The cut is at a message of the user or the model, so that a result is never cut from its call.
 */
#include "engine/compact.h"

static int64_t tokens_from(const struct history *h, size_t from)
{
    return history_tokens_before(h, h->n) - history_tokens_before(h, MIN(from, h->n));
}

/* The first entry from `at` on that is of this role and begins a rest that fits; h->n: none. */
static size_t find_fit(const struct history *h, size_t at, enum role role, int64_t budget)
{
    while (at < h->n && (h->messages[at].role != role || tokens_from(h, at) > budget))
        at++;
    return at;
}

static size_t find_last_user(const struct history *h, size_t start)
{
    for (size_t i = h->n; i-- > start;)
        if (h->messages[i].role == ROLE_USER)
            return i;
    return h->n;
}

/* No message of the user begins a rest that fits: the last turn alone is too long. */
static struct cut split_turn(const struct history *h, size_t start, int64_t budget)
{
    size_t user = find_last_user(h, start);
    if (user == h->n) {
        size_t at = find_fit(h, start + 1, ROLE_ASSISTANT, budget);
        return (struct cut){start, at, at};
    }
    size_t rest = find_fit(h, user + 1, ROLE_ASSISTANT, budget);
    bool has_middle = rest > user + 1;
    if (!has_middle && user == start) /* only the question is too long: it goes, too */
        return (struct cut){start, rest, rest};
    return (struct cut){start, user, has_middle ? rest : user};
}

static bool keeps_question(const struct history *h, const struct cut *c)
{
    return c->at < h->n && h->messages[c->at].role == ROLE_USER;
}

/* turn: the first entry of the running turn, which must not lose its question. */
static bool choose(const struct history *h, size_t start, size_t turn, int64_t budget,
                   struct cut *ret, struct error *err)
{
    size_t at = find_fit(h, start + 1, ROLE_USER, budget);
    struct cut c = at < h->n ? (struct cut){start, at, at} : split_turn(h, start, budget);
    if (turn < h->n && !keeps_question(h, &c))
        c = (struct cut){start, turn, turn};
    if (c.at <= start && c.split <= start)
        return error_set(err, ERR_INVALID, "Nothing to compact");
    *ret = c;
    return true;
}

/* The first message of the user, or inside the turn of the model, from `from` on whose rest weighs
 * no more than that; h->n: none. */
static size_t find_light(const struct history *h, size_t from, size_t turn, int64_t weight)
{
    for (size_t i = from; i < h->n; i++) {
        enum role role = h->messages[i].role;
        bool can_begin = role == ROLE_USER || (role == ROLE_ASSISTANT && i > turn);
        if (can_begin && history_weight(h, i) <= weight)
            return i;
    }
    return h->n;
}

static size_t find_last_reply(const struct history *h, size_t start)
{
    for (size_t i = h->n; i-- > start;)
        if (h->messages[i].role == ROLE_ASSISTANT)
            return i;
    return start;
}

bool compact_turn_cut(const struct history *h, int64_t weight, size_t turn, struct cut *ret,
                      struct error *err)
{
    size_t start = h->n > 0 && h->messages[0].role == ROLE_SUMMARY;
    size_t at = find_light(h, start, turn, weight);
    if (at == h->n) /* the last round alone is too long; its results can be shortened */
        at = find_last_reply(h, MAX(start, turn));
    bool has_question = turn >= start && turn < at && h->messages[turn].role == ROLE_USER &&
                        history_weight(h, turn) - history_weight(h, turn + 1) <= weight / 2;
    *ret = has_question ? (struct cut){start, turn, at} : (struct cut){start, at, at};
    bool has_middle = has_question && at > turn + 1;
    if (has_question && !has_middle)
        *ret = (struct cut){start, turn, turn};
    if (ret->at <= start && !has_middle)
        return error_set(err, ERR_INVALID, "Nothing to compact");
    return true;
}

static bool check(const struct history *h, size_t start, struct error *err)
{
    if (h->n == 0)
        return error_set(err, ERR_INVALID, "Nothing to compact");
    if (h->n == start || h->ends_with_compaction)
        return error_set(err, ERR_INVALID, "Already compacted");
    return true;
}

bool compact_flat_cut(const struct history *h, int64_t budget, size_t *ret_cut, struct error *err)
{
    size_t start = h->n > 0 && h->messages[0].role == ROLE_SUMMARY;
    if (!check(h, start, err))
        return false;
    *ret_cut = h->n;
    if (tokens_from(h, start) <= budget)
        return true;
    *ret_cut = find_fit(h, start + 1, ROLE_USER, budget);
    if (*ret_cut == h->n)
        *ret_cut = find_fit(h, start + 1, ROLE_ASSISTANT, budget);
    return true;
}

bool compact_cut(const struct history *h, int64_t budget, size_t keep_from, bool must,
                 struct cut *ret, struct error *err)
{
    size_t start = h->n > 0 && h->messages[0].role == ROLE_SUMMARY;
    size_t before = MIN(keep_from, h->n); /* what is not of the running turn */
    if (!check(h, start, err))
        return false;
    if (budget > 0 && tokens_from(h, start) > budget)
        return choose(h, start, before, budget, ret, err);
    if ((budget > 0 && !must) || before == 0)
        return error_set(err, ERR_INVALID, "Nothing to compact");
    if (before == start)
        return error_set(err, ERR_INVALID, "Already compacted");
    *ret = (struct cut){start, before, before};
    return true;
}
