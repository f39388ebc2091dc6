#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# LONG ROUNDS: replies of 20 MB
"""A reply of 20 MB costs at most four times its size at the peak, in every dialect; a large list of
sessions gives its memory back.

    tests/e2e/reply_memory.py [WORD...]    only cases whose name contains a WORD

The peak is VmHWM of the process, measured from a small turn before the large one.
"""
import json
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "fake")]
import harness  # noqa: E402
from client import Gone, Kward, Loaf, Scaiflux  # noqa: E402
from provider import Server  # noqa: E402

MB = 1 << 20
SIZE = 20 * MB
PIECE = 4096
MOST = 4        # times the size of the reply, at the peak
PATIENCE = 120 * harness.slow()


def status(pid, name):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name))


def open_loaf(env, base):
    c = Loaf(cwd=base, env={**env, "TRIVET_MODEL": "openai/any"})
    session = c.call("session.create")["session_id"]

    def play(text="go"):
        c.ask("session.send", {"session_id": session, "text": text})
        c.event("session.completed", session, PATIENCE)
        c.event("session.status", session, PATIENCE, status_label="ready")
        chunks = [m["params"]["payload"]["text"] for m in c.heard if m.get("method") == "event"
                  and m["params"]["type"] == "session.stream.chunk"]
        c.heard.clear()
        return "".join(chunks)
    return c, play


def open_scaiflux(env, base):
    c = Scaiflux(["--model", "openai/any"], cwd=base, env=env)
    c.event("ready")

    def play(text="go"):
        c.send({"type": "prompt", "text": text})
        while (end := c.next(PATIENCE))["type"] != "turn_complete":
            if end["type"] == "permission_request":
                c.send({"type": "permission_response", "request_id": end["request_id"],
                        "decision": "allow"})
        assert end["stop_reason"] == "end_turn", end
        deltas = [m["delta"] for m in c.heard if m["type"] == "text_delta"]
        c.heard.clear()
        return "".join(deltas)
    return c, play


def open_kward(env, base):
    c = Kward(cwd=base, env={**env, "TRIVET_MODEL": "openai/any"})
    session = c.call("sessions/create")["id"]

    def play(text="go"):
        turn = c.call("turns/start", {"sessionId": session, "input": text})["id"]
        end = c.event("turnFinished", turn, PATIENCE)["payload"]
        assert end["status"] == "completed", end
        deltas = [m["params"]["payload"]["delta"] for m in c.heard if m.get("method") == "turn/event"
                  and m["params"]["type"] == "assistantDelta"]
        c.heard.clear()
        return "".join(deltas)
    return c, play


def reply(opened, base):
    """How far the peak rises over a large reply, and what is kept of it."""
    text = "words, " * (SIZE // 7)
    with Server([{"text": "small"}, {"text": text, "piece": PIECE}, {"text": "small"}]) as server:
        env = {"OPENAI_API_KEY": "key-of-memory-1",
               "OPENAI_BASE_URL": f"http://127.0.0.1:{server.port}/v1"}
        c, play = opened(env, base)
        with c:
            assert play() == "small"
            before = status(c.process.pid, "VmHWM")
            said = play()
            assert said.strip() == text.strip(), f"{len(said)} bytes came"
            c.heard.clear()
            grown = status(c.process.pid, "VmHWM") - before
            kept = status(c.process.pid, "VmRSS") - before
            assert c.close() == 0
    print(f"    {grown / SIZE:.1f} times at the peak, {kept / SIZE:.1f} kept")
    assert grown <= MOST * SIZE, f"{grown / MB:.0f} MB for {SIZE / MB:.0f} MB"


# ---- two long replies with a call between them: nothing is lost where texts are handed on


def rounds(opened, base):
    first, second = "one, " * 40000, "two, " * 40000
    call = {"id": "c1", "name": "bash", "arguments": {"command": "true"}}
    script = [{"text": first, "piece": PIECE, "tool_calls": [call]}, {"text": second, "piece": PIECE},
              {"match": "what was it", "text": "small"}]
    with Server(script) as server:
        env = {"OPENAI_API_KEY": "key-of-memory-1",
               "OPENAI_BASE_URL": f"http://127.0.0.1:{server.port}/v1"}
        c, play = opened(env, base)
        with c:
            said = play()
            assert said.strip() == (first + second).strip(), f"{len(said)} bytes came"
            assert play("what was it") == "small"
            assert c.close() == 0
        output = str(server.log[-2]["body"]["messages"])  # of the last request
    assert first.strip() in output and second.strip() in output, "the next request does not have it"


# ---- lists


def write_loaf_chats(n):
    folder = os.path.join(os.environ["HOME"], ".loaf", "sessions", "2026", "01", "02")
    os.makedirs(folder)
    for i in range(n):
        name = f"00000000-0000-4000-8000-{i:012}"
        when = "2026-01-02T03:04:05.000Z"
        lines = [{"type": "session_meta", "id": name, "title": f"chat {i}", "provider": "openai",
                  "model": "gpt", "thinkingLevel": "LOW", "createdAt": when, "updatedAt": when,
                  "messageCount": 2},
                 {"type": "message", "role": "user", "text": "some words, " * 99},
                 {"type": "message", "role": "assistant", "text": "some words, " * 99}]
        path = os.path.join(folder, f"rollout-20260102-030405678-{name}.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            file.write("".join(json.dumps(line) + "\n" for line in lines))


def write_kward_sessions(workspace, n):
    folder = os.path.join(os.environ["HOME"], ".kward", "sessions",
                          "--" + workspace[1:].replace("/", "-") + "--")
    os.makedirs(folder)
    for i in range(n):
        when = "2026-01-02T03:04:05.000Z"
        lines = [{"type": "session", "version": 1, "id": f"00000000-0000-4000-8000-{i:012}",
                  "timestamp": when, "cwd": workspace},
                 {"type": "message", "timestamp": when,
                  "message": {"role": "user", "content": "some words, " * 99}}]
        path = os.path.join(folder, f"2026-01-02T03-04-05-000Z_{i:06}.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            file.write("".join(json.dumps(line) + "\n" for line in lines))


def resident(c, method, params, wanted):
    """What the process holds after three lists."""
    for _ in range(3):
        found = len(c.call(method, params, PATIENCE)["sessions"])
        assert found == wanted, found
    c.heard.clear()
    time.sleep(0.2)
    return status(c.process.pid, "VmRSS")


def listing(dialect, base):
    """What a list of many sessions leaves, against one of a few."""
    kept = {}
    for n in (5, 5000):
        home, workspace = os.path.join(base, f"home{n}"), os.path.join(base, f"work{n}")
        os.makedirs(home)
        os.makedirs(workspace)
        os.environ["HOME"] = home
        if dialect is Loaf:
            write_loaf_chats(n)
        else:
            write_kward_sessions(workspace, n)
        with dialect(cwd=workspace) as c:
            if dialect is Loaf:
                kept[n] = resident(c, "history.list", {"limit": 200}, min(n, 200))
            else:
                kept[n] = resident(c, "sessions/list", {"limit": 5000}, n)
            assert c.close() == 0
    more = kept[5000] - kept[5]
    print(f"    {more / MB:.1f} MB more after a list of 5000")
    assert more <= MB, f"{more} bytes"


CASES = {
    "reply, loaf": lambda base: reply(open_loaf, base),
    "reply, scaiflux": lambda base: reply(open_scaiflux, base),
    "reply, kward": lambda base: reply(open_kward, base),
    "rounds, loaf": lambda base: rounds(open_loaf, base),
    "rounds, scaiflux": lambda base: rounds(open_scaiflux, base),
    "rounds, kward": lambda base: rounds(open_kward, base),
    "list, loaf": lambda base: listing(Loaf, base),
    "list, kward": lambda base: listing(Kward, base),
}


def main():
    passed = failed = 0
    for name, case in CASES.items():
        if sys.argv[1:] and not any(word in name for word in sys.argv[1:]):
            continue
        begun = time.monotonic()
        with harness.private_place() as base:
            os.environ.update(harness.clean_env(base))
            try:
                case(base)
                print(f"{name}: ok ({time.monotonic() - begun:.1f} s)")
                passed += 1
            except (AssertionError, Gone) as why:
                print(f"{name}: FAILED: {str(why)[:500]}")
                failed += 1
    harness.finish(passed, failed)


main()
