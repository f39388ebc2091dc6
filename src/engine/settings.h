/* SPDX-License-Identifier: MIT */
/* What a dialect decides when it opens a session.  The three protocol documents name different
 * numbers on purpose: they are data in the dialect's folder, never a question in the engine.
 */
#ifndef TRIVET_ENGINE_SETTINGS_H
#define TRIVET_ENGINE_SETTINGS_H

#include "base/err.h"
#include "sandbox/policy.h"
#include "toolsets/rules.h"

struct session;
struct file_form;

enum permit_policy {
    PERMIT_ALL,   /* every call runs */
    PERMIT_ASK,   /* every call is put to the listeners */
    PERMIT_RULES, /* rules first, then the session's mode; what is beyond it is denied or asked */
};

/* How a model request can fail before anything of its reply was shown. */
enum retry_kind {
    RETRY_NETWORK,  /* no connection, or it ended before the head of the answer was complete */
    RETRY_STATUS,   /* an HTTP status, see retry_rules.statuses */
    RETRY_RATE,     /* HTTP 429 */
    RETRY_REPORTED, /* an error inside an answer that began with 200, in an event or as the whole
                     * body, that names one of these statuses by its code or type */
    RETRY_REPORTED_RATE, /* the same, and it is a rate limit */
    RETRY_CUT,           /* the answer ended before its end marker */
    RETRY_STALLED,       /* nothing useful came for stall_ms */
    RETRY_N_KINDS,
    RETRY_NEVER = RETRY_N_KINDS, /* what another attempt cannot change */
};

struct retry_rule {
    int attempts;             /* of one model request, the first included; below 2: not repeated */
    int64_t first_ms, max_ms; /* wait before the second attempt, doubled each time */
    int less_percent, more_percent; /* random change of the wait, down and up */
    int64_t more_ms;                /* and up by so much */
};

struct retry_rules {
    struct retry_rule rules[RETRY_N_KINDS];
    struct {
        int from, to;
    } statuses[4];              /* besides 429; unused ones are zero */
    int64_t max_retry_after_ms; /* a longer Retry-After ends the turn */
    const char *const *once; /* providers whose requests are never repeated; NULL-ended, or NULL */
};

/* Replaces every first wait by TRIVET_RETRY_MS, without random changes, when that is set. */
void retry_rules_from_env(struct retry_rules *r);

struct files_words { /* headings in a summary */
    const char *title, *read, *modified;
};

struct compact_rules {
    bool is_enabled; /* automatic compaction, whenever a request would not fit (window.h) */
    /* Besides, a turn begins with a compaction when less than this is free of the window; all 0:
     * it does not. */
    int64_t reserve_tokens;     /* kept free below the window */
    int reserve_percent;        /* at least this share of the window is kept free */
    int64_t least_reserve;      /* and at least this */
    int64_t keep_recent_tokens; /* of a compaction before a turn; 0: everything becomes the summary.
                                 * Inside a turn not more than this, if it is given */
    /* Says itself why it is time ("auto", "provider_switch"), or NULL that it is not; then the
     * numbers above do not count.  arg: context_arg. */
    const char *(*why)(void *arg, struct session *s);
    bool repeats;           /* by hand also where there is nothing new to summarise, or nothing */
    bool takes_recent;      /* by hand also where all of it could be kept */
    bool failure_ends_turn; /* a turn does not go on when compaction before it failed */
    bool without_thinking;  /* the summary is asked for with the lowest effort */
    /* After an overflow the turn ends and this is said in a turn of its own, which follows before
     * everything that waits, at most so many times one after another; NULL: the same turn goes on.
     */
    const char *continuation;
    int max_continuations;
    const char *const *overflow_words; /* failures with one of them are overflows too; NULL-ended */
    const char *format;              /* the parts of a summary, for the model; NULL: the default */
    const struct files_words *files; /* lists of files in the summary; NULL: it has none */
};

/* Tokens of the window that are kept free. */
int64_t compact_reserve(const struct compact_rules *r, int64_t window);

/* What a dialect says to the model, each part with its own blank lines in front or empty. */
struct context_parts {
    struct buf head;    /* behind the base instruction */
    struct buf memory;  /* behind that; when it is another later, it goes with the input */
    struct buf tail;    /* behind that */
    struct buf turn;    /* goes with this input */
    bool has_no_memory; /* memory is off: that of earlier inputs is taken out of them */
};

struct session_settings {
    const struct toolset *toolset;
    enum permit_policy permit;
    const struct rules *rules; /* with PERMIT_RULES; may be NULL and may grow */
    bool asks_beyond_mode; /* with PERMIT_RULES: a call beyond the mode is put to the listeners */
    const char *mode_name; /* how users know the mode; NULL: by what it covers */
    enum sandbox_kind sandbox; /* of tools, unless TRIVET_SANDBOX says otherwise */
    bool network;              /* the sandbox lets commands use the network */
    const char *leave_hint;    /* how a call asks to leave it, for the model; NULL: no client would
                                * answer */
    struct retry_rules retry;
    struct compact_rules compact;
    int64_t context_window; /* counts instead of the model's when it is not 0 */
    int max_rounds;         /* rounds with tools per turn */
    int max_repeats;        /* equal calls in a row that end the turn; 0: none do */
    /* Limits of a turn; 0: none.  A turn that reaches one ends before its next request, at the
     * limit of time at once, with the stop reason "max_cost", "max_total_tokens" or "max_time"
     * where names_limits, else as an error. */
    double max_cost;          /* USD */
    int64_t max_total_tokens; /* input and output of all its requests */
    int64_t max_time_ms;
    bool names_limits;
    /* Said once before the end of a turn that changed files and ran no command since; NULL: not. */
    const char *check_reminder;
    bool max_rounds_is_stop; /* one more request, then stop "max_iterations"; else an error */
    int64_t stall_ms;        /* no useful event from the provider for so long: the request failed */
    int64_t kill_grace_ms;   /* SIGTERM to SIGKILL of an interrupted command */
    bool drops_failed_turns; /* a failed turn leaves the conversation as it was */
    bool keeps_only_text;    /* tool calls, results and reasoning do not outlive their turn */
    bool sends_recent;       /* with keeps_only_text: calls and results of the last turns are sent
                              * while the process lives (recent.h) */
    bool steer_extends;      /* steering input gets a round of its own even after a final reply */
    bool is_quiet_after_cancel; /* after EV_CANCEL_ASKED only the end is emitted */
    bool counts_attempts;       /* a request that failed in spite of retries says how many */
    bool shares_shell;          /* the shell's directory and environment live on for the process */
    bool ids_by_place;          /* a call without an id is named by its tool, round and place */
    bool sends_requests;        /* EV_REQUEST for every request to a model; may change any time */
    bool file_at_first_input;   /* the session file appears with the first input, not before */
    bool keeps_no_file;         /* there is no place to write: the session lives in memory alone */
    bool locks_at_open;         /* opening an existing file takes the writer's lock at once */
    const char *empty_answer;   /* what a completed turn without text said, with keeps_only_text;
                                 * NULL: nothing */
    bool sends_output;          /* EV_OUTPUT for running commands, see output.c */
    const char *canceled_text;  /* result of a call that an interrupt stopped or prevented */
    const char *denied_text;    /* result of a call that was denied without a reason */
    const char *system;         /* the base instruction */
    const char *const *instructions; /* files of the workspace that follow it, NULL-ended; NULL:
                                      * AGENTS.md */
    bool rebuilds_system; /* it follows the files at once, instead of by a message (prompt.h) */
    bool spares_todos;    /* a large model gets the list of things to do only after a compaction */
    bool keeps_undo;      /* what file tools change can be taken back (undo.h) */
    bool sends_surroundings; /* day, directory, repository and so on go with the first message */
    /* Says, once per turn, what belongs to the turn's input; may be NULL. */
    void (*put_context_await)(void *arg, struct session *s, struct str input,
                              struct context_parts *out);
    /* A turn has completed: what the dialect keeps of it, before its last event; may be NULL. */
    void (*keep_context_await)(void *arg, struct session *s);
    void *context_arg;            /* for both, and for the form */
    const char *memory_tag;       /* the memory is <tag>...</tag>; NULL: there is none */
    const struct file_form *form; /* of the session file between turns; NULL: the records stay */
    const char *config_dir;       /* the dialect's own directory: skills/, tools/; NULL: none */
    /* Files that the client holds; NULL: all are on the disk.  Lives as long as the session. */
    const struct client_files *files;
    bool offers_servers;        /* tools of MCP servers are offered */
    const char *servers_file;   /* the user's own list of them; NULL: trivet's (mcp/sources.h) */
    const char *const *gadgets; /* groups of optional tools that are on; NULL-ended, NULL: none */
};

#endif
