#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kill -9 at 200 random moments of a tool-using turn, in two dialects.

After each: the session opens again, every acknowledged message is in it, no tool ran twice, the
next prompt works, and no process is left.
"""
import json
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
from client import Gone, Kward, Scaiflux  # noqa: E402

TIMES = int(os.environ.get("TRIVET_KILLS", "200"))
LONGEST_MS = 120


def scenario(tool, tag):
    """Three rounds; each command leaves a line of its own in ran.log."""
    def run(n):
        return {"call": tool, "args": {"command": f"echo {tag}-{n} >> ran.log; sleep 0.01"}}
    return {"turns": [{"when": "queued", "rounds": [[{"say": "The second one."}, run(4)]]}],
            "rounds": [[{"think": "first I think"}, {"say": "I run two things. ", "pause_ms": 2},
                        run(1), run(2)],
                       [{"say": "And a third. ", "pause_ms": 2}, run(3)],
                       [{"say": "All of it is done now.", "pause_ms": 2}]]}


def check_runs(workspace):
    """No line of ran.log stands there twice."""
    path = os.path.join(workspace, "ran.log")
    if os.path.exists(path):
        lines = open(path, encoding="utf-8").read().split()
        assert len(lines) == len(set(lines)), f"ran twice: {lines}"


def user_texts(path):
    found = []
    with open(path, "rb") as file:
        for line in file:
            try:
                record = json.loads(line)
            except ValueError:
                continue
            message = record.get("message", {})
            if record.get("type") in ("message", "trivet_input") and message.get("role") == "user":
                found.append(message["content"])
    return found


def one_scaiflux(base, n, rng):
    workspace = os.path.join(base, f"s{n}")
    os.mkdir(workspace)
    path = os.path.join(base, f"s{n}.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(scenario("bash", f"s{n}"), file)
    acked = False
    with Scaiflux(["--model", f"rehearsal/{path}"], cwd=workspace) as c:
        c.event("ready")
        c.send({"type": "prompt", "text": f"prompt {n}"})
        end = time.monotonic() + rng.random() * LONGEST_MS / 1000
        try:
            while (left := end - time.monotonic()) > 0:
                message = c.next(left)
                acked |= message["type"] == "turn_started"
                if message["type"] == "permission_request":
                    c.send({"type": "permission_response", "request_id": message["request_id"],
                            "decision": "allow"})
                if message["type"] == "turn_complete":
                    break
        except Gone:
            pass
        c.kill()
        try:
            while True:
                acked |= c.next(1)["type"] == "turn_started"
        except Gone:
            pass
    sessions = os.path.join(workspace, ".scaiflux", "sessions")
    files = os.listdir(sessions) if os.path.isdir(sessions) else []
    files = [f for f in files if f.endswith(".jsonl")]
    if acked:
        assert f"prompt {n}" in user_texts(os.path.join(sessions, files[0])), "the prompt is lost"
    has_session = files and user_texts(os.path.join(sessions, files[0]))
    resume = ["--resume", "latest"] if has_session else []
    with Scaiflux(["--model", "rehearsal/hello", *resume], cwd=workspace) as c:
        c.event("ready")
        c.send({"type": "prompt", "text": "still there?"})
        c.event("turn_complete")
        assert c.close() == 0
    check_runs(workspace)


def one_kward(base, n, rng):
    workspace = os.path.join(base, f"k{n}")
    os.mkdir(workspace)
    path = os.path.join(base, f"k{n}.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(scenario("run_shell_command", f"k{n}"), file)
    env = {"TRIVET_MODEL": f"rehearsal/{path}"}
    acked = []
    with Kward(cwd=workspace, env=env) as c:
        session = c.call("sessions/create", {"workspaceRoot": workspace})
        asked = {c.ask("turns/start", {"sessionId": session["id"], "input": f"prompt {n}"}):
                 f"prompt {n}",
                 c.ask("turns/start", {"sessionId": session["id"], "input": f"queued {n}",
                                       "streamingBehavior": "followUp"}): f"queued {n}"}
        end = time.monotonic() + rng.random() * LONGEST_MS / 1000
        try:
            while (left := end - time.monotonic()) > 0:
                c.next(left)
        except Gone:
            pass
        c.kill()
        try:
            while True:
                c.next(1)
        except Gone:
            pass
        acked = [asked[m["id"]] for m in c.heard if m.get("id") in asked and "result" in m]
    texts = user_texts(session["path"])
    assert all(text in texts for text in acked), f"lost: {acked} not in {texts}"
    with Kward(cwd=workspace, env={"TRIVET_MODEL": "rehearsal/hello"}) as c:
        again = c.call("sessions/resume", {"path": session["path"], "workspaceRoot": workspace})
        assert again["persistentId"] == session["persistentId"]
        c.call("models/set", {"provider": "rehearsal", "model": "hello"})
        turn = c.call("turns/start", {"sessionId": again["id"], "input": "still there?"})
        done = c.event("turnFinished", turn["id"])
        assert done["payload"]["status"] == "completed", done
        assert c.close() == 0
    check_runs(workspace)


def main():
    rng = random.Random(harness.seed())
    passed = failed = 0
    with harness.private_place() as base:
        os.environ.update(harness.clean_env(base))
        for n in range(TIMES):
            try:
                (one_scaiflux if n % 2 else one_kward)(base, n, rng)
                passed += 1
            except (AssertionError, Gone, RuntimeError, OSError) as why:
                failed += 1
                print(f"kill {n}: {why}")
        left = harness.left_behind(base)
        if left:
            failed += 1
            print("left behind:", *left, sep="\n  ")
    harness.finish(passed, failed)


main()
