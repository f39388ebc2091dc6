#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_e2e.py fails a script in which the program twice reports a round of its loop that is too long,
and only then; the program does report such rounds."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
from client import PROGRAM  # noqa: E402

BODY = """
import os
with open({seen!r}, "a") as file:
    file.write(".")
report = os.environ.get("TRIVET_DEBUG_ROUNDS", "").partition(":")[2]
if report and os.path.getsize({seen!r}) <= {times}:
    with open(report, "a") as file:
        file.write("{line}\\n")
print("3 passed, 0 failed")
"""
BUSY = "round: busy 90000000 us, asleep 1 us; 5 us in fiber turn"
ASLEEP = "round: busy 20 us, asleep 90000000 us; 5 us in fiber turn"
SHORT = "round: busy 20 us, asleep 30000 us; 5 us in fiber turn"


def judged(base, line, times=2, head=""):
    script, seen = os.path.join(base, "script.py"), os.path.join(base, "seen")
    with open(seen, "w", encoding="ascii"):
        pass
    with open(script, "w", encoding="ascii") as file:
        file.write(head + BODY.format(seen=seen, times=times, line=line))
    done = subprocess.run([sys.executable, os.path.join(harness.TOP, "tests/check_e2e.py"), script,
                           PROGRAM], stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stdout.splitlines(), os.path.getsize(seen)


def main():
    cases, good = [], ["3 passed, 0 failed"]
    with harness.private_place() as base:
        bad = ["FAIL no round of the loop is long", BUSY, "3 passed, 1 failed"]
        cases.append(("busy", judged(base, BUSY), (1, bad, 2)))
        cases.append(("asleep", judged(base, ASLEEP), (1, [bad[0], ASLEEP, bad[2]], 2)))
        cases.append(("once only", judged(base, BUSY, 1), (0, good, 2)))
        cases.append(("short", judged(base, SHORT), (0, good, 1)))
        cases.append(("allowed", judged(base, BUSY, 2, "# LONG ROUNDS: why\n"), (0, good, 1)))
        report = os.path.join(base, "report")
        with open(report, "w", encoding="ascii"), \
                open(f"{base}/scenario.json", "w", encoding="ascii") as file:
            json.dump({"rounds": [[{"say": "Done."}]]}, file)
        subprocess.run([PROGRAM, "exec", "--model", f"rehearsal/{base}/scenario.json", "go"],
                       cwd=base, env=dict(harness.clean_env(base), TRIVET_DEBUG_ROUNDS=f"0:{report}"),
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=False)
        with open(report, encoding="ascii") as file:
            lines = file.read().splitlines()
        cases.append(("of the program", all(line.startswith("round: busy ") for line in lines)
                      and len(lines) > 5, True))
    failed = [case for case in cases if case[1] != case[2]]
    for name, found, wanted in failed:
        print(f"FAIL {name}: {found}, not {wanted}")
    harness.finish(len(cases) - len(failed), len(failed))


main()
