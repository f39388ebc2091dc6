/* SPDX-License-Identifier: MIT */
/* Lists of session files, for dialects: they speak to the engine and never to the store. */
#ifndef TRIVET_ENGINE_LIST_H
#define TRIVET_ENGINE_LIST_H

#include "engine/engine.h"
#include "store/index.h"

/* The session files of a directory, newest modification first, at most limit (0: all).  A
 * directory that is not there has none.  Files are read on the thread pool; the arena belongs to
 * that work until this returns. */
bool engine_list_await(struct engine *e, struct arena *a, struct str dir, size_t limit,
                       struct session_list *ret, struct error *err);

#endif
