#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# NEEDS: terminal
"""The chat while it works: steering, the queue, what Esc brings back; reasoning, the pager, the
editor, a command of the shell, pictures.
"""
import base64
import json
import os
import re
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import tmux  # noqa: E402

SLOW = {"turns": [{"when": "slow", "rounds": [
    [{"say": "one two three four five six", "pause_ms": 150},
     {"call": "bash", "args": {"command": "sleep 0.5"}}],
    [{"say": "heard {{last_user}} end"}]]}], "rounds": [[{"say": "answer to {{last_user}} end"}]]}


def prompts(pane):
    """What the user has said, as the session file has it."""
    folder = os.path.join(pane.env["XDG_STATE_HOME"], "trivet/sessions")
    found = []
    for name in sorted(n for n in os.listdir(folder) if n.endswith(".jsonl")):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            for line in file:
                record = json.loads(line)
                if record.get("type") == "message" and record["message"]["role"] == "user":
                    found.append(record["message"]["content"])
    return found


def steers(base):
    """Enter gives text to the running turn; it is shown until the model has it."""
    with tmux.Pane(base) as pane:
        pane.chat(scene=SLOW)
        pane.enter("slow")
        pane.wait("one two")
        pane.enter("and this too")
        pane.wait("  next: and this too")
        pane.wait("answer to and this too end")
        assert "> and this too" in pane.screen() and "next:" not in pane.screen()
        assert prompts(pane) == ["slow", "and this too"]


def queues(base):
    """Tab and Alt-Enter queue; the queue is visible and runs in order."""
    with tmux.Pane(base, rows=40) as pane:
        pane.chat(scene=SLOW)
        pane.enter("slow")
        pane.wait("one two")
        pane.type("second")
        pane.keys("Tab")
        pane.type("third")
        pane.keys("M-Enter")
        pane.wait("  queued: second")
        pane.wait("  queued: third")
        pane.wait("answer to third end")
        order = re.findall(r"^> (\w+)$", pane.screen(), re.M)
        assert order == ["slow", "second", "third"], order


def returns(base):
    """Esc stops and brings waiting text back; nothing more is asked; then Esc twice edits."""
    with tmux.Pane(base) as pane:
        pane.chat(scene=SLOW)
        pane.enter("slow")
        pane.wait("one two")
        pane.type("queued words")
        pane.keys("Tab")
        pane.enter("steering words")
        pane.type("typed words")
        pane.wait("> typed words")
        pane.keys("Escape")
        pane.wait("stopped")
        pane.until(lambda s: "> queued words\n  steering words\n  typed words\n" in s)
        time.sleep(0.5)
        assert prompts(pane) == ["slow"], prompts(pane)
        pane.keys("C-c")
        pane.wait("queued words", gone=True)
        pane.keys("Escape")
        time.sleep(0.2)
        pane.keys("Escape")
        pane.until(lambda s: s.rstrip("\n").split("\n")[-2] == "> slow")


def takes_back(base):
    """Up brings the queue back into the editor while the turn goes on."""
    with tmux.Pane(base) as pane:
        pane.chat(scene=SLOW)
        pane.enter("slow")
        pane.wait("one two")
        pane.type("queued words")
        pane.keys("Tab")
        pane.wait("queued: queued words")
        pane.keys("Up")
        pane.wait("> queued words")
        pane.wait("heard slow end")
        time.sleep(0.3)
        assert prompts(pane) == ["slow"], prompts(pane)


def reasoning(base):
    """Reasoning is dim; Ctrl-T leaves it out."""
    scene = {"rounds": [[{"think": "deep thoughts"}, {"say": "done"}]]}
    with tmux.Pane(base) as pane:
        pane.chat(scene=scene)
        pane.turn("go")
        row = next(r for r in pane.coloured().split("\n") if "deep thoughts" in r)
        assert re.search(r"\x1b\[[0-9;]*2[;m]", row), repr(row)
        pane.keys("C-t")
        pane.wait("reasoning is not shown")
        pane.turn("again")
        assert pane.screen().count("deep thoughts") == 1 and pane.screen().count("done") == 2


def pager(base):
    """Ctrl-O: all of the last output; the chat is as before behind it."""
    scene = {"rounds": [[{"call": "bash", "args": {"command": "seq 1 50"}}], [{"say": "done"}]]}
    with tmux.Pane(base, PAGER="less -X") as pane:
        pane.chat(scene=scene)
        pane.turn("go")
        assert "... 47 more lines (ctrl-o)" in pane.screen(), pane.screen()
        pane.type("draft")
        pane.keys("C-o")
        pane.wait("\n17\n")
        pane.keys("G")
        pane.wait("\n50\n")
        pane.keys("q")
        pane.wait("> draft")
        pane.type(" goes on")
        pane.wait("> draft goes on")


def editor(base):
    """Ctrl-G: the text in $VISUAL."""
    with tmux.Pane(base) as pane:
        script = os.path.join(base, "edit.sh")
        with open(script, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\necho edited >>\"$1\"\n")
        os.chmod(script, 0o755)
        pane.enter(f"export VISUAL={script}; clear")
        pane.chat(model="rehearsal/echo")
        pane.type("first words")
        pane.keys("C-g")
        pane.until(lambda s: "> first words" in s and "edited" in s)


def progress(base):
    """The last line of a command is seen while it runs."""
    command = "for i in 1 2 3 4; do echo step$i; sleep 0.5; done"
    scene = {"rounds": [[{"call": "bash", "args": {"command": command}}], [{"say": "done"}]]}
    with tmux.Pane(base) as pane:
        pane.chat(scene=scene)
        pane.enter("go")
        pane.until(lambda s: re.search(r"esc stops\n  step[123]\n>", s))
        pane.idle(1)
        assert "esc stops" not in pane.screen()


def shell(base):
    """!COMMAND runs in the workspace, in the sandbox, and does not reach the model."""
    with tmux.Pane(base) as pane:
        pane.chat(model="rehearsal/hello")
        pane.enter("!echo out$((1+1)); pwd; exit 3")
        pane.wait("out2")
        pane.wait("exit status 3")
        assert pane.workspace in pane.screen()
        pane.enter("!touch /etc/x 2>/dev/null || echo confined")
        pane.wait("\nconfined")
        pane.turn("hello")
        assert prompts(pane) == ["hello"]


def findings(base):
    """A file of settings that a command made was renamed: the chat says so, also of a command of the user."""
    scene = {"rounds": [[{"call": "bash", "args": {"command": "echo x >.envrc; echo y"}}], [{"say": "done"}]]}
    with tmux.Pane(base, cols=120) as pane:
        pane.chat(scene=scene)
        pane.enter("go")
        pane.wait("done")
        pane.wait("the sandbox has renamed")
        pane.enter("!echo x >.envrc")
        pane.wait(".envrc.untrusted-2")


def todos(base):
    """A list of things to do is shown as a list, in the chat and in the page of an export."""
    items = [{"content": "find\nthe bug", "status": "completed"},
             {"content": "mend it", "status": "in_progress", "activeForm": "mending \x1b]0;owned\x07 it"},
             {"content": "write a <b>test</b> " + "that is long " * 8, "status": "pending"}]
    scene = {"rounds": [[{"call": "TodoWrite", "args": {"todos": items}}],
                        [{"call": "TodoWrite", "args": {"todos": json.dumps(items)}}],
                        [{"call": "TodoWrite", "args": {"todos": [{"content": "x"}]}}], [{"say": "done"}]]}
    lines = ("* TodoWrite  1 of 3 done\n  \u2611 find the bug\n  \u25b8 mending \\u001b]0;owned\\u0007 it\n"
             "  \u2610 write a <b>test</b> that is long")
    with tmux.Pane(base, rows=40) as pane:
        pane.chat(scene=scene)
        pane.turn("go")
        shown = pane.screen()
        assert shown.count(lines) == 2 and "\n    that is long" in shown, shown
        assert shown.count("* TodoWrite") == 3 and '{"content"' not in shown.split("* TodoWrite")[2], shown
        pane.enter("/export out.html")
        pane.wait("written:")
        with open(os.path.join(pane.workspace, "out.html"), encoding="utf-8") as file:
            page = file.read()
        assert "<li>\u2611 find the bug</li>" in page and "<li>\u2610 write a &lt;b&gt;test" in page
        pane.keys("C-d")
        pane.wait("to go on")
        pane.enter("clear")
        pane.chat("--plain", scene=scene)
        pane.enter("go")
        pane.wait("  [x] find the bug\n  [~] mending")


def apart(base):
    """The texts of two replies stand apart, also where no call is between them: a model that has
    changed files and run nothing is asked to go on."""
    change = {"path": "a.c", "content": "int a;\n"}
    scene = {"turns": [{"when": "go", "rounds": [[{"call": "write_file", "args": change}], [{"say": "First."}]]}],
             "rounds": [[{"say": "Second."}]]}
    with tmux.Pane(base) as pane:
        pane.chat(scene=scene)
        pane.turn("go")
        assert "\nFirst.\n\nSecond.\n" in pane.screen(), pane.screen()


def pictures(base):
    """@picture.png goes along as a picture; a file that is none stays text."""
    png = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9"
                           "awAAAABJRU5ErkJggg==")
    with tmux.Pane(base) as pane:
        for name, data in (("pic.png", png), ("bad.png", b"no picture")):
            with open(os.path.join(pane.workspace, name), "wb") as file:
                file.write(data)
        pane.chat(model="rehearsal/hello")
        pane.turn("see @pic.png and @bad.png and @none.png, @pic.png.")
        said = prompts(pane)[0]
        assert isinstance(said, list), said
        images = [part for part in said if part["type"] != "text"]
        assert len(images) == 1 and base64.b64encode(png).decode()[:40] in json.dumps(images), said


tmux.run([steers, queues, returns, takes_back, reasoning, pager, editor, progress, shell, findings,
          todos, apart, pictures])
