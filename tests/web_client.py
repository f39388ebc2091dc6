# SPDX-License-Identifier: MIT
"""The HTTP server of trivet (tests/fake/web_host.c) and clients of raw sockets, for web_*.py."""
import base64
import contextlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import time

import harness

HOST = os.path.join(harness.TOP, "build-asan", "web-host")
WAIT = 30 * harness.slow()
passed, failed = 0, 0


def check(name, ok, detail=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"FAILED: {name}: {str(detail)[:600]}")


def finish():
    print(f"{passed} passed, {failed} failed")
    raise SystemExit(failed != 0)


class Server:
    def __init__(self, base, *options):
        self.log = open(os.path.join(base, "log"), "w+", encoding="utf-8")
        self.child = subprocess.Popen([HOST, *options], cwd=base, env=harness.clean_env(base),
                                      stdout=subprocess.PIPE, stderr=self.log, text=True)
        said = json.loads(self.child.stdout.readline())
        self.address = said["address"]
        self.port = int(self.address.split(":")[1])
        self.watch, self.control, self.admin = said["watch"], said["control"], said["admin"]
        self.local = os.path.join(base, "web.sock")

    def connect(self, timeout=WAIT, room=0):
        sock = socket.socket()
        if room:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        sock.settimeout(timeout)
        sock.connect(("127.0.0.1", self.port))
        return sock

    def head(self, line="GET /echo", token=None, *more, host=None):
        """The bytes of a good request head, the token of `control` unless told otherwise."""
        token = self.control if token is None else token
        lines = [f"{line} HTTP/1.1", f"Host: {host or self.address}"]
        lines += [f"Authorization: Bearer {token}"] if token else []
        return ("\r\n".join(lines + list(more)) + "\r\n\r\n").encode("latin-1")

    def ask(self, data, **options):
        """The answer to bytes on a connection of their own, and whether it was closed then."""
        with self.connect(**options) as sock:
            with contextlib.suppress(OSError):
                sock.sendall(data)
            return read_answer(sock)

    def get(self, line="GET /echo", token=None, *more, body=None, **options):
        more = list(more)
        if body is not None:
            more += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        return self.ask(self.head(line, token, *more, **options) + (body or b""))

    def counts(self):
        return self.get("GET /counts").json()

    def reaches(self, **wanted):
        """Waits until the counters have these values."""
        end = time.time() + WAIT
        while time.time() < end:
            now = self.counts()
            if all(now[name] == value for name, value in wanted.items()):
                return True
            time.sleep(0.02)
        print(f"not reached: {wanted}: {now}")
        return False

    def stop(self):
        """Ends it in order; what it wrote on stderr."""
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGTERM)
        try:
            self.child.wait(WAIT)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self.log.seek(0)
        text = "\n".join(line for line in self.log.read().splitlines()
                         if not any(noise in line for noise in harness.TOOL_NOISE))
        check("the server ends without a fault", self.child.returncode == 0 and
              text.strip() == "0 connections left", (self.child.returncode, text))
        return text


@contextlib.contextmanager
def server(*options):
    with harness.private_place() as base:
        web = Server(base, *options)
        try:
            yield web
        finally:
            web.stop()


class Answer:
    def __init__(self, status=0, headers=None, body=b"", closed=False):
        self.status, self.headers, self.body = status, headers or {}, body
        self.closed = closed        # the server closed behind it, or said that it will

    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        try:
            return self.json()["code"]
        except (ValueError, KeyError, TypeError):
            return None

    def __repr__(self):
        return f"{self.status} {self.headers} {self.body[:200]!r} closed={self.closed}"


def read_head(file):
    line = file.readline().decode("latin-1")
    if not line:
        return Answer(closed=True)
    headers = {}
    while (row := file.readline().decode("latin-1").rstrip("\r\n")):
        name, value = row.split(":", 1)
        headers[name.lower()] = value.strip()
    return Answer(int(line.split()[1]), headers)


def read_chunk(file):
    n = int(file.readline(), 16)
    data = file.read(n)
    file.readline()
    return data


def read_answer(sock, is_head=False, file=None):
    """One answer; status 0 when the connection was closed without one."""
    file = file or sock.makefile("rb")
    try:
        answer = read_head(file)
        if answer.status == 100:
            answer = read_head(file)
        if answer.headers.get("transfer-encoding") == "chunked" and not is_head:
            while (chunk := read_chunk(file)):
                answer.body += chunk
        elif not is_head and answer.status not in (0, 101, 204, 304):
            answer.body = file.read(int(answer.headers.get("content-length", 0)))
    except (ConnectionResetError, BrokenPipeError):
        return Answer(closed=True)
    answer.closed |= answer.headers.get("connection") == "close"
    return answer


def is_closed(sock, timeout=WAIT):
    """Whether the server closes the connection within the time; bytes are read away."""
    sock.settimeout(timeout)
    try:
        while sock.recv(65536):
            pass
        return True
    except socket.timeout:
        return False
    except ConnectionResetError:
        return True


# ---- WebSocket ----

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


def frame(payload, opcode=TEXT, fin=True, mask=b"\x12\x34\x56\x78", rsv=0):
    head = bytes([(0x80 if fin else 0) | rsv << 4 | opcode])
    bit = 0x80 if mask else 0
    n = len(payload)
    if n < 126:
        head += bytes([bit | n])
    elif n < 65536:
        head += bytes([bit | 126]) + struct.pack(">H", n)
    else:
        head += bytes([bit | 127]) + struct.pack(">Q", n)
    if mask:
        key = int.from_bytes((mask * (n // 4 + 1))[:n], "big")
        payload = (int.from_bytes(payload, "big") ^ key).to_bytes(n, "big")
        head += mask
    return head + payload


class Socket:
    """A WebSocket; `answer` is the handshake's."""

    def __init__(self, web, token=None, path="/v1/ws", *more, protocol="trivet.v1", as_header=False,
                 extra=b"", room=0):
        token = web.control if token is None else token
        self.sock = web.connect(room=room)
        key = base64.b64encode(os.urandom(16)).decode()
        lines = ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                 f"Sec-WebSocket-Key: {key}"]
        offer = protocol
        if token and not as_header:
            offer += f", trivet.token.{token}"
        lines.append(f"Sec-WebSocket-Protocol: {offer}")
        self.sock.sendall(web.head(f"GET {path}", token if as_header else "", *lines, *more) + extra)
        self.file = self.sock.makefile("rb")
        self.answer = read_answer(self.sock, file=self.file)

    def send(self, data, *args, **options):
        self.sock.sendall(frame(data.encode() if isinstance(data, str) else data, *args, **options))

    def read(self):
        """(opcode, payload); (None, b"") when it was cut without a Close."""
        try:
            head = self.file.read(2)
            if len(head) < 2:
                return None, b""
            n = head[1] & 127
            if n >= 126:
                n = int.from_bytes(self.file.read(2 if n == 126 else 8), "big")
            if head[0] & 0xf0 != 0x80 or head[1] & 128:
                check("frames of the server are whole and not masked", False, head)
            return head[0] & 15, self.file.read(n)
        except ConnectionResetError:
            return None, b""

    def say(self, text):
        """Sends a message and returns the next one."""
        self.send(text)
        return self.read()[1].decode()

    def close_code(self):
        """Reads to the Close; its code, None without one."""
        while True:
            opcode, payload = self.read()
            if opcode is None:
                return None
            if opcode == CLOSE:
                return int.from_bytes(payload[:2], "big") if payload else 1005

    def close(self):
        self.file.close()
        self.sock.close()


def can_read(sock, seconds):
    return bool(select.select([sock], [], [], seconds)[0])
