#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which test proves which of the 68 statements about the provider layer.

    check_statements.py [--gaps]     one line per statement; --gaps: only those without a proof

A test names a statement in a comment, `providers.md 13: 7, 40` in C and `# providers.md 13: 7` in a
talk or a script.  What no test here can show stands below with its reason, and so does what is
shown only in part.  A statement that has neither is a failure, and so is a named unit test that nobody
runs; a reason that a test has overtaken is pointed out.
"""
import re
import sys

import harness
import proofs

N_STATEMENTS = 68
MARK = re.compile(r"providers\.md 13:\s*(.*)")

UNPROVEN = {
}
PARTLY = {
    5: "the second half is not so on purpose: the watchdog counts useful events, not bytes",
    19: "byte-equal where an entry came in one piece; pieces are joined and their members ordered",
    63: "no tool has a dot in its name, so nothing is mapped back; foreign names are mapped",
}


def main():
    proven, faults = {n: [] for n in range(1, N_STATEMENTS + 1)}, []
    for found, test, where in proofs.all_marks(MARK):
        for number in proofs.numbers(found[1]):
            if number not in proven:
                faults.append(f"{where}: there is no statement {number}")
            elif test is None:
                faults.append(f"{where}: no test that is run")
            elif test not in proven[number]:
                proven[number].append(test)
    for number, tests in proven.items():
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
