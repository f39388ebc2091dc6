#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A stream of 40 MB does not grow the program beyond the text that is kept.

The first case: a short text among long members that nobody reads; 8 MB are what may wait for a slow
client (limit OUT_STOP_BYTES).  The second, 8 MB of text: at its peak the program holds it twice, in the
conversation and in the line of the session file; the bound is three times.
"""
# covers: providers 67
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "fake")]
import harness  # noqa: E402
from client import Gone, Scaiflux  # noqa: E402
from formats import VENDORS  # noqa: E402
from provider import Server  # noqa: E402

MB = 1 << 20
PIECE = 4096


def peak(pid):
    """The most memory the program ever had, in bytes."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))


def padded(n_bytes):
    """Events of which only a letter is text."""
    padding = "p" * PIECE
    return [{"content": "x", "obfuscation": padding} for _ in range(n_bytes // PIECE)]


def growth(workspace, script, n_text):
    """Plays a small turn, then the second reply; how far the peak rose."""
    vendor = VENDORS["openai"]
    with Server([{"text": "small"}, *script]) as server:
        env = vendor.env(server.port, "key-of-large-1")
        with Scaiflux(["--model", "openai/any"], cwd=workspace, env=env) as c:
            c.event("ready")
            c.turn("one")
            before = peak(c.process.pid)
            seen = c.turn("two", timeout=120 * harness.slow())
            assert (len(seen.text), seen.code) == (n_text, None), (len(seen.text), seen.end)
            grown = peak(c.process.pid) - before
            assert c.close() == 0
            return grown


def main():
    passed = failed = 0
    text = "t" * (8 * MB)
    cases = {"40 MB, 10 kB of text": ([{"chunks": padded(40 * MB)}], 40 * MB // PIECE, 8 * MB),
             "8 MB of text": ([{"text": text, "piece": PIECE}], 8 * MB, 3 * 8 * MB)}
    with harness.private_place() as base:
        os.environ.update(harness.clean_env(base))
        for name, (script, n_text, bound) in cases.items():
            try:
                grown = growth(base, script, n_text)
                print(f"{name}: {grown / MB:.1f} MB more, bound {bound / MB:.0f} MB")
                assert grown <= bound, f"{name}: {grown} bytes, bound {bound}"
                passed += 1
            except (AssertionError, Gone) as why:
                print(f"{name}: FAILED: {str(why)[:500]}")
                failed += 1
    harness.finish(passed, failed)


main()
