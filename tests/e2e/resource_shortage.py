#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# LONG ROUNDS: strace stops the program at system calls
"""Threads, memory, file size and watches that the system refuses: the turn is played without them,
fails with a reason, or the process ends with a sentence on stderr; never by a signal."""
import os
import resource
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
from client import Gone, Kward, Loaf, Scaiflux  # noqa: E402

ENV = {"TRIVET_MODEL": "rehearsal/echo"}
TEXT = "said " * 4000


def on_scaiflux(c):
    c.event("ready")
    c.send({"type": "prompt", "text": TEXT})
    return c.until(lambda m: m["type"] == "turn_complete" or (m["type"] == "error" and "turn_id" in m))


def on_loaf(c):
    session = c.call("session.create")["session_id"]
    c.call("session.send", {"session_id": session, "text": TEXT})
    return c.until(lambda m: m.get("params", {}).get("type") in ("session.completed", "session.error"))


def on_kward(c):
    session = c.call("sessions/create")["id"]
    turn = c.call("turns/start", {"sessionId": session, "input": TEXT})["id"]
    return c.event("turnFinished", turn)


def play(way, base, wrap, must_go):
    """A turn, or a refusal, and a clean end; or a sentence and status 1."""
    kind = {on_scaiflux: Scaiflux, on_loaf: Loaf, on_kward: Kward}[way]
    with kind(cwd=base, env=ENV, wrap=wrap) as c:
        try:
            end = way(c)
        except (Gone, RuntimeError) as why:
            end = why
        try:
            c.process.stdin.close()
        except BrokenPipeError:
            pass
        status = c.process.wait(30 * harness.slow())
        c.listener.join(2)
        said = c.stderr.decode(errors="replace")
        assert not must_go or (isinstance(end, dict) and status == 0), (status, end, said)
        is_loaded = "error while loading shared libraries" not in said
        assert status == 0 or not is_loaded or (status == 1 and "trivet: " in said), (status, said)
        assert "bug at" not in said, said
        return f"status {status}, {str(end)[:70]}"


def inject(call, error, when):
    return ("strace", "-f", "-qq", "-o", os.devnull, "-e", f"trace={call}",
            "-e", f"inject={call}:error={error}:when={when}")


def limited(kind, amount):
    return (sys.executable, "-c", "import os, resource, sys;"
            f"resource.setrlimit(resource.{kind}, ({amount}, {amount}));"
            "os.execv(sys.argv[1], sys.argv[1:])")


def cases():
    """Name, command around the program, whether the turn must be played all the same."""
    yield "no thread", inject("clone3", "EAGAIN", "1+"), True
    yield "threads refused later", inject("clone3", "EAGAIN", "2+"), False
    for n in (1, 2, 3, 4, 5, 6, 8, 10):
        yield f"watch {n} refused", inject("epoll_ctl", "ENOSPC", n), False
        yield f"watches refused from {n} on", inject("epoll_ctl", "ENOSPC", f"{n}+"), False
    for size in (0, 1000, 10000):
        yield f"files of {size} bytes", limited("RLIMIT_FSIZE", size), False
    for kilobytes in (4000, 5000, 5500, 6000, 6500, 7000, 8000, 16000, 40000, 50000):
        yield f"{kilobytes} KB of memory", limited("RLIMIT_AS", kilobytes << 10), False


def main():
    passed = failed = 0
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with harness.private_place() as place:
        os.environ.update(harness.clean_env(place))
        number = 0
        for name, wrap, must_go in cases():
            for way in (on_scaiflux, on_loaf, on_kward):
                base = os.path.join(place, f"w{number}")
                number += 1
                os.mkdir(base)
                try:
                    print(f"{way.__name__:12} {name:28} {play(way, base, wrap, must_go)}")
                    passed += 1
                except (AssertionError, OSError) as why:
                    print(f"FAIL {way.__name__} {name}: {str(why)[:400]}")
                    failed += 1
    harness.finish(passed, failed)


if __name__ == "__main__":
    main()
