#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Limits of a turn, with `trivet exec`: what cache writes cost, the reminder to
check changes, and turns that end at a limit of money, tokens or rounds with a reason of their own.
"""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "fake")]
import harness  # noqa: E402
from client import PROGRAM  # noqa: E402
from provider import Server  # noqa: E402

TIMEOUT = 60 * harness.slow()
WRITE = {"tool_calls": [{"id": "w", "name": "write_file", "arguments": {"path": "a.txt", "content": "x"}}]}
TEST = {"tool_calls": [{"id": "t", "name": "bash", "arguments": {"command": "test -e a.txt"}}]}
READ = {"tool_calls": [{"id": "r", "name": "read_file", "arguments": {"path": "a.txt"}}]}
USAGE = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}


def play(base, script, *flags, model="openai/priced"):
    models = os.path.join(base, "models.json")
    with open(models, "w", encoding="utf-8") as file:
        json.dump({"models": [{"id": i, "price_in": 10, "price_out": 100, "price_cached": 1}
                              for i in ("openai/priced", "anthropic/priced")]}, file)
    workspace = os.path.join(base, "work")
    os.makedirs(workspace, exist_ok=True)
    with Server(script) as server:
        address = f"http://127.0.0.1:{server.port}"
        env = dict(os.environ, OPENAI_BASE_URL=f"{address}/v1", OPENAI_API_KEY="key-of-the-end-1",
                   ANTHROPIC_BASE_URL=address, ANTHROPIC_API_KEY="key-of-the-end-1",
                   TRIVET_MODELS=models, TRIVET_SANDBOX="off")
        done = subprocess.run([PROGRAM, "exec", "--json", "-m", model, "--mode",
                               "danger-full-access", *flags, "go"], cwd=workspace, env=env,
                              capture_output=True, text=True, timeout=TIMEOUT, check=False)
        bodies = [e["body"] for e in server.log if "body" in e]
    return json.loads(done.stdout), bodies, done


def reminders(bodies):
    return sum(m["role"] == "user" and "Automatic reminder" in m["content"]
               for m in bodies[-1]["messages"])


def reminded(base):
    """write, then text: one more request with the reminder; its reply is the answer."""
    result, bodies, _ = play(base, [WRITE, {"text": "Wrote it."}, TEST, {"text": "Wrote and tested."}])
    assert len(bodies) == 4 and reminders(bodies) == 1, len(bodies)
    assert result["answer"] == "Wrote and tested.", result


def reminder_is_no_prompt(base):
    """The model finds the reminder in the conversation again; nobody is shown it as words of the user."""
    result, _, _ = play(base, [WRITE, {"text": "Wrote it."}, TEST, {"text": "Wrote and tested."}])
    ident = result["session"]
    _, bodies, _ = play(base, [{"text": "Again."}], "-r", ident)
    assert reminders(bodies) == 1, bodies[-1]["messages"]
    shown = {}
    for name, *args in (("show",), ("export",), ("export", "--html")):
        done = subprocess.run([PROGRAM, "sessions", name, ident, *args], cwd=os.path.join(base, "work"),
                              capture_output=True, text=True, timeout=TIMEOUT, check=True)
        shown[" ".join([name, *args])] = done.stdout
    assert "Automatic" not in shown["show"] and "> go" in shown["show"], shown["show"]
    assert "## Note\n\n(Automatic reminder" in shown["export"], shown["export"]
    page = shown["export --html"]
    assert page.count("<h2>You</h2>") == 2 and "Note for the model" in page, page[-3000:]
    requests = [{"id": 1, "method": "initialize", "params": {"protocolVersion": 1}},
                {"id": 2, "method": "session/load",
                 "params": {"sessionId": ident, "cwd": os.path.join(base, "work"), "mcpServers": []}}]
    lines = "".join(json.dumps({"jsonrpc": "2.0", **one}) + "\n" for one in requests)
    done = subprocess.run([PROGRAM, "acp"], input=lines, capture_output=True, text=True, timeout=TIMEOUT,
                          check=False)
    said = [m["params"]["update"]["content"]["text"] for m in map(json.loads, done.stdout.splitlines())
            if m.get("params", {}).get("update", {}).get("sessionUpdate") == "user_message_chunk"]
    assert said == ["go", "go"], (said, done)


def not_reminded(base):
    """write, test, text: none; a turn that only read: none."""
    _, bodies, _ = play(base, [WRITE, TEST, {"text": "Done."}])
    assert len(bodies) == 3 and reminders(bodies) == 0
    _, bodies, _ = play(base, [READ, {"text": "Done."}])
    assert len(bodies) == 2 and reminders(bodies) == 0


def reminded_once(base):
    """A model that changes again and does not listen is left alone after the first reminder."""
    _, bodies, _ = play(base, [WRITE, {"text": "A."}, WRITE, {"text": "B."}])
    assert len(bodies) == 4 and reminders(bodies) == 1


def cache_writes(base):
    """Anthropic: 1,000 tokens written at 1.25, 2,000 read at the price of reads, 500 plain."""
    usage = {"input_tokens": 500, "cache_creation_input_tokens": 1000,
             "cache_read_input_tokens": 2000, "output_tokens": 100}
    result, _, _ = play(base, [{"text": "Done.", "usage": usage}], model="anthropic/priced")
    expected = (500 * 10 + 1000 * 12.5 + 2000 * 1 + 100 * 100) / 1e6
    assert abs(result["cost_usd"] - expected) < 1e-9, (result["usage"], expected)


def money(base):
    """Each request costs 0.02: the third is not made."""
    result, bodies, done = play(base, [dict(READ, usage=USAGE, repeat=True)], "--max-cost", "0.03")
    assert result["stop"] == "max_cost" and len(bodies) == 2, (result, len(bodies))
    assert done.returncode != 0


def tokens(base):
    result, bodies, _ = play(base, [dict(READ, usage=USAGE, repeat=True)], "--max-tokens", "3000")
    assert result["stop"] == "max_total_tokens" and len(bodies) == 3, (result, len(bodies))


def rounds(base):
    result, bodies, _ = play(base, [dict(READ, usage=USAGE, repeat=True)], "--max-turns", "2")
    assert result["stop"] == "max_iterations", result


def main():
    passed = failed = 0
    for test in (reminded, reminder_is_no_prompt, not_reminded, reminded_once, cache_writes, money, tokens, rounds):
        with harness.private_place() as base:
            os.environ.update(harness.clean_env(base))
            try:
                test(base)
                passed += 1
            except Exception as why:  # noqa: BLE001
                print(f"{test.__name__}: {type(why).__name__} {str(why)[:700]}")
                failed += 1
    harness.finish(passed, failed)


main()
