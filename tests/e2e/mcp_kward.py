#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""MCP servers in Kward: its config names them, tools/list and mcp/status tell of them, sessions of one
workspace share them, and none of them blocks another session."""
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
from client import Kward  # noqa: E402
from mcp_scene import Checks, Place  # noqa: E402

check = Checks()


def configure(place, **servers):
    path = os.path.join(place.env["HOME"], ".kward", "config.json")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"mcpServers": servers}, file)


def rounds(name, args):
    return [[{"call": name, "args": args}], [{"say": "over"}]]


def scene(place):
    path = os.path.join(place.base, "scene.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"turns": [{"when": "slow", "rounds": rounds("mcp__fake__slow", {"ms": 20000})}],
                   "rounds": rounds("mcp__fake__echo", {"text": "hi"})}, file)
    return f"rehearsal/{path}"


def main(base):
    place = Place(base, "kward")
    configure(place, fake=place.fake(), never=place.fake("mute", startupTimeout=1500),
              gone={"command": "no-such-program-here"})
    place.env["TRIVET_MODEL"] = scene(place)
    with Kward(cwd=place.work, env=place.env) as client:
        can = client.call("initialize")["capabilities"]["mcp"]
        check("the capability", can["supported"] and can["config"] == "mcpServers", can)
        check("nothing is started for it", not place.journal(keep=True))
        plain = client.call("tools/list")["tools"]
        check("without a session no servers", not any(
            t["function"]["name"].startswith("mcp__") for t in plain) and not place.journal(keep=True))
        one, two = (client.call("sessions/create", {"workspaceRoot": place.work})["id"]
                    for _ in range(2))
        watch = harness.Stopwatch()
        servers = {s["name"]: s for s in client.call("mcp/status", {"sessionId": one})["servers"]}
        check("mcp/status", servers["fake"] == {"name": "fake", "transport": "stdio",
                                               "status": "available", "toolCount": 22}
              and servers["gone"]["status"] == "unavailable" and "no program" in servers["gone"]["error"]
              and servers["never"]["status"] == "unavailable", servers)
        check("a dead server is not waited for", watch.seconds() < 12)
        tools = client.call("tools/list", {"sessionId": two})["tools"]
        echo = next(t for t in tools if t["function"]["name"] == "mcp__fake__echo")
        check("tools/list", echo["metadata"] == {"source": "mcp", "displayName": "echo",
                                                "serverName": "fake", "remoteName": "echo"}, echo)
        turn = client.call("turns/start", {"sessionId": one, "input": "go"})["id"]
        result = client.event("toolResult", turn)
        client.event("turnFinished", turn)
        check("a call", "echo: hi" in json.dumps(result), result)
        blocked = client.call("turns/start", {"sessionId": one, "input": "slow"})["id"]
        client.event("toolCall", blocked)
        other = client.call("turns/start", {"sessionId": two, "input": "go"})["id"]
        check("a slow call blocks no other session", "echo: hi" in json.dumps(
            client.event("toolResult", other)))
        client.event("turnFinished", other)
        client.call("turns/cancel", {"turnId": blocked})
        client.event("turnFinished", blocked)
        check("the cancel reaches it", place.until("notifications/cancelled"))
        got = place.journal()
        started = [m for m in got if "started" in m and "mute" not in m["args"]]
        check("both sessions share the server", len(started) == 1, started)
        client.call("sessions/close", {"sessionId": one})
        client.call("sessions/close", {"sessionId": two})
        end = time.monotonic() + 30 * harness.slow()
        while time.monotonic() < end and len(harness.processes_of(place.base)) > 1:
            time.sleep(0.05)
        check("with the last session the servers end", len(harness.processes_of(place.base)) <= 1,
              harness.processes_of(place.base))
    check("no process is left", not place.leftovers(), place.leftovers())


with harness.private_place() as scratch:
    main(scratch)
check.end()
