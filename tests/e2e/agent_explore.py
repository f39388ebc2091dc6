#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A sub-agent that only reads.  The conversation holds its answer alone; it has three tools,
25 rounds and 8,000 characters; its usage counts; it ends with the turn."""
import json
import os
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from played_model import Checks, client, harness, provider  # noqa: E402

check = Checks()
ENV = {"OPENAI_API_KEY": "test-key-123456", "TRIVET_MODEL": "openai/played"}
USAGE = {"prompt_tokens": 100, "completion_tokens": 10}


def is_child(body):
    return body["messages"][0]["content"].startswith("You look something up")


def results(body):
    return [m["content"] for m in body["messages"] if m["role"] == "tool"]


def calls(*pairs):
    return {"whole_calls": True, "usage": USAGE, "tool_calls": [
        {"id": f"c{time.monotonic_ns()}{i}", "name": n, "arguments": a} for i, (n, a) in enumerate(pairs)]}


def say(text):
    return {"text": text, "usage": USAGE, "piece": 400}


class Stage:
    """One run of `trivet exec --json` with a model made of two functions."""

    def __init__(self, base, parent, child, *args):
        self.lock, self.parents, self.children = threading.Lock(), [], []
        self.parent, self.child = parent, child
        workspace = os.path.join(base, "workspace")
        os.makedirs(workspace, exist_ok=True)
        for name in ("a.c", "b.c"):
            with open(os.path.join(workspace, name), "w", encoding="ascii") as file:
                file.write(f"int in_{name[0]};\n")
        with open(os.path.join(base, "outside.txt"), "w", encoding="ascii") as file:
            file.write("secret words\n")
        self.server = provider.Server(self)
        self.command = [client.PROGRAM, "exec", "-q", "--json", *args, "go"]
        self.how = {"cwd": workspace, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                    "stderr": subprocess.PIPE}
        self.env = {**harness.clean_env(base), **ENV}

    def __call__(self, body):
        with self.lock:
            known = self.children if is_child(body) else self.parents
            known.append(body)
            play = self.child if is_child(body) else self.parent
        return play(body)

    def __enter__(self):
        self.server.__enter__()
        self.env["OPENAI_BASE_URL"] = f"http://127.0.0.1:{self.server.port}/v1"
        return self

    def __exit__(self, *why):
        return self.server.__exit__(*why)

    def run(self):
        done = subprocess.run(self.command, env=self.env, timeout=60 * harness.slow(), **self.how)
        return json.loads(done.stdout)


def answers(base):
    """The parent gets the answer; the child reads, cannot write, and leaves nothing behind."""
    def parent(body):
        return say("Done.") if results(body) else calls(("explore", {"task": "Where is in_a?"}))

    def child(body):
        if not results(body):
            return calls(("grep_search", {"pattern": "in_a"}), ("write_file", {"path": "x", "content": "x"}),
                         ("explore", {"task": "again"}), ("bash", {"command": "touch x"}),
                         ("read_file", {"path": os.path.join(base, "outside.txt")}))
        return say("in_a stands in a.c:1")

    with Stage(base, parent, child) as stage:
        out = stage.run()
        check("the answer is the result", results(stage.parents[1]) == ["in_a stands in a.c:1"],
              results(stage.parents[1]))
        names = sorted(t["function"]["name"] for t in stage.children[0]["tools"])
        check("three tools", names == ["glob_search", "grep_search", "read_file"], names)
        found = results(stage.children[1])
        check("it finds", "a.c" in found[0], found)
        check("it cannot write, run or ask others",
              all("unknown tool" in t for t in found[1:4]), found)
        check("it stays in the workspace", "secret" not in found[4], found)
        check("nothing is changed", not os.path.exists(os.path.join(base, "workspace/x")))
        check("the task", stage.children[0]["messages"][-1]["content"] == "Where is in_a?",
              stage.children[0]["messages"][-1])
        check("its usage counts", out["usage"]["input"] == 400
              and out["usage"]["output"] == 40, out["usage"])
        sessions = os.listdir(os.path.join(base, "xdg/state/trivet/sessions"))
        check("no file of its own", len([n for n in sessions if n.endswith(".jsonl")]) == 1, sessions)
        offered = [t["function"]["name"] for t in stage.parents[0]["tools"]]
        check("offered", "explore" in offered, offered)


def limits(base):
    """25 rounds, then what it said last; a long answer is cut; a failure is a result."""
    def parent(body):
        n = len(results(body))
        return say("Done.") if n == 3 else calls(("explore", {"task": f"task {n}"}))

    def child(body):
        task = body["messages"][-1 if body["messages"][-1]["role"] == "user" else 1]["content"]
        if "task 0" in task or any("task 0" in str(m["content"]) for m in body["messages"]):
            n = len(results(body))
            return {**calls(("read_file", {"path": "a.c", "offset": 1, "limit": n + 1})),
                    "text": f"round {n}"}
        if "task 1" in task:
            return say("".join(f"word {i}, " for i in range(2000)))
        return {"status": 400, "body": {"error": {"message": "no such luck"}}}

    with Stage(base, parent, child) as stage:
        stage.run()
        stopped, long, failed = results(stage.parents[-1])
        check("25 rounds", stopped.startswith("round 25") and "max_iterations" in stopped, stopped)
        check("8,000 characters", 7900 < len(long) < 8100 and "[cut: the first" in long, len(long))
        check("a failure", "the sub-agent failed" in failed and "no such luck" in failed, failed)


def together(base):
    """Three at once."""
    def parent(body):
        return say("Done.") if results(body) else calls(*(("explore", {"task": f"task {i}"})
                                                          for i in range(3)))

    asked = []

    def child(body):
        asked.append(time.monotonic())
        return {**say(f"answer to {body['messages'][-1]['content']}"), "delay_ms": 1000}

    with Stage(base, parent, child) as stage:
        stage.run()
        check("in order", results(stage.parents[1]) == [f"answer to task {i}" for i in range(3)],
              results(stage.parents[1]))
        check("all asked before the first answer", len(asked) == 3 and max(asked) - min(asked) < 1, asked)


def ends(base):
    """An interrupt ends the sub-agent, too."""
    def parent(body):
        return calls(("explore", {"task": "for ever"}))

    def child(body):
        return {**say("".join(f"word {i} " for i in range(9000))), "piece": 5, "chunk_delay_ms": 20}

    with Stage(base, parent, child) as stage:
        with subprocess.Popen(stage.command, env=stage.env, **stage.how) as process:
            until = time.monotonic() + 30 * harness.slow()
            while not stage.children and time.monotonic() < until:
                time.sleep(0.02)
            time.sleep(0.2)
            watch = harness.Stopwatch()
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=20)
            seconds = watch.seconds()
            check("it ends at once", seconds < 3, seconds)
            check("as interrupted", process.returncode == 130, process.returncode)


def main():
    for case in (answers, limits, together, ends):
        with check.scene(case.__name__) as base:
            case(base)
    return check.end()


sys.exit(main())
