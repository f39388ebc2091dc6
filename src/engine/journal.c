/* SPDX-License-Identifier: MIT */
/* The side journal: what was shown of a reply that is not finished yet.
 *
 * Deltas are collected in memory and appended to <session file>.live: 250 ms after the first of
 * them, when they reach 256 KiB, and when reasoning changes to text or back.  They are written on
 * the loop's thread and not synced, so that they reach the page cache and no more.  A reply that
 * ends before the first of these writes makes no file.  The file is removed when the reply is
 * complete or the turn ends.  After a crash the text up to the last write becomes a partial answer.
 */
#include "engine/journal.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/path.h"

#include <fcntl.h>
#include <unistd.h>

enum { BATCH_MS = 250, BATCH_BYTES = 256 << 10 };

struct journal {
    struct session *session;
    struct timer *timer;
    struct buf text;   /* since the last batch */
    bool is_reasoning; /* of text */
    char turn[UUID_LEN + 1];
    int64_t seq;
    int fd; /* -1: no file yet */
};

static void add_suffix(struct buf *out, struct str session_path)
{
    buf_add(out, session_path);
    buf_addz(out, ".live");
}

static void write_batch(void *arg)
{
    struct journal *j = arg;
    AUTO(buf) struct buf line = BUF_INIT;
    if (!j->text.n)
        return;
    if (j->fd < 0) {
        AUTO(buf) struct buf path = BUF_INIT;
        add_suffix(&path, str_of(j->session->path));
        j->fd = open(path.p, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    }
    struct jw w = JW(&line);
    jw_obj(&w);
    jw_kz(&w, "turn", j->turn);
    jw_kint(&w, "seq", j->seq);
    jw_kbool(&w, "reasoning", j->is_reasoning);
    jw_kstr(&w, "text", buf_str(&j->text));
    jw_obj_end(&w);
    buf_addc(&line, '\n');
    /* A lost batch costs at most the text of an unfinished reply after a crash. */
    if (j->fd >= 0 && write(j->fd, line.p, line.n) < 0)
        log_debug("the side journal could not be written");
    buf_reset(&j->text);
}

struct journal *journal_new(struct session *s)
{
    struct journal *j = xnew(struct journal);
    j->session = s;
    j->fd = -1;
    j->text = BUF_MAX(LIMIT_REPLY_BYTES);
    return j;
}

void journal_add(struct journal *j, struct turn *t, bool is_reasoning, struct str delta,
                 int64_t seq)
{
    if (j->session->settings->keeps_no_file)
        return;
    if (j->is_reasoning != is_reasoning)
        write_batch(j);
    if (!j->text.n) {
        if (!j->timer)
            j->timer = timer_new(j->session->engine->loop, write_batch, j);
        timer_start(j->timer, BATCH_MS);
    }
    memcpy(j->turn, t->id, sizeof j->turn);
    j->is_reasoning = is_reasoning;
    j->seq = seq;
    buf_add(&j->text, delta);
    if (j->text.n >= BATCH_BYTES)
        write_batch(j);
}

void journal_drop(struct journal *j)
{
    if (!j)
        return;
    if (j->timer)
        timer_stop(j->timer);
    buf_shrink(&j->text, 4096);
    if (j->fd < 0)
        return;
    close(j->fd);
    j->fd = -1;
    journal_remove(str_of(j->session->path));
}

void journal_free(struct journal *j)
{
    if (!j)
        return;
    journal_drop(j);
    timer_free(j->timer);
    buf_clear(&j->text);
    free(j);
}

void journal_flush(struct journal *j)
{
    if (j)
        write_batch(j);
}

void journal_read(struct str session_path, journal_fn *fn, void *arg)
{
    AUTO(buf) struct buf path = BUF_INIT;
    AUTO(buf) struct buf bytes = BUF_INIT;
    struct error ignored;
    add_suffix(&path, session_path);
    if (!path_read(&bytes, buf_str(&path), LIMIT_JOURNAL_BYTES, &ignored))
        return;
    struct str rest = buf_str(&bytes), line;
    while (str_line(&rest, &line)) {
        AUTO(json) struct json j = JSON_INIT;
        if (!json_parse(line, 0, LIMIT_JSON_DEPTH, &j, &ignored)) {
            j = JSON_INIT;
            break; /* incomplete */
        }
        fn(arg, json_get_str(j.root, "turn"), json_get_bool(j.root, "reasoning", false),
           json_get_str(j.root, "text"), json_get_int(j.root, "seq", 0));
    }
}

struct recovery {
    struct buf text;
    struct str turn;
    struct arena *arena;
    int64_t seq;
};

static void on_piece(void *arg, struct str turn, bool is_reasoning, struct str text, int64_t seq)
{
    struct recovery *r = arg;
    if (!r->turn.p)
        r->turn = arena_str(r->arena, turn);
    r->seq = seq;
    if (!is_reasoning)
        buf_add(&r->text, text);
}

bool journal_recover(struct str session_path, struct arena *a, struct str *ret_turn,
                     struct str *ret_text, int64_t *ret_seq)
{
    struct recovery r = {.arena = a};
    journal_read(session_path, on_piece, &r);
    if (r.turn.p) {
        *ret_turn = r.turn;
        *ret_text = arena_str(a, buf_str(&r.text));
        *ret_seq = r.seq;
    }
    buf_clear(&r.text);
    return r.turn.p != NULL;
}

/* Not synced: one that a power failure brings back belongs to a turn that is over, and is ignored.
 */
void journal_remove(struct str session_path)
{
    AUTO(buf) struct buf path = BUF_INIT;
    add_suffix(&path, session_path);
    unlink(path.p);
}
