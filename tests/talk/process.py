# SPDX-License-Identifier: MIT
"""The program under test: bytes go in, whole messages come out of a queue, each with its time.

A thread reads stdout all the time (unless asked to stop), so the program never waits for this reader; what
it wrote is cut into messages here, as strictly as the protocols want it.
"""
import os
import queue
import re
import select
import signal
import subprocess
import threading
import time

import evidence

END = object()      # stdout was closed


class Broken(Exception):
    """The program wrote something that is no message, or does not take what we send."""


class Lines:
    """NDJSON: every line is a message, ended by one LF."""
    def __init__(self, is_json=True):
        self.rest, self.is_json = b"", is_json

    def feed(self, data):
        *lines, self.rest = (self.rest + data).split(b"\n")
        return [self.check(line) for line in lines]

    def check(self, line):
        text = line.decode("utf-8")
        if self.is_json and (not text.strip() or "\r" in text or text.startswith("\ufeff")):
            raise Broken(f"a line that is no message: {text[:80]!r}")
        return text

    @staticmethod
    def wrap(text):
        return text.encode("utf-8", "surrogatepass") + b"\n"


class Lengths:
    """Content-Length: exactly one header, then that many bytes."""
    def __init__(self):
        self.rest = b""

    def feed(self, data):
        self.rest += data
        messages = []
        while b"\r\n\r\n" in self.rest:
            head, _, body = self.rest.partition(b"\r\n\r\n")
            found = re.fullmatch(rb"Content-Length: ([1-9][0-9]*)", head)
            if not found:
                raise Broken(f"a header that is not expected: {head[:80]!r}")
            n = int(found[1])
            if len(body) < n:
                break
            messages.append(body[:n].decode("utf-8"))
            self.rest = body[n:]
        if len(self.rest) > 64 and b"\r\n\r\n" not in self.rest:
            raise Broken(f"bytes that are no header: {self.rest[:80]!r}")
        return messages

    @staticmethod
    def wrap(text):
        body = text.encode("utf-8", "surrogatepass")
        return b"Content-Length: %d\r\n\r\n" % len(body) + body


FRAMES = {"lines": Lines, "length": Lengths, "text": lambda: Lines(False)}


class Process:
    def __init__(self, argv, env, cwd, frame, stderr_path, bytewise):
        self.framing = FRAMES[frame]()
        self.bytewise = bytewise
        self.may_be_gone = False    # it may have closed its stdin by now
        self.stderr_path = stderr_path
        with open(stderr_path, "wb") as stderr:
            self.child = subprocess.Popen(argv, env=env, cwd=cwd, stdin=subprocess.PIPE,
                                          stdout=subprocess.PIPE, stderr=stderr, bufsize=0,
                                          start_new_session=True)
        os.set_blocking(self.child.stdin.fileno(), False)
        evidence.note_environment(env)
        self.copy = evidence.Stream("stdout")
        self.messages = queue.Queue()
        self.may_read = threading.Event()
        self.may_read.set()
        self.reader = threading.Thread(target=self._read_all, daemon=True)
        self.reader.start()

    def _read_all(self):
        try:
            fd = self.child.stdout.fileno()
            while True:
                self.may_read.wait()
                # Never asleep in read(): @hold may come at any time.
                if not select.select([fd], [], [], 0.05)[0] or not self.may_read.is_set():
                    continue
                data = os.read(fd, 65536)
                if not data:
                    break
                self.copy.write(data)
                for message in self.framing.feed(data):
                    self.messages.put(message)
            if self.framing.rest:
                raise Broken(f"stdout ended inside a message: {self.framing.rest[:80]!r}")
        except (Broken, UnicodeDecodeError) as error:
            self.messages.put(error)
        except (OSError, ValueError):
            pass
        self.copy.close()
        self.messages.put(END)

    def next(self, seconds):
        """The next message as text, or END, or None when none came in time."""
        try:
            message = self.messages.get(timeout=max(seconds, 0))
        except queue.Empty:
            return None
        if message is END:
            self.messages.put(END)
        if isinstance(message, UnicodeDecodeError):
            raise Broken(f"stdout is not UTF-8: {message}")
        if isinstance(message, Broken):
            raise message
        return message

    def send(self, data, seconds):
        """Writes all of data; in bytewise mode one byte per write (huge data in pieces)."""
        step = 1 if self.bytewise and len(data) <= 65536 else 65536
        end = time.monotonic() + seconds
        fd = self.child.stdin.fileno()
        at = 0
        while at < len(data):
            if not select.select([], [fd], [], max(end - time.monotonic(), 0))[1]:
                raise Broken("the program does not read its stdin")
            try:
                at += os.write(fd, data[at:at + step])
            except BlockingIOError:
                time.sleep(0.001)
            except BrokenPipeError:
                if self.may_be_gone:
                    return
                raise Broken("the program closed its stdin") from None

    def close_stdin(self):
        if not self.child.stdin.closed:
            self.child.stdin.close()

    def signal(self, name):
        os.kill(self.child.pid, getattr(signal, "SIG" + name.removeprefix("SIG")))

    def wait(self, seconds):
        """Exit status as a shell shows it, or None when it still runs."""
        try:
            status = self.child.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        return status if status >= 0 else 128 - status

    def stderr(self):
        with open(self.stderr_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def kill(self):
        self.may_read.set()
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        self.close_stdin()
        self.reader.join(1)
        if not self.reader.is_alive():
            self.child.stdout.close()
