#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# NEEDS: terminal
"""/diff and /copy in the chat."""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import tmux  # noqa: E402

EDIT = {"rounds": [[{"call": "edit_file", "args": {"path": "parse.c", "old_string": "n - 1", "new_string": "n"}}],
                   [{"say": "Done: `i < n` \u2713"}]]}


def write(pane, name, text):
    with open(os.path.join(pane.workspace, name), "w", encoding="utf-8") as file:
        file.write(text)


def git(pane, *args):
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *args], cwd=pane.workspace,
                   env=pane.env, check=True, capture_output=True)


def repository(base):
    """Changed and new files since the last commit; programs that the repository names are not run."""
    with tmux.Pane(base, rows=40) as pane:
        write(pane, "parse.c", "for (i = 0; i < n - 1; i++)\n")
        write(pane, "scene.json", "{}")
        git(pane, "init", "-q")
        git(pane, "add", "parse.c", "scene.json")
        git(pane, "commit", "-qm", "one")
        git(pane, "update-index", "--assume-unchanged", "scene.json")  # the next lines would run the programs
        git(pane, "config", "diff.external", f"touch {pane.workspace}/ran; echo")
        git(pane, "config", "filter.f.clean", f"touch {pane.workspace}/ran; cat")
        write(pane, ".git/info/attributes", "parse.c filter=f\n")
        git(pane, "config", "core.fsmonitor", f"touch {pane.workspace}/ran; false")
        assert not os.path.exists(os.path.join(pane.workspace, "ran"))
        pane.chat(scene=EDIT)
        pane.enter("/diff")
        pane.wait("nothing has changed since the last commit")
        write(pane, "fresh\x1b[31m.txt", "x\n")
        pane.turn("go")
        pane.keys("C-l")
        pane.enter("/diff")
        shown = pane.wait('new: "fresh')
        assert "- for (i = 0; i < n - 1; i++)" in shown and "+ for (i = 0; i < n; i++)" in shown, shown
        assert "\x1b[31m.txt" not in pane.coloured(), "a name is no control sequence"
        assert not os.path.exists(os.path.join(pane.workspace, "ran")), "a program of the repository ran"


def plain_directory(base):
    """Without a repository: what tools changed in this session."""
    with tmux.Pane(base, rows=40) as pane:
        write(pane, "parse.c", "for (i = 0; i < n - 1; i++)\n")
        pane.chat(scene=EDIT)
        pane.enter("/diff")
        pane.wait("no file was changed by a tool")
        pane.turn("go")
        pane.enter("clear-me")
        pane.idle(1)
        pane.enter("/diff")
        pane.until(lambda screen: screen.count("+ for (i = 0; i < n; i++)") >= 2)


def clipboard(base):
    """The answer as it was written reaches the terminal's clipboard."""
    with tmux.Pane(base) as pane:
        pane.tmux("set-option", "-s", "set-clipboard", "on")
        write(pane, "parse.c", "for (i = 0; i < n - 1; i++)\n")
        pane.chat(scene=EDIT)
        pane.enter("/copy")
        pane.wait("there is no answer yet")
        pane.turn("go")
        pane.enter("/copy")
        pane.wait("sent to the clipboard")
        assert pane.tmux("show-buffer") == "Done: `i < n` \u2713", pane.tmux("show-buffer")


tmux.run([repository, plain_directory, clipboard])
