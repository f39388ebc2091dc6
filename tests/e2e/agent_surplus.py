#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Arguments that a tool does not have: small talk is dropped, reading tools say what they ignored,
tools that change something refuse and say what they accept."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import slips  # noqa: E402

FILES = {"a.txt": "one\ntwo\n", "d/b.txt": "two\n"}
SMALL_TALK = ("description", "explanation", "reason", "thought", "title", "purpose", "instruction")
SHELL = {"loaf": "bash", "scaiflux": "bash", "run": "bash", "kward": "run_shell_command"}
GREP = {"loaf": "grep_files", "scaiflux": "grep_search", "run": "grep_search"}
c = slips.Checks()

for toolset, tool in SHELL.items():
    calls = [(tool, {"command": "echo it runs", name: "because"}) for name in SMALL_TALK]
    with slips.play(toolset, calls, FILES) as seen:
        for name, text in zip(SMALL_TALK, seen.texts):
            c.has(text, "it runs", f"{toolset} {tool} with {name}")
            c.that("ignored" not in text, f"{toolset}: {name} is dropped silently", text)
    with slips.play(toolset, [(tool, {"command": "touch no", "sudo": True, "timeuot": 3})]) as seen:
        c.that(seen.errors in ([True], []), f"{toolset} {tool} refuses", seen.texts)
        c.has(seen.texts[0], "unknown member `sudo`", f"{toolset} {tool}")
        c.has(seen.texts[0], "accepted: command", f"{toolset} {tool}")
        c.that(not os.path.exists(os.path.join(seen.workspace, "no")), f"{toolset}: nothing ran")

for toolset, tool in GREP.items():
    with slips.play(toolset, [(tool, {"pattern": "two", "dir": "d"})], FILES) as seen:
        c.has(seen.texts[0], "a.txt", f"{toolset} {tool} ran")
        c.has(seen.texts[0], "\nignored: dir; accepted: pattern,", f"{toolset} {tool}")
        c.that(seen.errors in ([False], []), f"{toolset}: no failure", seen.errors)
with slips.play("kward", [("read_file", {"path": "a.txt", "encoding": "utf-8", "start": 2})],
                FILES) as seen:
    c.that(seen.texts[0] == "one\ntwo\nignored: encoding, start; accepted: path, offset, limit",
           "kward read_file", seen.texts)

for toolset in ("scaiflux", "run", "kward"):
    args = {"path": "new.txt", "content": "x", "mode": "append"}
    with slips.play(toolset, [("write_file", args)], FILES) as seen:
        c.has(seen.texts[0], "unknown member `mode`\n", f"{toolset} write_file")
        c.has(seen.texts[0], "accepted: path, content", f"{toolset} write_file")
        c.that(not os.path.exists(os.path.join(seen.workspace, "new.txt")), "nothing is written")
    with slips.play(toolset, [("write_file", {"path": "n.txt", "conten": "x", "content": "y"})]) as seen:
        c.has(seen.texts[0], "nearest: content", f"{toolset} write_file names the nearest")
with slips.play("loaf", [("apply_patch", {"input": "*** Begin Patch\n*** Add File: n\n+x\n*** End Patch",
                                          "dry_run": True})]) as seen:
    c.has(seen.texts[0], "unknown member `dry_run`\naccepted: input", "loaf apply_patch")
    c.that(not os.path.exists(os.path.join(seen.workspace, "n")), "nothing is patched")
c.finish()
