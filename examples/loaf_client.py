#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A small client of the loaf RPC protocol, in plain Python.

    python3 examples/loaf_client.py [--engine COMMAND] [--title TITLE] PROMPT...
    python3 examples/loaf_client.py [--engine COMMAND] --login

COMMAND starts the engine (default: trivet loaf rpc).  Without an account, from the build folder:

    TRIVET_MODEL=rehearsal/hello python3 examples/loaf_client.py --engine "build/trivet loaf rpc" hello

Each PROMPT is one turn of the same session.  The answer is printed while it comes; tools are shown on
stderr.  --login signs in to OpenAI from a machine without a browser: it prints where to go and which
code to type there, and ends when that was done.  The exit status is 0 when everything worked.

`Connection` is all that is needed to speak the protocol: requests are answered by id, in any order,
and everything else is an event.
"""
import argparse
import itertools
import json
import queue
import shlex
import subprocess
import sys
import threading

PROTOCOL = "1.0.0"


class RpcError(Exception):
    """The server refused a request."""


class Connection:
    """A server process; one JSON message per line in both directions."""

    def __init__(self, command):
        self.server = subprocess.Popen(shlex.split(command), stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE)
        self.events = queue.SimpleQueue()  # params of event notifications; None at the end
        self.ids = itertools.count(1)
        self.answers = {}                  # id -> queue of one response
        self.is_gone = False               # the server has ended
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.server.stdout:
            message = json.loads(line)
            if message.get("method") == "event":
                self.events.put(message["params"])
            elif message.get("id") in self.answers:
                self.answers.pop(message["id"]).put(message)
        self.is_gone = True
        self.events.put(None)
        for waiting in list(self.answers.values()):
            waiting.put({"error": {"message": "the server is gone"}})

    def send(self, method, params):
        """Sends a request; the response will be in the queue that is returned."""
        number, answer = next(self.ids), queue.SimpleQueue()
        self.answers[number] = answer
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        try:
            self.server.stdin.write(json.dumps(request).encode() + b"\n")
            self.server.stdin.flush()
        except BrokenPipeError:
            self.is_gone = True
        if self.is_gone:  # looked at after the answer is expected: _read does it the other way round
            raise RpcError("the server is gone")
        return answer

    @staticmethod
    def result(answer):
        message = answer.get()
        if "error" in message:
            raise RpcError(message["error"]["message"])
        return message["result"]

    def call(self, method, **params):
        return self.result(self.send(method, params))

    def close(self):
        """The server ends when its stdin does."""
        try:
            self.server.stdin.close()
        except BrokenPipeError:
            pass
        return self.server.wait()


def handshake(connection):
    hello = connection.call("rpc.handshake", client_name="loaf_client.py", client_version="1",
                            protocol_version=PROTOCOL, strict=False)
    if hello["protocol_version"] != PROTOCOL:
        print(f"the server speaks version {hello['protocol_version']}", file=sys.stderr)
    if not hello["capabilities"]["events"]:
        raise RpcError("the server sends no events")
    return hello["methods"]


def show(event):
    """Prints what a person wants to see of an event."""
    kind, payload = event["type"], event["payload"]
    if kind == "session.stream.chunk":
        print(payload["text"], end="", flush=True)
    elif kind == "session.tool.call.started":
        print(f"Tool: {payload['tool_name']}", file=sys.stderr)
    elif kind == "session.tool.call.completed":
        print(f"Result: {'success' if payload['ok'] else 'error'}", file=sys.stderr)
    elif kind == "auth.flow.url":
        print(f"Open this URL: {payload['url']}", flush=True)
    elif kind == "auth.flow.device_code":
        print(f"Device code: {payload['user_code']}")
        print(f"Visit: {payload['verification_url']}", flush=True)


def run_turn(connection, session, prompt):
    """True when the turn was completed."""
    turn = connection.call("session.send", session_id=session, text=prompt)["turn_id"]
    while True:
        event = connection.events.get()
        if event is None:
            raise RpcError("the server is gone")
        show(event)
        if event["payload"].get("turn_id") != turn:
            continue
        if event["type"] == "session.completed":
            print()
            return True
        if event["type"] in ("session.interrupted", "session.error"):
            print(event["payload"].get("message", "interrupted"), file=sys.stderr)
            return False


def log_in(connection):
    """The response comes when the person has done her part; until then there are events."""
    answer = connection.send("auth.connect.openai", {"mode": "device_code"})
    while True:
        event = connection.events.get()
        if event is None:
            raise RpcError("the server is gone")
        show(event)
        if event["type"] in ("auth.flow.completed", "auth.flow.failed"):
            result = connection.result(answer)
            print(f"Signed in to {result['provider']}.")
            return True


def main():
    options = argparse.ArgumentParser(description="talks to a loaf RPC server")
    options.add_argument("--engine", default="trivet loaf rpc", metavar="COMMAND",
                         help="starts the engine (%(default)s)")
    options.add_argument("--title", help="of the saved chat")
    options.add_argument("--login", action="store_true", help="signs in to OpenAI")
    options.add_argument("prompts", nargs="*", metavar="PROMPT")
    args = options.parse_args()
    connection = Connection(args.engine)
    try:
        methods = handshake(connection)
        if args.login:
            if "auth.connect.openai" not in methods:
                raise RpcError("the server cannot sign in")
            good = log_in(connection)
        else:
            params = {"title": args.title} if args.title else {}
            session = connection.call("session.create", **params)["session_id"]
            good = all(run_turn(connection, session, prompt) for prompt in args.prompts)
    except RpcError as error:
        print(f"error: {error}", file=sys.stderr)
        good = False
    status = connection.close()
    sys.exit(0 if good and status == 0 else 1)


if __name__ == "__main__":
    main()
