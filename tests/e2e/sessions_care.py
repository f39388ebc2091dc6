#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# LONG ROUNDS: the command line has nothing else to do beside a session of 200 MB
"""`trivet sessions prune`, `fsck` and `fork`: what is in use is left alone, incomplete last records are removed, damage is named,
files above the limit are neither read nor listed."""
import fcntl
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import client  # noqa: E402
import harness  # noqa: E402

PROGRAM = os.environ["TRIVET"]
passed, failed = 0, 0


def check(name, ok, detail=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"FAILED: {name}: {str(detail)[:600]}")


class Stage:
    def __init__(self, base):
        self.env = dict(harness.clean_env(base), TRIVET_MODEL="rehearsal/echo")
        self.cwd = os.path.join(base, "work")
        self.dir = os.path.join(self.env["XDG_STATE_HOME"], "trivet/sessions")
        os.makedirs(self.cwd)

    def run(self, *args):
        return subprocess.run([PROGRAM, "sessions", *args], cwd=self.cwd, env=self.env, check=False,
                              capture_output=True, text=True, timeout=60 * harness.slow())

    def new(self, text):
        known = set(os.listdir(self.dir)) if os.path.isdir(self.dir) else set()
        subprocess.run([PROGRAM, "exec", "-q", text], cwd=self.cwd, env=self.env, check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        return [os.path.join(self.dir, one) for one in set(os.listdir(self.dir)) - known
                if one.endswith(".jsonl")][0]


def age(path, days):
    then = time.time() - days * 86400
    os.utime(path, (then, then))


def content(path):
    with open(path, "rb") as file:
        return file.read()


def append(path, data):
    with open(path, "ab") as file:
        file.write(data)


def prunes(s):
    old, young, used, big = s.new("old"), s.new("young"), s.new("used"), s.new("big " + "x" * 50000)
    for path in (old, used):
        age(path, 40)
    check("needs a criterion", s.run("prune").returncode == 2)
    check("a wrong size", s.run("prune", "--larger-than", "-3M").returncode == 2
          and s.run("prune", "--larger-than", "9999999999999G").returncode == 2)
    dry = json.loads(s.run("prune", "--older-than", "30d", "--dry-run", "--json").stdout)
    check("--dry-run", {one["path"] for one in dry} == {old, used} and os.path.exists(old), dry)
    with open(used, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        output = s.run("prune", "--older-than", "30d")
        check("the old one is deleted", output.returncode == 0 and not os.path.exists(old), output)
        check("the one in use stays", os.path.exists(used) and "in use" in output.stdout, output)
    check("the young one stays", os.path.exists(young) and os.path.exists(big))
    output = s.run("prune", "--larger-than", "40K", "--older-than", "1d")
    check("both must hold", os.path.exists(big), output)
    s.run("prune", "--larger-than", "40K")
    check("large ones", not os.path.exists(big) and os.path.exists(young))
    other = os.path.join(os.path.dirname(s.cwd), "other")
    os.makedirs(other)
    age(young, 40)
    subprocess.run([PROGRAM, "sessions", "prune", "--older-than", "30d"], cwd=other, env=s.env, check=True,
                   capture_output=True)
    check("other workspaces are not touched", os.path.exists(young))
    subprocess.run([PROGRAM, "sessions", "prune", "--older-than", "30d", "--all"], cwd=other, env=s.env,
                   check=True, capture_output=True)
    check("--all", not os.path.exists(young))


def checks(s):
    good, cut, whole, used, middle, none = (s.new(word) for word in ("good", "cut", "whole", "used", "middle", "none"))
    clean = s.run("fsck")
    check("all is well", clean.returncode == 0 and " 0 damaged" in clean.stdout, clean)
    before = {path: content(path) for path in (good, cut, whole, used, middle)}
    append(cut, b'{"type":"message","mess')
    append(whole, b'{"type":"trivet_note"}')
    append(used, b'{"type"')
    lines = before[middle].splitlines(True)
    with open(middle, "wb") as file:
        file.write(b"".join(lines[:2]) + b'{"broken": \n' + b"\xff\xfe rubbish\n" + b"".join(lines[2:]))
    with open(none, "wb") as file:
        file.write(b"this is no session\n")
    os.symlink("/etc/passwd", os.path.join(s.dir, "link.jsonl"))
    with open(used, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        rows = {os.path.basename(one["path"]): one for one in json.loads(s.run("fsck", "--json").stdout)}
        state = {path: rows[os.path.basename(path)]["state"] for path in (good, cut, whole, used, middle, none)}
        check("states", list(state.values()) == ["ok", "incomplete", "incomplete", "in use", "damaged", "damaged"], state)
        check("a link is named", rows["link.jsonl"]["state"] == "damaged", rows["link.jsonl"])
        check("bad lines are counted", rows[os.path.basename(middle)]["bad_lines"] == 2, rows[os.path.basename(middle)])
        check("nothing is changed without --repair", content(cut).endswith(b'"mess'))
        output = s.run("fsck", "--repair")
        check("damage: 1", output.returncode == 1 and middle in output.stdout and none in output.stdout, output)
        check("the one in use is left alone", content(used).endswith(b'{"type"') and f"{used}: in use" in output.stdout, output)
    check("the incomplete record is removed", content(cut) == before[cut])
    check("a line that lacks its end is kept", content(whole) == before[whole] + b'{"type":"trivet_note"}\n',
          content(whole)[-100:])
    check("a good file is not changed", content(good) == before[good])
    check("damaged files are not changed", b"rubbish" in content(middle) and content(none) == b"this is no session\n")
    check("the rest of a damaged file can be read", "> middle" in s.run(
        "show", os.path.basename(middle)[:8]).stdout)
    s.run("fsck", "--repair")
    check("later: repaired", content(used) == before[used])
    for path in (middle, none, os.path.join(s.dir, "link.jsonl")):
        os.unlink(path)
    check("clean again", s.run("fsck").returncode == 0)


def forks(s):
    path = s.new("fork me")
    made = s.run("fork", os.path.basename(path)[:8])
    other = made.stdout.strip()
    check("fork", made.returncode == 0 and "> fork me" in s.run("show", other).stdout, made)
    check("the original stays", "> fork me" in s.run("show", os.path.basename(path)[:8]).stdout)
    check("fork of nothing", s.run("fork", "nothing").returncode == 8)


LIMIT = "holds more than 1024 MB"


def sparse(path):
    """8 GiB of zeros and a line behind them."""
    os.truncate(path, 8 << 30)
    append(path, b"{}\n")


def sizes(s):
    small, torn, huge, big = (s.new(word) for word in ("small", "torn", "huge", "big"))
    before = content(torn)
    os.truncate(torn, 8 << 30)
    sparse(huge)
    text = "many words " * 20000
    with open(big, "ab") as file:
        for i in range(1000):
            role = "assistant" if i % 2 else "user"
            file.write(json.dumps({"type": "message", "message": {"role": role, "content": text}}).encode() + b"\n")
        file.write(b'{"type":"trivet_clear"}\n')
    check("200 MB", os.path.getsize(big) > 190 << 20)
    listed = s.run("--json")
    names = {one["path"] for one in json.loads(listed.stdout)}
    check("listed", listed.returncode == 0 and {small, torn, big} <= names and huge not in names,
          listed)
    check("said", f"{huge} {LIMIT}" in listed.stderr, listed.stderr)
    rows = {one["path"]: one for one in json.loads(s.run("fsck", "--json").stdout)}
    check("fsck", rows[huge]["state"] == "damaged" and LIMIT in rows[huge]["error"]
          and rows[torn]["incomplete_bytes"] == (8 << 30) - len(before) and rows[big]["state"] == "ok", rows)

    def resume(path):
        return subprocess.run([PROGRAM, "exec", "--resume", path, "again"], cwd=s.cwd, env=s.env, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60 * harness.slow())

    for path in (torn, big):
        done = resume(path)
        check("resumed", done.returncode == 0 and "again" in done.stdout, done)
    check("the hole is cut off", content(torn).startswith(before) and os.path.getsize(torn) < 1 << 20)
    done = resume(huge)
    check("not resumed", done.returncode != 0 and LIMIT in done.stderr, done)
    check("not changed", os.path.getsize(huge) == (8 << 30) + 3)
    with client.Kward([], cwd=s.cwd, env=s.env) as c:
        number = c.ask("sessions/resume", {"path": huge, "workspaceRoot": s.cwd})
        answer = c.until(lambda m: m.get("id") == number)
        check("Kward", LIMIT in str(answer.get("error")), answer)
    os.unlink(big)
    os.unlink(huge)


def main():
    with harness.private_place() as base:
        s = Stage(base)
        prunes(s)
        checks(s)
        forks(s)
        sizes(s)
    harness.finish(passed, failed)


main()
