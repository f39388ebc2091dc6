#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Requests that the HTTP server must refuse, each with its status: smuggling, rebinding, foreign
pages, guessing, flooding, slow clients."""
import concurrent.futures
import os
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import web_client                                               # noqa: E402
from web_client import Socket, check, frame, is_closed, read_answer, server   # noqa: E402

JSON = "Content-Type: application/json"


def refused(web, name, data, status, code=None):
    """Refused with the status and a problem document, closed, and nothing else is answered."""
    with web.connect() as sock:
        sock.sendall(data)
        with sock.makefile("rb") as file:
            answer = read_answer(sock, file=file)
            rest = b"" if answer.status == 0 else file.read()
    ok = (answer.status == status and answer.closed and rest == b"" and
          answer.headers.get("content-type") == "application/problem+json" and answer.code and
          (code is None or answer.code == code) and
          not any(name.startswith("access-control") for name in answer.headers))
    check(name, ok, (answer, rest))


def syntax(web):
    """Everything on which two servers could disagree; behind each a second request is hidden."""
    good = web.head("POST /echo", None, JSON, "Content-Length: 2") + b"{}"
    hidden = web.head("GET /echo")
    host = f"Host: {web.address}"
    bearer = f"Authorization: Bearer {web.control}"

    def head(*lines):
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
    check("the good request is answered", web.ask(good).status == 200)
    post = ("POST /echo HTTP/1.1", host, bearer, JSON)
    rows = {
        "CL.TE": head(*post, "Content-Length: 6", "Transfer-Encoding: chunked") + b"0\r\n\r\nG",
        "TE.CL": head(*post, "Transfer-Encoding: chunked", "Content-Length: 4") + b"5c\r\n",
        "TE.TE, one unknown": head(*post, "Transfer-Encoding: chunked", "Transfer-Encoding: x"),
        "TE with a space before the colon": head(*post, "Transfer-Encoding : chunked"),
        "TE: xchunked": head(*post, "Transfer-Encoding: xchunked"),
        "TE: chunked, identity": head(*post, "Transfer-Encoding: chunked, identity"),
        "TE with a vertical tab": head(*post, "Transfer-Encoding: \x0bchunked"),
        "TE on a folded line": head(*post, "Transfer-Encoding:", " chunked"),
        "two lengths": head(*post, "Content-Length: 2", "Content-Length: 2") + b"{}",
        "two different lengths": head(*post, "Content-Length: 2", "Content-Length: 0") + b"{}",
        "a list of lengths": head(*post, "Content-Length: 2, 2") + b"{}",
        "length +2": head(*post, "Content-Length: +2") + b"{}",
        "length -1": head(*post, "Content-Length: -1"),
        "length 0x2": head(*post, "Content-Length: 0x2") + b"{}",
        "length beyond 64 bits": head(*post, "Content-Length: 36893488147419103234") + b"{}",
        "GET with a body": head("GET /echo HTTP/1.1", host, bearer, JSON, "Content-Length: 2"),
        "obs-fold": head("GET /echo HTTP/1.1", host, bearer, "X: a", " b"),
        "obs-fold as the first header": head("GET /echo HTTP/1.1", " X: a", host, bearer),
        "bare LF": f"GET /echo HTTP/1.1\n{host}\n{bearer}\n\n".encode(),
        "bare LF in a header": head("GET /echo HTTP/1.1", host, bearer, "X: a\nY: b"),
        "bare CR in a header": head("GET /echo HTTP/1.1", host, bearer, "X: a\rY: b"),
        "NUL in a header": head("GET /echo HTTP/1.1", host, bearer, "X: a\0b"),
        "NUL in the target": head("GET /echo\0 HTTP/1.1", host, bearer),
        "empty line first": b"\r\n" + head("GET /echo HTTP/1.1", host, bearer),
        "no Host": head("GET /echo HTTP/1.1", bearer),
        "two Hosts": head("GET /echo HTTP/1.1", host, host, bearer),
        "two Hosts, one foreign": head("GET /echo HTTP/1.1", host, "Host: evil.example", bearer),
        "absolute target": head(f"GET http://{web.address}/echo HTTP/1.1", host, bearer),
        "absolute foreign target": head("GET http://evil.example/ HTTP/1.1", host, bearer),
        "CONNECT": head("CONNECT evil.example:443 HTTP/1.1", host, bearer),
        "asterisk": head("OPTIONS * HTTP/1.1", host, bearer),
        "header without colon": head("GET /echo HTTP/1.1", host, bearer, "X"),
        "header with an empty name": head("GET /echo HTTP/1.1", host, bearer, ": x"),
        "two spaces in the first line": head("GET  /echo HTTP/1.1", host, bearer),
        "a fourth word": head("GET /echo HTTP/1.1 x", host, bearer),
        "HTTP/0.9": b"GET /echo\r\n",
        "two Authorizations": head("GET /echo HTTP/1.1", host, bearer, bearer),
        "two Origins": head("GET /echo HTTP/1.1", host, bearer, f"Origin: http://{web.address}",
                            "Origin: http://evil.example"),
        "TLS": bytes.fromhex("16030100a5010000a1"),
    }
    for name, data in rows.items():
        refused(web, name, data + hidden, 400, "bad_request")
    chunked = head(*post, "Transfer-Encoding: chunked")
    for name, data in {"chunk size 0x2": b"0x2\r\n{}\r\n0\r\n\r\n",
                       "chunk extension": b"2;a=b\r\n{}\r\n0\r\n\r\n",
                       "chunk size -1": b"-1\r\n", "empty chunk size": b"\r\n{}\r\n",
                       "chunk with LF only": b"2\n{}\n0\n\n", "too many digits": b"000000002\r\n",
                       "chunk longer than its size": b"2\r\n{}}\r\n0\r\n\r\n",
                       "trailer": b"2\r\n{}\r\n0\r\nHost: evil.example\r\n\r\n"}.items():
        refused(web, name, chunked + data + hidden, 400, "bad_request")
    refused(web, "HTTP/1.0", head("GET /echo HTTP/1.0", host, bearer), 505)
    refused(web, "HTTP/2 preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505)


def paths(web):
    for path in ("/../etc/passwd", "/app.js/../../etc/passwd", "/%2e%2e/etc/passwd",
                 "/..%2fetc%2fpasswd", "/%2e%2e%2f", "/..\\..\\etc", "//etc/passwd", "/app.js%00",
                 "/./app.js", "/app.js%0d%0aX:y", "/app.js#x", "/app%2ejs/.."):
        refused(web, f"path {path}", web.head(f"GET {path}", ""), 400)
    for path in ("/page/app.js", "/app.js.map", "/APP.JS", "/index.html", "/.git/config"):
        refused(web, f"path {path} without token", web.head(f"GET {path}", ""), 401)


def sizes(web):
    refused(web, "first line of 8 KiB and more", web.head("GET /" + "a" * 8200), 414)
    refused(web, "head of 16 KiB and more", web.head("GET /echo", None, *(["X: " + "a" * 1000] * 17)),
            431)
    refused(web, "101 headers", web.head("GET /echo", None, *(["X: a"] * 99)), 431)
    refused(web, "a header that never ends", b"GET /echo HTTP/1.1\r\nX: " + b"a" * 20000, 431)
    refused(web, "announced body too large",
            web.head("POST /echo", None, JSON, "Content-Length: 1048577"), 413)
    refused(web, "announced body too large, with Expect",
            web.head("POST /echo", None, JSON, "Content-Length: 1048577", "Expect: 100-continue"),
            413)
    refused(web, "chunked body too large",
            web.head("POST /echo", None, JSON, "Transfer-Encoding: chunked") + b"100001\r\n", 413)
    refused(web, "login body too large",
            web.head("POST /v1/login", "", JSON, "Content-Length: 5000"), 413)


def rebinding(web):
    port = web.port
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}",
                 f"127.0.0.1.evil.example:{port}", f"localhost.evil.example:{port}", "0.0.0.0",
                 f"0.0.0.0:{port}", f"[::]:{port}", f"[::ffff:127.0.0.1]:{port}",
                 f"localhost:{port}@evil.example", f"127.0.0.2:{port}"):
        refused(web, f"Host: {host}", web.head("GET /", "", host=host), 421, "wrong_host")
        refused(web, f"Host: {host}, with token", web.head("GET /echo", host=host), 421)
    for host in (f"localhost:{port}", f"[::1]:{port}", f"LOCALHOST:{port}"):
        check(f"Host: {host}", web.get("GET /echo", host=host).status == 200)


def foreign_pages(web):
    for origin in ("http://evil.example", "null", f"https://{web.address}", "http://127.0.0.1",
                   f"http://127.0.0.1:{web.port + 1}", f"http://localhost:{web.port}", "file://",
                   f"http://{web.address}.evil.example", f"http://{web.address}/", ""):
        refused(web, f"Origin: {origin}", web.head("GET /echo", None, f"Origin: {origin}"), 403,
                "wrong_origin")
    for site in ("cross-site", "same-site", "x"):
        refused(web, f"Sec-Fetch-Site: {site}",
                web.head("GET /echo", None, f"Sec-Fetch-Site: {site}"), 403, "wrong_origin")
    refused(web, "the page framed by a foreign page",
            web.head("GET /", "", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Dest: iframe"), 403)
    refused(web, "preflight", web.head("OPTIONS /echo", "", "Access-Control-Request-Method: POST"),
            405)
    refused(web, "preflight of a foreign page",
            web.head("OPTIONS /echo", "", "Origin: http://evil.example"), 403)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
                 "application/json; charset=utf-7", "text/json"):
        refused(web, f"body as {kind}",
                web.head("POST /echo", None, f"Content-Type: {kind}", "Content-Length: 2") + b"{}",
                415)
    refused(web, "body without a type", web.head("POST /echo", None, "Content-Length: 2") + b"{}", 415)
    refused(web, "unknown expectation", web.head("POST /echo", None, "Expect: more"), 417)
    own = web.get("GET /echo", None, f"Origin: http://{web.address}", "Sec-Fetch-Site: same-origin")
    check("our own page is answered", own.status == 200, own)
    check("there is no CORS header", not any("access-control" in name for name in own.headers), own)


def cross_site_sockets(web):
    for origin in ("http://evil.example", "null", f"http://localhost:{web.port}"):
        sock = Socket(web, None, "/v1/ws", f"Origin: {origin}")
        check(f"WebSocket of {origin}", sock.answer.status == 403, sock.answer)
        sock.close()
    sock = Socket(web, None, "/v1/ws", "Sec-Fetch-Site: cross-site")
    check("WebSocket of another site", sock.answer.status == 403, sock.answer)
    sock.close()
    sock = Socket(web, None, "/v1/ws", f"Origin: http://{web.address}")
    check("WebSocket of our own page", sock.answer.status == 101 and sock.say("hi") == "hi")
    sock.close()
    for token, name in (("A" * 43, "wrong token"), ("", "no token")):
        sock = Socket(web, token)
        code = sock.close_code() if sock.answer.status == 101 else sock.answer
        check(f"WebSocket with {name} is closed with 4001", code == 4001, code)
        sock.send(b"\x0f\xa1", web_client.CLOSE)
        check(f"WebSocket with {name} ends", is_closed(sock.sock))
        sock.close()
    sock = Socket(web, None, protocol="chat")
    check("WebSocket of another protocol", sock.answer.status == 400, sock.answer)
    sock.close()
    upgrade = ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Protocol: trivet.v1")
    refused(web, "WebSocket without a key",
            web.head("GET /v1/ws", None, *upgrade, "Sec-WebSocket-Version: 13"), 400)
    refused(web, "WebSocket of version 8",
            web.head("GET /v1/ws", None, *upgrade, "Sec-WebSocket-Version: 8",
                     "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="), 426)
    refused(web, "h2c upgrade hides nothing",
            web.head("POST /echo", "", "Upgrade: h2c", "Connection: Upgrade, HTTP2-Settings"), 401)


def tokens(web):
    """Where a token may stand, and where not."""
    token = web.control
    for name, data in {
            "no token": web.head("GET /echo", ""),
            "token in the query": web.head(f"GET /echo?token={token}", ""),
            "token as access_token": web.head(f"GET /echo?access_token={token}", ""),
            "token in a cookie": web.head("GET /echo", "", f"Cookie: token={token}"),
            "Basic": web.head("GET /echo", "", f"Authorization: Basic {token}"),
            "token as a protocol without WebSocket":
                web.head("GET /echo", "", f"Sec-WebSocket-Protocol: trivet.token.{token}"),
            "unknown path without token": web.head("GET /v1/sessions", ""),
            "POST to an open path": web.head("POST /healthz", ""),
            "PUT to the page": web.head("PUT /", "")}.items():
        refused(web, name, data, 401, "no_token")
    check("open path", web.get("GET /healthz", "").status == 200)
    check("401 names the scheme", web.get("GET /echo", "").headers.get("www-authenticate") ==
          "Bearer")


def rotation(web):
    old = web.watch
    stale = Socket(web, old)
    check("the token of a WebSocket", stale.say("x") == "x")
    stream = web.connect()
    stream.sendall(web.head("GET /events?more=1", old))
    check("a stream begins", read_answer(stream, is_head=True).status == 200)
    new = web.get("POST /rotate", old).json()
    check("the new token is accepted", web.get("GET /echo", new).json()["role"] == "watch")
    check("an open WebSocket of the old token is closed", stale.close_code() == 4001)
    check("an open stream of the old token ends", is_closed(stream))
    stale.close()
    stream.close()
    refused(web, "replayed token after rotation", web.head("GET /echo", old), 401, "wrong_token")
    web.get("POST /revoke", new)
    refused(web, "revoked token", web.head("GET /echo", new), 401, "wrong_token")
    refused(web, "a token cut short", web.head("GET /echo", web.control[:-1]), 401)
    refused(web, "a token with more behind it", web.head("GET /echo", web.control + "A"), 401)


def codes(web):
    code = web.get("POST /code").json()

    def login(text):
        return web.get("POST /v1/login", "", body=b'{"code":"%s"}' % text.encode())
    first = login(code)
    token = first.json().get("token", "")
    check("a code gives a token", first.status == 200 and
          web.get("GET /echo", token).json()["role"] == "control", first)
    check("the answer is not stored", first.headers.get("cache-control") == "no-store")
    again = login(code)
    check("a code works once", again.status == 401 and again.code == "wrong_code", again)
    check("bad login: no JSON", web.get("POST /v1/login", "", body=b"code").status == 400)
    check("bad login: number", web.get("POST /v1/login", "", body=b'{"code":1}').code ==
          "bad_request")
    check("bad login: by GET", web.get("GET /v1/login?code=" + code, "").status == 401)
    check("bad login: by form", web.ask(web.head(
        "POST /v1/login", "", "Content-Type: application/x-www-form-urlencoded",
        "Content-Length: 6") + b"code=1").status == 415)
    check("bad login of a foreign page", web.get(
        "POST /v1/login", "", "Origin: http://evil.example", body=b'{"code":"x"}').status == 403)


def guessing(web):
    """Ten failures in a minute, then 429; the owner of a token is not locked out."""
    seen = [web.get("GET /echo", f"{i:043d}") for i in range(14)]
    statuses = [answer.status for answer in seen]
    check("ten guesses are 401, then 429", statuses == [401] * 10 + [429] * 4, statuses)
    check("429 says when", 1 <= int(seen[-1].headers.get("retry-after", 0)) <= 60, seen[-1])
    check("guessed codes count too", web.get("POST /v1/login", "", body=b'{"code":"x"}').status ==
          429)
    sock = Socket(web, "B" * 43)
    check("guessed by WebSocket", sock.answer.status == 429, sock.answer)
    sock.close()
    check("a valid token is accepted all the same", web.get().status == 200)
    check("failures are counted", web.counts()["token"] >= 10)


def slow(web):
    """Heads and bodies that come too slowly; head=400 ms, body=400 ms."""
    def drip(data, every, total):
        start = time.time()
        with web.connect() as sock:
            try:
                while time.time() - start < total:
                    if data:
                        sock.sendall(data[:1])
                        data = data[1:]
                    if web_client.can_read(sock, every):
                        return read_answer(sock), time.time() - start
            except OSError:
                pass
            return None, time.time() - start
    answer, seconds = drip(web.head("GET /echo", None, "X: " + "a" * 5000), 0.02, 50)
    check("slow head: 408 although bytes come", answer and answer.status == 408, (answer, seconds))
    with web.connect() as sock:
        check("no byte at all: closed without an answer", sock.recv(100) == b"")
    with web.connect() as sock:
        sock.sendall(web.head("POST /echo", None, JSON, "Content-Length: 9") + b"{")
        answer = read_answer(sock)
        check("slow body: 408", answer.status == 408 and answer.closed, answer)
    answer, seconds = drip(web.head("POST /v1/login", "", JSON, "Content-Length: 4000") +
                           b" " * 3000, 0.02, 50)
    check("a stranger's slow body: 408 although bytes come", answer and answer.status == 408,
          (answer, seconds))
    with web.connect() as sock:
        sock.sendall(web.head())
        check("keep-alive", read_answer(sock).status == 200)
        check("idle connection is closed", is_closed(sock))
    with web.connect(room=2048) as sock:
        sock.sendall(web.head("GET /big?n=30000000"))
        time.sleep(1.5)     # stall=300
        check("a client that does not read is cut off", web.reaches(connections=1))


def strangers(web):
    """64 connections without a token: the oldest goes, and the owner gets in."""
    socks = [web.connect() for _ in range(64)]
    mine = web.connect()
    mine.sendall(web.head())
    check("the 65th connection is answered", read_answer(mine).status == 200)
    check("none is closed for it", not web_client.can_read(socks[0], 0.1))
    socks.append(web.connect())
    check("the oldest stranger is closed for another", is_closed(socks[0]))
    check("no other is", not web_client.can_read(socks[1], 0.1))
    more = [web.connect() for _ in range(200)]
    check("after 200 more the owner gets in", web.get().status == 200)
    mine.sendall(web.head())
    check("a known connection stays", read_answer(mine).status == 200)
    check("never more than 64", web.counts()["strangers"] <= 64)
    for sock in socks + more + [mine]:
        sock.close()


def flood(web):
    """1,000 connections at once that send rubbish, then a good one."""
    def rubbish(i):
        data = (os.urandom(200), b"GET / HTTP/1.1\r\n" * 50, b"\r\n" * 100, frame(b"x"),
                web.head("GET /", "")[:i % 60])[i % 5]
        with socket.create_connection(("127.0.0.1", web.port)) as sock:
            try:
                sock.sendall(data)
                sock.shutdown(socket.SHUT_WR)
            except OSError:
                pass
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        list(pool.map(rubbish, range(1000)))
    check("after the flood it answers", web.get().status == 200)
    check("and nothing is left", web.reaches(connections=1, strangers=0))


def overloaded(web):
    socks = [web.connect() for _ in range(4)]
    for sock in socks:
        sock.sendall(web.head())
        read_answer(sock)
    answer = web.ask(web.head())
    check("too many connections: 503", answer.status == 503 and "retry-after" in answer.headers,
          answer)
    for sock in socks:
        sock.close()
    end = time.time() + web_client.WAIT
    while web.get().status != 200 and time.time() < end:
        time.sleep(0.05)
    check("and later it answers again", web.get().status == 200)


def main():
    with server() as web:
        for part in (syntax, paths, sizes, rebinding, foreign_pages, tokens, cross_site_sockets,
                     rotation, codes, strangers, flood):
            part(web)
    with server() as web:
        guessing(web)
    with server("head=400", "body=400", "idle=400", "stall=300", "leave=200") as web:
        slow(web)
    with server("connections=4") as web:
        overloaded(web)
    web_client.finish()


main()
