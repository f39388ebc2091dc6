#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# LONG
"""No round of the loop takes longer than 20 ms, whatever happens on the disk or in other processes.

TRIVET_DEBUG_ROUNDS has the program say on stderr how long its longest rounds took (src/loop/rounds.c):
in processor time, for which the limit grows with the pace of a slow machine, and asleep.  Neither grows
when other programs take the processors.
"""
import fcntl
import json
import os
import pty
import re
import select
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(os.path.dirname(os.path.dirname(HERE)), "bench")]
import harness  # noqa: E402
from client import PATIENCE_S, PROGRAM, Client, Kward, Loaf, Rpc, Scaiflux  # noqa: E402
from loaf_turns import write_chat  # noqa: E402

LIMIT_MS = 20 * harness.slow() * harness.pace()
CODE = "console.log('x')"
SCENARIO = {"turns": [{"when": "scripts", "rounds": [
                        [{"call": "run_js", "args": {"code": CODE}}],
                        [{"call": "start_background_js", "args": {"code": CODE}}],
                        [{"call": "create_persistent_tool", "args": {
                            "name": "fresh", "description": "d", "handler_code": "return 1"}}],
                        [{"say": "Done."}]]},
                    {"when": "edit", "rounds": [
                        [{"call": "edit_file", "args": {"file_path": "large.txt",
                            "old_string": "the end", "new_string": "the other end"}}],
                        [{"say": "Done."}]]},
                    {"when": "search", "rounds": [[{"call": "@search", "args": {
                        "pattern": "ne+dle [0-9]+ x", "path": "tree"}}], [{"say": "Searched."}]]}],
         "rounds": [[{"say": "Heard you."}]]}
results = []  # of the scene that is played
rounds = {}   # case: longest rounds in ms, busy and asleep, the better of two attempts


def check(name, ok, detail=""):
    results.append((name, bool(ok), str(detail)[:3000]))


def env(base):
    return {"TRIVET_MODEL": f"rehearsal/{base}/scenario.json",
            "TRIVET_DEBUG_ROUNDS": str(int(LIMIT_MS))}


def ended(name, client, asleep_ms=LIMIT_MS):
    """Closes the client and looks at what it says of its rounds."""
    client.close()
    measured(name, client.stderr.decode(errors="replace"), asleep_ms)


def measured(name, text, asleep_ms=LIMIT_MS):
    longest = re.search(r"longest round: busy (\d+) us, asleep (\d+) us", text)
    long = [line for line in text.splitlines() if line.startswith("round: ")]
    check(f"{name}: the rounds were measured", longest, text)
    if longest:
        found = [int(us) / 1000 for us in longest.groups()]
        rounds[name] = min(found, rounds.get(name, found), key=max)
        check(f"{name}: no round is long", found[0] <= LIMIT_MS and found[1] <= asleep_ms, f"{longest[0]}; {long}")


class Locked:
    """Holds a lock as another process would."""

    def __init__(self, path, beside=True):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self.file = open(f"{path}.lock" if beside else path, "a", encoding="ascii")

    def __enter__(self):
        fcntl.flock(self.file, fcntl.LOCK_EX)
        return self

    def __exit__(self, *_):
        self.file.close()


def later(lock, seconds):
    threading.Timer(seconds, lock.file.close).start()


# ---- locks of other processes ----

def kward_locks(base):
    home = os.environ["HOME"]
    rows = [(f"{home}/.kward/memory/core.json", "memory/enable", {}),
            (f"{home}/.kward/memory/core.json", "memory/addCore", {"text": "tea, not coffee"}),
            (f"{home}/.kward/config.json", "config/update", {"values": {"x": 1}}),
            (f"{home}/.kward/config.json", "models/set", {"model": "gpt-5.5", "provider": "Codex"}),
            (f"{home}/.kward/config.json", "auth/loginWithApiKey",
             {"providerId": "openrouter", "apiKey": "sk-or-x"})]
    with Kward(cwd=base, env=env(base)) as c:
        for path, method, params in rows:
            with Locked(path) as lock:
                later(lock, 0.3)
                c.call(method, params)
        session = c.call("sessions/create")
        with Locked(f"{home}/.kward/memory/core.json") as lock:
            later(lock, 0.3)
            turn = c.call("turns/start", {"sessionId": session["id"], "input": "go"})["id"]
            c.event("turnFinished", turn)
        with Locked(session["path"], beside=False) as lock:
            later(lock, 0.1)
            turn = c.call("turns/start", {"sessionId": session["id"], "input": "go"})["id"]
            c.event("turnFinished", turn)
        c.call("memory/disable")
        ended("kward, locks", c)


def loaf_locks(base):
    home = os.environ["HOME"]
    with Loaf(cwd=base, env=env(base)) as c:
        session = c.call("session.create")["session_id"]
        with Locked(f"{home}/.loaf/state.json") as lock:
            later(lock, 0.3)
            c.call("onboarding.complete")
            c.turn(session, "hello")
        with Locked(f"{home}/.loaf/secrets-fallback.json") as lock:
            later(lock, 0.3)
            c.call("auth.set.exa_key", {"api_key": "exa-12345678"})
        ended("loaf, locks", c)


def scaiflux_locks(base):
    with Scaiflux(["--model", f"rehearsal/{base}/scenario.json"], cwd=base, env=env(base)) as c:
        c.event("ready")
        with Locked(f"{base}/.scaiflux/config") as lock:
            later(lock, 0.3)
            c.send({"type": "slash", "command": "save", "args": "model"})
            check("scaiflux: saved", c.event("slash_result")["data"]["ok"])
        ended("scaiflux, locks", c)


def scaiflux_resumes_locked(base):
    """A session that another process has open: refused, or opened when that lets go of it."""
    model = ["--model", f"rehearsal/{base}/scenario.json"]
    with Scaiflux(model, cwd=base, env=env(base)) as c:
        ident = c.event("ready")["session_id"]
        c.turn("hello")
    path = [os.path.join(top, name) for top, _, files in os.walk(base) for name in files
            if name.endswith(".jsonl")][0]
    with Locked(path, beside=False) as lock:
        later(lock, 0.1)
        with Scaiflux([*model, "--resume", ident], cwd=base, env=env(base)) as c:
            check("scaiflux: resumed after a moment", c.event("ready")["session_id"] == ident)
            ended("scaiflux, a locked session resumed", c)


# ---- sessions that are locked, and large ones ----

WORDS = "A sentence that says nothing much. "


def saved(base):
    """The paths of two saved sessions: a small one, and one of 28 MB."""
    folder = os.path.join(os.environ["XDG_STATE_HOME"], "trivet/sessions")
    os.makedirs(folder, exist_ok=True)
    paths = [f"{folder}/{kind}-{os.path.basename(base)}.jsonl" for kind in ("small", "large")]
    write_session(paths[0], os.path.basename(paths[0])[:-6], base, 2, WORDS)
    write_session(paths[1], os.path.basename(paths[1])[:-6], base, 3000, WORDS * 266)
    check("28 MB", os.path.getsize(paths[1]) > 28e6, os.path.getsize(paths[1]))
    return paths


def locked(path):
    """Another process has the session open, and lets go of it soon."""
    lock = Locked(path, beside=False).__enter__()
    later(lock, 0.1)


def acp_opens(base):
    paths = saved(base)
    with Acp(cwd=base, env=env(base)) as c:
        c.call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        for method in ("session/load", "session/resume"):
            for path in paths:
                session = os.path.basename(path)[:-6]
                if path == paths[0]:
                    locked(path)
                c.call(method, {"sessionId": session, "cwd": base, "mcpServers": []})
                c.call("session/close", {"sessionId": session})
        said = sum(m.get("method") == "session/update" for m in c.heard)
        check("acp: the conversations were sent again", said >= 3002, said)
        locked(paths[0])
        c.call("session/delete", {"sessionId": os.path.basename(paths[0])[:-6]})
        ended("acp, sessions opened", c)


@harness.needs_terminals
def chat_opens(base):
    small, large = (os.path.basename(path)[:-6].encode() for path in saved(base))
    steps = ((b"", b" nothing much."), (b"/resume " + large + b"\r", b"2980 earlier"),
             (b"\x1b[Zgo\r", b" you."), (b"/fork\r", b"a copy"), (b"/quit\r", None))
    model = ("--model", env(base)["TRIVET_MODEL"])
    chat("chat, a large session", base, (*model, "--resume", large.decode()), env(base),
         ((b"", b"2980 earlier"), (b"/quit\r", None)))
    locked(f"{os.environ['XDG_STATE_HOME']}/trivet/sessions/{small.decode()}.jsonl")
    chat("chat, sessions opened", base, (*model, "--resume", small.decode()), env(base), steps)


class Acp(Rpc):
    args = ("acp",)


class Mcp(Rpc):
    args = ("mcp", "serve")

    def __init__(self, *args, **names):  # the program has no schema for it
        self.last_id, self.is_checked = 0, False
        Client.__init__(self, *args, **names)

    def send(self, message):
        Client.send(self, message)


def mcp_opens(base):
    paths = saved(base)
    with Mcp(cwd=base, env=env(base)) as c:
        c.call("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                              "clientInfo": {"name": "t", "version": "1"}})
        locked(paths[0])
        for path in paths:
            done = c.call("tools/call", {"name": "run_prompt", "arguments": {
                "prompt": "go", "session": os.path.basename(path)[:-6],
                "model": env(base)["TRIVET_MODEL"]}})
            check(f"mcp: {path} goes on", "Heard you." in json.dumps(done), done)
        ended("mcp serve, sessions opened", c)


# ---- slow syncs ----

def slow_syncs(base):
    wrap = ["strace", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e",
            "trace=fsync,fdatasync", "-e",
            f"inject=fsync,fdatasync:delay_enter={int(LIMIT_MS * 5000)}"]  # five times the limit
    if subprocess.run([*wrap, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        print("note: strace cannot delay system calls here; syncs are not slowed down")
        return
    with Kward(cwd=base, env=env(base), wrap=wrap) as c:
        session = c.call("sessions/create")["id"]
        c.call("memory/enable")
        c.call("memory/add", {"text": "tea, not coffee"})
        c.call("config/update", {"values": {"x": 2}})
        turn = c.call("turns/start", {"sessionId": session, "input": "go"})["id"]
        c.event("turnFinished", turn)
        c.call("sessions/export", {"sessionId": session})
        c.call("sessions/rename", {"sessionId": session, "name": "named"})
        c.call("memory/disable")
        c.call("sessions/delete", {"sessionId": session})
        ended("kward, slow syncs", c)
    with Loaf(cwd=base, env=env(base), wrap=wrap) as c:
        session = c.call("session.create")["session_id"]
        c.turn(session, "hello")
        before = len(c.heard)
        c.turn(session, "scripts")
        check("loaf: scripts ran", '"created tool fresh' in json.dumps(c.heard[before:]).replace(
            "\\", ""), [m for m in c.heard[before:] if "results" in json.dumps(m)])
        c.call("model.select", {"model_id": f"{base}/scenario.json", "provider": "rehearsal",
                                "thinking_level": "OFF"})
        c.call("history.clear_session", {"session_id": session})
        ended("loaf, slow syncs", c)
    with Scaiflux(["--model", f"rehearsal/{base}/scenario.json"], cwd=base, env=env(base),
                  wrap=wrap) as c:
        c.event("ready")
        c.turn("hello")
        for command in ("init", "export", "clear"):
            c.send({"type": "slash", "command": command})
            c.event("slash_result")
        ended("scaiflux, slow syncs", c)


# ---- much to read ----

def completed(client):
    """Sessions whose turns are over."""
    return {m["params"]["payload"]["session_id"] for m in client.heard
            if m.get("params", {}).get("type") == "session.completed"}


def large_tree(base):
    line = "int a_line_of_code(int with, const char *words); /* and a comment: ne */\n"
    for d in range(40):
        os.makedirs(f"{base}/tree/{d}")
        for f in range(100):
            with open(f"{base}/tree/{d}/{f}.c", "w", encoding="ascii") as file:
                file.write(line * 400)
    with Loaf(cwd=base, env=env(base)) as c:
        one, two, other = (c.call("session.create")["session_id"] for _ in range(3))
        for session in (one, two):
            c.call("session.send", {"session_id": session, "text": "search"})
        c.call("session.send", {"session_id": other, "text": "hello"})
        check("a sync does not wait for searches", not completed(c) & {one, two}, completed(c))
        while completed(c) != {one, two, other}:
            c.next()
        found = [m for m in c.heard if m.get("params", {}).get("type") == "session.tool.results"]
        check("both searched", len(found) == 2, found)
        ended("loaf, search", c)


def message(i, text):
    role = "user" if i % 2 == 0 else "assistant"
    return json.dumps({"type": "message", "message": {"role": role, "content": f"{i} {text}"}})


def write_session(path, ident, cwd, n, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps({"type": "session", "version": 1, "id": ident, "cwd": cwd,
                               "timestamp": "2026-01-01T00:00:00.000Z"}) + "\n")
        for i in range(n):
            file.write(message(i, text) + "\n")


def many_sessions(base):
    with Kward(cwd=base, env=env(base)) as c:
        folder = os.path.dirname(c.call("sessions/create")["path"])
        for i in range(5000):
            write_session(f"{folder}/s{i:04}.jsonl", f"id-{i:04}", base, 2, "A few words.")
        rows = c.call("sessions/list", {"limit": 6000})["sessions"]
        check("all are listed", len(rows) >= 5000, len(rows))
        c.call("sessions/list", {"limit": 6000})
        ended("kward, 5000 sessions", c)


def large_session(base):
    with Kward(cwd=base, env=env(base)) as c:
        folder = os.path.dirname(c.call("sessions/create")["path"])
        path = f"{folder}/large.jsonl"
        write_session(path, "large", base, 16000, "A sentence that says nothing much. " * 36)
        session = c.call("sessions/resume", {"path": path})["id"]
        shown = c.call("sessions/transcript", {"sessionId": session})
        check("the whole transcript", len(shown["messages"]) >= 16000, len(shown["messages"]))
        turn = c.call("turns/start", {"sessionId": session, "input": "go"})["id"]
        c.event("turnFinished", turn)
        ended("kward, a session of 20 MB", c)


def huge_session(base):
    with Kward(cwd=base, env=env(base)) as c:
        folder = os.path.dirname(c.call("sessions/create")["path"])
        path = f"{folder}/huge.jsonl"
        write_session(path, "huge", base, 16000, "A sentence that says nothing much. " * 360)
        check("200 MB", os.path.getsize(path) > 200e6, os.path.getsize(path))
        session = c.call("sessions/resume", {"path": path})["id"]
        turn = c.call("turns/start", {"sessionId": session, "input": "go"})["id"]
        c.event("turnFinished", turn)
        ended("kward, a session of 200 MB", c)
        os.remove(path)


def huge_chat(base):
    home = f"{base}/home"
    os.makedirs(home)
    write_chat(home, 16000, "A sentence that says nothing much. " * 360)
    with Loaf(cwd=base, env={**env(base), "HOME": home}) as c:
        session = c.call("session.create")["session_id"]
        c.call("command.execute", {"session_id": session, "raw_command": "/history last"})
        c.call("history.clear_session", {"session_id": session})
        c.turn(session, "go")
        # While a thread gives 200 MB back to the kernel, the loop's own memory waits for it: 10 to 22 ms.
        ended("loaf, a chat of 200 MB", c, asleep_ms=100 * harness.slow())


def large_files(base):
    with open(f"{base}/large.txt", "w", encoding="ascii") as file:
        file.write("A line of a large text.\n" * 600000 + "the end\n")
    with Loaf(cwd=base, env=env(base)) as c:
        c.turn(c.call("session.create")["session_id"], "edit")
        with open(f"{base}/large.txt", encoding="ascii") as file:
            check("loaf: edited", file.read().endswith("the other end\n"),
                  [m for m in c.heard if "tool" in json.dumps(m)][:3])
        ended("loaf, a large file", c)


def many_prompts(base):
    place = {**env(base), "HOME": f"{base}/home"}
    for i in range(100):
        os.makedirs(f"{base}/home/.kward/prompts", exist_ok=True)
        os.makedirs(f"{base}/home/.kward/plugins/p{i}")
        with open(f"{base}/home/.kward/prompts/t{i}.md", "w", encoding="ascii") as file:
            file.write(f"---\ndescription: number {i}\n---\n{i} $ARGUMENTS " + WORDS * 100)
        with open(f"{base}/home/.kward/plugins/p{i}/plugin.json", "w", encoding="ascii") as file:
            json.dump({"program": "/bin/true", "commands": [{"name": f"c{i}"}]}, file)
    with Kward(cwd=base, env=place) as c:
        session = c.call("sessions/create")["id"]
        check("kward: all prompts", len(c.call("prompts/list")["prompts"]) == 100)
        check("kward: expanded", c.call("prompts/expand", {"command": "t7", "arguments": "x"})[
            "text"].startswith("7 x "))
        c.call("commands/list", {"sessionId": session})
        c.call("resources/startup", {"sessionId": session})
        turn = c.call("turns/start", {"sessionId": session, "input": "/t7 go"})["id"]
        c.event("turnFinished", turn)
        ended("kward, 100 prompts and plugins", c)


def many_tools(base):
    for i in range(2500):
        os.makedirs(f"{base}/home/.loaf/tools/t{i}")
        with open(f"{base}/home/.loaf/tools/t{i}/tool.json", "w", encoding="ascii") as file:
            json.dump({"name": f"t{i}", "description": "d", "command": "true"}, file)
    with Loaf(cwd=base, env={**env(base), "HOME": f"{base}/home"}) as c:
        session = c.call("session.create")["session_id"]
        c.turn(session, "go")
        check("loaf: the tools are there", "t2499" in json.dumps(c.call("tools.list")))
        ended("loaf, 2500 tools of the user", c)


def compaction(base):
    with Kward(cwd=base, env=env(base)) as c:
        folder = os.path.dirname(c.call("sessions/create")["path"])
        path = f"{folder}/compacted.jsonl"
        write_session(path, "compacted", base, 2000, "A sentence that says nothing much. " * 36)
        session = c.call("sessions/resume", {"path": path})["id"]
        c.call("sessions/compact", {"sessionId": session})
        ended("kward, compaction", c)


# ---- many skills ----

def write_skill(folder, name, about):
    os.makedirs(f"{folder}/{name}", exist_ok=True)
    with open(f"{folder}/{name}/SKILL.md", "w", encoding="ascii") as file:
        file.write(f"---\nname: {name}\ndescription: {about}\n---\nSteps of {name}.\n")


def skills_home(base, folder):
    """The environment of a home with 1,900 skills, and where these are."""
    folder = f"{base}/home/{folder}/skills"
    for i in range(1900):
        write_skill(folder, f"skill-{i:04}", f"does a thing, number {i}")
    return {**env(base), "HOME": f"{base}/home"}, folder


def exec_skills(base):
    place, _ = skills_home(base, ".agents")
    done = subprocess.run([PROGRAM, "exec", "go"], cwd=base, env={**os.environ, **place},
                          stdin=subprocess.DEVNULL, capture_output=True, check=False)
    check("exec answered", b"Heard you." in done.stdout, done)
    measured("exec, 1900 skills", done.stderr.decode(errors="replace"))


def chat(name, base, args, place, steps):
    """Plays a chat: keys, and what the screen shows then."""
    screen, inside = pty.openpty()
    with subprocess.Popen([PROGRAM, "chat", *args], cwd=base,
                          env={**os.environ, **place, "TERM": "xterm"},
                          stdin=inside, stdout=inside, stderr=subprocess.PIPE,
                          start_new_session=True) as program:
        os.close(inside)
        for keys, answer in steps:
            os.write(screen, keys)
            seen = b""
            try:
                while (answer is None or answer not in seen) and \
                        select.select([screen], [], [], PATIENCE_S)[0]:
                    seen += os.read(screen, 65536)
            except OSError:  # the program has closed it
                pass
            check(f"{name}: {keys}", answer is None or answer in seen, seen[-300:])
        text = program.stderr.read().decode(errors="replace")
    os.close(screen)
    measured(name, text)


@harness.needs_terminals
def chat_skills(base):
    place, _ = skills_home(base, ".agents")
    chat("chat, 1900 skills", base, (), place,
         ((b"", b"rehearsal"), (b"go\r", b" you."), (b"/tools\r", b"Skill "),
          (b"/skills\r", b"$skill-1899"), (b"go\r", b" you."), (b"/quit\r", None)))


def acp_skills(base):
    place, folder = skills_home(base, ".agents")
    with Acp(cwd=base, env=place) as c:
        c.call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        session = c.call("session/new", {"cwd": base, "mcpServers": []})["sessionId"]

        def turn(text):
            before = len(c.heard)
            c.call("session/prompt", {"sessionId": session,
                                      "prompt": [{"type": "text", "text": text}]})
            return "".join(m["params"]["update"].get("content", {}).get("text", "")
                           for m in c.heard[before:] if m.get("method") == "session/update")

        for text in ("go", "/tools", "/skill-0007 go"):
            turn(text)
        write_skill(folder, "fresh", "was added later")
        check("acp: a new skill is listed", "fresh" in turn("/skills"))
        ended("acp, 1900 skills", c)


def loaf_skills(base):
    place, folder = skills_home(base, ".agents")
    with Loaf(cwd=base, env=place) as c:
        session = c.call("session.create")["session_id"]
        applied = []
        for text in ("go", "$fresh go", "$fresh go again"):
            before = len(c.heard)
            c.turn(session, text)
            applied.append("skills applied: fresh" in json.dumps(c.heard[before:]))
            if text == "go":
                write_skill(folder, "fresh", "was added later")
            else:
                os.remove(f"{folder}/fresh/SKILL.md")
                os.rmdir(f"{folder}/fresh")
                break
        c.turn(session, "$fresh go again")
        check("loaf: the next turn has a new skill", applied == [False, True], applied)
        check("loaf: a removed one is gone", c.call("state.get")["skills"]["count"] == 1900)
        write_skill(folder, "skill-0000", "was changed")
        found = {x["name"]: x["description"] for x in c.call("skills.list")["skills"]}
        check("loaf: a changed one is read again", found["skill-0000"] == "was changed", found)
        ended("loaf, 1900 skills", c)


def kward_skills(base):
    place, folder = skills_home(base, ".kward")
    with Kward(cwd=base, env=place) as c:
        check("kward: the tool is offered", "read_skill" in json.dumps(c.call("tools/list")))
        session = c.call("sessions/create")["id"]
        for _ in range(2):
            turn = c.call("turns/start", {"sessionId": session, "input": "go"})["id"]
            c.event("turnFinished", turn)
        write_skill(folder, "fresh", "was added later")
        names = {x["name"] for x in c.call("commands/list", {"sessionId": session})["commands"]}
        check("kward: all skills and a new one", len(names) == 1901 and "skill:fresh" in names, names)
        c.call("resources/startup", {"sessionId": session})
        ended("kward, 1900 skills", c)


def scaiflux_skills(base):
    place, _ = skills_home(base, ".agents")
    with Scaiflux(["--model", f"rehearsal/{base}/scenario.json"], cwd=base, env=place) as c:
        c.event("ready")
        for _ in range(2):
            c.turn("hello")
        c.send({"type": "slash", "command": "tools"})
        check("scaiflux: the tool is offered", "Skill" in json.dumps(c.event("slash_result")))
        ended("scaiflux, 1900 skills", c)


def play(test, place, attempt):
    base = os.path.join(place, f"{test.__name__}{attempt}")
    os.makedirs(base)
    with open(f"{base}/scenario.json", "w", encoding="ascii") as file:
        json.dump(SCENARIO, file)
    results.clear()
    try:
        test(base)
    except Exception as error:  # pylint: disable=broad-except
        check(test.__name__, False, repr(error))
    return all(ok for _, ok, _ in results)


def main():
    passed = failed = 0
    with harness.private_place() as place:
        os.environ.update(harness.clean_env(place))
        place = os.path.realpath(place)
        for test in (kward_locks, loaf_locks, scaiflux_locks, scaiflux_resumes_locked, acp_opens,
                     chat_opens, mcp_opens, slow_syncs,
                     large_tree, many_sessions, large_session, huge_session, huge_chat, compaction,
                     large_files, many_prompts, many_tools,
                     exec_skills, chat_skills, acp_skills, loaf_skills, kward_skills,
                     scaiflux_skills):
            if len(sys.argv) > 1 and test.__name__ not in sys.argv[1:]:
                continue
            # A disk that others keep busy can hold up any system call: what is wrong is wrong twice.
            _ = play(test, place, 1) or play(test, place, 2)
            for name, ok, detail in results:
                passed, failed = passed + ok, failed + (not ok)
                if not ok:
                    print(f"FAIL {name}: {detail}")
    print(f"{'longest round (limit %.0f ms)' % LIMIT_MS:40}     busy   asleep")
    for name, (busy, asleep) in rounds.items():
        print(f"{name:40} {busy:6.1f} ms {asleep:6.1f} ms")
    harness.finish(passed, failed)


if __name__ == "__main__":
    main()
