/* SPDX-License-Identifier: MIT */
/* The diary on stderr: one line per entry, time, level, text; warnings and worse by default.
 * Keys are taken out (base/secret.h); still, never call it with a header or a body. */
#ifndef TRIVET_BASE_LOG_H
#define TRIVET_BASE_LOG_H

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR, LOG_SILENT };

void log_set_level(enum log_level level);
void log_at(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#define log_debug(...) log_at(LOG_DEBUG, __VA_ARGS__)
#define log_info(...) log_at(LOG_INFO, __VA_ARGS__)
#define log_warn(...) log_at(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_at(LOG_ERROR, __VA_ARGS__)

#endif
