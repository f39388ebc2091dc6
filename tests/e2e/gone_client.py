#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# LONG
"""A client that is gone or does not read: a ScaiFlux engine whose client was killed ends its turn
and its commands; SIGTERM, SIGINT and SIGHUP end every dialect within two seconds though nobody
reads what is left to say."""
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
from client import PROGRAM  # noqa: E402

BOUND_S = 2
SLEEP = {"rounds": [[{"call": "bash", "args": {"command": "echo $$ > pid; exec sleep 300"}}]]}
FLOOD = {"rounds": [[{"say": "word " * 400_000}]]}


def ndjson(*messages):
    return b"".join(json.dumps(m).encode() + b"\n" for m in messages)


def framed(*messages):
    return b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(m), m)
                    for m in (json.dumps(m).encode() for m in messages))


def is_there(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for(what, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if (value := what()):
            return value
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s")


def start(base, dialect, **names):
    env = dict(os.environ, TRIVET_MODEL=f"rehearsal/{base}/scenario.json")
    verb = {"scaiflux": "serve"}.get(dialect, "rpc")
    return subprocess.Popen([PROGRAM, dialect, verb], cwd=base, env=env, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **names)


def killed_client(base, stream):
    """The command says nothing, so nothing is written that could fail."""
    with open(f"{base}/scenario.json", "w", encoding="ascii") as file:
        json.dump(SLEEP, file)
    p = start(base, "scaiflux")
    p.stdout.readline()
    p.stdin.write(ndjson({"type": "prompt", "text": "go"}))
    p.stdin.flush()
    while b"permission_request" not in (line := p.stdout.readline()):
        assert line, "ended"
    request = json.loads(line)["request_id"]
    p.stdin.write(ndjson({"type": "permission_response", "request_id": request,
                          "decision": "allow"}))
    p.stdin.flush()
    def read_pid():
        try:
            with open(f"{base}/pid", encoding="ascii") as file:
                return file.read().strip()
        except OSError:
            return ""
    command = wait_for(read_pid, 10)
    if stream == "stdin":  # that alone means: finish the turn
        p.stdin.close()
        time.sleep(0.5)
        assert p.poll() is None and is_there(command), "ended although its output is read"
        p.stdout.close()
    else:
        p.stdout.close()
        p.stdin.close()
    p.wait(BOUND_S * harness.slow())
    wait_for(lambda: not is_there(command), 2)


def begin_flood(base, dialect):
    """A turn with much to say, to a client that has stopped reading."""
    with open(f"{base}/scenario.json", "w", encoding="ascii") as file:
        json.dump(FLOOD, file)
    p = start(base, dialect)
    def call(method, **params):
        return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    def read(text):
        got = b""
        while text not in got:
            more = os.read(p.stdout.fileno(), 4096)
            assert more, got
            got += more
        return got
    if dialect == "scaiflux":
        read(b"ready")
        p.stdin.write(ndjson({"type": "prompt", "text": "go"}))
    elif dialect == "loaf":
        p.stdin.write(ndjson(call("session.create")))
        p.stdin.flush()
        got = read(b'"session_id"').partition(b'"session_id":"')[2].partition(b'"')[0].decode()
        p.stdin.write(ndjson(call("session.send", session_id=got, text="go")))
    else:
        p.stdin.write(framed(call("sessions/create")))
        p.stdin.flush()
        got = read(b'"id":"').partition(b'"result":{"id":"')[2].partition(b'"')[0].decode()
        p.stdin.write(framed(call("turns/start", sessionId=got, input="go")))
    p.stdin.flush()
    time.sleep(0.7)
    return p


def unread(base, dialect, signo):
    p = begin_flood(base, dialect)
    watch = harness.Stopwatch()
    p.send_signal(signo)
    try:
        status = p.wait(20 * harness.slow())
    except subprocess.TimeoutExpired:
        p.kill()
        raise AssertionError("did not end") from None
    took = watch.seconds()
    assert took < BOUND_S, f"{took:.1f} s"
    assert status == (128 + signo if dialect == "scaiflux" else 0), status
    p.stdin.close()
    p.stdout.close()


def slow_reader(base):
    """One that reads, slowly, gets everything."""
    p = begin_flood(base, "scaiflux")
    p.send_signal(signal.SIGTERM)
    got = b""
    while (more := os.read(p.stdout.fileno(), 8192)):
        got += more
        time.sleep(0.1 if len(got) < 200_000 else 0)
    ends = [m for m in map(json.loads, got.splitlines()) if m["type"] == "turn_complete"]
    assert [m["stop_reason"] for m in ends] == ["interrupted"], ends
    assert p.wait(30) == 128 + signal.SIGTERM
    p.stdin.close()


def main():
    passed = failed = 0
    runs = [(killed_client, "stdin"), (killed_client, "both"), (slow_reader,)]
    runs += [(unread, dialect, signo) for dialect in ("loaf", "scaiflux", "kward")
             for signo in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)]
    with harness.private_place() as place:
        os.environ.update(harness.clean_env(place))
        for number, (test, *args) in enumerate(runs):
            base = os.path.join(place, str(number))
            os.mkdir(base)
            try:
                test(base, *args)
                passed += 1
            except (AssertionError, subprocess.TimeoutExpired) as why:
                print(f"FAIL {test.__name__} {args}: {str(why)[:300]}")
                failed += 1
        left = harness.left_behind(place)
        if left:
            print(f"FAIL left behind: {left}")
            failed += 1
    harness.finish(passed, failed)


if __name__ == "__main__":
    main()
