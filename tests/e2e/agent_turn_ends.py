#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""After an interrupt, a failure or a killed process the model gets a note with the next prompt, once, in
every dialect; a turn has a limit of time with its own stop reason; a summary before a loaf turn is made
of calls and results."""
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from played_model import Checks, Model, client, harness, provider  # noqa: E402

check = Checks()
SLOW = {"text": "".join(f"word {i} " for i in range(3000)), "chunk_delay_ms": 20}
FAILED = {"status": 400, "body": {"error": {"message": "no such luck"}}}
INTERRUPTED = "The user interrupted the turn before this message"


def texts(body):
    return [m["content"] for m in body["messages"] if m["role"] == "user"]


class Loaf:
    def __init__(self, env, workspace):
        self.c = client.Loaf((), cwd=workspace, env=env)
        self.s = self.c.call("session.create")["session_id"]

    def turn(self, text):
        self.c.turn(self.s, text)

    def interrupt(self, wait):
        self.c.call("session.send", {"session_id": self.s, "text": "go"})
        wait()
        self.c.call("session.interrupt", {"session_id": self.s})
        self.c.event("session.interrupted")


class Scaiflux:
    def __init__(self, env, workspace):
        self.c = client.Scaiflux(["--model", env["TRIVET_MODEL"]], cwd=workspace, env=env)

    def turn(self, text):
        self.c.turn(text)

    def interrupt(self, wait):
        self.c.send({"type": "prompt", "text": "go"})
        wait()
        self.c.send({"type": "interrupt"})
        self.c.event("turn_complete")


class Kward:
    def __init__(self, env, workspace):
        self.c = client.Kward((), cwd=workspace, env=env)
        self.s = self.c.call("sessions/create", {"workspaceRoot": workspace})["id"]

    def start(self, text):
        return self.c.call("turns/start", {"sessionId": self.s, "input": text})["id"]

    def turn(self, text):
        self.start(text)
        self.c.event("turnFinished")

    def interrupt(self, wait):
        turn = self.start("go")
        wait()
        self.c.call("turns/cancel", {"turnId": turn})
        self.c.event("turnFinished")


def output(base, kind):
    """Interrupted, then failed, then well: two notes, each once."""
    script = iter([SLOW, {"text": "One."}, FAILED, {"text": "Two."}, {"text": "Three."}])
    bodies = []

    def model(body):
        bodies.append(body)
        return next(script, {"text": "More."})

    workspace = os.path.join(base, "workspace")
    os.makedirs(workspace)
    name = kind.__name__
    with provider.Server(model) as server:
        env = {**harness.clean_env(base), "OPENAI_API_KEY": "test-key-123456",
               "OPENAI_BASE_URL": f"http://127.0.0.1:{server.port}/v1", "TRIVET_MODEL": "openai/played"}
        room = kind(env, workspace)

        def streams():
            until = time.monotonic() + 20 * harness.slow()
            while not bodies and time.monotonic() < until:
                time.sleep(0.02)
            time.sleep(0.2)
        with room.c:
            room.interrupt(streams)
            for text in ("next", "bad", "then", "last"):
                room.turn(text)
    said = [texts(b) for b in bodies]
    check(f"{name}: after an interrupt", said[1][-2].startswith(INTERRUPTED) and said[1][-1] == "next",
          said[1])
    check(f"{name}: after a failure", "no such luck" in said[3][-2]
          and said[3][-2].startswith("The turn before this message failed"), said[3])
    check(f"{name}: once", "failed" not in said[4][-2] and "interrupted" not in said[4][-2], said[4][-3:])


def killed(base):
    """SIGKILL during a turn of `trivet exec`; the next one goes on."""
    bodies = []

    def model(body):
        bodies.append(body)
        return SLOW if len(bodies) == 1 else {"text": "Well."}

    workspace = os.path.join(base, "workspace")
    os.makedirs(workspace)
    with provider.Server(model) as server:
        env = {**harness.clean_env(base), "OPENAI_API_KEY": "test-key-123456",
               "OPENAI_BASE_URL": f"http://127.0.0.1:{server.port}/v1", "TRIVET_MODEL": "openai/played"}
        how = {"cwd": workspace, "env": env, "stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL,
               "stderr": subprocess.DEVNULL}
        with subprocess.Popen([client.PROGRAM, "exec", "-q", "go"], **how) as process:
            until = time.monotonic() + 20 * harness.slow()
            while not bodies and time.monotonic() < until:
                time.sleep(0.02)
            time.sleep(0.3)
            process.send_signal(signal.SIGKILL)
        subprocess.run([client.PROGRAM, "exec", "-q", "-c", "next"], timeout=60, check=True, **how)
    check("killed: the note is sent", any("The program ended during the turn" in t for t in texts(bodies[1])),
          texts(bodies[1]))


def run(base, scenario, *args, env=None):
    model = Model(scenario)
    workspace = os.path.join(base, "workspace")
    os.makedirs(workspace, exist_ok=True)
    with provider.Server(model) as server:
        env = {**harness.clean_env(base), "OPENAI_API_KEY": "test-key-123456", **(env or {}),
               "OPENAI_BASE_URL": f"http://127.0.0.1:{server.port}/v1", "TRIVET_MODEL": "openai/played"}
        watch = harness.Stopwatch()
        done = subprocess.run([client.PROGRAM, "exec", "-q", "--json", *args, "go"], cwd=workspace, env=env,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=60 * harness.slow())
        took = watch.seconds()
    return json.loads(done.stdout), done.returncode, took, model


def late(base):
    """A long command and a long reply end at the limit."""
    def command():
        yield [("bash", {"command": "echo begun; sleep 30"})]

    def reply():
        yield SLOW

    for case in (command, reply):
        out, status, took, _ = run(base, case(), "--max-time", "1s")
        check(f"late {case.__name__}: stop reason", out["stop"] == "max_time" and status == 4,
              (out, status))
        check(f"late {case.__name__}: at once", took < 5, took)
    out, status, _, _ = run(base, iter(()), "--max-time", "30s")
    check("in time", status == 0 and out["stop"] == "end_turn", out)


def summary(base):
    """loaf: the summary by hand reads the calls and results of the turn before."""
    bodies = []
    script = iter([{"whole_calls": True, "tool_calls": [
        {"id": "c1", "name": "bash", "arguments": {"command": "echo result-of-the-call"}}]},
        {"text": "Found."}, {"text": "The summary."}])

    def model(body):
        bodies.append(body)
        return next(script, {"text": "More."})

    workspace = os.path.join(base, "workspace")
    os.makedirs(workspace)
    with provider.Server(model) as server:
        env = {**harness.clean_env(base), "OPENAI_API_KEY": "test-key-123456",
               "OPENAI_BASE_URL": f"http://127.0.0.1:{server.port}/v1", "TRIVET_MODEL": "openai/played"}
        room = Loaf(env, workspace)
        with room.c:
            room.turn("find it")
            room.c.call("command.execute", {"session_id": room.s, "raw_command": "/compress"})
    asked = bodies[2]["messages"][-1]["content"]
    check("summary: calls and results", "(calls bash" in asked and asked.count("result-of-the-call") >= 2,
          asked[-1500:])


def main():
    for kind in (Loaf, Scaiflux, Kward):
        with check.scene(kind.__name__) as base:
            output(base, kind)
    for case in (killed, late, summary):
        with check.scene(case.__name__) as base:
            case(base)
    return check.end()


sys.exit(main())
