#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which test proves which item of the dialects' conformance checklists.

    check_coverage.py [DIALECT...] [--gaps]     one line per item; --gaps: only those without a test

A talk names items with `@covers loaf 12 13`, a unit test or a script in a comment with
`covers: loaf 12, 15-17`.  An item that cannot hold has a line `NUMBER: reason` in
tests/coverage/DIALECT.txt.  An item with neither is a failure, and so are an item with both, a
number that the list does not have, and a mark in a unit test that nobody runs.
"""
import os
import re
import sys

import harness
import proofs

CHECKLIST = {"loaf": 203, "scaiflux": 184, "kward": 352}    # how many items each list has
MARK = re.compile(r"(?:^@covers|\bcovers:) +(\w+) +(\d.*)")


def reasons_of(dialect):
    """{number: why it cannot hold}"""
    path = os.path.join(harness.TOP, "tests/coverage", f"{dialect}.txt")
    reasons = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.strip() and not line.startswith("#"):
                    number, _, reason = line.partition(":")
                    reasons[int(number)] = reason.strip()
    return reasons


def collect():
    """({dialect: {number: [test]}}, faults)"""
    proven = {d: {n: [] for n in range(1, size + 1)} for d, size in CHECKLIST.items()}
    faults = []
    for found, test, where in proofs.all_marks(MARK):
        items = proven.get(found[1])
        if items is None or test is None:
            faults.append(f"{where}: " + ("no test that is run" if items else f"no list {found[1]}"))
            continue
        for number in proofs.numbers(found[2]):
            if number not in items:
                faults.append(f"{where}: {found[1]} has no item {number}")
            elif test not in items[number]:
                items[number].append(test)
    return proven, faults


def report(dialect, items, gaps_only):
    """Prints one list; returns (how many items are settled, faults)."""
    reasons, faults, n_proven = reasons_of(dialect), [], 0
    for number in sorted(set(reasons) - set(items)):
        faults.append(f"tests/coverage/{dialect}.txt: there is no item {number}")
    for number, tests in items.items():
        reason = reasons.get(number)
        n_proven += bool(tests)
        if tests and reason:
            faults.append(f"{dialect} {number}: proven by {tests[0]}, but also excused: {reason}")
        elif not tests and not reason:
            faults.append(f"{dialect} {number}: no test names it")
        elif not tests or not gaps_only:
            print(f"{dialect} {number:3} {', '.join(tests) or '(cannot hold) ' + reason}")
    print(f"{dialect}: {n_proven} of {len(items)} items have a test, {len(reasons)} a reason")
    return len(items) - len(faults), faults


def main():
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    proven, faults = collect()
    settled = 0
    for dialect in words or CHECKLIST:
        n, more = report(dialect, proven[dialect], "--gaps" in sys.argv)
        settled, faults = settled + n, faults + more
    print("\n".join(faults))
    harness.finish(settled, len(faults))


if __name__ == "__main__":
    main()
