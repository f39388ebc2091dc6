/* SPDX-License-Identifier: MIT */
/* What the tests of patches share: applying one in a scene, and a picture of a whole directory that
 * shows every change (bytes, modes, times, inodes, names). */
#ifndef TRIVET_TESTS_PATCH_SCENE_H
#define TRIVET_TESTS_PATCH_SCENE_H

#include "tool_scene.h"

#include "tools/patch.h"

#include <dirent.h>
#include <stdlib.h>

/* Parses, plans and commits as the job does, without a thread. */
static inline enum patch_fault_kind apply_patch(struct scene *s, struct str text)
{
    AUTO(patch) struct patch p = PATCH_INIT;
    AUTO(plan) struct plan plan = PLAN_INIT;
    AUTO(patch_fault) struct patch_fault fault = PATCH_FAULT_INIT;
    struct patch_options o = {.base = str_of(s->dir)};
    bool ok = patch_parse(text, &p, &fault) && patch_plan(&p, &o, &plan, &fault) &&
              plan_commit(&plan, &fault);
    assert_int_equal(ok, fault.kind == PATCH_FINE);
    return fault.kind;
}

static inline int compare_names(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Appends what is below dir: names, kinds, modes, contents, and with `exact` times and inodes. */
static inline void picture_dir(const char *dir, bool exact, struct buf *out)
{
    struct dirent **names;
    struct error err;
    int n = scandir(dir, &names, NULL, compare_names);
    for (int i = 0; i < n; i++) {
        AUTO(buf) struct buf path = BUF_INIT;
        struct stat st;
        buf_addf(&path, "%s/%s", dir, names[i]->d_name);
        bool is_dot = !strcmp(names[i]->d_name, ".") || !strcmp(names[i]->d_name, "..");
        free(names[i]);
        if (is_dot)
            continue;
        assert_int_equal(lstat(path.p, &st), 0);
        buf_addf(out, "%s %o", path.p, st.st_mode);
        if (exact && !S_ISDIR(st.st_mode))
            buf_addf(out, " %lld %lld.%09ld", (long long)st.st_ino, (long long)st.st_mtim.tv_sec,
                     st.st_mtim.tv_nsec);
        buf_addc(out, '\n');
        if (S_ISDIR(st.st_mode))
            picture_dir(path.p, exact, out);
        else if (S_ISREG(st.st_mode))
            assert_true(path_read(out, buf_str(&path), 1 << 24, &err));
    }
    free(names);
}

static inline struct buf picture(const struct scene *s, bool exact)
{
    struct buf b = BUF_INIT;
    picture_dir(s->dir, exact, &b);
    return b;
}

static inline void assert_same_picture(const struct buf *a, const struct buf *b)
{
    if (!str_eq(buf_str(a), buf_str(b)))
        fail_msg("before:\n%s\nafter:\n%s", buf_str(a).p, buf_str(b).p);
}

#endif
