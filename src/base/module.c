/* SPDX-License-Identifier: MIT */
#include "base/module.h"

#include "base/install.h"
#include "base/mem.h"

#include <dlfcn.h>
#include <pthread.h>

enum { MAX_MODULES = 8 };

static struct {
    const char *name;
    const void *table;
} opened[MAX_MODULES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const void *error_null(struct error *err, const char *text)
{
    error_set(err, ERR_MODULE, "%s", text);
    return NULL;
}

/* The program may have been upgraded while it runs: a module of another version is not opened. */
static const void *table_of(void *so, struct error *err)
{
    typedef const void *entry_fn(void);
    entry_fn *entry = NULL;
    const char *version = dlsym(so, "trivet_module_version");
    if (!version || strcmp(version, TRIVET_VERSION) != 0)
        return error_null(err, "it belongs to another version of trivet");
    *(void **)&entry = dlsym(so, "trivet_module");
    return entry ? entry() : error_null(err, "it has no entry");
}

static const void *open_module(const char *name, const char *package, struct error *err)
{
    AUTO(buf) struct buf file = BUF_INIT, path = BUF_INIT, refused = BUF_INIT;
    struct error why;
    buf_addf(&file, "trivet-%s.so", name);
    if (install_find(INSTALL_MODULE, file.p, &path, &refused)) {
        void *so = dlopen(path.p, RTLD_NOW | RTLD_LOCAL);
        const void *table = so ? table_of(so, &why) : error_null(&why, dlerror());
        if (table)
            return table;
    } else if (refused.n) {
        error_set(&why, ERR_MODULE, "%s: other users can change it", refused.p);
    } else {
        error_set(&why, ERR_MODULE, "it is not installed");
    }
    error_set(err, ERR_MODULE, "the module %s cannot be opened (%s); install %s", file.p, why.text,
              package);
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
