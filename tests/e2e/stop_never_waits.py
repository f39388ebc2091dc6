#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# LONG
"""What stops a turn never waits: not for a list, not for a lock of another process, not for a sync.

Each dialect is given something slow to do while a turn runs, then the interrupt; it must be answered
(and take effect) long before the slow thing is over.
"""
import fcntl
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
from client import Kward, Loaf, Scaiflux  # noqa: E402

SCENARIO = {"rounds": [[{"say": "Begun. "}, {"wait_ms": 60000}, {"say": "Ended."}]]}
passed = failed = 0


def check(name, ok, detail=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"FAIL {name}: {str(detail)[:600]}")


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class Locked:
    """Holds the lock beside a file, as another process would."""

    def __init__(self, path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self.file = open(f"{path}.lock", "w", encoding="ascii")

    def __enter__(self):
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def __exit__(self, *_):
        self.file.close()


def settle(client, number, timeout=20):
    return client.until(lambda m: m.get("id") == number, timeout)


# ---- Kward ----

def kward_turn(c):
    session = c.call("sessions/create")["id"]
    turn = c.call("turns/start", {"sessionId": session, "input": "go"})["id"]
    c.event("assistantDelta", turn)
    return session, turn


def kward_cancel(c, what, turn, slow):
    """Cancels behind the request `slow`, which must still be open then."""
    number = c.ask(*slow)
    time.sleep(0.05)
    cancel = c.ask("turns/cancel", {"turnId": turn})
    first = c.until(lambda m: m.get("id") in (cancel, number))
    check(f"kward: turns/cancel passes {what}", first["id"] == cancel, first)
    end = c.event("turnFinished", turn)
    check(f"kward: the turn ends behind {what}", end["payload"]["status"] == "cancelled" or
          end["payload"]["status"] == "canceled", end)
    settle(c, number)


def kward_locks(base):
    home = os.environ["HOME"]
    env = {"TRIVET_MODEL": f"rehearsal/{base}/scenario.json"}
    rows = [
        ("the lock of the memory", f"{home}/.kward/memory/core.json",
         ("memory/add", {"text": "tea, not coffee"})),
        ("the lock of the config", f"{home}/.kward/config.json",
         ("config/update", {"values": {"x": 1}})),
        ("the lock of the key", f"{home}/.kward/config.json",
         ("auth/loginWithApiKey", {"providerId": "openrouter", "apiKey": "sk-or-x"})),
    ]
    for what, path, slow in rows:
        with Kward(cwd=base, env=env) as c:
            _, turn = kward_turn(c)
            with Locked(path):
                kward_cancel(c, what, turn, slow)
            c.close()


def kward_turn_start(base):
    """A turn that waits for the memory's lock itself can be stopped as well."""
    home = os.environ["HOME"]
    with Kward(cwd=base, env={"TRIVET_MODEL": f"rehearsal/{base}/scenario.json"}) as c:
        c.call("memory/enable")
        session = c.call("sessions/create")["id"]
        with Locked(f"{home}/.kward/memory/core.json"):
            turn = c.call("turns/start", {"sessionId": session, "input": "go"}, 10)["id"]
            time.sleep(0.1)
            c.call("turns/cancel", {"turnId": turn})
            end = c.event("turnFinished", turn)
            check("kward: a turn that waits for a lock is stopped", end["payload"]["status"] == "canceled", end)
        c.call("memory/disable")
        c.close()


def kward_list(base):
    """The first list of large files, and nothing waits for it."""
    with Kward(cwd=base, env={"TRIVET_MODEL": f"rehearsal/{base}/scenario.json"}) as c:
        session = c.call("sessions/create")
        folder = os.path.dirname(session["path"])
        text = "A sentence of some words that says nothing in particular. " * 20
        for name in ("one", "two"):
            with open(f"{folder}/{name}.jsonl", "w", encoding="utf-8") as file:
                file.write(json.dumps({"type": "session", "version": 1, "id": name, "cwd": base,
                                       "timestamp": "2026-01-01T00:00:00.000Z"}) + "\n")
                for i in range(16000):
                    file.write(json.dumps({"type": "message", "message": {
                        "role": "user" if i % 2 == 0 else "assistant",
                        "content": f"{i} {text}"}}) + "\n")
        _, turn = kward_turn(c)
        watch = harness.Stopwatch()
        number = c.ask("sessions/list")
        cancel = c.ask("turns/cancel", {"turnId": turn})
        state = c.ask("workspace/validate")
        asked = {cancel: "cancel", state: "state", number: "list"}
        answers = [c.until(lambda m: m.get("id") in asked, 60) for _ in asked]
        order = [asked[m["id"]] for m in answers]
        check("kward: turns/cancel and the main lane pass the first list", order[-1] == "list", order)
        rows = answers[-1]["result"]["sessions"]
        seconds = watch.seconds()
        check("kward: the first list of 38 MB is there soon", seconds < 3, seconds)
        check("kward: the list has them all", {"one", "two"} <= {r["id"] for r in rows}, rows)
        c.close()


def slow_syncs(base):
    wrap = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync",
            "-e", "inject=fsync,fdatasync:delay_enter=700000"]
    if subprocess.run([*wrap, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        print("note: strace cannot delay system calls here; syncs are not slowed down")
        return
    with Kward(cwd=base, env={"TRIVET_MODEL": f"rehearsal/{base}/scenario.json"}, wrap=wrap) as c:
        _, turn = kward_turn(c)
        other = c.call("sessions/create")["id"]
        kward_cancel(c, "a sync", turn,
                     ("turns/start", {"sessionId": other, "input": "hello"}))
        c.kill()
    with Loaf(cwd=base, env={"TRIVET_MODEL": f"rehearsal/{base}/scenario.json"}, wrap=wrap) as c:
        one, two = (c.call("session.create")["session_id"] for _ in range(2))
        c.call("session.send", {"session_id": one, "text": "go"})
        c.event("session.stream.chunk", one)
        number = c.ask("session.send", {"session_id": two, "text": "hello"})
        time.sleep(0.05)
        stop = c.ask("session.interrupt", {"session_id": one})
        first = c.until(lambda m: m.get("id") in (stop, number))
        check("loaf: session.interrupt passes a sync", first["id"] == stop, first)
        check("loaf: it stops the turn", first.get("result", {}).get("interrupted"), first)
        c.kill()


def loaf_order(base):
    """An interrupt with nothing to stop keeps its place behind the prompt that it is meant for."""
    with Loaf(cwd=base, env={"TRIVET_MODEL": f"rehearsal/{base}/scenario.json"}) as c:
        one, two = (c.call("session.create")["session_id"] for _ in range(2))
        c.ask("session.send", {"session_id": one, "text": "go"})
        c.ask("session.send", {"session_id": two, "text": "go"})
        answer = c.call("session.interrupt", {"session_id": two})
        check("loaf: an interrupt behind its prompt stops it", answer["interrupted"], answer)
        c.event("session.interrupted", two)
        c.kill()


def scaiflux_diff(base):
    """An interrupt, and the answer to a permission, do not wait for /diff."""
    place = f"{base}/git"
    tools = f"{base}/bin"
    os.makedirs(place)
    write(f"{tools}/git", "#!/bin/sh\nsleep 2\n")
    os.chmod(f"{tools}/git", 0o755)
    env = {"PATH": f"{tools}:{os.environ['PATH']}"}
    with Scaiflux(["--model", f"rehearsal/{base}/scenario.json"], cwd=place, env=env) as c:
        c.event("ready")
        c.send({"type": "prompt", "text": "go"})
        c.event("text_delta")
        c.send({"type": "slash", "command": "diff"})
        c.send({"type": "slash", "command": "status"})
        time.sleep(0.05)
        c.send({"type": "interrupt"})
        end = c.until(lambda m: m["type"] in ("turn_complete", "slash_result"))
        check("scaiflux: interrupt passes /diff", end["type"] == "turn_complete", end)
        first, second = c.event("slash_result"), c.event("slash_result")
        check("scaiflux: commands keep their order",
              (first["command"], second["command"]) == ("diff", "status"), (first, second))
        check("scaiflux: the end of input waits for what came before", c.close() == 0)


def main():
    with harness.private_place() as base:
        os.environ.update(harness.clean_env(base))
        base = os.path.realpath(base)
        write(f"{base}/scenario.json", json.dumps(SCENARIO))
        for test in (kward_locks, kward_turn_start, kward_list, slow_syncs, loaf_order,
                     scaiflux_diff):
            try:
                test(base)
            except Exception as error:  # pylint: disable=broad-except
                check(test.__name__, False, repr(error))
    harness.finish(passed, failed)


if __name__ == "__main__":
    main()
