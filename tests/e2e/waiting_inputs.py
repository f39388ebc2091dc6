#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Inputs that wait when the process is killed: the next process shows them, lets them be canceled,
and runs them in order before anything new."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
from client import Kward, Loaf  # noqa: E402

passed = failed = 0
SCENARIO = {"turns": [{"when": "slow", "rounds": [[{"say": "Begun. "}, {"stall": True}]]}],
         "rounds": [[{"say": "Heard {{last_user}}."}]]}


def check(name, ok, detail=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"FAIL {name}: {str(detail)[:800]}")


def on_kward(base):
    env = {"TRIVET_MODEL": f"rehearsal/{base}/scenario.json"}
    with Kward(cwd=base, env=env) as c:
        made = c.call("sessions/create")
        def start(text):
            return c.call("turns/start", {"sessionId": made["id"], "input": text,
                                          "streamingBehavior": "followUp"})["id"]
        start("slow")
        c.event("assistantDelta")
        turns = [start(f"waited {i}") for i in range(3)]
        c.kill()
    with Kward(cwd=base, env=env) as c:
        again = c.call("sessions/resume", {"path": made["path"]})
        output = [c.event("turnQueued")["turnId"] for _ in turns]
        check("kward: told at once, in order, under their ids", output == turns, output)
        states = [c.call("turns/status", {"turnId": t})["status"] for t in turns]
        check("kward: they wait", states == ["queued"] * 3, states)
        second = c.call("sessions/resume", {"path": made["path"]})
        before = len(c.heard)
        c.call("models/current")
        check("kward: announced once", not [m for m in c.heard[before:] if "turnQueued" in str(m)])
        c.call("sessions/close", {"sessionId": second["id"]})
        c.ask("turns/cancel", {"turnId": turns[1]})
        end = c.event("turnFinished", turns[1])
        check("kward: canceled before it ran", end["payload"]["status"] == "canceled", end)
        new = c.call("turns/start", {"sessionId": again["id"], "input": "new"})
        check("kward: the new one waits", new["status"] == "queued", new)
        started = [c.event("turnStarted")["turnId"] for _ in range(3)]
        check("kward: in order", started == [turns[0], turns[2], new["id"]], started)
        c.event("turnFinished", new["id"])
        texts = [p["text"] for m in
                 c.call("sessions/transcript", {"sessionId": again["id"]})["messages"]
                 if m["role"] == "user" for p in m["content"]]
        check("kward: said", texts == ["slow", "waited 0", "waited 2", "new"], texts)
        c.close()


def on_loaf(base):
    env = {"TRIVET_MODEL": f"rehearsal/{base}/scenario.json"}
    with Loaf(cwd=base, env=env) as c:
        session = c.call("session.create")["session_id"]
        c.turn(session, "first")
        chat = c.call("session.get", {"session_id": session})["activeSessionId"]
        c.call("session.send", {"session_id": session, "text": "slow"})
        c.event("session.stream.chunk", session)
        for i in range(3):
            c.call("session.send", {"session_id": session, "text": f"waited {i}", "enqueue": True})
        c.kill()
    with Loaf(cwd=base, env=env) as c:
        session = c.call("session.create")["session_id"]
        c.ask("command.execute", {"session_id": session, "raw_command": f"/history {chat}"})
        c.event("session.status", session, status_label="queued (3)")
        queue = c.call("session.queue.list", {"session_id": session})["queue"]
        check("loaf: listed", [q["text"] for q in queue] == [f"waited {i}" for i in range(3)], queue)
        state = c.call("session.get", {"session_id": session})
        check("loaf: nothing runs unasked", not state["pending"], state)
        sent = c.call("session.send", {"session_id": session, "text": "new"})
        check("loaf: the new one waits", sent["queued"], sent)
        for _ in range(4):
            c.event("session.completed", session)
        texts = [m["text"] for m in c.call("session.get", {"session_id": session})["history"]
                 if m["role"] == "user"]
        check("loaf: in order", texts == ["first", "slow", "waited 0", "waited 1", "waited 2", "new"],
              texts)
        c.close()
    with Loaf(cwd=base, env=env) as c:
        session = c.call("session.create")["session_id"]
        c.call("command.execute", {"session_id": session, "raw_command": f"/history {chat}"})
        queue = c.call("session.queue.list", {"session_id": session})["queue"]
        check("loaf: and not again", queue == [], queue)
        c.close()


def loaf_cleared(base):
    """session.queue.clear before anything new was said."""
    env = {"TRIVET_MODEL": f"rehearsal/{base}/scenario.json"}
    with Loaf(cwd=base, env=env) as c:
        session = c.call("session.create")["session_id"]
        c.turn(session, "first")
        chat = c.call("session.get", {"session_id": session})["activeSessionId"]
        c.call("session.send", {"session_id": session, "text": "slow"})
        c.call("session.send", {"session_id": session, "text": "waited", "enqueue": True})
        c.kill()
    for n in (1, 0):
        with Loaf(cwd=base, env=env) as c:
            session = c.call("session.create")["session_id"]
            c.call("command.execute", {"session_id": session, "raw_command": f"/history {chat}"})
            cleared = c.call("session.queue.clear", {"session_id": session})
            check(f"loaf: cleared {n}", cleared["cleared_count"] == n, cleared)
            c.close()


def main():
    with harness.private_place() as place:
        os.environ.update(harness.clean_env(place))
        for test in (on_kward, on_loaf, loaf_cleared):
            base = os.path.join(place, test.__name__)
            os.mkdir(base)
            with open(f"{base}/scenario.json", "w", encoding="ascii") as file:
                json.dump(SCENARIO, file)
            try:
                test(base)
            except Exception as error:  # pylint: disable=broad-except
                check(test.__name__, False, repr(error))
    harness.finish(passed, failed)


if __name__ == "__main__":
    main()
