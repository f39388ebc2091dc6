/* SPDX-License-Identifier: MIT */
#include "context/metrics.h"

#include "base/path.h"
#include "base/shown.h"
#include "base/time.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FILE_MAX = 10485760 };

const char *const metrics_names[METRICS_N] = {"tokens", "performance", "tools", "errors"};
const char metrics_usage[] =
    "Usage: /stats [N minutes|hours|days|weeks|months|years] (default: 1 week)";

/* ---- switches ---- */

static bool env_flag(const char *name, bool otherwise)
{
    static const char *const on[] = {"1", "true", "yes", "on"}, *const off[] = {"0", "false", "no",
                                                                                "off"};
    struct str value = str_trim(str_of(getenv(name) ? getenv(name) : ""));
    for (size_t i = 0; i < ARRAY_LEN(on); i++) {
        if (str_ieq(value, str_of(on[i])))
            return true;
        if (str_ieq(value, str_of(off[i])))
            return false;
    }
    return otherwise;
}

unsigned metrics_enabled(yyjson_val *config, const char *env)
{
    static const char *const endings[METRICS_N] = {"TOKENS", "PERFORMANCE", "TOOLS", "ERRORS"};
    yyjson_val *logging = json_get(config, "logging");
    unsigned bits = 0;
    if (!env_flag(env, json_get_bool(logging, "enabled", false)))
        return 0;
    for (int i = 0; i < METRICS_N; i++) {
        AUTO(buf) struct buf name = BUF_INIT;
        buf_addf(&name, "%s_%s", env, endings[i]);
        if (env_flag(name.p, json_get_bool(logging, metrics_names[i], false)))
            bits |= 1u << i;
    }
    return bits;
}

/* ---- writing ---- */

/* The first file of the day below the size limit. */
static int open_day(struct str dir, const char *day)
{
    for (int n = 0; n < 10000; n++) {
        AUTO(buf) struct buf path = BUF_INIT;
        struct stat st;
        buf_addf(&path, "%.*s/%.10s", STR_FMT(dir), day);
        if (n)
            buf_addf(&path, "-%d", n);
        buf_addz(&path, ".jsonl");
        if (stat(path.p, &st) != 0 || st.st_size < FILE_MAX)
            return open(path.p, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    }
    return -1;
}

void metrics_write(struct str dir, enum metrics_category category, const char *event,
                   struct str members)
{
    AUTO(buf) struct buf line = BUF_INIT, shown = BUF_INIT;
    char now[TIME_ISO_LEN + 1];
    struct error ignored;
    time_iso(time_now_ms(), now);
    if (!path_make_dirs(dir, 0700, &ignored))
        return;
    int fd = open_day(dir, now);
    if (fd < 0)
        return;
    buf_addf(&line, "{\"timestamp\":\"%s\",\"category\":\"%s\",\"event\":\"%s\"%.*s}\n", now,
             metrics_names[category], event, STR_FMT(members));
    shown_add(&shown, buf_str(&line), true);
    if (write(fd, shown.p, shown.n) < 0)
        shown.n = 0; /* a failed write is ignored */
    close(fd);
}

/* ---- ranges ---- */

static const char *const units[] = {"minute", "hour", "day", "week", "month", "year"};

static const char *find_unit(struct str word)
{
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        struct str unit = str_of(units[i]);
        bool is_plural = word.n == unit.n + 1 && (word.p[unit.n] | 32) == 's';
        if (str_ieq(word, unit) || (is_plural && str_ieq(str_cut(word, unit.n), unit)))
            return units[i];
    }
    return NULL;
}

/* The current period counts as the first; weeks begin on Monday. */
static int64_t range_start(int64_t now_ms, const char *unit, int64_t count)
{
    time_t now = (time_t)(now_ms / 1000);
    struct tm tm;
    gmtime_r(&now, &tm);
    int back = (int)MIN(count - 1, 100000000);
    tm.tm_sec = 0;
    if (strcmp(unit, "minute") == 0)
        return ((int64_t)timegm(&tm) - (int64_t)back * 60) * 1000;
    tm.tm_min = 0;
    if (strcmp(unit, "hour") == 0)
        return ((int64_t)timegm(&tm) - (int64_t)back * 3600) * 1000;
    tm.tm_hour = 0;
    if (strcmp(unit, "day") == 0)
        return ((int64_t)timegm(&tm) - (int64_t)back * 86400) * 1000;
    if (strcmp(unit, "week") == 0)
        return ((int64_t)timegm(&tm) - ((int64_t)back * 7 + (tm.tm_wday + 6) % 7) * 86400) * 1000;
    tm.tm_mday = 1;
    if (strcmp(unit, "month") == 0) {
        int months = tm.tm_year * 12 + tm.tm_mon - MIN(back, tm.tm_year * 12);
        tm.tm_year = months / 12;
        tm.tm_mon = months % 12;
    } else {
        tm.tm_mon = 0;
        tm.tm_year -= MIN(back, tm.tm_year);
    }
    return (int64_t)timegm(&tm) * 1000;
}

bool metrics_range(struct str text, int64_t now_ms, struct metrics_range *ret, struct error *err)
{
    struct str input = str_is_blank(text) ? STR("1 week") : str_trim(text), rest = input;
    size_t digits = 0;
    while (digits < rest.n && rest.p[digits] >= '0' && rest.p[digits] <= '9')
        digits++;
    *ret = (struct metrics_range){.input = input, .end_ms = now_ms};
    struct str word = str_trim(str_from(rest, digits));
    bool has_gap = digits < rest.n && str_is_blank(str_n(rest.p + digits, 1));
    ret->unit = find_unit(word);
    if (!digits || !has_gap || !ret->unit || !str_int(str_cut(rest, digits), &ret->count) ||
        ret->count < 1)
        return error_set(err, ERR_INVALID, "Invalid range. %s", metrics_usage);
    ret->start_ms = range_start(now_ms, ret->unit, ret->count);
    return true;
}
