/* SPDX-License-Identifier: MIT */
/* Slash commands.  For this folder only. */
#ifndef TRIVET_DIALECTS_SCAIFLUX_SLASH_H
#define TRIVET_DIALECTS_SCAIFLUX_SLASH_H

#include "dialects/scaiflux/structs.h"

/* slash.c, slash_look.c, slash_set.c */
struct flux_answer {
    struct buf text;
    struct buf data;   /* members besides ok and error */
    const char *error; /* NULL: success */
    bool clears, exits;
    unsigned changed; /* state_changed that follows */
};
/* `command` as received. */
void flux_slash(struct flux *f, struct str command, struct str args);
/* For the members of data; one at a time. */
struct jw flux_members(struct flux_answer *a);
/* The command failed: code for programs, a line for humans, nothing else. */
void flux_fail(struct flux_answer *a, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

struct flux_command {
    const char *name, *alias; /* alias may be NULL */
    const char *args;         /* for /help; "": none */
    const char *summary;
    bool rewrites; /* the conversation: not during a turn */
    /* One of the two; run_await for slow commands. */
    void (*run)(struct flux *f, struct str args, struct flux_answer *a);
    void (*run_await)(struct flux *f, struct str args, struct flux_answer *a);
};
extern const struct flux_command flux_version, flux_status, flux_context, flux_cost, flux_tools,
    flux_memory, flux_show_config, flux_diff, flux_session;
extern const struct flux_command flux_model, flux_permissions, flux_gadget, flux_compact, flux_undo,
    flux_clear, flux_export, flux_save, flux_init;

#endif
