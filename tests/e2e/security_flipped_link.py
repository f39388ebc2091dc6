#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A link that changes all the time between a place inside the workspace and one outside: what was
judged is what is used, for every file tool.
"""
import ctypes
import os
import subprocess
import sys

from security_place import SECRET, play

TIMES = 90
FLIP = r"""
import ctypes, os, sys
libc = ctypes.CDLL(None)
a, b = (name.encode() for name in sys.argv[1:])
while os.getppid() != 1:
    libc.renameat2(-100, a, -100, b, 2)
"""


def flipping(p, a, b):
    """Two names that change places until the process is ended."""
    p.give_away()
    return subprocess.Popen([sys.executable, "-c", FLIP, a, b])


def attack(score, p, title, calls, mode, a, b):
    p.scene(*calls)
    flipper = flipping(p, a, b)
    try:
        done = p.run("run", "-m", "rehearsal/scene.json", "--mode", mode, "go")
    finally:
        flipper.kill()
        flipper.wait()
    output = p.results()
    score.check(f"{title}: it ran ({score.name})", done.returncode == 0, done.stderr)
    score.check(f"{title}: nothing from outside ({score.name})", SECRET not in output,
                f"{output.count(SECRET)} times")
    return output


def links(p):
    p.put("mine/secret", "inside\n")
    os.symlink(f"{p.work}/mine", f"{p.work}/d")
    os.symlink(p.out, f"{p.work}/e")
    return f"{p.work}/d", f"{p.work}/e"


def directory(p):
    """A real directory that becomes a link."""
    p.put("d/secret", "inside\n")
    os.symlink(p.out, f"{p.work}/e")
    return f"{p.work}/d", f"{p.work}/e"


def reading(make):
    def case(score, p):
        names = make(p)
        output = attack(score, p, f"read_file, {make.__name__}",
                      # each call differs: one that is repeated too often ends the turn
                      [("read_file", {"path": "d/secret", "limit": i + 1}) for i in range(TIMES)],
                      "read-only", *names)
        score.check(f"the inside is read ({score.name})", "inside" in output)
    case.__name__ = f"reading {make.__name__}"
    return case


def searching(make):
    def case(score, p):
        names = make(p)
        p.put(f"{p.out}/{SECRET}.txt", "x")
        calls = [call for i in range(TIMES // 2) for call in (
            ("grep_search", {"pattern": f"sk-|inside|{i}x", "path": "d", "output_mode": "content"}),
            ("glob_search", {"pattern": "**/*" + "*" * (i % 7), "path": "d"}))]
        attack(score, p, f"searching, {make.__name__}", calls, "read-only", *names)
    case.__name__ = f"searching {make.__name__}"
    return case


def writing(make):
    def case(score, p):
        names = make(p)
        before = sorted(os.listdir(p.out))
        calls = [call for i in range(TIMES // 3) for call in (
            ("write_file", {"path": "d/new", "content": f"x{i}"}),
            ("write_file", {"path": "d/deep/er/new", "content": f"x{i}"}),
            ("edit_file", {"path": "d/secret", "old_string": "s", "new_string": f"s!{i}"}))]
        attack(score, p, f"writing, {make.__name__}", calls, "workspace-write", *names)
        with open(f"{p.out}/secret", encoding="utf-8") as file:
            text = file.read()
        score.check(f"writing, {make.__name__}: nothing changed outside ({score.name})",
                    sorted(os.listdir(p.out)) == before and text == f"{SECRET}\n",
                    (os.listdir(p.out), text))
    case.__name__ = f"writing {make.__name__}"
    return case


assert hasattr(ctypes.CDLL(None), "renameat2")
play(*[kind(make) for kind in (reading, searching, writing) for make in (links, directory)])
