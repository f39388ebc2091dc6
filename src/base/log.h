/* SPDX-License-Identifier: MIT */
/* The log: one line per entry, to stderr or to a file, as text or as JSON.
 *
 *     TRIVET_LOG=info,engine=debug   levels: of everything, then of single folders of src
 *     TRIVET_LOG_FILE=PATH           appended to; stderr then gets warnings and errors only
 *     TRIVET_LOG_FORMAT=json         JSON lines; the default for a file called *.jsonl
 *
 * Without these, warnings and errors go to stderr.  Keys are removed from the text (base/secret.h);
 * still, never log a header, a body or a command.  Any thread may log.
 */
#ifndef TRIVET_BASE_LOG_H
#define TRIVET_BASE_LOG_H

#include "base/err.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR, LOG_SILENT };

/* Reads the environment, at the start of the process, before other threads run.  False when the
 * file cannot be opened.  Invalid parts of TRIVET_LOG are logged as warnings and ignored. */
bool log_open(struct error *err);
/* The level on stderr if TRIVET_LOG does not set one. */
void log_set_stderr(enum log_level level);

struct log_entry {
    enum log_level level;
    const char *source;       /* __FILE__; its folder selects the level */
    const char *what;         /* "request", "lock", "sync", "tool", "turn", ...; NULL: text alone */
    int64_t us;               /* how long that took */
    struct str session, turn; /* ids, or STR_NONE */
};
void log_write(const struct log_entry *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#define log_at(how, ...)                                                                           \
    log_write(&(struct log_entry){.level = (how), .source = __FILE__}, __VA_ARGS__)
#define log_debug(...) log_at(LOG_DEBUG, __VA_ARGS__)
#define log_info(...) log_at(LOG_INFO, __VA_ARGS__)
#define log_warn(...) log_at(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_at(LOG_ERROR, __VA_ARGS__)
/* Logs the duration since began_us (time_mono_us): debug, or info when longer than LOG_SLOW_US. */
#define log_took(name, began_us, ...)                                                              \
    do {                                                                                           \
        int64_t took_us = time_mono_us() - (began_us);                                             \
        log_write(&(struct log_entry){.level = took_us > LOG_SLOW_US ? LOG_INFO : LOG_DEBUG,       \
                                      .source = __FILE__,                                          \
                                      .what = (name),                                              \
                                      .us = took_us},                                              \
                  __VA_ARGS__);                                                                    \
    } while (0)
enum { LOG_SLOW_US = 100000 };

#endif
