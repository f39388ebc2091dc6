/* SPDX-License-Identifier: MIT */
#include "base/mem.h"

#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void *checked(void *p, size_t n)
{
    if (!p && n)
        die("out of memory");
    return p;
}

void *xmalloc(size_t n)
{
    return checked(malloc(n ? n : 1), 1);
}

void *xcalloc(size_t n, size_t size)
{
    return checked(calloc(n ? n : 1, size ? size : 1), 1);
}

void *xrealloc(void *p, size_t n)
{
    return checked(realloc(p, n ? n : 1), 1);
}

void *mem_grow(void *v, size_t *capacity, size_t size)
{
    *capacity = *capacity ? *capacity * 2 : 8;
    return xrealloc(v, *capacity * size);
}

char *xstrdup(const char *s)
{
    size_t n = strlen(s) + 1;
    return memcpy(xmalloc(n), s, n);
}

void mem_trim(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

void die(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fputs("trivet: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    _exit(1);
}

static void (*volatile restore_fn)(void);
static volatile sig_atomic_t is_bug;

/* libuv aborts without a message when the kernel refuses a thread or a watch. */
static void on_abort(int signo)
{
    static const char text[] =
        "trivet: the system refuses a resource that the process needs (threads, "
        "memory, descriptors or watches); exiting\n";
    if (restore_fn)
        restore_fn();
    if (!is_bug) {
        (void)!write(STDERR_FILENO, text, sizeof text - 1);
        _exit(1);
    }
    signal(signo, SIG_DFL);
    raise(signo);
}

void abort_begin(void)
{
    signal(SIGABRT, on_abort);
}

void abort_restores(void (*restore)(void))
{
    restore_fn = restore;
}

void bug_at(const char *file, int line, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "trivet: bug at %s:%d: ", file, line);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    is_bug = true; /* the reason was printed above */
    abort();
}
