#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# LONG ROUNDS: strace stops the program at system calls, and clocks fail
"""A small sample of `tests/sweep.py calls`, which see."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import sweep  # noqa: E402


def main():
    with harness.private_place() as place:
        os.environ.update(harness.clean_env(place))
        n, _, faults = sweep.sweep("calls", list(sweep.WAYS), place, every=50)
    harness.finish(n - len(faults), len(faults))


if __name__ == "__main__":
    main()
