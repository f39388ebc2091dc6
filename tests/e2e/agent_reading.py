#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Looking around: .gitignore counts for globs and lists, .git takes no entries, an empty result says
what would match."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from played_model import Checks, play  # noqa: E402

check = Checks()


def make(base):
    place = os.path.join(base, "workspace")
    files = {".gitignore": "build/\n*.log\n", "src/a.c": "Needle", "src/b.c": "b", "x.log": "1",
             **{f"build/{i}.c": "o" for i in range(40)}, **{f".git/objects/{i}": "o" for i in range(40)},
             ".git/HEAD": "ref"}
    for name, text in files.items():
        os.makedirs(os.path.dirname(os.path.join(place, name)), exist_ok=True)
        with open(os.path.join(place, name), "w", encoding="ascii") as file:
            file.write(text)
    return place


def scaiflux(dialect):
    glob, named, none, deep, grep = yield [
        ("glob_search", {"pattern": "**/*.c"}), ("glob_search", {"pattern": "build/1.c"}),
        ("glob_search", {"pattern": "*.rs"}), ("glob_search", {"pattern": "**/*.rs"}),
        ("grep_search", {"pattern": "needle"})]
    check(f"{dialect}: ignored files are left out", glob == "src/a.c\nsrc/b.c\n", glob)
    check(f"{dialect}: one that is named is found", named.startswith("build/1.c\n")
          and ".gitignore" in named, named)
    check(f"{dialect}: nothing", none.startswith("No files match *.rs.\n**/*.rs would"), none)
    check(f"{dialect}: nothing at any depth", deep == "No files match **/*.rs.\n", deep)
    check(f"{dialect}: no match", grep.startswith("No matches found.\n") and "-i" in grep, grep)


def loaf(place):
    tree, ignored, none = yield [
        ("list_dir", {"dir_path": place}), ("list_dir", {"dir_path": f"{place}/build"}),
        ("grep_files", {"pattern": "needle"})]
    check("loaf: .git and build take one entry each", tree.count("\n") == 7 and ".git/" in tree
          and "build/" in tree and "a.c" in tree and "HEAD" not in tree, tree)
    check("loaf: an ignored directory can be listed", "  1.c" in ignored or "\n1.c" in ignored, ignored)
    check("loaf: no match says why", none.startswith("No matches found.\n") and "(?i)" in none, none)


def kward():
    [text] = yield [("list_directory", {"path": "."})]
    check("kward: one level", text == ".git/\n.gitignore\nbuild/\nsrc/\nx.log", text)


def main():
    for dialect in ("scaiflux", "run"):
        with check.scene(dialect) as base:
            make(base)
            play(dialect, scaiflux(dialect), base)
    with check.scene("loaf") as base:
        play("loaf", loaf(make(base)), base)
    with check.scene("kward") as base:
        make(base)
        play("kward", kward(), base)
    return check.end()


sys.exit(main())
