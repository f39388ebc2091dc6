#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# NEEDS: terminal
"""Resources by tool and by mention, prompts as commands of the chat."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import tmux  # noqa: E402
from mcp_scene import FAKE, Checks, Place  # noqa: E402

check = Checks()


def resources(base):
    place = Place(base, "resources")
    place.configure(fake=place.fake(), modern=place.fake("modern"))
    run = place.run([("mcp_list_resources", {}), ("mcp_read_resource", {"server": "fake",
                                                                       "uri": "note://one"}),
                     ("mcp_read_resource", {"server": "modern", "uri": "note://one"}),
                     ("mcp_read_resource", {"server": "fake", "uri": "note://two"}),
                     ("mcp_read_resource", {"server": "none", "uri": "note://two"})], allow="mcp_*")
    texts = run.texts()
    check("the list", "fake note://one  one text/plain" in texts[0] and "modern note://one" in texts[0],
          texts[0])
    check("reading", texts[1] == texts[2] == "[resource note://one]\nthe first note", texts)
    check("what is not there", "not found" in texts[3].lower() and "no MCP server none" in texts[4]
          and all(c["is_error"] for c in run.calls[3:]), texts)
    run = place.run([("mcp_read_resource", {"server": "fake", "uri": "note://one"})], allow=None)
    check("reading needs permission", run.calls[0]["is_error"] and run.code == 0, run)
    with open(os.path.join(place.base, "words"), "w", encoding="utf-8") as file:
        file.write("look at @fake:note://one and @fake:note://two, mail a@b:c @nobody:x")
    run, requests = place.ask([{"text": "ok"}], args=["-f", os.path.join(place.base, "words")])
    sent = json.dumps(requests[0]["messages"])
    check("a mention brings the resource along", "the first note" in sent
          and sent.count("<resource server") == 2 and "Resource not found" in sent, sent[-900:])


def prompts(base):
    with tmux.Pane(base, rows=50) as pane:
        folder = os.path.join(pane.env["XDG_CONFIG_HOME"], "trivet")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "mcp.json"), "w", encoding="utf-8") as file:
            json.dump({"mcpServers": {"fake": {"command": "python3", "args": [FAKE]},
                                      "gone": {"command": "no-such-program-here"}}}, file)
        pane.chat(model="rehearsal/echo")
        pane.enter("/mcp")
        pane.wait("22 tools, protocol 2025-11-25")
        pane.wait("there is no program no-such-program-here")
        pane.wait("/mcp__fake__review file  Reviews a file.")
        pane.enter("/mcp__fake__review")
        pane.wait("mcp__fake__review needs the argument file")
        pane.enter("/mcp__fake__nothing")
        pane.wait("no MCP server has the prompt mcp__fake__nothing")
        pane.enter("/mcp__fake__review main.c")
        pane.wait("Please review main.c with care.")
        pane.enter("/quit")
        pane.wait("to go on")
    check("prompts in the chat", True)


with harness.private_place() as scratch:
    resources(scratch)
    prompts(os.path.join(scratch))
check.end()
