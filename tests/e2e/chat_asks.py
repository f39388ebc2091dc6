#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# NEEDS: terminal
"""The chat's question before a call: every answer, the rules that answers make, and where they are
kept.
"""
import json
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import tmux  # noqa: E402


def bash(*commands):
    """A scene that runs one command a round."""
    return {"rounds": [[{"call": "bash", "args": {"command": c}}] for c in commands] +
            [[{"say": "all is over"}]]}


def outside(*commands):
    """The same with commands that ask to leave the sandbox."""
    return {"rounds": [[{"call": "bash", "args": {"command": c, "unsandboxed": True, "why": "it needs that"}}]
                       for c in commands] + [[{"say": "all is over"}]]}


def made(pane):
    return sorted(n for n in os.listdir(pane.workspace) if n != "scene.json" and n[0] != ".")


def kept(pane):
    """The rules in the user's file for this workspace."""
    path = os.path.join(pane.env["XDG_CONFIG_HOME"], "trivet/permissions.json")
    if not os.path.exists(path):
        return []
    assert os.stat(path).st_mode & 0o777 == 0o600
    with open(path, encoding="utf-8") as file:
        return json.load(file)["workspaces"][os.path.realpath(pane.workspace)]["allow"]


def ask(base, answers, scene, files, rules=(), flags=("--mode", "prompt"), end="all is over"):
    """Plays the keys that answer; each waits for a question."""
    with tmux.Pane(base, rows=40) as pane:
        pane.chat(*flags, scene=scene)
        pane.enter("go")
        seen = ""
        for i, keys in enumerate(answers):
            pane.until(lambda _, n=i + 1: pane.all().count("\n? ") == n)
            seen += pane.wait("wants to ")
            time.sleep(0.4)  # what comes at once is no answer
            for key in keys:
                pane.keys(key) if len(key) > 1 and " " not in key else pane.type(key)
        pane.wait(end)
        assert made(pane) == files, made(pane)
        pane.until(lambda _: kept(pane) == list(rules))
        assert not os.path.exists(os.path.join(pane.workspace, ".trivet/permissions.json"))
        return seen + pane.all()


def once(base):
    ask(base, ["y", "n"], bash("touch one", "touch two"), ["one"])


def always(base):
    """The rule is shown before, it is kept, and the next chat does not ask."""
    shown = ask(base, ["a"], bash("touch one", "touch two"), ["one", "two"], ["bash(touch)"])
    assert "always here: bash(touch)" in shown
    with tmux.Pane(base) as pane:
        os.remove(os.path.join(pane.workspace, "two"))
        pane.chat("--mode", "prompt", scene=bash("touch two"))
        pane.turn("go")
        assert made(pane) == ["one", "two"]
    elsewhere = os.path.join(base, "elsewhere")
    with tmux.Pane(base) as pane:
        os.makedirs(elsewhere)
        pane.enter(f"cd {elsewhere}; clear")
        pane.chat("--mode", "prompt", model="rehearsal/../work/scene.json")
        pane.enter("go")
        pane.wait("wants to run")


def covered(base):
    """Only the commands that no rule covers are offered; more words that follow are covered."""
    shown = ask(base, ["a"], bash("true one && git status --short", "git status"), [],
                ["bash(git status)"], ("--mode", "prompt", "--allow", "'bash(true)'"))
    assert "no rule covers git status --short" in shown, shown


def wider(base):
    ask(base, ["w"], bash("git status", "git log"), [], ["bash(git *)"])


def session(base):
    """Counts until the end of the chat and is not kept."""
    ask(base, ["s"], bash("touch one", "touch two"), ["one", "two"])


def edited(base):
    """A rule can be edited; one that is none is refused in words."""
    keys = ("e", "C-u", "bsh(x)", "Enter", "C-u", "bash(touch one)", "Enter")
    ask(base, [keys, "n"], bash("touch one", "touch two"), ["one"], ["bash(touch one)"])


def reason(base):
    """The reason reaches the model."""
    scene = {"rounds": [[{"call": "bash", "args": {"command": "touch one"}}],
                        [{"say": "heard: {{tool_output}} all is over"}]]}
    shown = ask(base, [("r", "use another name", "Enter")], scene, [])
    assert "heard: the user refused this call: use another name" in shown.replace("\n", " "), shown


def nothing_offered(base):
    """No rule for a line that only the shell reads, for sudo, and where an ask rule asks."""
    for command in ("touch $(echo one)", "sudo touch one", "sh -c 'touch one'"):
        shown = ask(base, ["n"], bash(command), [])
        assert "always here" not in shown, shown
    shown = ask(base, ["n"], bash("touch one"), [], flags=("--ask", "bash"))
    assert "always here" not in shown and "the rule bash asks" in shown, shown


def stands_once(base):
    """The call, the reason in the words of the mode and the rule are on the screen once, in full."""
    command = "touch one " + "x" * 90 + " # why\ntouch two"
    scene = {"rounds": [[{"call": "bash", "args": {"command": command}}],
                        [{"call": "read_file", "args": {"path": "/etc/hostname"}}], [{"say": "all is over"}]]}
    with tmux.Pane(base, rows=40) as pane:
        pane.chat("--mode", "prompt", scene=scene)
        pane.enter("go")
        shown = pane.wait("s  this session").replace("\n", "")
        for words in ("? bash wants to run", "touch one", "touch two", "waiting for your answer",
                      "prompt mode asks before each change", "a  always here: bash(touch)"):
            assert shown.count(words) == 1, (words, shown)
        time.sleep(0.4)
        pane.type("n")
        shown = pane.wait("wants to read")
        assert "? read_file wants to read /etc/hostname\nprompt mode asks before anything outside of the " \
               "workspace is used\n" in shown and "always here: read_file(/etc/hostname)\n" in shown, shown


def narrow(base):
    """In a window of 40 columns all answers and all of the rule can be read."""
    scene = {"rounds": [[{"call": "write_file", "args": {"path": "a-directory-with-a-name/of-many-letters/that-do-not-fit/a",
                                                         "content": "x"}}], [{"say": "all is over"}]]}
    with tmux.Pane(base, cols=40, rows=40) as pane:
        pane.chat("--mode", "prompt", scene=scene, wait="commands")
        pane.enter("go")
        pane.wait("no, and why")
        shown = pane.screen()
        for words in ("  esc stops\n", "s  this session", "e  edit the rule", "n  no"):
            assert words in shown, (words, shown)
        rule = "".join(shown.partition("a  always here:")[2].partition("\ns  ")[0].split())
        assert rule.startswith("write_file(a-directory-with-a-name/of-many-letters/that-do-not-fit/**)"), shown


def files(base):
    """A change is shown before it is allowed; the rule is for the directory."""
    scene = {"rounds": [[{"call": "write_file", "args": {"path": "src/a.c", "content": "int a;\n"}}],
                        [{"call": "write_file", "args": {"path": "src/b.c", "content": "int b;\n"}}],
                        [{"say": "all is over"}]]}
    shown = ask(base, ["a"], scene, ["src"], ["write_file(src/**)"])
    assert "  + int a;" in shown, shown


def typed_ahead(base):
    """Keys that were meant for the line do not answer a question that appears; they stay there."""
    scene = {"rounds": [[{"wait_ms": 1000}, {"call": "bash", "args": {"command": "touch one"}}],
                        [{"say": "all is over"}]]}

    def attempt(i, tick):
        with tmux.Pane(os.path.join(base, str(i)), rows=40) as pane:
            pane.chat("--mode", "prompt", scene=scene)
            pane.enter("go")
            pane.wait("esc stops")
            pane.until(lambda s: tick() or pane.type("ya") or "wants to run" in s or "is over" in s)
            tick()
            pane.type("ya")
            tick()
            time.sleep(0.5)
            asked = pane.screen()
            if "wants to run" in asked:
                pane.type("n")
            pane.wait("all is over")
            pane.wait("yayaya")
            return asked, made(pane), kept(pane)

    seen = tmux.harness.unhurried(attempt)
    if seen:
        assert "wants to run" in seen[0], seen[0]
        assert seen[1:] == ([], []), seen


def stopped(base):
    """Esc refuses and stops the turn."""
    ask(base, [("Escape",)], bash("touch one"), [], end="stopped")


def leaves_the_sandbox(base):
    """Only the word is a yes, not one key, nor the start of the word."""
    shown = ask(base, [("y", "Enter", "outside", "Enter"), ("a", "BSpace", "outsid", "Enter"), ("n", "Enter")],
                outside("touch one", "touch two", "touch three"), ["one"], flags=())
    assert "type outside to let it leave the sandbox" in shown, shown
    assert "always for all calls of the rule outside(touch one)" in shown, shown
    scene = outside("touch one")
    scene["rounds"][-1] = [{"say": "heard: {{tool_output}} all is over"}]
    shown = ask(os.path.join(base, "why"), [("r", "Enter", "not there", "Enter")], scene, [], flags=())
    assert "refused this call: not there" in shown.replace("\n", " "), shown


def one_key(base):
    """Keys of other questions, and what comes at once, change nothing."""
    with tmux.Pane(base, rows=40) as pane:
        pane.chat(scene=outside("touch one"))
        pane.enter("go")
        pane.wait("outside of the sandbox")
        time.sleep(0.4)
        for key in "yws":
            pane.type(key)
            pane.keys("BSpace")
        pane.type("y")
        pane.wait("all else is no: y")
        pane.keys("Enter")
        pane.wait("a word in full, please")
        assert made(pane) == [], made(pane)
        pane.keys("Escape")
        pane.wait("stopped")
        assert made(pane) == [], made(pane)


def always_outside(base):
    ask(base, [("always", "Enter")], outside("touch one", "touch one"), ["one"], ["outside(touch one)"], flags=())


def plain_outside(base):
    """Without escape sequences: whole lines."""
    with tmux.Pane(base, rows=40) as pane:
        pane.chat("--plain", scene=outside("touch one", "touch two"))
        pane.enter("go")
        for n, lines in enumerate((["y", "outside"], ["no"])):
            pane.until(lambda _, n=n: pane.all().count("all else is no") == n + 1)
            for i, line in enumerate(lines):
                time.sleep(0.4)
                pane.enter(line)
                if i + 1 < len(lines):
                    pane.wait("a word in full, please")
        pane.wait("all is over")
        assert made(pane) == ["one"], made(pane)


tmux.run([leaves_the_sandbox, one_key, always_outside, plain_outside, once, always, covered, wider, session, edited, reason, nothing_offered,
          files, narrow, stands_once, typed_ahead, stopped])
