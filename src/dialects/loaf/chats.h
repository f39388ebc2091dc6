/* SPDX-License-Identifier: MIT */
/* Saved chats and pictures in prompts.  For this folder only. */
#ifndef TRIVET_DIALECTS_LOAF_CHATS_H
#define TRIVET_DIALECTS_LOAF_CHATS_H

#include "dialects/loaf/structs.h"

/* ---- chat.c, history.c, resume.c ---- */

struct saved_chat;
struct chat_row {
    struct str id, title, provider, model, level, routing; /* routing may be STR_NONE */
    int64_t created_ms, updated_ms, n_messages;
    struct str path;
};
struct chat_row loaf_chat_of(struct arena *a, const struct saved_chat *saved); /* in the arena */
/* The newest, or the one whose id begins so, with its messages. */
bool loaf_chat_find_await(struct loaf *lf, struct arena *a, bool last, struct str id,
                          struct saved_chat *ret, struct error *err);
void loaf_put_time(struct jw *w, const char *name, int64_t ms); /* 0: now */
/* A member that is a string, trimmed; empty when it is none. */
struct str loaf_text_of(yyjson_val *v, const char *name);
/* A title as loaf shows it: white space collapsed, at most 80 UTF-16 units. */
void loaf_put_short(struct buf *out, struct str text);

/* Saved chats as loaf writes them (loaf 161-174): during a turn the engine's records follow
 * them, which loaf skips. */
extern const struct file_form loaf_form;
/* A name for a new chat and its file. */
void loaf_chat_place(struct loaf *lf, int64_t now_ms, char ret_id[UUID_LEN + 1], struct buf *path);
struct session *loaf_chat_new(struct loaf *lf, int64_t now_ms, struct str title, struct error *err);
/* The default title of a conversation. */
void loaf_put_title(struct buf *out, const struct message *all, size_t n);
/* The result of history.list. */
bool loaf_put_chats_await(struct loaf *lf, struct arena *a, int64_t limit, int64_t cursor,
                          struct jw *w, struct error *err);
bool loaf_list_saved_await(struct engine *e, struct arena *a, struct session_list *ret,
                           struct error *err);
bool loaf_read_saved_await(struct engine *e, struct arena *a, struct str path, struct message **ret,
                           size_t *ret_n, struct error *err);
/* Loads a saved chat into the session: the newest, or the one whose id begins so.  A running turn
 * is stopped, the queue is dropped.  ret_id lies in the arena. */
bool loaf_resume_await(struct loaf_session *ls, bool last, struct str id, struct arena *a,
                       struct str *ret_id, struct error *err);
/* Empties the session and detaches its saved chat, whose file stays.  A running turn is stopped;
 * the queue continues afterwards unless drops_queue is set. */
bool loaf_clear_await(struct loaf_session *ls, bool drops_queue, struct error *err);
/* Pauses and returns the session that ls has after the wait, since another command may replace it
 * meanwhile.  The caller resumes it with session_go_on.  NULL: nothing is paused. */
struct session *loaf_pause_await(struct loaf_session *ls, struct error *err);

/* ---- image.c ---- */

struct images {
    struct block *blocks; /* in the arena */
    size_t n;
    struct str raw, attached; /* JSON arrays, in the arena */
};
/* How many of the elements name a picture at all. */
size_t loaf_images_count(yyjson_val *list);
void loaf_images_put_raw(struct jw *w, yyjson_val *list);
/* Loads all or fails with loaf's error text (197-199). */
bool loaf_images_load(struct arena *a, struct str dir, yyjson_val *list, struct images *ret,
                      struct error *err);
/* Takes data:<mime>;base64,<payload> apart; false when it is none.  ret_data is strict base64 of
 * what the payload decodes to, in the arena; empty when that is nothing. */
bool loaf_data_url_read(struct arena *a, struct str url, struct str *ret_mime,
                        struct str *ret_data);
/* The text with the labels of pictures it does not mention. */
struct str loaf_images_label(struct arena *a, struct str text, size_t n);
/* A picture of the conversation as ImageAttachment. */
void loaf_image_put(struct jw *w, const struct block *b);

#endif
