#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The soft limit of descriptors is raised to the hard one for the program, not for its commands."""
import json
import os
import resource
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
from client import Kward, Loaf  # noqa: E402

SOFT, HARD = 96, 600
TOOL = {Loaf: "bash", Kward: "run_shell_command"}


def ask(kind, base):
    """The limits of the program and of two commands in a row: one of the holders is made before."""
    scenario = {"rounds": [[{"call": TOOL[kind], "args": {"command": f"ulimit -Sn; ulimit -Hn >> {n}; "
                                                                  f"ulimit -Sn >> {n}"}}]
                        for n in "ab"] + [[{"say": "done"}]]}
    with open(f"{base}/scenario.json", "w", encoding="ascii") as file:
        json.dump(scenario, file)
    with kind(cwd=base, env={"TRIVET_MODEL": f"rehearsal/{base}/scenario.json"}) as c:
        if kind is Loaf:
            c.turn(c.call("session.create")["session_id"], "go")
        else:
            session = c.call("sessions/create")["id"]
            c.event("turnFinished", c.call("turns/start", {"sessionId": session,
                                                           "input": "go"})["id"])
        with open(f"/proc/{c.process.pid}/limits", encoding="ascii") as file:
            own = [line.split()[3:5] for line in file if line.startswith("Max open files")][0]
        c.close()
    got = []
    for n in "ab":
        with open(f"{base}/{n}", encoding="ascii") as file:
            got.append(file.read().split())
    return own, got


def main():
    passed = failed = 0
    resource.setrlimit(resource.RLIMIT_NOFILE, (SOFT, HARD))
    with harness.private_place() as place:
        os.environ.update(harness.clean_env(place))
        for kind in (Loaf, Kward):
            base = os.path.join(place, kind.__name__)
            os.mkdir(base)
            own, got = ask(kind, base)
            if own == [str(HARD)] * 2 and got == [[str(HARD), str(SOFT)]] * 2:
                passed += 1
            else:
                print(f"FAIL {kind.__name__}: {own} {got}")
                failed += 1
    harness.finish(passed, failed)


if __name__ == "__main__":
    main()
