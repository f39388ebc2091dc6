#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kill -9 at random moments of loaf turns, on one chat that goes on and on.

    loaf_kill.py [TIMES [SEED]]

A chat is resumed, gets a few prompts (one of them queued, with a tool), and the process is killed in
between: during a turn, while the file is replaced, or in the middle of a summary.  Afterwards the
file is what a loaf would read, with every turn whose end was sent; the next process finds every
prompt that was acknowledged; and when a turn has ended in peace there is nothing beside the file.

covers: loaf 163, 173
"""
import glob
import json
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
from client import Gone, Loaf  # noqa: E402

SCENE = {"turns": [{"when": "tool", "rounds": [
             [{"say": "Looking. "}, {"call": "@shell", "args": {"command": "true"}}],
             [{"say": "Seen: {{last_user}}"}]]}],
         "rounds": [[{"say": "You said {{last_user}}", "pause_ms": 1}]]}
counts = [0, 0]


def check(name, good, detail=""):
    counts[0 if good else 1] += 1
    if not good:
        print(f"FAIL {name}: {detail}", flush=True)


def lines_of(path):
    """(meta, messages) as loaf reads them."""
    meta, messages = None, []
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                v = json.loads(line)
            except ValueError:
                continue
            if v.get("type") == "session_meta":
                meta = v
            if v.get("type") == "message" and isinstance(v.get("text"), str):
                messages.append((v["role"], v["text"]))
    return meta, messages


class Victim:
    """Speaks until it is killed, and remembers what it was promised."""

    def __init__(self, base, chat, n):
        self.base, self.chat, self.n = base, chat, n
        self.said, self.ended = [], []  # prompts that were acknowledged; (prompt, answer) received

    def session(self, c):
        session = c.call("session.create")["session_id"]
        if self.chat:
            c.call("command.execute", {"session_id": session, "raw_command": f"/history {self.chat}"})
        return session

    def speak(self, c, session, text, **more):
        number = c.ask("session.send", {"session_id": session, "text": text, **more})
        c.until(lambda m: m.get("id") == number)
        self.said.append(text)

    def run(self, kill_ms):
        with Loaf(cwd=self.base, env={"TRIVET_MODEL": "rehearsal/scene.json"}) as c:
            session = self.session(c)
            end = time.monotonic() + kill_ms / 1000
            try:
                self.speak(c, session, f"{self.n} plain")
                self.speak(c, session, f"{self.n} tool", enqueue=True)
                while time.monotonic() < end and len(self.ended) < 2:
                    m = c.next(max(0.001, end - time.monotonic()))
                    params = m.get("params", {})
                    if params.get("type") == "session.completed":
                        self.ended.append(params["payload"]["message"]["text"])
            except Gone:
                pass
            c.kill()


def judge(base, home, chat, victims):
    """What the file and the next process know; the chat's id."""
    path, = glob.glob(f"{home}/.loaf/sessions/*/*/*/*{chat or ''}*.jsonl")
    meta, messages = lines_of(path)
    answers = [text for role, text in messages if role == "assistant"]
    last = victims[-1]
    check("loaf finds the chat", meta is not None)
    missing = [t for t in last.ended if t not in answers]
    check("and every turn whose end was sent", not missing, (missing, messages[-6:]))
    with Loaf(cwd=base, env={"TRIVET_MODEL": "rehearsal/scene.json"}) as c:
        found = c.call("history.get", {"id": meta["id"]})
        texts = [m["text"] for m in found["messages"]]
        session = c.call("session.create")["session_id"]
        c.call("command.execute", {"session_id": session, "raw_command": f"/history {meta['id']}"})
        state = c.call("session.get", {"session_id": session})
        waiting = [q["text"] for q in state["queue"]]
        lost = [t for t in last.said if t not in texts and t not in waiting]
        check("every acknowledged prompt is there or waits", not lost, (lost, texts[-6:], waiting))
        twice = [t for t in set(texts) if t.endswith(("plain", "tool")) and
                 not t.startswith(("You", "Seen", "Looking")) and texts.count(t) > 1]
        check("and none is there twice", not twice, twice)
        c.close()
    return meta["id"]


def at_peace(base, home, chat):
    """A turn that ends: loaf reads the same as trivet, and no other file is there."""
    with Loaf(cwd=base, env={"TRIVET_MODEL": "rehearsal/scene.json"}) as c:
        session = c.call("session.create")["session_id"]
        c.call("command.execute", {"session_id": session, "raw_command": f"/history {chat}"})
        c.call("session.send", {"session_id": session, "text": "peace", "enqueue": True})
        c.event("session.completed", session)
        state = c.call("session.get", {"session_id": session})
        while state["pending"] or state["queue"]:  # between two turns none is pending
            c.next()
            state = c.call("session.get", {"session_id": session})
        output = [m["text"] for m in state["history"]]
        c.close()
    files = glob.glob(f"{home}/.loaf/sessions/*/*/*/*")
    check("one file", len(files) == 1, files)
    meta, messages = lines_of(files[0])
    check("in loaf's form", [text for _, text in messages] == output, (messages[-8:], output[-8:]))
    check("and counted", meta["messageCount"] == len(messages), meta)


def main():
    times = int(sys.argv[1]) if sys.argv[1:] else 25
    seed = int(sys.argv[2]) if sys.argv[2:] else harness.seed()
    rng = random.Random(seed)
    print(f"{times} times, seed {seed}", flush=True)
    with harness.private_place() as base:
        os.environ.update(harness.clean_env(base))
        home, chat, victims = os.environ["HOME"], None, []
        with open(os.path.join(base, "scene.json"), "w", encoding="ascii") as file:
            json.dump(SCENE, file)
        for n in range(times):
            victims.append(Victim(base, chat, n))
            victims[-1].run(rng.randrange(1, 80) * harness.slow())
            chat = judge(base, home, chat, victims)
            if n % 8 == 7:
                at_peace(base, home, chat)
        at_peace(base, home, chat)
    harness.finish(*counts)


main()
