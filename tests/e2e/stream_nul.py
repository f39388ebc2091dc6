#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A NUL byte in an event stream, inside a string or between the events, ends the turn with an error:
what stands behind it may be lost."""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "fake")]
import harness  # noqa: E402
from client import PROGRAM  # noqa: E402
from provider import Server  # noqa: E402


def event(text):
    return "data: " + json.dumps({"choices": [{"delta": {"content": text}}]}) + "\n\n"


CASES = {
    "in a string": (event("one ").replace("one", "o\0ne"), "event that is not JSON"),
    "before an event": ("\0" + event("one "), "NUL byte between the events"),
    "alone on a line": ("\0\n\n" + event("one "), "NUL byte between the events"),
    "behind an event": (event("one ").replace("\n\n", "\0\n\n"), "event that is not JSON"),
    "nowhere": (event("one "), None),
    "as an escape": (event("\0one "), None),
}


def main():
    passed = failed = 0
    with harness.private_place() as base:
        os.environ.update(harness.clean_env(base))
        for name, (stream, error) in CASES.items():
            chunks = [event("zero "), stream, event("two")]
            with Server([{"chunks": ["".join(chunks)], "repeat": True}]) as server:
                done = subprocess.run(
                    [PROGRAM, "exec", "--model", "openai/gpt-4o", "go"], cwd=base, check=False,
                    env=dict(os.environ, OPENAI_BASE_URL=f"http://127.0.0.1:{server.port}/v1",
                             OPENAI_API_KEY="key-of-streams-1", TRIVET_RETRY_MS="1"),
                    stdin=subprocess.DEVNULL, capture_output=True, text=True)
            ok = done.returncode != 0 and error in done.stderr if error else \
                done.returncode == 0 and "one two" in done.stdout
            passed, failed = passed + ok, failed + (not ok)
            if not ok:
                print(f"FAIL a NUL {name}: {done}")
    harness.finish(passed, failed)


main()
