#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# LONG ROUNDS: a reply of 50 MB is written to the session
"""A controller that reads 1 kB/s while the model streams 50 MB.

Slow for some seconds: the program stays below 16 MB, because it stops reading from the gateway when
1 MiB waits for the controller.  Then the controller hurries: every byte of the 50 MB arrives, in
order (the whole answer is then part of the conversation, so this phase has no bound of memory).
And once more with an interrupt while it is slow: the gateway sees the connection closed within one
second, and behind what was queued stands the end of the turn.  covers: scaiflux 57, 104, 105

    scaiflux_slow.py [SECONDS OF SLOWNESS]
"""
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "fake")]
import client           # noqa: E402
import harness          # noqa: E402
import scaiflux_stream  # noqa: E402
from provider import Server  # noqa: E402

MB = 1 << 20
TOTAL = 50 * MB
LINE = "%015d\n"        # the text is a list of numbers: what is lost, doubled or moved shows
PIECE = 16384
RATE = 1024             # bytes per second
MEMORY = 16 * MB
BOUND = 1.0             # seconds from the interrupt to the closed connection


def numbers(total):
    return "".join(LINE % i for i in range(total // len(LINE % 0)))


class SlowController:
    """Reads only when asked to."""

    def __init__(self, base, port):
        env = dict(os.environ, OPENAI_BASE_URL=f"http://127.0.0.1:{port}/v1",
                   OPENAI_API_KEY="key-of-slow-1")
        self.process = subprocess.Popen([client.PROGRAM, "scaiflux", "serve", "-m", "openai/m"],
                                        cwd=base, env=env, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.out = self.process.stdout.fileno()
        self.rest = b""
        self.stream = scaiflux_stream.Stream()
        self.text = []
        self.end = None

    def send(self, **message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def take(self, n):
        """Reads up to n bytes; False at the end of the output."""
        data = os.read(self.out, n)
        *lines, self.rest = (self.rest + data).split(b"\n") if data else [self.rest]
        for line in lines:
            message = json.loads(line)
            self.stream.take(message)
            if message["type"] == "text_delta":
                self.text.append(message["delta"])
            elif message["type"] in ("turn_complete", "error"):
                self.end = message
        return bool(data)

    def crawl(self, seconds):
        """Reads at RATE."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.take(RATE // 10)
            time.sleep(0.1)

    def hurry(self, seconds):
        """Reads until the turn is over."""
        end = time.monotonic() + seconds
        while self.end is None and self.take(1 << 20):
            assert time.monotonic() < end, "the turn does not come to its end"

    def peak(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def begin(server, base, seconds):
    c = SlowController(base, server.port)
    c.send(type="prompt", text="count")
    c.crawl(seconds)
    assert c.peak() < MEMORY, f"{c.peak()} bytes of memory while the controller is slow"
    assert c.end is None and len("".join(c.text)) < MB, "that was not slow"
    return c


def nothing_is_lost(base, seconds):
    wanted = numbers(TOTAL)
    with Server([{"text": wanted, "piece": PIECE,
                  "usage": {"prompt_tokens": 1, "completion_tokens": 1}}]) as server:
        with begin(server, base, seconds) as c:
            print(f"peak while slow: {c.peak() / MB:.1f} MB")
            c.hurry(120 * harness.slow())
            assert c.end["type"] == "turn_complete" and c.end["stop_reason"] == "end_turn", c.end
            assert "".join(c.text) == wanted, f"{len(''.join(c.text))} of {len(wanted)} characters"
            c.process.stdin.close()
            while c.take(1 << 20):
                pass
            c.stream.end()
            assert c.process.wait(30 * harness.slow()) == 0


def interrupt_works(base, seconds):
    wanted, log = numbers(TOTAL), []
    with Server([{"text": wanted, "piece": PIECE}, {"text": "fine"}], log) as server:
        with begin(server, base, seconds) as c:
            asked = time.monotonic()
            c.send(type="interrupt")
            while not any(entry.get("closed_early") for entry in log):
                waited = time.monotonic() - asked
                assert waited < BOUND * harness.slow(), "the gateway still streams"
                c.take(RATE // 10)      # as slow as before
                time.sleep(0.01)
            print(f"the gateway was left {1000 * (time.monotonic() - asked):.0f} ms after the "
                  f"interrupt; peak {c.peak() / MB:.1f} MB")
            c.hurry(30 * harness.slow())
            assert c.end["stop_reason"] == "interrupted", c.end
            assert wanted.startswith("".join(c.text)), "the text is not the beginning"
            assert c.peak() < MEMORY
            c.end = None
            c.send(type="prompt", text="again")
            c.hurry(30 * harness.slow())
            assert c.end["stop_reason"] == "end_turn", c.end


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3
    passed = failed = 0
    with harness.private_place() as base:
        os.environ.update(harness.clean_env(base))
        for case in (nothing_is_lost, interrupt_works):
            try:
                case(base, seconds)
                passed += 1
            except (AssertionError, OSError, scaiflux_stream.Broken) as why:
                print(f"FAIL {case.__name__}: {str(why)[:500]}")
                failed += 1
        failed += bool(behind := harness.left_behind(base))
        print(*behind, sep="\n", end="\n" if behind else "")
    harness.finish(passed, failed)


main()
