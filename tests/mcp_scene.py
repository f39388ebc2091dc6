# SPDX-License-Identifier: MIT
"""A place for tests of MCP: settings, a workspace, `trivet exec` with calls, what came of them."""
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "fake")]
import harness   # noqa: E402
import provider  # noqa: E402

PROGRAM = os.environ["TRIVET"]
FAKE = os.path.join(HERE, "fake", "mcp_server.py")


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def __call__(self, name, ok, detail=""):
        self.passed, self.failed = self.passed + bool(ok), self.failed + (not ok)
        if not ok:
            print(f"FAILED: {name}: {str(detail)[:900]}")

    def end(self):
        print(f"{self.passed} passed, {self.failed} failed")
        sys.exit(self.failed > 0)


class Run:
    """What one `trivet exec --stream-json` said."""

    def __init__(self, done, seconds):
        self.code, self.err, self.seconds = done.returncode, harness.without_noise(done.stderr.decode()), seconds
        self.events = [json.loads(line) for line in done.stdout.decode().splitlines()]
        self.calls = [e for e in self.events if e["type"] == "call_done"]
        self.result = self.events[-1] if self.events else {}

    def text(self, at=0):
        return self.calls[at]["text"] if at < len(self.calls) else f"<no call {at}>"

    def texts(self):
        return [call["text"] for call in self.calls]

    def __repr__(self):
        return f"exit {self.code}, {self.seconds:.1f} s, {self.calls} {self.result} {self.err}"


class Place:
    """A home and a workspace of their own."""

    def __init__(self, base, name, **env):
        self.base = os.path.join(base, name)
        self.work = os.path.join(self.base, "work")
        os.makedirs(self.work)
        self.env = {**harness.clean_env(self.base), **env}
        self.journal_path = os.path.join(self.work, "journal")
        self.config_path = os.path.join(self.env["XDG_CONFIG_HOME"], "trivet", "mcp.json")

    def fake(self, *faults, **more):
        """The settings of a fake server."""
        return {"command": "python3", "args": [FAKE, "--journal", self.journal_path, *faults], **more}

    def configure(self, **servers):
        os.makedirs(os.path.dirname(self.config_path), exist_ok=True)
        with open(self.config_path, "w", encoding="utf-8") as file:
            json.dump({"mcpServers": servers}, file)

    def cli(self, *args, cwd=None, **more):
        return subprocess.run([PROGRAM, *args], cwd=cwd or self.work, env=self.env,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=60 * harness.slow(), check=False,
                              **more)

    def start(self, *rounds, allow="mcp__*", args=(), model=None):
        if rounds:
            scenario = {"rounds": [[{"call": name, "args": given} for name, given in calls]
                                   for calls in rounds] + [[{"say": "over"}]]}
            with open(os.path.join(self.base, "scenario.json"), "w", encoding="utf-8") as file:
                json.dump(scenario, file)
        model = model or "rehearsal/" + os.path.join(self.base, "scenario.json")
        allowed = ["--allow", allow] if allow else []
        return subprocess.Popen([PROGRAM, "exec", "-q", "--stream-json", "-m", model, *allowed, *args,
                                 "go"], cwd=self.work, env=self.env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, *rounds, **how):
        """Each round is a list of (tool, arguments)."""
        began = time.monotonic()
        child = self.start(*rounds, **how)
        out, err = child.communicate(timeout=60 * harness.slow())
        done = subprocess.CompletedProcess(child.args, child.returncode, out, err)
        return Run(done, time.monotonic() - began)

    def ask(self, replies, **how):
        """The same with a provider on loopback; returns the run and the requests."""
        with provider.Server(replies) as server:
            self.env.update(OPENAI_BASE_URL=f"http://127.0.0.1:{server.port}/v1",
                            OPENAI_API_KEY="sk-test-0123456789")
            run = self.run(model="openai/gpt-5", **how)
            return run, [entry["body"] for entry in server.log if "body" in entry]

    def journal(self, keep=False):
        """Messages that the server got, oldest first."""
        if not os.path.exists(self.journal_path):
            return []
        with open(self.journal_path, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        if not keep:
            os.unlink(self.journal_path)
        return lines

    def until(self, method):
        """Waits until the server got a message of this method; false after a while."""
        end = time.monotonic() + 20 * harness.slow()
        while time.monotonic() < end:
            if any(m.get("method") == method for m in self.journal(keep=True)):
                return True
            time.sleep(0.05)
        return False

    def methods(self):
        return [m["method"] for m in self.journal() if "method" in m]

    def leftovers(self):
        """Processes that should be gone."""
        end = time.monotonic() + 20 * harness.slow()
        while harness.processes_of(self.base) and time.monotonic() < end:
            time.sleep(0.05)
        return harness.processes_of(self.base)
