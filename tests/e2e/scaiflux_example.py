#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""examples/scaiflux_controller.py does what it says: rules, interrupt, errors, shutdown."""
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(TOP, "examples")]
import client       # noqa: E402
import harness      # noqa: E402
import scaiflux_controller  # noqa: E402

EXAMPLE = os.path.join(TOP, "examples", "scaiflux_controller.py")
PROGRAM = f"{client.PROGRAM} scaiflux serve"


def run(base, *arguments):
    done = subprocess.run([sys.executable, EXAMPLE, "--engine", PROGRAM, "-w", base, *arguments],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=base,
                          timeout=60 * harness.slow())
    return done.returncode, done.stdout, done.stderr


def scenario(base, name, rounds):
    path = os.path.join(base, name + ".json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"rounds": rounds}, file)
    return ["-m", "rehearsal/" + path]


def writes_by_rule(base):
    model = scenario(base, "write", [[{"call": "write_file", "args": {"path": "a.txt",
                                                                  "content": "x"}}],
                                  [{"say": "The tool said: {{tool_output}}"}]])
    status, out, err = run(base, *model, "write")
    assert (status, "nothing may be changed here" in out) == (0, True), (status, out, err)
    assert not os.path.exists(os.path.join(base, "a.txt"))
    status, out, err = run(base, *model, "--allow-writes", "write")
    assert (status, "[a.txt changed by write_file]" in err) == (0, True), (status, out, err)
    assert os.path.exists(os.path.join(base, "a.txt"))


def commands_by_pattern(base):
    model = scenario(base, "shell", [[{"call": "bash", "args": {"command": "echo yes > b.txt"}}],
                                  [{"call": "bash", "args": {"command": "rm b.txt"}}],
                                  [{"say": "{{tool_output}}"}]])
    status, out, err = run(base, *model, "--allow-command", "echo *", "go")
    assert (status, out.strip()) == (0, "this command is not on the list"), (status, out, err)
    assert os.path.exists(os.path.join(base, "b.txt"))


def reading_is_free_outside_not(base):
    model = scenario(base, "read", [[{"call": "glob_search", "args": {"pattern": "*.json"}},
                                  {"call": "read_file", "args": {"path": "/etc/hostname"}}],
                                 [{"say": "{{tool_output}}"}]])
    status, out, err = run(base, *model, "look")
    assert status == 0 and out.strip() == "outside of the workspace nothing is allowed", (out, err)
    assert err.count("[failed") == 1, err


def too_slow(base):
    watch = harness.Stopwatch()
    status, out, err = run(base, "-m", "rehearsal/slow", "--seconds", "0.5", "tell me")
    assert status == 2 and out.strip(), (status, out, err)
    assert watch.seconds() < 4, "the interrupt took too long"


def failures(base):
    status, out, err = run(base, "-m", "rehearsal/fail401", "hello")
    assert status == 1 and "[" in err, (status, out, err)
    try:
        scaiflux_controller.Controller(PROGRAM.split() + ["-w", base], None)
        raise AssertionError("started without a model")
    except RuntimeError as why:
        assert "model" in str(why), why


def commands(base):
    c = scaiflux_controller.Controller(PROGRAM.split() + ["-w", base, "-m", "rehearsal/hello"],
                                       lambda request: None)
    assert c.slash("gadget", "on web")["data"]["gadgets"] == ["todo", "web"]
    assert c.turn("hi", 20)["stop_reason"] == "end_turn"
    assert c.slash("status")["data"]["turns"] == 1
    assert c.shutdown() == 0


def main():
    passed = failed = 0
    for case in (writes_by_rule, commands_by_pattern, reading_is_free_outside_not, too_slow,
                 failures, commands):
        with harness.private_place() as base:
            os.environ.update(harness.clean_env(base))
            os.mkdir(os.path.join(base, "w"))
            try:
                case(os.path.join(base, "w"))
                passed += 1
            except AssertionError as why:
                print(f"FAIL {case.__name__}: {str(why)[:500]}")
                failed += 1
            if behind := harness.left_behind(base):
                print("left behind:", *behind)
                failed += 1
    harness.finish(passed, failed)


main()
