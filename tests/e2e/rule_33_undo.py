#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rule 33: `trivet exec --undo` takes back what file tools changed in the last turn; what others
changed since stays; links and .git are not touched; the model is told."""
import os
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import client  # noqa: E402
import harness  # noqa: E402
from played_model import Checks, play  # noqa: E402

check = Checks()


def put(base, name, text):
    path = os.path.join(base, "workspace", name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def get(base, name):
    try:
        with open(os.path.join(base, "workspace", name), encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return None


def undo(base, *args, status=0):
    done = subprocess.run([client.PROGRAM, "exec", "-q", "--undo", *args],
                          cwd=os.path.join(base, "workspace"), env=harness.clean_env(base),
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    check(f"status {status}", done.returncode == status, (done.returncode, done.stdout, done.stderr))
    return done.stdout + done.stderr


def write(path, text):
    return "write_file", {"path": path, "content": text}


def two_turns(base):
    """The newest first, then the one before, then nothing; modes come back."""
    script = put(base, "tool.sh", "echo one\n")
    os.chmod(script, 0o755)
    put(base, "a.txt", "first\n")

    def first():
        yield [("edit_file", {"path": "a.txt", "old_string": "first", "new_string": "second"})]
        yield [write("new/b.txt", "made\n"), write("tool.sh", "echo two\n")]
        yield [("edit_file", {"path": "a.txt", "old_string": "second", "new_string": "third"})]
        yield [("bash", {"command": "true"})]

    def second():
        yield [write("a.txt", "fourth\n")]
        yield [("bash", {"command": "true"})]

    os.makedirs(os.path.join(base, "workspace", "new"))
    play("run", first(), base)
    play("run", second(), base, args=("--continue",))
    text = undo(base)
    check("the second turn", get(base, "a.txt") == "third\n" and "a.txt: restored" in text
          and "1 command ran" in text and get(base, "new/b.txt") == "made\n", text)
    seen = play("run", iter(()), base, args=("--continue",))
    said = str(seen.requests[0]["messages"])
    check("the model is told", "has taken back what file tools changed" in said
          and "- a.txt: restored" in said, said[-900:])
    seen = play("run", iter(()), base, args=("--continue",))
    check("once", str(seen.requests[0]["messages"]).count("has taken back") == 1)
    text = undo(base)
    check("the first turn", get(base, "a.txt") == "first\n" and get(base, "new/b.txt") is None
          and get(base, "tool.sh") == "echo one\n" and "new/b.txt: removed" in text, text)
    check("the mode", stat.S_IMODE(os.stat(script).st_mode) == 0o755, os.stat(script).st_mode)
    check("nothing more", "nothing to undo" in undo(base, status=1))
    kept = os.path.join(base, "xdg/state/trivet/undo")
    left = [f for _, _, files in os.walk(kept) for f in files if f != "note"]
    check("nothing is left", not left, left)
    check("for the user alone", all(stat.S_IMODE(os.stat(d).st_mode) == 0o700
                                    for d, _, _ in os.walk(kept)), kept)


def others(base):
    """What was changed since stays and is named; a link in its place is not followed."""
    for name in ("a.txt", "b.txt", "c.txt", "d.txt"):
        put(base, name, "before\n")
    outside = os.path.join(base, "outside.txt")
    with open(outside, "w", encoding="ascii") as file:
        file.write("after\n")

    def story():
        yield [write(n, "after\n") for n in ("a.txt", "b.txt", "c.txt", "d.txt")]
        yield [("bash", {"command": "true"})]

    play("run", story(), base)
    put(base, "a.txt", "mine\n")
    os.unlink(os.path.join(base, "workspace", "b.txt"))
    os.unlink(os.path.join(base, "workspace", "c.txt"))
    os.symlink(outside, os.path.join(base, "workspace", "c.txt"))
    text = undo(base, status=4)
    check("the end says so", "trivet exec: not every file could be taken back" in text, text)
    check("changed by others", get(base, "a.txt") == "mine\n" and get(base, "b.txt") is None
          and "a.txt: changed since" in text and "b.txt: changed since" in text, text)
    with open(outside, encoding="ascii") as file:
        check("not through a link", file.read() == "after\n" and "c.txt: changed since" in text, text)
    check("the rest is restored", get(base, "d.txt") == "before\n", text)


def limits(base):
    """Large files and .git are not kept; a failed edit is no change; --ephemeral keeps nothing."""
    put(base, "large.txt", "x" * (3 << 20))
    put(base, ".git/hooks/pre-commit", "old\n")
    put(base, "small.txt", "before\n")

    def story():
        yield [write("large.txt", "small now\n"), write("small.txt", "after\n"),
               write(".git/hooks/pre-commit", "new\n")]
        yield [("edit_file", {"path": "small.txt", "old_string": "no such text",
                              "new_string": "x"})]
        yield [("bash", {"command": "true"})]

    play("run", story(), base, args=("--mode", "danger-full-access"))
    text = undo(base, status=4)
    check("large", "large.txt: too large to be kept" in text
          and get(base, "large.txt") == "small now\n", text)
    check("small", get(base, "small.txt") == "before\n", text)
    check(".git is left alone", get(base, ".git/hooks/pre-commit") != "old\n"
          or ".git" not in text, text)

    def failed():
        yield [("edit_file", {"path": "small.txt", "old_string": "none", "new_string": "x"})]

    play("run", failed(), base)
    check("no change", "nothing to undo" in undo(base, status=1))
    check("usage", "takes no prompt" in undo(base, "words", status=2))


def deleted(base):
    """With the session goes what is kept of it."""
    def story():
        yield [write("a.txt", "after\n")]

    play("run", story(), base)
    kept = os.path.join(base, "xdg/state/trivet/undo")
    ids = os.listdir(kept)
    check("kept", len(ids) == 1 and os.listdir(os.path.join(kept, ids[0])), ids)
    subprocess.run([client.PROGRAM, "sessions", "rm", ids[0]], env=harness.clean_env(base), check=True,
                   cwd=os.path.join(base, "workspace"), capture_output=True, timeout=60)
    check("gone", not os.listdir(kept), os.listdir(kept))


def main():
    for story in (two_turns, others, limits, deleted):
        with check.scene(story.__name__) as base:
            story(base)
    return check.end()


sys.exit(main())
