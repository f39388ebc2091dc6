/* SPDX-License-Identifier: MIT */
/* The plain names of tools: what Kward's events, transcripts and session files call a call,
 * whatever toolset it came from (kward 196-201). */
#ifndef TRIVET_TOOLSETS_PLAIN_H
#define TRIVET_TOOLSETS_PLAIN_H

#include "base/json.h"

/* read_file -> read, edit_file -> edit, write_file -> write, run_shell_command -> bash. */
struct str plain_name(struct str name);
/* Writes the normalised arguments object; args may be NULL or no object. */
void plain_args(struct str name, yyjson_val *args, struct jw *w);

#endif
