#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the unit test programs of a build folder, several at a time, each in a private home.

    check_units.py build-asan                      all of tests/unit
    check_units.py build-asan frame rows           those whose name contains a word
    check_units.py build-valgrind --exact --wrap 'valgrind -q ...' test_fiber

The working directory is the build folder, as with `meson test`, so that __FILE__ leads to the
sources.  Counts cmocka's tests.  A program that dies, leaks or leaves a process behind
counts as failed; when it was the leak checker that crashed, the program is run once more.
"""
import argparse
import concurrent.futures
import glob
import os
import re
import shlex
import subprocess

import harness


def names(words, exact):
    every = sorted(os.path.basename(path)[:-2]
                   for path in glob.glob(os.path.join(harness.TOP, "tests/unit/test_*.c")))
    if not words:
        return every
    if exact:
        return [name for name in every if name in words]
    return [name for name in every if any(word in name for word in words)]


def run(program, wrap):
    """(passed, failed, what to show)"""
    output = run_once(program, wrap)
    return run_once(program, wrap) if output[1] and harness.has_checker_crashed(output[2]) else output


def run_once(program, wrap):
    with harness.private_place() as base:
        env = harness.clean_env(base)
        try:
            done = subprocess.run(wrap + [program], env=env, cwd=os.path.dirname(program),
                                  text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, errors="replace",
                                  timeout=120 * harness.slow())
        except subprocess.TimeoutExpired as late:
            return 0, 1, f"timed out\n{(late.output or b'')[-4000:]}"
        except OSError as error:
            return 0, 1, str(error)
        behind = harness.left_behind(base)
    passed = sum(int(n) for n in re.findall(r"^\[  PASSED  \] (\d+) test", done.stdout, re.M))
    failed = sum(int(n) for n in re.findall(r"^\[  FAILED  \] .*?(\d+) test\(s\), listed",
                                            done.stdout, re.M))
    if behind:
        return passed, failed + 1, done.stdout + "left behind: " + "; ".join(behind)
    if done.returncode and not failed:
        failed = 1
    skipped = re.findall(r"^\[  SKIPPED \] (\d+) test", done.stdout, re.M)
    if not done.returncode and not passed and not skipped:
        return 0, 1, done.stdout + "ended with 0 but passed no test"
    return passed, failed, f"{done.stdout}exit status {done.returncode}"


def shorten(text):
    lines = [line for line in text.splitlines() if not re.match(r"\[( RUN  |       OK) ", line)]
    if len(lines) > 80:
        lines = lines[:60] + ["..."] + lines[-20:]
    return "\n".join("    " + line for line in lines)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("build")
    options.add_argument("words", nargs="*")
    options.add_argument("--wrap", default="")
    options.add_argument("--exact", action="store_true")
    args = options.parse_intermixed_args()
    build = os.path.abspath(args.build)
    chosen = names(args.words, args.exact)
    passed = failed = 0
    with concurrent.futures.ThreadPoolExecutor(harness.workers()) as pool:
        jobs = [pool.submit(run, os.path.join(build, name), shlex.split(args.wrap))
                for name in chosen]
        for name, job in zip(chosen, jobs):
            good, bad, text = job.result()
            passed, failed = passed + good, failed + bad
            if bad:
                print(f"FAIL {name}\n{shorten(text)}", flush=True)
    harness.finish(passed, failed)


main()
