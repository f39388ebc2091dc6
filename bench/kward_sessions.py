#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Big Kward sessions: resume, transcript, fork, export; and a list of many.

    bench/kward_sessions.py [--messages 20000] [--sessions 5000] [--runs 5] [--binary build/trivet]

The big session (1 kB per message, so 20 MB) has turns with reasoning, tool calls, results and diffs
as the program writes them, and is read as version 1 and as version 2, the tree.  Each row: CPU of
all threads of the program, wall-clock time until the whole answer is there, resident memory after
it and its peak; the quietest of the runs, each in a process of its own.  `list first` builds the
index, `list 20` and `list` (everything) use it.  Ends with 1 when a resume takes more than 150 ms
of CPU or `list` more than 50 ms.
"""
import argparse
import json
import os
import subprocess
import sys
import time
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tests"))
import harness      # noqa: E402

LIMITS = {"resume": 150, "list": 50}  # ms of CPU
WORDS = ("the reader keeps what is open and drops what nobody asked for, so that a line of any "
         "length \"costs\" its bytes once; grüße\n").split(" ")
STAMP = "2026-06-12T10:11:12.345Z"


# ---- files

def text(seed, length):
    """About so many bytes that differ from message to message."""
    words = [WORDS[(seed * 7 + i * (1 + seed % 5)) % len(WORDS)] for i in range(length // 6)]
    return f"{seed} " + " ".join(words)


def tool_turn(n):
    """Four messages: asked, called, done, answered."""
    call = {"id": f"call_{n}", "type": "function", "function": {
        "name": "edit_file", "arguments": json.dumps({"path": f"src/f{n % 97}.c", "edits": [
            {"old_text": text(n, 200), "new_text": text(n + 1, 200)}]})}}
    diff = f"--- src/f{n % 97}.c\n+++ src/f{n % 97}.c\n@@ -1 +1 @@\n-{text(n, 200)}\n+{text(n, 200)}"
    usage = {"input_tokens": n, "output_tokens": 50, "total_tokens": n + 50, "estimated": False}
    return [
        {"role": "user", "content": text(n, 700)},
        {"role": "assistant", "content": text(n + 2, 100), "tool_calls": [call],
         "reasoning_summary": text(n + 3, 300), "usage": usage, "model": "hello"},
        {"role": "tool", "tool_call_id": f"call_{n}", "name": "edit_file",
         "content": f"Edited src/f{n % 97}.c: replaced 1 block(s)\n{diff}"},
        {"role": "assistant", "content": text(n + 4, 700), "usage": usage, "model": "hello"}]


def message_records(messages, is_tree):
    """The lines of a file, in turns of four messages."""
    last = None
    for n in range(0, messages, 4):
        turn = str(uuid.UUID(int=n + 1))
        for i, message in enumerate(tool_turn(n)):
            record = {"type": "message", "timestamp": STAMP, "message": message, "turn": turn,
                      "seq": n * 3 + i}
            if is_tree:
                record["id"] = message["id"] = f"{n + i:08x}"
                record |= {"parentId": last} if last else {}
                last = record["id"]
            yield record
            if message["role"] == "tool":
                yield {"type": "tool_execution_end", "timestamp": STAMP, "toolCallId": f"call_{n}",
                       "toolName": "edit", "args": {"path": f"src/f{n % 97}.c"}, "isError": False,
                       "result": {"content": message["content"], "isError": False}}
        yield {"type": "trivet_turn", "timestamp": STAMP, "turn": turn, "state": "completed",
               "seq": n * 3 + 4}


def write_session(folder, name, workspace, messages, version=1, **header):
    os.makedirs(folder, 0o700, exist_ok=True)
    path = os.path.join(folder, name)
    first = {"type": "session", "version": version, "id": str(uuid.uuid4()), "timestamp": STAMP,
             "cwd": workspace, **header}
    with open(path, "w", encoding="utf-8") as file:
        for record in (first, *message_records(messages, version == 2)):
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
    return path


def session_dir(env, workspace):
    folder = "--" + workspace[1:].replace("/", "-") + "--"
    return os.path.join(env["HOME"], ".kward", "sessions", folder)


# ---- the program

class Program:
    def __init__(self, binary, env, cwd):
        self.child = subprocess.Popen([binary, "kward", "rpc"], env=env, cwd=cwd,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number = 0

    def message(self):
        length = 0
        while (line := self.child.stdout.readline()) not in (b"\r\n", b""):
            length = int(line.partition(b":")[2])
        if not line:
            sys.exit("the program ended early")
        return self.child.stdout.read(length)

    def call(self, method, params):
        """(result, bytes of the answer, seconds until it was there)"""
        self.number += 1
        body = json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method,
                           "params": params}).encode()
        start = time.perf_counter()
        self.child.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.child.stdin.flush()
        while True:
            answer = self.message()
            took = time.perf_counter() - start
            read = json.loads(answer)
            if read.get("id") == self.number:
                break
        if "error" in read:
            sys.exit(f"{method}: {read['error']}")
        return read["result"], len(answer), took

    def cpu(self):
        """Milliseconds all threads were on a CPU."""
        total = 0
        for task in os.listdir(f"/proc/{self.child.pid}/task"):
            with open(f"/proc/{self.child.pid}/task/{task}/schedstat", encoding="ascii") as file:
                total += int(file.read().split()[0])
        return total / 1e6

    def memory(self):
        """Resident and peak megabytes."""
        with open(f"/proc/{self.child.pid}/status", encoding="ascii") as file:
            found = {line.split(":")[0]: int(line.split()[1]) for line in file
                     if line.startswith(("VmRSS", "VmHWM"))}
        return found["VmRSS"] / 1024, found["VmHWM"] / 1024

    def end(self):
        self.child.stdin.close()
        self.child.stdout.close()
        if self.child.wait(60) != 0:
            sys.exit(f"exit status {self.child.returncode}")


class Table:
    """The quietest run of each row."""

    def __init__(self):
        self.rows = {}

    def measure(self, name, program, method, params):
        before = program.cpu()
        result, size, took = program.call(method, params)
        row = (program.cpu() - before, took * 1000, *program.memory(), size / 1e6)
        self.rows[name] = min(self.rows.get(name, row), row)
        return result

    def show(self):
        print(f"{'':24}{'CPU':>10}{'time':>10}{'resident':>12}{'peak':>10}{'answer':>11}")
        for name, (cpu, took, rss, peak, size) in self.rows.items():
            print(f"{name:24}{cpu:7.1f} ms{took:7.1f} ms{rss:9.1f} MB{peak:7.1f} MB"
                  f"{size:8.2f} MB")


def run_big(table, args, env, workspace, label, path):
    program = Program(args.binary, env, workspace)
    program.call("initialize", {})
    time.sleep(0.2)     # what is opened in the background counts as the program's own
    session = table.measure(f"resume{label}", program, "sessions/resume", {"path": path})["id"]
    messages = table.measure(f"transcript{label}", program, "sessions/transcript",
                             {"sessionId": session})["messages"]
    entries = table.measure(f"forkMessages{label}", program, "sessions/forkMessages",
                            {"sessionId": session})["messages"]
    fork = table.measure(f"fork{label}", program, "sessions/fork",
                         {"sessionId": session, "entryId": entries[-1]["entryId"]})
    table.measure(f"export{label}", program, "sessions/export", {"sessionId": session})
    table.measure(f"export html{label}", program, "sessions/export",
                  {"sessionId": session, "format": "html"})
    program.call("sessions/delete", {"sessionId": fork["session"]["id"]})
    program.end()
    if len(messages) != args.messages or len(entries) != args.messages // 4:
        sys.exit(f"{len(messages)} messages, {len(entries)} entries")


def run_list(table, args, env, workspace, is_first):
    program = Program(args.binary, env, workspace)
    program.call("initialize", {})
    time.sleep(0.2)
    everything = {"workspaceRoot": workspace, "limit": args.sessions}
    if is_first:
        table.measure("list first", program, "sessions/list", everything)
    else:
        table.measure("list 20", program, "sessions/list", {"workspaceRoot": workspace})
        found = table.measure("list", program, "sessions/list", everything)["sessions"]
        if len(found) != args.sessions:
            sys.exit(f"{len(found)} sessions listed")
    program.end()


def make_many(env, workspace, count):
    """Sessions of 20 messages; every tenth is a fork of the one before."""
    folder = session_dir(env, workspace)
    parent = {}
    for n in range(count):
        header = {"parentPath": parent["path"]} if n % 10 and parent else {}
        name = f"2026-06-12T10-11-12.{n % 1000:03}Z_{uuid.UUID(int=n)}.jsonl"
        path = write_session(folder, name, workspace, 20, **header)
        parent = {"path": path}


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--messages", type=int, default=20000)
    options.add_argument("--sessions", type=int, default=5000)
    options.add_argument("--runs", type=int, default=5)
    options.add_argument("--binary", default=os.path.join(harness.TOP, "build/trivet"))
    args = options.parse_args()
    args.binary = os.path.abspath(args.binary)
    table = Table()
    with harness.private_place() as base:
        env = harness.clean_env(base)
        env["TRIVET_MODEL"] = "rehearsal/hello"
        big, many = (os.path.join(base, name) for name in ("big", "many"))
        for workspace in (big, many):
            os.mkdir(workspace)
        files = {version: write_session(session_dir(env, big), f"v{version}.jsonl", big,
                                        args.messages, version) for version in (1, 2)}
        print(f"{args.messages} messages in {os.path.getsize(files[1]) / 1e6:.1f} MB, "
              f"{args.sessions} sessions")
        make_many(env, many, args.sessions)
        for n in range(args.runs):
            for version, path in files.items():
                run_big(table, args, env, big, "" if version == 1 else ", tree", path)
            if n == 0:
                run_list(table, args, env, many, True)
            run_list(table, args, env, many, False)
    table.show()
    slow = [name for name, row in table.rows.items()
            if row[0] > LIMITS.get(name.partition(",")[0], 1e9)]
    print(f"beyond the limit: {', '.join(slow)}" if slow else "within the limits")
    return 1 if slow else 0


sys.exit(main())
