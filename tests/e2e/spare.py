#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The holder that waits for the next command: it is used, it can be lost, it knows nothing, it goes.

    tests/e2e/spare.py [ROUNDS]
"""
import contextlib
import json
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import client       # noqa: E402
import harness      # noqa: E402

COMMAND = "echo $PPID $TOKEN $AI_AGENT; pwd; cat; ls /proc/self/fd | tr '\\n' ' '; exit 3"
KEY = "sk-spare-must-not-know"


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def spare_of(pid, used=None, patience=5):
    """The child that waits, or None; one that was used keeps its name until it has ended."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        for child in children(pid):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError), \
                    open(f"/proc/{child}/cmdline", "rb") as file:
                if file.read() == b"hold\0spare\0" and child != used:
                    return child
        time.sleep(0.01)
    return None


def is_gone(pid, patience=5):
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if harness.is_dead(pid):
            return True
        time.sleep(0.01)
    return False


class Story:
    def __init__(self, base):
        self.passed = self.failed = 0
        scene = os.path.join(base, "scene.json")
        with open(scene, "w", encoding="utf-8") as file:
            json.dump({"rounds": [[{"call": "bash", "args": {"command": COMMAND}}], [{"say": "."}]]},
                      file)
        self.args = ["--model", f"rehearsal/{scene}"]
        self.env = {"OPENAI_API_KEY": KEY, "TOKEN": "t", "TRIVET_PASS_ENV": "TOKEN"}
        self.base = base

    def check(self, what, ok):
        self.passed += bool(ok)
        self.failed += not ok
        if not ok:
            print(f"FAILED {what}")

    def client(self):
        c = client.Scaiflux(self.args, cwd=self.base, env=self.env)
        c.event("ready")
        return c

    def command(self, c):
        """The output without the holder's process id, and that id."""
        text = c.turn("go").results[0][1]
        holder, _, rest = text.partition(" ")
        return rest, int(holder)


def used(t):
    """A spare serves the next command, which sees what it would see below a fresh holder."""
    with t.client() as c:
        pid = c.process.pid
        t.check("no spare before the first command", not children(pid))
        fresh, _ = t.command(c)
        spare = spare_of(pid)
        t.check("a spare after it", spare)
        with open(f"/proc/{spare}/environ", "rb") as file:
            t.check("it has no environment", file.read() == b"")
        second, holder = t.command(c)
        t.check("it held the next command", holder == spare)
        t.check("which saw the same", second == fresh and "t trivet" in fresh)
        other = spare_of(pid, spare)
        t.check("then there is another one", other)
        t.check("a clean end", c.close() == 0 and is_gone(other))


def lost(t):
    """A spare that somebody ended or stopped costs nothing but the advantage."""
    with t.client() as c:
        fresh, _ = t.command(c)
        spare = spare_of(c.process.pid)
        os.kill(spare, signal.SIGKILL)
        time.sleep(0.05)
        again, holder = t.command(c)
        t.check("a killed spare is replaced", again == fresh and holder != spare)
        spare = spare_of(c.process.pid, holder)
        os.kill(spare, signal.SIGSTOP)
        t.check("a stopped one does not keep the program", c.close() == 0 and is_gone(spare))


def killed(t):
    """The spare goes with a program that had no chance to say so."""
    with t.client() as c:
        t.command(c)
        spare = spare_of(c.process.pid)
        c.kill()
        t.check("kill -9 leaves no spare", is_gone(spare))


def many(t, rounds):
    with t.client() as c:
        outputs = {t.command(c)[0] for _ in range(rounds)}
        t.check("every command saw the same", len(outputs) == 1)
        spare_of(c.process.pid)
        t.check("one child at most", len(children(c.process.pid)) <= 1)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    with harness.private_place() as base:
        os.environ.update(harness.clean_env(base))
        t = Story(base)
        if os.path.exists(os.path.join(os.path.dirname(client.PROGRAM), "trivet-hold")):
            used(t)
            lost(t)
            killed(t)
            many(t, rounds)
        harness.finish(t.passed, t.failed)


main()
