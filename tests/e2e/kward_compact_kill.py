#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# LONG ROUNDS: strace stops the program at system calls
"""A compaction that is killed at any step leaves the old conversation or the new one, never a
mixture.

    kward_compact_kill.py [STEP]     every STEP-th step only; ./test takes all

strace kills the program when it enters its n-th system call that writes, syncs, renames, removes,
sends, waits or reads, for each n until the compaction has been answered; a new process then opens the session.  The
record is one write, so an incomplete one is made by hand: cut at many places.
"""
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
from client import Gone, Kward  # noqa: E402

FAKE = os.path.join(harness.TOP, "tests", "fake", "provider.py")
SWEEPS = ("write,writev,pwrite64,pwritev,ftruncate,rename,renameat,renameat2,unlink,sendto,sendmsg",
          "fsync,fdatasync",  # strace counts by thread, and files are synced in threads of their own
          "epoll_wait,epoll_pwait,read,recvfrom")  # each round of the loop and all that comes in
MAX_STEPS = 400
TIME = "2026-06-12T10:11:13.000Z"


def call(number, name, path):
    function = {"name": name, "arguments": json.dumps({"path": path})}
    return {"role": "assistant", "content": None,
            "tool_calls": [{"id": number, "type": "function", "function": function}]}


def result(number, name, text):
    return {"role": "tool", "tool_call_id": number, "name": name, "content": text}


def conversation(workspace):
    """A session whose last turn is split by the compaction."""
    messages = [{"role": "user", "content": "the first question"},
                {"role": "assistant", "content": "the first answer"},
                {"role": "user", "content": "the long turn"},
                call("c1", "read_file", "b.c"), result("c1", "read_file", "x" * 3000),
                call("c2", "read_file", "c.c"), result("c2", "read_file", "short"),
                {"role": "assistant", "content": "the end"}]
    head = {"type": "session", "version": 1, "id": "i", "timestamp": TIME, "cwd": workspace}
    records = [head] + [{"type": "message", "timestamp": TIME, "message": m} for m in messages]
    return "".join(json.dumps(r) + "\n" for r in records).encode()


class Stage:
    def __init__(self, base):
        self.base = base
        self.path = os.path.join(base, "s.jsonl")
        config = os.path.join(base, "config")
        os.mkdir(config)
        with open(os.path.join(config, "config.json"), "w", encoding="utf-8") as file:
            json.dump({"compaction": {"keep_recent_tokens": 35}}, file)
        script = os.path.join(base, "script")
        with open(script, "w", encoding="utf-8") as file:
            json.dump([{"text": "## Goal\nthe summary", "repeat": True}], file)
        self.provider = subprocess.Popen(
            [sys.executable, FAKE, "--port", "0", "--script", script, "--die-with-parent"],
            stdout=subprocess.PIPE, text=True)
        port = int(self.provider.stdout.readline().split()[1])
        self.env = {"KWARD_CONFIG_PATH": os.path.join(config, "config.json"),
                    "TRIVET_MODEL": "openai/gpt-4o", "OPENAI_API_KEY": "test-key-123456",
                    "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1"}
        self.fresh = conversation(base)
        self.reset()

    def reset(self):
        for name in os.listdir(self.base):
            if name.startswith("s.jsonl"):
                os.unlink(os.path.join(self.base, name))
        with open(self.path, "wb") as file:
            file.write(self.fresh)

    def compact(self, wrap=()):
        """True when it was answered, False when the program was killed before."""
        with Kward(cwd=self.base, env=self.env, wrap=wrap) as c:
            try:
                session = c.call("sessions/resume", {"path": self.path})["id"]
                c.call("sessions/compact", {"sessionId": session})
                return True
            except Gone:
                assert c.process.wait(30 * harness.slow()) in (-signal.SIGKILL, 128 + signal.SIGKILL), c.stderr
                return False

    def look(self, reader, path=None):
        """The conversation in the file, as a new process sees it."""
        session = reader.call("sessions/resume", {"path": path or self.path})["id"]
        messages = reader.call("sessions/transcript", {"sessionId": session})["messages"]
        reader.call("sessions/close", {"sessionId": session})
        return messages


def sweep(stage, calls, step, old, new, outcomes):
    """Kills at each step; returns how many there are."""
    for n in range(1, MAX_STEPS, step):
        stage.reset()
        done = stage.compact(("strace", "-f", "-qq", "-o", os.devnull, "-e", f"trace={calls}",
                              "-e", f"inject={calls}:signal=KILL:when={n}"))
        with Kward(cwd=stage.base, env=stage.env) as reader:
            found = stage.look(reader)
            assert found in (old, new), f"{calls} {n}: a mixture: {found}"
            outcomes.append("new" if found == new else "old")
            if done:
                assert found == new, f"{calls} {n}: answered, but not there"
                return n
            go_on(stage, reader, found == new)
    raise AssertionError("it never ended")


def go_on(stage, reader, is_new):
    """What is left can be worked with: the compaction is made now, or was made."""
    session = reader.call("sessions/resume", {"path": stage.path})["id"]
    try:
        reader.call("sessions/compact", {"sessionId": session})
        assert not is_new, "compacted twice"
    except RuntimeError as why:
        assert is_new and str(why) == "Already compacted", why


def incomplete(stage, old, new):
    """The record cut after any byte is no record."""
    stage.reset()
    assert stage.compact()
    with open(stage.path, "rb") as file:
        whole = file.read()
    assert whole.startswith(stage.fresh) and whole.count(b"\n") == stage.fresh.count(b"\n") + 1
    places = list(range(len(stage.fresh), len(whole), 37)) + [len(whole) - 2, len(whole) - 1]
    with Kward(cwd=stage.base, env=stage.env) as reader:
        for at in places:
            path = os.path.join(stage.base, f"s.jsonl.{at}")
            with open(path, "wb") as file:
                file.write(whole[:at])
            assert stage.look(reader, path) == old, f"cut at {at}"
        assert stage.look(reader) == new


def main():
    step = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    passed = failed = 0
    with harness.private_place() as base:
        os.environ.update(harness.clean_env(base))
        stage = Stage(base)
        try:
            with Kward(cwd=base, env=stage.env) as reader:
                old = stage.look(reader)
            assert stage.compact()
            with Kward(cwd=base, env=stage.env) as reader:
                new = stage.look(reader)
            assert old != new and len(old) == 8 and new[0]["role"] == "compactionSummary"
            for calls in SWEEPS:
                outcomes = []
                steps = sweep(stage, calls, step, old, new, outcomes)
                print(f"{steps} steps, {outcomes.count('old')} old, {outcomes.count('new')} new: "
                      f"{calls}")
                passed += len(outcomes)
            incomplete(stage, old, new)
            passed += 1
        except (AssertionError, Gone, KeyError, RuntimeError) as why:
            failed += 1
            print(repr(why))
        stage.provider.kill()
        stage.provider.wait()
    harness.finish(passed, failed)


main()
