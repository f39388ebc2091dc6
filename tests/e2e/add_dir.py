#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# NEEDS: terminal
"""--add-dir: tools and commands write there, and nowhere else beside the workspace."""
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import harness  # noqa: E402
import tmux     # noqa: E402

PROGRAM = os.environ["TRIVET"]


def prepare(base):
    for name in ("work", "one", "two", "other", "a:b"):
        os.makedirs(os.path.join(base, name), exist_ok=True)
    calls = []
    for name in ("one", "two", "other"):
        calls.append([{"call": "write_file", "args": {"path": f"{base}/{name}/tool.txt", "content": "x"}}])
        calls.append([{"call": "bash", "args": {"command": f"echo x > {base}/{name}/shell.txt"}}])
    with open(os.path.join(base, "play.json"), "w", encoding="utf-8") as file:
        json.dump({"rounds": calls + [[{"say": "the end"}]]}, file)
    return f"rehearsal/{base}/play.json"


def made(base, clean=True):
    found = {f"{name}/{kind}" for name in ("one", "two", "other") for kind in ("tool", "shell")
             if os.path.exists(os.path.join(base, name, f"{kind}.txt"))}
    for one in found if clean else ():
        os.unlink(os.path.join(base, f"{one}.txt"))
    return found


def run(base, *args, **env):
    return subprocess.run([PROGRAM, "exec", "-m", prepare(base), *args, "x"], cwd=os.path.join(base, "work"),
                          env={**harness.clean_env(base), **env}, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False, timeout=60 * harness.slow())


def writes(base):
    """One, several, relative ones; without the option none."""
    run(base)
    assert made(base) == set(), made(base)
    output = run(base, "--add-dir", "../one", "--add-dir", f"{base}/two")
    assert output.returncode == 0, output
    assert made(base) == {"one/tool", "one/shell", "two/tool", "two/shell"}, (output, made(base, False))
    run(base, f"--add-dir={base}/one", TRIVET_SANDBOX_WRITE=f"{base}/two")
    assert made(base) == {"one/tool", "one/shell", "two/tool", "two/shell"}
    run(base, "--add-dir", "../one", "--mode", "read-only")
    assert made(base) == set(), "a mode that only reads stays one"


def links(base):
    """A link is followed once, at the start: changed later it leads nowhere else."""
    os.makedirs(os.path.join(base, "one"), exist_ok=True)
    os.symlink(os.path.join(base, "one"), os.path.join(base, "link"))
    run(base, "--add-dir", f"{base}/link")
    found = made(base)
    assert found == {"one/tool", "one/shell"}, found


def refusals(base):
    for value in ("../nothing", "/", "../a:b", "../play.json"):
        output = run(base, "--add-dir", value)
        assert output.returncode == 2 and "--add-dir" in output.stderr, (value, output)
        assert made(base) == set()


def chat(base):
    """The chat asks for what is beyond them."""
    model = prepare(base)
    with tmux.Pane(base) as pane:
        pane.enter(f"cd {base}/work; $TRIVET chat -m {model} --add-dir ../one --add-dir ../two go")
        pane.wait("other/tool.txt", seconds=20)
        pane.wait("y  once")
        assert made(base, False) == {"one/tool", "one/shell", "two/tool", "two/shell"}, made(base)
        time.sleep(0.4)  # what comes at once is no answer
        pane.keys("n")
        pane.wait("the end", seconds=20)
    assert "other/tool" not in made(base)


tmux.run([writes, links, refusals, chat])
