#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A small controller for `scaiflux serve`: spawns it, gives it a prompt, decides every permission by
rule, interrupts a turn that takes too long, and shuts down.  The standard library is enough.

    python3 examples/scaiflux_controller.py [--engine COMMAND] [OPTIONS] PROMPT
    python3 examples/scaiflux_controller.py --model openai/gpt-5.1 --allow-writes \\
        --allow-command 'make*' --seconds 600 -w ~/project "make the tests pass"

COMMAND starts the engine (default: trivet scaiflux serve).  Without an account, from the build folder:

    python3 examples/scaiflux_controller.py --engine "build/trivet scaiflux serve" -m rehearsal/hello hi

What the model says goes to stdout, what happens around it to stderr.  Ends with 0 when the model
finished by itself, 1 when the turn failed, 2 when it was interrupted.

`Controller` knows nothing of terminals or rules: copy it.
"""
import argparse
import fnmatch
import json
import queue
import shlex
import subprocess
import sys
import threading
import time

PROTOCOL = 1


class Controller:
    """One process, one session."""

    def __init__(self, command, decide):
        """decide(request) gives None to allow a call, or the reason why not."""
        self.decide = decide
        self.events = queue.Queue()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        threading.Thread(target=self._read, daemon=True).start()
        self.ready = self.next()
        if self.ready["type"] != "ready":           # a startup error comes instead
            raise RuntimeError(self.ready["message"])
        if self.ready["protocol"] != PROTOCOL:
            raise RuntimeError(f"speaks protocol {self.ready['protocol']}, not {PROTOCOL}")

    def _read(self):
        # Reads all the time: a turn pauses while its output is not read.
        for line in self.process.stdout:
            self.events.put(json.loads(line))
        self.events.put({"type": "error", "message": "the program ended", "turn_id": None})

    def send(self, type, **members):
        line = json.dumps({"type": type, **members}) + "\n"
        self.process.stdin.write(line.encode())
        self.process.stdin.flush()

    def next(self, timeout=None):
        return self.events.get(timeout=timeout)

    def turn(self, text, seconds, on_event=lambda event: None):
        """Runs a turn and gives its last event; interrupts it when the time is over."""
        self.send("prompt", text=text)
        end, is_interrupted = time.monotonic() + seconds, False
        while True:
            try:
                event = self.next(None if is_interrupted else max(0, end - time.monotonic()))
            except queue.Empty:
                self.send("interrupt")              # turn_complete follows within a second
                is_interrupted = True
                continue
            on_event(event)
            if event["type"] == "permission_request":
                self.answer(event)
            elif event["type"] == "turn_complete" or (event["type"] == "error"
                                                      and "turn_id" in event):
                return event

    def answer(self, request):
        reason = self.decide(request)
        if reason is None:
            self.send("permission_response", request_id=request["request_id"], decision="allow")
        else:
            # The model reads the reason and may try something else.
            self.send("permission_response", request_id=request["request_id"], decision="deny",
                      reason=reason)

    def slash(self, command, args=""):
        """The result of a command, between turns."""
        self.send("slash", command=command, args=args)
        while (event := self.next())["type"] != "slash_result":
            pass
        return event

    def shutdown(self):
        """The exit status."""
        self.send("shutdown")
        return self.process.wait()


class Rules:
    """Reading is fine, writing in the workspace and commands only when they were allowed."""

    def __init__(self, writes, commands):
        self.writes, self.commands = writes, commands

    def __call__(self, request):
        tool, required = request["tool"], request["required_mode"]
        if required == "read-only":
            return None
        if required == "workspace-write":
            return None if self.writes else "nothing may be changed here"
        if tool == "bash":
            command = request["details"]["tool_input"].get("command", "")
            if any(fnmatch.fnmatchcase(command, pattern) for pattern in self.commands):
                return None
            return "this command is not on the list"
        return "outside of the workspace nothing is allowed"


def show(event):
    if event["type"] == "text_delta":
        print(event["delta"], end="", flush=True)
    elif event["type"] == "tool_start":
        print(f"[{event['name']} {json.dumps(event['input'])[:200]}]", file=sys.stderr)
    elif event["type"] == "tool_result" and event["is_error"]:
        print(f"[failed: {event['output'][:200]}]", file=sys.stderr)


def main():
    options = argparse.ArgumentParser(description="one prompt for a ScaiFlux agent")
    options.add_argument("--engine", default="trivet scaiflux serve", metavar="COMMAND")
    options.add_argument("-w", "--workspace", default=".")
    options.add_argument("-m", "--model")
    options.add_argument("--allow-writes", action="store_true")
    options.add_argument("--allow-command", action="append", default=[], metavar="PATTERN")
    options.add_argument("--seconds", type=float, default=300)
    options.add_argument("prompt")
    chosen = options.parse_args()
    command = shlex.split(chosen.engine) + ["--workspace", chosen.workspace]
    if chosen.model:
        command += ["--model", chosen.model]
    controller = Controller(command, Rules(chosen.allow_writes, chosen.allow_command))
    end = controller.turn(chosen.prompt, chosen.seconds, show)
    print()
    if end["type"] == "error":
        print(f"[{end['message']}]", file=sys.stderr)
    else:
        for tool, path in end["mutations"]:
            print(f"[{path} changed by {tool}]", file=sys.stderr)
    status = controller.shutdown()
    if end["type"] == "error" or status != 0:
        return 1
    return 2 if end["stop_reason"] == "interrupted" else 0


if __name__ == "__main__":
    sys.exit(main())
