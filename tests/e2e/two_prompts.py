#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ScaiFlux, several lines in one write: turn_started precedes every answer to the lines behind the
prompt, so that no refusal can be taken for that of the first prompt."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
from client import Gone, Scaiflux  # noqa: E402

ROUNDS = 20
BEHIND = {"prompt": {"type": "prompt", "text": "second"},
          "slash": {"type": "slash", "command": "status", "args": ""},
          "unknown": {"type": "nonsense"},
          "interrupt": {"type": "interrupt"}}


def play(base, name):
    with Scaiflux(["--model", "rehearsal/hello"], cwd=base) as c:
        c.event("ready")
        for _ in range(ROUNDS):
            lines = [{"type": "prompt", "text": "first"}, BEHIND[name]]
            c.process.stdin.write(b"".join(json.dumps(m).encode() + b"\n" for m in lines))
            c.process.stdin.flush()
            first = c.next()
            while first["type"] == "state_changed":  # of the turn before
                first = c.next()
            assert first["type"] == "turn_started", first
            c.event("turn_complete")
        c.send({"type": "shutdown"})
        assert c.process.wait(30 * harness.slow()) == 0


def main():
    passed = failed = 0
    with harness.private_place() as place:
        os.environ.update(harness.clean_env(place))
        for name in BEHIND:
            try:
                play(place, name)
                passed += 1
            except (AssertionError, Gone) as why:
                print(f"FAIL {name}: {str(why)[:500]}")
                failed += 1
    harness.finish(passed, failed)


if __name__ == "__main__":
    main()
