#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# LONG
"""One turn of 200 rounds and 2 MB of tool output against a model of 32,768
tokens that refuses what is too long.  It completes in every dialect and with `trivet run`; there is at
most one summary per 20,000 new tokens; where the window is known no request is refused; where it is
not, the first refusal teaches it, for the next process too.
"""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "fake")]
import harness  # noqa: E402
from client import Kward, Loaf, PROGRAM, Scaiflux  # noqa: E402
from provider import Server  # noqa: E402
from window_model import SmallModel  # noqa: E402

WINDOW, ROUNDS, LINES = 32768, 200, 100  # 100 lines of 105 bytes for each call
TIMEOUT = 240 * harness.slow()


def command(n):
    return {"command": f"for i in $(seq 1 {LINES}); do printf 'line %06d of call {n} "
                       f"{'abcdefgh ' * 9}\\n' $i; done"}


def play_run(server, workspace, slug):
    env = dict(os.environ, OPENAI_BASE_URL=f"http://127.0.0.1:{server.port}/v1",
               OPENAI_API_KEY="key-of-windows-1")
    done = subprocess.run([PROGRAM, "run", "--mode", "danger-full-access", "--model", slug, "work on it"],
                          cwd=workspace, env=env, capture_output=True, text=True, timeout=TIMEOUT,
                          check=False)
    assert done.returncode == 0, (done.returncode, done.stderr[-500:])
    assert "All done." in done.stdout, done.stdout[-300:]


def play_scaiflux(server, workspace, slug):
    env = dict(OPENAI_BASE_URL=f"http://127.0.0.1:{server.port}/v1", OPENAI_API_KEY="key-of-windows-1")
    with Scaiflux(["--model", slug, "--max-iterations", "500"], cwd=workspace, env=env) as c:
        c.event("ready")
        seen = c.turn("work on it", TIMEOUT)
        assert seen.code is None and seen.text.endswith("All done."), seen.end
        assert c.close() == 0


def play_kward(server, workspace, slug):
    env = dict(OPENAI_BASE_URL=f"http://127.0.0.1:{server.port}/v1", OPENAI_API_KEY="key-of-windows-1",
               TRIVET_MODEL=slug)
    with Kward(cwd=workspace, env=env) as c:
        session = c.call("sessions/create")["id"]
        c.call("turns/start", {"sessionId": session, "input": "work on it"})
        end = c.event("turnFinished", timeout=TIMEOUT)
        assert end["payload"]["status"] == "completed", end
        assert c.close() == 0


def play_loaf(server, workspace, slug):
    env = dict(OPENROUTER_BASE_URL=f"http://127.0.0.1:{server.port}/v1",
               OPENROUTER_API_KEY="key-of-windows-1",
               TRIVET_MODEL=slug.replace("openai/", "openrouter/acme/"))
    with Loaf(cwd=workspace, env=env) as c:
        session = c.call("session.create")["session_id"]
        seen = c.turn(session, "work on it", timeout=TIMEOUT)
        assert seen.code is None and seen.text.endswith("All done."), seen.end
        assert c.close() == 0


PLAYS = {"run": (play_run, "bash"), "scaiflux": (play_scaiflux, "bash"),
         "kward": (play_kward, "run_shell_command"), "loaf": (play_loaf, "bash")}


def check(name, kind, workspace, **how):
    play, tool = PLAYS[name]
    model = SmallModel(WINDOW, ROUNDS, lambda n: (tool, command(n)), **how)
    with Server(model) as server:
        play(server, workspace, f"openai/{kind}")
    asked = [s for s in model.sizes]
    new_tokens = ROUNDS * LINES * 105 // 4
    print(f"{name} {kind}: {len(asked)} requests, largest {max(asked)}, refused {len(model.refused)}, "
          f"summaries {len(model.summaries)} for {new_tokens} new tokens")
    assert model.n_calls == ROUNDS
    assert len(model.summaries) <= new_tokens // 20000, model.summaries
    largest = 0 if kind == "known" else 5 if name == "loaf" else 3
    assert len(model.refused) <= largest, model.refused


def main():
    passed = failed = 0
    with harness.private_place() as base:
        os.environ.update(harness.clean_env(base))
        os.environ["TRIVET_SANDBOX"] = "off"
        models = os.path.join(base, "models.json")
        with open(models, "w", encoding="utf-8") as file:
            json.dump({"models": [{"id": f"{p}known", "context_window": WINDOW}
                                  for p in ("openai/", "openrouter/acme/")]}, file)
        os.environ["TRIVET_MODELS"] = models
        workspace = os.path.join(base, "workspace")
        os.mkdir(workspace)
        words = sys.argv[1:] or list(PLAYS)
        for name in words:
            for kind, how in (("known", {}), ("unseen", {"names_window": False}),
                              ("unseen2", {"names_window": True, "reports_usage": False})):
                try:
                    check(name, kind, workspace, **how)
                    passed += 1
                except Exception as why:  # noqa: BLE001
                    print(f"{name} {kind}: {type(why).__name__} {str(why)[:600]}")
                    failed += 1
    harness.finish(passed, failed)


main()
