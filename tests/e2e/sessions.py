#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`trivet sessions`: conversations of every dialect in one list, found by id, name and words."""
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import harness  # noqa: E402
from client import Kward, Loaf, Scaiflux  # noqa: E402

PROGRAM = os.environ["TRIVET"]
passed, failed = 0, 0


def check(name, ok, detail=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"FAILED: {name}: {str(detail)[:600]}")


def speak(cwd, env):
    """One conversation in each dialect and one of trivet itself, each with a word of its own."""
    with Loaf([], cwd=cwd, env=env) as c:
        session = c.call("session.create", {})["session_id"]
        c.turn(session, "apricot of loaf")
    with Scaiflux([], cwd=cwd, env=env) as c:
        c.event("ready")
        c.turn("banana of scaiflux")
    with Kward([], cwd=cwd, env=env) as c:
        c.call("initialize", {"clientInfo": {"name": "t", "version": "1"}})
        session = c.call("sessions/create", {"workspaceRoot": cwd})["id"]
        c.call("turns/start", {"sessionId": session, "input": "cherry of kward"})
        c.event("turnFinished")
    subprocess.run([PROGRAM, "exec", "-q", "date of trivet"], cwd=cwd, env=env, check=True,
                   input=b"", stdout=subprocess.DEVNULL)


def main():
    with harness.private_place() as base:
        env = dict(harness.clean_env(base), TRIVET_MODEL="rehearsal/echo")
        cwd = os.path.join(base, "work")
        other = os.path.join(base, "other")
        os.makedirs(cwd)
        os.makedirs(other)
        speak(cwd, env)

        def run(*args, where=cwd):
            return subprocess.run([PROGRAM, "sessions", *args], cwd=where, env=env, check=False,
                                  capture_output=True, text=True)

        rows = json.loads(run("--json").stdout)
        programs = {one["program"]: one for one in rows}
        check("all programs", set(programs) == {"trivet", "loaf", "scaiflux", "kward"}, rows)
        check("newest first", [one["modified"] for one in rows] ==
              sorted((one["modified"] for one in rows), reverse=True), rows)
        for program, word in [("loaf", "apricot"), ("scaiflux", "banana"), ("kward", "cherry"),
                              ("trivet", "date")]:
            hits = json.loads(run("search", word, "--json").stdout)
            check(f"search finds that of {program}", [one["program"] for one in hits] == [program]
                  and word in hits[0]["match"], hits)
            shown = run("show", programs[program]["id"][:8])
            check(f"show that of {program}", shown.returncode == 0
                  and f"> {word} of {program}" in shown.stdout, shown)
            made = run("export", programs[program]["id"])
            check(f"export that of {program}", made.returncode == 0 and "## User" in made.stdout
                  and word in made.stdout, made)
        check("two words", run("search", "DATE", "trivet").returncode == 0)
        check("words that are nowhere: 1", run("search", "quince").returncode == 1)
        check("another directory has its own", run("--json", where=other).stdout.count('"trivet"') == 0)
        check("--all has all", "date of trivet" in run("--all", where=other).stdout)
        mine = programs["trivet"]["id"]
        check("rename", run("rename", mine[:6], "fruit").returncode == 0
              and "fruit" in run().stdout)
        check("found by name", "date of trivet" in run("show", "fruit").stdout)
        out = os.path.join(base, "e.md")
        check("export to a file", run("export", "fruit", "-o", out).returncode == 0
              and "date" in open(out, encoding="utf-8").read())
        check("never over a file", run("export", "fruit", "-o", out).returncode == 1)
        os.symlink(base, os.path.join(cwd, "led"))
        made = run("export", "fruit", "-o", "led/f.md")
        check("through no link in the directory", made.returncode == 1 and "symbolic link" in made.stderr
              and not os.path.exists(os.path.join(base, "f.md")), made)
        os.unlink(os.path.join(cwd, "led"))
        slow = subprocess.Popen([PROGRAM, "exec", "-r", mine, "-m", "rehearsal/slow", "x"], cwd=cwd,
                                env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE)
        slow.stderr.readline()
        time.sleep(0.5)
        busy = run("rm", mine)
        check("one in use is not deleted: 7", busy.returncode == 7, busy)
        check("but can be read", "date" in run("show", mine).stdout)
        slow.terminate()
        slow.communicate()
        check("rm", run("rm", mine).returncode == 0 and mine not in run("--json").stdout)
        check("rm again: 8", run("rm", mine).returncode == 8)
        output = run("rm", programs["loaf"]["id"])
        check("those of loaf are only read", output.returncode == 1 and "loaf" in output.stderr, output)
        output = run("sho", "x")
        check("an unknown word: 2 and the nearest", output.returncode == 2 and "show" in output.stderr)
        plain = run("--plain").stdout
        check("--plain", plain and all(len(line.split("\t")) == 6 for line in plain.splitlines()),
              plain)
    harness.finish(passed, failed)


main()
