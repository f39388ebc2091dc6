#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exa's search and a few web pages, on loopback.

    python3 tests/fake/exa.py [--log FILE] [--die-with-parent]

prints one line `PORT n` and serves until it is killed.

    POST /search               wants `x-api-key: exa-good`; the query decides what happens:
                               `refuse` 429, `broken` no JSON, `odd` results of odd shapes,
                               `many` 30 long results, anything else two results
    GET  /page                 HTML with title, headings, list, link, code, script
    GET  /plain /json /latin   text, JSON, ISO 8859-1
    GET  /untyped              HTML without a Content-Type
    GET  /binary /nul          an image; text with a NUL
    GET  /big                  6 MiB of text
    GET  /wide                 300 KiB of text
    GET  /missing              404 with a page
    GET  /hop/N                redirects N times, then /page; /hop/0 is relative
    GET  /away                 redirects to ftp:
    GET  /slow                 never answers

The log gets one line per request: method, path, and the body of a POST.
"""
import argparse
import ctypes
import http.server
import json
import signal
import time

PAGE = """<!doctype html><html><head><title>A &amp; B</title><style>p{}</style>
<script>var x = "<p>no</p>";</script></head><body><h1>Head</h1>
<p>One <a href="/plain">link</a> and <code>code</code>.</p>
<ul><li>first</li><li>second</li></ul></body></html>"""

TWO = [
    {"id": "1", "url": "https://one.example/a", "title": "First", "score": 0.5,
     "publishedDate": "2026-01-02T00:00:00.000Z", "author": "Ann", "text": "t" * 3000,
     "highlights": ["h" * 500, "short"], "highlightScores": [0.9, 0.1]},
    {"id": "2", "url": "https://two.example/", "title": None, "published_date": "2025-05-05"},
]
ODD = ["text", None, {}, {"url": 5}, {"url": "https://ok.example", "title": 7, "score": "high",
                                      "highlights": [1, "fine"], "text": None}]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body, content_type="text/html; charset=utf-8", location=None):
        data = body if isinstance(body, bytes) else body.encode()
        self.send_response(status)
        if content_type:
            self.send_header("Content-Type", content_type)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def note(self, body=""):
        if self.server.log:
            with open(self.server.log, "a", encoding="utf-8") as f:
                f.write(f"{self.command} {self.path} {body}\n")

    def do_GET(self):
        self.note()
        name, _, rest = self.path[1:].partition("/")
        pages = {
            "page": (200, PAGE), "plain": (200, "plain <b>text</b>\n", "text/plain"),
            "json": (200, '{"a": [1, 2]}', "application/json"),
            "latin": (200, "caf\xe9 \u2014".encode("cp1252"), "text/plain; charset=ISO-8859-1"),
            "untyped": (200, PAGE, None), "binary": (200, b"\x89PNG\r\n\x1a\n\0\0", "image/png"),
            "nul": (200, b"a\0b", "text/plain"), "big": (200, "x" * (6 << 20), "text/plain"),
            "wide": (200, "\u00fc" * (150 << 10), "text/plain"),
            "missing": (404, "<p>Nothing here</p>"),
            "away": (302, "", "text/html", "ftp://example.org/x"),
        }
        if name == "hop" and rest == "0":
            self.answer(302, "", location="../page")
        elif name == "hop":
            self.answer(307, "", location=f"/hop/{int(rest) - 1}")
        elif name == "slow":
            time.sleep(3600)
        else:
            self.answer(*pages.get(name, (404, "no")))

    def search(self, asked):
        query = asked["query"]
        if self.headers.get("x-api-key") != "exa-good":
            return 401, {"error": "Invalid API key", "tag": "INVALID_API_KEY"}
        if query == "refuse":
            return 429, {"statusCode": 429, "message": "Slow down"}
        results = ODD if query == "odd" else TWO
        if query == "many":
            results = [dict(TWO[0], url=f"https://n{i}.example") for i in range(30)]
        return 200, {"requestId": "rq-1", "results": results[:asked["numResults"]]
                     if query != "odd" else results}

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        self.note(body)
        asked = json.loads(body)
        if asked["query"] == "broken":
            self.answer(200, "<html>soon</html>")
        else:
            status, said = self.search(asked)
            self.answer(status, json.dumps(said), "application/json")

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True


def main():
    parser = argparse.ArgumentParser(description="search and pages on loopback")
    parser.add_argument("--log")
    parser.add_argument("--die-with-parent", action="store_true")
    arguments = parser.parse_args()
    if arguments.die_with_parent:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    server = Server(("127.0.0.1", 0), Handler)
    server.log = arguments.log
    print("PORT", server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
