#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Undo takes back what file tools and commands changed in the last turn, in every dialect; what
others changed stays; links and .git are not touched; the model gets a note."""
import contextlib
import hashlib
import os
import signal
import stat
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import client  # noqa: E402
import harness  # noqa: E402
from played_model import Checks, Model, play, provider  # noqa: E402

check = Checks()


def put(base, name, text):
    path = os.path.join(base, "workspace", name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def get(base, name):
    try:
        with open(os.path.join(base, "workspace", name), encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return None


def undo(base, *args, status=0):
    done = subprocess.run([client.PROGRAM, "exec", "-q", "--undo", *args],
                          cwd=os.path.join(base, "workspace"), env=harness.clean_env(base),
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    check(f"status {status}", done.returncode == status, (done.returncode, done.stdout, done.stderr))
    return done.stdout + done.stderr


def write(path, text):
    return "write_file", {"path": path, "content": text}


def two_turns(base):
    """The newest first, then the one before, then nothing; modes come back."""
    script = put(base, "tool.sh", "echo one\n")
    os.chmod(script, 0o755)
    put(base, "a.txt", "first\n")

    def first():
        yield [("edit_file", {"path": "a.txt", "old_string": "first", "new_string": "second"})]
        yield [write("new/b.txt", "made\n"), write("tool.sh", "echo two\n")]
        yield [("edit_file", {"path": "a.txt", "old_string": "second", "new_string": "third"})]
        yield [("bash", {"command": "true"})]

    def second():
        yield [write("a.txt", "fourth\n")]
        yield [("bash", {"command": "true"})]

    os.makedirs(os.path.join(base, "workspace", "new"))
    play("run", first(), base)
    play("run", second(), base, args=("--continue",))
    text = undo(base)
    check("the second turn", get(base, "a.txt") == "third\n" and "a.txt: restored" in text
          and get(base, "new/b.txt") == "made\n", text)
    seen = play("run", iter(()), base, args=("--continue",))
    said = str(seen.requests[0]["messages"])
    check("the model gets a note", "The user has taken back" in said
          and "- a.txt: restored" in said, said[-900:])
    seen = play("run", iter(()), base, args=("--continue",))
    check("once", str(seen.requests[0]["messages"]).count("has taken back") == 1)
    text = undo(base)
    check("the first turn", get(base, "a.txt") == "first\n" and get(base, "new/b.txt") is None
          and get(base, "tool.sh") == "echo one\n" and "new/b.txt: removed" in text, text)
    check("the mode", stat.S_IMODE(os.stat(script).st_mode) == 0o755, os.stat(script).st_mode)
    check("nothing more", "nothing to undo" in undo(base, status=1))
    kept = os.path.join(base, "xdg/state/trivet/undo")
    left = [f for _, _, files in os.walk(kept) for f in files if f != "note"]
    check("nothing is left", not left, left)
    check("for the user alone", all(stat.S_IMODE(os.stat(d).st_mode) == 0o700
                                    for d, _, _ in os.walk(kept)), kept)


def others(base):
    """What was changed since stays and is named; a link in its place is not followed."""
    for name in ("a.txt", "b.txt", "c.txt", "d.txt"):
        put(base, name, "before\n")
    outside = os.path.join(base, "outside.txt")
    with open(outside, "w", encoding="ascii") as file:
        file.write("after\n")

    def scenario():
        yield [write(n, "after\n") for n in ("a.txt", "b.txt", "c.txt", "d.txt")]
        yield [("bash", {"command": "true"})]

    play("run", scenario(), base)
    put(base, "a.txt", "mine\n")
    os.unlink(os.path.join(base, "workspace", "b.txt"))
    os.unlink(os.path.join(base, "workspace", "c.txt"))
    os.symlink(outside, os.path.join(base, "workspace", "c.txt"))
    text = undo(base, status=4)
    check("the end says so", "trivet exec: not every file could be taken back" in text, text)
    check("changed by others", get(base, "a.txt") == "mine\n" and get(base, "b.txt") is None
          and "a.txt: changed since" in text and "b.txt: changed since" in text, text)
    with open(outside, encoding="ascii") as file:
        check("not through a link", file.read() == "after\n" and "c.txt: changed since" in text, text)
    check("the rest is restored", get(base, "d.txt") == "before\n", text)


def limits(base):
    """Large files and .git are not kept; a failed edit is no change; --ephemeral keeps nothing."""
    put(base, "large.txt", "x" * (3 << 20))
    put(base, ".git/hooks/pre-commit", "old\n")
    put(base, "small.txt", "before\n")

    def scenario():
        yield [write("large.txt", "small now\n"), write("small.txt", "after\n"),
               write(".git/hooks/pre-commit", "new\n")]
        yield [("edit_file", {"path": "small.txt", "old_string": "no such text",
                              "new_string": "x"})]
        yield [("bash", {"command": "true"})]

    play("run", scenario(), base, args=("--mode", "danger-full-access"))
    text = undo(base, status=4)
    check("large", "large.txt: cannot be restored: larger than 2 MB" in text
          and get(base, "large.txt") == "small now\n", text)
    check("small", get(base, "small.txt") == "before\n", text)
    check(".git is left alone", get(base, ".git/hooks/pre-commit") != "old\n"
          or ".git" not in text, text)

    large = os.path.join(base, "workspace", "large.txt")
    os.truncate(large, 8 << 30)

    def sparse():
        results = yield [("edit_file", {"path": "large.txt", "old_string": "a", "new_string": "b"})]
        check("an edit names its limit", "is larger than 16777216 bytes" in str(results), results)
        yield [write("large.txt", "small again\n")]

    play("run", sparse(), base)
    text = undo(base, status=4)
    check("8 GiB", "large.txt: cannot be restored: larger than 2 MB" in text
          and get(base, "large.txt") == "small again\n", text)

    def failed():
        yield [("edit_file", {"path": "small.txt", "old_string": "none", "new_string": "x"})]

    play("run", failed(), base)
    check("no change", "nothing to undo" in undo(base, status=1))
    check("usage", "takes no prompt" in undo(base, "words", status=2))


def git(base, *args):
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "HOME": base}
    return subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *args], check=True, env=env,
                          cwd=os.path.join(base, "workspace"), capture_output=True, text=True).stdout


def repository(base):
    """Tracked files, one of them changed, one executable; an untracked and an ignored one."""
    for name, text in (("a.c", "int a;\n"), ("b.c", "int b;\n"), ("sub/c.c", "int c;\n"), ("run.sh", "true\n"),
                       (".gitignore", "*.o\n")):
        put(base, name, text)
    git(base, "init", "-q")
    git(base, "add", "-A")
    git(base, "commit", "-qm", "one")
    time.sleep(0.05)
    git(base, "update-index", "--refresh")
    put(base, "b.c", "int b = 2;\n")
    put(base, "notes.txt", "int mine\n")
    put(base, "x.o", "object\n")
    return files(base)


def files(base):
    top = os.path.join(base, "workspace")
    found = {}
    for path, dirs, names in os.walk(top):
        dirs[:] = [d for d in dirs if d not in (".git", ".scaiflux")]
        for name in names:
            full = os.path.join(path, name)
            with open(full, "rb") as file:
                found[os.path.relpath(full, top)] = (file.read(), os.stat(full).st_mode & 0o777)
    return found


def inside_git(base):
    """The bytes of everything in .git, so that a touched index would show."""
    sums = {}
    for path, _, names in os.walk(os.path.join(base, "workspace", ".git")):
        for name in names:
            with open(os.path.join(path, name), "rb") as file:
                sums[os.path.join(path, name)] = hashlib.sha256(file.read()).hexdigest()
    return sums


CHANGE = ("sed -i s/int/long/ a.c b.c sub/c.c notes.txt; rm run.sh; echo new > made.txt; "
          "chmod 755 sub/c.c; touch a.c")


def commands(base, dialect="run", shell="bash"):
    """The table's example, with a file that was changed before, an untracked, a removed and a new one."""
    before = repository(base)
    plain = inside_git(base)

    def scenario():
        yield [(shell, {"command": CHANGE})]

    play(dialect, scenario(), base)
    check("changed", get(base, "a.c") == "long a;\n" and get(base, "run.sh") is None)
    check("git is not touched by looking", inside_git(base) == plain)
    text = undo(base)
    check("as before", files(base) == before, (files(base), text))
    check("named", all(f"{n}: restored" in text for n in ("a.c", "b.c", "sub/c.c", "notes.txt", "run.sh")) and "made.txt: removed" in text, text)
    check("git is not touched", inside_git(base) == plain, text)


def mixed(base):
    """File tools and commands change the same files; what the user changes meanwhile stays."""
    before = repository(base)

    def scenario():
        yield [("edit_file", {"path": "a.c", "old_string": "int", "new_string": "char"})]
        yield [("bash", {"command": "sed -i s/char/long/ a.c; echo x > sub/c.c"})]
        yield [write("sub/c.c", "y\n"), write("new.c", "int n;\n")]
        put(base, "b.c", "by the user\n")
        time.sleep(0.05)  # file times have the resolution of the clock tick
        yield [("bash", {"command": "rm new.c; mv sub below"})]

    play("run", scenario(), base)
    text = undo(base)
    after = files(base)
    user = after.pop("b.c")
    before.pop("b.c")
    check("all but the user's", after == before, (after, text))
    check("the user's stays", user[0] == b"by the user\n", (user, text))


def committed(base):
    """Commits stay and that is said; the files are as before."""
    before = repository(base)

    def scenario():
        yield [("bash", {"command": "sed -i s/int/long/ a.c && git -c user.name=a -c user.email=a@b "
                         "commit -qam two"})]

    play("run", scenario(), base, args=("--mode", "danger-full-access"))
    head = git(base, "rev-parse", "HEAD")
    text = undo(base)
    check("files", files(base) == before, text)
    check("said", "Commits, checkouts and resets in git stay." in text, text)
    check("HEAD", git(base, "rev-parse", "HEAD") == head)


def interrupted(base, signo=signal.SIGINT):
    """A command that was stopped by SIGINT has changed files, too.  After SIGKILL of the program only what came
    before the command is known, and that is said."""
    before = repository(base)
    begun = threading.Event()

    def scenario():
        yield [("bash", {"command": "sed -i s/int/long/ b.c"})]
        begun.set()
        yield [("bash", {"command": "sed -i s/int/long/ a.c; echo > begun; sleep 60"})]

    def stop():
        begun.wait(30)
        deadline = time.monotonic() + 30
        while get(base, "begun") is None and time.monotonic() < deadline:
            time.sleep(0.02)
        for pid in children(os.getpid()):
            os.kill(pid, signo)

    threading.Thread(target=stop, daemon=True).start()
    seen = play("run", scenario(), base)
    text = undo(base)
    if signo == signal.SIGKILL:
        check("what came before", get(base, "b.c") == before["b.c"][0].decode(), text)
        check("said", "The program ended during the last turn; what a command had changed" in text, text)
        return
    check("interrupted", seen.status == 130, (seen.status, seen.stderr))
    check("as before", files(base) == before, (files(base), text))


def killed(base):
    interrupted(base, signal.SIGKILL)


def many_bytes(base):
    """One call keeps 64 MB of what it deletes, whatever the number of files."""
    names = [f"f{i:03}" for i in range(100)]
    for name in names:
        os.truncate(put(base, name, "x"), 2 << 20)
    patch = "\n".join(["*** Begin Patch", *(f"*** Delete File: {n}" for n in names), "*** End Patch"])

    def scenario():
        results = yield [("apply_patch", {"patch": patch})]
        check("deleted", get(base, names[0]) is None, results)

    with dialect_client(client.Loaf, base, scenario()) as (c, _):
        session = c.call("session.create")["session_id"]
        c.turn(session, "go")
        with open(f"/proc/{c.process.pid}/status", encoding="ascii") as file:
            peak = [int(line.split()[1]) for line in file if line.startswith("VmHWM")][0]
        check("memory", peak < 150 << 10, peak)
        run = {"session_id": session, "raw_command": "/undo"}
        done = c.call("command.execute", run)["output"]["files"]
    kept = [f for f in done if f["outcome"] == "restored"]
    lost = [f for f in done if f.get("why") == "one call changed more than 64 MB"]
    check("the first 64 MB", len(kept) == 32 and len(lost) == 68, done)


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(p) for p in file.read().split()]


def no_git(base):
    """Without a repository files are copied, within limits; a home directory is not searched."""
    for i in range(3):
        put(base, f"f{i}", f"{i}\n")
    put(base, "large", "x" * (3 << 20))

    def scenario():
        yield [("bash", {"command": "for f in f0 f1 f2 large; do echo y > $f; done"})]

    play("run", scenario(), base)
    text = undo(base, status=4)
    check("copied", [get(base, f"f{i}") for i in range(3)] == ["0\n", "1\n", "2\n"], text)
    check("large", "large: cannot be restored: larger than 2 MB" in text, text)
    home = os.path.join(base, "workspace")
    play("run", scenario(), base, env={"HOME": home})
    text = undo(base)
    check("home", "What commands changed is not taken back: the workspace holds the home directory." in text,
          text)


def in_loaf(base):
    before = repository(base)

    def scenario():
        yield [("bash", {"command": CHANGE})]

    with dialect_client(client.Loaf, base, scenario()) as (c, model):
        session = c.call("session.create")["session_id"]
        c.turn(session, "go")
        run = {"session_id": session, "raw_command": "/undo"}
        output = c.call("command.execute", run)["output"]
        check("files", files(base) == before, output)
        check("output", output["undone"] == "go" and {"path": "made.txt", "outcome": "removed"} in output["files"],
              output)
        check("once", "nothing to undo" in c.call("command.execute", run)["output"]["error"])
        c.turn(session, "what now")
        check("note", "The user has taken back" in str(model.requests[-1]["messages"][-3:]),
              model.requests[-1]["messages"][-3:])


def in_scaiflux(base):
    before = repository(base)

    def scenario():
        yield [("bash", {"command": CHANGE})]

    with dialect_client(client.Scaiflux, base, scenario(), ["--model", "openai/played"]) as (c, model):
        c.turn("go")
        c.send({"type": "slash", "command": "undo"})
        said = c.until(lambda m: m["type"] == "slash_result")
        check("files", files(base) == before, said)
        check("data", said["data"]["ok"] and len(said["data"]["files"]) == 6 and "restored" in said["text"], said)
        c.send({"type": "slash", "command": "undo"})
        said = c.until(lambda m: m["type"] == "slash_result")
        check("once", said["data"] == {"ok": False, "error": "not_found"}, said)
        c.turn("what now")
        check("note", "The user has taken back" in str(model.requests[-1]["messages"][-3:]))


def in_kward(base):
    before = repository(base)

    def scenario():
        for _ in range(2):
            yield [("run_shell_command", {"command": CHANGE})]
            yield {"text": "Done."}

    with dialect_client(client.Kward, base, scenario()) as (c, model):
        workspace = os.path.join(base, "workspace")
        session = c.call("sessions/create", {"workspaceRoot": workspace})["id"]
        for how in ("commands/run", "turns/start"):
            c.call("turns/start", {"sessionId": session, "input": "go"})
            c.event("turnFinished")
            check("changed", files(base) != before)
            if how == "commands/run":
                lines = c.call(how, {"sessionId": session, "name": "undo"})["output"]
            else:
                c.call(how, {"sessionId": session, "input": "/undo"})
                lines = c.event("answer")["payload"]["content"].splitlines()
                c.event("turnFinished")
            check(how, files(base) == before and "  made.txt: removed" in lines, lines)
        listed = c.call("commands/list", {"sessionId": session})["commands"]
        check("not listed", not any("undo" in str(x) for x in listed), listed)
        c.call("turns/start", {"sessionId": session, "input": "what now"})
        c.event("turnFinished")
        check("note", "The user has taken back" in str(model.requests[-1]["messages"][-3:]))


@contextlib.contextmanager
def dialect_client(kind, base, scenario, args=()):
    model = Model(scenario)
    with provider.Server(model) as server:
        env = {**harness.clean_env(base), "OPENAI_API_KEY": "test-key-123456",
               "OPENAI_BASE_URL": f"http://127.0.0.1:{server.port}/v1", "TRIVET_MODEL": "openai/played"}
        with kind(args, cwd=os.path.join(base, "workspace"), env=env) as c:
            yield c, model


def deleted(base):
    """With the session goes what is kept of it."""
    def scenario():
        yield [write("a.txt", "after\n")]

    play("run", scenario(), base)
    kept = os.path.join(base, "xdg/state/trivet/undo")
    ids = os.listdir(kept)
    check("kept", len(ids) == 1 and os.listdir(os.path.join(kept, ids[0])), ids)
    subprocess.run([client.PROGRAM, "sessions", "rm", ids[0]], env=harness.clean_env(base), check=True,
                   cwd=os.path.join(base, "workspace"), capture_output=True, timeout=60)
    check("gone", not os.listdir(kept), os.listdir(kept))


def main():
    for scenario in (two_turns, others, limits, commands, mixed, committed, interrupted, killed, no_git, many_bytes, in_loaf, in_scaiflux,
                  in_kward, deleted):
        with check.scene(scenario.__name__) as base:
            scenario(base)
    return check.end()


sys.exit(main())
