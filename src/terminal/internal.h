/* SPDX-License-Identifier: MIT */
/* What the parts of the chat share.
 *
 *     chat.c     start, end, bytes in and out, signals, frames
 *     view.c     engine events into the scrollback
 *     live.c     the rows below it
 *     input.c    keys, sending, the queue; images.c: pictures that a prompt names
 *     ask.c      the question before a call; question.c: its words
 *     bell.c     title, bell and notifications
 *     slash.c    commands; sessions.c, models.c, changes.c and program.c do the longer ones
 *     complete.c names while they are typed; finder.c: those of files; pick.c: lists to choose
 * from; entry.c: one line
 */
#ifndef TRIVET_TERMINAL_INTERNAL_H
#define TRIVET_TERMINAL_INTERNAL_H

#include "loop/io.h"
#include "terminal/editor.h"
#include "terminal/launch.h"
#include "terminal/markdown.h"

struct chat;

struct file_finder {  /* finder.h */
    struct buf paths; /* of the workspace, a line each */
    char *root;       /* of these */
    int64_t listed_us, took_us;
    struct fiber *fiber; /* that looks, or NULL */
    char *wanted;        /* the next word to look for, or NULL */
    size_t from;         /* byte of the text where the word begins */
    bool is_asked;       /* somebody waits for the result */
};

struct pane {                     /* what has the keyboard */
    void (*draw)(struct chat *c); /* adds rows and puts the cursor into one */
    void (*key)(struct chat *c, const struct key *k);
    void (*close)(struct chat *c); /* another pane takes over; may be NULL */
    bool has_popup;                /* rows of completion and the footer follow it */
};
extern const struct pane pane_edit, pane_search, pane_ask, pane_pick, pane_entry;

struct waiting_text { /* typed while a turn runs */
    struct waiting_text *next;
    bool is_steer; /* goes to the running turn, else it is a turn of its own */
    bool is_late;  /* typed while a turn ran */
    char turn[UUID_LEN + 1];
    char *text;
    bool *is_withdrawn; /* read by the fiber that still sends it; NULL: it was sent */
};

struct asked; /* entry.c */
typedef void entry_fn(struct chat *c, struct str text, void *arg);
void entry_open(struct chat *c, const char *who, const char *what, bool is_secret, entry_fn *fn,
                void *arg);

/* ask.c */
struct pick;        /* pick.c */
struct typed_entry; /* entry.c */
struct completion;

struct chat {
    struct run_options options;
    struct loop *loop;
    struct engine *engine;
    struct launch launch;
    struct listener listener;
    struct session *heard; /* the session that it listens to */
    struct screen screen;
    struct editor editor;
    struct keys keys;
    struct markdown markdown;
    struct reader *in;
    struct writer *out;
    struct wait written; /* woken when it has taken all, or is broken */
    int in_fd, out_fd;
    struct timer *frame, *second, *escape;
    int64_t drawn_us, resized_us;
    int seen_cols, seen_lines; /* of the terminal; the screen follows when they stay */
    const struct pane *pane;
    /* the turn */
    bool is_busy, is_stopping, is_thinking /* the last text was reasoning */, in_answer;
    bool shows_thinking, has_called;
    int64_t started_us, call_us;
    char turn[UUID_LEN + 1]; /* that runs */
    char *doing;             /* what the status line says */
    char *progress;          /* the last line of the running command, or NULL */
    char *last_prompt;       /* of this session */
    struct waiting_text *waiting;
    struct buf last_output; /* of the last call, for the pager */
    int64_t context, window;
    /* the line */
    int64_t stop_us, escape_us; /* when Ctrl-C and Esc were pressed last */
    const char *hint;           /* said in the footer until the next key */
    struct buf search;          /* Ctrl-R */
    size_t found;               /* in the history */
    struct asked *asked;
    struct pick *pick;
    struct typed_entry *entry;
    struct fiber *signing;       /* waits for a sign-in, or NULL */
    struct completion *complete; /* what is offered, or NULL */
    struct file_finder finder;
    bool accepts;    /* Tab was pressed before the finder has found something */
    char branch[64]; /* of the repository, for the footer */
    int exit_code;
    bool is_quitting, is_started;
    bool is_settled; /* what is offered stays as it is */
    bool is_away;    /* another program has the terminal */
    bool has_title, has_bell, has_notices, has_links;
    char *title; /* of the window, as it was set last, or NULL */
};

/* chat.c */
void chat_draw(struct chat *c);  /* now */
void chat_dirty(struct chat *c); /* with the next frame */
void chat_quit(struct chat *c);
void chat_set_pane(struct chat *c, const struct pane *pane);
void chat_suspend(struct chat *c);
/* Another program gets the terminal; turns go on. */
bool chat_go_away(struct chat *c); /* false: it cannot have it now, a hint says why */
void chat_come_back(struct chat *c);
/* Opens the session again with what the mode needs. */
void chat_set_mode(struct chat *c, const struct run_mode *mode);
/* Keys wait while a session is opened: they are for that one. */
void chat_hold_keys(struct chat *c, bool is_held);
/* These leave the session for another one: a new one, that of a file, a copy. */
bool chat_renew(struct chat *c, struct error *err);
bool chat_resume_await(struct chat *c, struct str path, struct error *err);
bool chat_fork_await(struct chat *c, struct error *err);

/* view.c */
void view_event(struct chat *c, const struct event *e);
void view_notice(struct chat *c, unsigned style, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void view_welcome(struct chat *c);
void view_history(struct chat *c); /* the conversation so far, when a session was resumed */
/* One line that says what a call is about. */
void view_gist(struct str args_json, struct buf *out);
void view_diff(struct screen *s, struct str diff, size_t max_lines);
void view_end_text(struct chat *c);
void view_output(struct chat *c, struct str text); /* of a command, whole */
void view_prompt(struct chat *c, struct str text);

/* live.c */
void live_draw(struct chat *c);

/* input.c */
void input_key(struct chat *c, const struct key *k);
void input_send(struct chat *c, struct str text, bool queues);
void input_drop_waiting(struct chat *c, struct waiting_text *w);
struct waiting_text *input_find_waiting(struct chat *c, struct str turn, bool is_steer);
/* Into the editor; steers: also what the running turn has not taken yet. */
void input_return_waiting(struct chat *c, bool steers);
void input_load_history(struct chat *c);
void input_describe(struct buf *out);
void input_named(struct chat *c, const struct event *e); /* EV_TURN_QUEUED, EV_STEERED */
void input_settle(struct chat *c, bool is_completed);    /* a turn is over */
void input_edit_key(struct chat *c, const struct key *k);
void input_search_key(struct chat *c, const struct key *k);
/* Images of @names in the text, in the arena; names that are none stay text. */
void input_images(struct chat *c, struct str text, struct arena *a, struct input *in);

/* ask.c */
void ask_open(struct chat *c, const struct event *e);
void ask_close(struct chat *c);
void ask_describe(struct buf *out);

#endif
