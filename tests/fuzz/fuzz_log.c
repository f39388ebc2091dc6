/* SPDX-License-Identifier: MIT */
/* A session file of any bytes: it can be read, listed, searched, repaired and written on, and the
 * conversation in it projected for every dialect.
 */
#include "engine/history.h"
#include "fuzz.h"
#include "store/log.h"
#include "store/scan.h"

#include <fcntl.h>
#include <unistd.h>

static char path[64]; /* on a file system in memory, where there is one */

static void remove_file(void)
{
    unlink(path);
}

static void write_file(struct str bytes)
{
    if (!path[0]) {
        snprintf(path, sizeof path, "%s/trivet-fuzz-%d.jsonl",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (int)getpid());
        atexit(remove_file);
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    PROMISE(fd >= 0 && write(fd, bytes.p, bytes.n) == (ssize_t)bytes.n);
    close(fd);
}

static bool on_line(void *arg, struct str line, int64_t offset)
{
    int64_t *last = arg;
    PROMISE(line.n >= 2 && line.p[0] == '{' && offset > *last);
    *last = offset;
    return true;
}

static void view(struct history *h, bool drops_failed_turns, bool keeps_only_text)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct session_settings st = {.drops_failed_turns = drops_failed_turns,
                                  .keeps_only_text = keeps_only_text,
                                  .empty_answer = "(nothing)"};
    size_t n;
    struct message *m = history_view(h, &st, h->marks, (struct history_range){0, h->n}, &a, &n);
    for (size_t i = 0; i < n; i++) {
        AUTO(buf) struct buf out = BUF_INIT;
        struct jw w = JW(&out);
        message_put(&w, &m[i]);
        fuzz_expect_json(buf_str(&out));
    }
}

static void load(void)
{
    struct history h = {0};
    struct header hd;
    struct error err = ERROR_INIT;
    if (!history_load(&h, str_of(path), &(struct session_settings){0}, &hd, &err)) {
        PROMISE(err.code != ERR_NONE && err.text[0]);
        history_clear(&h);
        return;
    }
    PROMISE(hd.id.n > 0);
    size_t n = h.n;
    history_close_calls(&h, NULL);
    PROMISE(h.n >= n);
    PROMISE(history_close_calls(&h, NULL) == 0);
    PROMISE(history_tokens(&h) >= 0);
    view(&h, false, false);
    view(&h, true, true);
    history_clear(&h);
}

/* A scan that is saved and loaded knows what the scan knew. */
static void scan(void)
{
    struct scan s = SCAN_INIT, t = SCAN_INIT;
    struct error err;
    struct session_row row, same;
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf saved = BUF_INIT, again = BUF_INIT;
    int64_t end;
    PROMISE(scan_file(&s, str_of(path), 0, &end, &err));
    scan_save(&s, &saved);
    PROMISE(scan_load(&t, buf_str(&saved)));
    scan_save(&t, &again);
    PROMISE(str_eq(buf_str(&saved), buf_str(&again)));
    PROMISE(scan_row(&s, &a, &row) == scan_row(&t, &a, &same));
    scan_clear(&s);
    scan_clear(&t);
}

/* Whatever stood there: a line that was appended is found at the end. */
static void append(void)
{
    static const char line[] = "{\"type\":\"x\"}";
    struct slog_repair repair;
    struct error err;
    int64_t last = -1;
    struct slog *g = slog_open(str_of(path), &repair, &err);
    if (!g)
        return;
    int64_t size = slog_size(g);
    PROMISE(slog_append(g, str_of(line), &err));
    slog_close(g);
    PROMISE(slog_read(str_of(path), on_line, &last, &err) && last == size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct error err;
    int64_t last = -1;
    write_file(str_n((const char *)data, n));
    PROMISE(slog_read(str_of(path), on_line, &last, &err));
    load();
    scan();
    append();
    load();
    return 0;
}
