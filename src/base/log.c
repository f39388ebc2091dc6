/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/shown.h"
#include "base/time.h"

#include <stdarg.h>
#include <unistd.h>

static enum log_level lowest = LOG_WARN;

void log_set_level(enum log_level level)
{
    lowest = level;
}

void log_at(enum log_level level, const char *fmt, ...)
{
    static const char *const names[] = {"debug", "info", "warn", "error"};
    if (level < lowest)
        return;
    AUTO(buf) struct buf line = BUF_MAX(4000), text = BUF_MAX(3900), clean = BUF_INIT;
    char now[TIME_ISO_LEN + 1];
    time_iso(time_now_ms(), now);
    buf_addf(&line, "%s %s ", now, names[level]);
    va_list ap;
    va_start(ap, fmt);
    buf_addv(&text, fmt, ap);
    va_end(ap);
    struct buf *said = secret_blank(buf_str(&text), &clean) ? &clean : &text;
    for (size_t i = 0; i < said->n; i++)
        if (said->p[i] == '\n' || said->p[i] == '\r')
            said->p[i] = ' ';
    shown_add(&line, buf_str(said), false);
    buf_addc(&line, '\n');
    if (write(STDERR_FILENO, line.p, line.n) < 0)
        return; /* nobody to tell */
}
