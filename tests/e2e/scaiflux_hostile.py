#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A hostile controller: random valid and invalid lines, half lines, floods, pauses, closed pipes and
signals.  Whatever it does, the program writes a valid stream of events (schema and order), answers
every line as often as it should, ends in time with the right status, and leaves no process behind.

    scaiflux_hostile.py [SECONDS] [SEED]

The seed is printed; a failing round prints its own, and `scaiflux_hostile.py 0 SEED` plays just that
round again.  covers: scaiflux 1, 2, 3, 115, 120, 132, 133, 156, 158, 159
"""
import json
import os
import random
import select
import signal
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import client           # noqa: E402
import harness          # noqa: E402
import scaiflux_stream  # noqa: E402

LIMIT = 15              # seconds in which the program must take a line, answer, or end
SYNTAX = {"line_too_long", "invalid_utf8", "parse_error", "not_an_object", "unknown_type",
          "unknown_field", "missing_field", "invalid_field"}
# What the model does when the prompt holds a word.
SCENARIOS = {
    "stream": [[{"say": "word " * 300, "pause_ms": 1}]],
    "burst": [[{"say": "much text " * 20000, "piece": 2000}]],
    "write": [[{"call": "write_file", "args": {"path": "a.txt", "content": "x"}},
               {"call": "read_file", "args": {"path": "a.txt"}}], [{"say": "done"}]],
    "shell": [[{"say": "running"}, {"call": "bash", "args": {
        "command": "(sleep 0.4; echo late) & echo early; sleep 0.2; wait"}}], [{"say": "ran"}]],
    "family": [[{"call": "bash", "args": {"command": "sleep 30 & sleep 30 & echo two; exit 3"}}],
               [{"say": "left"}]],
    "many": [[{"call": "glob_search", "args": {"pattern": "**/*"}},
              {"call": "nothing", "args": {}},
              {"call": "edit_file", "args": {"path": 5}},
              {"call": "bash", "args": {"command": "echo out; echo err >&2; false"}}]] * 3
            + [[{"say": "enough"}]],
    "fail": [[{"say": "begins"}, {"fail": 400}]],
    "cut": [[{"say": "half a sen"}, {"cut": True}]],
    "wait": [[{"wait_ms": 300}, {"say": "\u2028 \U0001f600 \u0000 end"}]],
}
COMMANDS = ["help", "?", "version", "status", "context", "cost", "tools", "model", "permissions",
            "mode", "gadget", "gadgets", "compact", "clear", "memory", "config", "diff", "export",
            "session", "save", "init", "resume", "/status", "nonsense", "", "//", "Help"]
ARGS = ["", "", "", " ", "on web", "off todo", "on skills", "off web", "read-only", "plan", "prompt",
        "list", "model", "mode", "gadgets", "x" * 300, "../out.md", "talk.md", "\u0000", "on", "\n"]


def dumps(rng, value):
    return json.dumps(value, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")


class Round:
    """One process and everything that is done to it."""

    def __init__(self, seed, base):
        self.rng = random.Random(seed)
        self.base = base
        self.workspace = os.path.join(base, "workspace")
        os.makedirs(self.workspace, exist_ok=True)
        self.model = os.path.join(base, "model.json")
        with open(self.model, "w", encoding="utf-8") as file:
            json.dump({"turns": [{"when": word, "rounds": rounds} for word, rounds
                                 in SCENARIOS.items()],
                       "rounds": [[{"say": "hello"}]]}, file)
        self.stream = scaiflux_stream.Stream()
        self.wanted = {"bad": 0, "slash": 0, "prompt": 0, "unsure": 0}
        self.got = {"bad": 0, "slash": 0, "prompt": 0}
        self.requests = ["r-1", "r-0", "r-999", "nonsense", ""]
        self.problem = None
        self.may_read = threading.Event()
        self.may_read.set()
        self.is_out_closed = self.is_counting = False
        self.wrote = []             # the last things sent, for the report
        self.start()

    def start(self):
        mode = self.rng.choice(["read-only", "workspace-write", "danger-full-access", "prompt",
                                "plan"])
        argv = [client.PROGRAM, "scaiflux", "serve", "-w", self.workspace, "--permission-mode", mode,
                "--model", "rehearsal/" + self.model, "--max-iterations",
                str(self.rng.choice([1, 2, 20]))]
        with open(os.path.join(self.base, "stderr"), "wb") as stderr:
            self.process = subprocess.Popen(argv, env=os.environ, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=stderr, bufsize=0)
        os.set_blocking(self.process.stdin.fileno(), False)
        self.reader = threading.Thread(target=self.read_all, daemon=True)
        self.reader.start()

    # -- listening --

    def read_all(self):
        fd, rest = self.process.stdout.fileno(), b""
        try:
            while not self.is_out_closed:
                if not self.may_read.wait(0.05) or not select.select([fd], [], [], 0.05)[0]:
                    continue
                data = os.read(fd, 65536)
                if not data:
                    break
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self.take(line)
            if rest and not self.is_out_closed:
                raise scaiflux_stream.Broken(f"half a line at the end: {rest[:200]}")
        except (scaiflux_stream.Broken, ValueError) as why:
            self.problem = f"{type(why).__name__}: {why}"

    def take(self, line):
        message = json.loads(line.decode("utf-8"))
        self.stream.take(message)
        kind = message["type"]
        if kind == "permission_request":
            self.requests.append(message["request_id"])
        elif kind == "slash_result":
            self.got["slash"] += 1
        elif kind == "turn_started":
            self.got["prompt"] += 1
        elif kind == "error" and "turn_id" not in message:
            if message["code"] in SYNTAX:
                self.got["bad"] += 1
            elif message["code"] in ("empty_prompt", "turn_in_progress"):
                self.got["prompt"] += 1

    # -- speaking --

    def write(self, data):
        """All of data, unless the program is gone; a program that does not read is a failure."""
        self.wrote = (self.wrote + [data[:80]])[-20:]
        fd, at, end = self.process.stdin.fileno(), 0, time.monotonic() + LIMIT * harness.slow()
        while at < len(data):
            if not select.select([], [fd], [], 0.05)[1]:
                if self.process.poll() is not None:
                    return False
                if not self.may_read.is_set():
                    self.may_read.set()     # it may wait for us
                assert time.monotonic() < end, "the program does not read its input"
                continue
            try:
                at += os.write(fd, data[at:at + 65536])
            except BlockingIOError:
                time.sleep(0.001)
            except BrokenPipeError:
                return False
        return True

    def say(self, data, kind):
        """A whole line of a kind that is counted, in pieces at times."""
        end = self.rng.choice([b"\n", b"\n", b"\n", b"\r\n", b" \n"])
        pieces = [data + end]
        if self.rng.random() < 0.2:
            cut = self.rng.randrange(len(data) + 1)
            pieces = [data[:cut], data[cut:] + end]
        for i, piece in enumerate(pieces):
            if i:
                time.sleep(self.rng.random() * 0.02)
            if not self.write(piece):
                return
        if kind:
            self.wanted[kind] += 1

    def prompt(self):
        word = self.rng.choice([*SCENARIOS, "hello", " ", "", "/help", "stream"])
        self.say(dumps(self.rng, {"type": "prompt", "text": word}), "prompt")

    def slash(self):
        message = {"type": "slash", "command": self.rng.choice(COMMANDS)}
        if self.rng.random() < 0.7:
            message["args"] = self.rng.choice(ARGS)
        self.say(dumps(self.rng, message), "slash")

    def interrupt(self):
        self.say(b'{"type":"interrupt"}', None)

    def permit(self):
        message = {"type": "permission_response", "decision": self.rng.choice(["allow", "deny"]),
                   "request_id": self.requests[-1] if self.rng.random() < 0.8
                   else self.rng.choice(self.requests)}
        if self.rng.random() < 0.5:
            message["reason"] = self.rng.choice([None, "", "no", "because \u2028 so"])
        self.say(dumps(self.rng, message), None)

    def bad_line(self):
        rng = self.rng
        return rng.choice([
            b"not json", b"[]", b"5", b'"x"', b"null", b"{}", b'{"type":7}', b'{"type":"ready"}',
            b'{"type":"prompt"}', b'{"type":"prompt","text":5}', b'{"type":"prompt","text":null}',
            b'{"type":"prompt","text":"a","extra":1}', b'{"type":"shutdown","now":true}',
            b'{"type":"interrupt","x":{}}', b'{"type":"slash","command":"exit","args":null}',
            b'{"type":"permission_response","request_id":"r-1","decision":"ALLOW"}',
            b'{"type":"permission_response","request_id":"r-1","decision":"allow","decision":"deny"}',
            b'{"type":"prompt","text":"\\ud800"}', b'{"type":"prompt","text":"\xff\xfe"}',
            b'{"type":"prompt","text":"a"} trailing', b'{"type":"Prompt","text":"a"}',
            b"[" * rng.randrange(1, 5000), b'{"a":' * 100 + b"1" + b"}" * 100, b'{"type":"prompt",}',
            b"\xef\xbb\xbf{\"type\":\"interrupt\"} \xef\xbb\xbf", b"{'type':'interrupt'}", b"NaN",
            b"\x01\x02", b'{"type":"prompt","text":"\x01"}'])

    def refuse(self):
        self.say(self.bad_line(), "bad")

    def too_long(self):
        self.say(b'{"type":"prompt","text":"' + b"x" * (17 << 20) + b'"}', "bad")

    def mutate(self):
        """A good line with one byte changed: who knows what it is."""
        line = bytearray(dumps(self.rng, {"type": "permission_response", "request_id": "r-1",
                                          "decision": "allow", "reason": "x"}))
        line[self.rng.randrange(len(line))] = self.rng.choice(b"\"{}[]:,x0 \xff\x00\\")
        self.say(bytes(line), "unsure")

    def blank(self):
        self.write(self.rng.choice([b"\n", b" \n", b"\r\n", b"\t \n"]))

    def flood(self):
        n = self.rng.randrange(20, 400)
        if self.rng.random() < 0.5:
            self.may_read.clear()
        lines, kinds = [], []
        for _ in range(n):
            if self.rng.random() < 0.5:
                lines.append(b'{"type":"slash","command":"help"}')
                kinds.append("slash")
            else:
                lines.append(self.bad_line())
                kinds.append("bad")
        if self.write(b"\n".join(lines) + b"\n"):
            for kind in kinds:
                self.wanted[kind] += 1
        self.may_read.set()

    def pause(self):
        self.may_read.clear()
        time.sleep(self.rng.random() * 0.1)
        self.may_read.set()

    def rest(self):
        time.sleep(self.rng.random() * 0.05)

    def play(self):
        actions = [(self.prompt, 6), (self.slash, 6), (self.interrupt, 2), (self.permit, 8),
                   (self.refuse, 4), (self.mutate, 1), (self.blank, 1), (self.pause, 1),
                   (self.rest, 8), (self.flood, 0.3), (self.too_long, 0.02)]
        todo = self.rng.choices([a for a, _ in actions], [w for _, w in actions],
                                k=self.rng.randrange(1, 60))
        for action in todo:
            action()
            if self.problem:
                break
        self.rng.choice([self.end_input, self.end_input, self.shut_down, self.say_exit, self.die,
                         self.close_output])()

    # -- ends --

    def exit_status(self):
        try:
            return self.process.wait(LIMIT * harness.slow())
        except subprocess.TimeoutExpired:
            raise AssertionError("the program does not end") from None

    def expect(self, *wanted):
        status = self.exit_status()
        assert status in wanted, f"exit status {status}, expected {wanted}"
        self.reader.join(LIMIT * harness.slow())

    def end_input(self):
        if self.rng.random() < 0.3:
            self.write(self.rng.choice([b'{"type":"inte', b"   ", b'{"type":"slash","command":"x"}']))
            self.wanted["unsure"] += 1      # a last line without its end
        self.is_counting = True
        self.process.stdin.close()
        self.expect(0)

    def shut_down(self):
        self.say(b'{"type":"shutdown"}', None)
        self.is_counting = True
        self.write(b'{"type":"prompt","text":"hello"}\nnot json\n')     # nobody reads this
        self.expect(0)

    def say_exit(self):
        self.say(b'{"type":"slash","command":"exit"}', "slash")
        self.is_counting = True
        self.expect(0)

    def die(self):
        signo = self.rng.choice([signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
        time.sleep(self.rng.random() * 0.05)
        is_ready = self.stream.is_ready     # before that the signal may meet no handler yet
        self.process.send_signal(signo)
        self.expect(128 + signo, *([] if is_ready else [-signo]))

    def close_output(self):
        self.is_out_closed = True
        self.reader.join(LIMIT * harness.slow())
        self.process.stdout.close()
        end = time.monotonic() + LIMIT * harness.slow()
        while self.process.poll() is None:
            assert time.monotonic() < end, "nobody reads and it does not end"
            self.write(b'{"type":"slash","command":"version"}\n')
            time.sleep(0.01)
        assert self.process.returncode == 1, f"exit status {self.process.returncode}"

    # -- the verdict --

    def check(self):
        assert not self.problem, self.problem
        if not self.is_out_closed:
            self.stream.end()
        if self.is_counting:
            spare = self.wanted["unsure"]
            for kind, n in self.got.items():
                assert self.wanted[kind] <= n <= self.wanted[kind] + spare, \
                    f"{kind}: {n} answers to {self.wanted[kind]} lines ({spare} unsure)"
        with open(os.path.join(self.base, "stderr"), encoding="utf-8", errors="replace") as file:
            text = harness.without_noise(file.read())
        assert not any(fault in text for fault in harness.FAULTS), text[-2000:]
        if behind := harness.left_behind(self.base):
            raise AssertionError("left behind: " + "; ".join(behind))

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.may_read.set()
        self.is_out_closed = True
        self.reader.join(5)
        self.process.stdout.close()
        self.process.stdin.close()


TOTALS = {"bad": 0, "slash": 0, "prompt": 0}


def play(seed):
    """None, or what went wrong."""
    with harness.private_place() as base:
        os.environ.update(harness.clean_env(base))
        one = Round(seed, base)
        try:
            one.play()
            one.check()
            return None
        except (AssertionError, scaiflux_stream.Broken) as why:
            return f"{why}\n    last sent: {one.wrote}"
        finally:
            one.close()
            for kind, n in one.got.items():
                TOTALS[kind] += n


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 8
    seed = sys.argv[2] if len(sys.argv) > 2 else str(harness.seed())
    print(f"seed {seed}", flush=True)
    # Started by nohup or in the background these are ignored, and the program would inherit that.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    passed = failed = 0
    end = time.monotonic() + seconds
    while (passed + failed == 0 or time.monotonic() < end) and failed < 5:
        one = seed if seconds == 0 else f"{seed}.{passed + failed}"
        if why := play(one):
            print(f"FAIL round {one}: {why}", flush=True)
            failed += 1
        else:
            passed += 1
    print("{bad} lines refused, {slash} commands, {prompt} prompts answered".format(**TOTALS))
    harness.finish(passed, failed)


main()
