#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_e2e.py SCRIPT PROGRAM: runs an end-to-end script in a private home.

The script finds the program in $TRIVET, prints `N passed, N failed` as its last line and ends
with 0 when nothing failed.  Ten minutes are the limit.

Whatever the script does, the program reports rounds of its loop that are too long (src/loop/rounds.c).
With such rounds the script runs once more, since a disk that others keep busy can hold up any system
call, and fails when there are some again.  A script that feeds the program tens of megabytes, or
stops it on purpose, has the line `# LONG ROUNDS: why`.
"""
import os
import re
import subprocess
import sys

import harness

BUSY_MS = 20     # at the usual pace of the processor
ASLEEP_MS = 100  # more, since starting a process waits until that has a processor
COUNTS = re.compile(r"(\d+) passed, (\d+) failed\n\Z")


def may_be_long(script):
    with open(script, encoding="utf-8") as file:
        return re.search(r"^# LONG ROUNDS: \w", file.read(), re.M)


def run(script, program):
    """The output, the status and the lines on long rounds."""
    with harness.private_place() as base:
        env = harness.clean_env(base)
        env["TRIVET"] = program
        rounds = os.path.join(base, "rounds")
        with open(rounds, "w", encoding="ascii"):
            os.chmod(rounds, 0o666)  # some scripts run the program as another user
        busy_ms = BUSY_MS * harness.slow() * harness.pace()
        env["TRIVET_DEBUG_ROUNDS"] = f"{int(busy_ms)}:{rounds}"
        if may_be_long(script):
            del env["TRIVET_DEBUG_ROUNDS"]
        try:
            done = subprocess.run([sys.executable, script], env=env, cwd=env["TMPDIR"], timeout=600,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, errors="replace")
        except subprocess.TimeoutExpired as late:
            return f"{(late.stdout or b'').decode(errors='replace')}\ntimed out after 600 s\n", 1, []
        with open(rounds, encoding="ascii") as file:
            return done.stdout, done.returncode, [line for line in file if is_long(line, busy_ms)]


def is_long(line, busy_ms):
    busy, asleep = (int(us) / 1000 for us in re.findall(r"(-?\d+) us", line)[:2])
    return busy > busy_ms or asleep > ASLEEP_MS * harness.slow()


def main():
    script, program = (os.path.abspath(path) for path in sys.argv[1:3])
    output, status, long = run(script, program)
    if long and status == 0:
        output, status, long = run(script, program)
    counts = COUNTS.search(output)
    if long and counts:
        passed, failed = map(int, counts.groups())
        output = f"{output[:counts.start()]}FAIL no round of the loop is long\n{''.join(long)}" \
                 f"{passed} passed, {failed + 1} failed\n"
    sys.stdout.write(output)
    return status or int(bool(long))


sys.exit(main())
