/* SPDX-License-Identifier: MIT */
/* The event vocabulary as rows. */
#include "engine/event.h"

const struct event_row event_rows[EV_N_KINDS] = {
    [EV_TURN_QUEUED] = {"turn_queued", true, true, "input was accepted"},
    [EV_TURN_STARTED] = {"turn_started", true, true, "the turn left the queue"},
    [EV_STEERED] = {"steered", true, true, "input was accepted for the running turn"},
    [EV_STEER_APPLIED] = {"steer_applied", true, true, "steering input was handed to the model"},
    [EV_STEER_LATE] = {"steer_late", false, true, "steering input came after the last round"},
    [EV_INPUT_ADDED] = {"input_added", false, true, "the turn's input joined the conversation"},
    [EV_TEXT] = {"text", true, true, "a piece of the answer"},
    [EV_REASONING] = {"reasoning", true, true, "a piece of visible reasoning"},
    [EV_REASONING_PART] = {"reasoning_part", true, true, "a part of the reasoning has ended"},
    [EV_REQUEST] = {"request", false, false, "a request to the model, for those who look closely"},
    [EV_REPLY_DONE] = {"reply_done", true, true, "one model response is complete"},
    [EV_RETRY_WAITING] = {"retry_waiting", true, true, "a failed request will be repeated"},
    [EV_CALL_STARTED] = {"call_started", true, true, "the model called a tool"},
    [EV_PERMISSION_ASKED] = {"permission_asked", false, false, "a call waits for a decision"},
    [EV_PERMISSION_ANSWERED] = {"permission_answered", false, true,
                                "the call was allowed or denied"},
    [EV_QUESTION_ASKED] = {"question_asked", false, false, "a tool asks the user"},
    [EV_QUESTION_ANSWERED] = {"question_answered", false, true, "the user answered a tool"},
    [EV_CALL_OUTPUT] = {"call_output", true, true, "the last output of a call that still runs"},
    [EV_CALL_DONE] = {"call_done", true, true, "a tool call has its result"},
    [EV_ROUND_DONE] = {"round_done", false, true, "all calls of a response have results"},
    [EV_COMPACTION_STARTED] = {"compaction_started", false, true,
                               "older history is being summarised"},
    [EV_COMPACTION_DONE] = {"compaction_done", false, true, "the summary stands, or failed"},
    [EV_CANCEL_ASKED] = {"cancel_asked", true, true, "the turn is asked to stop"},
    [EV_ANSWER] = {"answer", true, true, "the final text"},
    [EV_FAILED] = {"failed", true, true, "the turn failed"},
    [EV_TURN_ENDED] = {"turn_ended", true, true, "the one end of a turn"},
    [EV_USAGE_CHANGED] = {"usage_changed", false, false, "the context has another size"},
    [EV_SETTINGS_CHANGED] = {"settings_changed", false, false, "model, mode or name changed"},
    [EV_NOTICE] = {"notice", false, true, "something happened that the user should know"},
};

const char *turn_state_name(enum turn_state s)
{
    static const char *const names[] = {"queued", "running", "completed", "failed", "canceled"};
    return names[s];
}
