#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# NEEDS: terminal
"""A terminal that takes nothing for a while (Ctrl-S, a connection that hangs): the chat neither waits for
it nor tries again and again, says why no pager can be started, goes on when it takes bytes again, and
ends when it is told to.
"""
import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import harness  # noqa: E402

SCENE = {"turns": [{"when": "more", "rounds": [[{"say": "line of text\n" * 15000, "piece": 4000}]]}],
         "rounds": [[{"call": "bash", "args": {"command": "echo printed"}, "id": "c1"}],
                    [{"say": "the command has ended"}]]}
passed = failed = 0


def check(name, good, detail=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print(f"FAIL {name}: {detail}", flush=True)


class Terminal:
    """The master of a terminal in which the chat runs; nobody reads from it but `read_until`."""

    def __init__(self, base):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        env = dict(os.environ, TERM="xterm-256color", PAGER="cat", TRIVET_SANDBOX="off",
                   TRIVET_MODEL="rehearsal/scene.json")
        self.process = subprocess.Popen([os.environ["TRIVET"], "chat", "--mode", "danger-full-access"],
                                        cwd=base, env=env, stdin=slave, stdout=slave, stderr=slave,
                                        start_new_session=True)
        os.close(slave)
        self.seen = b""

    def read_until(self, text, patience=60):
        end = time.monotonic() + patience * harness.slow()
        while text not in self.seen:
            ready, _, _ = select.select([self.master], [], [], 1)
            if ready:
                try:
                    self.seen += os.read(self.master, 1 << 16)
                except OSError:
                    return False
            elif time.monotonic() > end:
                return False
        return True

    def press(self, keys):
        os.write(self.master, keys)

    def is_full(self, patience=60):
        """Waits until the terminal holds all it can, so that the chat has more for it."""
        end = time.monotonic() + patience * harness.slow()
        size = -1
        while time.monotonic() < end:
            time.sleep(0.2)
            now = struct.unpack("i", fcntl.ioctl(self.master, termios.FIONREAD, b"\0" * 4))[0]
            if now == size and now > 0:
                return True
            size = now
        return False

    def chat(self):
        """The process that draws, a child of the one that guards the terminal."""
        return (harness.children(self.process.pid) or [self.process.pid])[0]

    def cpu_ticks(self):
        with open(f"/proc/{self.chat()}/stat", encoding="ascii") as file:
            return sum(map(int, file.read().rpartition(")")[2].split()[11:13]))

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.master)


def begin(base):
    with open(f"{base}/scene.json", "w", encoding="utf-8") as file:
        json.dump(SCENE, file)
    t = Terminal(base)
    check("the chat asks for a prompt", t.read_until(b"m> "), t.seen[-300:])
    t.press(b"go\r")
    check("its turn has ended", t.read_until(b" ended"), t.seen[-300:])
    t.press(b"more\r")
    check("the terminal is full", t.is_full())
    return t


def pager(base):
    t = begin(base)
    before = t.cpu_ticks()
    t.press(b"\x0f")  # Ctrl-O
    time.sleep(1)
    t.press(b"\x07")  # Ctrl-G
    time.sleep(1)
    used = (t.cpu_ticks() - before) / os.sysconf("SC_CLK_TCK")
    check("it does not try again and again", used < 0.5, f"{used} s")
    t.seen = b""
    check("the user is told why", t.read_until(b"has not taken all output yet"), t.seen[-300:])
    t.press(b"\x0f")
    t.close()


def end(base, name, how):
    t = begin(base)
    how(t)
    try:
        t.process.wait(60 * harness.slow())
        check(f"it ends by {name}", True)
    except subprocess.TimeoutExpired:
        check(f"it ends by {name}", False, "still there after 60 s")
    t.close()


def main():
    def by_signal(base):
        end(base, "a signal", lambda t: os.kill(t.process.pid, signal.SIGTERM))

    def by_key(base):
        end(base, "a key", lambda t: t.press(b"\x03\x04\x04"))

    for what in (pager, by_signal, by_key):
        with harness.private_place() as base:
            os.environ.update(harness.clean_env(base))
            what(os.path.realpath(base))
    harness.finish(passed, failed)


main()
