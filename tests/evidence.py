# SPDX-License-Identifier: MIT
"""What all tests leave behind, kept for the search for secrets at the end of ./test.

With $TRIVET_EVIDENCE set to a directory, every private place of a test is moved there instead of
being removed, every byte that a program under test wrote to stdout or stderr is written down
beside it, and every key or token that a test gave to a program or a fake server handed out is
listed.  e2e/zz_secrets.py then searches the first two for the third.  Without the variable nothing is kept.
"""
import contextlib
import os
import re
import shutil
import tempfile

FOLDER = os.environ.get("TRIVET_EVIDENCE")
SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET)$")
SHORTEST = 10   # characters of a value that is worth a search


def append(name, line):
    with open(os.path.join(FOLDER, name), "a", encoding="utf-8") as file:
        file.write(line + "\n")


def note_secret(value):
    """A value that must not be found anywhere but where secrets are kept."""
    if FOLDER and len(value) >= SHORTEST:
        append("secrets", value)


def note_environment(env):
    for name, value in env.items():
        if SECRET_NAME.search(name):
            note_secret(value)


def folder(name):
    path = os.path.join(FOLDER, name)
    os.makedirs(path, exist_ok=True)
    return path


class Stream:
    """A copy of what one program writes to one pipe."""

    def __init__(self, kind):
        self.file = None
        if FOLDER:
            fd, _ = tempfile.mkstemp(prefix=f"{kind}-", dir=folder("streams"))
            self.file = os.fdopen(fd, "wb", buffering=0)

    def write(self, data):
        if self.file:
            self.file.write(data)

    def close(self):
        if self.file:
            self.file.close()
            self.file = None


class Copied:
    """A pipe whose bytes go into a Stream as they are read."""

    def __init__(self, pipe, kind):
        self.pipe, self.copy = pipe, Stream(kind)

    def readline(self):
        line = self.pipe.readline()
        self.copy.write(line)
        return line

    def read(self, n=-1):
        data = self.pipe.read(n)
        self.copy.write(data)
        return data

    def __iter__(self):
        return iter(self.readline, b"")


def is_hole(path):
    """Whether a test has made the file large without writing into it."""
    found = os.stat(path)
    return found.st_size > 1 << 20 and found.st_blocks * 512 < found.st_size // 16


def open_up(base):
    """A test may have taken its own user's rights away."""
    for place, folders, _ in os.walk(base):
        for path in (os.path.join(place, name) for name in folders):
            with contextlib.suppress(FileNotFoundError):  # a process that ends removes its files
                if not os.path.islink(path) and not os.access(path, os.R_OK | os.W_OK | os.X_OK):
                    os.chmod(path, 0o700)


def keep_file(path):
    if os.path.islink(path) or not os.path.isfile(path) or not os.path.getsize(path) or is_hole(path):
        return
    target = os.path.join(folder("files"), os.path.relpath(path, "/tmp").lstrip("./"))
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.move(path, target)
    os.chmod(target, 0o600)


def keep(base):
    """Takes a private place that is no longer needed; the caller removes what is left of it."""
    if not FOLDER:
        return
    open_up(base)
    for place, _, names in os.walk(base):
        for name in names:
            path = os.path.join(place, name)
            with contextlib.suppress(FileNotFoundError):
                keep_file(path)
