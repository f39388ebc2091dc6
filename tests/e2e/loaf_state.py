#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""loaf's state.json under bad luck: two writers of one process, and keys that cannot be moved.

    tests/e2e/loaf_state.py [ROUNDS]

Prompts are written in the background, settings before the call is answered.  Whoever comes last
must not bring old settings back; here both wait for a lock that the test holds, so either may be
last.  A file that holds keys is not deleted before they are somewhere else.
"""
import fcntl
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
from client import Loaf  # noqa: E402

ROUNDS = int(sys.argv[1]) if sys.argv[1:] else 8
MODELS = ("hello", "default")
counts = [0, 0]


def check(name, good, detail=""):
    counts[0 if good else 1] += 1
    if not good:
        print(f"FAIL {name}: {detail}", flush=True)


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def write(path, value):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)


def select(c, model):
    return c.ask("model.select", {"model_id": model, "provider": "rehearsal",
                                  "thinking_level": "OFF"})


def play_round(c, session, state, i):
    """A prompt, then a choice, while nobody can write; then both can."""
    with open(state + ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        c.call("session.send", {"session_id": session, "text": f"prompt {i}"})
        c.event("session.status", session, status_label="ready")
        time.sleep(0.05)  # the background writer waits for the lock
        number = select(c, MODELS[i % 2])
        time.sleep(0.02)
    c.until(lambda m: m.get("id") == number)


def wait_for_prompts(state, n):
    end = time.monotonic() + 30 * harness.slow()
    while time.monotonic() < end:
        if len(read(state).get("inputHistory", [])) == n:
            return True
        time.sleep(0.01)
    return False


def test_two_writers(env, work):
    state = f"{env['HOME']}/.loaf/state.json"
    with Loaf(cwd=work, env=env) as c:
        session = c.call("session.create")["session_id"]
        c.until(lambda m, n=select(c, "echo"): m.get("id") == n)
        for i in range(ROUNDS):
            play_round(c, session, state, i)
            check("prompts are kept", wait_for_prompts(state, i + 1), read(state))
            check("the newest choice stays", read(state)["selectedModel"] ==
                  f"rehearsal/{MODELS[i % 2]}", read(state))
        check("end", c.close() == 0)


def test_keys_stay(env, work):
    """A file of the working directory may be anybody's: its key is not taken, and not deleted."""
    home = f"{env['HOME']}/.loaf"
    write(f"{work}/.loaf-state.json", {"version": 1, "exaApiKey": "exa-key-of-old",
                                       "selectedThinking": "LOW"})
    with Loaf(cwd=work, env=env) as c:
        level = c.call("state.get")["model"]["selectedThinking"]
        check("the old file counts", level == "LOW", level)
        c.close()
    there = os.path.exists(f"{work}/.loaf-state.json")
    check("the key is not lost", there and read(f"{work}/.loaf-state.json")["exaApiKey"])
    check("the key is not taken", not os.path.exists(f"{home}/secrets-fallback.json"))


def main():
    with harness.private_place() as base:
        for name, test in (("one", test_two_writers), ("two", test_keys_stay)):
            env = harness.clean_env(os.path.join(base, name))
            env["TRIVET_MODEL"] = "rehearsal/echo"
            work = os.path.join(base, name, "work")
            os.makedirs(work)
            test(env, work)
    harness.finish(*counts)


main()
