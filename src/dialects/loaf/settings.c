/* SPDX-License-Identifier: MIT */
/* Settings of the engine for loaf, and the base instruction for the model. */
#include "dialects/loaf/chats.h"
#include "dialects/loaf/methods.h"
#include "dialects/loaf/say.h"
#include "dialects/loaf/state.h"
#include "context/guide.h"

static const char instruction[] =
    "You are a coding agent that works in the user's project through tools.\n"
    "\n# Tools\n"
    "- read_file and list_dir want absolute paths; grep_files names the files that hold a pattern. "
    "apply_patch and edit_file change files; bash is for everything else: tests, builds, git, line-by-line "
    "searches.\n"
    "- A server or another command that goes on for long runs in the background; look at its output "
    "later.\n"
    "- A call that failed says why in its result: mend that instead of repeating it." GUIDE_WORK
        GUIDE_CARE GUIDE_END;

/* see loaf 131-139 */
static const char continuation[] =
    "The conversation became too long for the model and was replaced by the summary above. Go on "
    "with the work where it was interrupted; if it is not clear what comes next, ask.";

static const char *const overflow_words[] = {
    "context length",
    "context window",
    "context limit",
    "maximum context",
    "max context",
    "prompt is too long",
    "input is too long",
    "token limit",
    "too many tokens",
    "context overflow",
    "context_length_exceeded",
    "prompt_too_large",
    NULL,
};

/* An error inside a response with status 200 is not retried, unless it is a rate limit. */
#define AS_CLIENT                                                                                  \
    {                                                                                              \
        .attempts = 3, .first_ms = 500, .max_ms = 8000, .less_percent = 25                         \
    }
#define AS_LIMIT                                                                                   \
    {                                                                                              \
        .attempts = 8, .first_ms = 1250, .max_ms = 20000, .more_ms = 500                           \
    }

static const char *const once[] = {"antigravity", NULL};

static const struct retry_rules retry = {
    .rules = {[RETRY_NETWORK] = AS_CLIENT,
              [RETRY_STATUS] = AS_CLIENT,
              [RETRY_CUT] = AS_CLIENT,
              [RETRY_STALLED] = AS_CLIENT,
              [RETRY_RATE] = AS_LIMIT,
              [RETRY_REPORTED_RATE] = AS_LIMIT},
    .statuses = {{408, 409}, {500, 599}},
    .max_retry_after_ms = 60000,
    .once = once,
};

struct session_settings loaf_settings_make(void)
{
    int64_t stall_ms = 120000, given_ms;
    if (str_int(str_of(getenv("TRIVET_STALL_MS")), &given_ms) && given_ms > 0)
        stall_ms = given_ms;
    struct session_settings made = {
        .toolset = &toolset_loaf,
        .permit = PERMIT_ALL,
        .retry = retry,
        .compact = {.is_enabled = true,
                    .why = loaf_why_compact,
                    .repeats = true,
                    .failure_ends_turn = true,
                    .without_thinking = true,
                    .continuation = continuation,
                    .max_continuations = 3,
                    .overflow_words = overflow_words},
        .max_rounds = 200,
        .stall_ms = stall_ms,
        .kill_grace_ms = 1500,
        .drops_failed_turns = true,
        .keeps_only_text = true,
        .sends_recent = true,
        .shares_shell = true,
        .ids_by_place = true,
        .file_at_first_input = true,
        .canceled_text = "aborted by user",
        .empty_answer = "(No response text returned)",
        .system = instruction,
        .keeps_undo = true,
        .sends_surroundings = true,
        .form = &loaf_form,
    };
    retry_rules_from_env(&made.retry);
    return made;
}
