/* SPDX-License-Identifier: MIT */
/* Prompt templates, skills and plugins in the user's config directory.
 *
 *     prompts/NAME.md          a template; front matter: description, argument-hint
 *     skills/FOLDER/SKILL.md   a skill; front matter: name, description
 *     plugins/FOLDER/plugin.json   {"program": "run", "description": "...",
 *                                   "commands": [{"name", "description", "argumentHint"}]}
 *
 * Templates and plugins are read at each call, so new ones are found at once.  Invalid ones are
 * skipped.
 */
#ifndef TRIVET_CONTEXT_LIBRARY_H
#define TRIVET_CONTEXT_LIBRARY_H

#include "base/arena.h"
#include "context/skills.h"
#include "loop/fiber.h"

struct item {
    struct str name;  /* of the command or skill */
    struct str about; /* or "" */
    struct str hint;  /* the expected arguments, or "" */
    struct str path;  /* of the template, SKILL.md, or the program of a plugin */
    struct str text;  /* template: the text after the front matter */
};

/* Reads one of the directories: sorted by name, in the arena; missing ones count as empty. */
typedef struct item *library_fn(struct str config_dir, struct arena *a, size_t *ret_n);
library_fn library_prompts;
/* One per command; without those whose names are reserved or a template's. */
library_fn library_plugins;
/* Files in plugins/ that are written in Ruby: name and path. */
library_fn library_ruby_plugins;
/* The same on the thread pool; nothing else uses the arena meanwhile. */
struct item *library_read_await(library_fn *read, struct str config_dir, struct arena *a,
                                size_t *ret_n);
/* skills/ of config_dir, <cwd>/<folder>/skills, and what skill_places_own names for cwd. */
struct skill_places library_skill_places(struct str config_dir, struct str cwd, const char *folder,
                                         struct arena *a);
/* Of the skills found there, sorted by name; of several with one name that of config_dir, else the
 * first. */
struct item *library_skills(const struct skills *found, struct str config_dir, struct arena *a,
                            size_t *ret_n);
bool library_has_skills(const struct skills *found);
/* NULL when there is none. */
const struct item *item_find(const struct item *items, size_t n, struct str name);
/* Every $ARGUMENTS of the template replaced. */
struct str item_expand(const struct item *template, struct str arguments, struct arena *a);

#endif
