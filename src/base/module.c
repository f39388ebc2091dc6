/* SPDX-License-Identifier: MIT */
#include "base/module.h"

#include "base/mem.h"
#include "base/path.h"

#include <dlfcn.h>
#include <pthread.h>

enum { MAX_MODULES = 8 };

static struct {
    const char *name;
    const void *table;
} opened[MAX_MODULES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *open_in(const char *below, const char *name)
{
    struct error ignored;
    AUTO(buf) struct buf path = BUF_INIT;
    path_program_dir(&path, &ignored);
    buf_addf(&path, "%strivet-%s.so", below, name);
    return dlopen(path.p, RTLD_NOW | RTLD_LOCAL);
}

static const void *open_module(const char *name, const char *package, struct error *err)
{
    void *so = open_in("/", name);
    if (!so)
        so = open_in("/../lib/trivet/", name);
    typedef const void *entry_fn(void);
    entry_fn *entry = NULL;
    if (so)
        *(void **)&entry = dlsym(so, "trivet_module");
    if (entry)
        return entry();
    const char *why = dlerror();
    error_set(err, ERR_MODULE, "the module trivet-%s.so cannot be opened (%s); install %s", name,
              why ? why : "no entry", package);
    return NULL;
}

const void *module_open(const char *name, const char *package, struct error *err)
{
    const void *table = NULL;
    pthread_mutex_lock(&lock);
    size_t i = 0;
    while (i < MAX_MODULES && opened[i].name && strcmp(opened[i].name, name) != 0)
        i++;
    if (i == MAX_MODULES)
        BUG("too many modules");
    if (opened[i].name) {
        table = opened[i].table;
    } else if ((table = open_module(name, package, err))) {
        opened[i].name = name;
        opened[i].table = table;
    }
    pthread_mutex_unlock(&lock);
    return table;
}
