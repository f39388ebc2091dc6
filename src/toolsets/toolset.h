/* SPDX-License-Identifier: MIT */
/* Toolsets: lists of tools as the model sees them.  A session has one toolset. */
#ifndef TRIVET_TOOLSETS_TOOLSET_H
#define TRIVET_TOOLSETS_TOOLSET_H

#include "base/rows.h"
#include "tools/tool.h"

/* Hears of a path that a call touches.  is_entry: the name itself is changed (removed, moved), so a
 * link is judged by where it lies; else by where it leads. */
typedef void target_fn(void *arg, struct str path, bool is_entry);

/* What a tool does, whatever its name: other names of its arguments go by it (mend.h). */
enum tool_kind {
    TOOL_OTHER,
    TOOL_READ,
    TOOL_WRITE,
    TOOL_EDIT,
    TOOL_PATCH,
    TOOL_SHELL,
    TOOL_LIST,
    TOOL_GLOB,
    TOOL_GREP,
    TOOL_EXPLORE,
};

struct tool {
    const char *name; /* model-facing */
    const char *about;
    enum tool_kind kind;
    const struct row *args;
    size_t args_size;
    const void *defaults; /* arguments before decoding; NULL: all zero */
    enum mode mode;       /* required mode */
    /* Where in the decoded arguments the path stands that decides whether the call leaves the
     * workspace: TARGET(struct, member), 0 when it has none. */
    size_t target;
    /* For calls with several paths: calls fn for each. */
    void (*targets)(const void *args, target_fn *fn, void *arg);
    /* The shell line of a call that runs one; NULL when it has none. */
    struct str (*command)(const void *args);
    /* Whether the call asks to run outside of the sandbox, and why; NULL: it cannot ask. */
    bool (*leaves)(const void *args, struct str *ret_why);
    bool from_launch_dir; /* relative paths, and a missing one, mean the directory the process was
                           * started in */
    bool has_long_text;   /* its text has no limit of its own: the model reads it cut */
    bool gives_pictures;  /* its result may hold one, if the model takes them */
    bool reads_file;      /* a successful call has read the file at its target */
    bool changes_files;   /* a successful call is a mutation of result.path */
    /* Runs with decoded arguments.  A failed call is a result with is_error; false only for
     * ERR_CANCELED, with the output so far in the result. */
    bool (*run_await)(struct tool_cx *cx, const void *args, struct tool_result *ret,
                      struct error *err);
    const char *gadget; /* group that must be on for it to be offered; NULL: in none */
    /* Whether it can work here, by what is installed or there; NULL: always. */
    bool (*is_offered)(const struct tool_cx *cx);
    /* Whether requests list it for the model: false where a call would only fail.  NULL: always. */
    bool (*is_sent)(const struct tool_cx *cx);
    struct str schema;   /* finished JSON Schema, instead of what the rows give */
    bool takes_anything; /* arguments that no row names are no fault: see cx->arguments */
    /* Does the work when the arguments are those of an edit and none of its own; may be NULL. */
    const struct tool *for_edits;
    const void *self; /* run_await finds it in cx->self */
    /* What it gave stays whole while older results are shortened: skills, answers, things to do. */
    bool is_kept_whole;
};

#define TARGET(type, member) (offsetof(type, member) + 1)
/* The path at f->target; STR_NONE when the call has none. */
struct str tool_target(const struct tool *f, const void *args);

struct toolset {
    const char *name;
    const struct tool *const *tools;
    size_t n_tools;
    /* Otherwise these three are faults; what is missing or wrong is worded by say_invalid. */
    bool unreadable_is_empty;    /* loaf: unreadable arguments count as {} */
    bool takes_doubles;          /* loaf, Kward: the last of two members of one name counts */
    bool wrong_types_are_absent; /* loaf: types are not enforced */
    const char *error_prefix;    /* begins the text of a failed call; NULL: nothing does */
    const struct cut_rules *cut; /* how much of long outputs the model reads; NULL: cut_usual */
    bool has_jobs;               /* commands may go on in the background */
    void (*say_unknown)(struct str name, struct str call_id, struct tool_result *r);
    void (*say_invalid)(const struct tool *f, const struct fault *fault, struct str raw,
                        struct tool_result *r);
};

extern const struct toolset toolset_loaf, toolset_scaiflux, toolset_kward;
extern const struct toolset toolset_run;     /* of `trivet exec` */
extern const struct toolset toolset_explore; /* of a sub-agent: looks at files */

const struct tool *toolset_find(const struct toolset *t, struct str name);
/* Only looks: calls of one reply may start together, and it may be asked again at no cost. */
bool tool_only_looks(const struct tool *f);
/* Whether the model gets it: its group is among the gadgets (NULL-ended, may be NULL) and it
 * can work here. */
bool tool_is_offered(const struct tool *f, const struct tool_cx *cx, const char *const *gadgets);
/* The mode a call needs: the tool's own, raised to MODE_FULL when one of its paths leaves the
 * workspace (cx->root) after links are resolved, or cannot be judged.  Saved outputs (cx->saved)
 * may be read, and the scratch directory read and written, as the workspace may. */
enum mode tool_required_mode(const struct tool *f, const struct tool_cx *cx, const void *args);
/* Hears every path that a call touches, absolute with links resolved; STR_NONE for one that cannot
 * be judged. */
typedef void resolved_fn(void *arg, struct str path);
void tool_each_target(const struct tool *f, const struct tool_cx *cx, const void *args,
                      resolved_fn *fn, void *arg);
/* Decodes arguments into f->args_size bytes at `into`, as strictly as the toolset wants it. */
bool tool_decode(const struct toolset *t, const struct tool *f, yyjson_val *arguments, void *into,
                 struct fault *ret_fault);
/* The path of a call as the model wrote its arguments; STR_NONE when there is none.  In the arena.
 */
struct str tool_call_target(const struct tool *f, struct str arguments, struct arena *a);
/* The JSON Schema of a tool's arguments. */
void tool_schema(const struct tool *f, struct jw *w);

#endif
