/* SPDX-License-Identifier: MIT */
/* The parts of custom tools know each other through this. */
#ifndef TRIVET_TOOLSETS_CUSTOM_INTERNAL_H
#define TRIVET_TOOLSETS_CUSTOM_INTERNAL_H

#include "loop/gate.h"
#include "toolsets/custom.h"

struct custom_tool {
    struct tool tool; /* as the model sees it; its self is this struct */
    const struct toolset *set;
    const char *file;        /* the manifest or the script */
    const char *folder;      /* of a manifest */
    const char *const *argv; /* of a manifest */
    int64_t timeout_ms;
    struct json schema; /* parsed; root NULL when any arguments will do */
};

struct custom {
    struct arena arena; /* tools and their texts */
    struct str dir;
    const struct tool **offered; /* as the model sees them */
    struct custom_tool **tools;
    size_t n, capacity;
    struct str *errors;
    size_t n_errors, errors_capacity;
    struct gate gate; /* one fiber looks for programs */
    bool has_programs, is_loaded;
};

/* custom.c */
/* A tool with a copy of these texts; NULL with an error line when the name is bad or taken. */
struct custom_tool *custom_make(struct custom *c, const struct toolset *set, struct str name,
                                struct str about, yyjson_val *schema, struct str file);
/* Replaces one of the same name, which is of the same file then. */
void custom_add(struct custom *c, struct custom_tool *t);
void custom_note(struct custom *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The end of a call: output may be NULL, error is for failures. */
bool custom_finish(const struct custom_tool *t, bool ok, yyjson_val *output, struct str error,
                   struct tool_result *r);

/* custom_program.c */
/* Reads the manifests on the thread pool. */
void custom_find_programs_through_await(struct custom *c, const struct toolset *set);

/* custom_js.c */
bool custom_find_js_await(struct custom *c, struct tool_cx *cx, const struct toolset *set,
                          struct error *err);
/* Asks the runtime what the files export; files is NULL-ended. */
bool custom_import_await(struct custom *c, struct tool_cx *cx, const struct toolset *set,
                         const char *const *files, struct error *err);

#endif
