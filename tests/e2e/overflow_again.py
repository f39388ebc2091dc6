#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A server with a window far smaller than known, and with a tokenizer that counts two or three times
as much as estimated: turns of 18 rounds complete in every front end, though the request is refused
more than once.  Where system text and tools alone are too long, the error says so.  What one process
learned of a server's counting the next one knows."""
import contextlib
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "fake")]
import harness  # noqa: E402
from client import PROGRAM, Gone, Kward, Loaf, Scaiflux  # noqa: E402
from provider import Server  # noqa: E402
from window_model import SmallModel  # noqa: E402
from window_place import text_of  # noqa: E402

ROUNDS = 18
# window, whether a refusal names it, bytes of each file, bytes per token, whether usage is reported
CASES = ((8000, True, 9000, 2.2, False), (8000, False, 6000, 2.2, True),
         (12000, False, 4000, 1.3, True), (12000, False, 4000, 1.3, False),
         (16000, True, 6000, 4, True))
NARROW = (6000, False, 4000, 1.2, True)  # loaf's tools alone are longer
TINY = (1300, True, 1000, 4, True)


def through_exec(base, *more):
    done = subprocess.run([PROGRAM, "exec", "--model", "openai/m", *more, "work on it"], cwd=base,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done.stdout, done.stderr


def through_loaf(base):
    with Loaf(cwd=base) as c:
        session = c.call("session.create")["session_id"]
        c.call("session.send", {"session_id": session, "text": "work on it"})
        # The turn that goes on after a summary is one of its own.
        end = c.until(lambda m: m.get("params", {}).get("type") == "session.error" or
                      "All done." in str(m.get("params", {}).get("payload", {}).get("message")))
        return json.dumps(c.heard), json.dumps(end)


def through_scaiflux(base):
    with Scaiflux(["--model", "openai/m"], cwd=base) as c:
        c.event("ready")
        seen = c.turn("work on it")
        return seen.text, json.dumps(seen.end)


def through_kward(base):
    with Kward(cwd=base) as c:
        session = c.call("sessions/create", {"workspaceRoot": base})["id"]
        turn = c.call("turns/start", {"sessionId": session, "input": "work on it"})["id"]
        end = c.event("turnFinished", turn)
        return json.dumps(c.heard), json.dumps(end)


@contextlib.contextmanager
def workspace(size):
    """Files f1.txt and so on of that many bytes, and a model whose window is believed to be large."""
    with harness.private_place() as base:
        os.environ.update(harness.clean_env(base))
        base = os.path.join(os.path.realpath(base), "workspace")
        os.mkdir(base)
        with open(f"{base}/models.json", "w", encoding="ascii") as file:
            json.dump({"models": [{"id": "openai/m", "context_window": 128000}]}, file)
        for i in range(1, ROUNDS + 1):
            with open(f"{base}/f{i}.txt", "w", encoding="ascii") as file:
                file.write(text_of(i, size))
        os.environ.update(TRIVET_SANDBOX="off", OPENAI_API_KEY="key-of-windows-1", TRIVET_RETRY_MS="1",
                          TRIVET_MODELS=f"{base}/models.json", TRIVET_MODEL="openai/m")
        yield base


def play(front, case):
    window, names, size, bytes_per_token, counts = case
    with workspace(size) as base:

        def call(n):
            return "read_file", {"file_path": f"{base}/f{n}.txt"} if front is through_loaf else \
                {"path": f"f{n}.txt"}

        model = SmallModel(window, ROUNDS, call, names_window=names,
                           bytes_per_token=bytes_per_token, reports_usage=counts)
        with Server(model) as server:
            os.environ["OPENAI_BASE_URL"] = f"http://127.0.0.1:{server.port}/v1"
            said, end = front(base)
    return "All done." in said, model, end


def several_processes():
    """Prompts of one session, a process each, to a server that counts every byte and reports no usage:
    only the first is refused."""
    with workspace(3000) as base:
        model = SmallModel(12000, 0, lambda n: ("read_file", {"path": f"f{n}.txt"}),
                           bytes_per_token=1, reports_usage=False)
        with Server(model) as server:
            os.environ["OPENAI_BASE_URL"] = f"http://127.0.0.1:{server.port}/v1"
            for more in ([], ["-c"], ["-c"], ["-c"]):
                model.rounds = model.n_calls + 3
                said, end = through_exec(base, *more)
                if "All done." not in said:
                    return f"{model.n_calls} calls, {end}"
        return len(model.refused) == 1 or f"refused {model.refused}"


def main():
    outcome = several_processes()
    passed, failed = int(outcome is True), int(outcome is not True)
    if failed:
        print(f"FAIL several_processes: {outcome}")
    for front in (through_exec, through_loaf, through_scaiflux, through_kward):
        for case in (*CASES, *([NARROW] if front is through_scaiflux else []), TINY):
            try:
                ok, model, end = play(front, case)
            except (Gone, AssertionError, OSError) as why:
                ok, model, end = False, None, repr(why)
            calls = model.n_calls if model else "?"
            if case is TINY:  # loaf and Kward say the words of the server
                ok = "token" in end and (front in (through_loaf, through_kward) or
                                         "the system text and the tools alone" in end)
            passed, failed = passed + ok, failed + (not ok)
            if not ok:
                print(f"FAIL {front.__name__} {case}: {calls} calls, {end[-500:]}")
    harness.finish(passed, failed)


main()
