#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# NEEDS: npm
"""Vendors against @copilotkit/aimock, a mock server that nobody here wrote: what the client sees.

    tests/e2e/aimock.py [--write] [WORD...]     only vendors and cells that are a WORD

aimock takes fixtures: which request gets which answer.  It serves all formats from the same ones,
so one list made of all cells and vendors serves the whole run; the user's text ("429/gemini.") finds
the fixture.  It keeps a journal of requests, in its own words.  The table stands in
docs/providers.md like that of vendors.py.
"""
import concurrent.futures
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import harness  # noqa: E402
import page  # noqa: E402
from client import Gone, Loaf, Scaiflux  # noqa: E402
from formats import VENDORS  # noqa: E402

NAMES = ("openai", "openrouter", "openai-responses", "codex", "anthropic", "gemini")
KEY = "sk-aimock-31415926535"
TEXT = "Grüße, 世界: a 🎉 of 3 words."
LONG = "one two three four five six seven"  # aimock tears characters apart in small pieces
PICTURE = "data:image/png;base64,iVBORw0KGgo="
CALL = {"id": "call_1", "name": "read_file", "arguments": {"path": "in.txt"}}
OTHER_CALL = {"id": "call_2", "name": "glob_search", "arguments": {"pattern": "*.txt"}}
BIN = os.path.join(harness.TOP, "build", "npm", "node_modules", ".bin")


# ---- aimock


def answer(said, response, **more):
    """A fixture; members of `match` are named by their own names."""
    match = {"userMessage": said}
    for name in ("hasToolResult", "sequenceIndex"):
        if name in more:
            match[name] = more.pop(name)
    return {"match": match, "response": response, **more}


def failure(status, message, kind, **more):
    return {"error": {"message": message, "type": kind}, "status": status, **more}


def tool_answers(said, response):
    return [answer(said, response, hasToolResult=False),
            answer(said, {"content": TEXT}, hasToolResult=True)]


def once(said, response):
    """First this, then well."""
    return [answer(said, response, sequenceIndex=0),
            answer(said, {"content": TEXT}, sequenceIndex=1)]


@contextlib.contextmanager
def running(fixtures, base):
    """aimock with these fixtures; gives its port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    path = os.path.join(base, "fixtures.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"fixtures": fixtures}, file)
    env = dict(os.environ, PATH=f"{BIN}:{os.environ['PATH']}", AIMOCK_API_KEYS=KEY)
    log = tempfile.TemporaryFile()
    process = subprocess.Popen([os.path.join(BIN, "llmock"), "-p", str(port), "-f", path,
                                "--strict", "--validate-on-load", "--log-level", "warn"], env=env,
                               stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        wait_ready(process, port, log)
        yield port
    finally:
        process.kill()
        process.wait()


def wait_ready(process, port, log):
    end = time.monotonic() + 30 * harness.slow()
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), 1):
                return
        except OSError:
            if process.poll() is None and time.monotonic() < end:
                time.sleep(0.05)
                continue
        log.seek(0)
        raise SystemExit(f"aimock does not start: {log.read().decode(errors='replace')}")


# ---- a cell


class Stage:
    def __init__(self, vendor, cell, port, base):
        self.vendor, self.port = vendor, port
        self.said = f"{cell}/{vendor.name}."
        self.workspace = tempfile.mkdtemp(prefix="cell-", dir=base)
        with open(os.path.join(self.workspace, "in.txt"), "w", encoding="utf-8") as file:
            file.write("alpha\n")

    @contextlib.contextmanager
    def play(self, client=Scaiflux, key=KEY, **env):
        base = {"codex": "/v1"}.get(self.vendor.name, self.vendor.base)
        full = {**self.vendor.env(self.port, key), **env}
        full[self.vendor.env_base] = f"http://127.0.0.1:{self.port}{base}"
        if client is Loaf:
            full["TRIVET_MODEL"] = self.vendor.slug
        args = [] if client is Loaf else ["--model", self.vendor.slug]
        with client(args, cwd=self.workspace, env=full) as c:
            if client is Scaiflux:
                c.event("ready")
            yield c
            status = c.close()
            assert status == 0 and not c.stderr, f"exit status {status}: {c.stderr!r}"
            assert key not in json.dumps(c.heard), "the key was sent"

    def requests(self):
        """The journal's bodies of requests with our text, without those it refused."""
        url = f"http://127.0.0.1:{self.port}/__aimock/journal"
        asked = urllib.request.Request(url, headers={"Authorization": f"Bearer {KEY}"})
        with urllib.request.urlopen(asked, timeout=30) as got:
            entries = json.load(got)
        entries = entries if isinstance(entries, list) else entries["entries"]
        return [e["body"] for e in entries if self.said in json.dumps(e.get("body"))]

    def usage(self):
        folder = os.path.join(self.workspace, ".scaiflux", "sessions")
        (name,) = os.listdir(folder)
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            records = [json.loads(line) for line in file]
        return [r["message"]["usage"] for r in records
                if r["type"] == "message" and "usage" in r["message"]][-1]


def same(got, wanted):
    assert got == wanted, f"{str(got)[:300]} instead of {str(wanted)[:300]}"


def well(stage, n_requests, **env):
    with stage.play(**env) as c:
        seen = c.turn(stage.said)
        same((seen.text, seen.code), (TEXT, None))
    same(len(stage.requests()), n_requests)
    return seen


def text(stage):
    well(stage, 1)


def reasoning(stage):
    with stage.play(Loaf) as c:
        session = c.call("session.create")["session_id"]
        seen = c.turn(session, stage.said)
        same((seen.thoughts, seen.text), ("Think first.", TEXT))


def image(stage):
    with stage.play(Loaf) as c:
        session = c.call("session.create")["session_id"]
        same(c.turn(session, stage.said, [PICTURE]).text, TEXT)
    (body,) = stage.requests()
    assert "iVBORw0KGgo=" in json.dumps(body), body["messages"]


def one_call(stage):
    with stage.play() as c:
        seen = c.turn(stage.said)
        same([call[1:] for call in seen.calls], [("read_file", {"path": "in.txt"})])
        same((seen.text, seen.results[0][2]), (TEXT, False))
    assert "alpha" in json.dumps(stage.requests()[1]), "no result"


def parallel(stage):
    with stage.play() as c:
        seen = c.turn(stage.said)
        same([call[1:] for call in seen.calls], [("read_file", {"path": "in.txt"}),
                                                 ("glob_search", {"pattern": "*.txt"})])
        same(seen.text, "Look. " + TEXT)
    same(len([m for m in stage.requests()[1]["messages"] if m["role"] == "tool"]), 2)


def usage(stage):
    end = well(stage, 1).end
    same((end["input_tokens"], end["output_tokens"]), (1000, 50))


def cost(stage):
    well(stage, 1)
    same(stage.usage()["cost"], 0.125)


def interrupt(stage):
    with stage.play() as c:
        c.send({"type": "prompt", "text": stage.said})
        c.event("text_delta")
        watch = harness.Stopwatch()
        c.send({"type": "interrupt"})
        same(c.rest_of_turn().end.get("stop_reason"), "interrupted")
        assert watch.seconds() < 0.5


def overflow(stage):
    with stage.play() as c:
        same(c.turn(f"before {stage.said}").text, "First.")
        seen = c.turn(stage.said)
        same((seen.text, seen.code), (TEXT, None))


def unauthorized(stage):
    with stage.play(key="sk-wrong-2718281828") as c:
        same(c.turn(stage.said).code, "auth_failed")


def tried_again(stage):
    well(stage, 2)


def cut(stage):
    with stage.play() as c:
        seen = c.turn(stage.said)
        same(seen.code, "stream_interrupted")
        assert seen.text and LONG.startswith(seen.text), seen.text


def disconnected(stage):
    with stage.play() as c:
        seen = c.turn(stage.said)
        assert seen.code in ("network_error", "stream_interrupted"), seen.end
        same(seen.text, "")


def stall(stage):
    with stage.play(TRIVET_STALL_MS=str(int(300 * harness.slow()))) as c:
        seen = c.turn(stage.said)
        same(seen.code, "provider_timeout")


def late(stage):
    well(stage, 1, TRIVET_STALL_MS=str(int(10000 * harness.slow())))


def malformed(stage):
    with stage.play() as c:
        same(c.turn(stage.said).code, "invalid_response")


def fixtures(name):
    """The fixtures of all cells for one vendor."""
    def said(cell):
        return f"{cell}/{name}."
    usage_numbers = {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050}
    busy = failure(503, "The engine is overloaded", "server_error")
    limited = failure(429, "Slow down", "rate_limit_error", retryAfter=1)
    too_long = failure(400, "prompt is too long: the maximum context length is 9 tokens",
                       "invalid_request_error")
    return [
        answer(said("text"), {"content": TEXT}, chunkSize=3),
        answer(said("reasoning"), {"content": TEXT, "reasoning": "Think first."}, chunkSize=3),
        answer(said("image in"), {"content": TEXT}),
        *tool_answers(said("one tool call"), {"toolCalls": [CALL]}),
        *tool_answers(said("parallel calls"),
                      {"content": "Look. ", "toolCalls": [CALL, OTHER_CALL]}),
        answer(said("usage"), {"content": TEXT, "usage": usage_numbers}),
        answer(said("cost"), {"content": TEXT, "usage": {**usage_numbers, "cost": 0.125}}),
        answer(said("interrupt"), {"content": TEXT * 50}, latency=20, chunkSize=5),
        answer(f"before {said('overflow')}", {"content": "First."}, sequenceIndex=0),
        answer("The conversation so far", {"content": "Summary of it."}),
        *once(said("overflow"), too_long),
        answer(said("401"), {"content": TEXT}),
        *once(said("429"), limited),
        *once(said("5xx"), busy),
        # Without a pause between them aimock drops what it has written.
        answer(said("cut stream"), {"content": LONG}, chunkSize=2, truncateAfterChunks=10,
               latency=15),
        answer(said("disconnect"), {"content": TEXT}, chaos={"disconnectRate": 1}),
        answer(said("stall"), {"content": TEXT}, chunkSize=3, latency=60000),
        answer(said("slow first byte"), {"content": TEXT},
               streamingProfile={"ttft": 500, "tps": 100, "jitter": 0}),
        answer(said("malformed JSON"), {"content": TEXT}, chaos={"malformedRate": 1}),
    ]


CELLS = {
    "text": text, "reasoning": reasoning, "image in": image, "one tool call": one_call,
    "parallel calls": parallel, "usage": usage, "cost": cost, "interrupt": interrupt,
    "overflow": overflow, "401": unauthorized, "429": tried_again, "5xx": tried_again,
    "cut stream": cut, "disconnect": disconnected, "stall": stall, "slow first byte": late,
    "malformed JSON": malformed,
}
# What aimock does not offer: (cell, vendor): reason.
HIDDEN = "the journal does not show the pictures of this format"
MISSING = {
    ("image in", "openai-responses"): HIDDEN,
    ("image in", "codex"): HIDDEN,
    ("image in", "anthropic"): HIDDEN,
    ("image in", "gemini"): HIDDEN,
    ("cost", "openai"): "OpenAI's format has no cost",
    ("cost", "openai-responses"): "OpenAI's format has no cost",
    ("cost", "codex"): "OpenAI's format has no cost",
    ("cost", "anthropic"): "Anthropic's format has no cost",
    ("cost", "gemini"): "Google's format has no cost",
}


def run_cell(cell, name, port, base):
    if (cell, name) in MISSING:
        return "-"
    try:
        CELLS[cell](Stage(VENDORS[name], cell, port, base))
        return "ok"
    except (AssertionError, Gone, RuntimeError, LookupError, ValueError, OSError) as why:
        where = traceback.extract_tb(why.__traceback__)
        line = next(f.lineno for f in reversed(where) if f.filename == os.path.abspath(__file__))
        print(f"{name} {cell}: {type(why).__name__}: {why} (line {line})", flush=True)
        return "FAILED"


def table(found):
    rows = [["", *found], ["---"] * (len(found) + 1)]
    rows += [[cell, *(found[name][cell] for name in found)] for cell in CELLS]
    lines = "".join("| " + " | ".join(row) + " |\n" for row in rows)
    return lines + "\n" + "".join(f"- `-` {name}, {cell}: {why}.\n"
                                  for (cell, name), why in MISSING.items())


def main():
    if not os.path.exists(os.path.join(BIN, "llmock")):
        print(f"there is no {BIN}/llmock; ./test installs it (need_npm in scripts/setup.sh)")
        harness.finish(0, 1)
    words = [a for a in sys.argv[1:] if a != "--write"]
    chosen = [n for n in NAMES if n in words] or list(NAMES)
    cells = [c for c in CELLS if c in words] or list(CELLS)
    with harness.private_place() as base:
        os.environ.update(harness.clean_env(base))
        with running([f for name in NAMES for f in fixtures(name)], base) as port:
            with concurrent.futures.ThreadPoolExecutor(len(chosen)) as pool:
                columns = pool.map(lambda name: {cell: run_cell(cell, name, port, base)
                                                 for cell in cells}, chosen)
                found = dict(zip(chosen, columns))
        left = harness.left_behind(base)
    marks = [mark for column in found.values() for mark in column.values()]
    passed, failed = marks.count("ok"), marks.count("FAILED") + bool(left)
    if left:
        print(f"left behind: {left}")
    if len(chosen) == len(NAMES) and len(cells) == len(CELLS):
        is_same = page.put("providers.md", {"aimock": table(found)},
                           "--write" in sys.argv and not failed)
        passed, failed = passed + is_same, failed + (not is_same)
    harness.finish(passed, failed)


main()
