#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sweeps: a turn with a command, in each dialect, while one thing after the other goes wrong.

    tests/sweep.py calls [--every K]       each system call of the run fails once (strace)
    tests/sweep.py signals [--moments N]   each signal at N random moments
        --dialect NAME   only this one     --only NAME   only this system call or signal
        --seed N

Whatever happens: no crash and no hang, exactly one terminal event for a turn that was accepted
(unless the process ended and said why), and the next process finds what was acknowledged.  The
program is $TRIVET or build/trivet.  Prints each fault and, as the last line, the figures.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from client import Gone, Kward, Loaf, Scaiflux  # noqa: E402

PROMPT, ANSWER = "prompt-alpha", "answer-omega"
ENDS = ("done", "end", "lost")
PATIENCE_S = 12
COMMAND = {"command": "echo hello > made; sleep 0.05; cat made"}


def scenario(tool):
    return {"rounds": [[{"say": "Looking. "}, {"call": tool, "args": COMMAND}], [{"say": ANSWER}]]}


# ---- one way to play a turn for each dialect ----

class Flux:
    name, tool, kind = "scaiflux", "bash", Scaiflux
    args = ["--model"]

    @staticmethod
    def start(c):
        c.event("ready", timeout=PATIENCE_S)

    @staticmethod
    def send(c):
        c.send({"type": "prompt", "text": PROMPT})

    @staticmethod
    def take(c, m):
        """What it means: ack, done, end (early), lost (refused, or not kept), or None."""
        if m["type"] == "permission_request":
            c.send({"type": "permission_response", "request_id": m["request_id"],
                    "decision": "allow"})
        if m["type"] == "turn_started":
            return "ack"
        if m["type"] == "turn_complete":
            return "end" if m["stop_reason"] == "interrupted" else "done"
        if m["type"] == "error" and "turn_id" in m:
            return "lost" if m["code"] == "session_io_error" else "end"
        return None

    @staticmethod
    def kept(base, env, path):
        assert path is None
        with Scaiflux(["--resume", "latest"], cwd=base, env=env) as c:
            c.event("ready")
            c.send({"type": "slash", "command": "export", "args": "out.md"})
            c.event("slash_result")
            c.close()
        with open(f"{base}/out.md", encoding="utf-8") as file:
            return file.read()


class LoafWay:
    name, tool, kind = "loaf", "bash", Loaf
    args = []

    @staticmethod
    def start(c):
        c.session = c.call("session.create", timeout=PATIENCE_S)["session_id"]

    @staticmethod
    def send(c):
        c.prompt = c.ask("session.send", {"session_id": c.session, "text": PROMPT})

    @staticmethod
    def take(c, m):
        if m.get("id") == c.prompt:
            return "ack" if "result" in m else "lost"
        kind = m.get("params", {}).get("type")
        if kind == "session.error":  # such a turn leaves the saved chat as it was
            return "lost"
        return {"session.completed": "done", "session.interrupted": "end"}.get(kind)

    @staticmethod
    def kept(base, env, path):
        assert path is None
        with Loaf(cwd=base, env=env) as c:
            chat = c.call("history.get", {"last": True})
            c.close()
            return json.dumps(chat)


class KwardWay:
    name, tool, kind = "kward", "run_shell_command", Kward
    args = []

    @staticmethod
    def start(c):
        made = c.call("sessions/create", timeout=PATIENCE_S)
        c.session, c.path = made["id"], made["path"]

    @staticmethod
    def send(c):
        c.prompt = c.ask("turns/start", {"sessionId": c.session, "input": PROMPT})

    @staticmethod
    def take(c, m):
        if m.get("id") == c.prompt:
            return "ack" if "result" in m else "lost"
        if m.get("params", {}).get("type") != "turnFinished":
            return None
        return "done" if m["params"]["payload"]["status"] == "completed" else "end"

    @staticmethod
    def kept(base, env, path):
        with Kward(cwd=base, env=env) as c:
            session = c.call("sessions/resume", {"path": path})["id"]
            text = json.dumps(c.call("sessions/transcript", {"sessionId": session}))
            c.close()
            return text


WAYS = {way.name: way for way in (Flux, LoafWay, KwardWay)}


# ---- one run ----

class Run:
    """What happened in one run; `fault` is None when all was as it must be."""

    def __init__(self):
        self.seen = collections.Counter()
        self.status, self.stderr, self.fault = None, "", None
        self.path = None
        self.text = ""            # messages with the answer
        self.is_complete = False  # the turn ended, and the answer was sent
        self.is_impossible = False  # what was made to fail cannot fail in Linux


def listen(way, c, run, until_end):
    end = time.monotonic() + PATIENCE_S
    while True:
        m = c.next(max(0.01, end - time.monotonic()))
        what = way.take(c, m)
        if what:
            run.seen[what] += 1
        run.text += json.dumps(m) if ANSWER in str(m) else ""
        if until_end and what in ENDS:
            return


def converse(way, c, run, strike):
    """Until the turn is over, then until the program is."""
    try:
        way.start(c)
        way.send(c)
        if strike:
            strike_later(c, *strike)
        listen(way, c, run, True)
    except (Gone, RuntimeError) as why:
        if "nothing came" in str(why) and c.process.poll() is None:
            raise AssertionError(f"hangs: {why}") from None
    try:
        c.process.stdin.close()
    except OSError:
        pass
    try:
        listen(way, c, run, False)
    except (Gone, AttributeError):  # the latter: it never got as far as a prompt
        pass


def waits_for_own_pipe(c):
    """libuv keeps a lock in a pipe: a byte that its signal handler cannot write, which Linux does
    not let happen, is missing for ever.  Every other pipe of the program is never waited for."""
    with open(f"/proc/{c.process.pid}/task/{c.process.pid}/children", encoding="ascii") as file:
        for pid in file.read().split():
            with open(f"/proc/{pid}/wchan", encoding="ascii") as where:
                if "pipe_read" in where.read():
                    return True
    return False


def finish(c, run):
    try:
        run.status = c.process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        if waits_for_own_pipe(c):
            run.is_impossible = True
            c.kill()
            run.status = 1
            return
        raise AssertionError("does not end") from None
    c.listener.join(2)
    run.stderr = c.stderr.decode(errors="replace")


def check_run(run, statuses, may_be_mute):
    said = run.stderr
    assert "bug at" not in said and "Sanitizer" not in said, said[-600:]
    is_unborn = "error while loading shared" in said or run.status == 127
    assert run.status in statuses or is_unborn, f"status {run.status}: {said[-300:]}"
    n_ends = sum(run.seen[what] for what in ENDS)
    assert n_ends <= 1, f"{n_ends} terminal events"
    if run.seen["ack"] and n_ends == 0:
        assert run.status == 1 or may_be_mute, f"no terminal event, status {run.status}: {said[-300:]}"


def check_kept(way, base, env, run):
    if not run.seen["ack"] or run.seen["lost"]:
        return
    try:
        text = way.kept(base, env, run.path)
    except (Gone, RuntimeError, OSError, LookupError) as why:
        raise AssertionError(f"cannot be resumed: {why}") from None
    assert PROMPT in text, f"the prompt is lost: {text[:300]}"
    if run.is_complete:
        assert ANSWER in text, f"the answer is lost: {text[:300]}"


def play(way, place, number, wrap=(), strike=None, statuses=(0,),
         may_be_mute=False):
    """Plays a turn under `wrap`; strike: a signal, so many seconds after the prompt;
    may_be_mute: what it has to say may fail to leave."""
    base = os.path.join(place, f"run{number}")
    home = os.path.join(base, "home")
    workspace = os.path.join(base, "workspace")
    os.makedirs(home)
    os.makedirs(workspace)
    model = f"rehearsal/{place}/{way.name}.json"
    env = {"HOME": home, "TRIVET_MODEL": model, "XDG_STATE_HOME": f"{home}/state",
           "TRIVET_STALL_MS": "8000"}
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        env[name] = f"{home}/{name.lower()}"
    args = [*way.args, model] if way.args else []
    run = Run()
    try:
        with way.kind(args, cwd=workspace, env=env, wrap=wrap) as c:
            converse(way, c, run, strike)
            run.path = getattr(c, "path", None)  # of the session, where the client knows it
            finish(c, run)
        run.is_complete = run.seen["done"] == 1 and ANSWER in run.text
        if not run.is_impossible:
            check_run(run, statuses, may_be_mute)
        check_kept(way, workspace, env, run)
    except AssertionError as why:
        run.fault = str(why)
    shutil.rmtree(base, ignore_errors=True)
    return run


# ---- system calls ----

# They cannot fail (brk reports a failure by what it returns, close closes whatever it says, a futex
# that is woken is woken), or the program is over then.
NOT_FAILED = {"execve", "exit", "exit_group", "rt_sigreturn", "restart_syscall", "vfork", "wait4",
              "waitid", "getpid", "gettid", "getuid", "geteuid", "getgid", "getegid", "getppid",
              "getpgrp", "brk", "close", "arch_prctl", "set_tid_address", "set_robust_list", "rseq",
              "rt_sigaction", "rt_sigprocmask", "sched_yield", "uname", "sysinfo", "futex"}
ERRORS = {"mmap": "ENOMEM", "brk": "ENOMEM", "munmap": "ENOMEM", "mprotect": "ENOMEM",
          "mremap": "ENOMEM", "openat": "EMFILE", "open": "EMFILE", "pipe2": "EMFILE",
          "socketpair": "EMFILE", "socket": "EMFILE", "dup": "EMFILE", "dup2": "EBADF",
          "dup3": "EBADF", "fcntl": "EMFILE", "eventfd2": "EMFILE", "epoll_create1": "EMFILE",
          "epoll_ctl": "ENOSPC", "clone3": "EAGAIN", "clone": "EAGAIN", "fork": "EAGAIN",
          "write": "ENOSPC", "writev": "ENOSPC", "pwrite64": "ENOSPC", "ftruncate": "ENOSPC",
          "mkdir": "ENOSPC", "rename": "ENOSPC", "renameat2": "ENOSPC", "link": "ENOSPC",
          "epoll_pwait": "EINTR", "epoll_wait": "EINTR", "poll": "EINTR",
          "flock": "ENOLCK", "getrandom": "EINTR", "pidfd_open": "EMFILE"}


def count_calls(way, place):
    """(first, last) of each system call to fail: those of the thread that makes most of them,
    without those of the loader in the main thread."""
    log = os.path.join(place, f"{way.name}.trace")
    run = play(way, place, f"-count-{way.name}", ("strace", "-f", "-qq", "-o", log))
    assert not run.fault and run.is_complete, (run.fault, run.seen, run.stderr)
    by_thread, loaded = collections.Counter(), None
    with open(log, encoding="utf-8", errors="replace") as file:
        for line in file:
            if (m := re.match(r"(\d+)\s+(\w+)\(", line)):
                by_thread[m.groups()] += 1
                if loaded is None and m[2] == "epoll_create1":
                    loaded = {name: n for (_, name), n in by_thread.items()}
    calls = collections.Counter()
    for (_, name), n in by_thread.items():
        calls[name] = max(calls[name], n)
    return {name: (loaded.get(name, 0) + 1, n) for name, n in calls.items()
            if name not in NOT_FAILED}


def call_runs(way, place, every, only):
    for name, (first, last) in sorted(count_calls(way, place).items()):
        if only and name != only:
            continue
        for when in range(first, last + 1, every):
            error = ERRORS.get(name, "EIO")
            wrap = ("strace", "-f", "--seccomp-bpf", "-qq", "-o", os.devnull, "-e", f"trace={name}",
                    "-e", f"inject={name}:error={error}:when={when}")
            yield f"{way.name} {name}#{when} {error}", {
                "wrap": wrap, "statuses": (0, 1), "may_be_mute": name == "write"}


# ---- signals ----

SIGNALS = ("TERM", "HUP", "INT", "PIPE", "USR1", "USR2", "ALRM", "CHLD", "CONT", "WINCH", "URG",
           "XFSZ", "IO")
ENDING = ("TERM", "HUP", "INT")
SPAN_S = 0.25  # a little more than a turn takes


def signal_runs(way, moments, only, rng):
    for name in SIGNALS:
        if only and name != only:
            continue
        signo = getattr(signal, f"SIG{name}")
        end = 128 + signo if way is Flux else 0
        statuses = (end, 0) if name in ENDING else (0,)
        for moment in range(moments):
            delay = rng.uniform(0, SPAN_S)
            yield f"{way.name} SIG{name} #{moment} after {delay * 1000:.1f} ms", {
                "strike": (delay, signo), "statuses": statuses}


def strike_later(c, delay, signo):
    def strike():
        if c.process.poll() is None:
            c.process.send_signal(signo)
    threading.Timer(delay, strike).start()


# ---- all of them ----

def sweep(kind, dialects, place, every=1, moments=100, only=None, seed=1, workers=2):
    """Runs them and returns (number of runs, outcomes, faults)."""
    rng = random.Random(seed)
    outcomes, faults, n = collections.Counter(), [], 0
    for dialect in dialects:
        began = time.monotonic()
        way = WAYS[dialect]
        with open(f"{place}/{dialect}.json", "w", encoding="ascii") as file:
            json.dump(scenario(way.tool), file)
        runs = list(call_runs(way, place, every, only) if kind == "calls"
                    else signal_runs(way, moments, only, rng))
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            jobs = {pool.submit(play, way, place, f"{dialect}{i}", **how): name
                    for i, (name, how) in enumerate(runs)}
            for job in concurrent.futures.as_completed(jobs):
                name, run = jobs[job], job.result()
                n += 1
                outcome = ("fault" if run.fault else "libuv's lock was lost" if run.is_impossible
                           else "whole turn" if run.is_complete
                           else "turn ended early" if any(run.seen[what] for what in ENDS)
                           else "ended with a sentence" if run.status else "ended")
                outcomes[outcome] += 1
                if run.fault:
                    faults.append(f"{name}: {run.fault}")
                    print(f"FAIL {name}: {run.fault[:700]}", flush=True)
        print(f"{dialect}: {len(runs)} runs in {time.monotonic() - began:.0f} s", flush=True)
    return n, outcomes, faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("kind", choices=("calls", "signals"))
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--moments", type=int, default=100)
    parser.add_argument("--dialect", choices=WAYS)
    parser.add_argument("--only")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with harness.private_place() as place:
        os.environ.update(harness.clean_env(place))
        n, outcomes, faults = sweep(given.kind, [given.dialect] if given.dialect else list(WAYS),
                                    place, given.every, given.moments, given.only, given.seed)
    output = ", ".join(f"{count} {what}" for what, count in outcomes.most_common())
    print(f"{n} runs: {output}")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
