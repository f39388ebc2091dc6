#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""20 processes on one config directory, all at once: no update is lost, no file is broken.

    tests/e2e/kward_many.py [ROUNDS]

In each round every process renames its session, adds a soft and a core memory, forgets one, updates
the config (every third through auth/loginWithApiKey and memory/enable, which change the same file
by other ways), plays a turn that gets memories, and lists the sessions.  All resume one more
session and rename that too: one of them may, the others get an error that names the process that has it.  Afterwards the files
are read by Python alone: whatever was answered well must be there.

covers: kward 347
"""
import collections
import glob
import json
import os
import sys
import threading
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
from client import Kward  # noqa: E402

N_PROCESSES = 20
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 3
PATIENCE = 120


class Worker(threading.Thread):
    """One process and what it was promised."""

    def __init__(self, n, workspace, shared, start):
        super().__init__(daemon=True)
        self.n, self.workspace, self.shared, self.start_line = n, workspace, shared, start
        self.config, self.soft, self.core, self.forgotten = {}, {}, {}, set()
        self.shared_names, self.refusals, self.turns = [], [], []
        self.trouble = None

    def run(self):
        try:
            with Kward(cwd=self.workspace) as client:
                self.client = client
                self.session = self.call("sessions/create", name=f"first {self.n}")
                self.common = self.call("sessions/resume", path=self.shared)["id"]
                self.start_line.wait()
                for i in range(ROUNDS):
                    self.one_round(i)
                client.call("shutdown")
                assert client.process.wait(PATIENCE) == 0, "exit status"
                assert not harness.without_noise(client.stderr.decode()), client.stderr
        except Exception:  # told by the main thread
            self.trouble = traceback.format_exc()

    def call(self, method, **params):
        return self.client.call(method, params, PATIENCE)

    def one_round(self, i):
        self.name = f"name {self.n} {i}"
        assert self.call("sessions/rename", sessionId=self.session["id"],
                         name=self.name)["name"] == self.name
        self.remember(i)
        self.configure(i)
        self.rename_shared(i)
        self.play(i)
        names = {s["name"] for s in self.call("sessions/list", limit=100)["sessions"]}
        assert self.name in names, f"{self.name} is not listed"

    def remember(self, i):
        for method, kept in (("memory/add", self.soft), ("memory/addCore", self.core)):
            text = f"Prefer hello number {self.n} of round {i}"
            record = self.call(method, text=text, tags=["hello"])["memory"]
            kept[record["id"]] = text
        victim = min(set(self.soft) - self.forgotten)
        assert self.call("memory/forget", id=victim)["forgotten"]
        self.forgotten.add(victim)

    def configure(self, i):
        values = {f"many_{self.n}_{i}": [i], f"last_{self.n}": i}
        self.call("config/update", values=values)
        self.config.update(values)
        if self.n % 3 == 0:
            self.call("auth/loginWithApiKey", providerId="openrouter", apiKey=f"many-key-{self.n}")
            self.call("memory/autoSummary/enable")

    def rename_shared(self, i):
        name = f"common {self.n} {i}"
        try:
            self.call("sessions/rename", sessionId=self.common, name=name)
            self.shared_names.append(name)
        except RuntimeError as why:
            self.refusals.append(str(why))

    def play(self, i):
        text = f"hello from {self.n} in {i}"
        turn = self.call("turns/start", sessionId=self.session["id"], input=text)["id"]
        end = self.client.event("turnFinished", turn, PATIENCE)["payload"]
        assert end["status"] == "completed", end
        self.turns.append(text)


# ---- reading everything back

def load_lines(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    assert text.endswith("\n"), f"{path} has no last line end"
    return [json.loads(line) for line in text.splitlines()]


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def merged(workers, what):
    """All promises of a kind; an id must not have been given twice."""
    whole = {}
    for w in workers:
        twice = set(whole) & set(getattr(w, what))
        assert not twice, f"{what} given to two: {twice}"
        whole.update(getattr(w, what))
    return whole


def check_config(folder, workers):
    config = load(os.path.join(folder, "config.json"))
    lost = {k: v for k, v in merged(workers, "config").items() if config.get(k) != v}
    assert not lost, f"lost: {lost}"
    assert config["kept"] == {"unknown": True}, config
    assert config["openrouter_api_key"].startswith("many-key-")
    assert config["memory"] == {"enabled": True, "auto_summary": True}, config["memory"]


def check_memory(folder, workers):
    core = {r["id"]: r["text"] for r in load(os.path.join(folder, "memory", "core.json"))}
    soft = load_lines(os.path.join(folder, "memory", "soft.jsonl"))
    by_id = collections.Counter(r["id"] for r in soft)
    assert max(by_id.values()) == 1, by_id
    assert merged(workers, "core") == core, "core memories"
    forgotten = set.union(*(w.forgotten for w in workers))
    texts = {r["id"]: r["text"] for r in soft}
    for id_, text in merged(workers, "soft").items():
        assert texts.get(id_) == ("[forgotten]" if id_ in forgotten else text), (id_, texts.get(id_))
    kinds = collections.Counter(r["type"] for r in load_lines(
        os.path.join(folder, "memory", "events.jsonl")))
    rounds = len(workers) * ROUNDS
    assert kinds["add"] >= 2 * rounds and kinds["forget"] == rounds, kinds
    assert kinds["retrieve"] == rounds, kinds


def check_sessions(workers):
    for w in workers:
        records = load_lines(w.session["path"])
        said = [r["message"]["content"] for r in records
                if r["type"] == "message" and r["message"]["role"] == "user"]
        assert said == w.turns, (said, w.turns)
        answers = [r for r in records if r["type"] == "message"
                   and r["message"]["role"] == "assistant"]
        assert len(answers) == ROUNDS, "answers"
        names = [r["name"] for r in records if r["type"] == "session_info" and "name" in r]
        assert names[-1] == w.name, names


def check_shared(path, workers):
    names = [r["name"] for r in load_lines(path) if r["type"] == "session_info"]
    promised = [name for w in workers for name in w.shared_names]
    assert promised, "nobody could rename the common session"
    assert set(promised) <= set(names), f"lost: {set(promised) - set(names)}"
    assert names[-1] == [n for n in names if n in promised][-1], "a name that nobody gave is last"
    for why in (why for w in workers for why in w.refusals):
        assert "in another process" in why, why


def check_leftovers(folder):
    found = glob.glob(os.path.join(folder, "**", "*.tmp-*"), recursive=True)
    assert not found, found
    logs = glob.glob(os.path.join(folder, "logs", "*.jsonl"))
    assert logs and all(load_lines(path) for path in logs), logs


def furnish(env, workspace):
    """An existing installation with logging and memory on, and a session."""
    folder = os.path.join(env["HOME"], ".kward")
    os.makedirs(folder)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump({"kept": {"unknown": True}, "memory": {"enabled": True},
                   "logging": {"enabled": True, "performance": True, "tokens": True}}, file)
    shared = os.path.join(workspace, "shared.jsonl")
    with open(shared, "w", encoding="utf-8") as file:
        file.write(json.dumps({"type": "session", "version": 1, "id": "shared", "cwd": workspace,
                               "timestamp": "2026-06-12T10:11:12.345Z"}) + "\n")
        file.write(json.dumps({"type": "message", "timestamp": "2026-06-12T10:11:12.345Z",
                               "message": {"role": "user", "content": "hi"}}) + "\n")
    return folder, shared


def main():
    passed = failed = 0
    with harness.private_place() as base:
        env = harness.clean_env(base)
        os.environ.update(env, TRIVET_MODEL="rehearsal/hello")
        workspace = os.path.join(base, "workspace")
        os.mkdir(workspace)
        folder, shared = furnish(env, workspace)
        start = threading.Barrier(N_PROCESSES)
        workers = [Worker(n, workspace, shared, start) for n in range(N_PROCESSES)]
        for w in workers:
            w.start()
        for w in workers:
            w.join(PATIENCE * 2)
            if w.trouble or w.is_alive():
                print(f"process {w.n}: {w.trouble or 'does not end'}")
                failed += 1
            else:
                passed += 1
        for check in (lambda: check_config(folder, workers), lambda: check_memory(folder, workers),
                      lambda: check_sessions(workers), lambda: check_shared(shared, workers),
                      lambda: check_leftovers(folder)):
            try:
                check()
                passed += 1
            except (AssertionError, OSError, ValueError, KeyError):
                traceback.print_exc(file=sys.stdout)
                failed += 1
    harness.finish(passed, failed)


main()
