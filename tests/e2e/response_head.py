#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# LONG
"""A server that breaks its response at every byte of the head and of the first body bytes.

    tests/e2e/response_head.py [--long] [WORD...]    only dialects and ways that contain a WORD

The ways: the connection is closed at the position, it is reset, everything from the position on is
garbage, or only the byte at the position is.  Each is tried with a chunked response, and with --long
also with one that ends with the connection, one behind a `100 Continue`, an error response, and with
good turns between all bad ones instead of a few.  In every dialect each broken turn has exactly one
terminal event, the process lives, and a later prompt is answered.

The other users of HTTP (lists of models, tools, sign-in) share one function and are swept in
tests/unit/test_http_faults.c.
"""
import os
import random
import socket
import struct
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "fake")]
import harness  # noqa: E402
from client import Gone, Kward, Loaf, Scaiflux  # noqa: E402

BODY_BYTES = 40  # of the body that are cut as well
BODY = (b'data: {"choices":[{"delta":{"content":"fine"},"finish_reason":"stop"}]}\n\n'
        b"data: [DONE]\n\n")
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
SHORT = [("chunked", CHUNKED)]
LONG = SHORT + [
    ("until close", HEAD + b"Connection: close\r\n\r\n" + BODY),
    ("with length", HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(BODY), BODY)),
    ("behind 100", b"HTTP/1.1 100 Continue\r\n\r\n" + CHUNKED),
    ("error", b'HTTP/1.1 503 Busy\r\nContent-Type: application/json\r\nContent-Length: 32\r\n\r\n'
              b'{"error":{"message":"overload"}}'),
]
WAYS = ("close", "reset", "garbage", "byte")
EVERY = 16  # a good turn after so many bad ones
PATIENCE = 20 * harness.slow()
ENV = {"OPENAI_API_KEY": "key-of-heads-1", "TRIVET_RETRY_MS": "1", "TRIVET_STALL_MS": "5000"}


class Server:
    """Answers every request with `answer`, then closes, or resets when `is_reset`."""

    def __init__(self):
        self.answer, self.is_reset, self.n_requests = CHUNKED, False, 0
        self.sock = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.sock.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                sock, _ = self.sock.accept()
            except OSError:
                return
            try:
                self.serve(sock)
            except OSError:
                pass
            sock.close()

    def serve(self, sock):
        sock.settimeout(PATIENCE)
        inbox = b""
        while b"\r\n\r\n" not in inbox:
            inbox += self.more(sock)
        head, _, body = inbox.partition(b"\r\n\r\n")
        if head.startswith(b"GET "):  # for the list of models
            sock.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            return
        length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n")
                      if line.lower().startswith(b"content-length:"))
        while len(body) < length:
            body += self.more(sock)
        self.n_requests += 1
        is_reset = self.is_reset
        sock.sendall(self.answer)
        if is_reset:
            time.sleep(0.001)  # the bytes first
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    @staticmethod
    def more(sock):
        data = sock.recv(65536)
        if not data:
            raise OSError("the client went")
        return data

    def set(self, answer, is_reset=False):
        self.answer, self.is_reset = answer, is_reset


def broken(answer, way, at, dice):
    if way in ("close", "reset"):
        return answer[:at]
    if way == "garbage":
        return answer[:at] + bytes(dice.choice(b"\0\r\n :;/HT19\x7f\xff") for _ in range(48))
    return answer[:at] + bytes([dice.choice(b"\0\r\n :9\xff")]) + answer[at + 1:]


# ---- the dialects: play() returns the terminal events of a turn, in order


class LoafSide:
    name, ends = "loaf", ("session.completed", "session.error", "session.interrupted")

    def __init__(self, base, env):
        self.c = Loaf(cwd=base, env={**env, "TRIVET_MODEL": "openai/any"})
        self.session = self.c.call("session.create")["session_id"]

    def play(self):
        self.c.ask("session.send", {"session_id": self.session, "text": "go"})
        ends = []
        while True:
            m = self.c.next(PATIENCE).get("params", {})
            if m.get("type") in self.ends:
                ends.append(m["type"])
            if (m.get("type") == "session.status" and ends
                    and m["payload"]["status_label"] == "ready"):
                return ends

    def is_good(self, ends):
        return ends == ["session.completed"]


class ScaifluxSide:
    name = "scaiflux"

    def __init__(self, base, env):
        self.c = Scaiflux(["--model", "openai/any"], cwd=base, env=env)
        self.c.event("ready")

    def play(self):
        return [self.c.turn("go", PATIENCE).end["type"]]  # more than one breaks the stream's order

    def is_good(self, ends):
        return ends == ["turn_complete"]


class KwardSide:
    name = "kward"

    def __init__(self, base, env):
        self.c = Kward(cwd=base, env={**env, "TRIVET_MODEL": "openai/any"})
        self.session = self.c.call("sessions/create")["id"]

    def play(self):
        before = len(self.c.heard)
        turn = self.c.call("turns/start", {"sessionId": self.session, "input": "go"})["id"]
        self.c.event("turnFinished", turn, PATIENCE)
        return [m["params"]["payload"]["status"] for m in self.c.heard[before:]
                if m.get("method") == "turn/event" and m["params"]["type"] == "turnFinished"]

    def is_good(self, ends):
        return ends == ["completed"]


SIDES = (LoafSide, ScaifluxSide, KwardSide)


def good_turn(side, server):
    server.set(CHUNKED)
    ends = side.play()
    assert side.is_good(ends), f"a good response behind it gives {ends}"


def sweep(make, way, base, responses, every):
    """Returns the number of turns."""
    server, dice, n = Server(), random.Random(19), 0
    env = {**ENV, "OPENAI_BASE_URL": f"http://127.0.0.1:{server.port}/v1"}
    side = make(base, env)
    with side.c:
        for name, answer in responses:
            for at in range(answer.index(b"\r\n\r\n") + 4 + BODY_BYTES):
                server.set(broken(answer, way, at, dice), way == "reset")
                try:
                    ends = side.play()
                    assert len(ends) == 1, f"{len(ends)} terminal events"
                    side.c.heard.clear()
                    n += 1
                    if n % every == 0:
                        good_turn(side, server)
                except (AssertionError, Gone) as why:
                    raise AssertionError(f"{name}, byte {at} {server.answer[-60:]}: {why}") from None
        good_turn(side, server)
        status = side.c.close()
        noise = harness.without_noise(side.c.stderr.decode(errors="replace"))
        assert status == 0 and not noise, f"status {status}, {noise[:500]}"
    server.sock.close()
    return n


def main():
    words = [word for word in sys.argv[1:] if word != "--long"]
    is_long = "--long" in sys.argv
    passed = failed = 0
    for make in SIDES:
        for way in WAYS:
            title = f"{make.name}, {way}"
            if words and not any(word in title for word in words):
                continue
            begun = time.monotonic()
            with harness.private_place() as base:
                os.environ.update(harness.clean_env(base))
                try:
                    n = sweep(make, way, base, LONG if is_long else SHORT, 1 if is_long else EVERY)
                    print(f"{title}: {n} turns ({time.monotonic() - begun:.1f} s)")
                    passed += 1
                except (AssertionError, Gone) as why:
                    print(f"{title}: FAILED: {str(why)[:700]}")
                    failed += 1
    harness.finish(passed, failed)


main()
