# SPDX-License-Identifier: MIT
"""A scripted model that makes mistakes, in every toolset: what does it get back?

    with slips.play("kward", [("read_file", {"file_path": "a.c"})], {"a.c": "int x;\\n"}) as seen:
        assert seen.texts[0] == "int x;\\n"

Each call is a round of its own.  `texts` are the results as the model gets them (from the requests
to the provider), `errors` says which of them the dialect calls failures, `read` reads a file of the
workspace.  The toolsets are loaf, scaiflux, kward and run (`trivet run`).  Arguments that are text
are sent as they are.  `{W}` in an argument is the workspace.
"""
import contextlib
import json
import os
import subprocess
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake")]
import client  # noqa: E402
import harness  # noqa: E402
import provider  # noqa: E402

TOOLSETS = ("loaf", "scaiflux", "kward", "run")


class Seen:
    def __init__(self, workspace, server):
        self.workspace, self.server = workspace, server
        self.errors = []

    def requests(self):
        return [entry["body"] for entry in self.server.log if "body" in entry]

    @property
    def texts(self):
        last = self.requests()[-1]["messages"]
        return [m["content"] for m in last if m["role"] == "tool"]

    def read(self, name):
        with open(os.path.join(self.workspace, name), "rb") as file:
            return file.read().decode()


def arguments(value, workspace):
    text = value if isinstance(value, str) else json.dumps(value)
    return text.replace("{W}", workspace)


def replies(calls, workspace):
    said = []
    for number, call in enumerate(calls):
        name, args = call
        said.append({"tool_calls": [{"id": f"call{number}", "name": name,
                                     "arguments": arguments(args, workspace)}], "piece": 4000})
    return said + [{"text": "done", "repeat": True}]


def play_loaf(env, workspace):
    with client.Loaf(cwd=workspace, env=env) as c:
        session = c.call("session.create")["session_id"]
        c.turn(session, "go", timeout=60)
        done = [m["params"]["payload"] for m in c.heard
                if m.get("params", {}).get("type") == "session.tool.call.completed"]
        c.close()
        return [not p["ok"] for p in done]


def play_scaiflux(env, workspace):
    with client.Scaiflux(["--model", env["TRIVET_MODEL"]], cwd=workspace, env=env) as c:
        seen = c.turn("go", timeout=60)
        c.close()
        return [is_error for _, _, is_error in seen.results]


def play_kward(env, workspace):
    with client.Kward(cwd=workspace, env=env) as c:
        session = c.call("sessions/create", {})["id"]
        c.ask("turns/start", {"sessionId": session, "input": "go"})
        errors = []
        while True:
            m = c.next(60)
            if m.get("method") == "turn/event" and m["params"]["type"] == "toolResult":
                errors.append(m["params"]["payload"]["result"]["isError"])
            if m.get("method") == "turn/event" and m["params"]["type"] == "turnFinished":
                break
        c.close()
        return errors


def play_run(env, workspace):
    subprocess.run([client.PROGRAM, "run", "--model", env["TRIVET_MODEL"], "--mode",
                    "danger-full-access", "go"], cwd=workspace, env=env, check=True,
                   capture_output=True, timeout=60)
    return []


PLAYERS = {"loaf": play_loaf, "scaiflux": play_scaiflux, "kward": play_kward, "run": play_run}


@contextlib.contextmanager
def play(toolset, calls, files=(), model="openai/fake", before=None):
    """Plays the calls in a fresh workspace with these files."""
    with harness.private_place() as base:
        workspace = os.path.join(base, "workspace")
        os.mkdir(workspace)
        for name, text in dict(files).items():
            path = os.path.join(workspace, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(text if isinstance(text, bytes) else text.encode())
        if before:
            subprocess.run(["sh", "-c", before], cwd=workspace, check=True)
        with provider.Server(replies(calls, workspace)) as server:
            env = dict(harness.clean_env(base), TRIVET_MODEL=model, OPENAI_API_KEY="key-123456",
                       OPENAI_BASE_URL=f"http://127.0.0.1:{server.port}/v1")
            seen = Seen(workspace, server)
            seen.errors = PLAYERS[toolset](env, workspace)
            yield seen


class Checks:
    """Counts what holds, prints what does not."""

    def __init__(self):
        self.passed = self.failed = 0

    def that(self, holds, what, output=""):
        self.passed += bool(holds)
        self.failed += not holds
        if not holds:
            print(f"FAILED: {what}\n    {str(output)[:1000]!r}")

    def has(self, text, part, what):
        self.that(part in text, f"{what}: no {part!r}", text)

    def finish(self):
        return harness.finish(self.passed, self.failed)
