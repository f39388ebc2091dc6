# SPDX-License-Identifier: MIT
"""Which test names which promise: the marks in talks, unit tests and end-to-end scripts.

A mark is a comment, found by a regular expression whose group 1 begins with numbers: `7, 40` or
`5-9 12`; remarks in parentheses are skipped.  In C it stands inside a test function or above it, and the
function must be one that is run.
"""
import os
import re

import harness

FUNCTION = re.compile(r"^static void (\w+)\(")
FOLDERS = ("tests/unit", "tests/talk", "tests/e2e")


def numbers(rest):
    """The leading numbers and ranges of what stands behind a mark."""
    rest = re.sub(r"\([^)]*(\)|$)", " ", rest)
    found = re.match(r"[\d,\s-]*", rest).group()
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", found):
        yield from range(int(first), int(last or first) + 1)


def function_of(lines, at):
    """The test that line `at` of a C file belongs to: around it, or behind its comment."""
    is_inside = lines[at].startswith("    ") and not lines[at].lstrip().startswith("*")
    order = range(at, -1, -1) if is_inside else range(at, len(lines))
    return next((m[1] for i in order if (m := FUNCTION.match(lines[i]))), None)


def test_at(name, lines, at):
    """What line `at` proves something for: the file, or in C the test; None when it is not run."""
    if not name.endswith(".c"):
        return name
    test = function_of(lines, at)
    is_run = test and any(f"({test}" in line for line in lines if "static" not in line)
    return f"{name}: {test}" if is_run else None


def marks_of(path, name, mark):
    """(match, test, place) for each line of the file with a mark."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    for at, line in enumerate(lines):
        for found in mark.finditer(line):
            yield found, test_at(name, lines, at), f"{name}:{at + 1}"


def files():
    for folder in FOLDERS:
        for place, _, names in sorted(os.walk(os.path.join(harness.TOP, folder))):
            for name in sorted(names):
                if name.endswith((".c", ".talk", ".py")):
                    path = os.path.join(place, name)
                    yield path, os.path.relpath(path, harness.TOP)


def all_marks(mark):
    for path, name in files():
        yield from marks_of(path, name, mark)
