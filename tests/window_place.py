# SPDX-License-Identifier: MIT
"""A workspace with files and `trivet exec` against a model that counts what it gets (window_model.py), for the
rules about the context window."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake"))
import harness  # noqa: E402
from client import PROGRAM  # noqa: E402
from provider import Server  # noqa: E402

TIMEOUT = 120 * harness.slow()


def text_of(n, size):
    line = f"result {n:03d} abcdefgh ijklmnop qrstuvwx 0123456\n"
    return line * (size // len(line))


class Place:
    def __init__(self, base):
        self.base = base
        self.workspace = os.path.join(base, "workspace")
        os.mkdir(self.workspace)
        self.set_models({})

    def set_models(self, windows):
        path = os.path.join(self.base, "models.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"models": [{"id": f"openai/{name}", **facts}
                                  for name, facts in windows.items()]}, file)
        os.environ["TRIVET_MODELS"] = path

    def files(self, n, size):
        for i in range(1, n + 1):
            with open(os.path.join(self.workspace, f"f{i}.txt"), "w", encoding="utf-8") as file:
                file.write(text_of(i, size))

    def run(self, model, name, prompt="work on it", expect=0, args=()):
        """The output of one turn against the model."""
        with Server(model) as server:
            env = dict(os.environ, OPENAI_BASE_URL=f"http://127.0.0.1:{server.port}/v1",
                       OPENAI_API_KEY="key-of-windows-1", TRIVET_RETRY_MS="1")
            done = subprocess.run([PROGRAM, "run", "--mode", "danger-full-access", "--model",
                                   f"openai/{name}", *args, prompt], cwd=self.workspace, env=env,
                                  capture_output=True, text=True, timeout=TIMEOUT, check=False)
        assert done.returncode == expect, (done.returncode, done.stderr[-600:])
        return done

    def learned(self):
        path = os.path.join(os.environ["XDG_CACHE_HOME"], "trivet/windows.json")
        with open(path, encoding="utf-8") as file:
            return {w["model"]: w["tokens"] for w in json.load(file)["windows"]}


def read(n):
    return "read_file", {"path": f"f{n}.txt"}


def tools_of(body):
    return [m["content"] for m in body["messages"] if m["role"] == "tool"]


def main(tests):
    """Runs those that are named on the command line, or all."""
    passed = failed = 0
    for test in tests:
        if sys.argv[1:] and test.__name__ not in sys.argv[1:]:
            continue
        with harness.private_place() as base:
            os.environ.update(harness.clean_env(base))
            os.environ["TRIVET_SANDBOX"] = "off"
            try:
                test(Place(base))
                passed += 1
            except Exception as why:  # noqa: BLE001
                print(f"{test.__name__}: {type(why).__name__} {str(why)[:700]}")
                failed += 1
    harness.finish(passed, failed)
