#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the end-to-end scripts whose name contains one of the words; all without a word.

    run_e2e.py PROGRAM COUNTS [WORD...]   runs them
    run_e2e.py --need-npm [WORD...]       ends with 0 when one of them needs packages from npm

Several scripts run at once (harness.workers); those with the line `# LONG` begin.  A script that starts hundreds of processes has the line `# ALONE`: it runs when
the others are done, one after another.  zz_secrets.py searches what all others left and comes last.
One line per script as it ends, with its output when it failed; the file COUNTS then holds
`N passed, N failed` over all of them.
"""
import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import time

import harness

SHOWN_LINES = 400
COUNTS = re.compile(r"^(\d+) passed, (\d+) failed$")


def is_script(path):
    """Whether it begins with #!; a library of the scripts does not."""
    with open(path, "rb") as file:
        return file.read(2) == b"#!"


def chosen(words):
    for path in sorted(glob.glob(os.path.join(harness.TOP, "tests/e2e/*.py"))):
        name = os.path.basename(path)[:-3]
        if is_script(path) and (not words or any(word in name for word in words)):
            yield path


def has_line(path, line):
    with open(path, encoding="utf-8") as file:
        return line + "\n" in file


def runs_alone(path):
    return has_line(path, "# ALONE") or path.endswith("zz_secrets.py")


def is_possible(path):
    """A script with the line `# NEEDS: terminal` is skipped where none can be made."""
    is_ok = harness.has_terminals() or not has_line(path, "# NEEDS: terminal")
    if not is_ok:
        harness.skip(os.path.basename(path)[:-3], "no terminals")
    return is_ok


def counts_of(output, status):
    """Tests that passed and failed, by the last line; a script that ends badly failed."""
    found = COUNTS.match(output.splitlines()[-1] if output else "")
    if not found:
        return 0, 1
    passed, failed = int(found[1]), int(found[2])
    return passed, failed or int(status != 0)


def run(path, program):
    start = time.time()
    done = subprocess.run([sys.executable, os.path.join(harness.TOP, "tests/check_e2e.py"), path,
                           program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace")
    passed, failed = counts_of(done.stdout, done.returncode)
    name = os.path.basename(path)[:-3]
    line = f"{'FAILED' if failed else 'ok':6} {name}: {passed} passed, {failed} failed " \
           f"({time.time() - start:.0f} s)\n"
    if failed:
        line += "".join(f"    {text}\n" for text in done.stdout.splitlines()[-SHOWN_LINES:])
    sys.stdout.write(line)
    sys.stdout.flush()
    return passed, failed


def main():
    if sys.argv[1] == "--need-npm":
        sys.exit(not any(has_line(path, "# NEEDS: npm") for path in chosen(sys.argv[2:])))
    program, counts, *words = sys.argv[1:]
    together, alone = [], []
    for path in filter(is_possible, chosen(words)):
        (alone if runs_alone(path) else together).append(path)
    together.sort(key=lambda path: not has_line(path, "# LONG"))
    with concurrent.futures.ThreadPoolExecutor(harness.workers()) as pool:
        results = list(pool.map(lambda path: run(path, program), together))
    results += [run(path, program) for path in alone]
    with open(counts, "w", encoding="utf-8") as file:
        file.write(f"{sum(good for good, _ in results)} passed, "
                   f"{sum(bad for _, bad in results)} failed\n")


main()
