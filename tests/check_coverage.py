#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which test proves which line of the lists in docs/conformance.

    check_coverage.py [LIST...] [--gaps]    one line per item; --gaps: only those without a test
    check_coverage.py --write               puts the tests behind the lines of the lists

A line of a list is `12. what holds — the tests`.  A talk names lines with `@covers loaf 12 13`, a unit
test or a script in a comment with `covers: loaf 12, 15-17`; the script puts these tests behind the
lines and fails when one of those named there does not show the line.  What is written by hand behind a line stays: `cannot hold:
REASON`, or `see LIST NUMBER, PATH, ...` where another line or a whole test shows it, or `no test`.

It is a failure when a line has neither tests nor such words, when it has both, when a mark names a
line that the list does not have, and when a mark stands in a unit test that is not run.
"""
import os
import re
import sys

import harness
import proofs

FOLDER = os.path.join(harness.TOP, "docs", "conformance")
LISTS = ("loaf", "scaiflux", "kward", "acp", "providers", "jsonrpc", "mcp")
LINE = re.compile(r"^(\d+)\. (.*?)(?: — (.*))?$")
MARK = re.compile(r"(?:^@covers|\bcovers:) +([a-z]+) +(\d.*)")
BY_HAND = ("cannot hold: ", "see ", "no test")
SHOWN = 2               # tests that are named behind a line


class List:
    """One file of docs/conformance."""

    def __init__(self, name):
        self.name, self.path = name, os.path.join(FOLDER, f"{name}.md")
        with open(self.path, encoding="utf-8") as file:
            self.lines = file.read().split("\n")
        found = [LINE.match(line) for line in self.lines]
        self.proof = {int(m[1]): m[3] or "" for m in found if m}    # as the file has it
        self.tests = {number: [] for number in self.proof}
        self.faults = []
        if list(self.proof) != list(range(1, len(self.proof) + 1)):
            self.faults.append(f"{name}: the numbers are not 1, 2, 3, ...")

    def by_hand(self, number):
        return self.proof[number] if self.proof[number].startswith(BY_HAND) else ""

    def wanted(self, number):
        """What belongs behind a line."""
        tests = [f"`{test.removeprefix('tests/')}`" for test in self.tests[number]]
        more = f" and {len(tests) - SHOWN} more" if len(tests) > SHOWN else ""
        return self.by_hand(number) or ", ".join(tests[:SHOWN]) + more

    def is_fresh(self, number):
        """The tests behind a line show it; there may be others."""
        named = {f"tests/{name}" for name in re.findall(r"`(.*?)`", self.proof[number])}
        return bool(named) and named <= set(self.tests[number])

    def write(self):
        new = []
        for line in self.lines:
            if found := LINE.match(line):
                proof = self.wanted(int(found[1]))
                line = f"{found[1]}. {found[2]}" + (f" — {proof}" if proof else "")
            new.append(line)
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("\n".join(new))

    def check(self, lists):
        for number in self.proof:
            by_hand = self.by_hand(number)
            where = f"{self.name} {number}"
            if by_hand and self.tests[number]:
                self.faults.append(f"{where}: {self.tests[number][0]} proves it; remove: {by_hand}")
            elif not by_hand and not self.tests[number]:
                self.faults.append(f"{where}: no test names it")
            elif not by_hand and not self.is_fresh(number):
                self.faults.append(f"{where}: docs/conformance/{self.name}.md has other tests; "
                                   "check_coverage.py --write puts them there")
            if by_hand.startswith("see "):
                self.faults += [f"{where}: there is no {one}" for one in by_hand[4:].split(", ")
                                if not exists(one, lists)]

    def report(self, gaps_only):
        n = {"tests": 0, "see": 0, "cannot hold": 0, "no test": 0}
        for number in self.proof:
            by_hand = self.by_hand(number)
            n[next((word for word in n if by_hand.startswith(word)), "tests")] += 1
            if not gaps_only or not self.tests[number]:
                print(f"{self.name} {number:3} {by_hand or ', '.join(self.tests[number])}")
        return f"{self.name} {n['tests'] + n['see']} of {len(self.proof)}" + "".join(
            f", {n[word]} {word}" for word in ("cannot hold", "no test") if n[word])


def exists(name, lists):
    """Whether `loaf 12` or a path of a test is there."""
    word, _, number = name.partition(" ")
    if word in lists:
        return number.isdigit() and int(number) in lists[word].proof
    return os.path.exists(os.path.join(harness.TOP, name.strip("`")))


def collect(lists):
    """Puts the tests of all marks into the lists; faults."""
    faults = []
    for found, test, where in proofs.all_marks(MARK):
        if found[1] not in lists or test is None:
            faults.append(f"{where}: " + ("no test that is run" if found[1] in lists
                                          else f"no list {found[1]}"))
            continue
        items = lists[found[1]].tests
        for number in proofs.numbers(found[2]):
            if number not in items:
                faults.append(f"{where}: {found[1]} has no line {number}")
            elif test not in items[number]:
                items[number].append(test)
    return faults


def main():
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    lists = {name: List(name) for name in LISTS}
    faults = collect(lists)
    if "--write" in sys.argv:
        for one in lists.values():
            one.write()
        return 0
    output = []
    for name in words or LISTS:
        lists[name].check(lists)
        faults += lists[name].faults
        output.append(lists[name].report("--gaps" in sys.argv))
    print("\n".join(faults))
    print("lines with a test: " + "; ".join(output))
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
