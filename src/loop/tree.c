/* SPDX-License-Identifier: MIT */
/* Walks /proc.  Processes start and end meanwhile; a child whose parent ends at that moment may be
 * missed and is found by the next walk, below its new parent.
 */
#include "loop/tree.h"

#include "base/mem.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void pids_clear(struct pids *ps)
{
    free(ps->p);
    *ps = PIDS_INIT;
}

void pids_add(struct pids *ps, pid_t pid)
{
    if (ps->n == ps->room) {
        ps->room = ps->room ? ps->room * 2 : 64;
        ps->p = xrealloc(ps->p, ps->room * sizeof *ps->p);
    }
    ps->p[ps->n++] = pid;
}

static bool pids_have(const struct pids *ps, pid_t pid)
{
    for (size_t i = 0; i < ps->n; i++)
        if (ps->p[i] == pid)
            return true;
    return false;
}

void pids_remove(struct pids *ps, pid_t pid)
{
    for (size_t i = 0; i < ps->n; i++)
        if (ps->p[i] == pid)
            ps->p[i] = ps->p[--ps->n];
}

void pids_signal(const struct pids *ps, int signo, struct pids *signaled)
{
    for (size_t i = 0; i < ps->n; i++) {
        if (signaled && pids_have(signaled, ps->p[i]))
            continue;
        if (signaled)
            pids_add(signaled, ps->p[i]);
        kill(ps->p[i], signo);
        if (signo != SIGKILL)
            kill(ps->p[i], SIGCONT);
    }
}

/* The children of one thread. */
static void add_thread(const char *dir, const char *tid, struct pids *out)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s/children", dir, tid);
    FILE *f = fopen(path, "re");
    if (!f)
        return; /* it ended meanwhile */
    int pid;
    while (fscanf(f, "%d", &pid) == 1)
        pids_add(out, pid);
    fclose(f);
}

bool tree_read(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
    if (fd >= 0)
        close(fd);
    if (n > 0)
        text[n] = '\0';
    return n > 0;
}

static pid_t parent_of(const char *name)
{
    char path[300], text[512];
    snprintf(path, sizeof path, "/proc/%s/stat", name);
    if (!tree_read(path, text, sizeof text))
        return 0;
    const char *end = strrchr(text, ')'); /* the program's name may contain ')' */
    int parent = 0;
    return end && sscanf(end + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

/* For kernels without the children files: reads the parent of every process. */
static void add_by_scan(pid_t pid, struct pids *out)
{
    DIR *d = opendir("/proc");
    struct dirent *e;
    while (d && (e = readdir(d)))
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && parent_of(e->d_name) == pid)
            pids_add(out, atoi(e->d_name));
    if (d)
        closedir(d);
}

static bool has_children_files(void)
{
    char path[60];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    return access(path, R_OK) == 0;
}

static void add_children(pid_t pid, bool by_files, struct pids *out)
{
    if (!by_files) {
        add_by_scan(pid, out);
        return;
    }
    char dir[60];
    snprintf(dir, sizeof dir, "/proc/%d/task", (int)pid);
    DIR *d = opendir(dir);
    struct dirent *e;
    while (d && (e = readdir(d)))
        if (e->d_name[0] != '.')
            add_thread(dir, e->d_name, out);
    if (d)
        closedir(d);
}

/* Removes those from `at` on that are in except. */
static void drop_except(struct pids *out, size_t at, const struct pids *except)
{
    size_t n = at;
    for (; at < out->n; at++)
        if (!except || !pids_have(except, out->p[at]))
            out->p[n++] = out->p[at];
    out->n = n;
}

void tree_children(pid_t pid, const struct pids *except, struct pids *out)
{
    size_t at = out->n;
    add_children(pid, has_children_files(), out);
    drop_except(out, at, except);
}

void tree_descendants(pid_t pid, const struct pids *except, struct pids *out)
{
    bool by_files = has_children_files();
    size_t at = out->n;
    add_children(pid, by_files, out);
    drop_except(out, at, except);
    for (; at < out->n; at++)
        add_children(out->p[at], by_files, out);
}

void tree_signal(pid_t pid, int signo)
{
    AUTO(pids) struct pids all = PIDS_INIT;
    tree_descendants(pid, NULL, &all);
    pids_signal(&all, signo, NULL);
}
