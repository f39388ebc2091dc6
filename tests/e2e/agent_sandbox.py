#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the model sees of the sandbox: the environment names it, a refusal names the path and what
works, one /tmp for all commands, a server of one call answers another, caches can be written and stay as they were,
and how to ask to leave.  sandbox_*.py attack it."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from played_model import Checks, Model, harness, play  # noqa: E402

check = Checks()
SERVER = ("python3 -c \"import http.server; http.server.test(http.server.SimpleHTTPRequestHandler, port=8765, "
          "bind='127.0.0.1')\"")
ASK = "for i in $(seq 50); do curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8765/ && exit; sleep 0.2; done"


def refused(base):
    """25: the line behind the output names the path and the places that can be written."""
    home = harness.clean_env(base)["HOME"]

    def scenario():
        text, = yield [("bash", {"command": "echo x > ~/mine.txt"})]
        check("25: the path", f"{home}/mine.txt" in text, text)
        check("25: what works", "/tmp" in text and os.path.join(base, "workspace") in text, text)
        text, = yield [("bash", {"command": "python3 -c 'open(\"/etc/mine\", \"w\")'"})]
        check("25: from a program", "/etc/mine" in text and "sandbox" in text, text)
        text, = yield [("bash", {"command": "echo kept > $TMPDIR/one; exit 3"})]
        check("25: not every failure is the sandbox", "sandbox" not in text, text)
        place = re.search(r"temporary files: ([^ \n]*)", model.requests[0]["messages"][1]["content"])[1]
        text, = yield [("bash", {"command": f"cat {place}/one"})]
        check("25: the directory that the environment names is the one of all commands", "kept" in text, (place, text))
        text, = yield [("write_file", {"path": f"{place}/two", "content": "by a tool\n"})]
        check("25: written", "two" in text and "denied" not in text, text)
        text, = yield [("bash", {"command": "cat $TMPDIR/two"})]
        check("25: and of file tools", "by a tool" in text, text)

    model = Model(scenario())
    play("run", model, base)
    first = model.requests[0]["messages"][1]["content"]
    check("25: the environment", "Sandbox: workspace-write; temporary files: /" in first, first)


@harness.needs_namespaces
def loopback(base):
    """26: a server in the background answers another call; the network outside does not."""
    def scenario():
        yield [("bash", {"command": SERVER, "run_in_background": True})]
        text, = yield [("bash", {"command": ASK})]
        check("26: 200", "200" in text, text)
        text, = yield [("bash", {"command": "curl -sS -m 5 http://192.0.2.1/"})]
        check("26: not outside", "200" not in text and "curl" in text, text)

    play("run", scenario(), base)


@harness.needs_namespaces
def caches(base):
    """27: written inside, absent outside."""
    home = harness.clean_env(base)["HOME"]
    os.makedirs(os.path.join(home, ".cache"), exist_ok=True)

    def scenario():
        text, = yield [("bash", {"command": "touch ~/.cache/x && ls ~/.cache"})]
        check("27: inside", "x" in text.split(), text)
        text, = yield [("bash", {"command": "ls ~/.cache"})]
        check("27: in the next call", "x" in text.split(), text)

    play("run", scenario(), base)
    check("27: absent outside", not os.path.exists(os.path.join(home, ".cache/x")))


def leave(base):
    """28: nobody can be asked here: denied, with the reason."""
    def scenario():
        text, = yield [("bash", {"command": "echo out", "unsandboxed": True, "why": "to see"})]
        check("28: denied", "out\n" not in text and "sandbox" in text, text)

    play("run", scenario(), base)


def main():
    for scene in (refused, loopback, caches, leave):
        with check.scene(scene.__name__) as base:
            scene(base)
    return check.end()


sys.exit(main())
