#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Idle sessions hold no descriptor: many of them, each with a turn behind it, under a low limit.  Root
counts the descriptors as well."""
import os
import resource
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
from client import Kward, Loaf  # noqa: E402

passed = failed = 0
SESSIONS = 400
ENV = {"TRIVET_MODEL": "rehearsal/echo"}


def check(name, ok, detail=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"FAIL {name}: {str(detail)[:800]}")


def n_descriptors(c):
    """None where the directory cannot be read: the program may not be dumped."""
    try:
        return len(os.listdir(f"/proc/{c.process.pid}/fd"))
    except PermissionError:
        return None


def check_growth(front, counts):
    if counts[0] is None:
        harness.skip(f"idle_descriptors: count of {front}", "no rights over the process")
        check(f"{front}: all turns end under the limit", len(counts) == SESSIONS)
    else:
        check(f"{front}: no growth", max(counts[10:]) <= max(counts[:10]) + 2, (counts[0], counts[-1]))


def on_loaf(base):
    with Loaf(cwd=base, env=ENV) as c:
        counts = []
        for i in range(SESSIONS):
            session = c.call("session.create")["session_id"]
            seen = c.turn(session, f"prompt {i}")
            assert seen.text == f"prompt {i}", seen.end
            counts.append(n_descriptors(c))
        check_growth("loaf", counts)
        c.close()


def on_kward(base):
    with Kward(cwd=base, env=ENV) as c:
        counts = []
        for i in range(SESSIONS):
            session = c.call("sessions/create", {"name": f"s{i}"})["id"]
            turn = c.call("turns/start", {"sessionId": session, "input": f"prompt {i}"})["id"]
            c.event("turnFinished", turn)
            counts.append(n_descriptors(c))
        check_growth("kward", counts)
        c.close()


def main():
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))
    with harness.private_place() as place:
        os.environ.update(harness.clean_env(place))
        for test in (on_loaf, on_kward):
            base = os.path.join(place, test.__name__)
            os.mkdir(base)
            try:
                test(base)
            except Exception as error:  # pylint: disable=broad-except
                check(test.__name__, False, repr(error))
    harness.finish(passed, failed)


if __name__ == "__main__":
    main()
