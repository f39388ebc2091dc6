/* SPDX-License-Identifier: MIT */
/* What a user keeps in the config directory for the agent: prompt templates, skills, plugins.
 *
 *     prompts/NAME.md          a template; front matter: description, argument-hint
 *     skills/FOLDER/SKILL.md   a skill; front matter: name, description
 *     plugins/FOLDER/plugin.json   {"program": "run", "description": "...",
 *                                   "commands": [{"name", "description", "argumentHint"}]}
 *
 * Everything is read when it is asked for, so a new file counts at once.  Broken ones are left out.
 */
#ifndef TRIVET_CONTEXT_LIBRARY_H
#define TRIVET_CONTEXT_LIBRARY_H

#include "base/arena.h"

struct item {
    struct str name;  /* of the command or skill */
    struct str about; /* "" when nothing is said */
    struct str hint;  /* what arguments look like; "" */
    struct str path;  /* of the template, SKILL.md, or the program of a plugin */
    struct str text;  /* template: what stands behind the front matter */
};

/* Sorted by name, in the arena; directories that are not there hold nothing. */
struct item *library_prompts(struct str config_dir, struct arena *a, size_t *ret_n);
struct item *library_skills(struct str config_dir, struct arena *a, size_t *ret_n);
/* One per command; without those whose names are reserved or a template's. */
struct item *library_plugins(struct str config_dir, struct arena *a, size_t *ret_n);
/* Files in plugins/ whose names end so: name and path. */
struct item *library_plugin_files(struct str config_dir, struct str ending, struct arena *a,
                                  size_t *ret_n);
/* NULL when there is none. */
const struct item *item_find(const struct item *items, size_t n, struct str name);
/* Every $ARGUMENTS of the template replaced. */
struct str item_expand(const struct item *template, struct str arguments, struct arena *a);

#endif
