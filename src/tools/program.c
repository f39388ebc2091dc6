/* SPDX-License-Identifier: MIT */
#include "tools/program.h"

#include "base/mem.h"

#include <sys/stat.h>
#include <unistd.h>

enum { LINGER_MS = 250 };

void program_run_clear(struct program_run *r)
{
    ring_clear(&r->out);
    ring_clear(&r->err);
    buf_clear(&r->extra);
}

static struct str path_of(const char *const *env)
{
    for (; env && *env; env++)
        if (strncmp(*env, "PATH=", 5) == 0)
            return str_of(*env + 5);
    return STR("/usr/local/bin:/usr/bin:/bin");
}

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

bool program_find(const char *name, const char *const *env, struct buf *ret_path)
{
    struct str rest = path_of(env), dir;
    while (rest.p) {
        rest = str_split(rest, ':', &dir);
        buf_reset(ret_path);
        buf_addf(ret_path, "%.*s/%s", STR_FMT(dir), name);
        if (dir.n && is_program(ret_path->p))
            return true;
    }
    buf_reset(ret_path);
    return false;
}

static void on_output(void *arg, int stream, struct str bytes)
{
    struct program_run *r = arg;
    if (stream == 1)
        ring_add(&r->out, bytes);
    else if (stream == 2)
        ring_add(&r->err, bytes);
    else
        buf_add(&r->extra, bytes);
}

bool program_await(struct tool_cx *cx, const struct program_options *o, struct program_run *ret,
                   struct error *err)
{
    struct child_options child = {
        .argv = o->argv,
        .env = o->env,
        .cwd = o->cwd,
        .input = o->input,
        .has_extra = o->extra_max > 0,
        .timeout_ms = o->timeout_ms,
        .grace_ms = cx->kill_grace_ms,
        .linger_ms = LINGER_MS,
        .room = cx->room,
        .on_output = on_output,
        .arg = ret,
    };
    ring_init(&ret->out, o->head_max, o->tail_max);
    ring_init(&ret->err, o->head_max, o->tail_max);
    ret->extra = BUF_MAX(o->extra_max);
    return child_run_await(cx->loop, &child, cx->child, &ret->end, err);
}
