#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plays talks: conversations with the real program over real pipes.  README.md has the format.

    run.py --binary build/trivet                    all talks below this folder
    run.py --binary build/trivet loaf/ping          those whose path contains a word
    run.py --binary build/trivet --bytewise         everything is sent one byte at a time
    run.py --sample 6                               one in six of them, unless words are given
"""
import argparse
import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys
import time
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import evidence     # noqa: E402
import harness      # noqa: E402
import pattern      # noqa: E402
import process      # noqa: E402
import rpc_stream   # noqa: E402
import scaiflux_stream  # noqa: E402
import script       # noqa: E402

PATIENCE = 30       # seconds for one expected message


class Failed(Exception):
    pass


class Player:
    """One talk being played in a directory of its own."""
    def __init__(self, talk, binary, bytewise, base):
        self.talk, self.binary, self.bytewise, self.base = talk, binary, bytewise, base
        self.env = harness.clean_env(base)
        self.workspace = os.path.join(base, "workspace")
        os.makedirs(self.workspace)
        self.texts = {"WORKSPACE": self.workspace, "HOME": self.env["HOME"]}
        self.names = {}             # what $name is bound to
        self.program = None
        self.dialect = self.frame = None
        self.exit_wanted = 0
        self.has_exited = False
        self.servers = []           # provider, issuer, lists
        self.requests = None        # the provider's log
        self.n_requests = 0         # of it, already looked at
        self.patience = PATIENCE
        self.skip_until = self.ignore_rest = self.stderr_empty = False
        self.stderr_regex = None
        self.transcript = []
        self.is_checker = False     # it failed because the leak checker crashed

    # -- playing ----------------------------------------------------------------------------

    def play(self):
        step = None
        try:
            for step in self.talk.steps:
                if step.kind == "needs":
                    if self.lacks(step):
                        break
                    continue
                getattr(self, "do_" + step.kind.replace("-", "_"))(step)
            if self.program or step.kind != "needs":
                self.end_program()
            self.stop_servers()
            if behind := harness.left_behind(self.base):
                raise Failed("left a process behind: " + "; ".join(behind))
        except (Failed, process.Broken, pattern.Mismatch, script.BadTalk, OSError) as error:
            return self.report(step, error)
        finally:
            if self.program:
                self.program.kill()
            self.stop_servers()
        return None

    def lacks(self, step):
        """Whether the machine does not allow what follows in the talk."""
        if step.text != "namespaces":
            raise Failed(f"@needs knows namespaces, not {step.text}")
        if harness.has_namespaces():
            return False
        harness.skip(f"{os.path.relpath(self.talk.path, HERE)}:{step.line}")
        return True

    def report(self, step, error):
        line = step.line if step else 1
        text = f"FAIL {os.path.relpath(self.talk.path, HERE)}:{line}: {error}\n"
        text += "".join(f"    {entry}\n" for entry in self.transcript[-12:])
        if self.program:
            stderr = harness.without_noise(self.program.stderr())
            text += "".join(f"    stderr: {one}\n" for one in stderr.splitlines()[:60])
        return text

    def note(self, mark, text):
        self.transcript.append(mark + " " + (text if len(text) <= 400 else text[:400] + "..."))

    def fill(self, text):
        """Puts in $WORKSPACE, $HOME, $PORT, $REQUESTS and the like."""
        return re.sub(r"\$(WORKSPACE|HOME|PORT|REQUESTS|ISSUER|ISSUED|LISTS|LISTED)\b",
                      lambda found: self.texts.get(found[1], found[0]), text)

    def seconds(self, step):
        return int(step.text) / 1000

    def limit(self):
        return self.patience * harness.slow()

    def running(self):
        if not self.program:
            raise Failed("nothing was started yet")
        return self.program

    # -- before the start -------------------------------------------------------------------

    def do_workspace(self, step):
        """The workspace is always there and always fresh; the line only says that it matters."""

    def do_env(self, step):
        name, _, value = self.fill(step.text).partition("=")
        self.env[name] = value

    def path(self, text):
        return os.path.join(self.workspace, self.fill(text))

    def do_file(self, step):
        os.makedirs(os.path.dirname(self.path(step.text)), exist_ok=True)
        with open(self.path(step.text), "w", encoding="utf-8") as file:
            file.write(self.fill(step.body or ""))

    def do_sh(self, step):
        done = subprocess.run(["sh", "-c", pattern.fill(self.fill(step.text), self.names, str)],
                              cwd=self.workspace, env=dict(self.env, TRIVET=self.binary),
                              stdin=subprocess.DEVNULL, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace",
                              timeout=60)
        if done.returncode:
            raise Failed(f"`{step.text}` ended with {done.returncode}: "
                         + done.stdout.strip()[-400:])

    def do_frame(self, step):
        self.frame = step.text

    # -- the program ------------------------------------------------------------------------

    def do_run(self, step):
        args = shlex.split(pattern.fill(self.fill(step.text), self.names, str))
        self.start([self.binary] + args, args[0])

    def do_run_as(self, step):
        args = shlex.split(self.fill(step.text))
        link = os.path.join(self.base, "bin", args[0])
        os.makedirs(os.path.dirname(link), exist_ok=True)
        if not os.path.islink(link):
            os.symlink(self.binary, link)
        self.start([link] + args[1:], args[0])

    def start(self, argv, first):
        if self.program:
            self.end_program()
            self.exit_wanted, self.has_exited, self.ignore_rest = 0, False, False
        self.dialect = first if first in script.DIALECTS else None
        frame = self.frame or {None: "text", "kward": "length"}.get(self.dialect, "lines")
        self.note("$", " ".join(argv))
        self.stream = None if self.dialect is None else scaiflux_stream.Stream() \
            if self.dialect == "scaiflux" else rpc_stream.Stream(self.binary, self.dialect)
        self.program = process.Process(argv, self.env, self.workspace, frame,
                                       os.path.join(self.base, "stderr"), self.bytewise)

    def end_program(self):
        """Closes stdin if that is still open, waits for the exit, looks at what is left over."""
        program = self.running()
        if not self.has_exited:
            program.close_stdin()
            self.wait_exit()
        while (message := program.next(self.limit())) is not process.END:
            if message is None:
                raise Failed("stdout stays open after the exit")
            self.note("<", message)
            if self.ignore_rest:
                self.understand(message)
                continue
            raise Failed("a message that nobody expected (@ignore-rest allows it): "
                         + message[:200])
        if self.dialect == "scaiflux" and self.exit_wanted in (0, 129, 130, 143):
            self.check_end()
        stderr = harness.without_noise(program.stderr())
        if any(fault in stderr for fault in harness.FAULTS):
            raise Failed("stderr reports a fault")
        if self.stderr_empty and stderr:
            raise Failed("stderr is not empty")
        if self.stderr_regex and not re.search(self.stderr_regex, stderr):
            raise Failed(f"stderr is not like {self.stderr_regex!r}")

    def check_end(self):
        try:
            self.stream.end()
        except scaiflux_stream.Broken as error:
            raise Failed(str(error)) from None

    def wait_exit(self):
        program = self.running()
        program.may_read.set()
        status = program.wait(self.limit())
        if status is None:
            raise Failed(f"still running, expected exit status {self.exit_wanted}")
        self.has_exited = True
        if status != self.exit_wanted:
            self.is_checker = status == 1 and harness.has_checker_crashed(program.stderr())
            raise Failed(f"exit status {status}, expected {self.exit_wanted}")

    def do_expect_exit(self, step):
        self.exit_wanted = int(step.text)
        if self.program:
            self.wait_exit()

    def do_close(self, step):
        self.note(">", "(end of input)")
        self.running().close_stdin()

    def do_signal(self, step):
        self.note(">", f"(signal {step.text})")
        self.running().signal(step.text)

    def do_sleep(self, step):
        time.sleep(self.seconds(step))

    def do_hold(self, step):
        self.running().may_read.clear()

    def do_may_be_gone(self, step):
        self.running().may_be_gone = True

    def do_unsplit(self, step):
        self.running().bytewise = False

    def do_release(self, step):
        self.running().may_read.set()

    def do_stderr_empty(self, step):
        self.stderr_empty = True

    def do_stderr(self, step):
        self.stderr_regex = self.fill(step.text)

    def do_ignore_rest(self, step):
        self.ignore_rest = True

    # -- sending ----------------------------------------------------------------------------

    def do_send(self, step):
        text = pattern.fill_json(self.fill(step.text), self.names)
        try:
            message = json.loads(text)
        except ValueError as error:
            raise Failed(f"not JSON ({error}); use >raw to send this on purpose") from None
        params = message.get("params") if isinstance(message, dict) else None
        if isinstance(params, dict) and isinstance(params.get("api_key"), str):
            evidence.note_secret(params["api_key"].strip())
        self.note(">", text)
        self.report_stream(text.encode())
        program = self.running()
        program.send(program.framing.wrap(text), self.limit())

    def unescape(self, text):
        """Bytes of a raw line: \\n \\r \\t \\\\ \\xNN are escapes, the rest is UTF-8."""
        data = pattern.fill(self.fill(text), self.names, str).encode()
        short = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"\\": b"\\"}
        return re.sub(rb"\\(n|r|t|\\|x[0-9a-fA-F]{2})",
                      lambda found: short.get(found[1]) or bytes([int(found[1][1:], 16)]), data)

    def do_raw(self, step):
        self.note(">raw", step.text)
        self.report_stream(self.unescape(step.text))
        self.running().send(self.unescape(step.text), self.limit())

    def report_stream(self, data):
        """Answers are checked by the method of the request with their id."""
        if isinstance(self.stream, rpc_stream.Stream):
            self.stream.sent_bytes(data)

    def do_times(self, step):
        n, _, text = step.text.partition(" ")
        self.note(">times", step.text)
        self.running().send(self.unescape(text) * int(n), self.limit())

    # -- expecting --------------------------------------------------------------------------

    def do_within(self, step):
        self.patience = PATIENCE if step.text == "default" else self.seconds(step)

    def do_skip_until(self, step):
        self.skip_until = True

    def receive(self, wanted, end):
        """The next message; a ScaiFlux one is checked against schema and order of events."""
        text = self.running().next(end - time.monotonic())
        if text is None:
            raise Failed(f"nothing came in time; expected {wanted}")
        if text is process.END:
            raise Failed(f"stdout was closed; expected {wanted}")
        self.note("<", text)
        return self.understand(text)

    def understand(self, text):
        if isinstance(self.program.framing, process.Lines) and not self.program.framing.is_json:
            return text
        try:
            value = pattern.parse(text)
            if self.stream:
                self.stream.take(value)
        except ValueError as error:
            raise Failed(f"not JSON: {error}: {text[:200]}") from None
        except (scaiflux_stream.Broken, rpc_stream.Broken) as error:
            raise Failed(str(error)) from None
        return value

    def pattern_of(self, step):
        try:
            return json.loads(self.fill(step.text))
        except ValueError as error:
            raise Failed(f"the pattern is not JSON: {error}") from None

    def do_expect(self, step):
        if self.skip_until:
            self.skip_until = False
            self.do_until(step)
            return
        wanted = self.pattern_of(step)
        value = self.receive(step.text, time.monotonic() + self.limit())
        try:
            self.names = pattern.match(wanted, value, self.names)
        except pattern.Mismatch as error:
            raise Failed(f"{error}\n    expected {step.text}\n    got      {pattern.show(value)}"
                         ) from None

    def do_until(self, step):
        wanted = self.pattern_of(step)
        end = time.monotonic() + self.limit()
        while True:
            value = self.receive(step.text, end)
            try:
                self.names = pattern.match(wanted, value, self.names)
                return
            except pattern.Mismatch:
                pass

    def do_any_order(self, step):
        open_steps = list(step.steps)
        end = time.monotonic() + self.limit()
        while open_steps:
            value = self.receive(open_steps[0].text, end)
            for one in open_steps:
                try:
                    self.names = pattern.match(self.pattern_of(one), value, self.names)
                    open_steps.remove(one)
                    break
                except pattern.Mismatch:
                    pass
            else:
                rest = "".join(f"\n    expected {one.text}" for one in open_steps)
                raise Failed(f"fits none of the block{rest}\n    got      {pattern.show(value)}")

    def do_silent(self, step):
        message = self.running().next(self.seconds(step))
        if message not in (None, process.END):
            raise Failed(f"silence expected, got {message[:200]}")

    def do_expect_file(self, step):
        with open(self.path(step.text), encoding="utf-8", errors="replace") as file:
            text = file.read()
        wanted = pattern.fill(self.fill(step.body or ""), self.names, str)
        if text != wanted:
            raise Failed(f"{step.text} holds {text[:400]!r}, expected {wanted[:400]!r}")

    # -- servers ----------------------------------------------------------------------------

    def serve(self, script, *arguments):
        """Starts one of tests/fake; its port."""
        server = subprocess.Popen(
            [sys.executable, os.path.join(harness.TOP, "tests/fake", script), *arguments],
            env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.servers.append(server)
        found = re.match(r"PORT (\d+)", server.stdout.readline())
        if not found:
            raise Failed(f"{script} did not start")
        return found[1]

    def stop_servers(self):
        while self.servers:
            server = self.servers.pop()
            server.kill()
            server.wait()
            server.stdout.close()

    def write_beside(self, name, text):
        path = os.path.join(self.base, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.fill(text))
        return path

    def do_provider(self, step):
        replies = os.path.join(os.path.dirname(self.talk.path), step.text)
        if step.body is not None:
            replies = self.write_beside("replies.json", step.body)
        self.requests = os.path.join(self.base, "requests.jsonl")
        port = self.serve("provider.py", "--port", "0", "--script", replies, "--log", self.requests)
        self.texts.update(PORT=port, REQUESTS=self.requests)
        self.env["OPENAI_BASE_URL"] = f"http://127.0.0.1:{port}/v1"
        self.env["OPENAI_API_KEY"] = "test-key-123456"

    def do_issuer(self, step):
        """The control file can be written again while the talk runs."""
        control = self.write_beside("issuer.json", step.body or step.text)
        if "ISSUER" in self.texts:
            return
        log = self.write_beside("issued.jsonl", "")
        port = self.serve("oauth.py", "--port", "0", "--control", control, "--log", log)
        self.texts.update(ISSUER=port, ISSUED=log)
        for name in ("OPENAI_AUTH", "GOOGLE_AUTH", "GOOGLE_TOKEN", "GOOGLE_API"):
            self.env[f"TRIVET_{name}_URL"] = f"http://127.0.0.1:{port}"

    def do_lists(self, step):
        log = self.write_beside("listed.txt", "")
        self.texts.update(LISTS=self.serve("catalogue.py", "--log", log), LISTED=log)

    def do_visit(self, step):
        """As a browser: follows redirects; a number in front is the status expected in the end."""
        status, _, url = step.text.rpartition(" ")
        url = pattern.fill(self.fill(url), self.names, str)
        try:
            with urllib.request.urlopen(url, timeout=self.limit()) as page:
                got = page.status
        except urllib.error.HTTPError as refused:
            got = refused.code
        if got != int(status or 200):
            raise Failed(f"the page answered {got}")

    def do_request(self, step):
        wanted = self.pattern_of(step)
        end = time.monotonic() + self.limit()
        while len(requests := self.logged_requests()) <= self.n_requests:
            if time.monotonic() > end:
                raise Failed(f"no further request reached the provider; expected {step.text}")
            time.sleep(0.01)
        value = requests[self.n_requests]
        self.n_requests += 1
        try:
            self.names = pattern.match(wanted, value, self.names)
        except pattern.Mismatch as error:
            raise Failed(f"request {self.n_requests}: {error}\n    got {json.dumps(value)[:2000]}"
                         ) from None

    def logged_requests(self):
        try:
            with open(self.requests, encoding="utf-8") as file:
                entries = [json.loads(line) for line in file.read().split("\n")[:-1]]
            return [entry for entry in entries if "path" in entry]  # others are about how answers ended
        except FileNotFoundError:
            return []


def play(path, binary, bytewise=False):
    """None when the talk went as written, else the report."""
    try:
        talk = script.read(path)
    except (script.BadTalk, UnicodeDecodeError) as error:
        return f"FAIL {error}\n"
    for _ in range(2):      # a crash of the leak checker is forgiven once
        with harness.private_place() as base:
            player = Player(talk, os.path.abspath(binary), bytewise, base)
            report = player.play()
        if not player.is_checker:
            break
    return report


def talks(words):
    found = []
    for folder, _, files in sorted(os.walk(HERE)):
        found += [os.path.join(folder, name) for name in sorted(files) if name.endswith(".talk")]
    return [path for path in found
            if not words or any(word in os.path.relpath(path, HERE) for word in words)]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("words", nargs="*")
    options.add_argument("--binary", default=os.path.join(harness.TOP, "build/trivet"))
    options.add_argument("--bytewise", action="store_true")
    options.add_argument("--sample", type=int, default=1)
    options.add_argument("-v", "--verbose", action="store_true")
    args = options.parse_args()
    os.environ["TRIVET"] = args.binary
    passed = failed = 0
    chosen = talks(args.words)[::1 if args.words else args.sample]
    with concurrent.futures.ThreadPoolExecutor(harness.workers()) as pool:
        for path, fault in zip(chosen, pool.map(
                lambda one: play(one, args.binary, args.bytewise), chosen)):
            passed, failed = passed + (not fault), failed + bool(fault)
            if fault:
                print(fault, end="", flush=True)
            elif args.verbose:
                print(f"ok   {os.path.relpath(path, HERE)}", flush=True)
    harness.finish(passed, failed)


if __name__ == "__main__":
    main()
