#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which test proves which of the 68 statements about the provider layer.

    check_statements.py [--gaps]     one line per statement; --gaps: only those without a proof

A test names a statement in a comment, `providers.md 13: 7, 40` in C and `# providers.md 13: 7` in a
talk or a script.  What no test here can show stands below with its reason, and so does what is
shown only in part.  A statement that has neither is a failure, and so is a named unit test that nobody
runs; a reason that a test has overtaken is pointed out.
"""
import os
import re
import sys

import harness

N_STATEMENTS = 68
MARK = re.compile(r"providers\.md 13:\s*(.*)")
FUNCTION = re.compile(r"^static void (\w+)\(")

UNPROVEN = {
}
PARTLY = {
    5: "the second half is not so on purpose: the watchdog counts useful events, not bytes",
    19: "byte-equal where an entry came in one piece; pieces are joined and their members ordered",
    63: "no tool has a dot in its name, so nothing is mapped back; foreign names are mapped",
}


def numbers(rest):
    """The leading numbers of what stands behind the mark; remarks in parentheses are skipped."""
    rest = re.sub(r"\([^)]*(\)|$)", " ", rest)
    found = re.match(r"[\d,\s]*", rest).group()
    return [int(n) for n in re.findall(r"\d+", found)]


def function_of(lines, at):
    """The test that line `at` of a C file belongs to: around it, or behind its comment."""
    is_inside = lines[at].startswith("    ") and not lines[at].lstrip().startswith("*")
    order = range(at, -1, -1) if is_inside else range(at, len(lines))
    return next((m[1] for i in order if (m := FUNCTION.match(lines[i]))), None)


def proofs_of(path, name):
    """(statement, test) for each mark in the file; None as test: it is not run."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    for at, line in enumerate(lines):
        found = MARK.search(line)
        if not found:
            continue
        test = name
        if name.endswith(".c"):
            test = function_of(lines, at)
            is_run = test and any(f"({test}" in line for line in lines if "static" not in line)
            test = f"{name}: {test}" if is_run else None
        for number in numbers(found[1]):
            yield number, test, f"{name}:{at + 1}"


def files():
    for folder in ("tests/unit", "tests/talk", "tests/e2e"):
        for place, _, names in sorted(os.walk(os.path.join(harness.TOP, folder))):
            for name in sorted(names):
                if name.endswith((".c", ".talk", ".py")):
                    path = os.path.join(place, name)
                    yield path, os.path.relpath(path, harness.TOP)


def main():
    proofs, faults = {n: [] for n in range(1, N_STATEMENTS + 1)}, []
    for path, name in files():
        for number, test, where in proofs_of(path, name):
            if number not in proofs:
                faults.append(f"{where}: there is no statement {number}")
            elif test is None:
                faults.append(f"{where}: no test that is run")
            elif test not in proofs[number]:
                proofs[number].append(test)
    for number, tests in proofs.items():
        reason = UNPROVEN.get(number)
        if not tests and not reason:
            faults.append(f"{number}: no test names it")
        elif tests and reason:
            print(f"{number:2} {', '.join(tests)} (the table of this script still says: {reason})")
        elif "--gaps" not in sys.argv or not tests or number in PARTLY:
            remark = f" (in part: {PARTLY[number]})" if number in PARTLY else ""
            print(f"{number:2} {', '.join(tests) or '(not proven) ' + reason}{remark}")
    for fault in faults:
        print(fault)
    harness.finish(N_STATEMENTS - len(faults), len(faults))


main()
