# SPDX-License-Identifier: MIT
"""A workspace, a home with a credential file and a copy of the program, for root and for an ordinary
user; a provider that keeps what it is asked.  Used by the security_* and sandbox_* scripts."""
import http.server
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import harness  # noqa: E402

NOBODY = 65534
SECRET = "sk-credential-of-tests"
PROGRAM = os.environ["TRIVET"]
ANSWER = (b'data: {"choices":[{"delta":{"content":"fine"},"finish_reason":"stop"}]}\n\n'
          b"data: [DONE]\n\n")


def users():
    if os.getuid() == 0:
        tempfile.tempdir = "/tmp"  # $TMPDIR may be closed to the ordinary user
        return [("root", 0), ("user", NOBODY)]
    return [("user", os.getuid())]


class Provider:
    """Says "fine" to everything; `asked` holds the bodies of the requests."""

    def __init__(self):
        self.asked = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):  # noqa: N802
                outer.asked.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Content-Length", str(len(ANSWER)))
                self.end_headers()
                self.wfile.write(ANSWER)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()


class Place:
    def __init__(self, base, uid):
        self.base, self.uid = base, uid
        self.work, self.out, self.home = f"{base}/work", f"{base}/outside", f"{base}/home"
        self.env = harness.clean_env(base)
        for path in (self.work, self.out, f"{self.home}/.loaf", f"{base}/bin"):
            os.makedirs(path)
        self.put(f"{self.home}/.loaf/auth.json", json.dumps({"note": SECRET}))
        self.put(f"{self.out}/secret", f"{SECRET}\n")
        for name in os.listdir(os.path.dirname(PROGRAM)):
            if name in ("trivet", "trivet-hold") or name.endswith(".so"):
                shutil.copy(os.path.join(os.path.dirname(PROGRAM), name), f"{base}/bin/{name}")
        self.program = f"{base}/bin/trivet"
        self.wrap = []      # a command that starts it

    def put(self, path, text):
        path = os.path.join(self.work, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def forbid_namespaces(self):
        """From now on the program runs on a system that gives none."""
        attempt = f"{self.base}/bin/attempt"
        subprocess.run(["cc", "-O1", "-o", attempt, f"{HERE}/escape_attempt.c"], check=True)
        self.wrap = [attempt, "without-namespaces"]

    def scene(self, *calls, last="over"):
        rounds = [[{"call": name, "args": args}] for name, args in calls] + [[{"say": last}]]
        self.put("scene.json", json.dumps({"rounds": rounds}))

    def give_away(self):
        """Everything belongs to the user who runs."""
        if os.getuid() != 0:
            return
        os.chmod(self.base, 0o755)
        for top, dirs, files in os.walk(self.base):
            for name in dirs + files:
                os.lchown(os.path.join(top, name), self.uid, self.uid)

    def as_user(self):
        return {"user": self.uid, "group": self.uid, "extra_groups": []} if os.getuid() == 0 else {}

    def run(self, *args, text="", **env):
        """Runs the program to its end and returns it, with stdout and stderr as text."""
        self.give_away()
        return subprocess.run([*self.wrap, self.program, *args], cwd=self.work, input=text, check=False,
                              capture_output=True, text=True, errors="replace",
                              timeout=60 * harness.slow(), env={**self.env, **env},
                              **self.as_user())

    def results(self):
        """What the tools of all sessions of `trivet run` gave to the model."""
        texts = []
        for top, _, files in os.walk(f"{self.env['XDG_STATE_HOME']}/trivet"):
            for name in files:
                with open(os.path.join(top, name), encoding="utf-8") as file:
                    texts.append(file.read())
        return "".join(texts)


def bash(p, *commands, **env):
    """Runs the commands one after the other in one session; what the model got."""
    p.scene(*(("bash", {"command": c, "timeout": 60000}) for c in commands))
    done = p.run("run", "-m", "rehearsal/scene.json", "--mode", "workspace-write", "go", **env)
    assert done.returncode == 0, done.stderr
    return p.results()


class Score:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, title, ok, why=""):
        self.passed += bool(ok)
        self.failed += not ok
        if not ok:
            print(f"FAILED: {title}: {str(why)[-600:]}")


def play(*cases):
    """Each case (score, place) for each user in a place of its own."""
    score = Score()
    for name, uid in users():
        for case in cases:
            with harness.private_place() as base:
                score.name = name
                try:
                    case(score, Place(base, uid))
                except (OSError, subprocess.SubprocessError, AssertionError, KeyError) as why:
                    score.check(f"{case.__name__} ({name})", False, repr(why))
    harness.finish(score.passed, score.failed)
