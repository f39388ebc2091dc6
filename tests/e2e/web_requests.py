#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Good requests of the HTTP server: keep-alive, pipelines, bodies, the page, the Unix socket."""
import json
import os
import selectors
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import web_client                                                   # noqa: E402
from web_client import check, is_closed, read_answer, server        # noqa: E402

JSON = "Content-Type: application/json"


def basics(web):
    answer = web.get("GET /echo?a=%20b")
    check("GET", answer.status == 200 and answer.json() == {
        "method": "GET", "path": "/echo", "query": "a=%20b", "body": "", "role": "control",
        "id": answer.json()["id"], "peer": "127.0.0.1", "known": True}, answer)
    check("headers of data", answer.headers["cache-control"] == "no-store" and
          answer.headers["x-content-type-options"] == "nosniff" and
          answer.headers["referrer-policy"] == "no-referrer" and
          answer.headers["cross-origin-resource-policy"] == "same-origin" and
          "date" in answer.headers and "server" not in answer.headers, answer)
    check("roles", [web.get("GET /echo", token).json()["role"] for token in
                    (web.watch, web.control, web.admin)] == ["watch", "control", "admin"])
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        answer = web.get(f"{method} /echo", body=b'{"a":1}')
        check(method, answer.json()["body"] == '{"a":1}', answer)
    check("POST without a body", web.get("POST /echo").json()["body"] == "")
    with web.connect() as sock:
        sock.sendall(web.head("HEAD /echo"))
        answer = read_answer(sock, is_head=True)
        check("HEAD", answer.status == 200 and int(answer.headers["content-length"]) > 50, answer)
        sock.sendall(web.head())
        check("nothing of the body came", read_answer(sock).status == 200)
    answer = web.get("GET /nothing")
    check("404 of the handler", answer.status == 404 and answer.code == "not_found" and
          not answer.closed, answer)
    answer = web.get("GET /none")
    check("no answer is 500", answer.status == 500 and answer.code == "no_answer", answer)


def connections(web):
    with web.connect() as sock:
        with sock.makefile("rb") as file:
            got = []
            for i in range(50):
                sock.sendall(web.head(f"GET /echo?{i}"))
                got.append(read_answer(sock, file=file).json()["query"])
            check("keep-alive", got == [str(i) for i in range(50)], got)
            count = 300
            sock.sendall(b"".join(web.head(f"GET /echo?{i}") for i in range(count)))
            got = [read_answer(sock, file=file).json()["query"] for _ in range(count)]
            check("pipeline", got == [str(i) for i in range(count)])
            mixed = (web.head("POST /echo", None, JSON, "Content-Length: 2") + b"{}" +
                     web.head("GET /slow?ms=100") + web.head("GET /app.css", "") +
                     web.head("POST /echo", None, JSON, "Transfer-Encoding: chunked") +
                     b"2\r\n[1\r\n2\r\n,2\r\n1\r\n]\r\n0\r\n\r\n" + web.head("GET /echo?last"))
            for i in range(len(mixed)):
                sock.sendall(mixed[i:i + 1])
            got = [read_answer(sock, file=file) for _ in range(5)]
            check("pipeline of all kinds, byte by byte",
                  [a.status for a in got] == [200] * 5 and got[0].json()["body"] == "{}" and
                  got[3].json()["body"] == "[1,2]" and got[4].json()["query"] == "last", got)
            sock.sendall(web.head("GET /echo", None, "Connection: close") + web.head("GET /echo?x"))
            answer = read_answer(sock, file=file)
            check("Connection: close", answer.closed and file.read() == b"", answer)
    with web.connect() as sock:
        sock.sendall(web.head("GET /slow?ms=200"))
        sock.shutdown(socket.SHUT_WR)
        answer = read_answer(sock)
        check("a client that closed its sending side is answered", answer.status == 200, answer)
    with web.connect() as sock:
        sock.sendall(web.head("GET /slow?ms=200"))
    check("a client that went away leaves nothing", web.reaches(connections=1))
    with web.connect(room=4096) as sock, sock.makefile("rb") as file:
        sock.sendall(web.head("GET /big?n=3000000") * 3)
        time.sleep(0.2)
        got = [len(read_answer(sock, file=file).body) for _ in range(3)]
        check("large answers to a slow reader", got == [3000000] * 3, got)


def storm(web):
    """Clients that return all at once are all answered, although only 64 may be without a token.  The
    loop serves what is ready in one round: of 700 clients some took more than 20 ms."""
    count, good = 300, 0
    with selectors.DefaultSelector() as all_of_them:
        for _ in range(count):
            sock = socket.socket()
            sock.setblocking(False)
            is_there = sock.connect_ex(("127.0.0.1", web.port)) == 0
            if is_there:
                sock.send(web.head())
            all_of_them.register(sock, selectors.EVENT_READ if is_there else selectors.EVENT_WRITE)
        end = time.time() + 3 * web_client.WAIT
        while all_of_them.get_map() and time.time() < end:
            for key, events in all_of_them.select(1):
                if events & selectors.EVENT_WRITE:
                    key.fileobj.send(web.head())
                    all_of_them.modify(key.fileobj, selectors.EVENT_READ)
                    continue
                try:
                    good += key.fileobj.recv(1000).startswith(b"HTTP/1.1 200")
                except ConnectionResetError:
                    pass
                all_of_them.unregister(key.fileobj)
                key.fileobj.close()
    check(f"{count} clients at once", good == count, good)


def bodies(web):
    data = json.dumps("x" * 1000000).encode()
    with web.connect() as sock, sock.makefile("rb") as file:
        sock.sendall(web.head("POST /echo", None, JSON, f"Content-Length: {len(data)}",
                              "Expect: 100-continue"))
        check("100 Continue", file.readline() == b"HTTP/1.1 100 Continue\r\n")
        file.readline()
        sock.sendall(data)
        check("a body of 1 MB", read_answer(sock, file=file).json()["body"] == data.decode())
    with web.connect() as sock:
        pieces = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in
                          (data[i:i + 77777] for i in range(0, len(data), 77777)))
        sock.sendall(web.head("POST /echo", None, JSON, "Transfer-Encoding: chunked") + pieces +
                     b"0\r\n\r\n")
        check("the same in chunks", read_answer(sock).json()["body"] == data.decode())


def page(web):
    for path, kind in (("/", "text/html"), ("/app.js", "text/javascript"), ("/app.css", "text/css")):
        answer = web.get(f"GET {path}", "")
        policy = answer.headers.get("content-security-policy", "")
        check(f"{path}", answer.status == 200 and answer.body and
              answer.headers["content-type"].startswith(kind) and
              answer.headers["cache-control"] == "no-cache" and "default-src 'none'" in policy and
              "script-src 'self'" in policy and "frame-ancestors 'none'" in policy and
              "require-trusted-types-for 'script'" in policy and "unsafe" not in policy, answer)
        etag = answer.headers["etag"]
        answer = web.get(f"GET {path}", "", f"If-None-Match: {etag}")
        check(f"{path} is not sent again", answer.status == 304 and not answer.body and
              "content-length" not in answer.headers, answer)
        answer = web.get(f"GET {path}", "", 'If-None-Match: "x"')
        check(f"another {path} is", answer.status == 200)
    with open(os.path.join(web_client.harness.TOP, "src/web/page/app.js"), "rb") as file:
        check("the file is the source", web.get("GET /app.js", "").body == file.read())


def stranger(web):
    """As another user: 0 when the server closes without an answer."""
    os.chdir(os.path.dirname(web.local))    # the directories above are closed to it
    os.setuid(65534)
    with socket.socket(socket.AF_UNIX) as sock:
        try:
            sock.connect(os.path.basename(web.local))
            sock.sendall(b"GET /echo HTTP/1.1\r\nHost: x\r\n\r\n")
            return int(sock.recv(100) != b"")
        except (BrokenPipeError, ConnectionResetError):
            return 0
        except OSError:
            return 2


def local(web):
    """On the Unix socket the kernel says who it is."""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(web_client.WAIT)
        sock.connect(web.local)
        sock.sendall(b"GET /echo HTTP/1.1\r\nHost: x\r\n\r\n")
        answer = read_answer(sock)
        check("no token is needed", answer.json()["role"] == "admin" and
              answer.json()["peer"] == "unix", answer)
        sock.sendall(b"GET /echo HTTP/1.1\r\nHost: x\r\nOrigin: http://x\r\n\r\n")
        check("a page has no business there", read_answer(sock).status == 403)
        check("and it is closed", is_closed(sock))
    if os.geteuid() == 0:
        os.chmod(os.path.dirname(web.local), 0o755)
        os.chmod(web.local, 0o666)
        pid = os.fork()
        if pid == 0:
            os._exit(stranger(web))
        check("another user is refused", os.waitpid(pid, 0)[1] == 0)


def main():
    with server() as web:
        for part in (basics, connections, storm, bodies, page, local):
            part(web)
    web_client.finish()


main()
