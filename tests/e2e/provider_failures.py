#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a failing provider costs in each dialect: how many requests, how many seconds of waiting, what
the client is shown.

    tests/e2e/provider_failures.py [--write] [--long] [WORD...]    only what contains a WORD

Every cell is a turn of the real program against a server that fails in the same way again and again.
The seconds are the waits that the program logs before its retries, so that they do not depend on the
speed of the machine; a turn must last at least as long.
The tables stand in docs/providers.md; --write puts them there, otherwise they must be the same.  The
failures in SLOW take more than a minute and are measured with --long; otherwise their lines are
taken from the page.
"""
import concurrent.futures
import contextlib
import json
import os
import re
import socket
import ssl
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "fake")]
import harness  # noqa: E402
import page  # noqa: E402
from client import Gone, Kward, Loaf, Scaiflux  # noqa: E402
from provider import Server  # noqa: E402

KEY = "sk-failures-27182818"
WORKERS = 24
PATIENCE = 600 * harness.slow()
BUSY = {"error": {"message": "The engine is overloaded", "type": "server_error"}}
LIMIT = {"error": {"message": "Rate limit reached", "type": "tokens", "code": "rate_limit_exceeded"}}
QUOTA = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
MODELS = {"chat": "openai/any", "responses": "openai-responses/any", "messages": "anthropic/any",
          "antigravity": "antigravity/any"}


# ---- failures: name -> (format, reply of the fake provider, further environment)

def reported(event):
    return {"chunks": [event], "finish": None, "no_done": True}


FAILURES = {
    "HTTP 500": ("chat", {"status": 500, "body": BUSY}, {}),
    "HTTP 503 without a body": ("chat", {"status": 503, "body": ""}, {}),
    "HTTP 503, Retry-After: 90": ("chat", {"status": 503, "body": BUSY,
                                           "headers": {"Retry-After": "90"}}, {}),
    "HTTP 500, x-should-retry: false": ("chat", {"status": 500, "body": BUSY,
                                                 "headers": {"x-should-retry": "false"}}, {}),
    "HTTP 529": ("messages", {"status": 529, "body": {"type": "error", "error": {
        "type": "overloaded_error", "message": "Overloaded"}}}, {}),
    "HTTP 408": ("chat", {"status": 408, "body": {"error": {"message": "Too slow"}}}, {}),
    "HTTP 429, retry-after-ms: 20": ("chat", {"status": 429, "body": LIMIT,
                                              "headers": {"retry-after-ms": "20"}}, {}),
    "HTTP 429": ("chat", {"status": 429, "body": LIMIT}, {}),
    "HTTP 429, the quota is used up": ("chat", {"status": 429, "body": QUOTA}, {}),
    "HTTP 400": ("chat", {"status": 400, "body": {"error": {"message": "Bad field: top_q"}}}, {}),
    "HTTP 401": ("chat", {"status": 401, "body": {"error": {"message": "Bad key " + KEY}}}, {}),
    "HTTP 500 from Antigravity": ("antigravity", {"status": 500, "body": BUSY}, {}),
    "200, an error as the body": ("chat", {"body": BUSY}, {}),
    "200, an error event": ("chat", reported(BUSY), {}),
    "200, an error event without a known type": ("chat", reported({"error": "out of memory"}), {}),
    "200, an error event about a rate limit, retry in 20ms": ("chat", reported({"error": {
        "message": "Rate limit reached, try again in 20ms", "code": "rate_limit_exceeded"}}), {}),
    "200, overloaded_error event": ("messages", reported({"type": "error", "error": {
        "type": "overloaded_error", "message": "Overloaded"}}), {}),
    "200, response.failed": ("responses", {"finish": {"code": "server_error",
                                                      "message": "The model crashed"}}, {}),
    "200, an error event of Responses": ("responses", {"error": {"code": "server_error",
                                                                "message": "The model crashed"}}, {}),
    "200, a web page": ("chat", {"body": "<html>no</html>", "content_type": "text/html"}, {}),
    "an event that is not JSON": ("chat", {"chunks": ["data: {broken\n\n"]}, {}),
    "the stream ends before any text": ("chat", {"text": "x", "cut_after": 0}, {}),
    "the stream ends after some text": ("chat", {"text": "Half", "piece": 9, "cut_after": 2}, {}),
    "silence before any text (TRIVET_STALL_MS=200)": (
        "chat", {"text": "x", "stall_after": 0}, {"TRIVET_STALL_MS": "200"}),
    "the connection is reset": ("chat", {"refuse": True}, {}),
    "the connection is refused": ("chat", {}, {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}),
    "no HTTP": ("chat", "raw", {}),
    "a certificate that is not trusted": ("chat", "tls", {}),
    "a proxy address that is none": ("chat", {}, {"http_proxy": "http://me:pass@[::bad",
                                                  "no_proxy": ""}),
}
SLOW = ("HTTP 429",)


class Raw:
    """Sends the same bytes to everybody, over TLS if it has a certificate."""

    def __init__(self, answer, certificate=None):
        self.answer, self.log, self.context = answer, [], None
        if certificate:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(certificate)
        self.sock = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.sock.getsockname()[1]

    def run(self):
        while True:
            try:
                sock, _ = self.sock.accept()
            except OSError:
                return
            with contextlib.suppress(OSError), sock:
                if self.context:
                    self.log.append({"method": "POST", "path": "?"})  # nothing can be read
                    self.context.wrap_socket(sock, server_side=True).close()
                    continue
                method, path = sock.recv(65536).split(b" ")[:2]
                self.log.append({"method": method.decode(), "path": path.decode()})
                sock.sendall(self.answer)

    def __enter__(self):
        threading.Thread(target=self.run, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()


def server_of(reply):
    if reply == "raw":
        return Raw(b"220 mail.example ESMTP\r\n")
    if reply == "tls":
        return Raw(b"", os.path.join(os.path.dirname(HERE), "fake", "tls.pem"))
    return Server([{**reply, "repeat": True}])


# ---- dialects: what a client sees of a turn that fails


def repeats(items):
    """a, a, b -> ['a twice', 'b']"""
    found = []
    for item in items:
        if found and found[-1][0] == item:
            found[-1][1] += 1
        else:
            found.append([item, 1])
    return [f"{item} {'twice' if n == 2 else f'{n} times'}" if n > 1 else item for item, n in found]


def see_loaf(base, env, settle):
    with Loaf(cwd=base, env=env) as c:
        session = c.call("session.create")["session_id"]
        settle()
        begun, seen, ends = time.monotonic(), [], []
        c.ask("session.send", {"session_id": session, "text": "go"})
        while True:
            m = c.next(PATIENCE).get("params", {})
            body = m.get("payload", {})
            if m.get("type") == "session.status" and "retrying" in body["status_label"]:
                seen.append("`" + re.sub(r"\(\d+/", "(n/", body["status_label"]) + "`")
            elif m.get("type") in ("session.completed", "session.error", "session.interrupted"):
                ends.append(m["type"])
                seen.append(f"`{body['message']}`")
            elif m.get("type") == "session.status" and body["status_label"] == "ready" and ends:
                break
        took = time.monotonic() - begun
        assert ends == ["session.error"], ends
        assert c.close() == 0
        return took, seen, c.heard


def see_scaiflux(base, env, settle):
    with Scaiflux(["--model", env["TRIVET_MODEL"]], cwd=base, env=env) as c:
        c.event("ready")
        settle()
        begun = time.monotonic()
        end = c.turn("go", PATIENCE).end
        took = time.monotonic() - begun
        assert end["type"] == "error", end
        assert c.close() == 0
        return took, [f"{end['code']}: `{end['message']}`"], c.heard


def see_kward(base, env, settle):
    with Kward(cwd=base, env=env) as c:
        session = c.call("sessions/create")["id"]
        settle()
        begun = time.monotonic()
        turn = c.call("turns/start", {"sessionId": session, "input": "go"})["id"]
        end = c.event("turnFinished", turn, PATIENCE)["payload"]
        took = time.monotonic() - begun
        retries = [m["params"]["payload"] for m in c.heard if m.get("method") == "turn/event"
                   and m["params"]["type"] == "modelRetry"]
        assert [r["attempt"] for r in retries] == list(range(2, len(retries) + 2)), retries
        assert end["status"] == "failed", end
        assert c.close() == 0
        seen = [f"modelRetry `{r['error']}`" for r in retries]
        return took, [*seen, f"{end['error']['code']}: `{end['error']['message']}`"], c.heard


DIALECTS = {"loaf": see_loaf, "scaiflux": see_scaiflux, "kward": see_kward}


def span(seconds):
    for limit, words in ((0.9, "below 1"), (2.4, "1 to 2"), (6, "3 to 4"), (70, "too long"),
                         (90, "about 80")):
        if seconds < limit:
            return words
    return "too long"


def waits(log):
    """Seconds that the program waited before its retries."""
    with open(log, encoding="utf-8") as file:
        entries = [json.loads(line) for line in file]
    return sum(e["ms"] for e in entries if e.get("what") == "retry") / 1000


def is_of_turn(entry):
    """The program also asks for lists of models, at its start."""
    return entry.get("method") == "POST" and not entry["path"].endswith(":fetchAvailableModels")


def forget_lists(log):
    """Where TLS hides what is asked, the lists are over when nothing more comes."""
    n = -1
    while n != len(log):
        n = len(log)
        time.sleep(1 * harness.slow())
    log.clear()


def cell(dialect, failure, base):
    """A line of the table."""
    form, reply, more = FAILURES[failure]
    workspace = tempfile.mkdtemp(prefix="failure-", dir=base)
    with server_of(reply) as server:
        root = f"http{'s' if reply == 'tls' else ''}://127.0.0.1:{server.port}"
        env = {"TRIVET_MODEL": MODELS[form], "OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY,
               "OPENAI_BASE_URL": f"{root}/v1", "ANTHROPIC_BASE_URL": f"{root}/v1",
               "ANTIGRAVITY_ACCESS_TOKEN": KEY, "ANTIGRAVITY_PROJECT": "p",
               "ANTIGRAVITY_BASE_URL": root, "TRIVET_LOG_FILE": f"{workspace}.jsonl", **more}
        took, seen, heard = DIALECTS[dialect](
            workspace, env, lambda: reply == "tls" and forget_lists(server.log))
        requests = sum(is_of_turn(entry) for entry in server.log)
    waited = waits(f"{workspace}.jsonl")
    assert took >= waited, f"took {took} s, but the waits are {waited} s"
    assert KEY not in str(heard) and "me:pass" not in str(heard), "a secret was sent"
    if "127.0.0.1:1/" in str(more) or "proxy" in str(more):
        requests = "none"
    output = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", ", then ".join(repeats(
        re.sub(r" after \d+ ms", "", item) for item in seen)))
    return f"| {failure} | {requests} | {span(waited)} | {output.replace('|', chr(92) + '|')} |"


def lines_of_page(dialect):
    with open(os.path.join(harness.TOP, "docs", "providers.md"), encoding="utf-8") as file:
        text = file.read()
    part = re.search(rf"<!-- made: failures of {dialect} -->(.*?)<!-- end", text, re.S)[1]
    return {line.split(" | ")[0].lstrip("| "): line for line in part.splitlines()}


def main():
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    is_written, is_long = "--write" in sys.argv, "--long" in sys.argv
    wanted = [(d, f) for d in DIALECTS for f in FAILURES
              if (not words or any(w in d or w in f for w in words))
              and (f not in SLOW or is_long)]
    lines, failed = {}, 0
    with harness.private_place() as base:
        os.environ.update(harness.clean_env(base))
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            jobs = {pool.submit(cell, d, f, base): (d, f)
                    for d, f in sorted(wanted, key=lambda job: job[1] not in SLOW)}
            for job in concurrent.futures.as_completed(jobs):
                try:
                    lines[jobs[job]] = job.result()
                except (AssertionError, Gone, KeyError, OSError) as why:
                    print(f"{', '.join(jobs[job])}: FAILED: {str(why)[:600]}")
                    failed += 1
    if words:
        print("\n".join(lines.values()))
    else:
        parts = {}
        for dialect in DIALECTS:
            old = lines_of_page(dialect)
            parts[f"failures of {dialect}"] = (
                "| failure | requests | seconds | what the client saw |\n|---|---|---|---|\n"
                + "\n".join(lines.get((dialect, f), old.get(f, "")) for f in FAILURES))
        failed += not page.put("providers.md", parts, is_written and not failed)
    harness.finish(len(lines), failed)


main()
