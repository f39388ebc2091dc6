#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Calls of one reply that only look start together in loaf, Kward and `trivet exec`; their events come in
order, one after another.  ScaiFlux asks first and runs them one by one."""
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from played_model import SHELL, Checks, play  # noqa: E402

check = Checks()
LIBRARY = os.path.join(os.environ["TMPDIR"], "slow_reads.so")
FILES = ("slow1", "slow2", "slow3")


def make(base):
    place = os.path.join(base, "workspace")
    os.makedirs(place)
    for name in FILES:
        with open(os.path.join(place, name), "w", encoding="ascii") as file:
            file.write(f"text of {name}\n")
    return place


def read(dialect, place, name):
    return "read_file", {"file_path" if dialect == "loaf" else "path": os.path.join(place, name)
                         if dialect == "loaf" else name}


def starts(base):
    with open(os.path.join(base, "log"), encoding="ascii") as file:
        return [(int(a), b) for a, b in (line.split() for line in file)]


def events(dialect, seen):
    """(kind, call id) of every event about a call."""
    found = []
    for m in seen.heard:
        p = m.get("params", {})
        body = p.get("payload", {})
        if dialect == "loaf" and p.get("type", "").startswith("session.tool.call."):
            found.append((p["type"].rpartition(".")[2], body["tool_call_id"]))
        if dialect == "kward" and p.get("type") in ("toolCall", "toolResult"):
            found.append(({"toolCall": "started", "toolResult": "completed"}[p["type"]],
                          body["toolCallId"]))
        if m.get("type") in ("tool_start", "tool_result"):
            found.append(({"tool_start": "started", "tool_result": "completed"}[m["type"]],
                          m["tool_id"]))
    return found


def three(dialect, place):
    texts = yield [read(dialect, place, name) for name in FILES]
    for name, text in zip(FILES, texts):
        check(f"{dialect}: {name} in its place", f"text of {name}" in text, texts)


def mixed(dialect, place):
    """What changes something runs alone: a read behind it sees what it did."""
    shell = SHELL[dialect]
    change = f"echo changed > {place}/slow2"
    texts = yield [read(dialect, place, "slow1"), read(dialect, place, "slow2"),
                   (shell, {"command": change}), read(dialect, place, "slow2"),
                   read(dialect, place, "missing")]
    check(f"{dialect}: before the change", "text of slow2" in texts[1], texts)
    check(f"{dialect}: behind the change", "changed" in texts[3], texts)
    check(f"{dialect}: a fault in its place", "missing" in texts[4] or "No such" in texts[4], texts)


def nine(dialect, place):
    """More than start together, an unknown tool among them."""
    calls = [read(dialect, place, FILES[i % 3]) for i in range(9)]
    calls.insert(4, ("fly", {}))
    texts = yield calls
    check(f"{dialect}: all have results", len(texts) == 10 and all(texts), len(texts))
    check(f"{dialect}: in order", "unknown tool" in texts[4] or "not_found" in texts[4], texts[4])


def main():
    subprocess.run(["cc", "-shared", "-fPIC", "-o", LIBRARY, os.path.join(HERE, "slow_reads.c")],
                   check=True)
    for dialect in ("loaf", "kward", "scaiflux", "run"):
        for case in (three, mixed, nine):
            if dialect == "scaiflux" and case != three:
                continue
            with check.scene(f"{dialect} {case.__name__}") as base:
                place = make(base)
                env = {"LD_PRELOAD": LIBRARY, "SLOW_LOG": os.path.join(base, "log")}
                seen = play(dialect, case(dialect, place), base, env=env)
                output = events(dialect, seen) if dialect != "run" else [("started", 1), ("completed", 1)]
                ids = [i for k, i in output if k == "started"]
                wanted = [pair for i in ids for pair in (("started", i), ("completed", i))]
                check(f"{dialect} {case.__name__}: events in order", output == wanted and ids, output)
                if case != three:
                    continue
                times = [t for t, _ in starts(base)]
                if dialect == "scaiflux":
                    check("scaiflux: one by one", max(times) - min(times) >= 550, times)
                else:
                    check(f"{dialect}: all start before the first of 300 ms ends", max(times) - min(times) < 300,
                          times)
    return check.end()


sys.exit(main())
