#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""MCP servers with an address: Streamable HTTP in both eras.

covers: mcp 48-58, 67
"""
import base64
import os
import signal
import sys
import time

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")]
import harness  # noqa: E402
from mcp_scene import Checks, Place  # noqa: E402
from mcp_http import Web  # noqa: E402

check = Checks()


def server(web, **more):
    return {"url": web.url, **more}


def posts(web, method=None):
    return [(h, b) for verb, h, b in web.seen
            if verb == "POST" and isinstance(b, dict) and method in (None, b["method"])]


def legacy(base):
    place = Place(base, "legacy")
    with Web("legacy", "no-delete") as web, Web("legacy", "sse") as events:
        place.configure(web=server(web, headers={"X-Own": "${HOME}"}), events=server(events))
        run = place.run([("mcp__web__echo", {"text": "a"}), ("mcp__events__echo", {"text": "a"}),
                         ("mcp__events__steps", {})])
        check("JSON and events give the same", run.text(0) == run.text(1) == "echo: {'text': 'a'}", run)
        check("progress on the stream", run.text(2).startswith("steps:"), run)
        for name, seen in (("JSON", web), ("events", events)):
            check(f"{name}: both types are accepted", all(
                h["accept"] == "application/json, text/event-stream" for h, _ in posts(seen)))
            check(f"{name}: probe, handshake, list, call", seen.methods()[:5] == [
                "server/discover", "initialize", "notifications/initialized", "tools/list",
                "tools/call"], seen.methods())
            later = [h for h, b in posts(seen) if b["method"] not in ("server/discover", "initialize")]
            check(f"{name}: version and session afterwards", all(
                h["mcp-protocol-version"] == "2025-06-18" and h["mcp-session-id"] == "session-1"
                for h in later), later)
            ends = [h for verb, h, _ in seen.seen if verb == "DELETE"]
            check(f"{name}: the session is ended", len(ends) == 1
                  and ends[0]["mcp-session-id"] == "session-1", ends)
        first = posts(web, "initialize")[0][0]
        check("no session before", "mcp-session-id" not in first, first)
        check("own headers, expanded", all(h["x-own"] == place.env["HOME"] for h, _ in posts(web)))
        check("one request for what the server says by itself; that it has nothing to say is fine",
              [h["accept"] for verb, h, _ in web.seen if verb == "GET"] == ["text/event-stream"]
              and posts(web)[-1][1]["method"] == "tools/call", web.seen)
        check("the turn ends well", run.code == 0 and not run.err, run)


def hears(base):
    """The stream of what a server says by itself."""
    for words in (("sse",), ("cuts",)):
        place = Place(base, f"hears-{words[0]}")
        with Web("legacy", "hears", *words) as web:
            place.configure(web=server(web, timeout=10000))
            run = place.run([("mcp__web__roots", {})], [("mcp__web__roots", {})], [("mcp__web__change", {})],
                            [("bash", {"command": "sleep 1"})], [("mcp__web__fresh", {})])
            gets = [h for verb, h, _ in web.seen if verb == "GET"]
            check(f"{words}: roots, twice", all("file://" in text for text in run.texts()[:2]), run)
            check(f"{words}: a changed list", run.text(4).startswith("fresh:"), run)
            check(f"{words}: with the session and the version", all(
                h["mcp-session-id"] == "session-1" and h["mcp-protocol-version"] == "2025-06-18"
                for h in gets) and gets, gets)
            check(f"{words}: it goes on where it ended", [h.get("last-event-id") for h in gets[:3]]
                  == [None] + ["event-1"] * min(len(gets) - 1, 2)
                  and (len(gets) >= 3) == ("cuts" in words), gets)
            check(f"{words}: the session is ended", [verb for verb, _, _ in web.seen].count("DELETE") == 1
                  and run.code == 0, web.seen[-3:])


def asks(base):
    """A server that asks again and again gets so many answers at once, and the calls go on."""
    place = Place(base, "asks")
    with Web("legacy", "hears", "asks") as web:
        place.configure(web=server(web))
        run = place.run([("mcp__web__echo", {"text": "a"})], [("bash", {"command": "sleep 1"})])
        check("a flood of requests takes few connections", run.text() == "echo: {'text': 'a'}"
              and 0 < web.most_open <= 64, (web.most_open, run))


def strict(base):
    """A server that takes no request before it knows that the handshake is over."""
    place = Place(base, "strict")
    with Web("legacy", "strict") as web:
        place.configure(web=server(web))
        run = place.run([("mcp__web__echo", {"text": "a"})])
    check("no request overtakes the end of the handshake", run.text(0) == "echo: {'text': 'a'}", run)


def expired(base):
    place = Place(base, "expired")
    with Web("legacy", "hears") as web:
        place.configure(web=server(web))
        child = place.start([("mcp__web__echo", {"text": "1"})], [("bash", {"command": "sleep 2"})],
                            [("mcp__web__echo", {"text": "2"})])
        end = time.monotonic() + 20
        while web.methods().count("tools/call") < 1 and time.monotonic() < end:
            time.sleep(0.02)
        web.session = "forgotten"
        out, _ = child.communicate(timeout=60 * harness.slow())
        check("a forgotten session is opened anew, once", b"echo: {'text': '2'}" in out
              and web.n_sessions == 2 and web.methods().count("initialize") == 2, web.methods())
        gets = [h["mcp-session-id"] for verb, h, _ in web.seen if verb == "GET"]
        check("with a stream of its own", gets[0] == "session-1" and len(gets) < 4
              and gets.count("session-2") == 1, web.seen)


def resumed(base):
    place = Place(base, "resumed")
    with Web("legacy") as web, Web("modern") as new:
        place.configure(web=server(web), new=server(new))
        run = place.run([("mcp__web__resume", {}), ("mcp__new__resume", {})])
        check("a stream goes on after its pause", run.text().startswith("resume:")
              and run.calls[0]["duration_ms"] >= 290, run)
        check("but not in the newest protocol", run.calls[1]["is_error"]
              and not any(verb == "GET" for verb, _, _ in new.seen), run)


def modern(base):
    place = Place(base, "modern")
    with Web("modern", "sse", "drop-list") as web, Web("modern", "no-discover") as plain:
        place.configure(web=server(web), plain=server(plain))
        tool = "mcp__web__caf__"
        run = place.run([("mcp__web__echo", {"text": "a", "region": "n\u00f6rd"}), (tool, {}),
                         ("mcp__plain__echo", {"region": "eu"}), ("mcp__web__badheader", {})])
        check("modern calls", run.text(0).startswith("echo:") and run.text(1).startswith("caf\u00e9:")
              and run.text(2).startswith("echo:"), run)
        check("a tool with an invalid header is left out", run.calls[3]["is_error"], run)
        check("no handshake", "initialize" not in web.methods() + plain.methods(), web.methods())
        check("a dropped list is asked for once more", web.methods().count("tools/list") == 2
              and len({b["id"] for _, b in posts(web, "tools/list")}) == 2, web.methods())
        for h, b in posts(web) + posts(plain):
            version = b["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"]
            check("headers equal the body", h["mcp-method"] == b["method"]
                  and h["mcp-protocol-version"] == version == "2026-07-28", (h, b))
        coded = {b["params"]["name"]: h for h, b in posts(web, "tools/call")}
        check("names and parameters that are not ASCII", coded["echo"]["mcp-name"] == "echo"
              and decoded(coded["caf\u00e9"]["mcp-name"]) == "caf\u00e9"
              and decoded(coded["echo"]["mcp-param-region"]) == "n\u00f6rd", coded)
        check("plain ones", posts(plain, "tools/call")[0][0]["mcp-param-region"] == "eu")


def decoded(value):
    return base64.b64decode(value.removeprefix("=?base64?").removesuffix("?=")).decode()


def faults(base):
    place = Place(base, "faults")
    with Web("modern") as web, Web("legacy") as old, Web("closed") as closed, \
            Web("modern", "patient") as patient:
        place.configure(web=server(web), old=server(old), closed=server(closed),
                        patient=server(patient, timeout=600),
                        gone={"url": "http://127.0.0.1:9/mcp"},
                        secret={"url": "http://192.0.2.1/mcp", "startupTimeout": 500,
                                "headers": {"Authorization": "Bearer x"}})
        run = place.run([("mcp__web__flood", {})], [("mcp__web__drop", {})],
                        [("mcp__patient__slow", {}), ("mcp__old__echo", {"text": "z"})])
        check("a flood is cut", run.calls[0]["is_error"] and "too long" in run.text(0), run)
        check("a dropped call is not repeated", run.calls[1]["is_error"]
              and [b["params"]["name"] for _, b in posts(web, "tools/call")] == ["flood", "drop"], run)
        check("comments keep a call alive", run.text(2).startswith("slow:"), run)
        check("the others work", run.text(3) == "echo: {'text': 'z'}" and run.code == 0, run)
        done = place.cli("mcp", "test")
        check("401 names the server and what is missing", b"the server closed wants a sign-in" in done.stdout
              and b"credentials are missing" in done.stdout and b"trivet mcp login closed" in done.stdout,
              done.stdout)
        check("a secret does not go over plain http", b"https:// alone" in done.stdout, done.stdout)
        web.seen.clear()
        for name, seen in (("web", web), ("old", old)):
            child = place.start([(f"mcp__{name}__slow", {})])
            end = time.monotonic() + 20 * harness.slow()
            while "tools/call" not in seen.methods()[-1:] and time.monotonic() < end:
                time.sleep(0.02)
            child.send_signal(signal.SIGINT)
            child.communicate(timeout=30 * harness.slow())
            time.sleep(0.4)
            output = "notifications/cancelled" in seen.methods()
            check(f"{name}: a cancel reaches the server", output == (name == "old") and
                  (output or any(verb == "CLOSED" for verb, _, _ in seen.seen)), seen.seen[-3:])


with harness.private_place() as scratch:
    for case in (legacy, hears, asks, strict, expired, resumed, modern, faults):
        case(scratch)
check.end()
