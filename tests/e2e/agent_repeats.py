#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A call that is made again with the same result is noted for the model at the third time, and so is a
cycle of two to four calls; `trivet run` ends at the eighth; a changed file begins anew."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from played_model import DIALECTS, SHELL, Checks, play  # noqa: E402

check = Checks()
NOTE = "times in a row with the same result"


def same(dialect):
    """The same call for ever."""
    shell = SHELL[dialect]
    for i in range(1, 12):
        [text] = yield [(shell, {"command": "echo again"})]
        check(f"{dialect}: note at {i}", (f"made {i} {NOTE}" in text) == (i >= 3), text)


def reading(dialect, base):
    """From the fifth time on the text is not repeated, unless it is another."""
    path = os.path.join(base, "workspace", "a.txt")
    call = ("read_file", {"file_path": path} if dialect == "loaf" else {"path": "a.txt"})
    for i in range(1, 7):
        with open(path, "w", encoding="ascii") as file:
            file.write("the text\n")
        [text] = yield [call]
        check(f"{dialect}: reading {i}", ("the text" in text) == (i < 5), text)
    with open(path, "w", encoding="ascii") as file:
        file.write("another text\n")
    [text] = yield [call]
    check(f"{dialect}: another result", "another text" in text and NOTE not in text, text)


def cycle(dialect):
    shell = SHELL[dialect]
    for i in range(1, 10):
        [text] = yield [(shell, {"command": f"echo {i % 3}"})]
        check(f"{dialect}: cycle at {i}", ("The same 3 calls" in text) == (i == 9), text)


def work(dialect, base):
    """Editing and testing in turns; polling something that changes."""
    shell = SHELL[dialect]
    write = {"loaf": lambda i: ("apply_patch", {"input": "*** Begin Patch\n*** Add File: "
                                                f"{base}/workspace/f{i}\n+x\n*** End Patch"}),
             "kward": lambda i: ("write_file", {"path": f"f{i}", "content": "x"})}
    make = write.get(dialect, lambda i: ("write_file", {"path": "f", "content": "x"}))
    for i in range(6):
        [text] = yield [make(i)]
        check(f"{dialect}: edit {i}", NOTE not in text, text)
        [text] = yield [(shell, {"command": "echo failed; exit 1"})]
        check(f"{dialect}: test {i}", NOTE not in text, text)
    for i in range(6):
        [text] = yield [(shell, {"command": "echo x >> polled; wc -l polled"})]
        check(f"{dialect}: poll {i}", NOTE not in text, text)


def main():
    for dialect in DIALECTS:
        with check.scene(f"{dialect} same") as base:
            seen = play(dialect, same(dialect), base)
            n = len(seen.requests)
            check(f"{dialect}: the end", n == 8 if dialect == "run" else n == 12, n)
            check(f"{dialect}: status", (seen.status != 0) == (dialect == "run"), seen.stderr)
        with check.scene(f"{dialect} reading") as base:
            os.makedirs(os.path.join(base, "workspace"))
            play(dialect, reading(dialect, base), base)
        with check.scene(f"{dialect} cycle") as base:
            play(dialect, cycle(dialect), base)
        with check.scene(f"{dialect} work") as base:
            seen = play(dialect, work(dialect, base), base)
            check(f"{dialect}: work ends well", seen.status == 0, seen.stderr)
    return check.end()


sys.exit(main())
