#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# LONG
"""A command that is not done at its time limit goes on as a background job where the toolset has
jobs; git and sleep are ended; Kward says what came so far."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from played_model import SHELL, Checks, play  # noqa: E402

check = Checks()
SLOW = "echo a; sleep 3; echo x"


def limit(dialect, ms):
    return {"timeout_seconds": ms / 1000} if dialect in ("loaf", "kward") else {"timeout": ms}


def scaiflux(dialect):
    [text] = yield [("bash", {"command": SLOW, **limit(dialect, 1000)})]
    found = re.fullmatch(r"a\nnot finished after 1000 ms; the command runs in the background as "
                         r"process (\d+); its output goes to (\S+)\n", text)
    check(f"{dialect}: output so far, id and log", found, text)
    check(f"{dialect}: the log lies outside of the workspace", ".scaiflux" not in text, text)
    [alive] = yield [("bash", {"command": f"kill -0 {found[1]} && echo alive"})]
    check(f"{dialect}: the id is a process", "alive" in alive or "not permitted" in alive, alive)
    [later] = yield [("bash", {"command": f"until grep -q x {found[2]}; do sleep 0.05; done; cat {found[2]}"})]
    check(f"{dialect}: the log has the rest", "a\nx\n" in later, later)
    [read] = yield [("read_file", {"path": found[2]})]
    check(f"{dialect}: and can be read", "a\nx\n" in read, read)
    [started] = yield [("bash", {"command": "echo one; echo two >&2", "run_in_background": True})]
    log = re.search(r"goes to (\S+)", started)
    check(f"{dialect}: a job has its log outside of .scaiflux",
          log and ".scaiflux" not in log[1], started)
    [both] = yield [("bash", {"command": f"until grep -q two {log[1]}; do sleep 0.05; done; sort {log[1]}"})]
    check(f"{dialect}: with both streams", "one\ntwo\n" in both, both)


def loaf():
    [text] = yield [("bash", {"command": SLOW, "timeout_seconds": 1})]
    value = json.loads(text)
    check("loaf: id and output so far", value["status"] == "running" and value["stdout"] == "a\n"
          and value["timed_out"] and value["session_id"].startswith("bg-bash-"), text)
    [_] = yield [("bash", {"command": "sleep 3"})]
    read, jobs, log = yield [
        ("read_background_bash", {"session_id": value["session_id"]}),
        ("list_background_bash", {"include_exited": True}),
        ("read_file", {"file_path": value["log"]})]
    check("loaf: a later read shows the rest", json.loads(read)["stdout"] == "x\n"
          and json.loads(read)["exit_code"] == 0, read)
    check("loaf: it is listed", value["session_id"] in jobs, jobs)
    check("loaf: the log has all of it", "L1: a" in log and "L2: x" in log, log)
    [stuck] = yield [("bash", {"command": "while :; do sleep 1; done", "timeout_seconds": 1})]
    [stopped] = yield [("stop_background_bash", {"session_id": json.loads(stuck)["session_id"]})]
    check("loaf: it can be stopped", "stop_requested" in stopped, stopped)
    # A job keeps the directory of the shell as it was.
    [where] = yield [("bash", {"command": "pwd"})]
    check("loaf: the shell works on", json.loads(where)["exit_code"] == 0, where)


def ended(dialect):
    """Only the first word counts."""
    shell = SHELL[dialect]
    git = "git -c alias.wait='!sleep 20' wait"
    texts = yield [(shell, {"command": " sleep 20", **limit(dialect, 1000)}),
                   (shell, {"command": git, **limit(dialect, 1000)}),
                   (shell, {"command": "/bin/sleep 20; echo git", **limit(dialect, 1000)})]
    for text in texts:
        is_ended = {"loaf": '"status":"error"', "kward": "Error: command timed out after 1 seconds"}
        check(f"{dialect}: ended", is_ended.get(dialect, "timed out after 1000 ms") in text, text)
    if dialect == "kward":
        return
    [text] = yield [(shell, {"command": "echo git; sleep 20", **limit(dialect, 1000)})]
    check(f"{dialect}: a later word does not count", "background" in text, text)


def kward():
    one, two = yield [("run_shell_command", {"command": SLOW, "timeout_seconds": 1}),
                      ("run_shell_command", {"command": "seq 1 100000; sleep 9", "timeout_seconds": 1})]
    check("kward: pinned line, then what came", one.startswith(
        "Error: command timed out after 1 seconds\n") and "STDOUT:\na\n" in one, one)
    check("kward: path when it is long", re.search(r"all of the output is in \S+", two)
          and len(two) < 20480 and "\n100000\n" in two, two[-300:])


def main():
    for dialect in ("scaiflux", "run"):
        with check.scene(dialect) as base:
            play(dialect, scaiflux(dialect), base, args=["--mode", "danger-full-access"]
                 if dialect == "run" else ())
        with check.scene(f"{dialect} confined") as base:
            play(dialect, scaiflux(dialect), base, env={"TRIVET_SANDBOX": "workspace-write"})
    for env in ({}, {"TRIVET_SANDBOX": "workspace-write"}):
        with check.scene(f"loaf {env}") as base:
            play("loaf", loaf(), base, env=env)
    with check.scene("kward") as base:
        play("kward", kward(), base)
    for dialect in ("loaf", "scaiflux", "kward", "run"):
        with check.scene(f"{dialect} ended") as base:
            play(dialect, ended(dialect), base)
    return check.end()


sys.exit(main())
