/* SPDX-License-Identifier: MIT */
#include "base/install.h"

#include "base/mem.h"
#include "base/path.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Set by meson.build: the directories of `meson install`, and how they are reached from bindir. */
static const char *const absolute[] = {
    [INSTALL_MODULE] = TRIVET_LIB_DIR,
    [INSTALL_HELPER] = TRIVET_LIBEXEC_DIR,
};
static const char *const relative[] = {
    [INSTALL_MODULE] = TRIVET_LIB_FROM_BIN,
    [INSTALL_HELPER] = TRIVET_LIBEXEC_FROM_BIN,
};

/* A build folder inside a workspace has no lib directory beside it: a command could make one. */
static bool is_bin(struct str dir)
{
    return str_is(path_base(dir), TRIVET_BIN_NAME);
}

void install_place(enum install_kind kind, int place, struct buf *out)
{
    struct str dir = path_dir(str_of(path_program()));
    if (place == 0)
        buf_add(out, dir);
    else if (place == 1 && relative[kind][0] && is_bin(dir))
        buf_addf(out, "%.*s/%s", STR_FMT(dir), relative[kind]);
    else
        buf_addz(out, absolute[kind]);
}

/* The program itself says which owner and group are as good as this user's. */
static bool is_owned_well(const struct stat *st, const struct stat *program)
{
    return st->st_uid == 0 || st->st_uid == geteuid() || st->st_uid == program->st_uid;
}

static bool is_group_fine(const struct stat *st, const struct stat *program)
{
    return !(st->st_mode & S_IWGRP) || st->st_gid == 0 || st->st_gid == getegid() ||
           st->st_gid == program->st_gid;
}

static bool is_closed_to_others(const struct stat *st)
{
    return !(st->st_mode & S_IWOTH);
}

/* A directory above: a sticky one like /tmp lets others add names, not change those of this user.
 */
static bool is_parent_fine(const struct stat *st)
{
    return is_closed_to_others(st) || (S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX));
}

bool install_is_trusted(const char *path)
{
    struct stat program, st;
    if (stat("/proc/self/exe", &program) != 0)
        return false;
    struct str rest = str_of(path);
    for (int level = 0; rest.n > 1; rest = path_dir(rest), level++) {
        if (level > 1 && path_is_inside(rest, str_of(path_program())))
            break; /* a user who can change this one can replace the program as well */
        AUTO_FREE char *z = str_dup(rest);
        if (lstat(z, &st) != 0 || !is_owned_well(&st, &program))
            return false;
        if (level > 1 ? !is_parent_fine(&st)
                      : !is_closed_to_others(&st) || !is_group_fine(&st, &program))
            return false;
    }
    return true;
}

bool install_find(enum install_kind kind, const char *name, struct buf *out,
                  struct buf *ret_refused)
{
    for (int i = 0; i < INSTALL_PLACES; i++) {
        AUTO(buf) struct buf path = BUF_INIT;
        char real[PATH_MAX];
        install_place(kind, i, &path);
        buf_addf(&path, "/%s", name);
        if (!realpath(path.p, real))
            continue;
        if (install_is_trusted(real))
            return buf_addz(out, real);
        if (ret_refused) {
            buf_reset(ret_refused);
            buf_addz(ret_refused, real);
        }
    }
    return false;
}
