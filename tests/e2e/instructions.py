#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Processor instructions that each front end needs for its start, a turn, 1,000 deltas and a tool round,
counted by valgrind: they do not depend on the speed or the load of the machine.  None may be more than
5 % above the figure in instructions.json, which holds for one compiler and C library.  The chat is left
out: what it draws depends on time.

    TRIVET=build/trivet python3 tests/e2e/instructions.py            compares
    TRIVET=build/trivet python3 tests/e2e/instructions.py --write    writes what it counts as the new figures
"""
import concurrent.futures
import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
from client import PROGRAM, Client, Kward, Loaf, Rpc, Scaiflux  # noqa: E402

sys.path.insert(0, os.path.join(harness.TOP, "tests/fake"))
import provider  # noqa: E402

FILE = os.path.join(harness.TOP, "tests/e2e/instructions.json")
MARGIN = 1.05
TIMES = 10  # turns and tool rounds that are counted together: a read more or less is 2 % of one
WRAP = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
PATH = {"loaf": "file_path"}  # the argument of read_file; elsewhere "path"
SAY = {"text": "word " * 5, "piece": 25}


def replies(front, case):
    calls = [{"tool_calls": [{"id": str(i), "name": "read_file",
                              "arguments": {PATH.get(front, "path"): f"notes{i}.txt"}}]} for i in range(TIMES)]
    return {"start": [], "first": [SAY], "turn": [SAY] * (1 + TIMES), "deltas": [{"text": "word " * 1000}],
            "tool": [*calls, SAY]}[case]


class Acp(Rpc):
    args = ("acp",)


class McpServe(Rpc):
    args = ("mcp", "serve")
    last_id = 0
    __init__, messages, send = Client.__init__, Client.messages, Client.send  # no list of trivet has its messages


def loaf(c, turns):
    c.call("state.get")
    if turns:
        session = c.call("session.create")["session_id"]
    for _ in range(turns):
        seen = c.turn(session, "go")
        assert seen.end and not seen.code, seen.end


def scaiflux(c, turns):
    c.event("ready")
    for _ in range(turns):
        seen = c.turn("go")
        assert seen.end and not seen.code, seen.end


def kward(c, turns):
    c.call("initialize")
    if turns:
        session = c.call("sessions/create")["id"]
    for _ in range(turns):
        turn = c.call("turns/start", {"sessionId": session, "input": "go"})["id"]
        end = c.event("turnFinished", turn)["payload"]
        assert end["status"] == "completed", end


def acp(c, turns):
    c.call("initialize", {"protocolVersion": 1})
    if turns:
        session = c.call("session/new", {"cwd": os.path.realpath(c.place), "mcpServers": []})["sessionId"]
    for _ in range(turns):
        end = c.call("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "go"}]})
        assert end["stopReason"] == "end_turn", end


def mcp_serve(c, turns):
    c.call("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
    more = {}
    for _ in range(turns):
        end = c.call("tools/call", {"name": "run_prompt", "arguments": {"prompt": "go", **more}})
        assert not end.get("isError"), end
        more = {"session": end["structuredContent"]["session"]}


CLIENTS = {"loaf": (Loaf, loaf), "scaiflux": (Scaiflux, scaiflux), "kward": (Kward, kward), "acp": (Acp, acp),
           "mcp serve": (McpServe, mcp_serve)}
CASES = ("start", "first", "turn", "deltas", "tool")


def run_exec(work, env, turns):
    args = ["exec", "-q", "go"] if turns else ["--version"]
    done = subprocess.run([*WRAP, PROGRAM, *args], cwd=work, env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
    return done.stderr


def count(front, case):
    """Instructions of a process that plays it once."""
    with harness.private_place() as base, provider.Server(replies(front, case)) as server:
        work = os.path.join(base, "work")
        os.mkdir(work)
        for i in range(TIMES):
            with open(os.path.join(work, f"notes{i}.txt"), "w", encoding="ascii") as file:
                file.write("a line\n" * 20)
        env = {**harness.clean_env(base), "OPENAI_API_KEY": "test-key-123456", "TRIVET_MODEL": "openai/played",
               "OPENAI_BASE_URL": f"http://127.0.0.1:{server.port}/v1", "PATH": "/usr/bin:/bin"}
        turns = {"start": 0, "turn": 1 + TIMES}.get(case, 1)
        if front == "exec":
            said = run_exec(work, env, turns)
        else:
            kind, play = CLIENTS[front]
            c = kind(cwd=work, env=env, wrap=WRAP)
            c.place = work
            play(c, turns)
            assert c.close() == 0, c.stderr
            said = c.stderr
        return int(re.search(rb"I +refs: +([\d,]+)", said)[1].replace(b",", b""))


def figures(front):
    """By case, what it adds: the first turn to a start; a later turn, 999 deltas, a tool round to that."""
    found = {case: count(front, case) for case in CASES if (front, case) != ("exec", "turn")}
    less = {"start": 0, "first": found["start"]}
    return {case: (n - less.get(case, found["first"])) // (TIMES if case in ("turn", "tool") else 1)
            for case, n in found.items()}


def machine():
    libc = ctypes.CDLL(None).gnu_get_libc_version
    libc.restype = ctypes.c_char_p
    with open(PROGRAM, "rb") as file:
        compilers = set(re.findall(rb"GCC: \([^)]*\) [\d.]+|clang version [\d.]+", file.read()))
    valgrind = subprocess.run(["valgrind", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return f"{os.uname().machine}, {b' '.join(sorted(compilers)).decode()}, glibc {libc().decode()}, {valgrind}"


def exceeds(known, front, row):
    return any(n > known["fronts"].get(front, {}).get(case, 0) * MARGIN for case, n in row.items())


def counted(front, known):
    """The figures; a row that is too high is counted again."""
    row = figures(front)
    for _ in range(3):
        if known and exceeds(known, front, row):
            row = {case: min(n, row[case]) for case, n in figures(front).items()}
    return row


def compare(known, found):
    failed = 0
    for front, row in found.items():
        for case, n in row.items():
            was = known["fronts"].get(front, {}).get(case, 0)
            if n > was * MARGIN:
                failed += 1
                print(f"FAILED: {front}, {case}: {n:,} instructions, {was:,} before")
            elif n * MARGIN < was:
                print(f"{front}, {case}: {n:,} instructions, {was:,} before; --write keeps the gain")
    harness.finish(sum(map(len, found.values())) - failed, failed)


def main():
    tempfile.tempdir = "/tmp"  # the depth of a path counts, and so does each variable
    for name in set(os.environ) - {"PATH", "TRIVET", "TRIVET_EVIDENCE", "TRIVET_SKIPPED"}:
        del os.environ[name]
    with open(FILE, encoding="ascii") as file:
        known = json.load(file)
    is_known = known["machine"] == machine()
    writes = "--write" in sys.argv
    if not writes and not is_known:
        harness.skip("instructions", f"figures are for {known['machine']}")
        return harness.finish(0, 0)
    fronts = [*CLIENTS, "exec"]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = dict(zip(fronts, pool.map(counted, fronts, [None if writes else known] * len(fronts))))
    for front, row in found.items():
        print(f"{front:10}" + "".join(f"{case:>8} {n:>11,}" for case, n in row.items()))
    if not writes:
        return compare(known, found)
    with open(FILE, "w", encoding="ascii") as file:
        json.dump({"machine": machine(), "fronts": found}, file, indent=1)
        file.write("\n")
    return harness.finish(1, 0)


main()
