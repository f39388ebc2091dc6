/* SPDX-License-Identifier: MIT */
/* A slow disk: preloaded, it makes the first read of a file whose name begins with "slow" take
 * 300 ms, and writes when each began to the file that SLOW_LOG names. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void delay(int fd)
{
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n <= 0 || lseek(fd, 0, SEEK_CUR) != 0)
        return;
    path[n] = '\0';
    const char *name = strrchr(path, '/');
    const char *log = getenv("SLOW_LOG");
    if (!name || strncmp(name, "/slow", 5) != 0)
        return;
    struct timespec now, pause = {.tv_nsec = 300 * 1000000L};
    clock_gettime(CLOCK_MONOTONIC, &now);
    char line[4200];
    int length = snprintf(line, sizeof line, "%lld %s\n",
                          (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000, name + 1);
    int out = log ? open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    if (out >= 0 && write(out, line, (size_t)length) != length)
        abort();
    if (out >= 0)
        close(out);
    nanosleep(&pause, NULL);
}

ssize_t read(int fd, void *bytes, size_t n)
{
    static ssize_t (*next)(int, void *, size_t);
    if (!next)
        next = (ssize_t(*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
    delay(fd);
    return next(fd, bytes, n);
}

ssize_t pread(int fd, void *bytes, size_t n, off_t at)
{
    static ssize_t (*next)(int, void *, size_t, off_t);
    if (!next)
        next = (ssize_t(*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");
    delay(fd);
    return next(fd, bytes, n, at);
}
