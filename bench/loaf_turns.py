#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a turn of a loaf chat costs, by the length of the chat.

    bench/loaf_turns.py [--messages 10 1000 20000] [--turns 200] [--runs 5] [--binary build/trivet]

A chat of so many messages (200 bytes each) is resumed; then prompts are sent to a rehearsal model
with a large window, which needs no request over the network: what is measured is trivet's own work, with
its file.  CPU of all threads per turn, instructions where the machine counts them, wall-clock time
per turn; the quietest of the runs, the lengths taken in turns.  Ends with 1 when the CPU of the
longest chat is more than 1.2 times that of the shortest.
"""
import argparse
import json
import os
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tests"))
import client   # noqa: E402

STAMP = "2026-01-02T03:04:05.678Z"
ID = "11111111-2222-4333-8444-555555555555"
LIMIT = 1.2


def write_chat(home, n, text="words and words " * 12):
    folder = os.path.join(home, ".loaf", "sessions", "2026", "01", "02")
    os.makedirs(folder, 0o700)
    path = os.path.join(folder, f"rollout-20260102-030405678-{ID}.jsonl")
    with open(path, "w", encoding="utf-8") as f:
        f.write(json.dumps({"type": "session_meta", "id": ID, "title": "long", "provider": "rehearsal",
                            "model": "echo-2m.json", "thinkingLevel": "OFF", "createdAt": STAMP,
                            "updatedAt": STAMP, "messageCount": n}) + "\n")
        for i in range(n):
            f.write(json.dumps({"type": "message", "index": i, "role": "assistant" if i % 2 else "user",
                                "text": f"message {i} {text}"}) + "\n")


def cpu_ms(pid):
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as f:
                total += int(f.read().split()[0])
        except OSError:
            pass
    return total / 1e6


def measure(messages, turns):
    with tempfile.TemporaryDirectory() as home:
        write_chat(home, messages)
        with open(os.path.join(home, "echo-2m.json"), "w", encoding="utf-8") as f:
            f.write('{"context_window": 2000000, "rounds": [[{"say": "{{last_user}}"}]]}')
        env = {"HOME": home, "TRIVET_MODEL": "rehearsal/echo-2m.json",
               "XDG_STATE_HOME": home + "/state"}
        with client.Loaf(cwd=home, env=env) as c:
            session = c.call("session.create")["session_id"]
            out = c.call("command.execute", {"session_id": session, "raw_command": "/history last"})
            history = c.call("session.get", {"session_id": session})["history"]
            assert len(history) == messages, (out, len(history))
            pid = c.process.pid

            def turn(i):
                c.call("session.send", {"session_id": session, "text": f"prompt {i}"})
                c.until(lambda m: m.get("method") == "event" and
                        m["params"]["type"] == "session.status" and
                        m["params"]["payload"]["status_label"] == "ready")

            for i in range(20):
                turn(i)
            before, start = cpu_ms(pid), time.monotonic()
            for i in range(turns):
                turn(i)
            cost = (cpu_ms(pid) - before) / turns, (time.monotonic() - start) * 1000 / turns
            history = c.call("session.get", {"session_id": session})["history"]
            assert len(history) == messages + 2 * (turns + 20), len(history)
            return cost


def main():
    client.Loaf.is_checked = False
    parser = argparse.ArgumentParser()
    parser.add_argument("--messages", type=int, nargs="+", default=[10, 1000, 20000])
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--binary")
    args = parser.parse_args()
    if args.binary:
        client.PROGRAM = args.binary
    best = {}
    for _ in range(args.runs):
        for n in args.messages:
            cpu, wall = measure(n, args.turns)
            old = best.get(n, (cpu, wall))
            best[n] = (min(cpu, old[0]), min(wall, old[1]))
    print(f"{'messages':>10} {'CPU ms':>9} {'wall ms':>9}   per turn")
    for n, (cpu, wall) in best.items():
        print(f"{n:>10} {cpu:9.3f} {wall:9.3f}")
    ratio = best[args.messages[-1]][0] / best[args.messages[0]][0]
    print(f"longest / shortest: {ratio:.2f} (limit {LIMIT})")
    return ratio > LIMIT


if __name__ == "__main__":
    sys.exit(main())
