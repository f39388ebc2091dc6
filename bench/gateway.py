# SPDX-License-Identifier: MIT
"""A model server on loopback for benches: OpenAI's chat completions and responses, Anthropic's messages,
streamed.

The last user message says what is answered:

    WORDS n rate   n styled words, `rate` of them a second (0: as fast as they can be written)
    anything else  one short sentence
"""
import http.server
import json
import re
import threading
import time


def styled_words(n):
    """Words of Markdown, a paragraph of a hundred each; the last one is `finis`."""
    for i in range(n):
        word = f"wo{i}"
        word = f"**{word}**" if i % 20 == 0 else f"`{word}`" if i % 20 == 10 else word
        yield word + ("\n\n" if i % 100 == 99 else " ")
    yield "finis"


def wanted(body):
    """The pieces of the answer and the seconds between two of them."""
    found = re.findall(r"WORDS (\d+) (\d+)", json.dumps(body))
    if not found:
        return ["Hello", " from", " the", " gateway", "."], 0
    n, rate = map(int, found[-1])
    return styled_words(n), 1 / rate if rate else 0


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        body = json.dumps({"object": "list", "data": [{"id": "bench", "object": "model"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def event(self, data, name=None):
        text = (f"event: {name}\n" if name else "") + f"data: {data}\n\n"
        chunk = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        pieces, pause = wanted(body)
        answer = self.put_responses if self.path.endswith("/responses") else self.put_messages \
            if "/messages" in self.path else self.put_completions
        answer(self.paced(pieces, pause))
        self.wfile.write(b"0\r\n\r\n")

    @staticmethod
    def paced(pieces, pause):
        due = time.monotonic()
        for piece in pieces:
            due += pause
            if pause:
                time.sleep(max(0, due - time.monotonic()))
            yield piece

    def put_completions(self, pieces):
        def chunk(delta, finish=None, **more):
            self.event(json.dumps({"id": "c1", "object": "chat.completion.chunk", "created": 1,
                                   "model": "bench", "choices": [
                                       {"index": 0, "delta": delta, "finish_reason": finish}],
                                   **more}))
        chunk({"role": "assistant", "content": ""})
        for piece in pieces:
            chunk({"content": piece})
        chunk({}, "stop", usage={"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20})
        self.event("[DONE]")

    def put_messages(self, pieces):
        def say(kind, **members):
            self.event(json.dumps({"type": kind, **members}), kind)
        say("message_start", message={"id": "m1", "type": "message", "role": "assistant", "model": "bench",
                                      "content": [], "stop_reason": None, "stop_sequence": None,
                                      "usage": {"input_tokens": 10, "output_tokens": 1}})
        say("content_block_start", index=0, content_block={"type": "text", "text": ""})
        for piece in pieces:
            say("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
        say("content_block_stop", index=0)
        say("message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None},
            usage={"output_tokens": 10})
        say("message_stop")

    def put_responses(self, pieces):
        def say(kind, **members):
            self.event(json.dumps({"type": kind, **members}), kind)
        item = {"id": "m1", "type": "message", "role": "assistant", "content": []}
        say("response.created", response={"id": "r1"})
        say("response.output_item.added", output_index=0, item=item)
        text = ""
        for piece in pieces:
            text += piece
            say("response.output_text.delta", item_id="m1", output_index=0, content_index=0,
                delta=piece)
        item = {**item, "content": [{"type": "output_text", "text": text}]}
        say("response.output_item.done", output_index=0, item=item)
        say("response.completed", response={"id": "r1", "status": "completed", "output": [item],
            "usage": {"input_tokens": 10, "output_tokens": 10, "total_tokens": 20,
                      "input_tokens_details": {"cached_tokens": 0},
                      "output_tokens_details": {"reasoning_tokens": 0}}})


def start():
    """Returns its address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}/v1"
