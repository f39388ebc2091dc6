#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Many loaf sessions against a model of the rules.

    loaf_model.py [OPERATIONS [SESSIONS [SEED]]]

Each session has a running turn and a queue of up to five prompts.  Random operations (prompts,
queued prompts, steering, interrupts, clearing of queue or session, and on the side of the provider
pieces of text, tool calls, answers and failures) go to a dozen sessions at a time.  `Model` is what
loaf 74-88, 93, 96-117 say, in a few lines; at the end, and at every fiftieth operation, the
state of the sessions and of their saved chats must be the model's.

The provider answers nothing by itself: a request waits until an operation gives it a reply, so every
operation finds its session where the model says it is.

covers: loaf 84, 85, 86, 87, 88, 90, 94, 116, 120, 121, 122, 125
"""
import http.server
import json
import os
import queue
import random
import re
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
from client import Gone, Loaf  # noqa: E402

QUEUE_MAX = 5
BATCH = 12
LATE = "{} steer message(s) were queued too late and not applied."


# ---- the provider ----

class Provider:
    """Holds each request until somebody says what to answer."""

    def __init__(self):
        self.lock = threading.Lock()
        self.arrived = {}   # session number -> requests so far
        self.gates = {}     # session number -> queue of the newest request
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.serve(self, body)

            def do_GET(self):
                self.send_error(404)

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 512

            def handle_error(self, *_):
                pass  # clients that interrupt close the connection

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def serve(self, handler, body):
        said = [m["content"] for m in body["messages"] if m["role"] == "user"][-1]
        number = int(re.match(r"s(\d+)", said).group(1))
        gate = queue.SimpleQueue()
        with self.lock:
            old = self.gates.get(number)
            self.gates[number] = gate
            self.arrived[number] = self.arrived.get(number, 0) + 1
        if old:
            old.put(("leave", None))
        self.answer(handler, gate)

    def answer(self, handler, gate):
        has_begun = False
        while True:
            what, value = gate.get()
            if what == "leave":
                handler.close_connection = True
                return
            if what == "fail":
                text = json.dumps({"error": {"message": value}}).encode()
                handler.send_response(400)
                handler.send_header("Content-Type", "application/json")
                handler.send_header("Content-Length", str(len(text)))
                handler.end_headers()
                handler.wfile.write(text)
                return
            if not has_begun:
                handler.send_response(200)
                handler.send_header("Content-Type", "text/event-stream")
                handler.send_header("Transfer-Encoding", "chunked")
                handler.end_headers()
                has_begun = True
            if what == "call":
                self.event(handler, {"tool_calls": [{"index": 0, "id": f"c{time.monotonic_ns()}",
                                                     "type": "function", "function": {
                                                         "name": "list_dir", "arguments":
                                                         json.dumps({"dir_path": value})}}]})
            else:
                self.event(handler, {"content": value})
            if what in ("call", "text"):
                self.event(handler, {}, "tool_calls" if what == "call" else "stop")
                self.chunk(handler, b"data: [DONE]\n\n")
                self.chunk(handler, b"")
                return

    def event(self, handler, delta, finish=None):
        self.chunk(handler, b"data: %s\n\n" % json.dumps(
            {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}).encode())

    @staticmethod
    def chunk(handler, data):
        handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def report(self, number, what, value=None):
        with self.lock:
            gate = self.gates[number]
        gate.put((what, value))

    def count(self, number):
        with self.lock:
            return self.arrived.get(number, 0)


# ---- the rules ----

class Model:
    """One session as the rules have it."""

    def __init__(self, number):
        self.number = number
        self.history, self.messages, self.queue = [], [], []
        self.turn = None       # prompt, applied, steers, shown
        self.n_ready = self.n_asked = 0  # events and requests there must have been

    def start(self, prompt):
        self.turn = {"prompt": prompt, "applied": [], "steers": [], "shown": ""}
        self.messages.append(("user", prompt))
        self.n_asked += 1

    def send(self, prompt):
        if self.turn:
            return False
        self.start(prompt)
        return True

    def enqueue(self, prompt):
        if self.turn:
            self.queue.append(prompt)
        else:
            self.start(prompt)

    def steer(self, text):
        if not self.turn:
            return False
        self.turn["steers"].append(text)
        return True

    def next_round(self):  # a tool was called
        for text in self.turn["steers"]:
            self.turn["applied"].append(text)
            self.messages.append(("user", text))
        self.turn["steers"] = []
        self.n_asked += 1

    def end(self, note=None, answer="", keeps=True):
        turn, self.turn = self.turn, None
        if keeps:
            self.history += [("user", t) for t in [turn["prompt"], *turn["applied"]]]
            if answer:
                self.history.append(("assistant", answer))
                self.messages.append(("assistant", answer))
        if note:
            self.messages.append(("system", note))
        if turn["steers"]:
            self.messages.append(("system", LATE.format(len(turn["steers"]))))
        self.n_ready += 1
        if self.queue:
            self.start(self.queue.pop(0))

    def finish(self, text):
        self.end(answer=(self.turn["shown"] + text).strip())

    def fail(self, why):
        self.end(f"inference error: {why}", keeps=False)

    def interrupt(self):
        if not self.turn:
            return False
        shown = self.turn["shown"].strip()
        self.end("response interrupted by user." + (" partial output kept." if shown else ""), shown)
        return True

    def clear_queue(self):
        n, self.queue = len(self.queue), []
        return n

    def clear(self):
        self.queue = []
        if self.turn:
            self.interrupt()
        self.history, self.messages = [], []


# ---- the driver ----

class Driver:
    def __init__(self, client, provider, n_sessions, rng):
        self.client, self.provider, self.rng = client, provider, rng
        self.answers, self.ready, self.chunks = {}, {}, {}
        self.models, self.ids = [], []
        for number in range(n_sessions):
            self.models.append(Model(number))
            self.ids.append(client.call("session.create")["session_id"])
        self.n_texts = 0
        self.problems = []

    def pump(self, done, what, patience=60):
        """Reads until done()."""
        end = time.monotonic() + patience * harness.slow()
        while not done():
            if time.monotonic() > end:
                raise Gone(f"waited for {what}")
            try:
                m = self.client.next(0.02)
            except Gone as gone:
                if "nothing came" not in str(gone):
                    raise
                continue
            self.client.heard.clear()
            if "id" in m:
                self.answers[m["id"]] = m
                continue
            payload, kind = m["params"]["payload"], m["params"]["type"]
            ident = payload.get("session_id")
            if kind == "session.status" and payload["status_label"] == "ready":
                self.ready[ident] = self.ready.get(ident, 0) + 1
            elif kind == "session.stream.chunk":
                self.chunks[ident] = self.chunks.get(ident, "") + payload["text"]

    def text(self, number, kind):
        self.n_texts += 1
        return f"s{number} {kind} {self.n_texts}"

    def ask(self, number, method, **params):
        return self.client.ask(method, {"session_id": self.ids[number], **params})

    def choose(self, m):
        """An operation that makes sense now, and often one that does not."""
        busy = ["enqueue"] * 5 + ["steer"] * 3 + ["interrupt", "finish", "finish", "finish", "call",
                                                  "call", "piece", "send", "clear_queue"]
        if m.turn and not m.turn["shown"]:
            busy += ["fail"]
        if self.rng.random() < 0.02:
            return "clear"
        return self.rng.choice(busy if m.turn else ["send"] * 6 + ["enqueue", "steer", "interrupt",
                                                                   "clear_queue"])

    def operate(self, m):
        """Starts one operation; returns (request id or None, what its result must contain)."""
        n, op = m.number, self.choose(m)
        if op == "enqueue" and len(m.queue) >= QUEUE_MAX:
            op = "finish"
        if op == "send":
            text = self.text(n, "prompt")
            good = m.send(text)
            return self.ask(n, "session.send", text=text), {"queued": False} if good else "busy"
        if op == "enqueue":
            text, queued = self.text(n, "prompt"), m.turn is not None
            m.enqueue(text)
            return self.ask(n, "session.send", text=text, enqueue=True), {"queued": queued}
        if op == "steer":
            text = self.text(n, "steer")
            return self.ask(n, "session.steer", text=text), {"accepted": m.steer(text)}
        if op == "interrupt":
            return self.ask(n, "session.interrupt"), {"interrupted": m.interrupt()}
        if op == "clear_queue":
            return self.ask(n, "session.queue.clear"), {"cleared_count": m.clear_queue()}
        if op == "clear":
            m.clear()
            return self.ask(n, "history.clear_session"), {"cleared": True}
        text = self.text(n, "says")
        if op == "piece":
            m.turn["shown"] += text
        elif op == "call":
            text = "/proc/self/fdinfo"
            m.next_round()
        elif op == "finish":
            m.finish(text)
        else:
            m.fail(text)
        self.provider.report(n, "text" if op == "finish" else op, text)
        return None, None

    def settle(self, m):
        """Waits until the session is where the model is."""
        ident, n = self.ids[m.number], m.number
        shown = m.turn["shown"].strip() if m.turn else ""

        def there():
            return self.ready.get(ident, 0) >= m.n_ready and \
                self.provider.count(n) >= m.n_asked and \
                (not shown or self.chunks.get(ident, "").endswith(shown[-12:]))
        self.pump(there, f"session {n}: ready {m.n_ready}, asked {m.n_asked}; has "
                         f"{self.ready.get(ident, 0)} and {self.provider.count(n)}")

    def batch(self, count):
        started = []
        for m in self.rng.sample(self.models, min(count, len(self.models))):
            started.append((m, *self.operate(m)))
        for m, number, want in started:
            if number is None:
                continue
            self.pump(lambda n=number: n in self.answers, f"the answer {number}")
            self.judge(m, self.answers.pop(number), want)
        for m, _, _ in started:
            self.settle(m)
        return len(started)

    def judge(self, m, answer, want):
        if want == "busy":
            good = "session is busy" in answer.get("error", {}).get("message", "")
        else:
            result = answer.get("result", {})
            good = all(result.get(k) == v for k, v in want.items())
        if not good:
            self.problems.append(f"session {m.number}: wanted {want}, got {answer}")

    def call(self, method, params):
        number = self.client.ask(method, params)
        self.pump(lambda: number in self.answers, method)
        return self.answers.pop(number)["result"]

    def compare(self, m):
        state = self.call("session.get", {"session_id": self.ids[m.number]})
        output = {"history": [(h["role"], h["text"]) for h in state["history"]],
                "messages": [(v["kind"], v["text"]) for v in state["messages"]],
                "queue": [q["text"] for q in state["queue"]],
                "pending": state["pending"], "steers": state["pendingSteerCount"]}
        want = {"history": m.history, "messages": m.messages, "queue": m.queue,
                "pending": m.turn is not None, "steers": len(m.turn["steers"]) if m.turn else 0}
        for name, value in want.items():
            same = output[name] == value if name != "messages" else \
                [self.plain(v) for v in output[name]] == value
            if not same:
                self.problems.append(f"session {m.number}: {name} is\n  {output[name]}\nnot\n  {value}")
        return state

    @staticmethod
    def plain(message):
        """A failure says the status and the provider too; the model knows only the cause."""
        kind, text = message
        return kind, re.sub(r"^inference error: .*?(s\d+ says \d+).*$", r"inference error: \1", text)

    def compare_all(self):
        for m in self.models:
            state = self.compare(m)
            if m.turn or not m.history:
                continue
            chat = self.call("history.get", {"id": state["activeSessionId"]})
            saved = [(h["role"], h["text"]) for h in chat["messages"]]
            if saved != m.history:
                self.problems.append(f"session {m.number}: saved {saved}, not {m.history}")

    def run_down(self):
        """Everything that runs or waits comes to its end."""
        while any(m.turn for m in self.models):
            running = [m for m in self.models if m.turn]
            for m in running:
                text = self.text(m.number, "says")
                m.finish(text)
                self.provider.report(m.number, "text", text)
            for m in running:
                self.settle(m)


def main():
    args = [int(a) for a in sys.argv[1:]] + [None] * 3
    operations, sessions = args[0] or 600, args[1] or 24
    seed = args[2] if args[2] is not None else harness.seed()
    print(f"{operations} operations, {sessions} sessions, seed {seed}", flush=True)
    provider = Provider()
    with harness.private_place() as base:
        env = harness.clean_env(base)
        env.update(OPENROUTER_BASE_URL=f"http://127.0.0.1:{provider.port}/v1",
                   OPENROUTER_API_KEY="test-key-123456", TRIVET_MODEL="openrouter/acme/alpha")
        os.environ.clear()
        os.environ.update(env)
        with Loaf(cwd=base) as c:
            d = Driver(c, provider, sessions, random.Random(seed))
            done = checks = 0
            while done < operations and not d.problems:
                done += d.batch(BATCH)
                if done // 50 > checks:
                    checks = done // 50
                    d.compare(d.rng.choice(d.models))
            d.run_down()
            d.compare_all()
            status = c.close(30)
            if status != 0 or harness.without_noise(c.stderr.decode()):
                d.problems.append(f"ended with {status}, stderr {c.stderr}")
    for problem in d.problems[:5]:
        print(f"FAIL {problem}")
    harness.finish(0 if d.problems else done, len(d.problems))


main()
