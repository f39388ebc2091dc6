# SPDX-License-Identifier: MIT
"""A model played by a test, in any dialect and in `trivet run`:

    def model():
        texts = yield [("bash", {"command": "ls"})]     # what the model reads of each call
        texts = yield [("read_file", {"path": "a"}), ...]

    with place() as base:
        seen = play("scaiflux", model(), base)

A yield is a reply with calls, or a whole reply as fake/provider.py takes it; when the function returns, the model says "Done." and the turn ends.
`seen.requests` are the bodies that the provider got, `seen.heard` what the client heard, `seen.stderr`.
"""
import contextlib
import os
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "fake")]
import client  # noqa: E402
import harness  # noqa: E402
import provider  # noqa: E402

DIALECTS = ("loaf", "scaiflux", "kward", "run")
# The names of one tool in the four toolsets.
SHELL = {"loaf": "bash", "scaiflux": "bash", "kward": "run_shell_command", "run": "bash"}


class Model:
    """What a provider.Server asks for replies."""

    def __init__(self, scenario):
        self.scenario, self.failed = scenario, None
        self.lock = threading.Lock()
        self.requests, self.times = [], []
        self.is_begun = False

    def __call__(self, body):
        with self.lock:
            self.times.append(time.monotonic())
            self.requests.append(body)
            return self.reply(body)

    def reply(self, body):
        try:
            calls = self.scenario.send(self.texts(body)) if self.is_begun else next(self.scenario)
            self.is_begun = True
        except StopIteration:
            return {"text": "Done."}
        except Exception as error:  # pylint: disable=broad-except
            self.failed = error
            return {"text": "Done."}
        if isinstance(calls, dict):
            return calls
        return {"whole_calls": True, "tool_calls": [
            {"id": f"c{len(self.requests)}_{i}", "name": name, "arguments": arguments}
            for i, (name, arguments) in enumerate(calls)]}

    @staticmethod
    def texts(body):
        """What the results of the last reply say."""
        texts = []
        for message in reversed(body["messages"]):
            if message["role"] == "assistant":
                break
            if message["role"] == "tool":
                texts.insert(0, message["content"])
        return texts


class Seen:
    def __init__(self, model, heard, stderr, status):
        self.requests, self.times = model.requests, model.times
        self.heard, self.stderr, self.status = heard, stderr, status


def play(dialect, scenario, base, env=None, args=(), workspace=None, timeout=60):
    """Plays one turn; raises what the scenario raised."""
    model = scenario if isinstance(scenario, Model) else Model(scenario)
    workspace = workspace or os.path.join(base, "workspace")
    os.makedirs(workspace, exist_ok=True)
    with provider.Server(model) as server:
        full = {**harness.clean_env(base), "OPENAI_API_KEY": "test-key-123456",
                "OPENAI_BASE_URL": f"http://127.0.0.1:{server.port}/v1",
                "TRIVET_MODEL": "openai/played", **(env or {})}
        heard, stderr, status = TURNS[dialect](full, workspace, args, timeout * harness.slow())
    if model.failed:
        raise model.failed
    return Seen(model, heard, stderr, status)


def _loaf(env, workspace, args, timeout):
    with client.Loaf(args, cwd=workspace, env=env) as c:
        session = c.call("session.create")["session_id"]
        c.turn(session, "go", timeout=timeout)
        return c.heard, c.stderr, c.close()


def _scaiflux(env, workspace, args, timeout):
    with client.Scaiflux(["--model", env["TRIVET_MODEL"], *args], cwd=workspace, env=env) as c:
        c.turn("go", timeout=timeout)
        return c.heard, c.stderr, c.close()


def _kward(env, workspace, args, timeout):
    with client.Kward(args, cwd=workspace, env=env) as c:
        session = c.call("sessions/create", {"workspaceRoot": workspace})["id"]
        c.call("turns/start", {"sessionId": session, "input": "go"})
        c.event("turnFinished", timeout=timeout)
        return c.heard, c.stderr, c.close()


def _run(env, workspace, args, timeout):
    done = subprocess.run([client.PROGRAM, "run", "-q", *args, "go"], cwd=workspace, env=env,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout)
    return [done.stdout.decode()], done.stderr, done.returncode


TURNS = {"loaf": _loaf, "scaiflux": _scaiflux, "kward": _kward, "run": _run}


class Checks:
    """Counts; `end` prints the last line of an end-to-end script and returns the exit status."""

    def __init__(self):
        self.passed = self.failed = 0

    def __call__(self, name, ok, detail=""):
        self.passed += bool(ok)
        self.failed += not ok
        if not ok:
            print(f"FAIL {name}: {str(detail)[:1500]}")

    @contextlib.contextmanager
    def scene(self, name):
        """A place of its own; an exception is a failure."""
        with harness.private_place() as base:
            try:
                yield base
            except Exception as error:  # pylint: disable=broad-except
                self(name, False, f"{type(error).__name__}: {error}")

    def end(self):
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed else 0
