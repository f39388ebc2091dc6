#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A provider on loopback that answers by script, well or badly.

    python3 tests/fake/provider.py --port 0 --script FILE [--log FILE] [--die-with-parent]

prints one line `PORT n` and serves until it is killed; a Python test can hold a Server of its own
instead, whose `log` is then a list that gets the same entries and the bodies as they came ("raw").
POST to a path that ends in
/chat/completions gets the next reply of the script as an OpenAI Chat Completions stream, to one that
ends in /messages as an Anthropic Messages stream (anthropic.py), to one that ends in /responses as
an OpenAI Responses stream (responses.py), to one that ends in :streamGenerateContent?alt=sse as a
Gemini stream (gemini.py); POST to one that ends in /search and GET to one that ends in /page get
the next reply too, which needs a body; GET to one that ends in /models gets a list with one model.
HTTP/1.1 with keep-alive and chunked encoding, one thread per connection.

The script is a JSON list of replies (or an object {"replies": [...]}).  They are served in order;
the last one is served again and again if it says "repeat": true.  A reply with "match" is served,
once or (with "repeat") always, to a request whose last user message contains that text, before the
order is looked at.  Beyond the end of the script comes a 500.

What to say (streamed in this order):
  reasoning         text, as delta.reasoning_content in small pieces
  text              text, as delta.content in small pieces
  text_repeat       how many times the text is said (default 1)
  piece             characters per piece of text, reasoning and arguments (default 5)
  tool_calls        [{"id", "name", "arguments"}]; arguments as text or as an object
  whole_calls       true: each call in one chunk, as Ollama does
  chunks            list: an object is a delta, or a whole chunk if it has "choices", "error",
                    "object" or "usage"; a string is sent as it is (end it with blank lines)
  usage             object for a usage chunk with empty choices
  finish            finish_reason; default "tool_calls" or "stop"; null sends none
  no_done           true: no [DONE]
  keep_open         true: after [DONE] the answer is not ended and the connection stays open

Instead of a stream:
  status            not 200: an ordinary answer (default body: an OpenAI error object)
  body              text or object: the body of an ordinary answer, with any status
  content_type      of the answer (default text/event-stream, or application/json for a body)
  headers           object of further headers

How to say it badly:
  delay_ms          wait before the first byte
  chunk_delay_ms    wait before each event
  split             bytes per write (default: one event per write)
  crlf              true: lines end in CRLF
  ascii             true: other characters are sent as \\u escapes, also halves of one
  bytes             true: "\\udcff" in a text is sent as the byte ff, so that it is no UTF-8
  comments          true: a comment before each event
  cut_after         close the connection after so many events
  close_after_bytes close the connection after so many bytes of the stream
  stall_after       say nothing more after so many events, until the client goes
  malformed_after   after so many events send one that is not JSON
  refuse            true: reset the connection instead of answering
  no_length         true: the answer ends with the connection instead of chunks

The log gets one JSON line per request: {"n", "conn", "method", "path", "headers", "body", "reply"}
(n counts requests, conn connections, reply is the place in the script or null), and one per end of
an answer: {"n", "closed_early": true, "after_ms"} when the client closed first, else {"n", "done":
true}.  Requests for lists of models are answered (GET .../models names one model, `fake`) and stand
not in the log, nor do those for details of models: they may come at any time.
"""
import argparse
import collections
import ctypes
import itertools
import json
import select
import signal
import socket
import struct
import threading
import time

import anthropic
import gemini
import responses


class ClientGone(Exception):
    """The client closed the connection before the answer was complete."""


class Cut(Exception):
    """The script says that the connection ends here."""


class Script:
    """The replies, handed out once each."""

    def __init__(self, data):
        self.replies = data["replies"] if isinstance(data, dict) else data
        self.used = [False] * len(self.replies)
        self.lock = threading.Lock()

    def next(self, said):
        with self.lock:
            for i, reply in enumerate(self.replies):
                if reply.get("match") and reply["match"] in said and self.take(i):
                    return i, reply
            for i, reply in enumerate(self.replies):
                if not reply.get("match") and not self.used[i]:
                    self.used[i] = True
                    return i, reply
            plain = [i for i, reply in enumerate(self.replies) if not reply.get("match")]
            if plain and self.replies[plain[-1]].get("repeat"):
                return plain[-1], self.replies[plain[-1]]
        return None, {"status": 500, "body": {"error": {"message": "the script is at its end"}}}

    def take(self, i):
        if self.used[i] and not self.replies[i].get("repeat"):
            return False
        self.used[i] = True
        return True


class Log:
    """A file of JSON lines that takes entries as a list does."""

    def __init__(self, path):
        self.file = open(path, "a", encoding="utf-8")
        self.lock = threading.Lock()

    def append(self, entry):
        entry.pop("raw", None)
        with self.lock:
            self.file.write(json.dumps(entry) + "\n")
            self.file.flush()


def last_user_text(body):
    body = body if isinstance(body, dict) else {}
    messages = body.get("messages") or body.get("input") or []
    for message in reversed(messages):
        if message.get("role") != "user":
            continue
        content = message.get("content") or ""
        if isinstance(content, list):
            content = "\n".join(part.get("text", "") for part in content)
        return content
    return ""


def pieces(text, size):
    return [text[i : i + size] for i in range(0, len(text), size)]


def call_deltas(reply, size):
    for index, call in enumerate(reply.get("tool_calls", [])):
        arguments = call.get("arguments", "{}")
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments)
        first = {"index": index, "id": call.get("id", f"call_{index + 1}"), "type": "function"}
        if reply.get("whole_calls"):
            yield {"tool_calls": [{**first, "function": {"name": call["name"], "arguments": arguments}}]}
            continue
        yield {"tool_calls": [{**first, "function": {"name": call["name"], "arguments": ""}}]}
        for piece in pieces(arguments, size):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def deltas(reply):
    size = reply.get("piece", 5)
    yield {"role": "assistant", "content": ""}
    for piece in pieces(reply.get("reasoning", ""), size):
        yield {"reasoning_content": piece}
    for _ in range(reply.get("text_repeat", 1)):
        for piece in pieces(reply.get("text", ""), size):
            yield {"content": piece}
    yield from call_deltas(reply, size)


def chunk(delta, finish=None, **more):
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {"id": "chatcmpl-fake", "object": "chat.completion.chunk", "created": 1,
            "model": "fake", "choices": choices, **more}


def chunks(reply):
    """Objects for events, strings for raw bytes."""
    for delta in deltas(reply):
        yield chunk(delta)
    for item in reply.get("chunks", []):
        is_whole = isinstance(item, str) or {"choices", "error", "object", "usage"} & set(item)
        yield item if is_whole else chunk(item)
    finish = reply.get("finish", "tool_calls" if reply.get("tool_calls") else "stop")
    if finish:
        yield chunk({}, finish)
    if "usage" in reply:
        yield chunk(None, usage=reply["usage"])


# How a stream is said, by the end of the path: what makes its events, and whether each is named by
# its type instead of a [DONE] at the end (None: neither).
FORMATS = {"/chat/completions": (chunks, False), "/messages": (anthropic.chunks, True),
           "/responses": (responses.chunks, True),
           "/v1internal:streamGenerateContent?alt=sse": (gemini.wrapped, None),
           ":streamGenerateContent?alt=sse": (gemini.chunks, None)}


def is_list(method, path):
    """Requests for lists of models and what belongs to them, made in the background at any time."""
    if method == "GET":
        return "/models" in path or path.endswith("/props")
    return path.endswith(("/api/show", ":loadCodeAssist", ":fetchAvailableModels"))


def format_of(path):
    return next((form for end, form in FORMATS.items() if path.endswith(end)), None)


def events(reply, form):
    """The stream as a list of byte strings, one per event."""
    make, is_named = form
    eol = "\r\n" if reply.get("crlf") else "\n"
    n = 0
    for item in make(reply):
        text = ": still here" + eol + eol if reply.get("comments") else ""
        if isinstance(item, str):
            text += item
        else:
            text += f"event: {item.get('type')}{eol}" if is_named else ""
            text += f"data: {json.dumps(item, ensure_ascii=bool(reply.get('ascii')))}{eol}{eol}"
        yield text.encode("utf-8", "surrogateescape" if reply.get("bytes") else "replace")
        n += 1
        if reply.get("malformed_after") == n:
            yield f"data: {{broken{eol}{eol}".encode()
    if is_named is False and not reply.get("no_done"):
        yield f"data: [DONE]{eol}{eol}".encode()


class Connection:
    def __init__(self, sock, number, server):
        self.sock, self.number, self.server = sock, number, server
        self.inbox = b""
        self.sent = 0  # bytes of the running stream
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def run(self):
        try:
            while self.serve():
                pass
        except (OSError, ValueError, Cut):
            pass
        self.sock.close()

    def fill(self):
        more = self.sock.recv(65536)
        self.inbox += more
        return bool(more)

    def read_request(self):
        while b"\r\n\r\n" not in self.inbox:
            if not self.fill():
                return None
        head, self.inbox = self.inbox.split(b"\r\n\r\n", 1)
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ", 2)
        headers = dict(line.split(": ", 1) if ": " in line else (line, "") for line in lines)
        length = int(next((v for k, v in headers.items() if k.lower() == "content-length"), 0))
        while len(self.inbox) < length:
            if not self.fill():
                return None
        body, self.inbox = self.inbox[:length], self.inbox[length:]
        return method, path, headers, body

    def serve(self):
        request = self.read_request()
        if not request:
            return False
        method, path, headers, raw = request
        try:
            body = json.loads(raw) if raw else None
        except ValueError:
            body = raw.decode("utf-8", "replace")
        if is_list(method, path):
            self.answer(self.choose(method, path, body)[1], None)
            return False  # its connection is not there for the next request
        n, begun = next(self.server.numbers), time.monotonic()
        place, reply = self.choose(method, path, body)
        self.server.log.append({"n": n, "conn": self.number, "method": method, "path": path,
                                "headers": headers, "body": body, "reply": place, "raw": raw})
        try:
            goes_on = self.answer(reply, format_of(path))
            self.server.log.append({"n": n, "done": True})
            return goes_on
        except (ClientGone, BrokenPipeError, ConnectionResetError):
            self.server.log.append({"n": n, "closed_early": True,
                                    "after_ms": round((time.monotonic() - begun) * 1000, 1)})
            return False

    def choose(self, method, path, body):
        if method == "GET" and path.endswith("/models"):
            return None, {"body": {"object": "list", "data": [{"id": "fake", "object": "model"}]}}
        if (method, path.rpartition("/")[2]) in (("POST", "search"), ("GET", "page")):
            return self.server.script.next("")
        if method != "POST" or not format_of(path):
            return None, {"status": 404, "body": {"error": {"message": f"no such path: {path}"}}}
        if self.server.model:
            return None, self.server.model(body)
        return self.server.script.next(gemini.last_user_text(body) or last_user_text(body))

    # ---- writing

    def wait(self, seconds):
        """Waits, and notices when the client goes."""
        until = None if seconds is None else time.monotonic() + seconds
        while until is None or time.monotonic() < until:
            left = 1 if until is None else max(0, until - time.monotonic())
            if select.select([self.sock], [], [], left)[0]:
                if not self.sock.recv(1, socket.MSG_PEEK):
                    raise ClientGone
                time.sleep(0.005)  # a pipelined request; it has to wait

    def look(self):
        if select.select([self.sock], [], [], 0)[0] and not self.sock.recv(1, socket.MSG_PEEK):
            raise ClientGone

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise Cut

    def write(self, reply, data):
        """One piece of the stream."""
        limit = reply.get("close_after_bytes")
        if limit is not None:
            data = data[: max(0, limit - self.sent)]
        if data:
            self.look()
            framed = data if reply.get("no_length") else b"%x\r\n%s\r\n" % (len(data), data)
            self.sock.sendall(framed)
            self.sent += len(data)
        if limit is not None and self.sent >= limit:
            raise Cut

    def head(self, reply, status, content_type, length):
        lines = [f"HTTP/1.1 {status} {'OK' if status == 200 else 'Said'}",
                 f"Content-Type: {content_type}"]
        lines += [f"{name}: {value}" for name, value in reply.get("headers", {}).items()]
        if length is not None:
            lines.append(f"Content-Length: {length}")
        elif reply.get("no_length"):
            lines.append("Connection: close")
        else:
            lines.append("Transfer-Encoding: chunked")
        self.sock.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())

    def answer(self, reply, form):
        if reply.get("refuse"):
            self.reset()
        self.wait(reply.get("delay_ms", 0) / 1000)
        status = reply.get("status", 200)
        if status != 200 or "body" in reply:
            return self.answer_plain(reply, status)
        self.head(reply, status, reply.get("content_type", "text/event-stream"), None)
        self.stream(reply, form)
        if reply.get("keep_open"):
            self.wait(None)
        if reply.get("no_length"):
            return False
        self.sock.sendall(b"0\r\n\r\n")
        return True

    def answer_plain(self, reply, status):
        body = reply.get("body", {"error": {"message": f"the script says {status}"}})
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.head(reply, status, reply.get("content_type", "application/json"), len(data))
        self.sock.sendall(data)
        return True

    def stream(self, reply, form):
        self.sent = 0
        for n, event in enumerate(events(reply, form)):
            if reply.get("cut_after") == n:
                raise Cut
            if reply.get("stall_after") == n:
                self.wait(None)
            self.wait(reply.get("chunk_delay_ms", 0) / 1000)
            for data in pieces(event, reply.get("split", len(event))):
                self.write(reply, data)


class Server:
    """script: replies, or a function that makes one of the body of a request."""

    def __init__(self, script, log=None, port=0):
        self.model = script if callable(script) else None
        self.script = Script([] if self.model else script)
        self.log = [] if log is None else log
        self.numbers = itertools.count(1)
        self.sock = socket.create_server(("127.0.0.1", port), backlog=256)
        self.port = self.sock.getsockname()[1]

    def run(self):
        for number in itertools.count(1):
            try:
                sock, _ = self.sock.accept()
            except OSError:  # closed
                return
            connection = Connection(sock, number, self)
            threading.Thread(target=connection.run, daemon=True).start()

    def __enter__(self):
        threading.Thread(target=self.run, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()


def main():
    parser = argparse.ArgumentParser(description="a scripted provider on loopback")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", required=True)
    parser.add_argument("--log")
    parser.add_argument("--die-with-parent", action="store_true")
    arguments = parser.parse_args()
    if arguments.die_with_parent:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    with open(arguments.script, encoding="utf-8") as file:
        script = json.load(file)
    log = Log(arguments.log) if arguments.log else collections.deque(maxlen=0)
    server = Server(script, log, arguments.port)
    print("PORT", server.port, flush=True)
    server.run()


if __name__ == "__main__":
    main()
