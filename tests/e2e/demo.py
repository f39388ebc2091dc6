#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# NEEDS: terminal
"""`trivet demo`: each protocol's turn in readable lines, --raw for the messages, nothing left behind."""
import glob
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import harness  # noqa: E402

PROGRAM = os.environ["TRIVET"]
NAMES = ("loaf", "scaiflux", "kward", "acp")
passed, failed = 0, 0


def check(name, ok, detail=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"FAILED: {name}: {str(detail)[:900]}")


def on_terminal(env):
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(PROGRAM, [PROGRAM, "demo"], env)
    seen = b""
    while True:
        try:
            data = os.read(fd, 65536)
        except OSError:
            break
        if not data:
            break
        seen += data
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(fd)
    return status, seen.decode()


def main():
    with harness.private_place() as base:
        env = dict(harness.clean_env(base), TERM="xterm")
        before = set(glob.glob("/tmp/trivet-demo-*") + glob.glob("/tmp/trivet-home-*"))

        def run(*args, **more):
            return subprocess.run([PROGRAM, "demo", *args], env={**env, **more}, check=False, capture_output=True,
                                  text=True, stdin=subprocess.DEVNULL, timeout=120 * harness.slow())

        output = run()
        check("ends with 0", output.returncode == 0 and not harness.without_noise(output.stderr), output)
        check("no colours without a terminal", "\x1b" not in output.stdout)
        parts = re.split(r"^(?=\w+  )", output.stdout, flags=re.M)
        turns = {part.split()[0]: part for part in parts if part.split()[0] in NAMES}
        check("all protocols", set(turns) == set(NAMES), output.stdout)
        for name, turn in turns.items():
            kinds = re.findall(r"^  (you|model|tool|question|result|done) ", turn, re.M)
            wanted = ["you", "model", "tool", "result", "model", "done"]
            if name == "scaiflux":
                wanted.insert(3, "question")
            check(f"{name}: prompt, answer, tool, result, time", kinds == wanted, turn)
            check(f"{name}: the result", "notes.txt" in turn and re.search(r"\d+ ms", turn), turn)
            check(f"{name}: no JSON", '{"' not in turn, turn)
        check("what to do next", " login  " in output.stdout.split("next:")[-1])
        tree = os.path.join(base, "tree")
        os.makedirs(os.path.join(tree, "build"))
        for name in ["trivet", "trivet-hold", *map(os.path.basename, glob.glob(f"{os.path.dirname(PROGRAM)}/trivet-*.so"))]:
            shutil.copy(os.path.join(os.path.dirname(PROGRAM), name), os.path.join(tree, "build"))
        with open(os.path.join(tree, "run"), "w", encoding="ascii") as file:
            file.write('#!/bin/sh\nexec "${0%/*}/build/trivet" "$@"\n')
        os.chmod(os.path.join(tree, "run"), 0o755)
        for cwd, start in ((tree, "./run"), (base, f"{tree}/run")):
            done = subprocess.run([start, "demo"], env=env, cwd=cwd, capture_output=True, text=True, check=False,
                                  stdin=subprocess.DEVNULL, timeout=120 * harness.slow())
            steps = re.findall(r"^  (\S*(?:run|trivet)(?: .*?)?)  +\w", done.stdout.split("next:")[-1], re.M)
            check(f"the next steps can be typed, {start}", len(steps) == 4 and all(
                step.split()[0] == start for step in steps), done.stdout[-600:] + done.stderr)
            typed = subprocess.run(next(step for step in steps if "exec" in step), shell=True, cwd=cwd, text=True,
                                   env={**env, "TRIVET_MODEL": "rehearsal/echo"}, capture_output=True, check=False)
            check("one of them works", typed.returncode == 0 and typed.stdout == "hello\n", typed)
        check("fits 80 columns", all(len(line) <= 80 for line in output.stdout.splitlines()),
              [line for line in output.stdout.splitlines() if len(line) > 80])
        raw = run("--raw").stdout
        sent = [line[5:] for line in raw.splitlines() if line.startswith("  -> ")]
        check("--raw", len(sent) >= 12 and all(json.loads(line) for line in sent), raw[:300])
        watch = harness.Stopwatch()
        status, seen = on_terminal(env)
        check("on a terminal: colours and 0", status == 0 and "\x1b[36m" in seen, seen[-300:])
        seconds = watch.seconds()
        check("paced for reading, not for waiting", seconds < 15, seconds)
        check("NO_COLOR", "\x1b" not in on_terminal({**env, "NO_COLOR": "1"})[1])
        left = set(glob.glob("/tmp/trivet-demo-*") + glob.glob("/tmp/trivet-home-*")) - before
        check("nothing is left", not left, left)
        check("the user's files are not touched", os.listdir(env["HOME"]) == [], os.listdir(env["HOME"]))
    harness.finish(passed, failed)


main()
