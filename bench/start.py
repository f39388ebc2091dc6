#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""First answer of each dialect: time from exec and memory after it, beside a bare libc program.

    bench/start.py [--runs 200] [--binary build/trivet]

All programs are measured in turn in the same run, so that a busy machine hits them alike; p50 is
shown.  Time: from posix_spawn to the first whole message.  Memory: VmRSS right after that message
and once more 200 ms later, when what is loaded in the background is there too.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tests"))
import harness      # noqa: E402

HANDSHAKE = b'{"jsonrpc":"2.0","id":1,"method":"rpc.handshake"}\n'
INITIALIZE = b'{"jsonrpc":"2.0","id":1,"method":"initialize"}'
LATER_RUNS = 10     # of the second look at the memory
MAX_TIMES_BARE, MAX_MB = 2.0, 4.0   # what is promised


def has_line(data):
    return data.endswith(b"\n")


def has_frame(data):
    head, _, body = data.partition(b"\r\n\r\n")
    return body and len(body) >= int(head.split(b":")[1])


def cases(binary, bare):
    """name: (arguments, request, whether the answer is whole)"""
    return {
        "bare": ([bare], HANDSHAKE, has_line),
        "loaf": ([binary, "loaf", "rpc"], HANDSHAKE, has_line),
        "scaiflux": ([binary, "scaiflux", "serve", "--model", "rehearsal/hello"], b"", has_line),
        "kward": ([binary, "kward", "rpc"],
                  b"Content-Length: %d\r\n\r\n" % len(INITIALIZE) + INITIALIZE, has_frame),
    }


def rss(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


def measure(argv, request, is_whole, env, later):
    """(microseconds, kB after the answer, kB 200 ms later or None)"""
    in_read, in_write = os.pipe()
    out_read, out_write = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, in_read, 0), (os.POSIX_SPAWN_DUP2, out_write, 1)]
    start = time.perf_counter_ns()
    pid = os.posix_spawn(argv[0], argv, env, file_actions=actions)
    if request:
        os.write(in_write, request)
    os.close(out_write)
    data = b""
    while not is_whole(data):
        more = os.read(out_read, 65536)
        if not more:
            sys.exit(f"{' '.join(argv)} ended without an answer: {data[:200]!r}")
        data += more
    took = (time.perf_counter_ns() - start) / 1000
    at_once = rss(pid)
    if later:
        time.sleep(0.2)
    settled = rss(pid) if later else None
    for fd in (in_read, in_write):
        os.close(fd)
    while os.read(out_read, 65536):
        pass
    os.close(out_read)
    os.waitpid(pid, 0)
    return took, at_once, settled


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--runs", type=int, default=200)
    options.add_argument("--binary", default=os.path.join(harness.TOP, "build/trivet"))
    args = options.parse_args()
    with harness.private_place() as base, tempfile.TemporaryDirectory() as folder:
        bare = os.path.join(folder, "bare")
        subprocess.run(["cc", "-O2", "-o", bare, os.path.join(HERE, "bare.c")], check=True)
        env = harness.clean_env(base)
        os.chdir(env["HOME"])
        programs = cases(os.path.abspath(os.path.join(harness.TOP, args.binary)), bare)
        taken = {name: [] for name in programs}
        for i in range(args.runs):
            for name, case in programs.items():
                taken[name].append(measure(*case, env, i < LATER_RUNS))
    bare_time = statistics.median(took for took, _, _ in taken["bare"])
    print(f"first answer, p50 of {args.runs} runs; promised: at most {MAX_TIMES_BARE:.2f} x bare "
          f"and {MAX_MB:.2f} MB")
    for name, rows in taken.items():
        took = statistics.median(row[0] for row in rows)
        at_once = statistics.median(row[1] for row in rows)
        settled = statistics.median(row[2] for row in rows if row[2] is not None)
        is_kept = took <= MAX_TIMES_BARE * bare_time and max(at_once, settled) <= MAX_MB * 1024
        print(f"  {name:9} {took / 1000:7.3f} ms  {took / bare_time:5.2f} x bare   "
              f"RSS {at_once / 1024:5.2f} MB, after 200 ms {settled / 1024:5.2f} MB"
              f"{'' if is_kept else '   NOT KEPT'}")


main()
