#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# LONG ROUNDS: a prompt of 8 MB
"""ACP: MCP servers of a session, pages of session/list, sessions of other programs, hostile input.

covers: acp 19, 40, 41, 47, 56, 92
"""
import json
import os
import subprocess
import sys
import time

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TESTS, "fake"), TESTS]
import harness  # noqa: E402
from client import PROGRAM, Kward, Rpc  # noqa: E402
from mcp_http import Web  # noqa: E402

FAKE = os.path.join(harness.TOP, "tests", "fake", "mcp_server.py")
passed = failed = 0


def check(name, ok, detail=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"FAILED: {name}: {str(detail)[:900]}")


class Acp(Rpc):
    args = ("acp",)

    def start(self, **can):
        self.call("initialize", {"protocolVersion": 1, "clientCapabilities": can})
        return self

    def new(self, cwd, servers=()):
        return self.call("session/new", {"cwd": cwd, "mcpServers": list(servers)})["sessionId"]

    def prompt(self, session, text, timeout=30):
        """The answer, and the updates of the turn."""
        first = len(self.heard)
        number = self.ask("session/prompt", {"sessionId": session,
                                             "prompt": [{"type": "text", "text": text}]})
        self.asked = []
        while True:
            answer = self.until(lambda m: "id" in m, timeout)
            if "method" not in answer and answer["id"] == number:
                break
            if "method" in answer:
                self.asked.append(answer["params"])
                self.send({"jsonrpc": "2.0", "id": answer["id"], "result": {
                    "outcome": {"outcome": "selected", "optionId": "allow-once"}}})
        updates = [m["params"]["update"] for m in self.heard[first:]
                   if m.get("method") == "session/update" and m["params"]["sessionId"] == session]
        return answer, updates


def scene(workspace, **what):
    path = os.path.join(workspace, "scene.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(what, file)
    return ["--model", f"rehearsal/{path}"]


def said(updates):
    return "".join(u["content"]["text"] for u in updates
                   if u["sessionUpdate"] == "agent_message_chunk")


def servers(workspace, env):
    args = scene(workspace, turns=[
        {"when": "write", "rounds": [[{"call": "mcp__fake__write", "args": {"path": f"{workspace}/made"}}],
                                     [{"say": "{{tool_output}}"}]]},
        {"when": "web", "rounds": [[{"call": "mcp__web__echo", "args": {"text": "far"}}],
                                   [{"say": "{{tool_output}}"}]]}],
        rounds=[[{"call": "mcp__fake__echo", "args": {"text": "hi"}}], [{"say": "{{tool_output}}"}]])
    fake = {"name": "fake", "command": sys.executable, "args": [FAKE], "env": []}
    broken = {"name": "broken", "command": "/nonexistent/server", "args": [], "env": []}
    with Acp(args, cwd=workspace, env=env) as c:
        session = c.start().new(workspace, [broken, dict(fake, type="stdio")])
        answer, updates = c.prompt(session, "go")
        check("a tool of the server answers", "echo: hi" in said(updates), updates)
        check("a broken server does not stop the turn", answer.get("result") == {"stopReason": "end_turn"},
              answer)
        call = next(u for u in updates if u["sessionUpdate"] == "tool_call")
        check("it is asked for first", len(c.asked) == 1, c.asked)
        for mode, wanted in (("workspace-write", "written"), ("read-only", "not written"), ("prompt", "written")):
            c.call("session/set_mode", {"sessionId": session, "modeId": mode})
            _, updates = c.prompt(session, "write")
            check(f"a server in the mode {mode}", said(updates).startswith(wanted), updates)
        check("its call is shown", call["title"] == "fake: echo" and call["kind"] == "other", call)
        with Web("legacy") as web:
            far = c.new(workspace, [{"type": "http", "name": "web", "url": web.url, "headers": [
                {"name": "X-Own", "value": "yes"}]}])
            _, updates = c.prompt(far, "web")
            check("a server with an address", "far" in said(updates), updates)
            check("its headers", all(h.get("x-own") == "yes" for verb, h, _ in web.seen if verb == "POST"))
            _, updates = c.prompt(far, "/mcp")
            check("/mcp shows it", "- web: ready" in said(updates), updates)
            c.call("session/close", {"sessionId": far})
        other = c.new(workspace)
        _, updates = c.prompt(other, "go")
        check("another session does not have it", "unknown tool" in said(updates), updates)
        check("the end", c.close() == 0)


def pages(workspace, env):
    home = os.path.join(env["XDG_STATE_HOME"], "trivet", "sessions")
    os.makedirs(home, exist_ok=True)
    for i in range(120):
        path = os.path.join(home, f"00000000-0000-4000-8000-{i:012}.jsonl")
        lines = [{"type": "session", "version": 1, "id": f"00000000-0000-4000-8000-{i:012}",
                  "cwd": workspace if i % 2 else "/elsewhere", "timestamp": "2026-01-01T00:00:00.000Z"},
                 {"type": "message", "timestamp": "2026-01-01T00:00:01.000Z",
                  "message": {"role": "user", "content": f"prompt {i}"}}]
        with open(path, "w", encoding="utf-8") as file:
            file.write("".join(json.dumps(line) + "\n" for line in lines))
        os.utime(path, (1.7e9 + i // 7, 1.7e9 + i // 7))    # several at one time
    with Acp(cwd=workspace, env=env) as c:
        c.start()
        for cwd, wanted in ((None, 120), (workspace, 60)):
            got, cursor, n_pages = [], None, 0
            while n_pages < 10:
                answer = c.call("session/list", {"cwd": cwd, "cursor": cursor})
                got += [one["sessionId"] for one in answer["sessions"]]
                n_pages, cursor = n_pages + 1, answer.get("nextCursor")
                if cursor is None:
                    break
            got = [one for one in got if one.startswith("00000000-0000-4000-8000-")]
            check(f"{wanted} sessions once", len(got) == len(set(got)) == wanted, (len(got), n_pages))
        # a link where the file should be, and a directory
        os.symlink("/etc/passwd", os.path.join(home, "11111111-0000-4000-8000-000000000000.jsonl"))
        os.mkdir(os.path.join(home, "22222222-0000-4000-8000-000000000000.jsonl"))
        for name in ("11111111", "22222222"):
            number = c.ask("session/load", {"sessionId": f"{name}-0000-4000-8000-000000000000",
                                            "cwd": workspace, "mcpServers": []})
            answer = c.until(lambda m: m.get("id") == number)
            check(f"{name} is refused", "error" in answer and "root:" not in json.dumps(answer), answer)
        check("the end", c.close() == 0)


def from_kward(workspace, env):
    with Kward(cwd=workspace, env=dict(env, TRIVET_MODEL="rehearsal/echo")) as k:
        k.call("initialize", {"client": {"name": "t"}})
        session = k.call("sessions/create", {"workspaceRoot": workspace})["id"]
        k.call("turns/start", {"sessionId": session, "input": "from Kward"})
        k.until(lambda m: "turnFinished" in json.dumps(m))
        k.close()
    with Acp(["--model", "rehearsal/echo"], cwd=workspace, env=env) as c:
        c.start()
        found = [one for one in c.call("session/list", {"cwd": workspace})["sessions"]
                 if one.get("title") == "from Kward"]
        check("Kward's session is listed", len(found) == 1, found)
        if found:
            first = len(c.heard)
            c.call("session/load", {"sessionId": found[0]["sessionId"], "cwd": workspace,
                                    "mcpServers": []})
            output = [m["params"]["update"] for m in c.heard[first:] if m.get("method") == "session/update"]
            check("and sent again", [u["sessionUpdate"] for u in output][:2]
                  == ["user_message_chunk", "agent_message_chunk"], output)
            answer, updates = c.prompt(found[0]["sessionId"], "and on")
            check("and goes on", "and on" in said(updates), updates)


def hostile(workspace, env):
    args = scene(workspace, turns=[{"when": "slow", "rounds": [[{"wait_ms": 20000}]]}],
                 rounds=[[{"say": "Fine: " + "word " * 2000, "piece": 7}]])
    with Acp(args, cwd=workspace, env=env) as c:
        session = c.start().new(workspace)
        answer, updates = c.prompt(session, "x" * (8 << 20), 60)
        check("8 MB of prompt are answered", "result" in answer or answer["error"]["code"] == -32603,
              str(answer)[:300])
        fresh = c.new(workspace)
        answer, updates = c.prompt(fresh, "hello")
        check("chunks are the answer", said(updates) == "Fine: " + "word " * 2000, said(updates)[-80:])
        # a hundred sessions with a prompt each, cancelled in one go; one goes on undisturbed
        many = [c.new(workspace) for _ in range(100)]
        numbers = [c.ask("session/prompt", {"sessionId": one, "prompt": [{"type": "text", "text": "slow"}]})
                   for one in many]
        watch = harness.Stopwatch()
        for one in many:
            c.send({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": one}})
        ends = {}
        while len(ends) < 100:
            message = c.until(lambda m: m.get("id") in numbers and "method" not in m)
            ends[message["id"]] = message["result"]["stopReason"]
        check("a hundred prompts are cancelled", set(ends.values()) == {"cancelled"}, ends)
        seconds = watch.seconds()
        check("at once", seconds < 5, seconds)
        for one in many:
            c.call("session/close", {"sessionId": one})
        answer, updates = c.prompt(fresh, "hello")
        check("another one goes on", answer.get("result") == {"stopReason": "end_turn"}, answer)
        check("nothing on stderr", c.close() == 0 and not harness.without_noise(c.stderr.decode()), c.stderr[:500])


def locked(workspace, env):
    """A session that another process has open."""
    args = ["--model", "rehearsal/echo"]
    with Acp(args, cwd=workspace, env=env) as one, Acp(args, cwd=workspace, env=env) as two:
        session = one.start().new(workspace)
        one.prompt(session, "first")
        two.start()
        for method, more in (("session/load", {"cwd": workspace, "mcpServers": []}),
                             ("session/resume", {"cwd": workspace}), ("session/delete", {})):
            number = two.ask(method, {"sessionId": session, **more})
            answer = two.until(lambda m: m.get("id") == number and "method" not in m)
            check(f"{method} of a session in use",
                  answer.get("error", {}).get("data") == {"reason": "locked"}, answer)
        _, updates = one.prompt(session, "second")
        check("its owner goes on", "second" in said(updates), updates)
        one.call("session/close", {"sessionId": session})
        two.call("session/load", {"sessionId": session, "cwd": workspace, "mcpServers": []})
        _, updates = two.prompt(session, "third")
        check("then it can be loaded", "third" in said(updates), updates)


def silent(workspace, env):
    """A client that does not read, and one that is gone without closing the output."""
    args = scene(workspace, rounds=[[{"repeat": 300, "steps": [
        {"say": "0123456789abcdef " * 4000, "piece": 60000}]}]])
    for closes in (False, True):
        process = subprocess.Popen([PROGRAM, "acp", *args], cwd=workspace, env=env,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)

        def send(number, method, **params):
            process.stdin.write((json.dumps({"jsonrpc": "2.0", "id": number, "method": method,
                                             "params": params}) + "\n").encode())
            process.stdin.flush()
        send(1, "initialize", protocolVersion=1)
        send(2, "session/new", cwd=workspace, mcpServers=[])
        process.stdout.readline()
        session = json.loads(process.stdout.readline())["result"]["sessionId"]
        send(3, "session/prompt", sessionId=session, prompt=[{"type": "text", "text": "go"}])
        time.sleep(1)
        with open(f"/proc/{process.pid}/statm", encoding="ascii") as file:
            size = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        check("memory is bounded", size < 100 << 20, size)
        watch = harness.Stopwatch()
        if closes:
            process.stdout.close()
        process.stdin.close()
        try:
            code = process.wait(20 * harness.slow())
        except subprocess.TimeoutExpired:
            code = "timeout"
            process.kill()
        check(f"it ends (closed: {closes})", code in (0, 1), code)
        seconds = watch.seconds()
        check("soon", seconds < 2.5, seconds)


def main():
    for scenario in (servers, pages, from_kward, hostile, locked, silent):
        with harness.private_place() as base:
            env = harness.clean_env(base)
            workspace = os.path.realpath(os.path.join(base, "workspace"))
            os.makedirs(workspace, exist_ok=True)
            scenario(workspace, env)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
