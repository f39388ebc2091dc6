#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A tool call that was cut off: kill -9 of trivet while the tool runs, an interrupt, a denial.  The next
request says what happened, in every dialect, and nothing runs again."""
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from played_model import Checks, client, harness, provider  # noqa: E402

check = Checks()
COMMAND = "echo ran >> ran.log; sleep 60"


class Model:
    """One call of a command, then text."""

    def __init__(self, tool):
        self.tool, self.bodies = tool, []

    def __call__(self, body):
        self.bodies.append(body)
        if len(self.bodies) > 1:
            return {"text": "Well."}
        return {"whole_calls": True, "tool_calls": [
            {"id": "call_1", "name": self.tool, "arguments": {"command": COMMAND}}]}


class Acp(client.Rpc):
    args = ("acp",)
    decision = "allow"

    def start(self, workspace):
        self.call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        self.id = self.call("session/new", {"cwd": workspace, "mcpServers": []})["sessionId"]

    def prompt(self, text):
        return self.ask("session/prompt", {"sessionId": self.id, "prompt": [{"type": "text", "text": text}]})

    def answer(self, m, kind):
        option = next(o["optionId"] for o in m["params"]["options"] if o["kind"] == kind)
        self.send({"jsonrpc": "2.0", "id": m["id"], "result": {
            "outcome": {"outcome": "selected", "optionId": option}}})

    def finish(self, number, kind="allow_once"):
        def over(m):
            if m.get("method") == "session/request_permission":
                self.answer(m, kind)
            return m.get("id") == number and "method" not in m
        return self.until(over)


class Loaf:
    name, tool = "loaf", "bash"

    def __init__(self, env, workspace, again=None):
        self.c = client.Loaf((), cwd=workspace, env=env)
        self.s = self.c.call("session.create")["session_id"]
        if again:
            self.c.call("command.execute", {"session_id": self.s, "raw_command": "/history last"})

    def begin(self):
        self.c.call("session.send", {"session_id": self.s, "text": "go"})

    def interrupt(self):
        self.c.call("session.interrupt", {"session_id": self.s})
        self.c.event("session.interrupted")

    def turn(self, text):
        self.c.turn(self.s, text)


class Scaiflux:
    name, tool = "ScaiFlux", "bash"

    def __init__(self, env, workspace, again=None, mode="danger-full-access"):
        resume = ["--resume", "latest"] if again else []
        self.decision = "deny" if mode == "prompt" else "allow"
        self.c = client.Scaiflux(["--model", env["TRIVET_MODEL"], "--permission-mode", mode, *resume],
                                 cwd=workspace, env=env)

    def begin(self):
        self.c.send({"type": "prompt", "text": "go"})
        m = self.c.event("permission_request")
        self.c.send({"type": "permission_response", "request_id": m["request_id"],
                     "decision": self.decision})

    def interrupt(self):
        self.c.send({"type": "interrupt"})
        self.c.event("turn_complete")

    def deny(self):
        self.c.event("turn_complete")

    def turn(self, text):
        self.c.turn(text)


class Kward:
    name, tool = "Kward", "run_shell_command"

    def __init__(self, env, workspace, again=None):
        self.c = client.Kward((), cwd=workspace, env=env)
        self.s = self.c.call(*(("sessions/resume", {"path": again.path, "workspaceRoot": workspace}) if again
                               else ("sessions/create", {"workspaceRoot": workspace})))
        self.path, self.s = self.s["path"], self.s["id"]

    def begin(self):
        self.id = self.c.call("turns/start", {"sessionId": self.s, "input": "go"})["id"]

    def interrupt(self):
        self.c.call("turns/cancel", {"turnId": self.id})
        self.c.event("turnFinished")

    def turn(self, text):
        self.c.call("turns/start", {"sessionId": self.s, "input": text})
        self.c.event("turnFinished")


class AcpPlace:
    name, tool = "ACP", "bash"

    def __init__(self, env, workspace, again=None, mode="danger-full-access"):
        self.c = Acp((), cwd=workspace, env=env)
        self.c.start(workspace)
        if again:
            self.c.id = again.c.id
            self.c.call("session/load", {"sessionId": self.c.id, "cwd": workspace, "mcpServers": []})
        self.c.call("session/set_mode", {"sessionId": self.c.id, "modeId": mode})

    def begin(self):
        self.number = self.c.prompt("go")

    def interrupt(self):
        self.c.send({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": self.c.id}})
        self.c.finish(self.number)

    def deny(self):
        self.c.finish(self.number, "reject_once")

    def turn(self, text):
        self.c.finish(self.c.prompt(text))


class Exec:
    """A process per turn."""
    name, tool = "exec", "bash"

    class Process:
        def __init__(self):
            self.process = None

        def __enter__(self):
            return self

        def __exit__(self, *_):
            if self.process and self.process.poll() is None:
                self.process.kill()
                self.process.wait()

        def kill(self):
            self.process.kill()
            self.process.wait()

    def __init__(self, env, workspace, again=None, mode="danger-full-access"):
        self.how = {"cwd": workspace, "env": env, "stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL,
                    "stderr": subprocess.DEVNULL}
        self.mode, self.c = mode, Exec.Process()

    def begin(self):
        self.c.process = subprocess.Popen([client.PROGRAM, "exec", "--mode", self.mode, "go"], **self.how)

    def interrupt(self):
        self.c.process.send_signal(signal.SIGINT)
        self.c.process.wait(60)

    def deny(self):
        self.c.process.wait(60)

    def turn(self, text):
        subprocess.run([client.PROGRAM, "exec", "-c", "--mode", self.mode, text], timeout=60, check=True,
                       **self.how)


def wait_for(fits):
    until = time.monotonic() + 30 * harness.slow()
    while not fits() and time.monotonic() < until:
        time.sleep(0.02)
    assert fits(), "it does not begin"


def texts(body, *roles):
    return "\n".join(m["content"] or "" for m in body["messages"] if m["role"] in roles)


NOTES = {"killed": "The program ended during the turn before this message",
         "interrupted": "The user interrupted the turn before this message"}


def look(kind, how, bodies):
    """The note, once; the call with a result that says what became of it."""
    body, name = bodies[-1], f"{kind.name} {how}"
    user, tool = texts(body, "user"), texts(body, "tool")
    if how in NOTES:
        check(f"{name}: note", user.count(NOTES[how]) == 1, user)
    if how == "killed" and kind is Loaf:  # keeps only texts in its files: the note names the call
        check(f"{name}: call", 'Its last call was bash {"command' in user and "sleep 60" in user
              and "(outcome unknown)" in user, user)
        return
    check(f"{name}: call", any("sleep 60" in str(m.get("tool_calls")) for m in body["messages"]), body["messages"])
    wanted = {"killed": ("outcome unknown",), "denied": ("denied", "refused", "not permitted", "permission"),
              "interrupted": ("interrupted", "Cancelled", '"aborted":true')}[how]
    check(f"{name}: result", any(w in tool for w in wanted), tool)


def play(base, kind, how):
    workspace = os.path.join(base, "workspace")
    os.makedirs(workspace)
    log = os.path.join(workspace, "ran.log")
    model = Model(kind.tool)
    with provider.Server(model) as server:
        env = {**harness.clean_env(base), "OPENAI_API_KEY": "test-key-123456",
               "OPENAI_BASE_URL": f"http://127.0.0.1:{server.port}/v1", "TRIVET_MODEL": "openai/played"}
        room = kind(env, workspace, **({"mode": "prompt"} if how == "denied" else {}))
        with room.c:
            room.begin()
            if how == "denied":
                room.deny()
            else:
                wait_for(lambda: os.path.exists(log) and os.path.getsize(log))
            if how == "interrupted":
                room.interrupt()
            if how == "killed":
                room.c.kill()
                room = kind(env, workspace, again=room)
            with room.c:
                room.turn("next")
    ran = open(log, encoding="ascii").read() if os.path.exists(log) else ""
    check(f"{kind.name} {how}: not again", ran == ("" if how == "denied" else "ran\n"), ran)
    return model.bodies


def main():
    for kind in (Loaf, Scaiflux, Kward, AcpPlace, Exec):
        for how in ("killed", "interrupted", "denied"):
            if how == "denied" and not hasattr(kind, "deny"):
                continue
            with check.scene(f"{kind.name} {how}") as base:
                look(kind, how, play(base, kind, how))
    return check.end()


sys.exit(main())
