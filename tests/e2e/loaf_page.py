#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tables of docs/loaf.md are what the rows of the program say; --write puts them there.

Also: the page names each method that the handshake names, and nothing else.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import page     # noqa: E402
import rpc_stream  # noqa: E402
from client import PROGRAM, Loaf  # noqa: E402


def members(schema):
    needed = schema.get("required", [])
    return ", ".join(f"`{name}`" if name in needed else f"[`{name}`]"
                     for name in schema.get("properties", {}))


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def make(output):
    methods = [(f"`{name}`", members(params), members(result), about)
               for name, about, params, result in output.methods()]
    events = [(f"`{name}`", members(schema), about) for name, about, schema in output.events()]
    return {"methods": table(("method", "params", "result", ""), methods),
            "events": table(("event", "payload", ""), events),
            "errors": table(("code and `data.reason`", "when"), output.errors())}


def main():
    passed = failed = 0
    checks = [page.put("loaf.md", make(rpc_stream.dialect_of(PROGRAM, "loaf")),
                       "--write" in sys.argv)]
    with harness.private_place() as base, Loaf(cwd=base, env=harness.clean_env(base)) as c:
        named = c.call("rpc.handshake")["methods"]
        c.close()
    with open(os.path.join(harness.TOP, "docs", "loaf.md"), encoding="utf-8") as file:
        part = file.read().split("<!-- made: methods -->")[1].split("<!-- end: methods -->")[0]
    shown = re.findall(r"^\| `([a-z_.]+)`", part, re.M)
    checks.append(shown == named and len(named) == 29)
    if not checks[-1]:
        print(f"the page has {shown}, the handshake {named}")
    passed, failed = sum(checks), len(checks) - sum(checks)
    harness.finish(passed, failed)


main()
