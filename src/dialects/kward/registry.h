/* SPDX-License-Identifier: MIT */
/* RPC sessions and the files they refer to; names of files.  For this folder only. */
#ifndef TRIVET_DIALECTS_KWARD_REGISTRY_H
#define TRIVET_DIALECTS_KWARD_REGISTRY_H

#include "dialects/kward/structs.h"

/* registry.c */
/* ERR_NOT_FOUND "Unknown session: <id>". */
struct kw_session *kw_find_session(struct kward *k, struct str id, struct error *err);
/* The same, with the file read again if another process has changed it. */
struct kw_session *kw_find_fresh_await(struct kward *k, struct str id, struct error *err);
/* After the answer to the request: sends turnQueued for inputs left by an earlier process. */
void kw_announce_waiting(struct kward *k, const struct kw_session *s);
struct kw_file *kw_find_file(struct kward *k, struct str path); /* NULL when it is not open */
/* Takes over the engine's session. */
struct kw_file *kw_add_file(struct kward *k, struct session *s);
struct kw_session *kw_add_session(struct kward *k, struct kw_file *f); /* with a new id */
void kw_free_file(struct kw_file *f);                                  /* stops listening */
bool kw_is_idle(const struct kw_file *f);
/* Forgets the RPC session; the last one of a file closes it, and removes it when it is unused. */
void kw_close_session(struct kward *k, struct kw_session *s);
/* Forgets every RPC session of the file and removes it. */
bool kw_delete_file(struct kward *k, struct kw_file *f, struct error *err);
/* Removes the unused files of all idle sessions but one. */
void kw_clean_up(struct kward *k, const struct kw_file *except);
void kw_doubt(struct kw_file *f);   /* it may be unused: kw_clean_up checks it */
void kw_close_all(struct kward *k); /* at the end of the process */
void kw_set_full(struct kward *k, bool full);
/* The RPC session of a turn; for an unknown turn the one whose turns/start is running, else the
 * first RPC session of the file. */
struct str kw_turn_owner(struct kward *k, struct kw_file *f, struct str turn_id);

/* places.c */
char *kw_config_path(void);
size_t kw_session_dirs(struct arena *a, struct str workspace, struct str ret[2]);
/* <config-dir>/sessions/--<workspace with dashes>-- */
void kw_session_dir(struct buf *out, const struct kward *k, struct str workspace);
void kw_session_path(struct buf *out, const struct kward *k, struct str workspace,
                     int64_t created_ms, struct str id);
/* The real path of a workspace as a client names it; empty or absent: the start directory. */
bool kw_workspace(struct str given, struct buf *ret, struct error *err);
/* A header, only complete JSON lines, no message, no name. */
bool kw_file_is_unused(struct str path);

/* sessions.c */
void kw_put_session(struct jw *w, const struct kw_session *s);

#endif
