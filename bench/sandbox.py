#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What confining a command costs: the shell tool with the sandbox beside a bare posix_spawn.

    bench/sandbox.py [--runs 300] [--binary build/trivet] [--beside OTHER/trivet]

Each round measures, one after the other, so that a busy machine hits all alike:

    bare     posix_spawn of the same `bash -c true`, to its end
    off      the bash tool of a running trivet, `true`, without a sandbox
    on       the same with TRIVET_SANDBOX=workspace-write
    first    the first command of a session outside of a repository, which pays for the making of
             its room (in a repository the prompt's own git commands do)
    beside   `on` of another build, with --beside

The tool's time is what trivet reports with the result (duration_s): from the arguments to the end
of the command.  The promise: on costs at most 0.75 ms more than bare.
The p50 decides; the p10 stands beside it, which other work on the machine affects less.  On a busy
machine run it as `chrt -f 10 bench/sandbox.py`: each command is a session of its own, which the
scheduler gives its own share (autogroup), so that other work delays it far more than a bare child.
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

LIMIT_MS = 0.75


class Shell:
    """The bash tool of a running trivet."""

    def __init__(self, base, sandbox, binary=None, has_git=True):
        import client
        program, client.PROGRAM = client.PROGRAM, binary or client.PROGRAM
        scene = os.path.join(base, f"{sandbox}.json")
        with open(scene, "w", encoding="utf-8") as file:
            json.dump({"rounds": [[{"call": "bash", "args": {"command": "true"}}], [{"say": "."}]]},
                      file)
        workspace = os.path.join(base, "workspace" if has_git else "plain")
        os.makedirs(workspace, exist_ok=True)
        if has_git:
            os.makedirs(os.path.join(workspace, ".git", "hooks"), exist_ok=True)
            with open(os.path.join(workspace, ".git", "HEAD"), "w", encoding="ascii") as file:
                file.write("ref: refs/heads/main\n")
        self.workspace = workspace
        self.client = client.Scaiflux(["--model", f"rehearsal/{scene}"], cwd=workspace,
                                      env={"TRIVET_SANDBOX": sandbox})
        self.client.is_checked = not binary     # another build may have another schema
        client.PROGRAM = program
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


def run(program, argv, env, cwd):
    """ms to its end, with pipes as a tool has them."""
    out_read, out_write = os.pipe()
    null = os.open(os.devnull, os.O_RDWR)
    actions = [(os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, out_write, 1),
               (os.POSIX_SPAWN_DUP2, out_write, 2)]
    here = os.getcwd()
    os.chdir(cwd)
    start = time.perf_counter_ns()
    pid = os.posix_spawn(program, argv, env, file_actions=actions)
    _, status = os.waitpid(pid, 0)
    took = (time.perf_counter_ns() - start) / 1e6
    os.chdir(here)
    for fd in (out_write, null):
        os.close(fd)
    said = os.read(out_read, 4096)
    os.close(out_read)
    if status or said:
        sys.exit(f"{argv[0]} failed: {said.decode(errors='replace')}")
    return took


def show(title, times, bare):
    p50, p10 = statistics.median(times), statistics.quantiles(times, n=10)[0]
    print(f"  {title:8} p50 {p50:7.3f} ms, {p50 - bare[0]:+7.3f}   p10 {p10:7.3f} ms, "
          f"{p10 - bare[1]:+7.3f}")
    return p50, p10


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    options.add_argument("--runs", type=int, default=300)
    options.add_argument("--binary", default=os.path.join(TOP, "build", "trivet"))
    options.add_argument("--beside", help="another build, measured in the same rounds")
    args = options.parse_args()
    os.environ["TRIVET"] = os.path.abspath(args.binary)
    # A home of its own beside few others, as homes are: Landlock gets a rule for each neighbour of
    # the directories that hold credentials, and a temporary directory may hold thousands.
    with tempfile.TemporaryDirectory(prefix="trivet-bench-", dir="/var/tmp") as outer, \
            harness.private_place() as base:
        base = os.path.realpath(outer)
        os.environ.update(harness.clean_env(base))
        off, on = Shell(base, "off"), Shell(base, "workspace-write")
        other = Shell(base, "workspace-write", os.path.abspath(args.beside)) if args.beside else None
        times = {"bare": [], "off": [], "on": [], "first": [], "beside": []}
        for shell in (off, on, *filter(None, [other])):
            shell.call()
        for i in range(args.runs):
            times["bare"].append(run("/bin/bash", ["bash", "-c", "true"], dict(os.environ),
                                     on.workspace))
            times["off"].append(off.call())
            times["on"].append(on.call())
            if other:
                times["beside"].append(other.call())
            if i % 10 == 0:
                fresh = Shell(base, "workspace-write", has_git=False)
                times["first"].append(fresh.call())
                fresh.client.close()
    print(f"`true` by a shell, {args.runs} runs, {os.cpu_count()} processors; behind each figure its "
          f"distance to bare")
    bare = show("bare", times["bare"], (statistics.median(times["bare"]),
                                        statistics.quantiles(times["bare"], n=10)[0]))
    show("off", times["off"], bare)
    show("first", times["first"], bare)
    if times["beside"]:
        show("beside", times["beside"], bare)
    more = show("on", times["on"], bare)[0] - bare[0]
    word = "" if more <= LIMIT_MS else "  ABOVE THE LIMIT"
    print(f"  a sandboxed call costs {more:.3f} ms more (limit {LIMIT_MS:.3f}){word}")
    sys.exit(0 if more <= LIMIT_MS else 1)


main()
