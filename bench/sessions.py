#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Many sessions in one loaf process: 1,000 are opened, 50 of them stream at once.

    bench/sessions.py [--sessions 1000] [--streaming 50] [--binary build/trivet]

Uses the built-in model, so no network takes part.  Prints memory before, per idle session and in
total, and how long the streaming took; ends with 1 when a turn does not complete.
"""
import argparse
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tests"))
import harness      # noqa: E402


class Loaf:
    def __init__(self, binary, env):
        self.child = subprocess.Popen([binary, "loaf", "rpc"], env=env, cwd=env["HOME"],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.events = []

    def send(self, number, method, params):
        line = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        self.child.stdin.write(line.encode() + b"\n")
        self.child.stdin.flush()

    def take(self):
        line = self.child.stdout.readline()
        if not line:
            sys.exit("loaf ended early")
        return json.loads(line)

    def call(self, number, method, params):
        """The result; events that come before it are kept."""
        self.send(number, method, params)
        while True:
            message = self.take()
            if message.get("id") == number:
                if "error" in message:
                    sys.exit(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message["params"])

    def rss(self):
        with open(f"/proc/{self.child.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


def stream(loaf, ids):
    """Starts a turn in every session of ids, waits for all; the number that completed."""
    waiting = set(ids)
    completed = chunks = 0
    for i, session in enumerate(ids):
        loaf.send(f"send-{i}", "session.send", {"session_id": session, "text": f"hello {i}"})
    while waiting:
        message = loaf.take()
        if "error" in message:
            sys.exit(f"session.send: {message['error']}")
        event = message.get("params", {})
        session = event.get("payload", {}).get("session_id")
        if event.get("type") == "session.stream.chunk":
            chunks += 1
        elif event.get("type") == "session.completed":
            completed += 1
            waiting.discard(session)
        elif event.get("type") in ("session.error", "session.interrupted"):
            print(f"{session}: {event}")
            waiting.discard(session)
    return completed, chunks


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--sessions", type=int, default=1000)
    options.add_argument("--streaming", type=int, default=50)
    options.add_argument("--model", default="rehearsal/hello")
    options.add_argument("--binary", default=os.path.join(harness.TOP, "build/trivet"))
    args = options.parse_args()
    with harness.private_place() as base:
        env = harness.clean_env(base)
        env["TRIVET_MODEL"] = args.model
        loaf = Loaf(os.path.abspath(args.binary), env)
        loaf.call("first", "rpc.handshake", {})
        time.sleep(0.3)     # modules opened in the background are counted as the program's own
        before = loaf.rss()
        start = time.monotonic()
        ids = [loaf.call(i, "session.create", {})["session_id"] for i in range(args.sessions)]
        opened = time.monotonic() - start
        idle = loaf.rss()
        start = time.monotonic()
        completed, chunks = stream(loaf, ids[:args.streaming])
        took = time.monotonic() - start
        after = loaf.rss()
        loaf.child.stdin.close()
        status = loaf.child.wait(30)
    print(f"{args.sessions} sessions opened in {opened:.2f} s, {args.streaming} streamed at once: "
          f"{completed} completed in {took:.2f} s with {chunks} chunks, exit status {status}")
    print(f"  RSS before {before / 1024:.2f} MB, with all idle {idle / 1024:.2f} MB "
          f"({(idle - before) / args.sessions:.2f} kB per idle session), "
          f"in total after streaming {after / 1024:.2f} MB")
    return 0 if completed == args.streaming and status == 0 else 1


sys.exit(main())
