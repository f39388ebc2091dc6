/* SPDX-License-Identifier: MIT */
/* The program trivet-hold: the holder of a running command (loop/child.h) and nothing else, linked
 * statically.  trivet can do the same itself, but a program of its size takes twice the time to
 * start, and every command pays for that.
 */
#include "loop/child.h"
#include "sandbox/sandbox.h"

int main(int argc, char **argv)
{
    return hold_main(argc, argv, &sandbox_hooks);
}
