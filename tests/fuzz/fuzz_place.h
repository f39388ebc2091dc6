/* SPDX-License-Identifier: MIT */
/* A directory of the fuzzer's own, for what is read from files: in memory where there is such a
 * file system, gone at the end.  It is also $HOME, so nothing of the user's is looked at.
 */
#ifndef TRIVET_TESTS_FUZZ_PLACE_H
#define TRIVET_TESTS_FUZZ_PLACE_H

#include "fuzz.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char fuzz_place[64];

static inline int fuzz_remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

static inline void fuzz_remove_place(void)
{
    nftw(fuzz_place, fuzz_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline struct str fuzz_dir(void)
{
    if (!fuzz_place[0]) {
        snprintf(fuzz_place, sizeof fuzz_place, "%s/trivet-fuzz-XXXXXX",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        PROMISE(mkdtemp(fuzz_place));
        setenv("HOME", fuzz_place, 1);
        atexit(fuzz_remove_place);
    }
    return str_of(fuzz_place);
}

/* The path of a file in it, written to `path`. */
static inline struct str fuzz_path(char path[256], const char *name)
{
    struct str dir = fuzz_dir();
    snprintf(path, 256, "%.*s/%s", STR_FMT(dir), name);
    return str_of(path);
}

static inline void fuzz_make_dir(const char *name)
{
    char path[256];
    mkdir(fuzz_path(path, name).p, 0700);
}

static inline void fuzz_write(const char *name, struct str bytes, unsigned mode)
{
    char path[256];
    fuzz_path(path, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
    PROMISE(fd >= 0 && write(fd, bytes.p, bytes.n) == (ssize_t)bytes.n);
    close(fd);
}

static inline void fuzz_unlink(const char *name)
{
    char path[256];
    unlink(fuzz_path(path, name).p);
}

#endif
