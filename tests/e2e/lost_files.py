#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Session files that other programs take away, in all dialects; and two processes on one file.

Deleted, replaced, emptied, cut, made a link, its directory removed: at rest and in the middle of a
turn.  Then the process is killed, and the next one must find everything that was acknowledged.
"""
import glob
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
from client import Kward, Loaf, Scaiflux  # noqa: E402

passed = failed = 0


def check(name, ok, detail=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"FAIL {name}: {str(detail)[:600]}")


SCENARIO = {"turns": [{"when": "wait", "rounds": [[{"say": "Begun. "}, {"wait_ms": 300},
                                                {"say": "Ended."}]]},
                   {"when": "clean", "rounds": [[{"call": "@shell", "args": {
                       "command": "git clean -fdxq . || exit 3"}}], [{"say": "Cleaned."}]]}],
         "rounds": [[{"say": "Heard {{last_user}}."}]]}


# ---- one conversation, in each dialect ----

class OnLoaf:
    name = "loaf"

    def __init__(self, base, chat=None):
        self.home = os.environ["HOME"]
        self.c = Loaf(cwd=base, env={"TRIVET_MODEL": f"rehearsal/{base}/scenario.json"})
        self.session = self.c.call("session.create")["session_id"]
        self.chat = chat
        if chat:
            self.c.call("command.execute", {"session_id": self.session,
                                            "raw_command": f"/history {chat}"})

    def begin(self, text):
        self.c.call("session.send", {"session_id": self.session, "text": text})

    def until_text(self):
        self.c.event("session.stream.chunk", self.session)

    def end(self):
        self.c.event("session.completed", self.session)
        self.c.event("session.status", self.session, status_label="ready")
        self.chat = self.c.call("session.get", {"session_id": self.session})["activeSessionId"]

    def path(self):
        return glob.glob(f"{self.home}/.loaf/sessions/*/*/*/*{self.chat}.jsonl")[0]

    def mark(self):
        return self.chat

    def texts(self):
        state = self.c.call("session.get", {"session_id": self.session})
        return [m["text"] for m in state["history"] if m["role"] == "user"]


class OnKward:
    name = "kward"

    def __init__(self, base, path=None):
        self.c = Kward(cwd=base, env={"TRIVET_MODEL": f"rehearsal/{base}/scenario.json"})
        made = (self.c.call("sessions/resume", {"path": path}) if path
                else self.c.call("sessions/create"))
        self.session, self.file = made["id"], made["path"]

    def begin(self, text):
        self.turn = self.c.call("turns/start", {"sessionId": self.session, "input": text})["id"]

    def until_text(self):
        self.c.event("assistantDelta", self.turn)

    def end(self):
        end = self.c.event("turnFinished", self.turn)
        assert end["payload"]["status"] == "completed", end

    def path(self):
        return self.file

    mark = path

    def texts(self):
        found = self.c.call("sessions/transcript", {"sessionId": self.session})["messages"]
        return ["".join(p.get("text", "") for p in m["content"]) for m in found
                if m["role"] == "user"]


class OnScaiflux:
    name = "scaiflux"

    def __init__(self, base, ident=None, scenario=None):
        self.base = base
        more = ["--resume", ident] if ident else []
        scenario = scenario or f"{base}/scenario.json"
        self.c = Scaiflux(["--model", f"rehearsal/{scenario}", *more], cwd=base)
        ready = self.c.event("ready")
        self.ident = ready["session_id"]

    def begin(self, text):
        self.c.send({"type": "prompt", "text": text})
        self.c.event("turn_started")

    def until_text(self):
        self.c.event("text_delta")

    def end(self):
        seen = self.c.rest_of_turn()
        assert seen.code is None, seen.end

    def path(self):
        return os.path.join(self.base, ".scaiflux", "sessions", self.ident + ".jsonl")

    def mark(self):
        return self.ident

    def texts(self):
        found = []
        with open(self.path(), encoding="utf-8") as file:
            for line in file:
                record = json.loads(line)
                if record.get("type") == "message" and record["message"]["role"] == "user":
                    found.append(record["message"]["content"])
        return found


# ---- what happens to the file ----

def delete(path):
    os.unlink(path)


def remove_directory(path):
    shutil.rmtree(os.path.dirname(path))


def replace(path):
    with open(path + ".other", "w", encoding="ascii") as file:
        file.write("somebody's notes\n")
    os.rename(path + ".other", path)


def empty(path):
    os.truncate(path, 0)


def cut(path):
    os.truncate(path, os.path.getsize(path) * 2 // 3)


def overwrite(path):
    with open(path, "r+b") as file:
        file.write(b"x" * os.path.getsize(path))


def make_link(path):
    victim = path + ".victim"
    with open(victim, "w", encoding="ascii") as file:
        file.write("untouched\n")
    os.unlink(path)
    os.symlink(victim, path)


def make_directory(path):
    os.unlink(path)
    os.mkdir(path)


LOSSES = (delete, remove_directory, replace, empty, cut, overwrite, make_link, make_directory)


def one(kind, base, lose, in_turn):
    name = f"{kind.name}, {lose.__name__}{' in a turn' if in_turn else ''}"
    on = kind(base)
    with on.c:
        on.begin("first")
        on.end()
        path = on.path()
        if in_turn:
            on.begin("wait")
            on.until_text()
            lose(path)
            on.end()
        else:
            lose(path)
        on.begin("second")
        on.end()
        mark = on.mark()
        on.c.kill()
        said = on.c.listener.join(2) or on.c.stderr.decode(errors="replace")
    said += json.dumps(on.c.heard)
    check(f"{name}: said", "was deleted or changed by another program" in said, said[-500:])
    if lose is make_link:
        check(f"{name}: the link's target", open(path + ".victim").read() == "untouched\n")
    want = ["first", *(["wait"] if in_turn else []), "second"]
    on = kind(base, mark)
    with on.c:
        texts = on.texts()
        check(f"{name}: all there", texts == want, texts)
        on.begin("third")
        on.end()
        check(f"{name}: goes on", on.texts() == want + ["third"], on.texts())
        on.c.close()


def model_cleans(base):
    """The model's own command removes the session directory of the workspace."""
    inside = os.path.join(base, "project")
    os.mkdir(inside)
    subprocess.run(["git", "init", "-q", inside], check=True)
    shutil.copy(f"{base}/scenario.json", f"{inside}.json")
    on = OnScaiflux(inside, scenario=f"{inside}.json")
    with on.c:
        on.begin("first")
        on.end()
        on.begin("clean")
        on.end()
        on.begin("second")
        on.end()
        on.c.kill()
    check("git clean: all there", on.texts() == ["first", "clean", "second"], on.texts())


# ---- two processes ----

def take_turns(base):
    """Idle chats in processes of their own; renamed and compacted from another."""
    a = OnKward(base)
    with a.c:
        a.begin("one")
        a.end()
        b = OnKward(base, a.file)
        with b.c:
            b.begin("two")
            b.end()
            b.c.call("sessions/rename", {"sessionId": b.session, "name": "new name"})
            check("kward: seen", a.texts() == ["one", "two"], a.texts())
            a.begin("three")
            a.end()
            check("kward: in turns", b.texts() == ["one", "two", "three"], b.texts())
            output = a.c.call("sessions/transcript", {"sessionId": a.session})["session"]
            check("kward: renamed", output["name"] == "new name", output)
            b.c.call("sessions/compact", {"sessionId": b.session})
            found = a.c.call("sessions/transcript", {"sessionId": a.session})["messages"]
            check("kward: compacted elsewhere", found[0]["role"] == "compactionSummary", found[0])
            a.begin("four")
            a.end()
            check("kward: after it", b.texts()[-1] == "four", b.texts())
            b.c.close()
        a.c.close()


def deleted_elsewhere(base):
    """A chat that was deleted in another process does not come back by itself."""
    a = OnKward(base)
    with a.c:
        a.begin("one")
        a.end()
        b = OnKward(base, a.file)
        with b.c:
            b.c.call("sessions/delete", {"sessionId": b.session})
            b.c.close()
        a.c.call("models/set", {"provider": "rehearsal", "model": "echo"})
        check("kward: stays deleted", not os.path.exists(a.file))
        a.c.close()
    check("kward: also at the end", not os.path.exists(a.file))


def main():
    with harness.private_place() as place:
        os.environ.update(harness.clean_env(place))
        os.makedirs(os.path.join(os.environ["HOME"], ".kward"))
        with open(os.path.join(os.environ["HOME"], ".kward", "config.json"), "w",
                  encoding="ascii") as file:
            json.dump({"compaction": {"keep_recent_tokens": 1}}, file)
        cases = [(k, lose, t) for k in (OnLoaf, OnKward, OnScaiflux) for lose in LOSSES
                 for t in (False, True)]
        for i, (kind, lose, in_turn) in enumerate(cases):
            base = os.path.join(place, f"w{i}")
            os.mkdir(base)
            with open(f"{base}/scenario.json", "w", encoding="ascii") as file:
                json.dump(SCENARIO, file)
            try:
                one(kind, base, lose, in_turn)
            except Exception as error:  # pylint: disable=broad-except
                check(f"{kind.name} {lose.__name__} {in_turn}", False, repr(error))
        for test in (model_cleans, take_turns, deleted_elsewhere):
            base = os.path.join(place, test.__name__)
            os.mkdir(base)
            with open(f"{base}/scenario.json", "w", encoding="ascii") as file:
                json.dump(SCENARIO, file)
            try:
                test(base)
            except Exception as error:  # pylint: disable=broad-except
                check(test.__name__, False, repr(error))
    harness.finish(passed, failed)


if __name__ == "__main__":
    main()
