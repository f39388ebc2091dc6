/* SPDX-License-Identifier: MIT */
/* The program trivet-hold: supervises a running command (loop/child.h); linked statically.
 * trivet can do the same itself, but takes twice the time to start, for every command.
 */
#include "loop/child.h"
#include "sandbox/sandbox.h"

int main(int argc, char **argv)
{
    return hold_main(argc, argv, &sandbox_hooks);
}
