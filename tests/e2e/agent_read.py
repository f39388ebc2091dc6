#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reading: 2000 lines, 50 KiB, long lines cut with their true length; a missing file names similar
ones, a directory is shown or its tool named, an empty file is called so, the last note has the number
of lines."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from played_model import DIALECTS, Checks, play  # noqa: E402

check = Checks()


def read(dialect, base, name, **more):
    if dialect == "loaf":
        return "read_file", {"file_path": os.path.join(base, "workspace", name), **more}
    return "read_file", {"path": name, **more}


def scenario(dialect, base):
    big, missing, directory, empty, many, wide, lost = yield [
        read(dialect, base, n) for n in
        ("line.txt", "src/mian.c", "src", "empty.txt", "many.txt", "wide.txt", "no/where.c")]
    check(f"{dialect}: one long line is short", len(big) < 3000, len(big))
    if dialect == "kward":
        check("kward: too large, and what helps", big.startswith(
            "Error: file too large: line.txt is 300000 bytes; limit is 262144 bytes\n")
            and "run_shell_command" in big, big)
        [line] = yield [read(dialect, base, "line2.txt")]
        check("kward: true length", len(line) < 3000 and "200000 characters" in line, line[-100:])
    else:
        check(f"{dialect}: true length", "300000" in big, big[-100:])
    first = {"loaf": "failed to read file: No such file or directory\n",
             "kward": "Error: not a file: src/mian.c\n"}.get(dialect, "cannot read src/mian.c: ")
    check(f"{dialect}: the first line stays", missing.startswith(first), missing)
    names = re.search(r"\nSimilar names: (.*)$", missing)
    check(f"{dialect}: similar names", names and "main.c" in names[1]
          and "zzz.h" not in names[1] and len(names[1].split(", ")) <= 3, missing)
    if dialect in ("scaiflux", "run"):
        check(f"{dialect}: a directory is shown", directory.startswith("src is a directory:\n")
              and "main.c\n" in directory, directory)
    else:
        check(f"{dialect}: a directory names its tool",
              {"loaf": "list_dir", "kward": "list_directory"}[dialect] in directory, directory)
    check(f"{dialect}: empty", "file is empty" in empty, empty)
    check(f"{dialect}: lines and their number", "5000" in many.splitlines()[-1]
          and re.search(r"offset[ =]2(000|001)", many.splitlines()[-1])
          and "2000" in many and "\n2001" not in many, many[-200:])
    check(f"{dialect}: 50 KiB", 40 << 10 < len(wide) < 53 << 10 and "600" in wide.splitlines()[-1],
          (len(wide), wide[-200:]))
    check(f"{dialect}: no directory", "directory does not exist" in lost, lost)


def twice(dialect, base):
    """The second page and the last one; a last line without end counts."""
    a, b = yield [read(dialect, base, "many.txt", offset=4990),
                  read(dialect, base, "end.txt", limit=1)]
    check(f"{dialect}: the last page has no note", "offset" not in a and "5000" in a, a)
    if dialect != "kward":
        check(f"{dialect}: three lines", " 3" in b.splitlines()[-1], b)


def make(base):
    place = os.path.join(base, "workspace")
    os.makedirs(os.path.join(place, "src"))
    files = {"line.txt": "x" * 300000, "line2.txt": "y" * 200000, "empty.txt": "", "src/main.c": "1",
             "src/zzz.h": "2", "src/main.h": "3", "src/Mian.cc": "4", "src/maine.c": "5",
             "many.txt": "".join(f"{i}\n" for i in range(1, 5001)), "end.txt": "a\nb\nc",
             "wide.txt": ("z" * 399 + "\n") * 600}
    for name, text in files.items():
        with open(os.path.join(place, name), "w", encoding="ascii") as file:
            file.write(text)


def main():
    for dialect in DIALECTS:
        for report in (scenario, twice):
            with check.scene(dialect) as base:
                make(base)
                play(dialect, report(dialect, base), base)
    return check.end()


sys.exit(main())
