#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# LONG ROUNDS: strace stops the program at system calls
"""A loaf chat of which nothing was kept has no file: it goes while a steer waits for the disk.  Every
request has its answer, and the program lives."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
from client import Gone, Loaf  # noqa: E402

CHATS = 40
SLOW = ["strace", "-f", "--seccomp-bpf", "-qq", "-o", os.devnull, "-e", "trace=fsync,fdatasync", "-e",
        "inject=fsync,fdatasync:delay_enter=5000"]


def chat(c):
    session = c.call("session.create")["session_id"]
    c.ask("session.send", {"session_id": session, "text": "go"})
    asked = [c.ask("session.steer", {"session_id": session, "text": "also"}) for _ in range(8)]
    for _ in range(3):
        asked.append(c.ask("session.interrupt", {"session_id": session}))
        asked.append(c.ask("session.steer", {"session_id": session, "text": "also"}))
    answers = {}
    while not answers.keys() >= set(asked):
        answers = {m["id"]: m for m in c.heard + [c.next()] if m.get("id") in asked}
    return [m for m in answers.values() if "error" in m]


def main():
    passed = failed = 0
    with harness.private_place() as base:
        os.environ.update(harness.clean_env(base))
        can_trace = subprocess.run([*SLOW, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0
        for name, steps in (("at once", []), ("soon", [{"wait_ms": 3}])):
            with open(f"{base}/scenario.json", "w", encoding="ascii") as file:
                json.dump({"forever": True, "rounds": [[*steps, {"fail": 401, "message": "no"}]]}, file)
            try:
                with Loaf(cwd=base, env={"TRIVET_MODEL": f"rehearsal/{base}/scenario.json"},
                          wrap=SLOW if can_trace else ()) as c:
                    refused = [e for _ in range(CHATS) for e in chat(c)]
                    c.close()
                ok, why = not refused and c.process.returncode == 0, refused[:3]
            except Gone as gone:
                ok, why = False, gone
            passed, failed = passed + ok, failed + (not ok)
            if not ok:
                print(f"FAIL turns that fail {name}: {why}")
    harness.finish(passed, failed)


main()
