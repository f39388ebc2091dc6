#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ALONE
"""The limits of the sandbox: processes, memory, scratch directory and files; the result says which one
was hit."""
import os

from security_place import bash, harness, play


def limits(score, p):
    few = {"TRIVET_SANDBOX_PROCESSES": "60", "TRIVET_SANDBOX_MEMORY": "1024",
           "TRIVET_SANDBOX_DISK": "50"}
    hog = ("python3 -c 'import os,time\nfor i in range(4):\n  if not os.fork():\n"
           "    b=bytearray(500<<20); b[::4096]=b\"x\"*len(b[::4096]); time.sleep(20)\ntime.sleep(20)'")
    watch = harness.Stopwatch()
    ended = ["its processes used too much memory", "it wrote too much into the scratch directory", "all is well"]
    bomb = []
    if harness.has_namespaces():  # without, the limit counts all processes of a user, and none of root
        bomb = [":(){ :|:& };:; sleep 30"]
        ended.append("it started too many processes")
    else:
        harness.skip("sandbox_guards: a fork bomb")
    output = bash(p, *bomb, hog,
                "for i in 1 2 3 4 5 6 7 8; do head -c 20000000 /dev/zero >$TMPDIR/$i; done; sleep 30",
                "head -c 100000000 /dev/zero >big; stat -c %s big", "echo all is well", **few)
    for words in ended:
        score.check(f"{words} ({score.name})", words in output, output)
    size = os.path.getsize(f"{p.work}/big")
    score.check(f"no file beyond the limit ({score.name})", size <= 50 << 20, size)
    score.check(f"it was not waited for ({score.name})", watch.seconds() < 45)


play(limits)
