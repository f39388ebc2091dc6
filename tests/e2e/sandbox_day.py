#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# NEEDS: npm
"""A day's work inside the default sandbox, as root and as an ordinary user: a virtual environment, an
npm project from what lies on the disk, a test suite that opens ports, make -j, commits with a hook,
files in /tmp from one command to the next, caches, and a network of chosen hosts."""
import http.server
import os
import subprocess
import tempfile
import threading

import security_place
from security_place import play

TEST = """
import http.server, threading, unittest, urllib.request
class Ports(unittest.TestCase):
    def test_port(self):
        s = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
        threading.Thread(target=s.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{s.server_address[1]}/test_ports.py"
        self.assertIn(b"class Ports", urllib.request.urlopen(url).read())
"""
MAKE = "all: $(patsubst %.c,%.o,$(wildcard src/*.c))\n\tcc -o prog $^ && ./prog\n"


class Web:
    """Somebody outside who answers."""

    def __init__(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):  # noqa: N802
                self.send_response(200)
                self.send_header("Content-Length", "7")
                self.end_headers()
                self.wfile.write(b"outside")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def bash(p, *commands, **env):
    p.scene(*(("bash", {"command": c, "timeout": 120000}) for c in commands))
    done = p.run("run", "-m", "rehearsal/scene.json", "--mode", "workspace-write", "go", **env)
    return done, p.results()


def project(p):
    p.put(f"{p.home}/.gitconfig", "[user]\nname = a\nemail = a@b\n[init]\ndefaultBranch = main\n")
    p.put(f"{p.home}/.cache/tool/data", "cached\n")
    p.put("test_ports.py", TEST)
    p.put("Makefile", MAKE)
    for i in range(6):
        p.put(f"src/f{i}.c", f"int f{i}(void) {{ return {i}; }}\n")
    p.put("src/main.c", "int f3(void);\nint main(void) { return f3() != 3; }\n")
    p.put("dep/package.json", '{"name": "dep", "version": "1.0.0", "main": "i.js"}')
    p.put("dep/i.js", "module.exports = 41 + 1;\n")
    p.put("app/package.json", '{"name": "app", "version": "1.0.0"}')
    p.give_away()
    subprocess.run(["git", "init", "-q"], cwd=p.work, env=p.env, check=True, **p.as_user())
    checks = "python3 -m unittest -q test_ports" if security_place.harness.has_namespaces() else "make -j4"
    hook = p.put(".git/hooks/pre-commit", f"#!/bin/sh\n{checks} && echo HOOK RAN\n")
    os.chmod(hook, 0o755)


def work(score, p):
    project(p)
    steps = [
        ("virtual environment", "python3 -m venv --without-pip .venv && .venv/bin/python -c 'print(\"VENV\")'", "VENV"),
        ("npm from the disk", "cd app && npm install --offline --no-audit --no-fund ../dep >/dev/null && "
                              "node -p 'require(\"dep\")'", "42"),
        ("tests with ports", "python3 -m unittest test_ports 2>&1 | tail -1", "OK"),
        ("make -j", "make -j4 >/dev/null && echo MADE", "MADE"),
        ("scratch", "echo from here >/tmp/note; mkdir -p $TMPDIR/d; test $TMPDIR = /tmp && echo WROTE", "WROTE"),
        ("cache", "cat ~/.cache/tool/data && echo more >~/.cache/tool/new && cat ~/.cache/tool/new", "more"),
        ("git add", "git add Makefile src test_ports.py", ""),
        ("git commit", "git commit -m 'a day'", "HOOK RAN"),
        ("scratch again", "cat /tmp/note && test -d /tmp/d && echo KEPT", "KEPT"),
    ]
    if not security_place.harness.has_namespaces():
        security_place.harness.skip(f"sandbox_day: tests with ports ({score.name})")
        steps = [step for step in steps if step[0] != "tests with ports"]
    done, output = bash(p, *(command for _, command, _ in steps))
    score.check(f"the session ({score.name})", done.returncode == 0, done.stderr)
    for title, _, words in steps:
        score.check(f"{title} ({score.name})", words in output, output)
    log = subprocess.run(["git", "log", "--format=%s"], cwd=p.work, env=p.env, check=False,
                         capture_output=True, text=True, **p.as_user())
    score.check(f"the commit is there ({score.name})", log.stdout == "a day\n", log)
    score.check(f"the cache outside is as it was ({score.name})",
                os.listdir(f"{p.home}/.cache/tool") == ["data"])
    left = [n for n in os.listdir("/tmp") + os.listdir(f"{p.base}/tmp") if n == "note"]
    score.check(f"the scratch directory is gone ({score.name})", not left, left)


@security_place.harness.needs_namespaces
def network(score, p):
    """Chosen hosts through the proxy, and nothing beside them."""
    near, far = Web(), Web()
    ask = ("python3 -c 'import os, http.client as h; c = h.HTTPConnection(os.environ[\"HTTP_PROXY\"][7:]); "
           "c.request(\"GET\", \"http://127.0.0.1:{port}/\"); r = c.getresponse(); print(r.status, r.read())'")
    p.give_away()
    done, output = bash(p, ask.format(port=near.port), ask.format(port=far.port),
                      "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", "
                      f"{near.port}), 3); print(\"DIR\" + \"ECT\")'",
                      TRIVET_SANDBOX_NET=f"127.0.0.1:{near.port}")
    score.check(f"a listed host ({score.name})", "200 b'outside'" in output, output)
    score.check(f"another one ({score.name})", "403 b'trivet: commands may not reach" in output, output)
    score.check(f"no way round the proxy ({score.name})", "DIRECT" not in output, output)


security_place.users()
tempfile.tempdir = "/var/tmp"  # what lies in /tmp keeps the scratch directory from being /tmp
security_place.users = lambda: [("root", 0), ("user", security_place.NOBODY)] if os.getuid() == 0 else [
    ("user", os.getuid())]
play(work, network)
