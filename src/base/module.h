/* SPDX-License-Identifier: MIT */
/* Modules of trivet: shared objects found by base/install.h, opened at first use with
 * dlopen(RTLD_NOW | RTLD_LOCAL).  Each has one entry symbol, trivet_module, that returns a table of
 * functions, and says which version of trivet it belongs to.  Modules call the functions of the
 * core, which exports them.
 */
#ifndef TRIVET_BASE_MODULE_H
#define TRIVET_BASE_MODULE_H

#include "base/err.h"

/* The table of module `name` ("net" opens trivet-net.so), opened once per process.  Safe to call
 * from any thread.  NULL with ERR_MODULE naming the Debian package to install. */
const void *module_open(const char *name, const char *package, struct error *err);

/* Once in each module: its entry and its version. */
#define MODULE_SYMBOLS                                                                             \
    extern const char trivet_module_version[];                                                     \
    const char trivet_module_version[] = TRIVET_VERSION;                                           \
    const void *trivet_module(void)

#endif
