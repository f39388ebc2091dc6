#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Over five turns of six rounds each request repeats the one before byte for byte up to
the end of its messages, in every dialect: with memories in Kward, with a chosen skill in loaf, while
the day, the branch and the instructions change.  What changed is sent once, with the next message of
the user.
"""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "fake")]
import harness  # noqa: E402
from client import Kward, Loaf, Scaiflux  # noqa: E402
from provider import Server  # noqa: E402

TURNS, CALLS = 5, 5  # a turn is five rounds with a call and one with the answer
TIMEOUT = 60 * harness.slow()


class Model:
    """Calls a tool five times, then answers, turn after turn."""

    def __init__(self, call):
        self.call, self.n = call, 0

    def __call__(self, body):
        self.n += 1
        if self.n % (CALLS + 1) == 0:
            return {"text": f"Answer {self.n}.", "piece": 100}
        name, arguments = self.call(self.n)
        return {"text": "Look. ", "tool_calls": [{"id": f"c{self.n}", "name": name,
                                                 "arguments": json.dumps(arguments)}]}


def end_of_messages(raw):
    """Where the last message ends."""
    last = json.dumps(json.loads(raw)["messages"][-1], separators=(",", ":"), ensure_ascii=False)
    at = raw.rfind(last.encode())
    assert at >= 0
    return at + len(last.encode())


def check(name, log):
    raws = [e["raw"] for e in log if "path" in e]
    assert len(raws) == TURNS * (CALLS + 1), len(raws)
    repeated = 0
    for i, (before, after) in enumerate(zip(raws, raws[1:])):
        end = end_of_messages(before)
        same = next((k for k, (a, b) in enumerate(zip(before[:end], after)) if a != b), end)
        assert same == end, (f"request {i + 2} differs at byte {same} of {end}: "
                             f"{before[same - 80:same + 60]!r} {after[same - 80:same + 60]!r}")
        repeated += end
    total = sum(len(r) for r in raws[1:])
    print(f"{name}: {len(raws)} requests, {repeated} of {total} bytes repeat the request before "
          f"({100 * repeated // total} %)")
    return [json.loads(r) for r in raws]


def texts(body):
    return [m["content"] for m in body["messages"] if m["role"] == "user"]


def git(workspace, *words):
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *words], cwd=workspace,
                   check=True, capture_output=True)


def make_place(base, name):
    workspace = os.path.join(base, name)
    os.mkdir(workspace)
    with open(os.path.join(workspace, "in.txt"), "w", encoding="utf-8") as file:
        file.write("alpha\n" * 20)
    with open(os.path.join(workspace, "AGENTS.md"), "w", encoding="utf-8") as file:
        file.write("Use tabs.\n")
    git(workspace, "init", "-q", "-b", "first")
    git(workspace, "add", "in.txt")
    git(workspace, "commit", "-q", "-m", "Begin the work")
    return workspace


def between(workspace, turn):
    """Something changes after the second turn."""
    if turn == 2:
        git(workspace, "checkout", "-q", "-b", "second")


def check_reported(bodies, with_git=True):
    first = texts(bodies[0])
    assert len(first) == 2 and first[0].startswith("<environment>"), first
    for word in ("Date: 20", "Directory: /", "branch first", "System: Linux", "Sandbox: "):
        assert word in first[0], first[0]
    assert not with_git or ("Begin the work" in first[0] and "AGENTS.md" in first[0]), first[0]
    last = "\n".join(texts(bodies[-1]))
    assert last.count("<environment>") == 1 and last.count("The branch is now second.") == 1, last
    assert first[1] == "turn 1"


def play_scaiflux(base):
    workspace = make_place(base, "scaiflux")
    with Server(Model(lambda n: ("read_file", {"path": "in.txt"}))) as server:
        env = dict(OPENAI_BASE_URL=f"http://127.0.0.1:{server.port}/v1", OPENAI_API_KEY="key-of-prefix-1")
        with Scaiflux(["--model", "openai/fake"], cwd=workspace, env=env) as c:
            c.event("ready")
            for turn in range(1, TURNS + 1):
                assert c.turn(f"turn {turn}").code is None
                between(workspace, turn)
                if turn == 3:
                    with open(os.path.join(workspace, "AGENTS.md"), "w", encoding="utf-8") as file:
                        file.write("Use blanks.\n")
            assert c.close() == 0
        bodies = check("scaiflux", server.log)
    check_reported(bodies, with_git=False)
    last = "\n".join(texts(bodies[-1]))
    assert "Use tabs." in bodies[-1]["messages"][0]["content"]
    assert last.count("Use blanks.") == 1, last


def play_kward(base):
    workspace = make_place(base, "kward")
    home = os.environ["HOME"]
    os.makedirs(os.path.join(home, ".kward/memory"))
    with open(os.path.join(home, ".kward/config.json"), "w", encoding="utf-8") as file:
        json.dump({"memory": {"enabled": True}}, file)
    with open(os.path.join(home, ".kward/memory/core.json"), "w", encoding="utf-8") as file:
        json.dump([{"id": "core_001", "text": "A memory", "scope": "global"}], file)
    with Server(Model(lambda n: ("read_file", {"path": "in.txt"}))) as server:
        env = dict(OPENAI_BASE_URL=f"http://127.0.0.1:{server.port}/v1", OPENAI_API_KEY="key-of-prefix-1",
                   TRIVET_MODEL="openai/fake")
        with Kward(cwd=workspace, env=env) as c:
            session = c.call("sessions/create")["id"]
            for turn in range(1, TURNS + 1):
                started = c.call("turns/start", {"sessionId": session, "input": f"turn {turn}"})
                end = c.event("turnFinished", turn=started["id"], timeout=TIMEOUT)
                assert end["payload"]["status"] == "completed", end
                between(workspace, turn)
                if turn == 3:
                    c.call("memory/addCore", {"text": "Another memory", "scope": "global"})
            assert c.close() == 0
        bodies = check("kward", server.log)
    check_reported(bodies)
    systems = {b["messages"][0]["content"] for b in bodies}
    assert len(systems) == 1 and "A memory" in systems.pop()
    assert "\n".join(texts(bodies[-1])).count("Another memory") == 1


def play_loaf(base):
    workspace = make_place(base, "loaf")
    skill = os.path.join(os.environ["HOME"], ".loaf/skills/knots")
    os.makedirs(skill)
    with open(os.path.join(skill, "SKILL.md"), "w", encoding="utf-8") as file:
        file.write("# Knots\n\nHow to tie knots.\n\nPull hard.\n")
    path = os.path.join(workspace, "in.txt")
    with Server(Model(lambda n: ("read_file", {"file_path": path}))) as server:
        env = dict(OPENROUTER_BASE_URL=f"http://127.0.0.1:{server.port}/v1",
                   OPENROUTER_API_KEY="key-of-prefix-1", TRIVET_MODEL="openrouter/acme/fake")
        with Loaf(cwd=workspace, env=env) as c:
            session = c.call("session.create")["session_id"]
            for turn in range(1, TURNS + 1):
                text = f"turn {turn}" + (" with $knots" if turn == 3 else "")
                seen = c.turn(session, text, timeout=TIMEOUT)
                assert seen.code is None, seen.end
                between(workspace, turn)
            assert c.close() == 0
        bodies = check("loaf", server.log)
    check_reported(bodies)
    assert "\n".join(texts(bodies[-1])).count("Pull hard.") == 1
    assert "Pull hard." not in bodies[-1]["messages"][0]["content"]
    results = [m for m in bodies[CALLS + 1]["messages"] if m["role"] == "tool"]
    assert len(results) == CALLS and "alpha" in results[0]["content"], "turn 2 lacks results of turn 1"


def main():
    passed = failed = 0
    for play in (play_scaiflux, play_kward, play_loaf):
        if sys.argv[1:] and play.__name__ not in sys.argv[1:]:
            continue
        with harness.private_place() as base:
            os.environ.update(harness.clean_env(base))
            try:
                play(base)
                passed += 1
            except Exception as why:  # noqa: BLE001
                print(f"{play.__name__}: {type(why).__name__} {str(why)[:900]}")
                failed += 1
    harness.finish(passed, failed)


main()
