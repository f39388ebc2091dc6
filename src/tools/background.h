/* SPDX-License-Identifier: MIT */
/* Background jobs: commands that go on while turns come and go, in a terminal or behind pipes.
 *
 * One set belongs to the engine and ends with it.  A job that has ended stays readable until the
 * set is full; a job that runs is never forgotten.  Pointers to jobs hold until the next await.
 */
#ifndef TRIVET_TOOLS_BACKGROUND_H
#define TRIVET_TOOLS_BACKGROUND_H

#include "tools/tape.h"
#include "tools/tool.h"

struct background;

struct background_options {
    struct str name;    /* need not be the only one of its kind */
    const char *prefix; /* of the id: <prefix>-<ms>-<hex> */
    const char *shell;  /* name or path */
    const char *flags;  /* "-c" or "-lc" */
    struct str command; /* without NUL bytes */
    const char *cwd;
    const char *const *env; /* complete */
    bool has_terminal;      /* everything it says comes on one stream */
    int cols, rows;
    int64_t keep_chars;      /* of each stream */
    struct room *room;       /* its sandbox; NULL: none */
    bool has_no_input;       /* its stdin is /dev/null */
    struct saved_dir *saved; /* for the file that gets everything it says; NULL: no file */
};

struct background_job {          /* for others to read; changed here alone */
    struct background_job *next; /* an older one */
    struct background *set;
    char id[60];
    char *name, *shell, *flags, *command, *cwd;
    bool has_terminal;
    int cols, rows;
    int pid; /* of the shell; 0 when it never was */
    int64_t created_ms, updated_ms;
    bool is_running; /* until the command has ended; after a stop until all its processes have ended
                      */
    struct child_end end; /* when it does not run */
    struct tape out, err;
    struct cut_pair *text; /* all it has said, for its log; may be NULL */
    struct child *child;   /* while it runs */
    struct wait started;   /* its process exists, or will not */
    int n_users;           /* awaits that hold on to it */
};

struct background *background_new(struct loop *l);
void background_free(struct background *b); /* kills what runs */

/* ERR_LIMIT when too many run (LIMIT_BACKGROUND_JOBS), ERR_BUSY after background_close. */
bool background_start_await(struct background *b, const struct background_options *o,
                            struct background_job **ret, struct error *err);
struct running_command {
    struct child *child;
    int pid;
    struct cut_pair *text; /* its output so far */
};
/* Makes a running command a job; what it says from now on is to be read.  Takes child and text
 * over; both stay the caller's when false is returned. */
bool background_adopt(struct background *b, const struct background_options *o,
                      const struct running_command *c, struct background_job **ret,
                      struct error *err);
/* The path of the file with all that it has said, or NULL. */
const char *background_log(struct background_job *j);
struct background_job *background_first(const struct background *b); /* the newest */
struct background_job *background_find(const struct background *b, struct str id);
/* A running one with the same name, directory and kind of input and output. */
struct background_job *background_find_like(const struct background *b, struct str name,
                                            const char *cwd, bool has_terminal);
/* ERR_IO when it has ended, ERR_LIMIT when it does not read. */
bool background_write(struct background_job *j, struct str bytes, struct error *err);
bool background_resize(struct background_job *j, int cols, int rows, struct error *err);
/* SIGTERM, or SIGKILL when forced, to it and everything below it; waits for its end, at most so
 * long.  The job holds afterwards too.  False only with ERR_CANCELED. */
bool background_stop_await(struct background_job *j, bool is_forced, int64_t wait_ms,
                           struct error *err);

/* The process ends: SIGTERM to all of them, none is started any more. */
void background_close(struct background *b);
/* The same, and waits until they have gone, at most so long. */
void background_end_through_await(struct background *b, int64_t wait_ms);

#endif
