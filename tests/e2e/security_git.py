#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""trivet starts git itself: for what it tells the model at the beginning, for /diff and for undo.  No
program that a hostile repository names runs then, also without a sandbox."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import client  # noqa: E402
import harness  # noqa: E402
from played_model import Checks, play  # noqa: E402

check = Checks()
OFF = {"TRIVET_SANDBOX": "off"}


class Repository:
    def __init__(self, base):
        self.base, self.top = base, os.path.join(base, "workspace")
        self.ran = os.path.join(base, "ran")
        os.makedirs(self.ran)
        os.makedirs(self.top, exist_ok=True)
        self.env = dict(harness.clean_env(base), GIT_CONFIG_GLOBAL="/dev/null")

    def git(self, *args, at=""):
        return subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *args], env=self.env,
                              cwd=os.path.join(self.top, at), check=True, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=60).stdout

    def put(self, name, text):
        path = os.path.join(self.top, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def marker(self, name):
        """A program that leaves a trace."""
        path = os.path.join(self.base, f"run-{name}")
        with open(path, "w", encoding="utf-8") as file:
            rest = "" if name.endswith(("process", "remote", "upload")) else "cat\n"  # these talk with git, and end
            file.write(f"#!/bin/sh\ntouch '{self.ran}/{name}'\n{rest}")
        os.chmod(path, 0o755)
        return path

    def has_run(self):
        return sorted(os.listdir(self.ran))

    def plain(self, *commands):
        for command in commands:
            subprocess.run(["git", command], cwd=self.top, env=self.env, capture_output=True, check=False,
                           stdin=subprocess.DEVNULL, timeout=60)

    def forget(self):
        for name in self.has_run():
            os.unlink(os.path.join(self.ran, name))

    def fill(self, at=""):
        """A commit with a made-up signature, and settings that name a program wherever git takes one."""
        self.git("init", "-q", at=at)
        for name in ("a.txt", "b.txt", "c.txt"):
            self.put(os.path.join(at, name), "one\n")
            os.utime(os.path.join(self.top, at, name), (1700000000, 1700000000))
        self.put(os.path.join(at, ".gitattributes"), "a.txt filter=plain diff=d\nb.txt filter=needed\nc.txt filter=long\n")
        self.git("add", "a.txt", "b.txt", "c.txt", ".gitattributes", at=at)
        tree = self.git("write-tree", at=at).strip()
        head = os.path.join(self.base, "commit")
        with open(head, "w", encoding="utf-8") as file:
            file.write(f"tree {tree}\nauthor t <t@example.org> 1700000000 +0000\ncommitter t <t@example.org> 1700000000"
                       " +0000\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\nfirst\n")
        self.git("update-ref", "HEAD", self.git("hash-object", "-t", "commit", "-w", head, at=at).strip(), at=at)

    def arm(self, at=""):
        prefix = at + "-" if at else ""
        settings = {"filter.plain.clean": "clean", "filter.plain.smudge": "smudge", "filter.long.process": "process",
                    "filter.needed.clean": "needed", "filter.needed.required": None, "core.fsmonitor": "fsmonitor",
                    "diff.external": "external", "diff.d.command": "driver", "diff.d.textconv": "textconv",
                    "core.pager": "pager", "pager.diff": "pager", "gpg.program": "gpg", "log.showSignature": None,
                    "core.sshCommand": "ssh", "credential.helper": "helper", "core.alternateRefsCommand": "alternate",
                    "status.submoduleSummary": None, "submodule.recurse": None, "core.askPass": "askpass",
                    "protocol.ext.allow": "always", "core.editor": "editor", "diff.submodule": "diff"}
        for key, name in settings.items():
            plain = key in ("protocol.ext.allow", "diff.submodule")
            value = "true" if name is None else name if plain else self.marker(prefix + name)
            self.git("config", key, value, at=at)
        hooks = os.path.join(self.base, f"{prefix}hooks")
        os.makedirs(hooks)
        for name in ("post-index-change", "reference-transaction", "fsmonitor-watchman"):
            os.symlink(self.marker(prefix + "hook"), os.path.join(hooks, name))
        self.git("config", "core.hooksPath", hooks, at=at)

    def change(self, at=""):
        for name in ("a.txt", "b.txt", "c.txt"):  # of the same size: git has to look into them
            self.put(os.path.join(at, name), "two\n")


def hostile(base, is_changed=True):
    r = Repository(base)
    r.put("a-sub/.keep", "")
    r.fill("a-sub")
    r.fill()
    r.git("add", "a-sub")
    r.arm("a-sub")
    r.arm()
    r.forget()
    if not is_changed:
        return r
    r.change("a-sub")
    r.change()
    r.plain("status", "diff", "log")
    check("plain git runs them", len(r.has_run()) > 5 and any(name.startswith("a-sub-") for name in r.has_run()), r.has_run())
    r.forget()
    return r


def diff(r):
    with client.Scaiflux(["--model", "rehearsal/hello"], cwd=r.top, env={**r.env, **OFF}) as c:
        c.send({"type": "slash", "command": "diff"})
        return c.until(lambda m: m["type"] == "slash_result")


def scaiflux_diff(base):
    r = hostile(base)
    shown = diff(r)
    check("nothing ran", not r.has_run(), r.has_run())
    check("the diff is there", all(f"{name}.txt" in str(shown) for name in "abc") and "+two" in str(shown), shown)


def beginning(base):
    """What the model hears of the repository."""
    r = hostile(base)
    seen = play("loaf", iter(()), base, env={**OFF, "GIT_CONFIG_GLOBAL": "/dev/null"})
    check("nothing ran", not r.has_run(), r.has_run())
    said = str(seen.requests[0]["messages"])
    check("said", "first" in said and "M a.txt" in said, said[said.find("Repository:"):][:800])


def undo(base):
    """The bytes of a file that git has come from git."""
    r = hostile(base, is_changed=False)

    def scenario():
        yield [("bash", {"command": "echo changed > b.txt"})]

    play("run", scenario(), base, env={**OFF, "GIT_CONFIG_GLOBAL": "/dev/null"}, args=("--mode", "danger-full-access"))
    done = subprocess.run([client.PROGRAM, "exec", "-q", "--undo"], cwd=r.top, env={**r.env, **OFF}, check=False,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    check("nothing ran", not r.has_run(), r.has_run())
    with open(os.path.join(r.top, "b.txt"), encoding="utf-8") as file:
        check("restored", file.read() == "one\n", done)


def missing_object(base):
    """A repository that says it is a partial clone: its remote is a command."""
    r = Repository(base)
    r.put("a.txt", "one\n")
    r.git("init", "-q")
    r.git("add", "a.txt")
    r.git("commit", "-qm", "first")
    blob = r.git("rev-parse", "HEAD:a.txt").strip()
    os.unlink(os.path.join(r.top, ".git/objects", blob[:2], blob[2:]))
    for key, value in {"core.repositoryFormatVersion": "1", "extensions.partialClone": "evil",
                       "remote.evil.url": f"ext::{r.marker('remote')}", "remote.evil.promisor": "true",
                       "protocol.ext.allow": "always"}.items():
        r.git("config", key, value)
    r.put("a.txt", "two\n")
    r.plain("diff")
    check("plain git runs it", r.has_run() == ["remote"], r.has_run())
    r.forget()
    diff(r)
    check("nothing ran", not r.has_run(), r.has_run())
    for key, value in {"remote.evil.url": r.top, "remote.evil.uploadpack": r.marker("upload"),
                       "protocol.file.allow": "always"}.items():
        r.git("config", key, value)
    r.plain("diff")
    check("plain git runs the other", r.has_run() == ["upload"], r.has_run())
    r.forget()
    diff(r)
    check("nothing of that ran", not r.has_run(), r.has_run())


def strange_name(base):
    """Where a setting cannot be switched off, git is not started."""
    r = Repository(base)
    r.fill()
    r.put(".gitattributes", "a.txt filter=x=y\n")
    with open(os.path.join(r.top, ".git/config"), "a", encoding="utf-8") as file:
        file.write(f'[filter "x=y"]\n\tclean = {r.marker("clean")}\n')
    r.put("a.txt", "two\n")
    shown = diff(r)
    check("nothing ran", not r.has_run(), r.has_run())
    check("said", "git is not started" in str(shown), shown)


def main():
    for scenario in (scaiflux_diff, beginning, undo, missing_object, strange_name):
        with check.scene(scenario.__name__) as base:
            scenario(base)
    return check.end()


sys.exit(main())
