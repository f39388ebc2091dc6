/* SPDX-License-Identifier: MIT */
#include "base/time.h"

#include "base/mem.h"

#include <stdatomic.h>
#include <time.h>

/* Atomic: threads of the pool ask too. */
static _Atomic int64_t fixed_ms; /* 0: the real clock */
static _Atomic int64_t last_ms;

void time_fix(int64_t ms)
{
    fixed_ms = ms;
    last_ms = 0;
}

int64_t time_real_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int64_t time_now_ms(void)
{
    if (fixed_ms)
        return fixed_ms++;
    int64_t now = time_real_ms(), last = last_ms;
    while (now > last && !atomic_compare_exchange_weak(&last_ms, &last, now))
        continue;
    return MAX(now, last);
}

int64_t time_mono_us(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static char *put_digits(char *at, int v, int n)
{
    for (int i = n; i-- > 0; v /= 10)
        at[i] = (char)('0' + v % 10);
    return at + n;
}

/* Formatted without strftime for speed: every event and every list item has a time stamp. */
void time_iso(int64_t ms, char out[TIME_ISO_LEN + 1])
{
    int part = (int)(ms % 1000 + 1000) % 1000; /* also before 1970 */
    time_t seconds = (time_t)((ms - part) / 1000);
    struct tm tm = {0};
    gmtime_r(&seconds, &tm);
    const struct {
        int value, digits;
        char behind;
    } parts[] = {{tm.tm_year + 1900, 4, '-'},
                 {tm.tm_mon + 1, 2, '-'},
                 {tm.tm_mday, 2, 'T'},
                 {tm.tm_hour, 2, ':'},
                 {tm.tm_min, 2, ':'},
                 {tm.tm_sec, 2, '.'},
                 {part, 3, 'Z'}};
    char *at = out;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        at = put_digits(at, parts[i].value, parts[i].digits);
        *at++ = parts[i].behind;
    }
    *at = '\0';
}

bool time_from_iso(struct str s, int64_t *ret_ms)
{
    char text[40];
    struct tm tm = {0};
    if (s.n < 20 || s.n >= sizeof text || s.p[s.n - 1] != 'Z')
        return false;
    memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    if (!rest)
        return false;
    int64_t ms = 0;
    if (*rest == '.') {
        int64_t scale = 100;
        if (rest[1] < '0' || rest[1] > '9')
            return false;
        for (rest++; *rest >= '0' && *rest <= '9'; rest++, scale /= 10)
            ms += (*rest - '0') * scale;
    }
    if (strcmp(rest, "Z") != 0)
        return false;
    *ret_ms = (int64_t)timegm(&tm) * 1000 + ms;
    return true;
}
