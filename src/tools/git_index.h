/* SPDX-License-Identifier: MIT */
/* Reads the index of a git repository (.git/index, versions 2 to 4): which files are tracked, under
 * which object git has the content of each, and what lstat said when git last looked.  Nothing is
 * written and git is not run.  It blocks, so it runs on the thread pool. */
#ifndef TRIVET_TOOLS_GIT_INDEX_H
#define TRIVET_TOOLS_GIT_INDEX_H

#include "base/arena.h"
#include "base/buf.h"

struct stat;

struct git_file {
    struct str path;         /* below the root of the repository */
    const unsigned char *at; /* its entry in the bytes */
};

struct git_index {
    struct buf bytes;
    struct arena names; /* of version 4 */
    struct git_file *v; /* regular files, ordered by the bytes of their paths */
    size_t n, capacity;
    size_t id_n; /* bytes of an object's id: 20 or 32 */
    int64_t written_s, written_ns;
};
#define GIT_INDEX_INIT ((struct git_index){0})
void git_index_clear(struct git_index *x);

/* The nearest directory from `dir` upward that has a .git, and the directory with the index: .git,
 * or for a linked worktree the one that the file .git names.  False when there is none; ret_git_dir
 * is changed then too. */
bool git_find(struct str dir, struct str *ret_root, struct buf *ret_git_dir);
/* False when there is no index, or none that can be understood. */
bool git_index_read(struct git_index *ret, struct str git_dir);
bool git_index_parse(struct git_index *x); /* x->bytes, into the rest */
/* NULL when git does not track it. */
const struct git_file *git_index_find(const struct git_index *x, struct str path);
/* Whether the file is for sure as git has it, by what lstat says.  What is converted when it is
 * checked out differs from the object nevertheless. */
bool git_index_is_clean(const struct git_index *x, const struct git_file *f, const struct stat *st);
static inline struct str git_file_id(const struct git_index *x, const struct git_file *f)
{
    return str_n((const char *)f->at + 40, x->id_n);
}

#endif
