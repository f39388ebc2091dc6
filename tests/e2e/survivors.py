#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ALONE
"""Nothing survives a tool, and nothing that it writes fills the memory.

1. A command that forks twice, calls setsid, ignores SIGTERM, holds the pipes open and forks 500
   children, 100 times, in the three dialects side by side, ended by its timeout and by an interrupt
   in turn: the turn has ended and no descendant is alive.  Five in a row go on in the same program,
   so that what one command leaves behind would meet the next one.
2. A command that writes 10 GB: the program stays under 16 MB, the model gets the head and the tail
   (loaf and Kward keep the head alone, as their documents say), the turn ends.

TRIVET_SURVIVORS and TRIVET_BIG (1G, 300M) make it shorter.
"""
import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
from client import Gone, Kward, Loaf, Scaiflux  # noqa: E402

TIMES = int(os.environ.get("TRIVET_SURVIVORS", "40"))
BIG = os.environ.get("TRIVET_BIG", "2G")  # 10G for a longer look
MEMORY = 16 << 20
CHILDREN = 500
PER_PROGRAM = 5

# What a program does that wants to live on.  It says `spread` when all of them are there.
HYDRA_C = r"""
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static void sleep_on(void)
{
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 0, line[2];
    char byte;
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    if (pipe2(line, O_CLOEXEC) != 0)
        return 1;
    if (fork() == 0) { /* forks again and leaves: its child has another parent, session and group */
        if (fork() != 0)
            _exit(0);
        setsid();
        for (int i = 0; i < n; i++) {
            if (fork() != 0)
                continue;
            if (i % 2)
                setsid();
            if (i % 10 == 0 && fork() != 0)
                _exit(0);
            close(line[0]);
            (void)!write(line[1], "x", 1);
            close(line[1]);
            sleep_on();
        }
        close(line[1]);
        sleep_on();
    }
    for (int i = 0; i < n; i++)
        (void)!read(line[0], &byte, 1);
    (void)!write(1, "spread\n", 7);
    (void)!close(open(argv[2], O_CREAT | O_WRONLY, 0600));
    sleep_on();
}
"""


def put(path, scenario):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(scenario, file)
    return f"rehearsal/{path}"


def hydras(program):
    """Living processes that were started from this file, however they call themselves."""
    found = 0
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                found += os.readlink(f"/proc/{entry}/exe") == program
    return found


class Room:
    """One program of a dialect with one session; go() plays a turn that is or is not interrupted."""

    def __init__(self, client):
        self.c = client

    def close(self):
        with self.c:
            return self.c.close()


class LoafRoom(Room):
    shell = "bash"
    least_s = 1

    def __init__(self, model, cwd):
        super().__init__(Loaf(cwd=cwd, env={"TRIVET_MODEL": model}))
        self.session = self.c.call("session.create")["session_id"]

    @staticmethod
    def args(command, seconds):
        return {"command": command, "timeout_seconds": seconds}

    def start(self, text):
        self.c.call("session.send", {"session_id": self.session, "text": text})

    def interrupt(self):
        self.c.ask("session.interrupt", {"session_id": self.session})

    def end(self, timeout=60):
        """(how it ended, the tool's output)"""
        done = self.c.event("session.tool.call.completed", self.session, timeout)
        end = self.c.until(lambda m: m.get("params", {}).get("type") in
                           ("session.interrupted", "session.completed", "session.error"), timeout)
        self.c.event("session.status", self.session, status_label="ready")
        return end["params"]["type"].partition(".")[2], done["data"]["executed"]["result"]


class ScaifluxRoom(Room):
    shell = "bash"
    least_s = 0.5

    def __init__(self, model, cwd):
        super().__init__(Scaiflux(["--model", model], cwd=cwd))
        self.c.event("ready")

    @staticmethod
    def args(command, seconds):
        return {"command": command, "timeout": int(seconds * 1000)}

    def start(self, text):
        self.c.send({"type": "prompt", "text": text})
        asked = self.c.event("permission_request")
        self.c.send({"type": "permission_response", "request_id": asked["request_id"],
                     "decision": "allow"})

    def interrupt(self):
        self.c.send({"type": "interrupt"})

    def end(self, timeout=60):
        done = self.c.event("tool_result", timeout)
        end = self.c.event("turn_complete", timeout)
        return end["stop_reason"], done["output"]


class KwardRoom(Room):
    shell = "run_shell_command"
    least_s = 1

    def __init__(self, model, cwd):
        super().__init__(Kward(cwd=cwd, env={"TRIVET_MODEL": model}))
        self.session = self.c.call("sessions/create", {"workspaceRoot": cwd})["id"]

    @staticmethod
    def args(command, seconds):
        return {"command": command, "timeout_seconds": seconds}

    def start(self, text):
        self.turn = self.c.call("turns/start", {"sessionId": self.session, "input": text})["id"]

    def interrupt(self):
        self.c.ask("turns/cancel", {"turnId": self.turn})

    def end(self, timeout=60):
        end = self.c.event("turnFinished", self.turn, timeout)
        done = [m["params"]["payload"] for m in self.c.heard
                if m.get("params", {}).get("type") == "toolResult"]  # none after an interrupt
        return end["payload"]["status"], json.dumps(done[-1:])


ROOMS = {"loaf": LoafRoom, "scaiflux": ScaifluxRoom, "kward": KwardRoom}


def await_file(path, timeout=30):
    end = time.monotonic() + timeout
    while not os.path.exists(path):
        assert time.monotonic() < end, "the command did not get to its end"
        time.sleep(0.005)
    os.unlink(path)


def one_hydra(room, program, flag, is_interrupted):
    """Plays one turn; returns how long its end took after all processes were there."""
    room.start("interrupt" if is_interrupted else "timeout")
    await_file(flag)
    grown = hydras(program)
    began = time.monotonic()
    if is_interrupted:
        room.interrupt()
    how, _ = room.end()
    took = time.monotonic() - began
    left = hydras(program)
    assert grown > CHILDREN or not is_interrupted, f"only {grown} processes"
    assert left == 0, f"{left} of {grown} processes live on"
    assert (how in ("interrupted", "canceled")) == is_interrupted, f"the turn ended as {how}"
    return took


class Survivors(threading.Thread):
    """The rounds of one dialect, in a row."""

    def __init__(self, base, dialect, source, times):
        super().__init__()
        self.place = os.path.join(base, dialect)
        self.dialect, self.kind, self.times = dialect, ROOMS[dialect], times
        self.passed, self.failed, self.slowest = 0, 0, 0
        os.mkdir(self.place)
        self.program = os.path.join(self.place, "hydra")  # its own, to be counted alone
        shutil.copy(source, self.program)

    def room(self, flag):
        # One that begins with sleep does not become a background job at its time limit.
        command = f"sleep 0; {self.program} {CHILDREN} {flag}"

        def turn(when, seconds):
            call = {"call": self.kind.shell, "args": self.kind.args(command, seconds)}
            return {"when": when, "rounds": [[call], [{"say": "Over."}]]}
        scenario = {"turns": [turn("interrupt", 100), turn("timeout", self.kind.least_s)]}
        return self.kind(put(os.path.join(self.place, "scenario.json"), scenario), self.place)

    def rounds(self, n, times):
        flag = os.path.join(self.place, "flag")
        room = self.room(flag)
        try:
            for i in range(n, n + times):
                self.slowest = max(self.slowest, one_hydra(room, self.program, flag, i % 2 == 1))
                self.passed += 1
            assert room.close() == 0, "exit status"
        except (AssertionError, Gone, RuntimeError) as why:
            print(f"{self.dialect} {n}: FAILED: {why}")
            self.failed += 1
            room.c.kill()

    def run(self):
        for n in range(0, self.times, PER_PROGRAM):
            self.rounds(n, min(PER_PROGRAM, self.times - n))


def survivors(base):
    """All rounds; (passed, failed)."""
    source = os.path.join(base, "hydra")
    subprocess.run(["cc", "-O1", "-w", "-D_GNU_SOURCE", "-x", "c", "-", "-o", source],
                   input=HYDRA_C.encode(), check=True)
    share = TIMES // 4  # loaf's grace is the longest
    threads = [Survivors(base, "loaf", source, share),
               Survivors(base, "scaiflux", source, (TIMES - share) // 2),
               Survivors(base, "kward", source, TIMES - share - (TIMES - share) // 2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
        print(f"{t.dialect:9} {t.passed} commands with {CHILDREN} children, the slowest gone after "
              f"{t.slowest * 1000:.0f} ms")
    passed, failed = sum(t.passed for t in threads), sum(t.failed for t in threads)
    return passed, failed + (passed + failed < TIMES and not failed)


def peak(process):
    """The most memory that the program ever had in use."""
    with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
        line = next(line for line in file if line.startswith("VmHWM:"))
    return int(line.split()[1]) << 10


def check_output(dialect, text):
    """The head is there, and the tail where the dialect keeps one."""
    if dialect == "loaf":
        assert text["truncated_stdout"] and text["stdout"].startswith("head"), "no head"
        return
    assert "head" in text, f"no head: {text[:100]}"
    assert len(text) < 4 << 20, f"{len(text)} characters"
    if dialect == "kward":
        # Zero bytes are left out for the model, so little may be left to cut.
        assert "... truncated to 20480 bytes" in text or "tail" in text, "neither cut nor whole"
    else:
        assert "tail" in text, f"no tail: {text[-100:]}"


def one_big(base, dialect):
    kind = ROOMS[dialect]
    command = f"echo he''ad; head -c {BIG} /dev/zero; echo ta''il"
    model = put(os.path.join(base, f"big-{dialect}.json"),
                {"rounds": [[{"call": kind.shell, "args": kind.args(command, 590)}],
                            [{"say": "Over."}]]})
    room = kind(model, base)
    most = 0

    def watch():
        nonlocal most
        while room.c.process.poll() is None and not over.is_set():
            with contextlib.suppress(OSError, ValueError):
                most = max(most, room.c.memory())
            time.sleep(0.02)
    over = threading.Event()
    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        began = time.monotonic()
        room.start("go")
        how, output = room.end(500)
        took = time.monotonic() - began
        highest = peak(room.c.process)
        status = room.close()
    finally:
        over.set()
        watcher.join()
    assert how in ("completed", "end_turn"), f"the turn ended as {how}"
    check_output(dialect, output)
    assert max(most, highest) < MEMORY, f"{max(most, highest) / 1e6:.1f} MB"
    assert status == 0, f"exit status {status}"
    print(f"{dialect:9} {BIG} of output in {took:.1f} s, at most {highest / 1e6:.1f} MB")


def main():
    with harness.private_place() as base:
        os.environ.update(harness.clean_env(base))
        passed, failed = survivors(base)
        for dialect in ROOMS:
            try:
                one_big(base, dialect)
                passed += 1
            except (AssertionError, Gone, RuntimeError) as why:
                print(f"{dialect:9} {BIG} of output FAILED: {why}")
                failed += 1
        left = harness.left_behind(base)
        if left:
            print(f"left behind: {left}")
            failed += 1
    harness.finish(passed, failed)


main()
