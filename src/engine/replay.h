/* SPDX-License-Identifier: MIT */
/* Events of a session read from its file, for listeners that missed them and come after they left
 * memory.  For src/engine only.
 *
 * A finished reply is one piece of reasoning and one of text; calls have their arguments and
 * results; a turn that has started brings its input.  Replayed in this way, the text is the same
 * and the events are fewer.  What the conversation does not keep is not there: queueing, retries,
 * output of running commands.
 */
#ifndef TRIVET_ENGINE_REPLAY_H
#define TRIVET_ENGINE_REPLAY_H

#include "engine/session_impl.h"

struct replay; /* a reading that goes on in slices */

struct replay *replay_new(struct session *s);
void replay_free(struct replay *r);
/* The next events with after < seq <= upto, oldest first; valid until the next call.  *ret_n is 0
 * at the end of the file, or where later events follow: the next call goes on there. */
const struct event *replay_read_through_await(struct replay *r, int64_t after, int64_t upto,
                                              size_t *ret_n);
/* The text of the open reply as far as it was shown, all with seq = upto. */
const struct event *replay_read_open_through_await(struct replay *r, int64_t upto, size_t *ret_n);

#endif
