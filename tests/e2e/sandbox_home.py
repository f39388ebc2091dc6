#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The home directory as workspace: credentials lie in a writable place then.

A command that still runs when they are renewed sees neither the old ones nor the new ones, nor any
file beside them; directories such as skills can be read, and nothing there be changed.
"""
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import client       # noqa: E402
import harness      # noqa: E402

LOOK = "cat ~/.loaf/auth.json ~/.loaf/state.json ~/.kward/auth.json 2>/dev/null; "
COMMAND = (LOOK + "sh ~/.loaf/skills/s/run.sh; cat ~/.loaf/linked/note; ls ~/.loaf | tr '\\n' ' '; "
           "touch ready; until test -e go; do sleep 0.01; done; " + LOOK +
           "(echo x >~/.loaf/new) 2>/dev/null && echo WROTE; mv ~/.loaf ~/moved 2>/dev/null && echo MOVED; "
           "(echo x >>~/.loaf/skills/s/run.sh) 2>/dev/null && echo WROTE; "
           "rm -rf ~/.loaf/skills 2>/dev/null; sh ~/.loaf/skills/s/run.sh; "
           "echo mine >~/file && cat ~/file; rm -f ready go")


def put(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w", encoding="ascii") as file:
        file.write(text)
    os.replace(path + ".new", path)


def one_turn(c, home):
    """The result of the command, with the credentials renewed while it runs."""
    c.send({"type": "prompt", "text": "go"})
    ask = c.event("permission_request")
    c.send({"type": "permission_response", "request_id": ask["request_id"], "decision": "allow"})
    end = time.monotonic() + 30
    while not os.path.exists(f"{home}/ready") and time.monotonic() < end:
        time.sleep(0.01)
    for i in range(2):
        put(f"{home}/.loaf/auth.json", f"SECRET {i}\n")
        put(f"{home}/.loaf/state.json", f"SECRET state {i}\n")
        put(f"{home}/.kward/auth.json", f"SECRET kward {i}\n")
    put(f"{home}/go", "")
    result = c.event("tool_result")
    c.event("turn_complete")
    return result["output"]


def check(home, text):
    faults = []
    want = "SKILL\nLINKED\nlinked skills SKILL\nmine\n"
    if text != want:
        faults.append(f"{text!r} instead of {want!r}")
    with open(f"{home}/.loaf/skills/s/run.sh", encoding="ascii") as file:
        if file.read() != "echo SKILL\n":
            faults.append("a skill was changed")
    if not os.path.exists(f"{home}/.loaf/auth.json"):
        faults.append("the credentials are gone")
    return faults


def main():
    passed = failed = 0
    with harness.private_place() as base:
        os.environ.update(harness.clean_env(base))
        home = os.environ["HOME"]
        put(f"{home}/.loaf/auth.json", "SECRET\n")
        put(f"{home}/.loaf/state.json", "SECRET state\n")
        put(f"{home}/.kward/auth.json", "SECRET kward\n")
        put(f"{home}/.loaf/skills/s/run.sh", "echo SKILL\n")
        put(f"{home}/elsewhere/note", "LINKED\n")
        os.symlink("../elsewhere", f"{home}/.loaf/linked")
        put(f"{base}/scene.json", json.dumps(
            {"rounds": [[{"call": "bash", "args": {"command": COMMAND}}], [{"say": "."}]]}))
        if not harness.has_mounts(client.PROGRAM):
            harness.skip("sandbox_home: a file in a writable place is hidden")
            harness.finish(0, 0)
        with client.Scaiflux(["--model", f"rehearsal/{base}/scene.json"], cwd=home,
                             env={"TRIVET_SANDBOX": "workspace-write"}) as c:
            c.event("ready")
            for _ in range(3):
                faults = check(home, one_turn(c, home))
                passed += not faults
                failed += bool(faults)
                for fault in faults:
                    print(f"FAILED {fault}")
            c.close()
    harness.finish(passed, failed)


main()
