#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Interrupt in every kind of waiting, in every dialect: one terminal event within the bound, and no
process left.  The bound is 100 ms, plus the kill grace of a running command.
"""
# covers: providers 56 (the kind "retry")
import json
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
from client import Gone, Kward, Loaf, Scaiflux  # noqa: E402

BOUND_MS = 100
GRACE_MS = {"loaf": 1500, "scaiflux": 500, "kward": 200}
# setsid leaves the process group and the session, ignores SIGTERM, and holds the pipe open.
STUBBORN = "(trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 60' & sleep 60) & echo started; wait"


def scenarios(base):
    """File name by kind of waiting."""
    def shell(tool):
        return {"rounds": [[{"call": tool, "args": {"command": STUBBORN}}]]}
    made = {"streaming": {"rounds": [[{"say": "word " * 2000, "pause_ms": 5}]]},
            "permission": {"rounds": [[{"call": "bash", "args": {"command": "true"}}]]},
            "retry": {"rounds": [[{"fail": 503, "message": "busy", "retry_after_ms": 20000}]]},
            "first byte": {"rounds": [[{"stall": True}]]},
            "shell loaf": shell("bash"), "shell scaiflux": shell("bash"),
            "shell kward": shell("run_shell_command")}
    for name, scenario in made.items():
        with open(os.path.join(base, name.replace(" ", "-") + ".json"), "w", encoding="utf-8") as f:
            json.dump(scenario, f)


def slug(base, name):
    return f"rehearsal/{base}/{name.replace(' ', '-')}.json"


def is_started(kind, heard):
    """Whether the turn has come to the point where it is to be interrupted."""
    text = json.dumps(heard[-1])
    if kind == "streaming":
        return any(w in text for w in ("text_delta", "session.stream.chunk", "assistantDelta"))
    if kind == "permission":
        return "permission_request" in text
    return False  # the others are recognised by waiting a little


def run_up(c, kind):
    """Listens until the waiting has begun."""
    end = time.monotonic() + (0.4 if kind in ("retry", "first byte") else
                              0.6 if kind.startswith("shell") else 10)
    try:
        while (left := end - time.monotonic()) > 0:
            c.next(left)
            if is_started(kind, c.heard):
                return
    except Gone:
        if c.process.poll() is not None:
            raise


def one_loaf(base, workspace, kind):
    with Loaf(cwd=workspace, env={"TRIVET_MODEL": slug(base, kind)}) as c:
        session = c.call("session.create")["session_id"]
        c.call("session.send", {"session_id": session, "text": "go"})
        run_up(c, kind)
        watch = harness.Stopwatch()
        c.ask("session.interrupt", {"session_id": session})
        c.event("session.interrupted", session)
        took = watch.seconds(c.last_time) * 1000
        c.event("session.status", session, status_label="ready")
        ends = [m for m in c.heard if m.get("params", {}).get("type") in
                ("session.interrupted", "session.completed", "session.error")]
        return took, len(ends), c.close()


def one_scaiflux(base, workspace, kind):
    with Scaiflux(["--model", slug(base, kind)], cwd=workspace) as c:
        c.event("ready")
        c.send({"type": "prompt", "text": "go"})
        if kind.startswith("shell"):
            asked = c.event("permission_request")
            c.send({"type": "permission_response", "request_id": asked["request_id"],
                    "decision": "allow"})
        run_up(c, kind)
        watch = harness.Stopwatch()
        c.send({"type": "interrupt"})
        done = c.event("turn_complete")
        took = watch.seconds(c.last_time) * 1000
        assert done["stop_reason"] == "interrupted", done
        ends = [m for m in c.heard if m["type"] == "turn_complete" or
                (m["type"] == "error" and "turn_id" in m)]
        return took, len(ends), c.close()


def one_kward(base, workspace, kind):
    with Kward(cwd=workspace, env={"TRIVET_MODEL": slug(base, kind)}) as c:
        session = c.call("sessions/create", {"workspaceRoot": workspace})
        turn = c.call("turns/start", {"sessionId": session["id"], "input": "go"})
        run_up(c, kind)
        watch = harness.Stopwatch()
        c.ask("turns/cancel", {"turnId": turn["id"]})
        done = c.event("turnFinished", turn["id"])
        took = watch.seconds(c.last_time) * 1000
        assert done["payload"]["status"] == "canceled", done
        ends = [m for m in c.heard if m.get("params", {}).get("type") == "turnFinished"]
        return took, len(ends), c.close()


# Asks for nothing but to be interrupted while it forks.
BREEDING = "for i in 1 2 3 4 5 6 7 8; do setsid sleep 60 & sleep 0.001; done; sleep 60"
BREEDINGS = 200


def breeding(base, workspace):
    """Who is born while SIGTERM goes round gets it as well: the grace is for the stubborn."""
    with open(os.path.join(base, "breeding.json"), "w", encoding="utf-8") as file:
        json.dump({"rounds": [[{"call": "bash", "args": {"command": BREEDING}}]]}, file)
    rng, times = random.Random(7), []
    with Loaf(cwd=workspace, env={"TRIVET_MODEL": slug(base, "breeding")}) as c:
        session = c.call("session.create")["session_id"]
        for _ in range(BREEDINGS):
            c.call("session.send", {"session_id": session, "text": "go"})
            time.sleep(rng.uniform(0, 0.025))
            began = time.monotonic()
            c.ask("session.interrupt", {"session_id": session})
            c.event("session.interrupted", session)
            times.append((c.last_time - began) * 1000)
            c.event("session.status", session, status_label="ready")
            c.heard.clear()
        status = c.close()
    times.sort()
    print(f"loaf      breeding        {times[len(times) // 2]:7.1f} ms, at the most {times[-1]:.1f}")
    assert times[-1] < GRACE_MS["loaf"], times[-5:]  # one that is left out lasts that long
    assert not harness.left_behind(base) and status == 0


def main():
    passed = failed = 0
    runs = [(dialect, kind if kind != "shell" else f"shell {dialect}")
            for dialect in ("loaf", "scaiflux", "kward")
            for kind in ("streaming", "permission", "shell", "retry", "first byte")
            if kind != "permission" or dialect == "scaiflux"]
    with harness.private_place() as base:
        os.environ.update(harness.clean_env(base))
        scenarios(base)
        for dialect, kind in runs:
            workspace = os.path.join(base, f"{dialect}-{kind}".replace(" ", "-"))
            os.mkdir(workspace)
            bound = BOUND_MS + (GRACE_MS[dialect] if kind.startswith("shell") else 0)
            try:
                one = {"loaf": one_loaf, "scaiflux": one_scaiflux, "kward": one_kward}[dialect]
                took, ends, status = one(base, workspace, kind)
                left = harness.left_behind(base)
                assert ends == 1, f"{ends} terminal events"
                assert took <= bound, f"{took:.0f} ms, bound {bound} ms"
                assert not left, f"left behind: {left}"
                assert status == 0, f"exit status {status}"
                print(f"{dialect:9} {kind:15} {took:7.1f} ms of {bound}")
                passed += 1
            except (AssertionError, Gone, RuntimeError) as why:
                print(f"{dialect:9} {kind:15} FAILED: {why}")
                failed += 1
        try:
            breeding(base, base)
            passed += 1
        except (AssertionError, Gone, RuntimeError) as why:
            print(f"breeding FAILED: {why}")
            failed += 1
    harness.finish(passed, failed)


main()
