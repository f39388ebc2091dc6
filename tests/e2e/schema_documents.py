#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`trivet describe DIALECT --json` is one JSON Schema document per dialect, and narrow enough: a
real message of the program with one member renamed does not fit it, and when a definition is
loosened, the check of every message says so.
"""
import copy
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness      # noqa: E402
import rpc_stream   # noqa: E402
import schema       # noqa: E402
from client import PROGRAM, Kward, Loaf  # noqa: E402

DRAFT = "https://json-schema.org/draft/2020-12/schema"
SCHEMAS = ("items", "additionalProperties", "if", "then", "else", "not")   # one schema each
LISTS = ("oneOf", "anyOf", "allOf", "prefixItems")
score = {True: 0, False: 0}


def check(name, ok, why=""):
    score[bool(ok)] += 1
    if not ok:
        print(f"FAIL {name} {why}")


def walk(node):
    """All schemas inside a schema."""
    yield node
    if not isinstance(node, dict):
        return
    for key, value in node.items():
        inner = [value] if key in SCHEMAS else value if key in LISTS else \
            value.values() if key in ("properties", "$defs") else ()
        for one in inner:
            yield from walk(one)


def document(name):
    output = subprocess.run([PROGRAM, "describe", name, "--json"], stdout=subprocess.PIPE, check=True)
    root = json.loads(output.stdout)
    check(f"{name}: draft", root["$schema"] == DRAFT)
    check(f"{name}: id", root["$id"].startswith(f"urn:trivet:protocol:{name}-"), root["$id"])
    refs = {node["$ref"] for node in walk(root) if isinstance(node, dict) and "$ref" in node}
    names = {f"#/$defs/{one}" for one in root["$defs"]}
    check(f"{name}: references", refs <= names, refs - names)
    check(f"{name}: nothing unused", names <= refs | {f"#/$defs/{one}" for one in root["$defs"]
                                                      if one.endswith("Result")}, names - refs)
    known = {key[5:] for key in dir(schema.Schema) if key.startswith("rule_")} | schema.NOTES \
        | {"$ref", "then", "else"}
    keys = {key for node in walk(root) if isinstance(node, dict) for key in node}
    check(f"{name}: keywords that the tests know", keys <= known, keys - known)
    return root


def talk_to(kind, base, env):
    """Messages of a turn with a tool, as they came."""
    with kind(cwd=base, env=env) as c:
        if kind is Loaf:
            c.call("rpc.handshake")
            session = c.call("session.create")["session_id"]
            c.turn(session, "look")
            c.call("session.get", {"session_id": session})
        else:
            c.call("initialize")
            session = c.call("sessions/create", {})["id"]
            c.call("turns/start", {"sessionId": session, "input": "look"})
            c.event("turnFinished")
            c.call("sessions/transcript", {"sessionId": session})
        c.close()
        return c.heard


def plant(name, heard):
    """Each message once more with one member renamed, all members in turn."""
    dialect = rpc_stream.Dialect(PROGRAM, name)
    check(f"{name}: members were renamed as they came",
          len(rpc_stream.dialect_of(PROGRAM, name).renamed) > 60)
    n = 0
    for message in (m for m in heard if "method" in m):
        for path in rpc_stream.members(message):
            place = f"{rpc_stream.event_name(message)} {rpc_stream.shape(path)}"
            if rpc_stream.OPEN[name].search(place):
                continue
            variant = copy.deepcopy(message)
            at = variant
            for step in path[:-1]:
                at = at[step]
            at["renamed"] = at.pop(path[-1])
            n += 1
            try:
                rpc_stream.Stream(PROGRAM, name).take(variant)
                check(f"{name}: renamed {place}", False, "was not noticed")
            except rpc_stream.Broken:
                pass
    check(f"{name}: {n} renamed members were refused", n > 60)
    loosened(dialect, next(m for m in heard if "method" in m))


def loosened(dialect, message):
    """A definition that allows everything is reported at its first message."""
    for one in dialect.definition("Outbound")["oneOf"]:
        found = dialect.schema.resolve(one["$ref"])
        if "params" in found["properties"] and dialect.schema.may_be(found, message):
            found["properties"]["params"] = {}
    try:
        dialect.rename(message, [])
        check(f"{dialect.name}: a loose schema", False, "was not noticed")
    except rpc_stream.Broken as output:
        check(f"{dialect.name}: a loose schema", "does not notice" in str(output), output)


def main():
    ids = {document(name)["$id"] for name in ("loaf", "kward", "scaiflux")}
    check("ids differ", len(ids) == 3)
    with harness.private_place() as base:
        env = dict(harness.clean_env(base), TRIVET_MODEL="rehearsal/tools")
        for kind in (Loaf, Kward):
            heard = talk_to(kind, base, env)
            check(f"{kind.args[0]}: a tool was called", "list_dir" in json.dumps(heard))
            plant(kind.args[0], heard)
    harness.finish(score[True], score[False])


main()
