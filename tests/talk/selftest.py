#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the talk runner with a small program in Python: right talks pass, wrong ones FAIL.

The program (PROGRAM below) answers in the framing of the dialect it is called with; what it does
is asked for by the messages: {"say": x} answers x, and so on.  Each case is a talk and, when it
must fail, a part of the report it must give.
"""
import concurrent.futures
import json
import os
import sys
import tempfile

import run

PROGRAM = r'''#!@PYTHON@
import json, os, signal, subprocess, sys, time
out, inp = sys.stdout.buffer, sys.stdin.buffer
framed = sys.argv[1:2] in (["kward"], ["length"]) or os.path.basename(sys.argv[0]) == "length"
def put(value):
    body = json.dumps(value, ensure_ascii=False).encode()
    out.write(b"Content-Length: %d\r\n\r\n" % len(body) + body if framed else body + b"\n")
    out.flush()
def take():
    if not framed:
        return inp.readline()
    head = inp.readline()
    if not head:
        return b""
    inp.readline()
    return inp.read(int(head.split(b":")[1]))
if sys.argv[1:2] == ["--version"]:
    print("fake 1.2.3")
    sys.exit(0)
if sys.argv[1:2] == ["describe"]:
    print(r"""@SCHEMA@""")
    sys.exit(0)
if sys.argv[1:2] == ["usage"]:
    print("usage: fake", file=sys.stderr)
    sys.exit(2)
signal.signal(signal.SIGTERM, lambda *_: (os.write(1, b'{"bye": "term"}\n'), os._exit(0)))
while True:
    line = take()
    if not line:
        sys.exit(0)
    try:
        message = json.loads(line)
    except ValueError:
        put({"error": "parse"})
        continue
    for verb, value in message.items():
        if verb == "say": put(value)
        if verb == "all": [put(one) for one in value]
        if verb == "len": put(len(value))
        if verb == "print": out.write(value.encode()); out.flush()
        if verb == "env": put(os.environ.get(value))
        if verb == "cwd": put(os.getcwd())
        if verb == "exit": sys.exit(value)
        if verb == "grumble": print(value, file=sys.stderr, flush=True)
        if verb == "wait": time.sleep(value)
        if verb == "crash once":
            mark = sys.argv[0] + ".crashed"
            if os.path.exists(mark): os.remove(mark); sys.exit(0)
            open(mark, "w").close()
        if verb.startswith("crash"):
            print("LeakSanitizer has encountered a fatal error", file=sys.stderr, flush=True)
            sys.exit(1)
        if verb == "spawn": subprocess.Popen(["setsid", "sh", "-c", "exec sleep 60 <&- >&- 2>&-"])
        if verb == "post":
            import urllib.request
            url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
            request = urllib.request.Request(url, json.dumps(value).encode())
            with urllib.request.urlopen(request) as answer:
                put(answer.status); answer.read()
        if verb == "write": open(value, "w").write("written\n")
'''

FLUX = ('@run scaiflux serve\n> {"say": {"type": "ready", "protocol": 1, "version": "1", '
        '"session_id": "s", "model": "m", "mode": "plan", "tools": [], "context_window": 1, '
        '"max_tokens": 1, "gadgets": []}}\n< "..."\n')
FLUX_END = ('{"type": "turn_complete", "turn_id": "1", "stop_reason": "end_turn", "iterations": 0, '
            '"input_tokens": 0, "output_tokens": 0, "mutations": []}')
LINES = "@frame lines\n@run lines\n"
FRAMED = "@frame length\n@run length\n"

# The schemas that the program prints for loaf and Kward: one method, one event.
TEXT = {"type": "string"}
ID_ROWS = {"type": "object", "properties": {"id": TEXT, "note": TEXT}, "required": ["id"],
           "additionalProperties": False}


def message(members):
    return {"type": "object", "properties": members, "required": list(members),
            "additionalProperties": False}


SCHEMA = {"$defs": {
    "Inbound": {"oneOf": [{"$ref": "#/$defs/MakeRequest"}]},
    "MakeRequest": message({"method": {"const": "make"}}),
    "MakeResult": ID_ROWS,
    "Outbound": {"oneOf": [{"$ref": "#/$defs/Response"}, {"$ref": "#/$defs/MadeEvent"}]},
    "Response": message({"id": {"type": "integer"}, "result": {"anyOf": [ID_ROWS]}}),
    "MadeEvent": message({"method": {"const": "made"}, "params": ID_ROWS})}}
LOOSE = {"$defs": dict(SCHEMA["$defs"], MakeResult={"type": "object"})}


def rpc(dialect, *answers):
    """A talk in which the program answers a request in these words."""
    said = "".join("> " + json.dumps({"say": one}) + "\n< \"...\"\n" for one in answers)
    return f"@run {dialect} rpc\n" + '> {"id": 1, "method": "make"}\n' + said

PROVIDER = '@provider inline <<END\n[{"text": "hi"}]\nEND\n'
POST = ('> {"post": {"model": "m", "stream": true, '
        '"messages": [{"role": "user", "content": "hello"}]}}\n')

# (name, talk, None or what the report must contain)
CASES = [
    ("plain", LINES + '> {"say": {"a": 1, "b": [1, 2]}}\n< {"a": 1.0, "b": [1, 2]}\n', None),
    ("wrong value", LINES + '> {"say": {"a": 1}}\n< {"a": 2}\n', "$.a: expected 2, got 1"),
    ("true is not 1", LINES + '> {"say": {"a": true}}\n< {"a": 1}\n', "expected 1, got true"),
    ("missing member", LINES + '> {"say": {"a": 1}}\n< {"a": 1, "b": "..."}\n', 'no member "b"'),
    ("closed object", LINES + '> {"say": {"a": 1, "b": 2}}\n< {"a": 1}\n', 'unexpected member "b"'),
    ("open object", LINES + '> {"say": {"a": 1, "b": 2}}\n< {"a": 1, "...": "..."}\n', None),
    ("any value", LINES + '> {"say": {"a": [1]}}\n< {"a": "..."}\n', None),
    ("open array", LINES + '> {"say": [1, 2, 3]}\n< [1, "..."]\n', None),
    ("closed array", LINES + '> {"say": [1, 2, 3]}\n< [1, 2]\n', "expected 2 items, got 3"),
    ("regex", LINES + '> {"say": "abc-12"}\n< "~^[a-z]+-[0-9]+$"\n', None),
    ("wrong regex", LINES + '> {"say": "abc"}\n< "~^[0-9]+$"\n', "expected text like"),
    ("binding", LINES + '> {"say": {"id": "x7"}}\n< {"id": "$id"}\n> {"say": ["$id", "(${id})"]}\n'
     '< ["$id", "(x7)"]\n> {"say": "say ${id}!"}\n< "say ${id}!"\n', None),
    ("wrong binding", LINES + '> {"all": [1, 2]}\n< "$n"\n< "$n"\n', "$n is 1, got 2"),
    ("unbound", LINES + '> {"say": "$nobody"}\n', "used before it was bound"),
    ("literal dollar", LINES + '> {"say": "\\u0024x"}\n< "\\\\$x"\n', None),
    ("unfinished pattern", LINES + '> {"say": 1}\n< {"a"\n', "the pattern is not JSON"),
    ("continued lines", LINES + '> {"say":\n    {"a": 1}}\n< {"a":\n   1}\n', None),
    ("skip", LINES + '> {"all": [1, 2, 3]}\n<~ 3\n', None),
    ("skip as directive", LINES + '> {"all": [1, 2, 3]}\n@skip-until\n< 3\n', None),
    ("skip misses", LINES + '@within 300\n> {"all": [1, 2, 3]}\n<~ 4\n', "nothing came in time"),
    ("any order", LINES + '> {"all": [1, 2, 3]}\n@any-order\n< 3\n< 1\n< 2\n@end\n', None),
    ("any order, wrong", LINES + '> {"all": [1, 4]}\n@any-order\n< 3\n< 1\n@end\n', "fits none"),
    ("left over", LINES + '> {"all": [1, 2]}\n< 1\n', "nobody expected"),
    ("left over allowed", LINES + '> {"all": [1, 2]}\n< 1\n@ignore-rest\n', None),
    ("too late", LINES + '@within 100\n> {"wait": 5}\n> {"say": 1}\n< 1\n', "nothing came in time"),
    ("silent", LINES + '@silent 100\n', None),
    ("not silent", LINES + '> {"say": 1}\n@silent 1000\n', "silence expected"),
    ("exit", LINES + '> {"exit": 3}\n@expect-exit 3\n', None),
    ("wrong exit", LINES + '> {"exit": 3}\n@expect-exit 0\n', "exit status 3, expected 0"),
    ("exit nobody asked for", LINES + '> {"exit": 1}\n', "exit status 1, expected 0"),
    ("exit that does not come", LINES + '@within 200\n@expect-exit 0\n', "still running"),
    ("end of output", LINES + '> {"exit": 0}\n< 1\n', "stdout was closed"),
    ("signal", LINES + '> {"say": 1}\n< 1\n@signal TERM\n< {"bye": "term"}\n@expect-exit 0\n', None),
    ("raw", LINES + '>raw {"say": \\x31}\\r\\n\n< 1\n>raw no\\n\n< {"error": "parse"}\n', None),
    ("raw quotes", LINES + '>raw {"say": "a\\"b"}\\n\n< "a\\"b"\n', None),
    ("times", LINES + '>raw {"len": "\n>times 100000 x\n>raw "}\\n\n< 100000\n', None),
    ("not JSON", LINES + '> {"say": }\n', "use >raw"),
    ("output not JSON", LINES + '> {"print": "hello\\n"}\n< "..."\n', "not JSON"),
    ("double member", LINES + '> {"print": "{\\"a\\":1,\\"a\\":2}\\n"}\n< "..."\n', "comes twice"),
    ("blank line", LINES + '> {"print": "\\n"}\n< "..."\n', "no message"),
    ("incomplete line", LINES + '> {"print": "{}"}\n@close\n< {}\n', "inside a message"),
    ("stderr", LINES + '@stderr grum\n> {"grumble": "grumble"}\n', None),
    ("stderr not empty", LINES + '@stderr-empty\n> {"grumble": "grumble"}\n', "stderr is not empty"),
    ("stderr not so", LINES + '@stderr other\n> {"grumble": "grumble"}\n', "stderr is not like"),
    ("sanitizer", LINES + '> {"grumble": "x.c:1: runtime error: y"}\n', "reports a fault"),
    ("leak checker crashes once", LINES + '> {"crash once": 1}\n', None),
    ("leak checker crashes twice", LINES + '> {"crash": 1}\n', "exit status 1, expected 0"),
    ("env", '@env OPENAI_X=1\n' + LINES + '> {"env": "OPENAI_X"}\n< "1"\n> {"env": "SELFTEST_KEY"}\n'
     '< null\n> {"env": "HOME"}\n< "$HOME"\n', None),
    ("workspace", LINES + '> {"cwd": 0}\n< "$WORKSPACE"\n', None),
    ("file", '@file sub/a.txt <<END\none $WORKSPACE\n\nEND\n' + LINES + '> {"say": 1}\n< 1\n'
     '@sh test "$(wc -l <sub/a.txt)" = 2\n> {"write": "b"}\n> {"say": 2}\n< 2\n'
     '@expect-file b <<X\nwritten\nX\n', None),
    ("sh fails", LINES + '@sh exit 4\n', "ended with 4"),
    ("wrong file", '@file a <<X\n1\nX\n' + LINES + '@expect-file a <<X\n2\nX\n', "expected '2"),
    ("process left", LINES + '> {"spawn": 1}\n> {"say": 1}\n< 1\n', "left a process behind"),
    ("framed", FRAMED + '> {"say": "grüß"}\n< "grüß"\n', None),
    ("framed, wrong", FRAMED + '> {"print": "{}\\n"}\n@close\n< {}\n', "inside a message"),
    ("bad header", FRAMED + '> {"print": "content-length: 2\\r\\n\\r\\n{}"}\n< {}\n',
     "not expected"),
    ("by name", '@frame length\n@run-as length\n> {"say": 1}\n< 1\n', None),
    ("twice", LINES + '> {"say": 1}\n< 1\n@frame length\n@run length\n> {"say": 2}\n< 2\n', None),
    ("text", '@run --version\n< "~^fake [0-9.]+$"\n', None),
    ("usage", '@run usage\n@stderr ^usage\n@expect-exit 2\n', None),
    ("schema", FLUX + '> {"say": {"type": "turn_started", "turn_id": "1"}}\n'
     '< {"type": "turn_started", "turn_id": "$t"}\n> {"say": ' + FLUX_END + '}\n< "..."\n', None),
    ("order, first", '@run scaiflux serve\n> {"say": {"type": "turn_started", "turn_id": "1"}}\n'
     '< "..."\n', "ready is the first"),
    ("order, foreign turn", FLUX + '> {"say": {"type": "text_delta", "turn_id": "1", "delta": "x"}}\n'
     '< "..."\n', "not of the running turn"),
    ("order, no cause", FLUX + '> {"say": {"type": "state_changed", "mode": "plan"}}\n< "..."\n',
     "follows what caused it"),
    ("order, no end", FLUX + '> {"say": {"type": "turn_started", "turn_id": "1"}}\n< "..."\n',
     "has no end"),
    ("order, ignored rest", FLUX + '@ignore-rest\n> {"say": ' + FLUX_END + '}\n',
     "not of the running turn"),
    ("schema, wrong", '@run scaiflux serve\n> {"say": {"type": "turn_started", "turn_id": 1}}\n'
     '< {"type": "turn_started", "turn_id": "..."}\n', "against the schema"),
    ("schema, if", '@run scaiflux serve\n> {"say": {"type": "error", "code": "auth_failed", '
     '"message": "m", "origin": "remote"}}\n< "..."\n', "turn_id is missing"),
    ("schema, else", '@run scaiflux serve\n> {"say": {"type": "error", "code": "parse_error", '
     '"message": "m", "origin": "remote"}}\n< "..."\n', 'is not "local"'),
    ("schema, extra", '@run scaiflux serve\n> {"say": {"type": "turn_started", "turn_id": "1", '
     '"x": 1}}\n< "..."\n', "unknown members"),
    ("schema, unknown", '@run scaiflux serve\n> {"say": {"type": "hello"}}\n< "..."\n',
     "fits 0 variants"),
    ("rpc schema", rpc("loaf", {"id": 1, "result": {"id": "a", "note": "n"}},
                       {"method": "made", "params": {"id": "a"}}), None),
    ("rpc schema, framed", rpc("kward", {"id": 1, "result": {"id": "a"}}), None),
    ("rpc schema, renamed", rpc("loaf", {"id": 1, "result": {"ident": "a"}}), "id is missing"),
    ("rpc schema, renamed optional", rpc("kward", {"id": 1, "result": {"id": "a", "notes": "n"}}),
     "unknown members ['notes']"),
    ("rpc schema, renamed in event", rpc("loaf", {"method": "made", "params": {"ID": "a"}}),
     "id is missing"),
    ("rpc schema, renamed in ignored rest", rpc("loaf") + '@ignore-rest\n> {"say": {"id": 1, '
     '"result": {"ident": "a"}}}\n', "id is missing"),
    ("rpc schema, too loose", rpc("kward", {"id": 1, "result": {"id": "a"}}),
     "does not notice a renamed member: make .result.id"),
    ("hold", LINES + '@hold\n> {"all": [1, 2]}\n@silent 50\n@release\n< 1\n< 2\n', None),
    ("provider", PROVIDER + LINES + POST + '< 200\n'
     '@request {"method": "POST", "path": "/v1/chat/completions", '
     '"body": {"model": "m", "...": "..."}, "...": "..."}\n@sh grep -q hello $REQUESTS\n', None),
    ("provider, wrong", PROVIDER + LINES + POST + '< 200\n'
     '@request {"body": {"model": "n", "...": "..."}, '
     '"...": "..."}\n', '$.body.model: expected "n"'),
    ("provider, none", PROVIDER + LINES + '@within 200\n@request "..."\n', "no further request"),
    ("unknown directive", LINES + '@expct 1\n', "not understood"),
    ("no end", LINES + '@any-order\n< 1\n', "without @end"),
    ("no run", '> {}\n', "no @run"),
    ("covers", '@covers loaf 1 3-5\n' + LINES, None),
    ("wrong covers", '@covers loaf one\n' + LINES, "@covers"),
]


def main():
    os.environ["SELFTEST_KEY"] = "must not be seen"
    with tempfile.TemporaryDirectory(prefix="trivet-selftest-") as folder:
        programs = {}
        for kind, schema in (("fake", SCHEMA), ("loose", LOOSE)):
            programs[kind] = os.path.join(folder, kind)
            with open(programs[kind], "w", encoding="utf-8") as file:
                file.write(PROGRAM.replace("@PYTHON@", sys.executable)
                           .replace("@SCHEMA@", json.dumps(schema)))
            os.chmod(programs[kind], 0o755)

        def play(case):
            number, (bytewise, (name, text, wanted)) = case
            path = os.path.join(folder, f"case{number}.talk")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            report = run.play(path, programs["loose" if "too loose" in name else "fake"], bytewise)
            good = report is None if wanted is None else bool(report and wanted in report)
            if not good:
                print(f"FAIL {name}{' (bytewise)' if bytewise else ''}: "
                      f"expected {wanted or 'success'}, got {report or 'success'}")
            return good

        cases = [(bytewise, case) for bytewise in (False, True) for case in CASES
                 if not (bytewise and case[2])]
        with concurrent.futures.ThreadPoolExecutor(run.harness.workers()) as pool:
            good = list(pool.map(play, enumerate(cases)))
    run.harness.finish(good.count(True), good.count(False))


main()
