/* SPDX-License-Identifier: MIT */
#include "tools/near.h"

#include "base/mem.h"
#include "base/path.h"
#include "tools/work.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

enum { NAME_BYTES = 128, MANY_ENTRIES = 20000 };

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

size_t near_distance(struct str a, struct str b)
{
    size_t rows[3][NAME_BYTES + 1];
    size_t *before = rows[0], *above = rows[1], *now = rows[2];
    if (a.n > NAME_BYTES || b.n > NAME_BYTES)
        return SIZE_MAX;
    for (size_t j = 0; j <= b.n; j++)
        above[j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        now[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            bool is_same = lower(a.p[i - 1]) == lower(b.p[j - 1]);
            now[j] = MIN(MIN(above[j] + 1, now[j - 1] + 1), above[j - 1] + !is_same);
            if (i > 1 && j > 1 && lower(a.p[i - 1]) == lower(b.p[j - 2]) &&
                lower(a.p[i - 2]) == lower(b.p[j - 1]))
                now[j] = MIN(now[j], before[j - 2] + 1);
        }
        size_t *free_row = before;
        before = above;
        above = now;
        now = free_row;
    }
    return above[b.n];
}

struct near_work {
    struct tool_work work;
    struct str path;
    struct {
        char name[NAME_BYTES + 1];
        size_t distance;
    } best[NEAR_MOST];
    size_t n;
};

/* Names are alike when a third of them differs, or when one begins with the other. */
static size_t judge(struct str wanted, struct str name)
{
    size_t d = near_distance(wanted, name);
    size_t n = MIN(wanted.n, name.n);
    if (n >= 3 && str_ieq(str_cut(wanted, n), str_cut(name, n)))
        return MIN(d, MAX(wanted.n, name.n) / 3);
    return d <= MAX(wanted.n, 3) / 3 ? d : SIZE_MAX;
}

static void consider(struct near_work *w, struct str wanted, const char *name)
{
    size_t d = judge(wanted, str_of(name)), at = w->n;
    if (d == SIZE_MAX || strlen(name) > NAME_BYTES)
        return;
    while (at > 0 && (d < w->best[at - 1].distance ||
                      (d == w->best[at - 1].distance && strcmp(name, w->best[at - 1].name) < 0)))
        at--;
    if (at == NEAR_MOST)
        return;
    size_t n_after = MIN(w->n, (size_t)NEAR_MOST - 1) - at;
    memmove(&w->best[at + 1], &w->best[at], n_after * sizeof w->best[0]);
    strcpy(w->best[at].name, name);
    w->best[at].distance = d;
    w->n = MIN(w->n + 1, (size_t)NEAR_MOST);
}

static bool run_near(struct tool_work *work, struct error *err)
{
    struct near_work *w = CONTAINER_OF(work, struct near_work, work);
    AUTO_FREE char *dir = str_dup(path_dir(w->path));
    int fd = path_open_straight(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    (void)err;
    if (fd >= 0 && !d)
        close(fd);
    struct dirent *e;
    for (int n = 0; d && n < MANY_ENTRIES && (e = readdir(d)) && !tool_work_is_stopped(work); n++)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            consider(w, path_base(w->path), e->d_name);
    if (d)
        closedir(d);
    return true;
}

bool near_names_await(struct loop *l, struct str path, struct str shown, struct buf *ret,
                      struct error *err)
{
    struct near_work w = {.work.run = run_near, .path = path};
    if (!tool_work_await(l, &w.work, err))
        return false;
    for (size_t i = 0; i < w.n; i++)
        buf_addf(ret, "%s%.*s%s", i ? ", " : "", STR_FMT(shown), w.best[i].name);
    return true;
}
