# SPDX-License-Identifier: MIT
"""A program on a pseudo terminal of 80 x 24, for benches: what it writes and what it costs."""
import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time

# What a terminal answers when a program asks for it: cursor position, device attributes.
ANSWERS = ((b"\x1b[6n", b"\x1b[1;1R"), (b"\x1b[c", b"\x1b[?62;22c"), (b"\x1b[0c", b"\x1b[?62;22c"))


class Terminal:
    def __init__(self, argv, env, cwd):
        self.begun = time.perf_counter()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
            os.execve(argv[0], argv, env)
        self.bytes = b""

    def read(self, seconds):
        """What comes within the time; empty: nothing."""
        ready = select.select([self.fd], [], [], seconds)[0]
        data = os.read(self.fd, 1 << 16) if ready else b""
        for question, answer in ANSWERS:
            if question in data:
                os.write(self.fd, answer)
        self.bytes += data
        return data

    def until(self, word, seconds=20):
        """Reads until the word has come behind what was there before; the time when it came."""
        seen, end = b"", time.perf_counter() + seconds
        while word not in seen:
            left = end - time.perf_counter()
            assert left > 0, f"{word} did not come: {seen[-300:]!r}"
            seen += self.read(left)
        return time.perf_counter()

    def settle(self, quiet, at_most):
        """Reads until nothing came for so long."""
        end = time.perf_counter() + at_most
        while time.perf_counter() < end and self.read(quiet):
            pass

    def type(self, text):
        os.write(self.fd, text.encode())

    def tree(self):
        """The process and all its descendants."""
        children = {}
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                        parent = int(file.read().rpartition(")")[2].split()[1])
                    children.setdefault(parent, []).append(int(name))
                except OSError:
                    pass  # it has ended meanwhile
        found = [self.pid]
        for pid in found:
            found += children.get(pid, [])
        return found

    def cpu_ms(self):
        """Time on a processor with the resolution of the scheduler."""
        total = 0
        for pid in self.tree():
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as file:
                    total += int(file.read().split()[0])
        return total / 1e6

    def memory_mb(self):
        total = 0
        for pid in self.tree():
            with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
                total += next(int(line.split()[1]) for line in file if line.startswith("Pss:"))
        return total / 1024

    def end(self):
        for pid in self.tree():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)
