#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# LONG ROUNDS: the program with sanitizers
"""WebSockets and event streams of the HTTP server: messages in every shape, faults and their close
codes, pings, slow readers, ends."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import web_client                                                       # noqa: E402
from web_client import (BINARY, CLOSE, PING, PONG, TEXT, Socket, check, frame, is_closed,  # noqa: E402
                        read_answer, read_chunk, server)


def handshake(web):
    sock = Socket(web)
    check("handshake", sock.answer.status == 101 and
          sock.answer.headers.get("sec-websocket-protocol") == "trivet.v1" and
          "sec-websocket-extensions" not in sock.answer.headers, sock.answer)
    check("echo", sock.say("hello") == "hello")
    sock.close()
    sock = Socket(web, as_header=True)
    check("token as a header", sock.answer.status == 101 and sock.say("x") == "x", sock.answer)
    sock.close()
    sock = Socket(web, extra=frame(b"early") + frame(b"bird"))
    check("messages behind the handshake in one packet", (sock.read(), sock.read()) ==
          ((TEXT, b"early"), (TEXT, b"bird")))
    sock.close()
    check("it is counted and uncounted", web.reaches(websockets=0, conns=0))


def shapes(web):
    sock = Socket(web)
    for n in (0, 1, 125, 126, 127, 4090, 4096, 5000, 65535, 65536, 99999, 100000):
        text = ("x" * n)
        check(f"message of {n} bytes", sock.say(text) == text)
    check("UTF-8", sock.say("ä€😀") == "ä€😀")
    data = frame("in pieces ä".encode())
    for i in range(len(data)):
        sock.sock.sendall(data[i:i + 1])
    check("byte by byte", sock.read() == (TEXT, "in pieces ä".encode()))
    sock.send("frag", fin=False)
    sock.send("ping", PING)
    sock.send("", 0, fin=False)
    sock.send("ment\N{EURO SIGN}".encode()[:-1], 0, fin=False)
    sock.send("\N{EURO SIGN}".encode()[-1:], 0)
    check("ping between fragments", sock.read() == (PONG, b"ping"))
    check("fragments", sock.read() == (TEXT, "fragment\N{EURO SIGN}".encode()))
    sock.send("", PONG)
    many = b"".join(frame(b"%d" % i) for i in range(3000))
    sock.sock.sendall(many)
    check("3,000 messages at once keep their order",
          [sock.read()[1] for _ in range(3000)] == [b"%d" % i for i in range(3000)])
    sock.close()


def faults(web):
    big = b"x" * 100001
    for name, data, code in (
            ("not masked", frame(b"x", mask=None), 1002),
            ("reserved bit", frame(b"x", rsv=4), 1002),
            ("unknown opcode", frame(b"x", 3), 1002),
            ("unknown control opcode", frame(b"x", 11), 1002),
            ("long ping", frame(b"x" * 126, PING), 1002),
            ("ping in fragments", frame(b"x", PING, fin=False), 1002),
            ("continuation of nothing", frame(b"x", 0), 1002),
            ("message inside a message", frame(b"x", fin=False) + frame(b"y"), 1002),
            ("binary", frame(b"x", BINARY), 1003),
            ("no UTF-8", frame(b"\xff"), 1007),
            ("half a character", frame(b"\xe2\x82"), 1007),
            ("too big", frame(big), 1009),
            ("too big in fragments", frame(big[:60000], fin=False) + frame(big[:60000], 0), 1009),
            ("too big, only announced", frame(b"", mask=None)[:1] + b"\xff" + b"\0\0\0\x7f\0\0\0\0" +
             b"mask1", 1009),
            ("close with one byte", frame(b"\x03", CLOSE), 1002),
            ("close with code 1005", frame(b"\x03\xed", CLOSE), 1002),
            ("an HTTP request", web.head(), 1002)):
        sock = Socket(web)
        sock.sock.sendall(data)
        got = sock.close_code()
        check(f"{name}: {code}", got == code, got)
        check(f"{name}: the connection ends", is_closed(sock.sock))
        sock.close()
    check("nothing is left of them", web.reaches(websockets=0, conns=0))


def ends(web):
    sock = Socket(web)
    sock.send(b"\x03\xe8bye", CLOSE)
    check("a Close is answered", sock.close_code() == 1000)
    check("and then the server closes", is_closed(sock.sock, 1))
    sock.close()
    sock = Socket(web)
    sock.send(b"", CLOSE)
    check("a Close without a code", sock.close_code() == 1005)
    sock.close()
    sock = Socket(web)
    sock.send("close 4009 taken over")
    opcode, payload = sock.read()
    check("a Close of the handler", (opcode, payload) == (CLOSE, b"\x0f\xa9taken over"), payload)
    sock.send("more")
    sock.send(b"\x0f\xa9", CLOSE)
    check("its end", sock.read() == (None, b""))
    sock.close()
    sock = Socket(web)
    sock.send("close 1013 " + "ä" * 100)
    _, payload = sock.read()
    check("a long reason is cut between characters", payload[2:].decode() == "ä" * 61, payload)
    start = time.time()
    check("a client that does not answer the Close is cut", is_closed(sock.sock) and
          time.time() - start < 3)
    sock.close()
    sock = Socket(web)
    check("what was sent before the connection is freed arrives", sock.say("leave") == "good bye")
    check("then it is closed with 1000", sock.close_code() == 1000)
    sock.close()
    before = web.counts()
    socks = [Socket(web) for _ in range(5)]
    for sock in socks:
        sock.close()                                # without a Close
    check("cut connections are noticed", web.reaches(websockets=0, conns=0, eof=before["eof"] + 5))


def back_pressure(web):
    """A slow reader stops the producer, loses nothing, and disturbs no other."""
    slow = Socket(web, room=4096)
    slow.send("flood 400 65536")
    quick = Socket(web)
    check("full is told", web.reaches(full=1))
    check("another is not slowed down", quick.say("quick") == "quick")
    ok = True
    for i in range(400):
        opcode, payload = slow.read()
        ok &= opcode == TEXT and payload.startswith(b"%d:" % (i + 1)) and len(payload) == 65536
    check("all 400 messages arrive in order", ok)
    slow.send("hold 300")
    start = time.time()
    slow.sock.sendall(b"".join(frame(b"%d" % i) for i in range(100)))
    first = slow.read()[1]
    check("messages wait while the connection is held", first == b"0" and time.time() - start > 0.2)
    check("and come in order", [slow.read()[1] for _ in range(99)] ==
          [b"%d" % i for i in range(1, 100)])
    slow.close()
    gone = Socket(web, room=4096)
    gone.send("flood 1000 65536")
    check("full again", web.reaches(full=2) or web.counts()["full"] >= 2)
    gone.close()
    check("a reader that goes away while it is full", web.reaches(websockets=1, conns=1))
    quick.close()


def pings(web):
    """ping=100, silence=400, stall=400"""
    sock = Socket(web)
    opcode, payload = sock.read()
    check("ping", opcode == PING)
    codes = []
    for _ in range(8):
        sock.send(payload, PONG)
        opcode, payload = sock.read()
        codes.append(opcode)
    check("pings go on while they are answered", codes == [PING] * 8, codes)
    start = time.time()
    while sock.read()[0] == PING:
        pass
    check("silence is cut off", 0.2 < time.time() - start < 3)
    sock.close()
    held = Socket(web)
    held.send("hold 1500")
    held.send("after")
    start, opcode = time.time(), PING
    while opcode == PING:
        opcode, payload = held.read()
    check("a held connection is not silent", payload == b"after" and time.time() - start > 1)
    held.close()
    flood = Socket(web, room=4096)
    for _ in range(3000):
        flood.send(b"p" * 125, PING)
    check("pings that are not read do not pile up", web.reaches(websockets=0))
    flood.close()


def read_event(file):
    return read_chunk(file).decode()


def events(web):
    with web.connect() as sock:
        sock.sendall(web.head("GET /events?n=3&bytes=5"))
        answer = read_answer(sock)
        check("events", answer.status == 200 and answer.closed and
              answer.headers["content-type"] == "text/event-stream" and
              answer.headers["cache-control"] == "no-store" and
              answer.body == b"id: 1\ndata: 1:xxx\n\nid: 2\ndata: 2:xxx\n\nid: 3\ndata: 3:xxx\n\n",
              answer)
    with web.connect() as sock, sock.makefile("rb") as file:
        sock.sendall(web.head("GET /events?n=1&bytes=2&more=1"))
        web_client.read_head(file)
        check("event, then comments", [read_event(file) for _ in range(3)] ==
              ["id: 1\ndata: 1:\n\n", ":\n\n", ":\n\n"])
        check("a stream is counted", web.counts()["streams"] == 1)
    check("a closed stream is noticed", web.reaches(streams=0, conns=0))
    with web.connect(room=4096) as sock, sock.makefile("rb") as file:
        full = web.counts()["full"]
        sock.sendall(web.head("GET /events?n=200&bytes=65536"))
        web_client.read_head(file)
        check("the producer is told", web.reaches(full=full + 1))
        ok = all(read_event(file).startswith(f"id: {i + 1}\n") for i in range(200))
        check("a slow reader gets every event", ok and file.readline() == b"0\r\n")
    with web.connect(room=4096) as sock:
        sock.sendall(web.head("GET /events?n=200&bytes=65536"))
        check("one that does not read is cut off", web.reaches(streams=0, conns=0))
    with web.connect() as sock:
        sock.sendall(web.head("HEAD /events?n=9&bytes=9"))
        answer = read_answer(sock, is_head=True)
        check("HEAD of a stream", answer.status == 200 and is_closed(sock) and
              answer.headers["content-type"] == "text/event-stream", answer)


def stopping():
    with server() as web:
        sock = Socket(web)
        idle = web.connect()
        idle.sendall(web.head())
        read_answer(idle)
        busy = web.connect()
        busy.sendall(web.head("GET /slow?ms=400"))
        stream = web.connect()
        stream.sendall(web.head("GET /events?n=1&bytes=3&more=1"))
        check("all are there", web.reaches(streams=1, websockets=1))
        check("stop is answered", web.get("POST /stop").status == 200)
        check("WebSockets are closed with 1012", sock.close_code() == 1012)
        sock.send(b"\x03\xf4", CLOSE)
        check("idle connections are closed", is_closed(idle))
        answer = read_answer(stream)
        check("streams end", answer.status == 200 and answer.body == b"id: 1\ndata: 1:x\n\n", answer)
        answer = read_answer(busy)
        check("a running request is answered", answer.status == 200 and answer.closed, answer)
        try:
            web.connect().close()
            check("no new connection", False)
        except ConnectionRefusedError:
            check("no new connection", True)
        for one in (sock, idle, busy, stream):
            one.close()
        web.child.wait(web_client.WAIT)


def main():
    with server("leave=500") as web:
        for part in (handshake, shapes, faults, ends, back_pressure):
            part(web)
    with server("ping=100", "silence=400", "stall=400", "comment=100", "leave=300") as web:
        pings(web)
        events(web)
    stopping()
    web_client.finish()


main()
