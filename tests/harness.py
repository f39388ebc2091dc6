# SPDX-License-Identifier: MIT
"""What every test program needs: a private home, a clean environment, a way to count.

The environment is built from nothing: only the names in KEPT come from the caller, so that no
key, proxy or setting of the developer reaches a test, and no test writes into their home.
"""
import contextlib
import functools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import evidence

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KEPT = ("PATH", "USER", "LOGNAME", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS",
        "TRIVET_NEED_MODULES", "TRIVET_SLOW", "TRIVET_EVIDENCE", "TRIVET_SKIPPED",
        "TRIVET_SEED", "TRIVET_DEBUG_ROUNDS")

# Lines that the tools under which trivet runs write to stderr, and trivet does not.
TOOL_NOISE = ("WARNING: ASan doesn't fully support makecontext/swapcontext",
              "Tracer caught signal", "LeakSanitizer has encountered a fatal error",
              "HINT: For debugging, try setting environment variable LSAN_OPTIONS",
              "HINT: LeakSanitizer does not work under ptrace")
# What trivet says where the machine gives the sandbox no namespaces, as in most containers.
WEAK_SANDBOX = "this kernel cannot enforce all of the sandbox: "
# Signs of a fault that a program can survive or report after its last answer.
FAULTS = ("ERROR: AddressSanitizer", "ERROR: LeakSanitizer", "runtime error:", "BUG:")


def slow():
    """How much longer everything may take, because of sanitizers or valgrind."""
    return float(os.environ.get("TRIVET_SLOW", "1"))


def seed():
    """Of the random numbers of a script: always the same, so that ./test repeats itself, unless
    TRIVET_SEED is a number, or `random`.  It is printed."""
    word = os.environ.get("TRIVET_SEED", "1")
    number = random.SystemRandom().randrange(10 ** 9) if word == "random" else int(word)
    print(f"seed {number}", flush=True)
    return number


def pace():
    """How much slower than usual the processor is now, by a fixed piece of work: 1 on the machine on
    which bounds of processor time were set, when it is quiet; never less."""
    usual_s = 0.010
    rows = json.dumps([{"id": i, "text": "some words " * 5, "n": [i, i + 1]} for i in range(200)])

    def piece():
        begun = time.thread_time()
        for _ in range(20):
            json.loads(json.dumps(json.loads(rows)))
        sum(i * i % 7 for i in range(60000))
        return time.thread_time() - begun

    return max(1, sorted(piece() for _ in range(5))[2] / usual_s)


class Stopwatch:
    """Measures in seconds of a quiet machine without sanitizers: a thread measures all the while how
    long 10 ms of processor time take, as anything else that is ready to run then does."""

    def __init__(self):
        self.cpu_s = self.wall_s = 0
        self.over = threading.Event()
        self.sample()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.begun = time.monotonic()
        self.thread.start()

    def sample(self):
        begun, cpu = time.monotonic(), time.thread_time()
        while time.thread_time() - cpu < 0.01:
            pass
        self.wall_s += time.monotonic() - begun
        self.cpu_s += time.thread_time() - cpu

    def watch(self):
        while not self.over.wait(0.1):
            self.sample()

    def seconds(self, end=None):
        """Until now, or until `end` (time.monotonic); measures no longer."""
        took = (end or time.monotonic()) - self.begun
        self.over.set()
        self.thread.join()
        self.sample()
        return took * min(1, self.cpu_s / self.wall_s) / slow()


def unhurried(attempt, gap_s=0.2, attempts=10):
    """For what holds only while a test types fast: calls attempt(i, tick) until no two ticks of it lay
    further apart, which a loaded machine cannot promise.  It returns what it saw, judged afterwards."""
    for i in range(attempts):
        times = []
        seen = attempt(i, lambda: times.append(time.monotonic()))
        if all(late - soon < gap_s for soon, late in zip(times, times[1:])):
            return seen
    skip("typing fast enough", "a machine that is too busy")
    return None


def clean_env(base):
    """An environment whose home and XDG directories lie below `base`, all freshly made."""
    env = {name: os.environ[name] for name in KEPT if name in os.environ}
    env.update(LANG="C.UTF-8", LC_ALL="C.UTF-8", TZ="UTC", SHELL="/bin/sh")
    env.setdefault("LSAN_OPTIONS", f"suppressions={TOP}/tests/lsan.supp:print_suppressions=0")
    places = {"HOME": "home", "XDG_CONFIG_HOME": "xdg/config", "XDG_DATA_HOME": "xdg/data",
              "XDG_STATE_HOME": "xdg/state", "XDG_CACHE_HOME": "xdg/cache",
              "XDG_RUNTIME_DIR": "xdg/run", "TMPDIR": "tmp"}
    for name, place in places.items():
        env[name] = os.path.join(base, place)
        os.makedirs(env[name], 0o700, exist_ok=True)
    return env


@contextlib.contextmanager
def private_place():
    """A temporary directory that goes away, together with every process that was born in it."""
    base = tempfile.mkdtemp(prefix="trivet-test-")
    try:
        yield base
    finally:
        for pid in processes_of(base):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        evidence.keep(base)
        shutil.rmtree(base, ignore_errors=True)


def processes_of(base):
    """Living processes whose environment names `base`: what a test started, however deep."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        with contextlib.suppress(OSError), open(f"/proc/{entry}/environ", "rb") as file:
            if f"{base}/".encode() in file.read() and not is_dead(entry):
                found.append(int(entry))
    return found


def is_dead(pid):
    """A process may go between the opening of its file and the reading."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except (FileNotFoundError, ProcessLookupError):
        return True


def left_behind(base, patience=10):
    """Command lines of the processes of `base` that are still there after `patience` seconds."""
    end = time.monotonic() + patience * slow()
    while (pids := processes_of(base)) and time.monotonic() < end:
        time.sleep(0.02)
    lines = []
    for pid in pids:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
            lines.append(f"{pid} {file.read().replace(bytes(1), b' ').decode(errors='replace')}")
    return lines


def children(pid):
    """Process ids, none when it has gone."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{pid}/children",
                                            encoding="ascii") as file:
        return [int(word) for word in file.read().split()]
    return []


def confined_child(pid):
    """A child that has put the sandbox on, the filter being the last of it; or None."""
    for child in children(pid):
        with contextlib.suppress(OSError), open(f"/proc/{child}/status", encoding="ascii") as file:
            if "Seccomp:\t2" in file.read():
                return child
    return None


def has_mounts(program):
    """Whether the sandbox gets a mount namespace here."""
    reported = subprocess.run([program, "doctor"], capture_output=True, text=True, check=False)
    return re.search(r"ok +mounts", reported.stdout) is not None


@functools.lru_cache
def has_namespaces():
    """Whether this machine gives the sandbox user and mount namespaces."""
    return has_mounts(os.environ.get("TRIVET") or f"{TOP}/build/trivet")


@functools.lru_cache
def has_terminals():
    """Whether pseudo-terminals can be made: a container may lack /dev/pts."""
    try:
        for fd in os.openpty():
            os.close(fd)
    except OSError:
        return False
    return True


def skip(what, reason="no namespaces"):
    """Counts a test that this machine does not allow; ./test names it at its end."""
    print(f"skipped: {what}: {reason}")
    if path := os.environ.get("TRIVET_SKIPPED"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{reason}\t{what}\n")


def _needs(test, has, reason):
    @functools.wraps(test)
    def run(*args):
        if has():
            return test(*args)
        return skip(f"{os.path.basename(sys.argv[0])[:-3]}: {test.__name__}", reason)
    return run


def needs_namespaces(test):
    """Decorates a function of a test that is skipped where there are none."""
    return _needs(test, has_namespaces, "no namespaces")


def needs_terminals(test):
    return _needs(test, has_terminals, "no terminals")


def without_noise(stderr):
    """stderr (text) without the lines that come from tools, nor the warning that is expected where
    there are no namespaces."""
    noise = TOOL_NOISE if WEAK_SANDBOX not in stderr or has_namespaces() else TOOL_NOISE + (WEAK_SANDBOX,)
    return "".join(line for line in stderr.splitlines(True)
                   if not any(words in line for words in noise))


def has_checker_crashed(output):
    """Whether the leak checker itself failed: it stops all threads at the end, and may crash over
    one that is just starting.  Its status then says nothing about the program, and the test is run
    once more."""
    return "LeakSanitizer has encountered a fatal error" in output \
        and not any(fault in output for fault in FAULTS)


def workers():
    """Tests that run at once: two more than there are processors, since they wait a good deal."""
    return len(os.sched_getaffinity(0)) + 2


def finish(passed, failed):
    """The last line of every test program, and its exit status."""
    print(f"{passed} passed, {failed} failed", flush=True)
    sys.exit(1 if failed else 0)
