#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_e2e.py SCRIPT PROGRAM: runs an end-to-end script in a private home.

The script finds the program in $TRIVET, prints `N passed, N failed` as its last line and ends
with 0 when nothing failed.  Ten minutes are the limit.
"""
import os
import subprocess
import sys

import harness


def main():
    script, program = (os.path.abspath(path) for path in sys.argv[1:3])
    with harness.private_place() as base:
        env = harness.clean_env(base)
        env["TRIVET"] = program
        try:
            return subprocess.run([sys.executable, script], env=env, cwd=env["TMPDIR"],
                                  stdin=subprocess.DEVNULL, timeout=600).returncode
        except subprocess.TimeoutExpired:
            print("timed out after 600 s")
            return 1


sys.exit(main())
