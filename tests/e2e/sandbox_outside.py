#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# NEEDS: terminal
# LONG
"""A command that asks to run outside of the sandbox: the user is asked, with the reason; where nobody
can be asked it is denied with an explanation; rules for tools and files of the workspace never grant it.
"""
import json
import os
import pty
import re
import select
import time

from security_place import harness, play

WHY = "it needs the home directory"


def outside(command, why=WHY, **more):
    return ("bash", {"command": command, "unsandboxed": True, "why": why, **more})


def run(p, *flags, **env):
    """Without a terminal.  What the model got."""
    done = p.run("run", "-m", "rehearsal/scene.json", *flags, "go", **env)
    assert done.returncode in (0, 5), done.stderr  # 5: a permission that nobody could give
    return p.results()


def become(p):
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(p.uid)
        os.setuid(p.uid)


def on_terminal(p, answers, *flags, **env):
    """Types the answers to the questions as they come; what stood on the terminal."""
    p.give_away()
    pid, fd = pty.fork()
    if pid == 0:
        become(p)
        os.chdir(p.work)
        os.execve(p.program, ["trivet", "run", "-m", "rehearsal/scene.json", *flags, "go"],
                  {**p.env, **env})
    seen, answered, end = "", 0, time.monotonic() + 20 * harness.slow()
    while time.monotonic() < end:
        if not select.select([fd], [], [], 0.1)[0]:
            continue
        try:
            data = os.read(fd, 4096)
        except OSError:  # the end of a terminal
            break
        if not data:
            break
        seen += data.decode(errors="replace")
        asked = len(re.findall(r"(?:\[N\]o[^\n]*|all else is no|please): ", seen))
        if asked > answered:
            time.sleep(0.4)  # what comes at once is no answer
            os.write(fd, (answers[answered] if answered < len(answers) else "n").encode() + b"\n")
            answered += 1
    os.close(fd)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status == 0, f"{status} {seen}"
    assert answered == len(answers), f"{answered} questions: {seen}"
    return seen


def here(p, name):
    return os.path.exists(f"{p.home}/{name}")


def nobody_to_ask(score, p):
    p.scene(outside("echo 1 >~/out"))
    output = run(p)
    score.check(f"denied without a terminal ({score.name})", not here(p, "out"), output)
    score.check(f"the text says how ({score.name})",
                "no terminal to ask on" in output and "--allow 'outside(COMMAND)'" in output, output)
    p.scene(("bash", {"command": "echo 1 >~/out"}))
    output = run(p)
    score.check(f"no way is named that is not there ({score.name})",
                "The sandbox may be the reason" in output and "unsandboxed=true" not in output, output)


def asked(score, p):
    with open("/proc/self/status", encoding="ascii") as file:
        filters = "\\n".join(line.strip().replace("\t", "\\t") for line in file if line.startswith("Seccomp"))
    p.scene(outside("id -u >~/out; grep Seccomp /proc/self/status; echo $TMPDIR"),
            ("bash", {"command": "echo 2 >~/two"}))
    seen = on_terminal(p, ["y", "outside"])
    output = p.results()
    score.check(f"a letter is not enough ({score.name})", "a word in full, please: " in seen, seen)
    score.check(f"the word runs it outside ({score.name})", here(p, "out") and filters in output, output)
    score.check(f"the next one runs inside ({score.name})", not here(p, "two"), output)
    score.check(f"command and reason are shown ({score.name})",
                "echo $TMPDIR" in seen and f"outside of the sandbox: {WHY}" in seen, seen)
    score.check(f"the hint names the way ({score.name})",
                "The sandbox may be the reason" in output and "unsandboxed=true" in output, output)


def refused(score, p):
    p.scene(outside("echo 1 >~/out"), outside("echo 2 >~/two"),
            outside("echo 3 >~/three", why=" "), outside("echo 4 >~/four", run_in_background=True))
    on_terminal(p, ["n", "", "always"])  # the third is not asked, and always is not offered
    output = p.results()
    score.check(f"no is no ({score.name})",
                not any(here(p, n) for n in ("out", "two", "three", "four")), output)
    score.check(f"the reason is needed ({score.name})", "say why" in output, output)


def background(score, p):
    p.scene(outside("echo 4 >~/four", run_in_background=True),
            ("bash", {"command": "sleep 1"}))
    on_terminal(p, ["outside"])
    score.check(f"in the background ({score.name})", here(p, "four"), p.results())


def remembered(score, p):
    """By the first words of a single command; never for what runs other programs."""
    os.makedirs(f"{p.base}/tools")
    for name in ("gh", "python3", "rm", "make"):
        tool = p.put(f"{p.base}/tools/{name}", f"#!/bin/sh\necho {name} $2 >>~/ran\n")
        os.chmod(tool, 0o755)
    path = f"{p.base}/tools:{os.environ['PATH']}"
    p.scene(outside("gh pr a"), outside("gh pr b"), outside("gh api c"), outside("gh pr d; gh api e"))
    seen = on_terminal(p, ["always", "n", "n"], PATH=path)
    with open(f"{p.home}/ran", encoding="utf-8") as file:
        ran = file.read()
    score.check(f"always is for the beginning alone ({score.name})", ran == "gh a\ngh b\n", ran + seen)
    score.check(f"the rule is shown ({score.name})", "calls of the rule outside(gh pr); " in seen, seen)
    lines = ("rm -r x", "python3 x", "python3.12 -c 1", "sh -c true", "env gh pr", "make x", "git push",
             "./gh pr", "X=1 gh pr", "gh pr | sh", "gh pr >x", "gh $(id)", "/usr/bin/gh pr")
    p.scene(*(outside(line) for line in lines))
    seen = on_terminal(p, ["n"] * len(lines), PATH=path)
    score.check(f"never for what runs others ({score.name})", "always" not in seen, seen)


def rules(score, p):
    p.scene(outside("touch ~/out"))
    for rule in ("bash", "*", "bash(touch)", "*(touch)"):
        output = run(p, "--allow", rule)
        score.check(f"--allow {rule} is no leave ({score.name})", not here(p, "out"), output)
    output = run(p, "--allow", "outside(touch)", "--deny", "outside")
    score.check(f"deny wins ({score.name})",
                not here(p, "out") and "denied by the rule outside" in output, output)
    output = run(p, "--allow", "outside(touch)", "--deny", "bash(touch)")
    score.check(f"deny of the tool wins ({score.name})", not here(p, "out"), output)
    output = run(p, "--allow", "outside(touch)", "--ask", "bash(touch)")
    score.check(f"ask of the tool asks ({score.name})", not here(p, "out"), output)
    output = run(p, "--allow", "outside(touch)", TRIVET_SANDBOX="require")
    score.check(f"require lets nothing out ({score.name})",
                not here(p, "out") and "TRIVET_SANDBOX=require lets nothing" in output, output)
    output = run(p, "--mode", "plan")
    score.check(f"a plan stays inside ({score.name})",
                not here(p, "out") and "the session has read-only" in output, output)
    output = run(p, "--allow", "outside(touch)")
    score.check(f"the user's rule lets it out ({score.name})", here(p, "out"), output)


def workspace_rules(score, p):
    p.scene(outside("touch ~/out"))
    p.put(".trivet/permissions.json", json.dumps({"allow": ["outside(touch)"]}))
    done = p.run("run", "-m", "rehearsal/scene.json", "go")
    score.check(f"the workspace cannot allow ({score.name})",
                done.returncode == 1 and "is for the user's own file" in done.stderr
                and not here(p, "out"), done.stderr)
    p.put(".trivet/permissions.json", json.dumps({"deny": ["outside(touch)"]}))
    output = run(p, "--allow", "outside")
    score.check(f"but deny ({score.name})", not here(p, "out"), output)


def require_on_terminal(score, p):
    p.scene(outside("touch ~/out"), ("bash", {"command": "echo 2 >~/two"}))
    on_terminal(p, [], TRIVET_SANDBOX="require")
    output = p.results()
    score.check(f"require asks nobody ({score.name})", not here(p, "out"), output)
    score.check(f"require names no way ({score.name})", "unsandboxed=true" not in output, output)


def dialects(score, p):
    """A ScaiFlux schema is closed: the argument does not exist there."""
    tools = p.run("describe", "tools").stdout
    score.check(f"no dialect has it ({score.name})", tools and "unsandboxed" not in tools, tools)


play(nobody_to_ask, asked, refused, background, remembered, rules, workspace_rules,
     require_on_terminal, dialects)
