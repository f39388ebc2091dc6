/* SPDX-License-Identifier: MIT */
/* `trivet doctor`: reports what this machine offers.  Names of keys are printed, never their
 * values; nothing is changed.
 */
#ifndef TRIVET_CLI_DOCTOR_H
#define TRIVET_CLI_DOCTOR_H

#include "cli/commands.h"

/* Takes the arguments behind `doctor`.  Returns the exit code: 0 when all that is needed works, 1
 * when something is broken, 2 for arguments that it does not know. */
int doctor_run(const struct command_row *row, int argc, char **argv);
extern const struct option doctor_options[];

struct doctor_module {
    const char *name, *package, *serves;
};
extern const struct doctor_module doctor_modules[]; /* ended by a NULL name */

/* ---- for its parts ---- */

enum finding { FOUND_GOOD, FOUND_MISSING /* can be done without */, FOUND_RISKY, FOUND_BROKEN };

struct doctor;
/* Adds a line to the section that was begun last. */
void doctor_say(struct doctor *d, enum finding finding, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Whether a server answers HTTP at this address of this machine, within a fraction of a second. */
bool doctor_asks_server(struct str url);

#endif
