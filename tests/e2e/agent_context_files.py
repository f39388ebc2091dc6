#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which instruction files reach the system text, in which order, how much of them, and what
they may import.
"""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "fake")]
import harness  # noqa: E402
from client import PROGRAM  # noqa: E402
from provider import Server  # noqa: E402

TIMEOUT = 60 * harness.slow()


class Place:
    def __init__(self, base):
        self.home = os.environ["HOME"]
        self.root = os.path.join(base, "repo")
        self.workspace = os.path.join(self.root, "part")
        os.makedirs(self.workspace)
        subprocess.run(["git", "init", "-q", self.root], check=True)

    def put(self, path, text):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def system(self, **more):
        with Server([{"text": "ok", "repeat": True}]) as server:
            env = dict(os.environ, OPENAI_BASE_URL=f"http://127.0.0.1:{server.port}/v1",
                       OPENAI_API_KEY="key-of-files-1", **{"TRIVET_SANDBOX": "off", **more})
            done = subprocess.run([PROGRAM, "run", "-m", "openai/gpt-4o", "--mode",
                                   "danger-full-access", "go"], cwd=self.workspace, env=env,
                                  capture_output=True, text=True, timeout=TIMEOUT, check=False)
            assert done.returncode == 0, done.stderr
            body = next(e["body"] for e in server.log if "body" in e)
        return body["messages"][0]["content"]


def long_file(p):
    """40 KB: the first 32 KiB and a note."""
    p.put(f"{p.workspace}/AGENTS.md", "".join(f"rule {i:05d} of the project\n" for i in range(1600)))
    text = p.system()
    assert "rule 00000 of" in text and "rule 01599" not in text
    assert "[cut: the first 32" in text and "bytes of " in text, text[-300:]
    kept = text.count("of the project\n")
    assert 1200 < kept < 1320, kept


def with_sandbox(p):
    """What covers a .git that is missing in the subdirectory does not make it a repository."""
    p.put(f"{p.root}/AGENTS.md", "Rules of the root.")
    p.put(f"{p.workspace}/AGENTS.md", "Rules of the part.")
    text = p.system(TRIVET_SANDBOX="workspace-write")
    assert "Rules of the root." in text and "Rules of the part." in text, text
    os.mkdir(f"{p.workspace}/.git")
    assert "Rules of the root." in p.system()


def order(p):
    """The user's file, then from the root inward; the override replaces AGENTS.md; CLAUDE.md counts."""
    p.put(f"{p.home}/.agents/AGENTS.md", "Rules of the user.")
    p.put(f"{p.home}/.claude/CLAUDE.md", "Second choice of the user.")
    p.put(f"{p.root}/CLAUDE.md", "Rules of the root.")
    p.put(f"{p.workspace}/AGENTS.md", "Replaced rules.")
    p.put(f"{p.workspace}/AGENTS.override.md", "Rules of the part.")
    p.put(f"{os.path.dirname(p.root)}/AGENTS.md", "Rules from above the repository.")
    text = p.system()
    places = [text.find(t) for t in ("Rules of the user.", "Rules of the root.", "Rules of the part.")]
    assert -1 not in places and places == sorted(places), places
    for word in ("Replaced rules", "Second choice", "above the repository"):
        assert word not in text, word


def nearest_first(p):
    """Together 32 KiB: the nearest file is whole, the outer one is cut."""
    p.put(f"{p.root}/AGENTS.md", "outer line\n" * 2500)
    p.put(f"{p.workspace}/AGENTS.md", "inner line\n" * 2500)
    text = p.system()
    assert text.count("inner line") == 2500
    assert 300 < text.count("outer line") < 600 and "[cut: the first" in text


def imports(p):
    """Relative to the importing file, four deep, not in code, not twice, not out of the repository."""
    p.put(f"{p.root}/secret-elsewhere", "x")
    p.put(f"{os.path.dirname(p.root)}/outside.md", "Text from outside.")
    p.put(f"{p.workspace}/AGENTS.md", "See @docs/a.md. `@docs/code.md`\n```\n@docs/fence.md\n```\n"
          "@../../outside.md\n@docs/a.md\nmail me@docs/a.md\n")
    p.put(f"{p.workspace}/docs/a.md", "Level one.\n@b.md")
    p.put(f"{p.workspace}/docs/b.md", "Level two.\n@c.md\n@a.md")
    p.put(f"{p.workspace}/docs/c.md", "Level three.\n@d.md")
    p.put(f"{p.workspace}/docs/d.md", "Level four.\n@e.md")
    p.put(f"{p.workspace}/docs/e.md", "Level five.")
    p.put(f"{p.workspace}/docs/code.md", "In code.")
    p.put(f"{p.workspace}/docs/fence.md", "In a fence.")
    text = p.system()
    for word in ("Level one.", "Level two.", "Level three.", "Level four."):
        assert text.count(word) == 1, (word, text[-600:])
    for word in ("Level five.", "In code.", "In a fence.", "Text from outside."):
        assert word not in text, word


def same_file(p):
    """A link beside the file it leads to counts once; a binary file does not count."""
    p.put(f"{p.root}/AGENTS.md", "Only once.")
    os.symlink("../AGENTS.md", f"{p.workspace}/AGENTS.md")
    assert p.system().count("Only once.") == 1
    os.unlink(f"{p.workspace}/AGENTS.md")
    with open(f"{p.workspace}/AGENTS.md", "wb") as file:
        file.write(b"Binary\0text")
    assert "Binary" not in p.system()


def main():
    passed = failed = 0
    for test in (long_file, with_sandbox, order, nearest_first, imports, same_file):
        with harness.private_place() as base:
            os.environ.update(harness.clean_env(base))
            try:
                test(Place(base))
                passed += 1
            except Exception as why:  # noqa: BLE001
                print(f"{test.__name__}: {type(why).__name__} {str(why)[:700]}")
                failed += 1
    harness.finish(passed, failed)


main()
