/* SPDX-License-Identifier: MIT */
/* The settings of the sandbox on the command line.  An option is the variable of the same name
 * under another spelling, for this process: --sandbox-net HOST is TRIVET_SANDBOX_NET=HOST.  Unlike
 * in a variable, a wrong value is an error at once.
 */
#ifndef TRIVET_ENGINE_SANDBOX_FLAGS_H
#define TRIVET_ENGINE_SANDBOX_FLAGS_H

#include "base/options.h"

enum sandbox_value { VALUE_KIND, VALUE_NET, VALUE_SWITCH, VALUE_PATHS, VALUE_HIDE, VALUE_NUMBER };

/* Sets the variable.  ERR_INVALID says what the option takes. */
bool sandbox_option_take(void *into, const struct option *row, struct str value, struct error *err);

/* Whether it fits; what it takes, for an error. */
bool sandbox_value_fits(enum sandbox_value kind, struct str value);
const char *sandbox_value_takes(enum sandbox_value kind);

#define SANDBOX_OPTION(wire, value_name, fits, text)                                               \
    {                                                                                              \
        .name = (wire), .value = (value_name), .about = (text), .kind = OPT_TAKEN,                 \
        .accept = sandbox_option_take, .number = (fits)                                            \
    }

/* Rows for the table of a command that has a sandbox. */
#define SANDBOX_OPTIONS                                                                            \
    SANDBOX_OPTION("sandbox", "MODE", VALUE_KIND,                                                  \
                   "off, read-only, workspace-write, or require: no command runs\n"                \
                   "where the kernel cannot enforce all of it"),                                   \
        SANDBOX_OPTION("sandbox-net", "HOSTS", VALUE_NET,                                          \
                       "on, off, or what commands may reach: HOST,*.HOST:PORT"),                   \
        SANDBOX_OPTION("sandbox-unix", "on|off", VALUE_SWITCH,                                     \
                       "on: commands may connect to named local sockets"),                         \
        SANDBOX_OPTION("sandbox-write", "DIRS", VALUE_PATHS,                                       \
                       "further writable directories, joined by colons"),                          \
        SANDBOX_OPTION("sandbox-hide", "PATHS", VALUE_HIDE,                                        \
                       "further unreadable paths; !PATH shows a usual one"),                       \
        SANDBOX_OPTION("sandbox-memory", "MB", VALUE_NUMBER,                                       \
                       "all processes of a command; 0: no limit, as below\n"                       \
                       "(default: a quarter of the machine's)"),                                   \
        SANDBOX_OPTION("sandbox-processes", "N", VALUE_NUMBER,                                     \
                       "processes and threads of a session's commands (512)"),                     \
        SANDBOX_OPTION("sandbox-cpu", "SECONDS", VALUE_NUMBER,                                     \
                       "processor time, each process (3600)"),                                     \
        SANDBOX_OPTION("sandbox-open", "N", VALUE_NUMBER, "open files, each process (65536)"),     \
        SANDBOX_OPTION("sandbox-disk", "MB", VALUE_NUMBER,                                         \
                       "scratch directory, and each single file (8192)")

#endif
