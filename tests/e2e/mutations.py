#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""20,000 broken requests to the real program, in three dialects.

    tests/e2e/mutations.py [COUNT [DIALECT]]

Valid requests of every method that `trivet describe` knows are mutated: bytes flipped, members
removed, doubled or given another type, nesting, huge numbers, invalid UTF-8, lines cut short.  A
reader of our own (Python's) says how many answers each must get.  500 at a time go to one process;
then every answer is there exactly once, the next good request works and memory has not grown.  With
a COUNT a process gets ten times 500, and memory must be flat in the second half of them.  The program
ends with 0.

TRIVET_SEED repeats a run.
"""
import collections
import copy
import json
import os
import random
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import rpc_stream  # noqa: E402
from client import Client, PROGRAM, Gone, Kward, Loaf, Scaiflux  # noqa: E402

COUNT = int(sys.argv[1]) if sys.argv[1:] else 20000
CHUNK = 500
CHUNKS = 10 if sys.argv[1:] else 1  # for one process
GROWTH = 24 << 20  # bytes a process may grow by: modules that are opened, sessions that are made
PATIENCE = 30  # seconds for the answers of a chunk
FIRST_ID = 10**6  # numbers below are the client's own
NEVER = re.compile("shutdown|login|connect|quit|exit")  # would end the process, or ask a human
WORDS = ["hello", "", " ", "rehearsal/hello", "latest", "a/b", "..", "/", "~", "\u0000", "ä\u2028",
         "\U0001f600" * 3, "x" * 3000, "true", "newTurn", "followUp", "steer", "allow", "deny"]
ODD = [None, True, False, 0, -1, 1, 2**31, 2**53 + 1, 2**63, 2**64, -2**63 - 1, 1e308, 0.5, "", "x",
       [], {}, [[]], [None], {"": {}}, {"a": [1, {"b": None}]}]
RAW_NUMBERS = [b"1e400", b"-1e400", b"9" * 400, b"1e-400", b"-0", b"0.1e+5", b"1" + b"0" * 30]
BYTES = [b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x00", b"\x1f",
         b"\\ud800", b"\\udc00\\ud800", b"\\u12", b"\xef\xbb\xbf", b'"', b"\\", b"{", b"]", b",",
         b"/*"]


# ---- making requests ----

def describe(dialect):
    if dialect != "scaiflux":
        output = rpc_stream.dialect_of(PROGRAM, dialect)
        return {name: params for name, _, params, _ in output.methods() if not NEVER.search(name)}
    output = subprocess.run([PROGRAM, "describe", dialect, "--json"], capture_output=True, check=True)
    found = json.loads(output.stdout)
    names = [ref["$ref"].rsplit("/", 1)[1] for ref in found["$defs"]["Inbound"]["oneOf"]]
    return {name: found["$defs"][name] for name in names if not NEVER.search(name)}


def odd(rng):
    return copy.deepcopy(rng.choice(ODD))


def value_for(rng, name, schema, pool):
    if "const" in schema:
        return schema["const"]
    kinds = schema.get("type", "any")
    kind = kinds if isinstance(kinds, str) else rng.choice(kinds)
    if "enum" in schema and rng.random() < 0.9:
        return rng.choice(schema["enum"])
    if kind == "string":
        return rng.choice(pool.get(name, [])) if name in pool and rng.random() < 0.8 \
            else rng.choice(WORDS)
    return {"boolean": rng.random() < 0.5, "integer": rng.randrange(-2, 100),
            "number": rng.random(), "array": [rng.choice(WORDS)], "object": {}, "null": None,
            }.get(kind, odd(rng))


def params_for(rng, schema, pool):
    needed = schema.get("required", [])
    return {name: value_for(rng, name, inner, pool)
            for name, inner in schema.get("properties", {}).items()
            if name in needed or rng.random() < 0.5}


def places(value, found=None):
    """Every (container, key) inside a JSON value."""
    found = [] if found is None else found
    inside = value.items() if isinstance(value, dict) else \
        enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        found.append((value, key))
        places(inner, found)
    return found


def change_tree(rng, message):
    """One change that leaves it JSON."""
    spots = places(message)
    if not spots:
        return
    holder, key = rng.choice(spots)
    what = rng.randrange(5)
    if what == 0:
        del holder[key]
    elif what == 1:
        holder[key] = odd(rng)
    elif what == 2 and isinstance(holder, dict):
        holder[rng.choice([key.upper(), key + "x", "", "id", "method"])] = holder[key]
    elif what == 3:
        holder[key] = {"x": holder[key]} if rng.random() < 0.5 else [holder[key]]
    else:
        holder[key] = rng.choice(WORDS)


def change_bytes(rng, body):
    at = rng.randrange(len(body) + 1)
    what = rng.randrange(8)
    if what == 0 and body:
        at = min(at, len(body) - 1)
        return body[:at] + bytes([body[at] ^ 1 << rng.randrange(8)]) + body[at + 1:]
    if what == 1:
        return body[:at]
    if what == 2:
        return body[:at] + rng.choice(BYTES) + body[at:]
    if what == 3:  # a member twice
        return re.sub(rb'\{("\w*": ?(?:"[^"]*"|\d+))', rb"{\1,\1", body, count=1)
    if what == 4:
        return re.sub(rb"(?<=: )(\d+|\"\w*\")", lambda m: rng.choice(RAW_NUMBERS), body, count=1)
    if what == 5:
        depth = rng.choice([3, 61, 62, 63, 64, 65, 500, 508, 509, 510, 511, 512, 513, 5000])
        return body.replace(b'"params": {', b'"params": {"deep": ' + b"[" * depth + b"]" * depth
                            + b", ", 1) if b"params" in body else b"[" * depth + b"]" * depth
    if what == 6:
        return body[:at] + body[rng.randrange(len(body) + 1):]
    return rng.choice([b"", b" ", b"[]", b"null", b"{}", b"[" + body + b"]", body + body,
                       body + b" "])


def mutate(rng, message):
    for _ in range(rng.choice([0, 1, 1, 2])):
        change_tree(rng, message)
    body = json.dumps(message, ensure_ascii=rng.random() < 0.5).encode("utf-8", "replace")
    for _ in range(rng.choice([0, 1, 1, 2])):
        body = change_bytes(rng, body)
    return body


# ---- what must come back ----

def refuse_constant(word):
    raise ValueError(word)


def number(text):
    """Whole numbers by value, others as a double."""
    return float(text) if re.search("[.eE]", text) else int(text)


def depth_of(text):
    """How deep brackets nest; of a member given twice, both count."""
    depth = deepest = 0
    for sign in re.findall(r'[\[{\]}]', re.sub(r'"(?:[^"\\]|\\.)*"', "", text)):
        depth += 1 if sign in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def read(body, deepest, errors):
    """The JSON value; ValueError when the program must not take it for one."""
    text = body.decode("utf-8", errors)
    if depth_of(text) > deepest:
        raise ValueError("deep")
    return json.loads(text, parse_constant=refuse_constant, parse_int=number, parse_float=number)


def is_id(value):
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)


def key(value):
    """An id as something that can be counted; a lone surrogate comes back replaced."""
    return re.sub("[\ud800-\udfff]", "\ufffd", value) if isinstance(value, str) else value


def expect_loaf(body):
    """The ids of the answers."""
    body = body.removeprefix(b"\xef\xbb\xbf").strip(b" \t\v\f")
    if not body:
        return []
    try:
        value = read(body, 512, "replace")
    except ValueError:
        return [None]
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        return [None]
    if not isinstance(value.get("method"), str) or not value["method"].strip(" \t\r\n\v\f"):
        return [None]
    if not (value.get("id") is None or is_id(value["id"])):
        return [None]
    return [key(value["id"])] if "id" in value else []


def expect_kward(body):
    if not body:
        return [None]
    try:
        value = read(body, 512, "strict")
    except ValueError:
        return [None]
    if not isinstance(value, dict):
        return [None]
    number_or_text = key(value["id"]) if is_id(value.get("id")) else None
    if value.get("jsonrpc") != "2.0":
        return [number_or_text]
    if not isinstance(value.get("method"), str) or not value["method"]:
        return [number_or_text] if value.get("id") is not None else []
    if value.get("id") is None:
        return []
    return [number_or_text]


def expect_scaiflux(body):
    """How many of error, slash_result and turn_started; None: the line must not be sent."""
    if not body.strip(b" \t\r"):
        return []
    try:
        value = read(body, 64, "strict")
    except ValueError:
        return [None]
    if value == {"type": "interrupt"} and body.count(b"type") == 1:
        return []
    return [None]


# ---- talking ----

class Loose:
    """Answers with numbers as they were meant."""

    def messages(self, stream):
        for line in stream:
            self.stream.take(json.loads(line))
            yield json.loads(line, parse_int=number, parse_float=number)


class Unmatched:
    """Ids of mutated requests repeat, so an answer is not compared with the result of one method but
    with those of all."""

    def send(self, message):
        Client.send(self, message)


class LoafHere(Unmatched, Loose, Loaf):
    pass


class KwardHere(Unmatched, Kward):
    pass


class ScaifluxHere(Loose, Scaiflux):
    pass


def answers(message, dialect):
    """The id of the answer in a list, or nothing when it is none."""
    if dialect == "scaiflux":
        is_answer = message["type"] in ("slash_result", "turn_started") or \
            (message["type"] == "error" and not message.get("turn_id"))
        return [None] if is_answer else []
    return [key(message["id"])] if "id" in message and "method" not in message else []


def hear_all(client, dialect, wanted):
    """Hears until as many answers came as are wanted."""
    end = time.monotonic() + PATIENCE * harness.slow()
    left = wanted.total()
    while left > 0:
        try:
            message = client.next(max(0.01, end - time.monotonic()))
        except Gone as why:
            raise Gone(f"{left} answers are missing: {why}") from None
        left -= len(answers(message, dialect))


def compare(client, dialect, since, wanted):
    """Everything that was answered is what was wanted, and the answer to the good request."""
    got = collections.Counter(answer for message in client.heard[since:]
                              for answer in answers(message, dialect))
    got[client.last_id if dialect != "scaiflux" else None] -= 1
    missing, too_many = wanted - got, got - wanted
    assert not missing and not too_many, \
        f"not answered: {list(missing)[:9]}, answered too often: {list(too_many)[:9]}"


def drain(client):
    try:
        while True:
            client.next(PATIENCE * harness.slow())
    except Gone:
        pass


NOWHERE = {"OPENROUTER_BASE_URL": "http://127.0.0.1:9/v1"}  # a key may be set by a mutation


def start_loaf(workspace):
    client = LoafHere(cwd=workspace, env={"TRIVET_MODEL": "rehearsal/hello", **NOWHERE})
    return client, {"session_id": [client.call("session.create", {})["session_id"]]}


def start_kward(workspace):
    client = KwardHere(cwd=workspace, env={"TRIVET_MODEL": "rehearsal/hello"})
    session = client.call("sessions/create", {"workspaceRoot": workspace})
    turn = client.call("turns/start", {"sessionId": session["id"], "input": "hello"})
    return client, {"sessionId": [session["id"]], "turnId": [turn["id"]], "path": [session["path"]],
                    "workspaceRoot": [workspace]}


def start_scaiflux(workspace):
    client = ScaifluxHere(["--model", "rehearsal/hello"], cwd=workspace)
    client.event("ready")
    return client, {"command": ["help", "status", "context", "cost", "tools", "model", "clear",
                                "permissions"],
                    "request_id": ["r-1", "r-07", "r-"], "args": ["", "rehearsal/hello", "plan"]}


def request_for(rng, dialect, methods, pool, n):
    name = rng.choice(list(methods))
    params = params_for(rng, methods[name], pool)
    if dialect == "scaiflux":
        return params
    message = {"jsonrpc": "2.0", "id": rng.choice([n + FIRST_ID, f"id-{n}"]), "method": name}
    if params or rng.random() < 0.5:
        message["params"] = params
    return message


def is_fatal(dialect, body):
    """Whether it might end the process, which is no mutation's business."""
    return NEVER.search(body.decode("latin-1")) or \
        (dialect == "scaiflux" and re.search(rb"exit|quit", body))


def make_bodies(rng, dialect, methods, pool, count):
    bodies = []
    while len(bodies) < count:
        body = mutate(rng, request_for(rng, dialect, methods, pool, len(bodies)))
        if dialect != "kward":
            body = body.replace(b"\n", b" ")
        if dialect == "loaf":
            body = body.replace(b"\r", b" ")
        if not is_fatal(dialect, body):
            bodies.append(body)
    return bodies


def check_good(client, dialect):
    """The next good request works."""
    if dialect == "loaf":
        assert client.call("system.ping")
    elif dialect == "kward":
        assert client.call("tools/list")
    else:
        client.send({"type": "slash", "command": "version"})
        assert client.event("slash_result")["command"] == "version"


DIALECTS = {"loaf": (start_loaf, expect_loaf), "kward": (start_kward, expect_kward),
            "scaiflux": (start_scaiflux, expect_scaiflux)}


def one_chunk(client, pool, dialect, methods, rng):
    expect = DIALECTS[dialect][1]
    bodies = make_bodies(rng, dialect, methods, pool, CHUNK)
    wanted = collections.Counter(answer for body in bodies for answer in expect(body))
    since = len(client.heard)
    client.process.stdin.write(b"".join(map(client.frame, bodies)))
    client.process.stdin.flush()
    hear_all(client, dialect, wanted)
    check_good(client, dialect)
    compare(client, dialect, since, wanted)


def one_process(workspace, dialect, methods, rng):
    client, pool = DIALECTS[dialect][0](workspace)
    with client:
        check_good(client, dialect)
        sizes = [client.memory()]
        for _ in range(CHUNKS):
            one_chunk(client, pool, dialect, methods, rng)
            sizes.append(client.memory())
        half = sizes[len(sizes) // 2]
        assert sizes[-1] - sizes[0] < GROWTH and sizes[-1] - half < GROWTH // CHUNKS, \
            f"grows: {sizes}"
        since = len(client.heard)
        assert client.close() == 0, f"exit status {client.process.returncode}"
        drain(client)
        late = [m for m in client.heard[since:] if answers(m, dialect)]
        assert not late, f"answered too late: {late[:3]}"
        faults = [f for f in harness.FAULTS if f in client.stderr.decode(errors="replace")]
        assert not faults, client.stderr.decode(errors="replace")


def main():
    seed = harness.seed()
    passed = failed = 0
    with harness.private_place() as base:
        os.environ.update(harness.clean_env(base))
        methods = {dialect: describe(dialect) for dialect in sys.argv[2:] or DIALECTS}
        for n in range(0, COUNT, CHUNK * CHUNKS):
            dialect = list(methods)[n // (CHUNK * CHUNKS) % len(methods)]
            workspace = os.path.join(base, f"w{n}")
            os.mkdir(workspace)
            try:
                one_process(workspace, dialect, methods[dialect], random.Random(seed + n))
                passed += 1
            except (AssertionError, Gone, RuntimeError, OSError) as why:
                failed += 1
                print(f"{dialect}, requests from {n}: {why}")
    harness.finish(passed, failed)


main()
