#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# NEEDS: terminal
"""`trivet login`, `trivet logout` and `trivet models`: keys are typed unseen or piped, refused ones are not kept,
sign-ins work with a browser, with a code and with a pasted address.
"""
import http.server
import json
import os
import pty
import re
import select
import signal
import stat
import subprocess
import sys
import termios
import threading
import time
import urllib.parse
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import harness  # noqa: E402

PROGRAM = os.environ["TRIVET"]
KEY = "sk-test-0123456789abcdef"
passed, failed = 0, 0


def check(name, ok, detail=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"FAILED: {name}: {str(detail)[:600]}")


class Handler(http.server.BaseHTTPRequestHandler):
    """GET .../models: a list for the right key, 401 for another."""

    def do_GET(self):
        good = self.headers.get("Authorization") == f"Bearer {KEY}"
        body = json.dumps({"data": [{"id": "fake-1"}, {"id": "fake-2"}]} if good else
                          {"error": {"message": "Incorrect API key provided"}}).encode()
        self.send_response(200 if good else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Terminal:
    """The program on a terminal of its own."""

    def __init__(self, args, env):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(PROGRAM, [PROGRAM, *args], env)
        self.seen = ""

    def wait(self, text):
        end = time.monotonic() + 30 * harness.slow()
        while text not in self.seen and time.monotonic() < end:
            if select.select([self.fd], [], [], 0.2)[0]:
                try:
                    self.seen += os.read(self.fd, 4096).decode(errors="replace")
                except OSError:
                    break
        return text in self.seen

    def echoes(self):
        return bool(termios.tcgetattr(self.fd)[3] & termios.ECHO)

    def type(self, text):
        time.sleep(0.4)  # what comes at once is no answer
        os.write(self.fd, text.encode())

    def end(self):
        self.wait("\0")  # to the end of its output
        end = time.monotonic() + 30 * harness.slow()
        while (done := os.waitpid(self.pid, os.WNOHANG)) == (0, 0):
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
            time.sleep(0.02)
        status = os.waitstatus_to_exitcode(done[1])
        os.close(self.fd)
        return status


class Stage:
    def __init__(self, base, port):
        self.env = dict(harness.clean_env(base), OPENAI_BASE_URL=f"http://127.0.0.1:{port}/v1",
                        TERM="dumb")
        for name in ("OLLAMA", "LLAMACPP", "LMSTUDIO", "VLLM"):
            self.env[f"{name}_BASE_URL"] = "http://127.0.0.1:9"
        # An address of this machine needs no key; a name that is not known to be local does.
        self.file = os.path.join(self.env["XDG_CONFIG_HOME"], "trivet/auth.json")

    def run(self, *args, stdin=b""):
        return subprocess.run([PROGRAM, *args], input=stdin, env=self.env, check=False,
                              capture_output=True, timeout=60 * harness.slow())

    def stored(self):
        if not os.path.exists(self.file):
            return {}
        with open(self.file, encoding="utf-8") as file:
            return json.load(file)


def keys(s):
    output = s.run("login", "openai", stdin=KEY.encode() + b"\n")
    check("a key from a pipe", output.returncode == 0 and KEY in json.dumps(s.stored()), output)
    check("its file is private", stat.S_IMODE(os.stat(s.file).st_mode) == 0o600)
    check("says what to do next", b"try: trivet chat -m openai/" in output.stderr, output)
    check("nothing on stdout, no key on stderr", output.stdout == b"" and KEY.encode() not in output.stderr, output)
    rows = json.loads(s.run("login", "--json").stdout)
    mine = [row for row in rows if row["provider"] == "openai"][0]
    check("the list", mine["stored"] and mine["way"] == "key" and not mine["variable_is_set"], mine)
    check("the list has no key", KEY not in json.dumps(rows))
    check("--list", b"key stored" in s.run("login", "--list").stdout)
    check("without a terminal: the list", b"openai" in s.run("login").stdout)
    models = json.loads(s.run("models", "--json").stdout)
    names = {row["model"] for row in models}
    check("models of the key", {"openai/fake-1", "openai/fake-2"} <= names and all(row["usable"] for row in models), names)
    check("the rehearsal model only where nothing else can be used", "rehearsal/default" not in names
          and "rehearsal/default" in s.run("models", "--all", "--offline", "--plain").stdout.decode(), names)
    output = s.run("logout", "openai")
    check("logout", output.returncode == 0 and "openai" not in s.stored(), output)
    check("logout again", s.run("logout", "openai").returncode == 1)
    check("logout of nothing", s.run("logout").returncode == 1)


def refusals(s):
    output = s.run("login", "openai", stdin=b"sk-wrong\n")
    check("a refused key is not kept", output.returncode == 1 and b"refused the key" in output.stderr
          and "openai" not in s.stored() and b"sk-wrong" not in output.stderr, output)
    s.run("login", "openai", stdin=KEY.encode())
    output = s.run("login", "openai", stdin=b"sk-wrong\n")
    check("the earlier key stays", output.returncode == 1 and KEY in json.dumps(s.stored()), s.stored())
    s.run("logout")
    output = s.run("login", "openai", KEY)
    check("no key in the arguments", output.returncode == 2 and b"not an argument" in output.stderr
          and KEY.encode() not in output.stderr, output)
    output = s.run("login", "openal")
    check("nearest provider", output.returncode == 2 and b"did you mean openai" in output.stderr, output)
    output = s.run("login", KEY)
    check("a key in place of a provider is not echoed", output.returncode == 2
          and KEY.encode() not in output.stderr, output)
    check("no key at all", s.run("login", "openai").returncode == 2)
    check("takes no key", s.run("login", "rehearsal", stdin=b"x\n").returncode == 2)


def terminal(s):
    t = Terminal(["login"], s.env)
    os.write(t.fd, b"rehearsal\n")
    t.wait("which one")
    t.type("openai\n")
    t.wait("key (not shown): ")
    check("no echo while it is typed", not t.echoes())
    t.type(KEY + "\n")
    check("kept", t.wait("is kept in"), t.seen)
    check("exit 0", t.end() == 0)
    check("the key was not shown", KEY not in t.seen, t.seen)
    check("stored", KEY in json.dumps(s.stored()))
    t = Terminal(["login", "openai"], s.env)
    t.wait("key (not shown): ")
    t.type("\x03")
    check("Ctrl-C", t.end() == -signal.SIGINT, t.seen)
    fd, other = pty.openpty()
    process = subprocess.Popen([PROGRAM, "login", "openai"], stdin=other, stderr=other, env=s.env)
    while termios.tcgetattr(other)[3] & termios.ECHO and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    check("ended by SIGTERM", process.wait(30) == -signal.SIGTERM)
    check("echo is back", termios.tcgetattr(other)[3] & termios.ECHO)
    os.close(fd), os.close(other)
    s.run("logout", "--all")
    check("logout --all", "openai" not in s.stored(), s.stored())


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args, **kwargs):
        return None


def redirected(url):
    """Where the authorisation page sends the browser."""
    try:
        urllib.request.build_opener(NoRedirect).open(url, timeout=30)
    except urllib.error.HTTPError as e:
        return e.headers["Location"]
    raise AssertionError("no redirect")


def signs_in(s, base):
    control, log = os.path.join(base, "control.json"), os.path.join(base, "oauth.log")
    with open(control, "w", encoding="utf-8") as file:
        json.dump({"polls": [{"status": 403, "error": "authorization_pending"}], "interval": 0.05}, file)
    fake = os.path.join(os.path.dirname(HERE), "fake/oauth.py")
    server = subprocess.Popen([sys.executable, fake, "--control", control, "--log", log, "--port", "0",
                               "--die-with-parent"], stdout=subprocess.PIPE, text=True)
    port = server.stdout.readline().split()[1]
    s.env.update(TRIVET_OPENAI_AUTH_URL=f"http://127.0.0.1:{port}", CODEX_BASE_URL="http://127.0.0.1:9")
    try:
        output = s.run("login", "codex", "--device")
        check("with a code", output.returncode == 0 and b"type the code ABCD-EFGH" in output.stderr, output)
        rows = json.loads(s.run("login", "--json").stdout)
        mine = {row["provider"]: row for row in rows}
        check("signed in", mine["codex"]["stored"] and mine["codex"]["way"] == "sign-in"
              and not mine["openai"]["stored"], mine)
        check("logout", s.run("logout", "codex").returncode == 0 and not s.stored(), s.stored())
        t = Terminal(["login", "codex", "--browser"], s.env)
        t.wait("paste ")
        url = re.search(r"http://\S+", t.seen)[0]
        back = redirected(url)
        query = urllib.parse.urlsplit(back).query
        check("the callback is on this machine", back.startswith("http://localhost:"), back)
        t.type(f"http://localhost:1/auth/callback?{query}\n")
        check("a pasted address", t.wait("signed in at"), t.seen)
        check("exit 0", t.end() == 0)
        s.run("logout")
        t = Terminal(["login", "codex", "--browser"], s.env)
        t.wait("paste ")
        back = redirected(re.search(r"http://\S+", t.seen)[0])
        urllib.request.urlopen(back, timeout=30).read()
        check("the browser comes back", t.wait("signed in at"), t.seen)
        check("exit 0", t.end() == 0)
        t = Terminal(["login", "codex", "--browser"], s.env)
        t.wait("paste ")
        t.type("\x03")
        check("Ctrl-C while it waits", t.end() == 130, t.seen)
        check("the earlier sign-in is kept", s.stored())
        s.run("logout")
    finally:
        server.kill()
        server.wait()


def models(s):
    usable = json.loads(s.run("models", "--json", "--offline").stdout)
    every = json.loads(s.run("models", "--json", "--all", "--offline").stdout)
    check("without keys", all(row["usable"] for row in usable) and len(every) > len(usable), usable)
    priced = [row for row in every if row["price_in"]]
    check("prices and windows", priced and all(row["context_window"] for row in priced), priced)
    check("one provider", {row["provider"] for row in json.loads(
        s.run("models", "anthropic", "--all", "--offline", "--json").stdout)} == {"anthropic"})
    lines = s.run("models", "--plain", "--offline").stdout.decode().splitlines()
    check("--plain", len(lines) == len(usable) and all(line.count("\t") == 6 for line in lines), lines)
    shown = s.run("models", "--all", "--offline")
    check("for people", b"$/M in/out" in shown.stdout and b"no key" in shown.stdout
          and not re.search(rb" $", shown.stdout, re.M), shown)
    check("unknown provider", s.run("models", "opneai").returncode == 2)


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with harness.private_place() as base:
        s = Stage(base, server.server_port)
        models(s)
        keys(s)
        refusals(s)
        terminal(s)
        signs_in(s, base)
    harness.finish(passed, failed)


main()
