#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# LONG
"""A loaf client that sends requests without end and reads no answers: memory stays bounded, and
when it reads at last every request is answered, in order."""
import json
import os
import resource
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
from client import Gone, Loaf  # noqa: E402

GETS = 700
PROMPTS = 400
LIMIT_MB = 200


class Moody(Loaf):
    """Reads only while it is allowed to."""

    def messages(self, stream):
        for message in super().messages(stream):
            yield message
            self.may_read.wait()


def request(number, method, **params):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method,
                       "params": params}).encode() + b"\n"


def check_flood(base):
    Moody.may_read = threading.Event()
    Moody.may_read.set()
    with Moody(cwd=base, env={"TRIVET_MODEL": "rehearsal/echo"}) as c:
        session = c.call("session.create")["session_id"]
        c.turn(session, "x" * 500_000)
        Moody.may_read.clear()
        lines = [request(1000 + i, "session.send", session_id=session, text=f"p{i}", enqueue=True)
                 for i in range(PROMPTS)]
        lines += [request(10000 + i, "session.get", session_id=session) for i in range(GETS)]
        threading.Thread(target=c.process.stdin.write, args=(b"".join(lines),), daemon=True).start()
        most, end = 0, time.monotonic() + 5
        while time.monotonic() < end:
            most = max(most, c.memory())
            time.sleep(0.02)
        print(f"{most >> 20} MB at the most")
        assert most < LIMIT_MB << 20, f"{most >> 20} MB"
        Moody.may_read.set()
        want = list(range(10000, 10000 + GETS))
        while want:
            answer = c.until(lambda m: m.get("id", 0) >= 10000)
            assert answer["id"] == want.pop(0) and "result" in answer, answer["id"]
            c.heard.clear()
        c.kill()


def main():
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    failed = 0
    with harness.private_place() as place:
        os.environ.update(harness.clean_env(place))
        try:
            check_flood(place)
        except (AssertionError, Gone) as why:
            print(f"FAIL {str(why)[:800]}")
            failed = 1
    harness.finish(1 - failed, failed)


if __name__ == "__main__":
    main()
