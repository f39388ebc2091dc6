/* SPDX-License-Identifier: MIT */
/* Overflow: the model refused a request as too long.  Where the dialect wants it so, the turn ends
 * there like an interrupted one, everything becomes a summary, calls and results too, and a turn of
 * our own goes on before whatever waits:
 *
 *     turn A   request, request, overflow   settled, compacted, ends "continued"
 *     turn B   "go on"                      summary + "go on"
 *
 * At most a few times in a row: a summary that is too long itself must not keep us busy for ever.
 */
#include "engine/compact.h"
#include "engine/file.h"

bool overflow_recognise(const struct session *s, struct error *err)
{
    const char *const *words = s->settings->compact.overflow_words;
    if (err->code != ERR_BAD_REQUEST && err->code != ERR_PROVIDER && err->code != ERR_BAD_REPLY)
        return err->code == ERR_OVERFLOW;
    for (size_t i = 0; words && words[i]; i++)
        if (str_ifind(error_str(err), str_of(words[i])) != SIZE_MAX) {
            err->code = ERR_OVERFLOW;
            return true;
        }
    return false;
}

bool overflow_continue_await(struct turn *t, struct error *err)
{
    struct session *s = t->session;
    const struct compact_rules *r = &s->settings->compact;
    struct compact_outcome out;
    struct error why = ERROR_INIT;
    if (!r->continuation || t->round == 0 || s->n_continuations >= r->max_continuations)
        return false;
    t->mark->state = TURN_CANCELED;
    t->mark->is_kept = true; /* also when the summary fails */
    /* The summary is made while calls and results are still there, if it is not made already. */
    bool ok = (s->history.ends_with_compaction || compact_all_await(s, t, err, &out, &why)) &&
              session_settle_through_await(s, true, &why) &&
              input_first(s, str_of(r->continuation), &why);
    if (ok)
        s->n_continuations++;
    else
        *err = why;
    return ok;
}
