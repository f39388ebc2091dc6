#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CPU of one streamed delta and of one request, per vendor, from socket to stdout.

    bench/deltas.py [--deltas 20000] [--requests 200] [--binary build/trivet]

A loopback server streams a reply of many small pieces to `trivet scaiflux serve`; the time is the
kernel's account of what the program's threads ran (schedstat), so other load on the machine does not
count; the median of nine turns is shown.  The reply is sent as one block, so pieces that have arrived share system calls; with
--one-by-one each piece is a write of its own and pays for its own system calls.
"""
import argparse
import fcntl
import http.client
import http.server
import json
import os
import statistics
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(TOP, "tests"))
import harness      # noqa: E402

VENDORS = {"openai": ("openai/m", "OPENAI", "/v1"),
           "openai-responses": ("openai-responses/m", "OPENAI", "/v1"),
           "anthropic": ("anthropic/m", "ANTHROPIC", "/v1"),
           "gemini": ("gemini/m", "GEMINI", "/v1beta"),
           "openrouter": ("openrouter/m", "OPENROUTER", "/v1")}
MAX_US = 2.0        # per delta, what is promised
DELTA = b'"type":"text_delta"'


def cpu_us(pid):
    """What all threads of the process have run."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total / 1000


class Program:
    """The program with a reader that never makes it wait: bytes are counted, not understood."""

    def __init__(self, binary, model, cwd, env):
        self.child = subprocess.Popen([binary, "scaiflux", "serve", "--model", model], cwd=cwd,
                                      env=dict(os.environ, **env), stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, bufsize=0)
        fcntl.fcntl(self.child.stdout, fcntl.F_SETPIPE_SZ, 1 << 20)
        self.read_to(b'"ready"')

    def read_to(self, word):
        """Reads to the end of the line that has the word; how many deltas came before it."""
        n, rest = 0, b""
        while True:
            data = os.read(self.child.stdout.fileno(), 1 << 20)
            if not data:
                sys.exit("the program ended")
            lines = rest + data
            n += lines.count(DELTA) - rest.count(DELTA)
            if b'"type":"error"' in lines:
                sys.exit(f"the turn failed: {lines[-400:]}")
            if word in lines and lines.endswith(b"\n"):
                return n
            rest = lines[-100:]

    def turn(self):
        """One prompt; the CPU of it and the number of deltas."""
        before = cpu_us(self.child.pid)
        self.child.stdin.write(b'{"type": "prompt", "text": "go"}\n')
        n = self.read_to(b'"type":"turn_complete"')
        return cpu_us(self.child.pid) - before, n

    def close(self):
        self.child.stdin.close()
        self.child.wait(10)
        self.child.stdout.close()


def serve(base, replies):
    script = os.path.join(base, "script.json")
    with open(script, "w", encoding="utf-8") as file:
        json.dump(replies, file)
    server = subprocess.Popen([sys.executable, os.path.join(TOP, "tests", "fake", "provider.py"),
                               "--port", "0", "--script", script, "--log", os.devnull],
                              stdout=subprocess.PIPE, text=True)
    return server, int(server.stdout.readline().split()[1])


class Block(http.server.BaseHTTPRequestHandler):
    """Asks the fake provider once and from then on sends its whole answer with one call."""
    protocol_version = "HTTP/1.1"
    behind = 0          # port of the fake provider
    answer = None

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if Block.answer is None:
            link = http.client.HTTPConnection("127.0.0.1", Block.behind)
            link.request("POST", self.path, body, dict(self.headers))
            Block.answer = link.getresponse().read()
            link.close()
        head = (b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                b"Content-Length: %d\r\n\r\n" % len(Block.answer))
        self.connection.sendall(head + Block.answer)

    def log_message(self, *_):
        pass


def in_front(port):
    Block.behind, Block.answer = port, None
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Block)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def measure(binary, base, vendor, reply, turns, as_block):
    """Mean CPU of a turn, and the deltas of one."""
    model, name, path = VENDORS[vendor]
    server, port = serve(base, [dict(reply, repeat=True)])
    front = in_front(port) if as_block else None
    port = front.server_address[1] if front else port
    env = {f"{name}_BASE_URL": f"http://127.0.0.1:{port}{path}", f"{name}_API_KEY": "bench-key"}
    program = Program(binary, model, base, env)
    try:
        program.turn()      # opens the module and the connection
        runs = [program.turn() for _ in range(turns)]
        return statistics.median(r[0] for r in runs), runs[0][1]
    finally:
        program.close()
        server.kill()
        if front:
            front.shutdown()


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    options.add_argument("--deltas", type=int, default=20000)
    options.add_argument("--requests", type=int, default=200)
    options.add_argument("--binary", default=os.path.join(TOP, "build", "trivet"))
    options.add_argument("--one-by-one", action="store_true")
    args = options.parse_args()
    binary = os.path.abspath(args.binary)
    with harness.private_place() as base:
        os.environ.update(harness.clean_env(base))
        print(f"CPU of {args.deltas} deltas; promised: at most {MAX_US:.2f} us per delta")
        print(f"{'vendor':18} {'us per request':>15} {'us per delta':>13}")
        for vendor in VENDORS:
            request, _ = measure(binary, base, vendor, {"text": "hello"}, args.requests,
                                 not args.one_by_one)
            reply = {"text": "abcde", "text_repeat": args.deltas, "piece": 5}
            large, n = measure(binary, base, vendor, reply, 9, not args.one_by_one)
            each = (large - request) / max(n, 1)
            print(f"{vendor:18} {request:15.1f} {each:13.2f}   {n} seen"
                  f"{'' if each <= MAX_US else '   NOT KEPT'}")


main()
