#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A turn of a loaf chat costs what the turn adds, however long the chat is (bench/loaf_turns.py
measures it more closely): files grow by what the turn adds and are not replaced by long ones, the
kernel counts the CPU time, and at rest the file is one that loaf reads, with all messages in their order."""
import contextlib
import glob
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(os.path.dirname(os.path.dirname(HERE)), "bench")]
import client  # noqa: E402
import harness  # noqa: E402
from loaf_turns import cpu_ms, write_chat  # noqa: E402

SHORT, LONG, TURNS = 10, 20000, 30
CPU_MOST = 2  # times that of the short chat; it was 7 when each request copied all messages


def files_below(top):
    """{path: (inode, size)}"""
    found = {}
    for place, _, names in os.walk(top):
        for name in names:
            with contextlib.suppress(FileNotFoundError):  # renamed meanwhile
                path = os.path.join(place, name)
                found[path] = (os.lstat(path).st_ino, os.lstat(path).st_size)
    return found


def written(before, after):
    """What was appended to files, and the whole of those that are new or were replaced."""
    return sum(size - (before[path][1] if before.get(path, (0, 0))[0] == inode else 0)
               for path, (inode, size) in after.items())


def turns(base, n):
    """(bytes written by the turns, their CPU in ms, texts in the file at the end)"""
    home = os.path.join(base, str(n))
    os.makedirs(home)
    write_chat(home, n)
    scene = os.path.join(home, "echo-2m.json")
    with open(scene, "w", encoding="utf-8") as file:
        file.write('{"context_window": 2000000, "rounds": [[{"say": "{{last_user}}"}]]}')
    env = {"HOME": home, "TRIVET_MODEL": "rehearsal/echo-2m.json", "XDG_STATE_HOME": home + "/state"}
    with client.Loaf(cwd=home, env=env) as c:
        session = c.call("session.create")["session_id"]
        c.call("command.execute", {"session_id": session, "raw_command": "/history last"})
        for i in range(TURNS + 1):
            if i == 1:  # the first turn takes the file over
                cpu, files, bytes_written = cpu_ms(c.process.pid), files_below(home), 0
            c.call("session.send", {"session_id": session, "text": f"prompt {i}"})
            c.event("session.completed", session)
            c.event("session.status", session, status_label="ready")
            if i:
                now = files_below(home)
                bytes_written, files = bytes_written + written(files, now), now
        cpu = cpu_ms(c.process.pid) - cpu
        path, = glob.glob(f"{home}/.loaf/sessions/*/*/*/*.jsonl")
        with open(path, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
    # loaf takes messages in its own form and skips the rest
    return bytes_written, cpu, [m["text"] for m in lines if m["type"] == "message" and "text" in m]


def main():
    passed = failed = 0
    with harness.private_place() as base:
        short, short_cpu, _ = turns(base, SHORT)
        long, long_cpu, texts = turns(base, LONG)
    ends = [t for i in range(TURNS + 1) for t in (f"prompt {i}",) * 2]
    for title, ok, why in (
            ("a long chat writes no more", long < short * 1.2 + 500, f"{short} and {long} bytes"),
            ("a long chat costs no more", long_cpu < short_cpu * CPU_MOST,
             f"{short_cpu:.1f} and {long_cpu:.1f} ms"),
            ("all messages are in the file", len(texts) >= LONG and texts[-len(ends):] == ends,
             (len(texts), texts[-8:]))):
        passed += bool(ok)
        failed += not ok
        if not ok:
            print(f"FAILED {title}: {why}")
    print(f"{TURNS} turns write {short} bytes after {SHORT} messages, {long} after {LONG}; "
          f"{short_cpu / TURNS:.2f} and {long_cpu / TURNS:.2f} ms of CPU each")
    harness.finish(passed, failed)


main()
