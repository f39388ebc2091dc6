#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# LONG ROUNDS: strace stops the program at system calls
"""A `/clear` that is killed at any step loses no prompt that waits.

    loaf_clear_kill.py [STEP]     every STEP-th step only; ./test takes all

A chat has a running turn and a prompt behind it when `/clear` begins another chat, to which the
prompt goes.  strace kills the program when it enters its n-th system call that makes, writes, syncs,
renames or removes a file, for each n until `/clear` was answered.  Then the prompt is in one of the
files, or in both; and a new process finds it there, said or waiting.
"""
import glob
import json
import os
import shutil
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
from client import Gone, Loaf  # noqa: E402

SCENE = {"turns": [{"when": "slow", "rounds": [[{"say": "Some text. "}, {"wait_ms": 20000}]]}],
         "rounds": [[{"say": "Done."}]]}
SWEEPS = ("openat,write,writev,pwrite64,pwritev,ftruncate,rename,renameat,renameat2,unlink,link",
          "fsync,fdatasync",  # strace counts by thread, and files are synced in threads of their own
          "rename,renameat,renameat2")
MAX_STEPS = 1000


class Stage:
    def __init__(self, base):
        self.base = base
        self.sessions = os.path.join(os.environ["HOME"], ".loaf", "sessions")
        self.env = {"TRIVET_MODEL": "rehearsal/scene.json"}
        with open(os.path.join(base, "scene.json"), "w", encoding="ascii") as file:
            json.dump(SCENE, file)

    def clear(self, wrap=()):
        """(was the prompt acknowledged, was /clear answered)"""
        shutil.rmtree(self.sessions, ignore_errors=True)
        is_said = is_cleared = False
        with Loaf(cwd=self.base, env=self.env, wrap=wrap) as c:
            try:
                session = c.call("session.create")["session_id"]
                c.call("session.send", {"session_id": session, "text": "slow"})
                c.event("session.stream.chunk", session)
                c.call("session.send", {"session_id": session, "text": "waits", "enqueue": True})
                is_said = True
                c.call("command.execute", {"session_id": session, "raw_command": "/clear"})
                is_cleared = True
                c.event("session.completed", session)
                c.close()
            except Gone:
                assert c.process.wait(30 * harness.slow()) in (-signal.SIGKILL, 128 + signal.SIGKILL), c.stderr
        return is_said, is_cleared

    def places(self):
        """Of each file, whether it holds the prompt."""
        found = []
        for path in glob.glob(f"{self.sessions}/*/*/*/*.jsonl"):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            found.append('"text":"waits"' in text or '"content":"waits"' in text)
        return sorted(found, reverse=True)

    def found(self):
        """How many chats have it, said or waiting, for a new process."""
        n = 0
        with Loaf(cwd=self.base, env=self.env) as c:
            for chat in c.call("history.list")["sessions"]:
                session = c.call("session.create")["session_id"]
                c.call("command.execute",
                       {"session_id": session, "raw_command": f"/history {chat['id']}"})
                state = c.call("session.get", {"session_id": session})
                texts = [m["text"] for m in state["messages"]] + [q["text"] for q in state["queue"]]
                n += texts.count("waits") > 0
            c.close()
        return n


def sweep(stage, calls, step):
    """Kills at each step; how many there are, and at how many the prompt was in both files."""
    n_both = 0
    for n in range(1, MAX_STEPS, step):
        is_said, is_cleared = stage.clear(
            ("strace", "-f", "-qq", "-o", os.devnull, "-e", f"trace={calls}",
             "-e", f"inject={calls}:signal=KILL:when={n}"))
        places = stage.places()
        n_both += is_said and sum(places) > 1
        if is_said:
            assert any(places), f"{calls} {n}: the prompt is lost: {places}"
            assert stage.found() in (1, 2), f"{calls} {n}: nobody finds the prompt: {places}"
        if is_cleared:
            assert places == [True, False], f"{calls} {n}: cleared, but {places}"
            return n, n_both
    raise AssertionError("it never ended")


def main():
    step = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    passed = failed = 0
    with harness.private_place() as base:
        os.environ.update(harness.clean_env(base))
        stage = Stage(base)
        try:
            assert stage.clear() == (True, True)
            assert stage.places() == [True, False], stage.places()
            for calls in SWEEPS:
                steps, n_both = sweep(stage, calls, step)
                print(f"{steps} steps, {n_both} with the prompt in both: {calls}")
                passed += steps
        except (AssertionError, Gone, KeyError, RuntimeError) as why:
            failed += 1
            print(repr(why))
    harness.finish(passed, failed)


main()
