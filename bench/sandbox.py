#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What confining a command costs: the shell tool with the sandbox beside a bare posix_spawn.

    bench/sandbox.py [--runs 300] [--binary build/trivet]

Each round measures, one after the other, so that a busy machine hits all alike:

    bare     posix_spawn of the same `bash -c true`, to its end
    off      the bash tool of a running trivet, `true`, without a sandbox
    on       the same with TRIVET_SANDBOX=workspace-write; but for the first command its process was
             made and confined before the command came (loop/stage.h)
    holder   the holder of such a call started afresh by posix_spawn, with the same arguments: what
             the first command of a program pays, before anything can be made ready

The tool's time is what trivet tells with the result (duration_s): from the arguments to the end of
the command and of everything it left behind.  The promise: on costs at most 1 ms more than bare.
The p50 decides; the p10 stands beside it, which other work on the machine reaches less, and the
processor time of the holder and its tree.  On a busy machine run it as `chrt -f 10 bench/sandbox.py`:
each command is a session of its own, which the scheduler gives its own share (autogroup), so that
other work delays it far more than a bare child.
"""
import argparse
import json
import os
import statistics
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(TOP, "tests"))
import harness      # noqa: E402

LIMIT_MS = 1.0


class Shell:
    """The bash tool of a running trivet."""

    def __init__(self, base, sandbox):
        import client
        scene = os.path.join(base, f"{sandbox}.json")
        with open(scene, "w", encoding="utf-8") as file:
            json.dump({"turns": [{"when": "look", "rounds": [
                [{"call": "bash", "args": {"command": "sleep 0.5"}}], [{"say": "."}]]}],
                "rounds": [[{"call": "bash", "args": {"command": "true"}}], [{"say": "."}]]}, file)
        workspace = os.path.join(base, "workspace")
        os.makedirs(os.path.join(workspace, ".git", "hooks"), exist_ok=True)
        with open(os.path.join(workspace, ".git", "HEAD"), "w", encoding="ascii") as file:
            file.write("ref: refs/heads/main\n")
        self.workspace = workspace
        self.client = client.Scaiflux(["--model", f"rehearsal/{scene}"], cwd=workspace,
                                      env={"TRIVET_SANDBOX": sandbox})
        self.client.event("ready")

    def start(self, word):
        c = self.client
        c.send({"type": "prompt", "text": word})
        ask = c.event("permission_request")
        c.send({"type": "permission_response", "request_id": ask["request_id"],
                "decision": "allow"})

    def end(self):
        result = self.client.event("tool_result")
        self.client.event("turn_complete")
        self.client.heard.clear()
        if result["is_error"]:
            sys.exit(f"the call failed: {result['output']}")
        return result["duration_s"] * 1000

    def call(self):
        self.start("go")
        return self.end()

    def holder(self):
        """Program, arguments and environment of a real holder, with `true` as its command."""
        self.start("look")
        time.sleep(0.2)
        pid = self.client.process.pid
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            child = file.read().split()[0]
        with open(f"/proc/{child}/cmdline", "rb") as file:
            argv = [os.fsdecode(word) for word in file.read().split(b"\0")[:-1]]
        with open(f"/proc/{child}/environ", "rb") as file:
            env = dict(word.split(b"=", 1) for word in file.read().split(b"\0")[:-1])
        program = os.readlink(f"/proc/{child}/exe")
        self.end()
        argv = [word[:-6] + "XXXXXX" if word.startswith("tmp=/") else word for word in argv]
        return program, argv[:-1] + ["true"], env


def run(program, argv, env, cwd):
    """(ms to its end, ms of processor time), with pipes as a tool has them."""
    out_read, out_write = os.pipe()
    line_read, line_write = os.pipe()
    null = os.open(os.devnull, os.O_RDWR)
    actions = [(os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, out_write, 1),
               (os.POSIX_SPAWN_DUP2, out_write, 2)]
    if argv[0] == "hold":
        actions += [(os.POSIX_SPAWN_DUP2, line_read, 4), (os.POSIX_SPAWN_DUP2, null, 5)]
    here = os.getcwd()
    os.chdir(cwd)
    start = time.perf_counter_ns()
    pid = os.posix_spawn(program, argv, env, file_actions=actions)
    _, status, usage = os.wait4(pid, 0)
    took = (time.perf_counter_ns() - start) / 1e6
    os.chdir(here)
    for fd in (out_write, line_read, line_write, null):
        os.close(fd)
    said = os.read(out_read, 4096)
    os.close(out_read)
    if status or said:
        sys.exit(f"{argv[0]} failed: {said.decode(errors='replace')}")
    return took, (usage.ru_utime + usage.ru_stime) * 1000


def show(title, times, bare, more=""):
    p50, p10 = statistics.median(times), statistics.quantiles(times, n=10)[0]
    print(f"  {title:8} p50 {p50:7.3f} ms, {p50 - bare[0]:+7.3f}   p10 {p10:7.3f} ms, "
          f"{p10 - bare[1]:+7.3f}{more}")
    return p50, p10


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    options.add_argument("--runs", type=int, default=300)
    options.add_argument("--binary", default=os.path.join(TOP, "build", "trivet"))
    args = options.parse_args()
    os.environ["TRIVET"] = os.path.abspath(args.binary)
    # A home of its own beside few others, as homes are: Landlock gets a rule for each neighbour of
    # the directories that hold credentials, and a temporary directory may hold thousands.
    with tempfile.TemporaryDirectory(prefix="trivet-bench-", dir="/var/tmp") as outer, \
            harness.private_place() as base:
        base = os.path.realpath(outer)
        os.environ.update(harness.clean_env(base))
        off, on = Shell(base, "off"), Shell(base, "workspace-write")
        small, argv, env = on.holder()
        off.call()
        times = {"bare": [], "off": [], "on": [], "holder": []}
        cpu = {"bare": [], "holder": []}
        for _ in range(args.runs):
            for name, program, words in (("bare", "/bin/bash", argv[-3:]),
                                         ("holder", small, argv)):
                took, used = run(program, words, env, on.workspace)
                times[name].append(took)
                cpu[name].append(used)
            times["off"].append(off.call())
            times["on"].append(on.call())
    print(f"`true` by a shell, {args.runs} runs, {os.cpu_count()} processors; behind each figure its "
          f"distance to bare")
    used = {name: statistics.mean(values) for name, values in cpu.items()}
    bare = show("bare", times["bare"], (statistics.median(times["bare"]),
                                        statistics.quantiles(times["bare"], n=10)[0]),
                f"   CPU {used['bare']:.3f} ms")
    show("holder", times["holder"], bare,
         f"   CPU {used['holder']:.3f} ms, {used['holder'] - used['bare']:+.3f}")
    show("off", times["off"], bare)
    more = show("on", times["on"], bare)[0] - bare[0]
    word = "" if more <= LIMIT_MS else "  ABOVE THE LIMIT"
    print(f"  a sandboxed call costs {more:.3f} ms more (limit {LIMIT_MS:.3f}){word}")
    sys.exit(0 if more <= LIMIT_MS else 1)


main()
