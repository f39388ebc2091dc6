#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Commands get an environment in which programs neither colour, page, ask nor draw progress; jobs in
a terminal get that of a terminal."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from played_model import DIALECTS, SHELL, Checks, play  # noqa: E402
import harness  # noqa: E402

check = Checks()
WANTED = {"TERM": "dumb", "NO_COLOR": "1", "PAGER": "cat", "GIT_PAGER": "cat", "GH_PAGER": "cat",
          "MANPAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true", "TQDM_DISABLE": "1",
          "PIP_PROGRESS_BAR": "off"}
CALLERS = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "PAGER": "less", "EDITOR": "vi",
           "GIT_PAGER": "less -R"}


def repository(base):
    place = os.path.join(base, "workspace")
    os.makedirs(place)
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    script = ("git init -q . && git config user.name a && git config user.email a@b && "
              "git config color.ui always && git config core.pager 'less -R' && "
              "for i in $(seq 100); do git commit -q --allow-empty -m \"step $i\"; done")
    subprocess.run(["sh", "-c", script], cwd=place, env=env, check=True)


def scenario(dialect):
    shell = SHELL[dialect]
    log, env, amend, ask = yield [
        (shell, {"command": "git log"}), (shell, {"command": "env"}),
        (shell, {"command": "git commit --amend --allow-empty"}),
        (shell, {"command": "git clone -q https://127.0.0.1:1/x y; echo over"})]
    check(f"{dialect}: git log ends", "step 1" in log and "step 100" in log, log[-300:])
    check(f"{dialect}: no escape byte", "\x1b" not in log and "u001b" not in log, log[:300])
    for name, value in WANTED.items():
        check(f"{dialect}: {name}", f"{name}={value}" in env, env)
    check(f"{dialect}: no COLORTERM", "COLORTERM" not in env, env)
    check(f"{dialect}: no editor opens", "step 100" in amend and "exit status" not in amend, amend)
    check(f"{dialect}: nothing asks for a password", "over" in ask, ask)


def terminal():
    [started] = yield [("bash", {"command": "env; exec sleep 5", "run_in_background": True})]
    import json
    job = json.loads(started)["session_id"]
    [_] = yield [("bash", {"command": "sleep 0.5"})]
    [text] = yield [("read_background_bash", {"session_id": job})]
    check("a terminal is one", "TERM=xterm-color" in text, text)
    check("and has colours and pagers", "NO_COLOR" not in text and "PAGER=cat" not in text, text)


def passed_on():
    [env] = yield [("bash", {"command": "env"})]
    check("what the user passes on stays", "TERM=xterm-256color" in env and "TERM=dumb" not in env,
          env)


def main():
    for dialect in DIALECTS:
        with check.scene(dialect) as base:
            repository(base)
            play(dialect, scenario(dialect), base, env=CALLERS)
    if harness.has_terminals():
        with check.scene("terminal") as base:
            play("loaf", terminal(), base, env=CALLERS)
    else:
        harness.skip("agent_environment: terminal", "no terminals")
    with check.scene("passed on") as base:
        play("scaiflux", passed_on(), base, env={**CALLERS, "TRIVET_PASS_ENV": "TERM"})
    return check.end()


sys.exit(main())
