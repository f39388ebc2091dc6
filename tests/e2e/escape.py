#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The escape suite: each attempt is made by a real process inside the real tool (ScaiFlux's bash,
and its file tools), with the sandbox off to show that the attempt is real and on to show that it
is refused; as root and as an ordinary user when started as root, else as who we are.

    attempt                        root off   on       bare       user off   on       ...
    write, absolute path           open       refused  refused    open       refused

`unix` in an off column: plain Unix refuses it to an ordinary user already.  `bare` is the sandbox
where the system allows no namespaces; what is lost there (LOST, and SECURITY.md) must be lost, so
that the list stays true.  What counts is what the attempt says and, where it leaves a trace
outside, the trace.
"""
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import client  # noqa: E402
import harness  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
NOBODY = 65534
SECRET = "sk-credential-of-escape"
ONLY_ROOT = {"/proc/<engine>/root", "/proc/<engine>/environ",  # the engine is not dumpable
             "raw socket", "packet socket", "mount", "disk device", "new device node",
             "open by handle"}
# What the settings of a system may refuse to everybody or to ordinary users.
SYSTEM = {"io_uring", "userfaultfd", "user namespace", "user namespace by clone",
          "user namespace by clone3", "kernel keyring", "32-bit system call", "/proc/<engine>/mem",
          "ptrace of the engine", "process_vm_readv"}
LOST = {"plant a git hook", "chmod"}


class Place:
    """A fresh world for one run: workspace, outside, home, listeners."""

    def __init__(self, base, uid):
        self.base, self.uid = base, uid
        self.work, self.out = f"{base}/work", f"{base}/outside"
        self.home = f"{base}/home"
        self.env = harness.clean_env(base)
        for path in (f"{self.work}/sub", self.out, f"{self.home}/.loaf", f"{base}/bin"):
            os.makedirs(path)
        for name in ("linked", "moved", "cut", "opened-cut", "mode", "gone", "handle", "taken"):
            self.put(f"{self.out}/{name}", "precious\n")
        self.put(f"{self.work}/mine", "mine\n")
        self.put(f"{self.home}/.loaf/auth.json", SECRET)
        self.put(f"{self.home}/.loaf/state.json", "{}")
        subprocess.run(["git", "init", "-q", self.work], check=True, env=self.env)
        self.put(f"{self.home}/.gitconfig", "[user]\nname = a\nemail = a@b\n")
        self.attempt = f"{base}/bin/attempt"
        shutil.copy(os.path.join(os.environ["ESCAPE_BIN"], "attempt"), self.attempt)
        program = os.path.dirname(client.PROGRAM)
        for name in os.listdir(program):
            if name in ("trivet", "trivet-hold") or name.endswith(".so"):
                shutil.copy(os.path.join(program, name), f"{base}/bin/{name}")
        self.listen()
        self.pid_file = f"{self.out}/engine.pid"
        self.give_away()

    def put(self, path, text):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def give_away(self):
        """Everything belongs to the user who runs; the setuid program to somebody else."""
        if os.getuid() != 0:
            return
        os.chmod(self.base, 0o755)
        for top, dirs, files in os.walk(self.base):
            for name in dirs + files:
                os.lchown(os.path.join(top, name), self.uid, self.uid)
        other = NOBODY if self.uid == 0 else 0
        self.setuid = f"{self.base}/bin/setuid"
        shutil.copy(self.attempt, self.setuid)
        os.chown(self.setuid, other, other)
        os.chmod(self.setuid, 0o4755)
        self.other = other

    def listen(self):
        """Somebody who would answer, for every kind of socket."""
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.path_socket, self.dgram_socket = f"{self.out}/s", f"{self.out}/d"
        self.abstract = f"@trivet-escape-{os.getpid()}-{self.uid}"
        self.sockets = [self.tcp, self.udp]
        for address in (self.path_socket, "\0" + self.abstract[1:]):
            s = socket.socket(socket.AF_UNIX)
            s.bind(address)
            s.listen(64)
            self.sockets.append(s)
        d = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        d.bind(self.dgram_socket)
        self.sockets.append(d)

    def has_datagram(self):
        """Sending succeeds in a network of its own, too; what counts is what arrives."""
        self.udp.setblocking(False)
        try:
            return bool(self.udp.recv(100))
        except BlockingIOError:
            return False

    def close(self):
        for s in self.sockets:
            s.close()


def disk():
    """A block device that we can read, or any when we are not root, or None."""
    for name in sorted(os.listdir("/dev")):
        path = f"/dev/{name}"
        if not stat.S_ISBLK(os.stat(path).st_mode):
            continue
        try:
            with open(path, "rb") as file:
                if os.getuid() != 0 or file.read(1):
                    return path
        except OSError:
            if os.getuid() != 0:
                return path
    return None


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def has(path):
    return lambda: os.path.exists(path)


def changed(path, text="precious\n"):
    return lambda: not os.path.exists(path) or text_of(path) != text


def attempts(p):
    """(title, arguments of the attempt or a tool call, how the trace is seen)"""
    work, out, git = p.work, p.out, f"{p.work}/.git"
    key = f"{p.home}/.loaf/auth.json"
    rows = [
        ("write, absolute path", ["write", f"{out}/absolute"], has(f"{out}/absolute")),
        ("write, ..", ["write", f"{work}/sub/../../outside/dots"], has(f"{out}/dots")),
        ("write, below /tmp", ["write", f"/tmp/{os.path.basename(p.base)}-x"],
         has(f"/tmp/{os.path.basename(p.base)}-x")),
        ("write through a link", f"ln -s {out} {work}/way && {p.attempt} write {work}/way/linked-in",
         has(f"{out}/linked-in")),
        ("link swapped in a race", ["race", work, out], has(f"{out}/raced")),
        ("hard link, then write", ["link", f"{out}/linked", f"{work}/hard"],
         changed(f"{out}/linked")),
        ("rename to the outside", ["rename", f"{work}/mine", f"{out}/put"], has(f"{out}/put")),
        ("rename from the outside", ["rename", f"{out}/moved", f"{work}/got"],
         changed(f"{out}/moved")),
        ("truncate", ["truncate", f"{out}/cut"], changed(f"{out}/cut")),
        ("open for reading, cutting", ["open-truncate", f"{out}/opened-cut"],
         changed(f"{out}/opened-cut")),
        ("unlink", ["unlink", f"{out}/gone"], changed(f"{out}/gone")),
        ("chmod", ["chmod", f"{out}/mode"],
         lambda: stat.S_IMODE(os.stat(f"{out}/mode").st_mode) == 0o640),
        ("/proc/self/root", ["write", f"/proc/self/root{out}/proc-self"], has(f"{out}/proc-self")),
        ("/proc/<engine>/root", ["engine-root", p.pid_file, f"{out}/proc-engine"],
         has(f"{out}/proc-engine")),
        ("/proc/<engine>/mem", ["engine-memory", p.pid_file], None),
        ("/proc/<engine>/environ", ["engine-environment", p.pid_file], None),
        ("ptrace of the engine", ["ptrace", p.pid_file], None),
        ("process_vm_readv", ["process-read", p.pid_file], None),
        ("signal to the engine", ["signal", p.pid_file], None),
        ("io_uring", ["io_uring"], None),
        ("TCP connect", ["tcp", str(p.tcp.getsockname()[1])], None),
        ("UDP", f"{p.attempt} udp {p.udp.getsockname()[1]} | tr A-Z a-z", p.has_datagram),
        ("raw socket", ["raw"], None),
        ("packet socket", ["packet"], None),
        ("abstract Unix socket", ["unix", p.abstract], None),
        ("path Unix socket", ["unix", p.path_socket], None),
        ("path Unix datagram", ["unix-send", p.dgram_socket], None),
        ("mount", ["mount", f"{work}/sub"], lambda: os.path.ismount(f"{work}/sub")),
        ("user namespace", ["user-namespace"], None),
        ("user namespace by clone", ["clone"], None),
        ("user namespace by clone3", ["clone3"], None),
        ("open by handle", ["handle", f"{out}/handle", work], changed(f"{out}/handle")),
        ("kernel keyring", ["key"], None),
        ("personality", ["personality"], None),
        ("userfaultfd", ["userfault"], None),
        ("32-bit system call", ["call32"], None),
        ("read the credential", ["read", key], None),
        ("link to the credential", ["link-read", key, f"{work}/key"], has(f"{work}/key")),
        ("write the credential", ["write", key], changed(key, SECRET)),
        ("write loaf's state", ["write", f"{p.home}/.loaf/state.json"],
         changed(f"{p.home}/.loaf/state.json", "{}")),
        ("write_file outside", {"call": "write_file", "args": {
            "path": f"{out}/tool", "content": "x"}}, has(f"{out}/tool")),
        ("edit_file outside", {"call": "edit_file", "args": {
            "path": f"{out}/taken", "old_string": "precious", "new_string": "x"}},
         changed(f"{out}/taken")),
        ("write_file to a hook", {"call": "write_file", "args": {
            "path": ".git/hooks/post-commit", "content": "x"}}, has(f"{git}/hooks/post-commit")),
        ("read_file of the credential", {"call": "read_file", "args": {"path": key}}, None),
        ("grep_search of the credential", {"call": "grep_search", "args": {
            "pattern": "sk-cred", "path": p.home, "output_mode": "content"}}, None),
    ]
    device = disk()
    if device:
        rows += [("disk device", ["read", device], None),
                 ("new device node", ["device", device, f"{work}/node"], has(f"{work}/node"))]
    if hasattr(p, "setuid"):
        rows.append(("setuid program", ["setuid", p.setuid, str(p.other)], None))
    # Last: without namespaces the first of them is noticed afterwards, and no command runs any more.
    rows += [
        ("plant a git hook", ["write", f"{git}/hooks/pre-commit"], has(f"{git}/hooks/pre-commit")),
        ("change git's config", f"echo '[core]' >> {git}/config && echo OPEN", None),
        ("move .git aside", ["rename", git, f"{work}/git2"], has(f"{work}/git2")),
    ]
    return rows


def allowed(p):
    """What must work inside: (title, command that prints OPEN)"""
    return [
        ("write in the workspace", f"echo x > {p.work}/fine && mkdir -p {p.work}/a/b && "
                                   f"mv {p.work}/fine {p.work}/a/b/ && echo OPEN"),
        ("commit", "git add -A . && git commit -m OPEN"),
        ("private TMPDIR", 'echo x > "$TMPDIR/x" && test "$(stat -c %a "$TMPDIR")" = 700 && echo OPEN'),
        ("read elsewhere", f"cat /etc/passwd {p.out}/linked >/dev/null && ls {p.home} && echo OPEN"),
        ("socket pair", f"{p.attempt} pair"),
        ("compile and run", f"cd $TMPDIR && echo 'int main(void){{return 0;}}' > t.c && "
                            "cc t.c -o t && ./t && echo OPEN"),
    ]


def step(p, what):
    if isinstance(what, dict):
        return what
    command = what if isinstance(what, str) else " ".join([p.attempt, *what])
    return {"call": "bash", "args": {"command": command, "timeout": 20000}}


def play(p, calls, setting, is_bare=False, **more):
    """Runs the calls in one turn; their result texts."""
    scenario = f"{p.base}/scenario.json"
    p.put(scenario, json.dumps({"rounds": [calls]}))
    os.chmod(scenario, 0o644)
    command = [f"{p.base}/bin/trivet", "scaiflux", "serve", "--model", f"rehearsal/{scenario}"]
    if is_bare:
        command = [p.attempt, "without-namespaces"] + command
    if p.uid != os.getuid():
        command = ["setpriv", f"--reuid={p.uid}", f"--regid={p.uid}", "--clear-groups"] + command
    env = dict(p.env, TRIVET_SANDBOX=setting, OPENAI_API_KEY="sk-escape-key", **more)

    class Serve(client.Scaiflux):
        args = ()

    old, client.PROGRAM = client.PROGRAM, command[0]
    saved = dict(os.environ)
    os.environ.clear()
    try:
        c = Serve(command[1:], cwd=p.work, env=env)
    finally:
        client.PROGRAM = old
        os.environ.update(saved)
    texts = []
    with c:
        p.put(p.pid_file, str(c.process.pid))
        c.event("ready")
        c.send({"type": "prompt", "text": "go"})
        while (m := c.next(120))["type"] != "turn_complete":
            if m["type"] == "permission_request":
                c.send({"type": "permission_response", "request_id": m["request_id"],
                        "decision": "allow"})
            elif m["type"] == "tool_result":
                texts.append(json.dumps(m))
            elif m["type"] == "error":
                raise RuntimeError(json.dumps(m))
        c.close()
    return texts


def is_open(what, text, trace):
    if isinstance(what, dict) and "read" in what["call"] + what["args"].get("pattern", "sk"):
        said = SECRET in text
    elif isinstance(what, dict):
        said = '"is_error": true' not in text and what["call"] != "grep_search" or SECRET in text
    else:
        said = "OPEN" in text
    return said or bool(trace and trace())


def one_run(uid, setting, is_bare=False):
    """{title: (is open, text)} of every attempt, and of what must work."""
    with harness.private_place() as base:
        p = Place(base, uid)
        rows = attempts(p)
        try:
            if setting == "off":
                texts = play(p, [step(p, what) for _, what, _ in rows], setting)
                fine = []
            else:
                good = allowed(p)
                if not is_bare and harness.has_namespaces():
                    good.append(("listen on loopback", f"{p.attempt} listen"))
                texts = play(p, [step(p, what) for _, what in good]
                             + [step(p, what) for _, what, _ in rows], setting, is_bare)
                fine = [(t, "OPEN" in text, text) for (t, _), text in zip(good, texts)]
                texts = texts[len(good):]
            assert len(texts) == len(rows), f"{len(texts)} results for {len(rows)} calls"
            found = {t: (is_open(what, text, trace), text)
                     for (t, what, trace), text in zip(rows, texts)}
            left = [n for n in os.listdir(f"{base}/tmp") if n.startswith("trivet-")]
        finally:
            subprocess.run(["umount", "-l", f"{p.work}/sub"], stderr=subprocess.DEVNULL, check=False)
            p.close()
            x = f"/tmp/{os.path.basename(base)}-x"
            if os.path.exists(x):
                os.unlink(x)
        return found, fine, left


def read_only(uid):
    """In read-only mode the workspace is not writable either, the temporary directory is."""
    with harness.private_place() as base:
        p = Place(base, uid)
        calls = [["write", f"{p.work}/new"], "echo x > $TMPDIR/x && echo OPEN",
                 {"call": "write_file", "args": {"path": "new", "content": "x"}}]
        texts = play(p, [step(p, what) for what in calls], "read-only")
        p.close()
        return ("REFUSED" in texts[0] and "OPEN" in texts[1] and "sandbox (read-only)" in texts[2]
                and not os.path.exists(f"{p.work}/new"), texts)


def with_settings(uid):
    """Network and further writable places, when asked for; nothing beside them."""
    with harness.private_place() as base:
        p = Place(base, uid)
        calls = [["tcp", str(p.tcp.getsockname()[1])], ["udp", str(p.udp.getsockname()[1])],
                 ["write", f"{p.out}/more"], ["raw"], ["unix", p.path_socket],
                 ["write", f"{p.home}/x"]]
        texts = play(p, [step(p, what) for what in calls], "workspace-write",
                     TRIVET_SANDBOX_NET="on", TRIVET_SANDBOX_WRITE=p.out)
        p.close()
        return (all("OPEN" in t for t in texts[:3]) and all("REFUSED" in t for t in texts[3:]),
                texts)


class Score:
    def __init__(self):
        self.passed = self.failed = 0

    def count(self, ok, title, why=""):
        self.passed += ok
        self.failed += not ok
        if not ok:
            print(f"FAILED: {title}: {why[-400:]}")


def has_mounts(uid, off):
    """Whether the system lets this user have a mount namespace, as the attempts have shown."""
    return off["mount" if uid == 0 else "user namespace"][0]


def judge(score, users, found):
    for title in found[users[0][0], "off"]:
        line = [f"{title:32}"]
        for name, uid in users:
            is_off, text_off = found[name, "off"][title]
            is_on, text_on = found[name, "workspace-write"][title]
            is_bare, text_bare = found[name, "bare"][title]
            is_plain = uid != 0 or not has_mounts(uid, found[name, "off"])  # root of a container as well
            may_be_unix = is_plain and title in ONLY_ROOT or title in SYSTEM
            line.append(f"{'open' if is_off else 'unix':10} {'OPEN' if is_on else 'refused':8} "
                        f"{'open' if is_bare else 'refused':10}")
            score.count(is_off or may_be_unix, f"{title} ({name}, off): not real", text_off)
            is_lost = title in LOST and not has_mounts(uid, found[name, "off"])
            score.count(is_on == is_lost, f"{title} ({name}, on)", text_on)
            score.count(is_bare == (title in LOST), f"{title} ({name}, bare)", text_bare)
        print(" ".join(line))


def main():
    score = Score()
    if os.getuid() == 0:
        tempfile.tempdir = "/tmp"  # $TMPDIR may be closed to the ordinary user
    users = [("root", 0), ("user", NOBODY)] if os.getuid() == 0 else [("user", os.getuid())]
    with harness.private_place() as built:
        os.environ["ESCAPE_BIN"] = built
        subprocess.run(["cc", "-O1", "-o", f"{built}/attempt", f"{HERE}/escape_attempt.c"],
                       check=True)
        found = {}
        print(f"{'attempt':32} " + " ".join(f"{n + ' off':10} {'on':8} {'bare':10}" for n, _ in users))
        for name, uid in users:
            for setting in ("off", "workspace-write"):
                found[name, setting], fine, left = one_run(uid, setting)
                score.count(not left, f"temporary directories ({name}, {setting})", str(left))
                for title, ok, text in fine:
                    score.count(ok, f"{title} ({name})", text)
            found[name, "bare"], fine, _ = one_run(uid, "workspace-write", True)
            for title, ok, text in fine:
                score.count(ok, f"{title} ({name}, bare)", text)
            ok, texts = read_only(uid)
            score.count(ok, f"read-only ({name})", str(texts))
            ok, texts = with_settings(uid)
            score.count(ok, f"network and more places ({name})", str(texts))
            _, fine, _ = one_run(uid, "require")
            score.count(all(ok for _, ok, _ in fine) == has_mounts(uid, found[name, "off"]),
                        f"require ({name})", str(fine))
            _, fine, _ = one_run(uid, "require", True)
            score.count(all("cannot confine the command" in text for _, _, text in fine),
                        f"require ({name}, bare)", str(fine))
        judge(score, users, found)
    if not harness.has_namespaces():
        harness.skip("escape: listen on loopback")
    harness.finish(score.passed, score.failed)


main()
