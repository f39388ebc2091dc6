#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The holder that waits for the next command: it is used, it can be lost, it knows nothing, it goes.
With a sandbox it has made the command's process already, confined (loop/stage.h): that one is used
when nothing has changed, and never when something has.

    tests/e2e/spare.py [ROUNDS]
"""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import client       # noqa: E402
import harness      # noqa: E402

COMMAND = "echo $PPID $TOKEN $AI_AGENT; pwd; cat; ls /proc/self/fd | tr '\\n' ' '; exit 3"
KEY = "sk-spare-must-not-know"
# What a confined command may and may not do, in words that are the same each time.
CONFINED = ("echo $PPID $$ $TOKEN; cd; pwd; cat; ls /proc/self/fd | tr '\\n' ' '; "
            "test -d $TMPDIR && stat -c %a $TMPDIR; cd $OLDPWD; "
            "for f in ~/outside .git/hooks/planted .git/config inside $TMPDIR/x; do "
            "(echo x >>$f) 2>/dev/null && echo wrote ${f##*/}; done; "
            "cat ~/.loaf/auth.json ~/.kward/auth.json ~/note ~/.loaf/note ~/.loaf/more/note 2>/dev/null; exit 3")


def spare_of(pid, used=None, patience=5):
    """The child that waits, or None; one that was used keeps its name until it has ended."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        for child in harness.children(pid):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError), \
                    open(f"/proc/{child}/cmdline", "rb") as file:
                if file.read().startswith(b"hold\0spare\0") and child != used:
                    return child
        time.sleep(0.01)
    return None


def is_gone(pid, patience=5):
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if harness.is_dead(pid):
            return True
        time.sleep(0.01)
    return False


class Story:
    def __init__(self, base):
        self.passed = self.failed = 0
        scene = os.path.join(base, "scene.json")
        with open(scene, "w", encoding="utf-8") as file:
            json.dump({"rounds": [[{"call": "bash", "args": {"command": COMMAND}}], [{"say": "."}]]},
                      file)
        self.args = ["--model", f"rehearsal/{scene}"]
        self.env = {"OPENAI_API_KEY": KEY, "TOKEN": "t", "TRIVET_PASS_ENV": "TOKEN"}
        self.base = base

    def check(self, what, ok):
        self.passed += bool(ok)
        self.failed += not ok
        if not ok:
            print(f"FAILED {what}")

    def client(self):
        c = client.Scaiflux(self.args, cwd=self.base, env=self.env)
        c.event("ready")
        return c

    def command(self, c):
        """The output without the holder's process id, and that id."""
        text = c.turn("go").results[0][1]
        holder, _, rest = text.partition(" ")
        return rest, int(holder)


def used(t):
    """A spare serves the next command, which sees what it would see below a fresh holder."""
    with t.client() as c:
        pid = c.process.pid
        t.check("no spare before the first command", not harness.children(pid))
        fresh, _ = t.command(c)
        spare = spare_of(pid)
        t.check("a spare after it", spare)
        with open(f"/proc/{spare}/environ", "rb") as file:
            t.check("it has no environment", file.read() == b"")
        second, holder = t.command(c)
        t.check("it held the next command", holder == spare)
        t.check("which saw the same", second == fresh and "t trivet" in fresh)
        other = spare_of(pid, spare)
        t.check("then there is another one", other)
        t.check("a clean end", c.close() == 0 and is_gone(other))


def lost(t):
    """A spare that somebody ended or stopped costs nothing but the advantage."""
    with t.client() as c:
        fresh, _ = t.command(c)
        spare = spare_of(c.process.pid)
        os.kill(spare, signal.SIGKILL)
        time.sleep(0.05)
        again, holder = t.command(c)
        t.check("a killed spare is replaced", again == fresh and holder != spare)
        spare = spare_of(c.process.pid, holder)
        os.kill(spare, signal.SIGSTOP)
        t.check("a stopped one does not keep the program", c.close() == 0 and is_gone(spare))


def stopped(t):
    """A spare that does not read does not hold up the engine, however large the job is."""
    large = {f"LARGE_{i}": "x" * 100000 for i in range(8)}
    names = ",".join(["TOKEN", *large])
    with client.Scaiflux(t.args, cwd=t.base, env=dict(t.env, TRIVET_PASS_ENV=names, **large)) as c:
        c.event("ready")
        fresh, _ = t.command(c)
        spare = spare_of(c.process.pid)
        os.kill(spare, signal.SIGSTOP)
        again, holder = t.command(c)
        t.check("a stopped spare is replaced", again == fresh and holder != spare)
        t.check("and ended", c.close() == 0 and is_gone(spare))


def killed(t):
    """The spare goes with a program that had no chance to say so."""
    with t.client() as c:
        t.command(c)
        spare = spare_of(c.process.pid)
        c.kill()
        t.check("kill -9 leaves no spare", is_gone(spare))


def many(t, rounds):
    with t.client() as c:
        outputs = {t.command(c)[0] for _ in range(rounds)}
        t.check("every command saw the same", len(outputs) == 1)
        spare_of(c.process.pid)
        t.check("one child at most", len(harness.children(c.process.pid)) <= 1)


# ---- with a sandbox ----

class Confined(Story):
    """A home with a repository as workspace, where nothing changes but what the story changes:
    /tmp is no good place for it."""

    def __init__(self, base):
        super().__init__(base)
        self.env = dict(self.env, TRIVET_SANDBOX="workspace-write")
        self.home = os.path.join(base, "home")
        self.tmp = os.path.join(base, "tmp")
        scene = os.path.join(base, "confined.json")
        with open(scene, "w", encoding="utf-8") as file:
            json.dump({"rounds": [[{"call": "bash", "args": {"command": CONFINED}}], [{"say": "."}]]},
                      file)
        self.args = ["--model", f"rehearsal/{scene}"]
        self.base = os.path.join(self.home, "work")
        os.makedirs(os.path.join(self.home, ".loaf"))
        self.put(".loaf/auth.json", "SECRET")
        subprocess.run(["git", "init", "-q", "-b", "main", self.base], check=True)
        time.sleep(0.1)

    def put(self, path, text):
        with open(os.path.join(self.home, path), "w", encoding="utf-8") as file:
            file.write(text)

    def command(self, c):
        """The output without process ids, and the ids of holder and shell."""
        text = c.turn("go").results[0][1]
        holder, shell, rest = text.split(" ", 2)
        return rest, int(holder), int(shell)

    def staged(self, c):
        """The process that the spare has ready, or None."""
        spare = spare_of(c.process.pid)
        end = time.monotonic() + 2
        while spare and time.monotonic() < end:
            if ready := harness.confined_child(spare):
                return ready
            time.sleep(0.01)
        return None

    def places(self):
        return sorted(n for n in os.listdir(self.tmp) if n.startswith("trivet-"))


def staged_used(t):
    """A process made beforehand becomes the command, which sees what it would see otherwise."""
    with t.client() as c:
        fresh, _, _ = t.command(c)
        t.check("a confined command is confined",
                "wrote inside" in fresh and "wrote x" in fresh and "700" in fresh
                and "wrote outside" not in fresh and "planted" not in fresh
                and "wrote config" not in fresh and "SECRET" not in fresh)
        ready = t.staged(c)
        t.check("a process is ready after it", ready)
        with open(f"/proc/{ready}/environ", "rb") as file:
            t.check("it has no environment", file.read() == b"")
        again, _, shell = t.command(c)
        t.check("it became the next command", shell == ready)
        t.check("which saw the same", again == fresh)
        ready = t.staged(c)
        t.check("one private directory waits", len(t.places()) == 1)
        t.check("all go at the end", c.close() == 0 and is_gone(ready) and not t.places())


def staged_stale(t, title, change, wanted, back):
    """What changed between two commands holds for the second, as if nothing had been made ready."""
    with t.client() as c:
        t.command(c)
        ready = t.staged(c)
        change()
        text, _, shell = t.command(c)
        t.check(f"{title}: not the one made before", ready and shell != ready)
        t.check(f"{title}: {text!r}", wanted(text))
        t.check(f"{title}: a clean end", c.close() == 0 and is_gone(ready) and not t.places())
    back()
    time.sleep(0.1)


def staged_stales(t):
    def path(name):
        return os.path.join(t.home, name)

    def git_moves():
        os.rename(path("work/.git"), path("old"))
        os.makedirs(path("work/.git/hooks"))
        t.put("work/.git/HEAD", "ref: refs/heads/main\n")
        t.put("work/.git/config", "")

    def git_back():
        shutil.rmtree(path("work/.git"))
        os.rename(path("old"), path("work/.git"))

    def kward_comes():
        os.mkdir(path(".kward"))
        t.put(".kward/auth.json", "SECRET")

    def nothing(text):
        return "SECRET" not in text and "planted" not in text and "wrote config" not in text

    def configured():
        for key in ("user.name", "user.email", "user.name"):  # its file number comes back
            subprocess.run(["git", "-C", t.base, "config", key, "a"], check=True)

    def linked():
        config = path("work/.git/config")
        os.link(config, config + "2")
        os.unlink(config)
        os.rename(config + "2", config)

    def replaced():
        os.rename(path("work/.git"), path("old"))
        os.mkdir(path("work/.git"))
        for name in os.listdir(path("old")):
            os.rename(path(f"old/{name}"), path(f"work/.git/{name}"))
        os.rmdir(path("old"))

    staged_stale(t, "another repository", git_moves, nothing, git_back)
    staged_stale(t, "git config", configured, nothing, lambda: None)
    staged_stale(t, "the same config, linked anew", linked, nothing, lambda: None)
    staged_stale(t, "another .git with the same in it", replaced, nothing, lambda: None)
    staged_stale(t, "a new credential file", kward_comes, nothing,
                 lambda: shutil.rmtree(path(".kward")))
    staged_stale(t, "a new file at home", lambda: t.put("note", "READ"),
                 lambda text: "READ" in text and nothing(text), lambda: os.unlink(path("note")))
    def more_comes():
        os.mkdir(path(".loaf/more"))
        t.put(".loaf/more/note", "READ")
        t.put(".loaf/note", "SECRET")

    def more_goes():
        shutil.rmtree(path(".loaf/more"))
        os.unlink(path(".loaf/note"))

    staged_stale(t, "a new directory beside a secret", more_comes,
                 lambda text: "READ" in text and nothing(text), more_goes)


def staged_mounted(t):
    """A mount that comes together with the command is seen, though the kernel tells of it once."""
    wrap = ("unshare", "--mount", "--propagation", "shared")
    if os.getuid() != 0 or subprocess.run([*wrap, "true"], check=False).returncode:
        return
    with client.Scaiflux(t.args, cwd=t.base, env=t.env, wrap=wrap) as c:
        c.event("ready")
        t.command(c)
        ready, spare = t.staged(c), spare_of(c.process.pid)
        os.kill(spare, signal.SIGSTOP)
        subprocess.run(["nsenter", "-t", str(c.process.pid), "-m", "mount", "--bind",
                        f"{t.base}/.git", f"{t.base}/.git"], check=True)
        threading.Timer(0.2, os.kill, (spare, signal.SIGCONT)).start()
        text, _, shell = t.command(c)
        t.check("a new mount: not the one made before", ready and shell != ready)
        t.check(f"a new mount: {text!r}", "planted" not in text and "wrote config" not in text)
        t.check("a new mount: a clean end", c.close() == 0)


def staged_lost(t):
    """Either process may be ended by somebody; no trace stays."""
    with t.client() as c:
        fresh, _, _ = t.command(c)
        ready = t.staged(c)
        os.kill(ready, signal.SIGKILL)
        again, _, shell = t.command(c)
        t.check("a killed process is replaced", again == fresh and shell != ready)
        ready = t.staged(c)
        spare = spare_of(c.process.pid)
        os.kill(spare, signal.SIGKILL)
        t.check("without its spare it goes", ready and is_gone(ready))
        again, holder, _ = t.command(c)
        t.check("a killed spare is replaced", again == fresh and holder != spare)
        ready, left = t.staged(c), t.places()
        t.check("only the killed one left its directory", len(left) == 2)
        t.check("no dead child stays", len(harness.children(c.process.pid)) == 1)
        c.kill()
        t.check("kill -9 leaves no process", is_gone(ready))
        end = time.monotonic() + 5
        while len(t.places()) > 1 and time.monotonic() < end:
            time.sleep(0.01)
        t.check("nor a directory", len(t.places()) == 1)
        os.rmdir(os.path.join(t.tmp, t.places()[0]))
    with t.client() as c:
        t.command(c)
        ready = t.staged(c)
        os.kill(ready, signal.SIGSTOP)
        os.kill(spare_of(c.process.pid), signal.SIGKILL)
        t.check("a stopped process goes at the end", c.close() == 0 and is_gone(ready))
        for name in t.places():
            os.rmdir(os.path.join(t.tmp, name))


TERMINAL = "(echo $$; test -t 0 && stty size; ps -o stat= -p $$) >seen 2>&1; mv seen told"


def staged_terminal(t):
    """A terminal that comes with the job becomes that of the process made beforehand."""
    call = {"command": TERMINAL, "run_in_background": True, "terminal_cols": 91, "terminal_rows": 33}
    told = os.path.join(t.base, "told")
    with open(os.path.join(t.base, "terminal.json"), "w", encoding="ascii") as file:
        json.dump({"turns": [{"when": "one", "rounds": [
            [{"call": "bash", "args": {"command": "true"}}], [{"say": "."}]]}],
            "rounds": [[{"call": "bash", "args": call}], [{"say": "."}]]}, file)
    with client.Loaf(cwd=t.base, env=dict(t.env, TRIVET_MODEL="rehearsal/terminal.json")) as c:
        session = c.call("session.create")["session_id"]
        seen = []
        for text in ("one", "two"):
            ready = t.staged(c) if seen else None
            c.call("session.send", {"session_id": session, "text": text})
            seen.append(c.event("session.completed", session))
        end = time.monotonic() + 5
        while not os.path.exists(told) and time.monotonic() < end:
            time.sleep(0.01)
        with open(told, encoding="ascii") as file:
            shell, size, state = file.read().split("\n")[:3]
        t.check("a terminal for the process made before", ready and int(shell) == ready)
        t.check(f"which is its own: {size}, {state}", size == "33 91" and state.startswith("Ss"))
        c.close()
    os.unlink(told)


def staged_many(t, rounds):
    with t.client() as c:
        outputs = {t.command(c)[0] for _ in range(rounds)}  # with a process ready, or half ready
        t.check(f"every confined command saw the same: {outputs}", len(outputs) == 1)
        t.check("a clean end", c.close() == 0 and not t.places())


def others():
    """When the directories above ours were changed: by others, which is a change like any other."""
    return [os.stat(path).st_mtime_ns for path in ("/", "/var", "/var/tmp")]


def confined(rounds):
    """The stories, told again when somebody else has disturbed them."""
    for _ in range(10):
        with tempfile.TemporaryDirectory(prefix="trivet-spare-", dir="/var/tmp") as base:
            before = others()
            t = confined_once(base, rounds)
            if not t.failed or others() == before:
                break
            print("disturbed by others, again")
    return t


def confined_once(base, rounds):
    os.environ.update(harness.clean_env(base))
    t = Confined(base)
    staged_used(t)
    staged_stales(t)
    staged_mounted(t)
    staged_lost(t)
    staged_terminal(t)
    staged_many(t, rounds)
    return t


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    with harness.private_place() as base:
        os.environ.update(harness.clean_env(base))
        t = Story(base)
        if os.path.exists(os.path.join(os.path.dirname(client.PROGRAM), "trivet-hold")):
            used(t)
            lost(t)
            stopped(t)
            killed(t)
            many(t, rounds)
            if harness.has_mounts(client.PROGRAM):  # else nothing is made beforehand
                more = confined(rounds)
                t.passed += more.passed
                t.failed += more.failed
            else:
                print("no mount namespaces here: nothing is made beforehand")
        harness.finish(t.passed, t.failed)


main()
