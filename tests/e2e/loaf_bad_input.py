#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Bad input to the loaf server: five shapes of requests, each spoilt in ten ways.

    shape       params                                       here
    ignored     never looked at                              system.ping
    optional    an object, or nothing                        session.create
    session     the id of a session                          session.get
    text        a session and what to say                    session.send
    strings     several strings that must be there           model.select

Each case is the documented error, or the documented answer where the fault is none for that shape
(loaf 9-25, 41-53).  After each the next request works, the connection is the same, and the session
that stood there before is as it was.

covers: loaf 9, 10, 12, 15, 25, 27, 43, 44, 47, 79, 81
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
from client import Gone, Loaf  # noqa: E402

SHAPES = {"ignored": "system.ping", "optional": "session.create", "session": "session.get",
          "text": "session.send", "strings": "model.select"}
LINE_LIMIT = 64 << 20
FINE = object()


def good_params(shape, session):
    return {"ignored": None, "optional": {"title": "t"}, "session": {"session_id": session},
            "text": {"session_id": session, "text": "hello"},
            "strings": {"model_id": "hello", "provider": "rehearsal", "thinking_level": "OFF"},
            }[shape]


def error(code, reason, message=None, **data):
    return {"code": code, "reason": reason, "message": message, "data": data}


def params_error(shape, field, must):
    return error(-32602, "invalid_params", f"invalid params for {SHAPES[shape]}: `{field}` {must}",
                 field=field)


PARSE = error(-32700, "parse_error")
FIELD = {"optional": "title", "session": "session_id", "text": "session_id", "strings": "model_id"}


# ---- the ten faults: each gives the line, the id of its answer, and what the answer must be ----

def line(shape, params, ident="x", method=None):
    message = {"jsonrpc": "2.0", "id": ident, "method": method or SHAPES[shape]}
    if params is not None:
        message["params"] = params
    return json.dumps(message, ensure_ascii=False).encode()


def not_json(shape, session):
    return line(shape, good_params(shape, session))[:-1], None, PARSE


def wrong_type(shape, session):
    params = good_params(shape, session)
    if shape == "ignored":
        return line(shape, 7), "x", FINE
    must = "must be a string" if shape == "optional" else "must be a non-empty string"
    return line(shape, {**params, FIELD[shape]: {"a": 1}}), "x", params_error(shape, FIELD[shape],
                                                                              must)


def missing(shape, session):
    del session
    if shape in ("ignored", "optional"):
        return line(shape, None), "x", FINE
    return line(shape, {}), "x", params_error(shape, FIELD[shape], "must be a non-empty string")


def unknown_method(shape, session):
    name = SHAPES[shape].upper()
    return line(shape, good_params(shape, session), method=name), "x", \
        error(-32601, "method_not_found", f"method not found: {name}", method=name)


def unknown_session(shape, session):
    params = {**(good_params(shape, session) or {}), "session_id": "nobody"}
    if shape == "strings":
        params["compress_immediately"] = True
    gone = error(-32603, "internal_error", "unknown session: nobody")
    return line(shape, params), "x", FINE if shape in ("ignored", "optional") else gone


def busy(shape, session):
    wants = error(-32603, "internal_error", "session is busy; use enqueue=true to queue the prompt")
    return line(shape, good_params(shape, session)), "x", wants if shape == "text" else FINE


def huge(shape, session):
    params = {**(good_params(shape, session) or {}), "more": "x" * LINE_LIMIT}
    return line(shape, params), None, PARSE


def deep(shape, session):
    text = line(shape, {**(good_params(shape, session) or {}), "more": 0})
    return text.replace(b'"more": 0', b'"more": ' + b"[" * 100000 + b"]" * 100000), None, PARSE


def array(shape, session):
    return b"[" + line(shape, good_params(shape, session)) + b"]", None, \
        error(-32600, "batch_not_supported", "batch requests are not supported")


def invalid_utf8(shape, session):
    params = {**(good_params(shape, session) or {}), "more": "BAD"}
    if shape == "session":
        params["session_id"] = "BAD"
    text = line(shape, params, ident="xBAD").replace(b"BAD", b"\xff\xc0\xaf")
    gone = error(-32603, "internal_error", "unknown session: \ufffd\ufffd\ufffd")
    return text, "x\ufffd\ufffd\ufffd", gone if shape == "session" else FINE


FAULTS = [not_json, wrong_type, missing, unknown_method, unknown_session, busy, huge, deep, array,
          invalid_utf8]


# ---- asking ----

class Prober(Loaf):
    def put(self, text):
        self.process.stdin.write(text + b"\n")
        self.process.stdin.flush()

    def answer_to(self, ident):
        return self.until(lambda m: "method" not in m and m.get("id") == ident,
                          20 * harness.slow())

    def ready(self, session):
        self.event("session.status", session, status_label="ready", pending=False)


def fits(answer, want):
    if want is FINE:
        return "result" in answer
    output = answer.get("error", {})
    return output.get("code") == want["code"] and output["data"].pop("reason") == want["reason"] and \
        output["data"] == want["data"] and want["message"] in (None, output["message"])


def one_case(c, fault, shape, session, standing):
    """Nothing when all is well, else what was wrong."""
    text, ident, want = fault(shape, session)
    c.heard.clear()
    c.put(text)
    answer = c.answer_to(ident)
    if not fits(json.loads(json.dumps(answer)), want):
        return f"answered {str(answer)[:300]}"
    c.put(b'{"jsonrpc":"2.0","id":"next","method":"system.ping"}')
    others = [m for m in c.heard if "id" in m and m is not answer]
    if others or not c.answer_to("next")["result"]["ok"]:
        return f"more than one answer: {others}"
    now = c.call("session.get", {"session_id": standing["id"]})
    return None if now == standing else f"the session that stood there is {now}"


def check_shape(c, fault, shape, standing):
    session = c.call("session.create")["session_id"]
    is_busy = fault is busy
    if is_busy:
        c.call("session.send", {"session_id": session, "text": "slow"})
        c.event("session.stream.chunk", session)
    problem = one_case(c, fault, shape, session, standing)
    if is_busy:
        c.call("session.interrupt", {"session_id": session})
        c.ready(session)
    elif shape == "text" and fits_result(c, session):
        c.ready(session)
    return problem


def fits_result(c, session):
    """Whether a turn began, whose end must be heard."""
    state = c.call("session.get", {"session_id": session})
    return state["pending"]


def main():
    passed = failed = 0
    scene = {"turns": [{"when": "slow", "rounds": [[{"say": "Wait. "}, {"wait_ms": 60000}]]}],
             "rounds": [[{"say": "ok"}]]}
    with harness.private_place() as base:
        os.environ.update(harness.clean_env(base))
        with open(os.path.join(base, "scene.json"), "w", encoding="ascii") as file:
            json.dump(scene, file)
        with Prober(cwd=base, env={"TRIVET_MODEL": "rehearsal/scene.json"}) as c:
            first = c.call("session.create")["session_id"]
            c.call("session.send", {"session_id": first, "text": "hello"})
            c.ready(first)
            standing = c.call("session.get", {"session_id": first})
            for fault in FAULTS:
                c.call("model.select", {"model_id": "scene.json", "provider": "rehearsal",
                                        "thinking_level": "HIGH"})
                standing = c.call("session.get", {"session_id": first})
                for shape in SHAPES:
                    try:
                        problem = check_shape(c, fault, shape, standing)
                    except Gone as why:
                        problem = str(why)[:300]
                    passed, failed = passed + (not problem), failed + bool(problem)
                    if problem:
                        print(f"FAIL {fault.__name__}, {shape}: {problem}", flush=True)
                    c.call("model.select", {"model_id": "scene.json", "provider": "rehearsal",
                                            "thinking_level": "HIGH"})
            status = c.close(20)
            stderr = harness.without_noise(c.stderr.decode())
            good = status == 0 and not stderr
            passed, failed = passed + good, failed + (not good)
            if not good:
                print(f"FAIL ended with {status}: {stderr[:500]}")
    harness.finish(passed, failed)


main()
