/* SPDX-License-Identifier: MIT */
/* A config file: one JSON object that many processes read and change at the same time. */
#ifndef TRIVET_CONTEXT_CONFIG_H
#define TRIVET_CONTEXT_CONFIG_H

#include "base/json.h"
#include "loop/loop.h"

/* The object in the file; {} when there is no file.  ERR_CORRUPT "invalid config JSON: <path>"
 * when it holds anything else. */
bool config_read(struct str path, struct json *ret, struct error *err);

/* Changes root; everything it adds lies in doc. */
typedef void config_change_fn(void *arg, yyjson_mut_doc *doc, yyjson_mut_val *root);
/* Reads, changes and replaces the file under its lock, so that no process loses what another one
 * wrote; pretty-printed, mode 0600, its directory made with 0700.  ret (may be NULL) gets the new
 * object. */
bool config_change(struct str path, config_change_fn *fn, void *arg, struct json *ret,
                   struct error *err);
/* The same without blocking the loop: fn runs on another thread and must not read data that may
 * change meanwhile. */
bool config_change_await(struct str path, config_change_fn *fn, void *arg, struct json *ret,
                         struct error *err);
/* The same for a file of a project: the lock is taken beside `lock` (<lock>.lock, its directory
 * made with 0700), the file keeps its mode, or gets 0644 when it is new, and its directory must be
 * there. */
bool config_change_project_await(struct str path, struct str lock, config_change_fn *fn, void *arg,
                                 struct error *err);

/* The same for an unimportant file: if it is not valid JSON, it is treated as {}. */
bool config_renew(struct str path, config_change_fn *fn, void *arg, struct error *err);
bool config_renew_await(struct str path, config_change_fn *fn, void *arg, struct error *err);
/* Creates a file of a project with this text; an existing file is not changed. */
bool config_create_await(struct str path, struct str text, bool *ret_made, struct error *err);

/* Replaces a small file in the background; the write is lost if the process ends first. */
void config_write_soon(struct loop *l, struct str path, struct str text);

/* root[name] = value, whether it was there or not. */
void config_put(yyjson_mut_doc *doc, yyjson_mut_val *root, struct str name, yyjson_mut_val *value);

#endif
