#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ScaiFlux without any place to write: the session lives in memory, turns and commands work, and
stderr says so once."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
from client import Gone, Scaiflux  # noqa: E402


def play(base):
    with open(f"{base}/.scaiflux", "w", encoding="ascii") as file:
        file.write("in the way\n")
    with Scaiflux(["--model", "rehearsal/echo"], cwd=base,
                  env={"XDG_STATE_HOME": "/dev/null/none"}) as c:
        c.event("ready")
        for text in ("one", "two"):
            c.send({"type": "prompt", "text": text})
            assert c.next()["type"] == "turn_started", c.heard
            assert c.event("text_delta")["delta"] == text
            c.event("turn_complete")
        for command in ("model rehearsal/hello", "status", "compact", "session", "clear"):
            name, _, args = command.partition(" ")
            c.send({"type": "slash", "command": name, "args": args})
            done = c.event("slash_result")
            assert name == "session" or done["data"]["ok"], done
        c.send({"type": "prompt", "text": "three"})
        c.event("turn_complete")
        assert c.close() == 0
        said = c.stderr.decode().splitlines()
        assert len(said) == 1 and "the session is not kept" in said[0], said
    assert sorted(os.listdir(base)) == [".scaiflux"], os.listdir(base)


def main():
    failed = 0
    with harness.private_place() as place:
        os.environ.update(harness.clean_env(place))
        base = os.path.join(place, "workspace")
        os.mkdir(base)
        try:
            play(base)
        except (AssertionError, Gone) as why:
            print(f"FAIL {str(why)[:800]}")
            failed = 1
    harness.finish(1 - failed, failed)


if __name__ == "__main__":
    main()
