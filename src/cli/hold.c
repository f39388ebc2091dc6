/* SPDX-License-Identifier: MIT */
/* The program trivet-hold: the holder of a running command (loop/child.h) and nothing else, linked
 * statically.  trivet can do the same itself, but a program of its size takes twice the time to
 * start, and every command pays for that.
 */
#include "loop/child.h"
#include "sandbox/sandbox.h"

int main(int argc, char **argv)
{
    static const struct hold_hooks hooks = {
        sandbox_prepare, sandbox_confine, sandbox_release, sandbox_note,
        sandbox_confine_ahead, sandbox_watch, sandbox_is_as_noted};
    return hold_main_hooked(argc, argv, &hooks);
}
