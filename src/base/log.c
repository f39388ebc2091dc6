/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include "base/json.h"
#include "base/secret.h"
#include "base/shown.h"
#include "base/time.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

enum { MAX_RULES = 32, MAX_TEXT = 3900 };

static const char *const names[] = {"debug", "info", "warn", "error", "silent"};

/* Written before other threads exist, then read only. */
static struct {
    int fd; /* the log file, or -1 */
    bool is_json;
    bool is_set; /* TRIVET_LOG names a level for everything */
    enum log_level level, stderr_level, lowest;
    struct {
        struct str folder; /* part of text */
        enum log_level level;
    } rules[MAX_RULES];
    size_t n_rules;
    char *text; /* TRIVET_LOG; a copy, since the environment is cleaned of keys later */
} to = {.fd = -1, .level = LOG_WARN, .stderr_level = LOG_WARN, .lowest = LOG_WARN};

/* ---- settings ---- */

static bool find_level(struct str name, enum log_level *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_ieq(name, str_of(names[i]))) {
            *ret = (enum log_level)i;
            return true;
        }
    return false;
}

static void find_lowest(void)
{
    to.lowest = MIN(to.level, to.stderr_level);
    for (size_t i = 0; i < to.n_rules; i++)
        to.lowest = MIN(to.lowest, to.rules[i].level);
}

/* One part of TRIVET_LOG; false when it is neither a level nor folder=level. */
static bool take_part(struct str part)
{
    struct str folder, level = str_split(part, '=', &folder);
    enum log_level found;
    folder = str_trim(folder);
    if (!level.n && find_level(folder, &found)) {
        to.level = found;
        to.is_set = true;
        return true;
    }
    if (!folder.n || to.n_rules == MAX_RULES || !find_level(str_trim(level), &found))
        return false;
    to.rules[to.n_rules].folder = folder;
    to.rules[to.n_rules++].level = found;
    return true;
}

static void take_levels(struct str text)
{
    struct str part;
    for (struct str rest = text; rest.n;) {
        rest = str_split(rest, ',', &part);
        part = str_trim(part);
        if (part.n && !take_part(part))
            log_warn("TRIVET_LOG: %.*s is neither a level (debug, info, warn, error, silent) nor "
                     "folder=level",
                     STR_FMT(part));
    }
}

static struct str setting(const char *name)
{
    const char *value = getenv(name);
    return str_of(value ? value : "");
}

bool log_open(struct error *err)
{
    struct str path = setting("TRIVET_LOG_FILE"), format = setting("TRIVET_LOG_FORMAT");
    to.is_json = format.n ? str_ieq(format, STR("json")) : str_ends(path, STR(".jsonl"));
    if (path.n) {
        to.fd = open(path.p, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600);
        if (to.fd < 0)
            return error_errno(err, errno, "cannot open the log file %s", path.p);
        to.level = LOG_INFO;
    }
    to.text = str_dup(setting("TRIVET_LOG"));
    take_levels(str_of(to.text));
    if (format.n && !to.is_json && !str_ieq(format, STR("plain")))
        log_warn("TRIVET_LOG_FORMAT is plain or json, not %.*s", STR_FMT(format));
    if (to.is_set && (to.fd < 0 || to.level == LOG_SILENT))
        to.stderr_level = to.level;
    find_lowest();
    return true;
}

void log_set_stderr(enum log_level level)
{
    if (to.is_set && to.fd < 0)
        return;
    if (to.fd < 0)
        to.level = level;
    to.stderr_level = MAX(level, to.stderr_level);
    find_lowest();
}

/* ---- writing ---- */

/* "engine" of ../src/engine/turn.c, "providers/openai" of ../src/providers/openai/put.c. */
static struct str folder_of(const char *source)
{
    struct str path = str_of(source);
    size_t at = str_find(path, STR("src/"));
    if (at != SIZE_MAX)
        path = str_from(path, at + 4);
    size_t end = path.n;
    while (end > 0 && path.p[end] != '/')
        end--;
    return str_cut(path, end);
}

/* A rule applies to its folder and the folders below; the longest match wins. */
static bool find_rule(struct str folder, enum log_level *ret)
{
    size_t best = 0;
    for (size_t i = 0; i < to.n_rules; i++) {
        struct str rule = to.rules[i].folder;
        bool fits = str_starts(folder, rule) && (folder.n == rule.n || folder.p[rule.n] == '/');
        if (fits && rule.n > best) {
            best = rule.n;
            *ret = to.rules[i].level;
        }
    }
    return best > 0;
}

static void put_plain(struct buf *line, const struct log_entry *e, struct str folder,
                      struct str text)
{
    char now[TIME_ISO_LEN + 1];
    time_iso(time_real_ms(), now);
    buf_addf(line, "%s %s %.*s: ", now, names[e->level], STR_FMT(folder));
    if (e->what)
        buf_addf(line, "%s %.3f ms, ", e->what, (double)e->us / 1000);
    buf_add(line, text);
    if (e->session.n)
        buf_addf(line, " session=%.*s", STR_FMT(e->session));
    if (e->turn.n)
        buf_addf(line, " turn=%.*s", STR_FMT(e->turn));
}

static void put_json(struct buf *line, const struct log_entry *e, struct str folder,
                     struct str text)
{
    struct jw w = JW(line);
    char now[TIME_ISO_LEN + 1];
    time_iso(time_real_ms(), now);
    jw_obj(&w);
    jw_kz(&w, "time", now);
    jw_kz(&w, "level", names[e->level]);
    jw_kstr(&w, "folder", folder);
    if (e->what) {
        jw_kz(&w, "what", e->what);
        jw_key(&w, "ms");
        jw_num(&w, (double)e->us / 1000);
    }
    if (e->session.n)
        jw_kstr(&w, "session", e->session);
    if (e->turn.n)
        jw_kstr(&w, "turn", e->turn);
    jw_kstr(&w, "text", text);
    jw_obj_end(&w);
}

/* The text without keys, line ends and terminal control characters. */
static void put_text(struct buf *out, const char *fmt, va_list ap)
{
    AUTO(buf) struct buf text = BUF_MAX(MAX_TEXT), clean = BUF_INIT;
    buf_addv(&text, fmt, ap);
    struct buf *said = secret_blank(buf_str(&text), &clean) ? &clean : &text;
    for (size_t i = 0; i < said->n; i++)
        if (said->p[i] == '\n' || said->p[i] == '\r')
            said->p[i] = ' ';
    shown_add(out, buf_str(said), false);
}

static void put_line(int fd, bool is_json, const struct log_entry *e, struct str folder,
                     struct str text)
{
    AUTO(buf) struct buf line = BUF_INIT;
    (is_json ? put_json : put_plain)(&line, e, folder, text);
    buf_addc(&line, '\n');
    if (write(fd, line.p, line.n) < 0)
        return; /* a failed write cannot be reported anywhere */
}

void log_write(const struct log_entry *e, const char *fmt, ...)
{
    if (e->level < to.lowest || e->level >= LOG_SILENT)
        return;
    AUTO(buf) struct buf text = BUF_INIT;
    struct str folder = folder_of(e->source);
    enum log_level level = to.level, on_stderr = to.stderr_level;
    bool has_rule = find_rule(folder, &level);
    if (has_rule && to.fd < 0)
        on_stderr = level;
    bool to_file = to.fd >= 0 && e->level >= level;
    if (!to_file && e->level < on_stderr)
        return;
    va_list ap;
    va_start(ap, fmt);
    put_text(&text, fmt, ap);
    va_end(ap);
    if (to_file)
        put_line(to.fd, to.is_json, e, folder, buf_str(&text));
    if (e->level >= on_stderr)
        put_line(STDERR_FILENO, to.is_json && to.fd < 0, e, folder, buf_str(&text));
}
