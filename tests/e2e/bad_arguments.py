#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# NEEDS: terminal
# LONG ROUNDS: arguments of 2 MB, and the program with sanitizers
"""Bad arguments of every kind to every tool of every dialect.

    tests/e2e/bad_arguments.py [MEGABYTES] [DIALECT...]

The tools and their arguments come from the program's own schema.  A provider on loopback makes the
calls: each required member missing, each member of each wrong JSON type, an unknown member, a
string of MEGABYTES (2), a NUL, bytes that are no UTF-8, arguments that are no JSON, an array, JSON cut off,
deep nesting.  Each call must end in an error that names the member to blame, the turn goes on and
ends, the program lives.  Where the document of a dialect takes a bad value, TOLERATED says where.

Runs with $TRIVET and, when it was built, with the sanitizers' program beside it.
"""
import collections
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), os.path.join(HERE, "..", "fake")]
import client  # noqa: E402
import harness  # noqa: E402
import provider  # noqa: E402

HUGE = int(next(filter(str.isdigit, sys.argv[1:]), 2)) << 20
HUGE_FOR_SANITIZERS = 256 << 10
PER_TURN = 40
UNKNOWN = "zz_unknown"
SAMPLES = {"null": None, "boolean": True, "integer": 7, "number": 1.5, "string": "x", "array": [],
           "object": {}}
BAD_BYTES = "a\udcff\udcc3b"  # sent as ff c3

# (dialect, kind) or (dialect, tool, member, kind): the call need not fail, and why.  A kind of
# `type` without a member means optional ones.
TEXT = "the text of a file may hold every character"
CODE = "the text of a script may hold every character, and its length has no limit"
INPUT = "input for a program may hold every character"
TOLERATED = {
    ("loaf", "type"): "loaf: types are not enforced, wrong ones count as absent",
    ("loaf", "unknown"): "loaf: what is declared is not enforced",
    ("loaf", "apply_patch", "input", "huge"): "loaf 194-196: refused as no patch, by its own words",
    ("loaf", "apply_patch", "input", "nul"): "loaf 194-196: the same",
    ("loaf", "apply_patch", "input", "utf8"): "loaf 194-196: the same",
    ("loaf", "edit_file", "new_string", "huge"): "no limit is known",
    ("loaf", "edit_file", "new_string", "nul"): TEXT,
    ("loaf", "edit_file", "new_string", "utf8"): TEXT,
    ("loaf", "create_persistent_tool", "handler_code", "huge"): CODE,
    ("loaf", "create_persistent_tool", "handler_code", "nul"): CODE,
    ("loaf", "create_persistent_tool", "handler_code", "utf8"): CODE,
    ("loaf", "run_js", "code", "huge"): CODE,
    ("loaf", "run_js", "code", "nul"): CODE,
    ("loaf", "run_js", "code", "utf8"): CODE,
    ("loaf", "start_background_js", "code", "huge"): CODE,
    ("loaf", "start_background_js", "code", "nul"): CODE,
    ("loaf", "start_background_js", "code", "utf8"): CODE,
    ("loaf", "write_background_bash", "input", "nul"): INPUT,
    ("loaf", "write_background_bash", "input", "utf8"): INPUT,
    ("loaf", "write_background_js", "input", "nul"): INPUT,
    ("loaf", "write_background_js", "input", "utf8"): INPUT,
    ("scaiflux", "write_file", "content", "huge"): "no limit of `content` is known",
    ("scaiflux", "write_file", "content", "nul"): TEXT,
    ("scaiflux", "write_file", "content", "utf8"): TEXT,
    ("scaiflux", "edit_file", "new_string", "huge"): "no limit is known",
    ("scaiflux", "edit_file", "new_string", "nul"): TEXT,
    ("scaiflux", "edit_file", "new_string", "utf8"): TEXT,
    ("kward", "write_file", "content", "huge"): "no limit of `content` is known",
    ("kward", "write_file", "content", "nul"): TEXT,
    ("kward", "write_file", "content", "utf8"): TEXT,
}


class Case(collections.namedtuple("Case", "tool kind member text blamed")):
    """One call: its arguments as text, and which member an error must name (or None)."""

    def __str__(self):
        return f"{self.tool} {self.kind} {self.member or ''}"


# ---- making calls ----

def tools_of(dialect):
    reported = subprocess.run([client.PROGRAM, "describe", "tools", "--json"], capture_output=True,
                          check=True)
    return {name: t["input_schema"] for name, t in json.loads(reported.stdout)[dialect].items()}


def types_of(schema):
    kind = schema.get("type", list(SAMPLES))
    kinds = {kind} if isinstance(kind, str) else set(kind)
    return kinds | {"integer"} if "number" in kinds else kinds


def with_string(good, schema, member, text):
    """The good arguments with this text in a member that takes one, or None."""
    inner = schema["properties"][member]
    if "string" in types_of(inner):
        return {**good, member: text}
    if "array" in types_of(inner) and "string" in types_of(inner.get("items", {})):
        return {**good, member: [text]}
    return None


def cases_of_huge(tool, good, schema, member, huge):
    arguments = with_string(good, schema, member, "h" * huge)
    if arguments:
        yield Case(tool, "huge", member, json.dumps(arguments), member)


def cases_of_member(tool, good, schema, member):
    inner = schema["properties"][member]
    is_needed = member in schema.get("required", [])
    if is_needed:
        rest = {name: value for name, value in good.items() if name != member}
        yield Case(tool, "missing", member, json.dumps(rest), member)
    for kind, sample in SAMPLES.items():
        is_single = inner.get("items", {}).get("type") == kind  # counts as a list of one
        if kind not in types_of(inner) and not is_single and (is_needed or kind != "null"):
            yield Case(tool, "needed type" if is_needed else "type", member,
                       json.dumps({**good, member: sample}), member)
    for kind, text in (("nul", "a\0b"), ("utf8", BAD_BYTES)):
        arguments = with_string(good, schema, member, text)
        if arguments:
            yield Case(tool, kind, member, json.dumps(arguments, ensure_ascii=False), member)


def cases_of(tool, good, schema, huge):
    for i, member in enumerate(schema["properties"]):
        if i == 0 or huge == HUGE:  # sanitizers are slow: one of each tool is enough for them
            yield from cases_of_huge(tool, good, schema, member, huge)
        yield from cases_of_member(tool, good, schema, member)
    first = (schema.get("required") or [None])[0]
    text = json.dumps(good)
    yield Case(tool, "unknown", UNKNOWN, json.dumps({**good, UNKNOWN: 1}), UNKNOWN)
    for kind, bad in (("no JSON", "please run it"), ("array", json.dumps([good])),
                      ("cut off", text[:-1] or "{"), ("number", "7"), ("raw NUL", text + "\0"),
                      ("raw bytes", "\udcff" + text),
                      ("deep", '{"a":' * 5000 + "1" + "}" * 5000)):
        yield Case(tool, kind, None, bad, first)


# ---- the dialects ----

class Dialect:
    """How to start it, play a turn, and what its errors look like."""
    unreadable_counts_as_empty = False  # loaf: as {}, so that the first member is missing

    def __init__(self, base, port, exa_port):
        self.env = dict(harness.clean_env(base), TRIVET_MODEL="openai/fake",
                        OPENAI_BASE_URL=f"http://127.0.0.1:{port}/v1", OPENAI_API_KEY="key-123456",
                        EXA_BASE_URL=f"http://127.0.0.1:{exa_port}", EXA_API_KEY="exa-123456",
                        TRIVET_FETCH_LOCAL="on")
        self.workspace = os.path.join(base, "workspace")
        self.port = port
        os.mkdir(self.workspace)
        self.write("a.txt", "text\n")

    def write(self, name, text, mode=0o644, place=None):
        path = os.path.join(place or self.workspace, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)

    def is_empty_fine(self, schema):
        return self.unreadable_counts_as_empty and not schema.get("required")


class LoafDialect(Dialect):
    name = "loaf"
    unreadable_counts_as_empty = True

    def __init__(self, *places):
        super().__init__(*places)
        for program in ("node", "npm", "npx"):  # no registry, and quick
            self.write(f"bin/{program}", "#!/bin/sh\nexit 0\n", 0o755)
        self.write("bin/node", '#!/bin/sh\ncase $1 in *.mjs) exec sh "$1" ;; esac\nexit 1\n', 0o755)
        self.env["PATH"] = f"{self.workspace}/bin:{self.env['PATH']}"
        self.client = client.Loaf(cwd=self.workspace, env=self.env)

    def play(self, timeout):
        session = self.client.call("session.create")["session_id"]
        del self.client.heard[:]
        end = self.client.turn(session, "go", timeout=timeout).end
        done = [m["params"]["payload"] for m in self.client.heard
                if m.get("params", {}).get("type") == "session.tool.call.completed"]
        return "message" in end, {p["tool_call_id"]: (
            not p["ok"], json.dumps(p["data"]["executed"]["result"]) +
            p["data"]["executed"].get("error", "")) for p in done}

    def jobs(self):
        """Calls that start what the job tools work with."""
        return {"bash": {"command": "exec sleep 600", "run_in_background": True},
                "start_background_js": {"code": "exec sleep 600"}}

    def goods(self, reported):
        job, script = (json.loads(text)["session_id"] for _, text in reported)
        place = self.workspace
        return {
            "apply_patch": {"input": "*** Begin Patch\n*** Add File: p.txt\n+x\n*** End Patch"},
            "bash": {"command": "true"}, "read_file": {"file_path": f"{place}/a.txt"},
            "create_persistent_tool": {"name": "bash", "description": "d", "handler_code": "c"},
            "grep_files": {"pattern": "text"}, "list_dir": {"dir_path": place},
            "install_js_packages": {"packages": ["p"]}, "run_js": {"code": "true"},
            "run_js_module": {"module": "m"}, "search_web": {"query": "q"},
            "list_background_bash": {}, "list_background_js": {},
            "read_background_bash": {"session_id": job}, "stop_background_bash": {"session_id": "-"},
            "resize_background_bash": {"session_id": job, "cols": 80, "rows": 24},
            "write_background_bash": {"session_id": job, "input": "x"},
            "read_background_js": {"session_id": script}, "stop_background_js": {"session_id": "-"},
            "write_background_js": {"session_id": script, "input": "x"},
            "start_background_js": {"code": "exec sleep 600", "session_name": "one"},
            "edit_file": {"file_path": f"{place}/a.txt", "old_string": "-", "new_string": "y"},
            "todo_write": {"todos": [{"content": "c", "status": "pending"}]},
        }


class ScaifluxDialect(Dialect):
    name = "scaiflux"

    def __init__(self, *places):
        super().__init__(*places)
        self.write(".agents/skills/deploy/SKILL.md", "---\nname: deploy\n---\nPush.\n",
                   place=self.env["HOME"])
        self.write(".scaiflux.json", '{"gadgets": ["skills", "todo", "web"]}')
        self.client = client.Scaiflux(["--model", "openai/fake"], self.workspace, self.env)

    def play(self, timeout):
        self.client.send({"type": "slash", "command": "clear"})
        self.client.event("slash_result")
        del self.client.heard[:]
        seen = self.client.turn("go", timeout)
        return (seen.end.get("stop_reason") == "end_turn",
                {number: (is_error, output) for number, output, is_error in seen.results})

    def jobs(self):
        return {}

    def goods(self, _):
        todo = {"content": "c", "activeForm": "a", "status": "pending"}
        return {
            "read_file": {"path": "a.txt"}, "glob_search": {"pattern": "*"},
            "grep_search": {"pattern": "nothing"}, "write_file": {"path": "w.txt", "content": "x"},
            "edit_file": {"path": "a.txt", "old_string": "-", "new_string": "y"},
            "bash": {"command": "true"}, "WebSearch": {"query": "q"}, "TodoWrite": {"todos": [todo]},
            "WebFetch": {"url": f"http://127.0.0.1:{self.port}/v1/models", "prompt": "p"},
            "Skill": {"skill": "deploy"},
        }


class KwardDialect(Dialect):
    name = "kward"

    def __init__(self, *places):
        super().__init__(*places)
        self.write(".kward/skills/x/SKILL.md", "---\nname: deploy\ndescription: d\n---\nPush.\n",
                   place=self.env["HOME"])
        self.client = client.Kward(cwd=self.workspace, env=self.env)

    def play(self, timeout):
        session = self.client.call("sessions/create", {})["id"]
        self.client.ask("turns/start", {"sessionId": session, "input": "go"})
        results = {}
        while True:
            m = self.client.next(timeout)
            body = m.get("params", {})
            if m.get("method") == "ui/question":
                self.client.ask("ui/answerQuestion", {
                    "sessionId": session, "questionRequestId": body["questionRequestId"],
                    "answers": [{"question": "q", "answer": "a"}]})
            elif body.get("type") == "toolResult":
                r = body["payload"]
                results[r["toolCallId"]] = (r["result"]["isError"], r["content"])
            elif body.get("type") == "turnFinished":
                return body["payload"]["status"] == "completed", results

    def jobs(self):
        return {}

    def goods(self, _):
        options = [{"label": "Yes", "description": "y"}, {"label": "No", "description": "n"}]
        return {
            "list_directory": {"path": "."}, "read_file": {"path": "a.txt"},
            "write_file": {"path": "w.txt", "content": "x"},
            "edit_file": {"path": "a.txt", "edits": [{"old_text": "-", "new_text": "x"}]},
            "run_shell_command": {"command": "true"}, "web_search": {"queries": ["q"]},
            "code_search": {"action": "search", "query": "q"}, "read_skill": {"name": "deploy"},
            "ask_user_question": {"questions": [{"question": "q", "header": "h",
                                                 "options": options}]},
            "todo_write": {"todos": [{"content": "c", "status": "pending"}]},
        }


# ---- playing ----

def reply_of(cases):
    """A reply that makes these calls."""
    calls = [{"index": i, "id": f"call_{i}", "type": "function",
              "function": {"name": c.tool, "arguments": c.text}} for i, c in enumerate(cases)]
    return {"chunks": [{"tool_calls": [call]} for call in calls], "bytes": True,
            "finish": "tool_calls"}


def play(dialect, server, cases):
    """(whether the turn ended well, {case: (is_error, text)})"""
    server.script.replies[:] = [reply_of(cases), {"text": "Done."}]
    server.script.used[:] = [False, False]
    ended, results = dialect.play(60 * harness.slow())
    return ended, [results.get(f"call_{i}") for i in range(len(cases))]


def is_tolerated(dialect, case):
    return ((dialect.name, case.kind) in TOLERATED or
            (dialect.name, case.tool, case.member, case.kind) in TOLERATED)


def fault_of(dialect, schema, case, result):
    """What is wrong with a result, or None."""
    if result is None:
        return "no result"
    is_error, text = result
    if case.kind == "unknown" and f"ignored: {UNKNOWN}; accepted: " in text:
        return None  # a tool that reads says so and goes on
    if len(text) > 1 << 20:
        return f"a result of {len(text)} bytes"
    is_whole = case.member is None
    if is_tolerated(dialect, case) or (is_whole and dialect.is_empty_fine(schema)):
        return None
    if not is_error:
        return f"not refused: {text[:120]}"
    names_it = not case.blamed or case.blamed in text
    if is_whole and not dialect.unreadable_counts_as_empty:
        parts = (case.tool, "arguments were cut or are not JSON", "is required")
        names_it = any(part in text for part in parts)  # no member is to blame
    return None if names_it else f"{case.blamed} is not named: {text[:160]}"


def batches(cases):
    """Turns of a few calls; a huge one has a turn of its own."""
    small = [c for c in cases if c.kind != "huge"]
    for i in range(0, len(small), PER_TURN):
        yield small[i : i + PER_TURN]
    for case in cases:
        if case.kind == "huge":
            yield [case]


def check_tool(dialect, server, cases, schema):
    """(calls that were right, sentences about those that were not)"""
    passed, faults = 0, []
    for batch in batches(cases):
        ended, results = play(dialect, server, batch)
        if not ended:
            faults.append(f"{dialect.name} {batch[0]} ...: the turn did not end well")
        for case, result in zip(batch, results):
            why = fault_of(dialect, schema, case, result)
            passed += why is None
            if why:
                faults.append(f"{dialect.name} {case}: {why}")
    return passed, faults


def start_jobs(dialect, server):
    cases = [Case(tool, "start", None, json.dumps(arguments), None)
             for tool, arguments in dialect.jobs().items()]
    return play(dialect, server, cases)[1] if cases else []


def check_dialect(kind, base, huge):
    exa = [{"body": {"results": []}, "repeat": True}]
    with provider.Server([]) as server, provider.Server(exa) as searches:
        dialect = kind(base, server.port, searches.port)
        tools = tools_of(dialect.name)
        with dialect.client as c:
            goods = dialect.goods(start_jobs(dialect, server))
            passed, faults = 0, [f"{dialect.name} {tool}: no good call is known"
                                 for tool in tools.keys() - goods.keys()]
            for tool in sorted(tools.keys() & goods.keys()):
                cases = list(cases_of(tool, goods[tool], tools[tool], huge))
                more, wrong = check_tool(dialect, server, cases, tools[tool])
                passed, faults = passed + more, faults + wrong
            status = c.close(30 * harness.slow())
    said = c.stderr.decode(errors="replace")
    if status or any(sign in said for sign in harness.FAULTS):
        faults.append(f"{dialect.name} ended with {status}: {said[-2000:]}")
    return passed, faults


def programs():
    """The program of the caller, and the one with sanitizers when it is there; how long a string is
    huge for each."""
    beside = os.path.join(harness.TOP, "build-asan", "trivet")
    yield client.PROGRAM, HUGE
    if os.path.exists(beside) and not os.path.samefile(beside, client.PROGRAM):
        yield beside, HUGE_FOR_SANITIZERS


def main():
    kinds = [k for k in (LoafDialect, ScaifluxDialect, KwardDialect)
             if k.name in sys.argv[1:] or not any(map(str.isalpha, sys.argv[1:]))]
    passed, failed = 0, 0
    for program, huge in list(programs()):
        client.PROGRAM = program
        for kind in kinds:
            with harness.private_place() as base:
                more, faults = check_dialect(kind, base, huge)
            print(f"{os.path.relpath(program, harness.TOP)} {kind.name}: {more} calls answered")
            print("\n".join(faults[:100]) + "\n" * bool(faults), end="", flush=True)
            passed, failed = passed + more, failed + len(faults)
    harness.finish(passed, failed)


if __name__ == "__main__":
    main()
