#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The real program, called `scaiflux`, as a subprocess against a gateway on loopback: what the
published protocol page names as its missing integration test.

First the page's own example, whose lines must come back byte for byte (ids and the duration are
free).  Then a working day: tools that are allowed and denied, a refused prompt, an interrupt, a
gateway that fails and comes back, a switch of the model, a second process that goes on where the
first one ended.  Everything the gateway was asked must make sense to a provider.
covers: scaiflux 1, 2, 60, 69, 71, 80, 92, 95, 104, 112, 113, 114, 115, 137, 163, 177, 178
And what a talk cannot measure: the wait for a permission is not in the duration, equal calls are asked
again, a killed process leaves a conversation that a provider takes, a line without end needs no
memory.  covers: scaiflux 72, 76, 103, 127, 132, 133, 180
"""
import json
import os
import re
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "fake")]
import client       # noqa: E402
import harness      # noqa: E402
import scaiflux_stream  # noqa: E402
from provider import Server  # noqa: E402

EXAMPLE = r"""
> {"type":"prompt","text":"list the python files"}
{"type":"turn_started","turn_id":"abc123"}
{"type":"text_delta","turn_id":"abc123","delta":"I'll glob "}
{"type":"text_delta","turn_id":"abc123","delta":"for *.py."}
{"type":"tool_start","turn_id":"abc123","tool_id":"call_1","name":"glob_search","input":{"pattern":"**/*.py"}}
{"type":"permission_request","request_id":"r-9","tool":"glob_search","active_mode":"prompt","required_mode":"read-only","details":{"tool_input":{"pattern":"**/*.py"},"reason":null}}
> {"type":"permission_response","request_id":"r-9","decision":"allow"}
{"type":"tool_result","turn_id":"abc123","tool_id":"call_1","output":"a.py\nb.py\n","is_error":false,"duration_s":0.04}
{"type":"text_delta","turn_id":"abc123","delta":"Found two: a.py and b.py."}
{"type":"turn_complete","turn_id":"abc123","stop_reason":"end_turn","iterations":1,"input_tokens":820,"output_tokens":34,"mutations":[]}
> {"type":"shutdown"}
"""
GLOB = {"index": 0, "id": "call_1", "type": "function",
        "function": {"name": "glob_search", "arguments": '{"pattern":"**/*.py"}'}}


class Raw(client.Scaiflux):
    """Keeps the lines as they came."""

    def __init__(self, *args, **names):
        self.lines = []
        super().__init__(*args, **names)

    def messages(self, stream):
        for line in stream:
            message = json.loads(line)
            self.stream.take(message)
            self.lines.append(line)
            yield message


def start(base, server, *flags, kind=client.Scaiflux):
    env = {"OPENAI_BASE_URL": f"http://127.0.0.1:{server.port}/v1",
           "OPENAI_API_KEY": "key-of-gateway-1"}
    c = kind(["-w", os.path.join(base, "project"), *flags], cwd=base, env=env)
    return c, c.event("ready")


def place(base, **files):
    os.makedirs(os.path.join(base, "project"), exist_ok=True)
    for name, text in files.items():
        with open(os.path.join(base, "project", name.replace("_", ".")), "w",
                  encoding="utf-8") as file:
            file.write(text)


def the_example(base):
    place(base, a_py="", b_py="", notes_txt="")
    script = [{"chunks": [{"content": "I'll glob "}, {"content": "for *.py."},
                          {"tool_calls": [GLOB]}], "finish": "tool_calls",
               "usage": {"prompt_tokens": 400, "completion_tokens": 20}},
              {"chunks": [{"content": "Found two: a.py and b.py."}],
               "usage": {"prompt_tokens": 420, "completion_tokens": 14}}]
    with Server(script) as server:
        c, _ = start(base, server, "-m", "scailabs/poolnoodle-omni", "--permission-mode", "prompt",
                     kind=Raw)
        with c:
            turn = request = None
            for line in EXAMPLE.strip().splitlines():
                if line.startswith("> "):
                    c.process.stdin.write(line[2:].replace("r-9", request or "r-9").encode()
                                          + b"\n")
                    c.process.stdin.flush()
                    continue
                heard = c.next()
                turn, request = heard.get("turn_id", turn), heard.get("request_id", request)
                wanted = line.replace("abc123", turn).replace("r-9", request or "r-9")
                wanted = re.escape(wanted).replace(re.escape("0.04"), r"[0-9.e-]+")
                assert re.fullmatch(wanted + "\n", c.lines[len(c.heard) - 1].decode()), \
                    f"{c.lines[len(c.heard) - 1]} is not {line}"
            assert c.process.wait(30 * harness.slow()) == 0
            c.stream.end()


def sense(body):
    """A request that every provider takes: calls have their results, roles are known."""
    waiting = set()
    for message in body["messages"]:
        if message["role"] == "tool":
            waiting.remove(message["tool_call_id"])
            continue
        assert not waiting, f"calls without a result: {waiting}"
        assert message["role"] in ("system", "user", "assistant"), message
        waiting = {call["id"] for call in message.get("tool_calls", ())}
    assert not waiting, f"calls without a result: {waiting}"


def call(name, number, **args):
    return {"id": f"call_{number}", "name": name, "arguments": args}


def a_working_day(base):
    place(base, old_txt="old\n")
    usage = {"prompt_tokens": 1280, "completion_tokens": 0}
    script = [
        {"tool_calls": [call("write_file", 1, path="new.txt", content="new\n"),
                        call("bash", 2, command="rm -rf .")], "usage": usage},
        {"text": "Then not.", "usage": usage},
        {"text": "".join(f"Part {i} of a long story. " for i in range(2000)), "chunk_delay_ms": 5},
        {"status": 500}, {"status": 503}, {"text": "Back again.", "usage": usage},
        {"text": "From the other.", "usage": usage},
        {"text": "In the second process.", "usage": usage}]
    log = []
    with Server(script, log) as server:
        c, ready = start(base, server, "-m", "openai/first")
        with c:
            # one call allowed, one denied, a prompt refused meanwhile
            c.send({"type": "prompt", "text": "work"})
            asked = c.event("permission_request")
            assert not os.path.exists(os.path.join(base, "project", "new.txt"))
            c.send({"type": "prompt", "text": "too early"})
            assert c.event("error")["code"] == "turn_in_progress"
            c.send({"type": "permission_response", "request_id": asked["request_id"],
                    "decision": "allow"})
            asked = c.event("permission_request")
            assert (asked["tool"], asked["required_mode"]) == ("bash", "danger-full-access")
            c.send({"type": "permission_response", "request_id": asked["request_id"],
                    "decision": "deny", "reason": "not here"})
            denied = c.event("tool_result")
            assert (denied["output"], denied["is_error"], denied["duration_s"]) == (
                "not here", True, 0), denied
            end = c.event("turn_complete")
            assert (end["mutations"], end["iterations"], end["stop_reason"]) == (
                [["write_file", "new.txt"]], 1, "end_turn"), end
            assert c.event("state_changed") == {"type": "state_changed", "context_pct": 1}
            # an interrupt, and on with the next
            c.send({"type": "prompt", "text": "tell me a story"})
            shown = c.event("text_delta")["delta"]
            c.send({"type": "interrupt"})
            end = c.event("turn_complete", timeout=30 * harness.slow())
            assert end["stop_reason"] == "interrupted", end
            shown = "".join(m["delta"] for m in c.heard if m.get("delta")
                            and m["turn_id"] == end["turn_id"])
            # a gateway that fails twice
            seen = c.turn("still there?")
            assert (seen.text, seen.code) == ("Back again.", None), seen.end
            # another model
            c.send({"type": "slash", "command": "model", "args": "openai/second"})
            assert c.event("slash_result")["data"]["previous"] == "openai/first"
            assert c.event("state_changed")["model"] == "openai/second"
            assert c.turn("who are you?").text == "From the other."
            c.send({"type": "shutdown"})
            assert c.process.wait(30 * harness.slow()) == 0
        c, again = start(base, server, "--resume", "latest")
        with c:
            assert again["session_id"] == ready["session_id"]
            assert again["model"] == "openai/second" and len(c.heard) == 1
            assert c.turn("and now?").text == "In the second process."
            assert c.close() == 0
    bodies = [entry["body"] for entry in log if "body" in entry]
    assert len(bodies) == len(script), len(bodies)
    for body in bodies:
        sense(body)
    assert [body["model"] for body in bodies] == ["first"] * 6 + ["second"] * 2
    last = [(m["role"], m["content"]) for m in bodies[-1]["messages"]]
    assert ("tool", "not here") in last and ("assistant", shown) in last, last
    assert last[-1] == ("user", "and now?") and ("user", "too early") not in last, last


def asked_again(base):
    place(base)
    same = {"tool_calls": [call("bash", 1, command="sleep 0.1")]}
    with Server([same, dict(same, tool_calls=[call("bash", 2, command="sleep 0.1")]),
                 {"text": "done"}]) as server:
        c, _ = start(base, server, "-m", "openai/m")
        with c:
            c.send({"type": "prompt", "text": "twice"})
            asked = []
            for _ in range(2):
                asked.append(c.event("permission_request"))
                time.sleep(0.6)
                c.send({"type": "permission_response", "request_id": asked[-1]["request_id"],
                        "decision": "allow", "reason": "remember this"})
                done = c.event("tool_result")
                assert 0.1 <= done["duration_s"] < 0.6, done
            assert asked[0]["request_id"] != asked[1]["request_id"]
            assert asked[0]["details"] == asked[1]["details"]
            assert c.event("turn_complete")["iterations"] == 2
            assert c.close() == 0


def killed_and_resumed(base):
    """Killed while the first of two calls runs, at a random moment, and resumed."""
    place(base)
    script = [{"tool_calls": [call("bash", 1, command="echo begun > mark; sleep 30"),
                              call("write_file", 2, path="never", content="x")]},
              {"text": "I see."}]
    log = []
    with Server(script, log) as server:
        c, ready = start(base, server, "-m", "openai/m")
        with c:
            c.send({"type": "prompt", "text": "work"})
            asked = c.event("permission_request")
            c.send({"type": "permission_response", "request_id": asked["request_id"],
                    "decision": "allow"})
            end = time.monotonic() + 30 * harness.slow()
            while not os.path.exists(os.path.join(base, "project", "mark")):
                assert time.monotonic() < end, "the command does not start"
                time.sleep(0.01)
            c.kill()
        assert not harness.left_behind(base), "the command outlived its process"
        c, again = start(base, server, "--resume", ready["session_id"])
        with c:
            assert again["session_id"] == ready["session_id"] and len(c.heard) == 1
            assert c.turn("what happened?").text == "I see."
            assert c.close() == 0
    body = [entry["body"] for entry in log if "body" in entry][-1]
    sense(body)
    results = [m["content"] for m in body["messages"] if m["role"] == "tool"]
    assert len(results) == 2 and "unknown" in results[0] and "not run" in results[1], results


def peak(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM"))


def bad_lines(base):
    place(base)
    with Server([{"text": "fine"}]) as server:
        c, _ = start(base, server, "-m", "openai/m")
        with c:
            piece = b"x" * (1 << 20)
            for _ in range(200):
                c.process.stdin.write(piece)
            c.process.stdin.write(b"\n")
            c.process.stdin.flush()
            assert c.next()["code"] == "line_too_long"
            assert peak(c.process.pid) < 64 << 20, f"{peak(c.process.pid)} bytes for one line"
            c.process.stdin.write(b'{"type":"nonsense"}\n' * 1000)
            c.process.stdin.flush()
            for _ in range(1000):
                m = c.next()
                assert (m["code"], m["origin"]) == ("unknown_type", "local"), m
            assert c.turn("still there?").text == "fine"
            assert c.close() == 0


CASES = (the_example, a_working_day, asked_again, killed_and_resumed, bad_lines)


def main():
    passed = failed = 0
    for case in CASES:
        with harness.private_place() as base:
            env = harness.clean_env(base)
            os.environ.update(env)
            program, real = os.path.join(base, "scaiflux"), os.path.abspath(client.PROGRAM)
            os.symlink(real, program)
            client.PROGRAM, client.Scaiflux.args = program, ("serve",)
            try:
                case(base)
                passed += 1
            except (AssertionError, client.Gone, scaiflux_stream.Broken) as why:
                print(f"FAIL {case.__name__}: {str(why)[:800]}")
                failed += 1
            client.PROGRAM = real
            if behind := harness.left_behind(base):
                print("left behind:", *behind)
                failed += 1
    harness.finish(passed, failed)


main()
