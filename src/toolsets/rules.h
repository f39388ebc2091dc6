/* SPDX-License-Identifier: MIT */
/* Rules about calls: allow, ask or deny, by tool and by what the call is about.
 *
 *     bash                   every call of the tool (* : every tool); Bash is the same
 *     bash(git status)       commands that begin with these words; * stands for any one word
 *     bash(git push*)        a * at the end: whatever begins so; git push:* is the same
 *     write_file(*.md)       paths below the workspace by pattern (tools/match.h), here in any
 *                            directory; with ./ in front only at the top
 *     write_file(src/)       everything below src
 *     read_file(/etc/passwd) a pattern that begins with / or ~/ is held against the whole path
 *     mcp__files__read       a tool of an MCP server; mcp__files__read* and mcp__files__* : those
 * that begin so; mcp__files: all of the server outside(gh pr)         commands that may run outside
 * of the sandbox when the model asks for it
 *
 * A deny or ask rule fits as soon as one command of the line or one path of the call does; a call
 * is allowed when each of its commands or paths fits some allow rule.  Paths are judged after links
 * were resolved.  A shell line that cannot be read without running it (tools/command.h) is not
 * allowed by any pattern, and fits a deny rule wherever the rule's words stand in it.  Rules are a
 * convenience on top of the sandbox: the kernel enforces the sandbox.
 */
#ifndef TRIVET_TOOLSETS_RULES_H
#define TRIVET_TOOLSETS_RULES_H

#include "toolsets/toolset.h"

enum verdict { VERDICT_NONE, VERDICT_ALLOW, VERDICT_ASK, VERDICT_DENY };

struct rule;
struct rules {
    struct rule *v;
    size_t n, capacity;
    const struct toolset *tools; /* whose calls are judged; NULL: a rule may name any tool */
    struct str workspace;        /* its own lists in the user's file count too; STR_NONE: none do */
};
#define RULES_INIT ((struct rules){0})

/* ERR_INVALID when the text is no rule, or one that can never fit a call of the tools. */
bool rules_add(struct rules *r, enum verdict verdict, struct str text, struct error *err);
/* The object {"allow": [...], "ask": [...], "deny": [...]} of a file; no file is fine.  tree:
 * the workspace that brings the file along (context/foreign.h), which cannot allow anything, such a
 * list is an error; STR_NONE: the file is the user's own, and may hold such objects by workspace:
 * {"workspaces": {"/path": {"allow": [...]}}}. */
bool rules_load(struct rules *r, struct str path, struct str tree, struct error *err);
/* Deny wins, then ask, then allow.  *ret_text is the deciding rule, borrowed. */
enum verdict rules_judge(const struct rules *r, const struct tool *f, const struct tool_cx *cx,
                         const void *args, struct str *ret_text);
/* The same for a call that asks to run outside of the sandbox (tool.leaves): only rules for
 * `outside` count, so that no rule for a tool or for * grants it. */
enum verdict rules_judge_outside(const struct rules *r, const struct tool *f,
                                 const struct tool_cx *cx, const void *args, struct str *ret_text);
/* The rule that lets commands like this one run outside from now on, in the arena: by the first two
 * words when the second is a subcommand, else by all of them.  STR_NONE where the beginning says
 * too little about what will run: several commands, interpreters, build tools, rm. */
struct str rules_outside_like(struct arena *a, struct str line);
/* The i-th rule, borrowed, as it was written; STR_NONE behind the last. */
struct str rules_line(const struct rules *r, size_t i, enum verdict *ret_verdict);
/* Whether an allow rule fits this command of a line. */
struct simple_command;
bool rules_cover(const struct rules *r, const struct tool *f, const struct simple_command *c);
void rules_clear(struct rules *r);
/* Whether the tool of a rule is one, or several, of MCP servers. */
bool rule_names_server(struct str tool);
/* Whether a rule can fit at all; ERR_INVALID says why not.  pattern: STR_NONE for every call. */
bool rule_check(const struct toolset *t, struct str tool, struct str pattern, struct error *err);

#endif
