#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`trivet mcp serve`: other agents give trivet prompts, with progress and cancel, and read sessions."""
import json
import os
import queue
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
from mcp_scene import PROGRAM, Checks, Place  # noqa: E402

check = Checks()
MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
          "io.modelcontextprotocol/clientCapabilities": {}}


class Peer:
    """A client of the server."""

    def __init__(self, place, *args):
        self.child = subprocess.Popen([PROGRAM, "mcp", "serve", *args], cwd=place.work, env=place.env,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True)
        self.inbox, self.notices, self.last = queue.Queue(), [], 0
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.child.stdout:
            self.inbox.put(json.loads(line))

    def send(self, method, params=None, notice=False):
        message = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        if not notice:
            self.last += 1
            message["id"] = self.last
        self.child.stdin.write(json.dumps(message) + "\n")
        self.child.stdin.flush()
        return self.last

    def wait(self, ident):
        while True:
            message = self.inbox.get(timeout=30 * harness.slow())
            if message.get("id") == ident:
                return message
            self.notices.append(message)

    def ask(self, method, params=None):
        return self.wait(self.send(method, params))

    def call(self, name, args, meta=None):
        params = {"name": name, "arguments": args, **({"_meta": meta} if meta else {})}
        return self.ask("tools/call", params)["result"]

    def close(self):
        self.child.stdin.close()
        code = self.child.wait(20 * harness.slow())
        return code, harness.without_noise(self.child.stderr.read())


def scene(place, name, rounds):
    path = os.path.join(place.base, name)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"rounds": rounds}, file)
    return f"rehearsal/{path}"


def legacy(base):
    place = Place(base, "legacy")
    os.makedirs(os.path.join(place.work, "sub"))
    model = scene(place, "s.json", [
        [{"call": "write_file", "args": {"path": "made.txt", "content": "x\n"}}],
        [{"call": "write_file", "args": {"path": "made.txt", "content": "y\n"}}],
        [{"call": "write_file", "args": {"path": "other.txt", "content": "x\n"}}],
        [{"call": "bash", "args": {"command": "cat made.txt"}}],
        [{"call": "write_file", "args": {"path": "/outside.txt", "content": "x"}}],
        [{"say": "all done"}]])
    peer = Peer(place, "-m", model)
    first = peer.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                    "clientInfo": {"name": "t", "version": "1"}})["result"]
    check("initialize", first["protocolVersion"] == "2025-06-18" and "tools" in first["capabilities"]
          and first["serverInfo"]["name"] == "trivet", first)
    peer.send("notifications/initialized", notice=True)
    check("ping", peer.ask("ping")["result"] == {})
    tools = {t["name"]: t for t in peer.ask("tools/list")["result"]["tools"]}
    check("tools", sorted(tools) == ["list_sessions", "read_session", "run_prompt"]
          and tools["run_prompt"]["inputSchema"]["required"] == ["prompt"]
          and tools["run_prompt"]["inputSchema"]["type"] == "object", tools)
    done = peer.call("run_prompt", {"prompt": "go", "workspace": "sub"}, {"progressToken": "p1"})
    structured = done["structuredContent"]
    check("a prompt is run", done["content"][0]["text"] == "all done" and not done["isError"]
          and structured["stop"] == "end_turn", done)
    check("in the workspace alone", os.path.exists(os.path.join(place.work, "sub", "made.txt"))
          and not os.path.exists("/outside.txt") and structured["changes"] == [
              {"path": "made.txt", "tool": "write_file"}, {"path": "other.txt", "tool": "write_file"}],
          structured)
    steps = [n["params"] for n in peer.notices if n.get("method") == "notifications/progress"]
    check("progress", [s["progress"] for s in steps] == [1, 2, 3, 4, 5] and all(
        s["progressToken"] == "p1" for s in steps) and steps[3]["message"] == "bash cat made.txt", steps)
    again = peer.call("run_prompt", {"prompt": "more", "session": structured["session"]})
    check("a session goes on", again["structuredContent"]["session"] == structured["session"], again)
    rows = peer.call("list_sessions", {"workspace": "sub"})["structuredContent"]["sessions"]
    check("the list", [r["id"] for r in rows] == [structured["session"]] and rows[0]["title"], rows)
    text = peer.call("read_session", {"session": structured["session"][:8]})["content"][0]["text"]
    check("reading", "all done" in text and "more" in text, text[:300])
    for args, part in (({"prompt": "x", "workspace": ".."}, "at or below"),
                       ({"prompt": "x", "workspace": "nowhere"}, "not a directory"),
                       ({"prompt": "x", "session": "ffffffff"}, ""), ({}, "prompt"),
                       ({"prompt": 5}, "prompt")):
        bad = peer.call("run_prompt", args)
        check(f"refused: {args}", bad["isError"] and part in bad["content"][0]["text"], bad)
    unknown = peer.ask("tools/call", {"name": "nothing"})
    check("an unknown tool", unknown["error"]["code"] == -32602, unknown)
    check("an unknown method", peer.ask("resources/list")["error"]["code"] == -32601)
    code, err = peer.close()
    check("the end", code == 0 and not err and not place.leftovers(), (code, err))


def cancel(base):
    place = Place(base, "cancel")
    peer = Peer(place, "-m", scene(place, "s.json", [
        [{"call": "bash", "args": {"command": "sleep 60"}}], [{"say": "late"}]]))
    ident = peer.send("tools/call", {"name": "run_prompt", "arguments": {"prompt": "go"},
                                     "_meta": {"progressToken": 1}})
    end = time.monotonic() + 20 * harness.slow()
    while time.monotonic() < end and not peer.notices:
        try:
            peer.notices.append(peer.inbox.get(timeout=0.1))
        except queue.Empty:
            pass
    check("others are answered meanwhile", peer.ask("ping")["result"] == {})
    watch = harness.Stopwatch()
    peer.send("notifications/cancelled", {"requestId": ident, "reason": "no"}, notice=True)
    peer.wait(ident)
    check("a cancel stops the turn", watch.seconds() < 5)
    peer.send("tools/call", {"name": "run_prompt", "arguments": {"prompt": "go"}})
    time.sleep(0.5)
    watch = harness.Stopwatch()
    code, _ = peer.close()
    check("the end of input stops what runs", code == 0 and watch.seconds() < 8
          and not place.leftovers(), (code, place.leftovers()))


def modern(base):
    place = Place(base, "modern")
    peer = Peer(place, "-m", "rehearsal/hello", "--mode", "read-only")
    found = peer.ask("server/discover", {"_meta": MODERN})["result"]
    check("server/discover", found["supportedVersions"] == ["2026-07-28"]
          and found["resultType"] == "complete", found)
    done = peer.call("run_prompt", {"prompt": "hi"}, MODERN)
    check("modern results are marked", done["resultType"] == "complete" and not done["isError"], done)
    odd = peer.ask("tools/list", {"_meta": {**MODERN, next(iter(MODERN)): "2031-01-01"}})
    check("a version that is not known", odd["error"]["code"] == -32022
          and odd["error"]["data"]["supported"] == ["2026-07-28"], odd)
    peer.close()


def by_trivet(base):
    """trivet as the client of trivet."""
    place = Place(base, "itself")
    place.configure(agent={"command": PROGRAM, "args": ["mcp", "serve", "-m", "rehearsal/hello"],
                           "sandbox": False})
    run = place.run([("mcp__agent__run_prompt", {"prompt": "hello"}),
                     ("mcp__agent__list_sessions", {})])
    check("trivet uses trivet", not any(c["is_error"] for c in run.calls) and run.text(0)
          and "sessions" in run.text(1) and run.code == 0, run)
    check("no process is left", not place.leftovers(), place.leftovers())


with harness.private_place() as scratch:
    for case in (legacy, cancel, modern, by_trivet):
        case(scratch)
check.end()
