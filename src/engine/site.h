/* SPDX-License-Identifier: MIT */
/* The policy of this machine: what its users cannot loosen, whatever options, variables, modes and
 * their own files say.  It is the member "policy" of /etc/trivet/config.json:
 *
 *     {"policy": {"sandbox": "require",         every command runs in a sandbox that the kernel
 *                                               enforces completely, or not at all
 *                 "sandbox-net": "off",         or hosts, as --sandbox-net takes them
 *                 "sandbox-write": "off",       no further writable directories
 *                 "sandbox-unix": "off",        no named local sockets
 *                 "deny": [...], "ask": [...]}} permission rules of trivet's own clients
 *
 * Each member about the sandbox implies "require".
 */
#ifndef TRIVET_ENGINE_SITE_H
#define TRIVET_ENGINE_SITE_H

#include "base/json.h"
#include "toolsets/rules.h"

#define SITE_PATH "/etc/trivet/config.json"

struct site_policy {
    bool needs_sandbox, forbids_write, forbids_unix;
    struct str net; /* "off", hosts, or STR_NONE */
};

/* Reads the file once at the start of the process; no file is no policy.  ERR_CORRUPT for a file
 * that cannot be understood completely: then no tool may run. */
bool site_load(const char *path, struct error *err);
const struct site_policy *site_policy(void);
/* The object of the whole file, or NULL. */
yyjson_val *site_file(void);
/* Adds its rules. */
bool site_add_rules(struct rules *r, struct error *err);
/* The hosts that commands may reach, from what the user wants ("on", "off", hosts or empty): the
 * policy's, or those of the user's list that it has too.  Appends to out. */
void site_limit_net(struct str wanted, struct buf *out);

#endif
