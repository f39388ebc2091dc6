#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every vendor through everything that can happen, well and badly, against the fault server: what
the client sees and what the server got.

    tests/e2e/vendors.py [--write] [WORD...]    only cells and vendors that contain a WORD

The table of the run stands in docs/providers.md; --write puts it there, otherwise it must be the
same.  A cell is a function below; its first line of documentation is what the page says about it.
"""
import concurrent.futures
import contextlib
import json
import os
import sys
import tempfile
import threading
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "fake")]
import harness  # noqa: E402
import page  # noqa: E402
from client import Gone, Loaf, Scaiflux  # noqa: E402
from formats import VENDORS  # noqa: E402
from provider import Server  # noqa: E402

KEY = "sk-vendors-31415926535"
TEXT = "Grüße, 世界: a 🎉 of 3 words."
PICTURE = "data:image/png;base64,iVBORw0KGgo="
CALL = {"id": "call_1", "name": "read_file", "arguments": {"path": "in.txt"}}
OTHER_CALL = {"id": "call_2", "name": "glob_search", "arguments": {"pattern": "*.txt"}}
PRICES = {"price_in": 3, "price_cached": 0.3, "price_out": 15}
HUGE = 17 << 20  # above the limit of one event


class Stage:
    """One vendor, one script, one workspace."""

    def __init__(self, vendor, base):
        self.vendor, self.form = vendor, vendor.form
        self.workspace = tempfile.mkdtemp(prefix="cell-", dir=base)
        with open(os.path.join(self.workspace, "in.txt"), "w", encoding="utf-8") as file:
            file.write("alpha\n")
        self.server = None

    @contextlib.contextmanager
    def play(self, script, client=Scaiflux, **env):
        """A client whose model answers by this script."""
        with Server(script) as self.server:
            full = {**self.vendor.env(self.server.port, KEY), **env}
            if client is Loaf:
                full["TRIVET_MODEL"] = self.vendor.slug
            args = [] if client is Loaf else ["--model", self.vendor.slug]
            with client(args, cwd=self.workspace, env=full) as c:
                if client is Scaiflux:
                    c.event("ready")
                yield c
                status = c.close()
                assert status == 0, f"exit status {status}: {c.stderr!r}"
                assert not c.stderr, f"stderr: {c.stderr!r}"
                assert KEY not in json.dumps(c.heard), "the key was sent"

    def requests(self):
        return [entry for entry in self.server.log if "path" in entry]

    def bodies(self, number):
        """The bodies of the requests, of which there must be so many."""
        found = self.requests()
        assert len(found) == number, f"{len(found)} requests instead of {number}"
        return [entry["body"] for entry in found]

    def wait_closed(self):
        """The server saw the client go."""
        end = time.monotonic() + 30 * harness.slow()
        while not any("closed_early" in entry for entry in self.server.log):
            assert time.monotonic() < end, f"the server was not informed: {self.server.log[-1]}"
            time.sleep(0.005)

    def usage(self):
        """The usage of the last reply in the session file."""
        folder = os.path.join(self.workspace, ".scaiflux", "sessions")
        (name,) = os.listdir(folder)
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            records = [json.loads(line) for line in file]
        return [r["message"]["usage"] for r in records
                if r["type"] == "message" and "usage" in r["message"]][-1]


def same(got, wanted):
    assert got == wanted, f"{str(got)[:300]} instead of {str(wanted)[:300]}"


def said(stage, script, number=1, **env):
    """Plays the script in one turn that must end well with TEXT."""
    with stage.play(script, **env) as c:
        seen = c.turn("go")
        same((seen.text, seen.code), (TEXT, None))
        same(seen.end["stop_reason"], "end_turn")
    return stage.bodies(number)


# ---- what works


def text(stage):
    """A streamed text arrives whole; address, key and model of the request."""
    (body,) = said(stage, [{"text": TEXT, "piece": 3}])
    (entry,) = stage.requests()
    same(entry["method"], "POST")
    same(entry["headers"].get(stage.vendor.key_header), stage.vendor.key_value(KEY))
    same(stage.form.user_text(body), "go")
    assert entry["path"].startswith(stage.vendor.base), entry["path"]
    assert entry["path"].endswith(stage.form.path), entry["path"]
    assert stage.vendor.model in (body.get("model"), entry["path"].split("/")[-1].split(":")[0])


def reasoning(stage):
    """Reasoning is shown apart from the text, and goes back as the vendor wants it."""
    call = {"id": "call_1", "name": "bash", "arguments": {"command": "true"}}
    first = {"reasoning": "Think first.", "tool_calls": [call]}
    wanted = stage.form.thought(first)
    with stage.play([first, {"text": TEXT}], Loaf) as c:
        session = c.call("session.create")["session_id"]
        seen = c.turn(session, "go")
        same((seen.thoughts, seen.text), ("Think first.", TEXT))
    same(stage.form.thoughts(stage.bodies(2)[1]) or None, wanted)


def image(stage):
    """A picture reaches the model in the vendor's form."""
    with stage.play([{"text": TEXT}], Loaf) as c:
        session = c.call("session.create")["session_id"]
        same(c.turn(session, "what is this?", [PICTURE]).text, TEXT)
    (body,) = stage.bodies(1)
    same(stage.form.images(body), [PICTURE])
    assert "what is this?" in stage.form.user_text(body)


def one_call(stage):
    """A tool runs with its arguments, its output is in the next request."""
    with stage.play([{"text": "Look. ", "tool_calls": [CALL]}, {"text": TEXT}]) as c:
        seen = c.turn("go")
        same(seen.text, "Look. " + TEXT)
        same(seen.calls, [("call_1", "read_file", {"path": "in.txt"})])
    body = stage.bodies(2)[1]
    same(stage.form.calls(body), [("call_1", "read_file", {"path": "in.txt"})])
    same(stage.form.results(body), [("call_1", seen.results[0][1])])
    assert "alpha" in seen.results[0][1] and not seen.results[0][2], seen.results


def parallel(stage):
    """Two calls of one reply, their pieces mixed where the format can; both results go back."""
    with stage.play([stage.form.parallel([CALL, OTHER_CALL]), {"text": TEXT}]) as c:
        seen = c.turn("go")
        same([call[1:] for call in seen.calls], [("read_file", {"path": "in.txt"}),
                                                 ("glob_search", {"pattern": "*.txt"})])
        same(seen.text, TEXT)
    body = stage.bodies(2)[1]
    same(stage.form.calls(body), seen.calls)
    same(stage.form.results(body), [result[:2] for result in seen.results])


def usage(stage):
    """Tokens of a turn, cached and reasoning ones counted apart."""
    numbers = stage.form.usage(1000, 400, 50, 20)
    with stage.play([{"text": TEXT, "usage": numbers}]) as c:
        end = c.turn("go").end
        same((end["input_tokens"], end["output_tokens"]), (1000, 50))
    found = stage.usage()
    same((found["input_tokens"], found["cache_read_tokens"]), (1000, 400))
    same(found["output_tokens"], 50)
    same(found["estimated"], False)
    if stage.vendor.name != "anthropic":  # which does not say how many were reasoning
        same(found["reasoning_tokens"], 20)


def cost(stage):
    """What a turn cost: as the server says, by the user's prices, by the known ones."""
    numbers = stage.form.usage(1000000, 400000, 100000, 0)
    reply = {"text": TEXT, "usage": numbers}
    if stage.vendor.reports_cost:
        numbers["cost"] = 0.125
        said(stage, [reply])
        same(stage.usage()["cost"], 0.125)
        return
    file = os.path.join(stage.workspace, "models.json")
    with open(file, "w", encoding="utf-8") as out:
        json.dump({"models": [{"id": stage.vendor.slug, **PRICES}]}, out)
    with stage.play([reply, {**reply, "repeat": True}], TRIVET_MODELS=file) as c:
        c.turn("go")
        assert abs(stage.usage()["cost"] - (0.6 * 3 + 0.4 * 0.3 + 0.1 * 15)) < 1e-9, stage.usage()
        os.remove(file)
        c.turn("again")
        same("cost" in stage.usage(), stage.vendor.is_priced)


def interrupt(stage):
    """An interrupt ends the turn at once, and the server sees the connection go."""
    with stage.play([{"text": TEXT, "text_repeat": 500, "chunk_delay_ms": 20}]) as c:
        c.send({"type": "prompt", "text": "go"})
        c.event("text_delta")
        watch = harness.Stopwatch()
        c.send({"type": "interrupt"})
        seen = c.rest_of_turn()
        same(seen.end.get("stop_reason"), "interrupted")
        took = watch.seconds()
        assert took < 0.5, f"{took * 1000:.0f} ms"
        stage.wait_closed()
    stage.bodies(1)


def overflow(stage):
    """A conversation that is too long is summarised, and the turn goes on."""
    script = [{"text": "First."}, stage.form.too_long(), {"text": "Summary of it."}, {"text": TEXT}]
    with stage.play(script) as c:
        same(c.turn("one").text, "First.")
        seen = c.turn("two")
        same((seen.text, seen.code), (TEXT, None))
    bodies = stage.bodies(4)
    assert "First." in json.dumps(bodies[1]) and "First." in json.dumps(bodies[2])
    assert "Summary of it." in json.dumps(bodies[3]) and "First." not in json.dumps(bodies[3])


# ---- what the server refuses


def unauthorized(stage):
    """Said at once, without the key that the server repeats, and not tried again."""
    with stage.play([stage.form.refused(KEY), {"text": TEXT}]) as c:
        seen = c.turn("go")
        same(seen.code, "auth_failed")
        assert "[REDACTED]" in seen.end["message"] and KEY not in seen.end["message"], seen.end
        stage.bodies(1)
        same(c.turn("again").text, TEXT)


def limited(stage):
    """Tried again after the time that the server names."""
    began = time.monotonic()
    bodies = said(stage, [stage.form.limited(), {"text": TEXT}], 2)
    took = time.monotonic() - began
    assert 0.06 <= took < 20 * harness.slow(), f"{took * 1000:.0f} ms"
    same(bodies[0], bodies[1])


def failing(stage):
    """Tried again; the request is the same."""
    bodies = said(stage, [stage.form.failing(), {"text": TEXT}], 2)
    same(bodies[0], bodies[1])


# ---- what breaks


def cut(stage):
    """Cut behind every event: tried again before anything was shown, an error afterwards."""
    reply = {"text": "abcdef", "piece": 2}
    most = 30
    script = [{"match": f"cut {n}.", **reply, **({"cut_after": n} if is_first else {})}
              for n in range(most) for is_first in (True, False)]
    asked = []  # how many requests each place took
    with stage.play(script) as c:
        for n in range(most):
            before = len(stage.requests())
            seen = c.turn(f"cut {n}.")
            asked.append(len(stage.requests()) - before)
            if asked[n] == 2:  # nothing of the first was shown
                same((seen.text, seen.code), ("abcdef", None))
            elif seen.code:
                same(seen.code, "stream_interrupted")
                assert seen.text and "abcdef".startswith(seen.text), seen.text
            else:              # what was cut was not needed any more
                same(seen.text, "abcdef")
                break
    assert asked[0] == 2 and asked == sorted(asked, reverse=True), asked
    assert 3 < len(asked) < most, "never shown, or never whole"


def stall(stage):
    """Silence in the middle ends the turn, and the connection."""
    limit = str(int(200 * harness.slow()))
    with stage.play([{"text": TEXT, "piece": 3, "stall_after": 9}], TRIVET_STALL_MS=limit) as c:
        seen = c.turn("go")
        same(seen.code, "provider_timeout")
        assert seen.text and TEXT.startswith(seen.text), seen.text
        stage.wait_closed()
    stage.bodies(1)


def framing(stage):
    """CRLF, comments between the events, one byte per write."""
    said(stage, [{"text": TEXT, "reasoning": "Hm.", "crlf": True, "comments": True, "split": 1}])


def characters(stage):
    """Characters split between writes, and sent as escapes."""
    said(stage, [{"text": TEXT, "piece": 99, "split": 3}])
    said(stage, [{"text": TEXT, "piece": 99, "ascii": True, "split": 7}])


def late(stage):
    """A slow first byte is waited for."""
    said(stage, [{"text": TEXT, "delay_ms": 400}], TRIVET_STALL_MS=str(int(5000 * harness.slow())))


def malformed(stage):
    """An event that is no JSON is an error, and its turn is not repeated."""
    with stage.play([{"text": "abcdef", "piece": 1, "malformed_after": 6}, {"text": TEXT}]) as c:
        seen = c.turn("go")
        same(seen.code, "invalid_response")
        assert seen.text and "abcdef".startswith(seen.text), seen.text
        stage.bodies(1)
        same(c.turn("again").text, TEXT)


def wrong_type(stage):
    """200 with a web page instead of a stream is an error that names the type."""
    page_of_proxy = {"body": "<html>Log in</html>", "content_type": "text/html; charset=utf-8"}
    with stage.play([page_of_proxy]) as c:
        seen = c.turn("go")
        same(seen.code, "invalid_response")
        assert "text/html" in seen.end["message"], seen.end
    stage.bodies(1)


def huge(stage):
    """An event of 1 MiB is read, one above the limit is an error."""
    million = "x" * (1 << 20)
    with stage.play([{"text": "x" * HUGE, "piece": HUGE},
                     {"text": million, "piece": 1 << 20}]) as c:
        seen = c.turn("go")
        same(seen.code, "invalid_response")
        assert "larger than" in seen.end["message"], seen.end
        seen = c.turn("again")
        same((len(seen.text), seen.code), (1 << 20, None))


CELLS = {
    "text": text, "reasoning": reasoning, "image in": image, "one tool call": one_call,
    "parallel calls": parallel, "usage": usage, "cost": cost, "interrupt": interrupt,
    "overflow": overflow, "401": unauthorized, "429": limited, "5xx": failing, "cut stream": cut,
    "stall": stall, "CRLF, comments, single bytes": framing, "split UTF-8": characters,
    "slow first byte": late, "malformed JSON": malformed, "wrong content type": wrong_type,
    "huge event": huge,
}
# What a vendor does not have: (cell, vendor): reason.
MISSING = {}


def run_cell(base, cell, vendor):
    if (cell, vendor) in MISSING:
        return "-"
    try:
        CELLS[cell](Stage(VENDORS[vendor], base))
        return "ok"
    except (AssertionError, Gone, RuntimeError, LookupError, ValueError, OSError) as why:
        where = traceback.extract_tb(why.__traceback__)
        line = next(f.lineno for f in reversed(where) if f.filename == os.path.abspath(__file__))
        with PRINTING:
            print(f"{vendor} {cell}: {type(why).__name__}: {why} (line {line})", flush=True)
        return "FAILED"


PRINTING = threading.Lock()


def run_vendor(base, vendor, words):
    return {cell: run_cell(base, cell, vendor) for cell in CELLS
            if not words or any(w in (vendor, cell) or w in cell for w in words)}


def table(found):
    rows = [["", *found], ["---"] * (len(found) + 1)]
    rows += [[cell, *(found[v][cell] for v in found)] for cell in CELLS]
    text_of = "".join("| " + " | ".join(row) + " |\n" for row in rows)
    notes = [f"`-` {vendor}, {cell}: {why}." for (cell, vendor), why in MISSING.items()]
    lines = [f"- **{cell}**: {run.__doc__.splitlines()[0]}" for cell, run in CELLS.items()]
    return "\n".join([text_of, *notes, *lines]) + "\n"


def main():
    words = [a for a in sys.argv[1:] if a != "--write"]
    chosen = [v for v in VENDORS if v in words] or list(VENDORS)
    words = [w for w in words if w not in VENDORS]
    with harness.private_place() as base:
        os.environ.update(harness.clean_env(base))
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            runs = {v: pool.submit(run_vendor, base, v, words) for v in chosen}
            found = {v: run.result() for v, run in runs.items()}
        left = harness.left_behind(base)
    marks = [mark for cells in found.values() for mark in cells.values()]
    passed, failed = marks.count("ok"), marks.count("FAILED")
    if left:
        print(f"left behind: {left}")
        failed += 1
    if not words and chosen == list(VENDORS):
        same_page = page.put("providers.md", {"fault server": table(found),
                                              "configuration": page.providers()},
                             "--write" in sys.argv and not failed)
        passed, failed = passed + same_page, failed + (not same_page)
    harness.finish(passed, failed)


main()
