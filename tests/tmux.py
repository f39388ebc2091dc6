# SPDX-License-Identifier: MIT
"""A terminal for tests: tmux without a display.  What a person would type goes in with send-keys,
what a person would see comes out with capture-pane.
"""
import json
import os
import re
import subprocess
import tempfile
import time
import traceback

import harness


class Pane:
    """A shell in a window of its own server; the program under test is started from the shell."""

    def __init__(self, base, cols=80, rows=24, **extra):
        self.base = base
        self.ended = 0  # turns
        self.workspace = os.path.join(base, "work")
        os.makedirs(self.workspace, exist_ok=True)
        self.env = harness.clean_env(base)
        self.env.update(TRIVET=os.environ["TRIVET"], PS1="$ ", TERM="screen-256color", **extra)
        self.socket = os.path.join(tempfile.mkdtemp(prefix="tmux-", dir=self.env["TMPDIR"]), "s")
        config = self.socket + ".conf"
        with open(config, "w", encoding="utf-8") as file:
            file.write("set -g history-limit 100000\nset -g escape-time 5\nset -g status off\n"
                       "set -g default-terminal screen-256color\n")
        self.tmux("-f", config, "new-session", "-d", "-x", str(cols), "-y", str(rows),
                  "exec bash --norc --noprofile -i")
        self.wait("$")

    def tmux(self, *args, **kwargs):
        return subprocess.run(["tmux", "-S", self.socket, *args], env=self.env, check=True,
                              cwd=self.workspace, capture_output=True, text=True, **kwargs).stdout

    def close(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], env=self.env, check=False,
                       capture_output=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def keys(self, *names):
        """Keys by tmux's names: Enter, Escape, C-c, M-Enter, Up."""
        self.tmux("send-keys", *names)

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def enter(self, text):
        self.type(text)
        self.keys("Enter")

    def paste(self, text):
        """As a terminal pastes: between the marks, if the program asked for them."""
        self.tmux("load-buffer", "-", input=text)
        self.tmux("paste-buffer", "-p")

    def resize(self, cols, rows):
        self.tmux("resize-window", "-x", str(cols), "-y", str(rows))

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def all(self, joined=False):
        """The scrollback and the screen; joined: rows that the terminal wrapped are one line."""
        return self.tmux("capture-pane", "-p", "-S", "-", *(["-J"] if joined else []))

    def coloured(self):
        return self.tmux("capture-pane", "-p", "-e")

    def show(self, what):
        return self.tmux("display-message", "-p", what).strip()

    def record(self, path):
        """Every byte that the program writes from now on goes to a file too."""
        self.tmux("pipe-pane", "-O", f"cat >{path}")

    def wait(self, word, seconds=30, gone=False, where=None):
        """Until the word is on the screen (or not any more)."""
        look = where or self.screen
        end = time.monotonic() + seconds * harness.slow()
        while (word in look()) == gone:
            assert time.monotonic() < end, f"{word!r} {'stays' if gone else 'did not come'}:\n{look()}"
            time.sleep(0.03)
        return look()

    def until(self, test, seconds=30):
        """Until test(screen) holds."""
        end = time.monotonic() + seconds * harness.slow()
        while not test(self.screen()):
            assert time.monotonic() < end, self.screen()
            time.sleep(0.03)

    def chat(self, *flags, model=None, scene=None, wait="ctrl-d quits"):
        """Starts the chat; scene: what the model does, as docs/rehearsal.md has it."""
        if scene is not None:
            with open(os.path.join(self.workspace, "scene.json"), "w", encoding="utf-8") as file:
                json.dump(scene, file)
            model = "rehearsal/scene.json"
        self.ended = self.n_ended()
        flags = (*(("-m", model) if model else ()), *flags)
        self.enter(" ".join(["$TRIVET", "chat", *flags]))
        if wait:
            self.wait(wait)

    def turn(self, text, seconds=30):
        """Says something and waits for the end of the answer."""
        self.enter(text)
        self.idle(1, seconds)

    def idle(self, more=0, seconds=30):
        """Until no turn runs, and so many more have ended than at the last call."""
        self.ended += more
        end = time.monotonic() + seconds * harness.slow()
        while "esc stops" in self.screen() or self.n_ended() < self.ended:
            assert time.monotonic() < end, f"a turn does not end:\n{self.screen()}"
            time.sleep(0.03)
        time.sleep(0.1)

    def n_ended(self):
        """Turns of all sessions of this home that have ended."""
        folder = os.path.join(self.env["XDG_STATE_HOME"], "trivet/sessions")
        n = 0
        names = os.listdir(folder) if os.path.isdir(folder) else ()
        for name in (n for n in names if n.endswith(".jsonl")):
            with open(os.path.join(folder, name), "rb") as file:
                n += len(re.findall(rb'"trivet_turn".{0,200}"(?:completed|failed|canceled)"',
                                    file.read()))
        return n

    def live(self):
        """The rows behind the last one that is not empty, and that one."""
        return self.screen().rstrip("\n").split("\n")

    def stty(self):
        """The modes of the terminal, asked for by the shell."""
        self.enter("clear; stty -a | tr ' ' '\\n' | grep -cxE 'icanon|echo;?|isig'; echo over")
        self.wait("\nover\n")
        return self.screen()


def run(tests):
    """Plays the functions, each with a fresh home; the last line counts."""
    import sys
    passed = failed = 0
    wanted = sys.argv[1:]
    for test in tests:
        if wanted and not any(w in test.__name__ for w in wanted):
            continue
        try:
            with harness.private_place() as base:
                test(base)
            passed += 1
        except Exception as error:  # a test that fails must not hide the others
            failed += 1
            line = traceback.extract_tb(error.__traceback__)[1].lineno
            print(f"FAILED {test.__name__}, line {line}: {str(error).strip()}")
    harness.finish(passed, failed)
