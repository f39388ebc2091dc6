# SPDX-License-Identifier: MIT
"""Small clients for the three dialects, for tests and benchmarks: the real program, real pipes.

    with Scaiflux(["--model", "rehearsal/hello"], cwd=workspace) as c:
        c.send({"type": "prompt", "text": "hello"})
        c.until(lambda m: m["type"] == "turn_complete")

`until` returns the message that fits and keeps everything received in `c.heard`; `wrap` is a command
that runs the program (strace).
"""
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rpc_stream  # noqa: E402
import scaiflux_stream  # noqa: E402
import evidence  # noqa: E402
import harness  # noqa: E402

PROGRAM = os.environ.get("TRIVET") or os.path.join(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "build", "trivet")


# How long a message is waited for.  It only ends a test that hangs, so it is long enough for a machine
# on which much else runs.
PATIENCE_S = 300 * harness.slow()


class Outcome:
    """What a client saw of one turn."""

    def __init__(self):
        self.text = self.thoughts = ""
        self.calls, self.results = [], []  # (id, name, input) and (id, output, is_error)
        self.end = None                    # the message that ended it
        self.code = None                   # of the error, if it ended in one


class Gone(Exception):
    """The program ended (or stayed silent) before the awaited message came."""


class Client:
    args = ()
    is_checked = True  # every message, against the schema of the program

    def __init__(self, args=(), cwd=None, env=None, wrap=()):
        self.heard = []
        self.inbox = queue.SimpleQueue()
        full = dict(os.environ, **(env or {}))
        self.process = subprocess.Popen([*wrap, PROGRAM, *self.args, *args], cwd=cwd, env=full,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, start_new_session=bool(wrap))
        self.is_wrapped = bool(wrap)
        evidence.note_environment(env or {})
        threading.Thread(target=self._read, daemon=True).start()
        self.stderr = b""
        self.listener = threading.Thread(target=self._read_stderr, daemon=True)
        self.listener.start()

    def _read(self):
        try:
            for message in self.messages(evidence.Copied(self.process.stdout, "stdout")):
                self.inbox.put((time.monotonic(), message))
        except (OSError, ValueError):
            pass
        except (scaiflux_stream.Broken, rpc_stream.Broken) as error:
            self.inbox.put((time.monotonic(), error))
        self.inbox.put((time.monotonic(), None))

    def _read_stderr(self):
        self.stderr = evidence.Copied(self.process.stderr, "stderr").read()

    def messages(self, stream):
        for line in stream:
            yield json.loads(line)

    def frame(self, body):
        return body + b"\n"

    def send(self, message):
        try:
            self.process.stdin.write(self.frame(json.dumps(message).encode()))
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            raise Gone("the program does not read any more") from None

    def next(self, timeout=PATIENCE_S):
        try:
            when, message = self.inbox.get(timeout=timeout)
        except queue.Empty:
            raise Gone(f"nothing came for {timeout} s; last: {self.heard[-3:]}") from None
        if message is None:
            self.inbox.put((when, None))
            raise Gone(f"the program ended; stderr: {self.stderr.decode(errors='replace')}")
        if isinstance(message, Exception):
            raise message
        self.last_time = when
        self.heard.append(message)
        return message

    def until(self, fits, timeout=PATIENCE_S):
        end = time.monotonic() + timeout
        while True:
            message = self.next(max(0.01, end - time.monotonic()))
            if fits(message):
                return message

    def kill(self):
        if self.is_wrapped:  # a tracer that is killed lets the program go
            os.killpg(self.process.pid, signal.SIGKILL)
        else:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def close(self, timeout=PATIENCE_S):
        """Closes stdin and returns the exit status."""
        self.process.stdin.close()
        status = self.process.wait(timeout)
        self.listener.join(1)
        return status

    def memory(self):
        """Resident bytes of the program."""
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                stream.close()
            except BrokenPipeError:
                pass


class Rpc(Client):
    """What loaf and Kward share: requests with ids.  Every message is checked against the schema
    of the program; one that does not fit is the last one heard, as the exception `next` raises.
    Benches leave the check out: it takes longer than what they measure."""

    def __init__(self, *args, **names):
        self.last_id = 0
        self.stream = rpc_stream.Stream(PROGRAM, self.args[0])
        super().__init__(*args, **names)

    def send(self, message):
        self.stream.sent(message)
        super().send(message)

    def messages(self, stream):
        for message in self.parse(stream):
            if self.is_checked:
                self.stream.take(message)
            yield message

    def parse(self, stream):
        return super().messages(stream)

    def ask(self, method, params=None):
        self.last_id += 1
        message = {"jsonrpc": "2.0", "id": self.last_id, "method": method}
        if params is not None:
            message["params"] = params
        self.send(message)
        return self.last_id

    def call(self, method, params=None, timeout=PATIENCE_S):
        """Asks and returns the result; an error answer raises."""
        number = self.ask(method, params)
        answer = self.until(lambda m: m.get("id") == number, timeout)
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        return answer["result"]


class Loaf(Rpc):
    args = ("loaf", "rpc")

    def event(self, kind, session=None, timeout=PATIENCE_S, **payload):
        """The next event of this type whose payload has these members."""
        def fits(m):
            p = m.get("params", {})
            body = p.get("payload", {})
            return (m.get("method") == "event" and p.get("type") == kind
                    and (session is None or body.get("session_id") == session)
                    and all(body.get(k) == v for k, v in payload.items()))
        return self.until(fits, timeout)["params"]["payload"]


    def turn(self, session, text, images=(), timeout=PATIENCE_S):
        """Plays a whole turn of a session."""
        params = {"session_id": session, "text": text}
        if images:
            params["images"] = [{"data_url": url} for url in images]
        self.ask("session.send", params)
        seen, end = Outcome(), time.monotonic() + timeout
        while True:
            m = self.next(max(0.01, end - time.monotonic())).get("params", {})
            kind, body = m.get("type"), m.get("payload", {})
            if kind == "session.stream.chunk":
                seen.text += body["text"]
                seen.thoughts += "".join(s["text"] for s in body["chunk"]["segments"]
                                         if s["kind"] == "thought")
            elif kind in ("session.completed", "session.error", "session.interrupted"):
                seen.end, seen.code = body, body.get("code")
            elif kind == "session.status" and body["status_label"] == "ready" and seen.end:
                return seen


class Scaiflux(Client):
    """Every line is checked against the schema and the order of events; a line that is not allowed
    is the last one heard, as the exception `next` raises."""
    args = ("scaiflux", "serve")

    def __init__(self, *args, **names):
        self.stream = scaiflux_stream.Stream()
        super().__init__(*args, **names)

    def messages(self, stream):
        for line in stream:
            message = json.loads(line)
            if self.is_checked:
                self.stream.take(message)
            yield message

    def event(self, kind, timeout=PATIENCE_S):
        return self.until(lambda m: m["type"] == kind, timeout)

    def turn(self, text, timeout=PATIENCE_S):
        """Plays a whole turn; every call is allowed."""
        self.send({"type": "prompt", "text": text})
        return self.rest_of_turn(timeout)

    def rest_of_turn(self, timeout=PATIENCE_S):
        seen, end = Outcome(), time.monotonic() + timeout
        while seen.end is None:
            m = self.next(max(0.01, end - time.monotonic()))
            if m["type"] == "text_delta":
                seen.text += m["delta"]
            elif m["type"] == "permission_request":
                self.send({"type": "permission_response", "request_id": m["request_id"],
                           "decision": "allow"})
            elif m["type"] == "tool_start":
                seen.calls.append((m["tool_id"], m["name"], m["input"]))
            elif m["type"] == "tool_result":
                seen.results.append((m["tool_id"], m["output"], m["is_error"]))
            elif m["type"] == "turn_complete" or (m["type"] == "error" and "turn_id" in m):
                seen.end, seen.code = m, m.get("code")
        return seen


class Kward(Rpc):
    args = ("kward", "rpc")

    def parse(self, stream):
        while True:
            length = 0
            while (line := stream.readline()) not in (b"\r\n", b""):
                length = int(line.partition(b":")[2])
            body = stream.read(length) if line else b""
            if not body or len(body) < length:
                return
            yield json.loads(body)

    def frame(self, body):
        return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)

    def event(self, kind, turn=None, timeout=PATIENCE_S):
        return self.until(lambda m: m.get("method") == "turn/event" and m["params"]["type"] == kind
                          and turn in (None, m["params"]["turnId"]), timeout)["params"]
