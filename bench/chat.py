#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The chat on a pseudo terminal: time to the first frame, cost of a stream, echo of a key.

    bench/chat.py [--runs 50] [--binary build/trivet]

first frame   from posix_spawn until the row that is typed in is on the terminal, p50 and p95
stream        2,000 styled words (12.9 kB) at 500 a second, 80 x 24: bytes to the terminal, CPU of
              all its processes, memory
echo          a key is typed while 1,000 deltas a second arrive: until it is on the terminal
idle          CPU in 5 s of doing nothing

Exits with 1 when a limit is missed: first frame 10 ms, 40 kB and 150 ms of CPU, echo 5 ms (p50).
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
sys.path.insert(0, HERE)
import gateway      # noqa: E402
import harness      # noqa: E402
import terminals    # noqa: E402

LIMIT_FRAME_MS, LIMIT_BYTES, LIMIT_CPU_MS, LIMIT_ECHO_MS = 10, 40_000, 150, 5


def start(binary, env, cwd, *flags):
    return terminals.Terminal([binary, "chat", *flags], env, cwd)


def scene(path, *steps):
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"rounds": [list(steps)]}, file)


def first_frames(binary, env, cwd, runs):
    times = []
    for _ in range(runs):
        chat = start(binary, env, cwd, "-m", "rehearsal/hello")
        times.append((chat.until(b"> ") - chat.begun) * 1000)
        chat.end()
    return sorted(times)


def stream(binary, env, cwd):
    scene(os.path.join(cwd, "words.json"), {"say": "".join(gateway.styled_words(2000)), "pause_ms": 2})
    chat = start(binary, env, cwd, "-m", "rehearsal/words.json")
    chat.until(b"> ")
    time.sleep(0.3)
    chat.read(0.1)
    chat.bytes, before, cpu, begun = b"", chat.cpu_ms(), 0, time.perf_counter()
    os.write(chat.fd, b"go\r")
    chat.until(b"finis", 60)
    while chat.read(0.3):
        pass
    took = time.perf_counter() - begun
    cpu = chat.cpu_ms() - before
    result = len(chat.bytes), cpu, chat.memory_mb(), took
    idle = chat.cpu_ms()
    end = time.perf_counter() + 5
    while time.perf_counter() < end:
        chat.read(0.5)
    idle = chat.cpu_ms() - idle
    chat.end()
    return (*result, idle)


def echoes(binary, env, cwd, runs):
    scene(os.path.join(cwd, "many.json"), {"say": "streaming words " * 20000, "pause_ms": 1})
    chat = start(binary, env, cwd, "-m", "rehearsal/many.json")
    chat.until(b"> ")
    os.write(chat.fd, b"go\r")
    chat.until(b"streaming")
    times = []
    for i in range(runs):
        time.sleep(0.05)
        while chat.read(0):
            pass
        mark = bytes([ord("A") + i % 26]) * 2  # twice: no word of the answer has it
        begun = time.perf_counter()
        os.write(chat.fd, mark)
        times.append((chat.until(mark[:1]) - begun) * 1000)
    chat.end()
    return sorted(times)


def main():
    parser = argparse.ArgumentParser(description="figures of the chat")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--binary", default=os.path.join(TOP, "build/trivet"))
    options = parser.parse_args()
    binary = os.path.abspath(options.binary)
    with tempfile.TemporaryDirectory() as base:
        env = {**harness.clean_env(base), "TERM": "xterm-256color"}
        cwd = os.path.join(base, "work")
        os.makedirs(cwd)
        frames = first_frames(binary, env, cwd, options.runs)
        n_bytes, cpu, memory, took, idle = stream(binary, env, cwd)
        keys = echoes(binary, env, cwd, options.runs)
    frame, echo = statistics.median(frames), statistics.median(keys)
    rows = [("first frame", f"{frame:.1f} ms (p95 {frames[int(len(frames) * .95)]:.1f})",
             f"{LIMIT_FRAME_MS} ms", frame <= LIMIT_FRAME_MS),
            ("2,000 styled words", f"{n_bytes} bytes", f"{LIMIT_BYTES}", n_bytes <= LIMIT_BYTES),
            ("", f"{cpu:.0f} ms CPU in {took:.1f} s", f"{LIMIT_CPU_MS} ms", cpu <= LIMIT_CPU_MS),
            ("", f"{memory:.1f} MiB (PSS)", "", True),
            ("idle for 5 s", f"{idle:.1f} ms CPU", "", True),
            ("key to echo", f"{echo:.1f} ms (p95 {keys[int(len(keys) * .95)]:.1f})",
             f"{LIMIT_ECHO_MS} ms", echo <= LIMIT_ECHO_MS)]
    for name, value, limit, ok in rows:
        print(f"{name:20} {value:28} {('at most ' + limit) if limit else '':16}"
              f"{'' if ok else '  MISSED'}")
    return 0 if all(row[3] for row in rows) else 1


sys.exit(main())
