#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tables of docs/acp.md are those of the program.

    acp_page.py [--write]     --write puts them into the page
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import page  # noqa: E402
import rpc_stream  # noqa: E402
from client import PROGRAM  # noqa: E402


def members(schema, without=()):
    """Names of an object's members; optional ones in brackets."""
    needed = schema.get("required", [])
    return ", ".join(f"`{n}`" if n in needed else f"[`{n}`]" for n in schema.get("properties", {})
                     if n not in without)


def methods(root):
    rows = ["| method | params | what it does |\n|---|---|---|"]
    for name, about, params, _ in root.methods():
        rows.append(f"| `{name}` | {members(params)} | {about} |")
    return "\n".join(rows)


def updates(root):
    rows = ["| update | members |\n|---|---|"]
    for one in root.definition("SessionUpdate")["oneOf"]:
        one = root.schema.resolve(one["$ref"]) if "$ref" in one else one
        kind = one["properties"]["sessionUpdate"]
        name = kind["const"] if "const" in kind else kind["enum"][0]
        rows.append(f"| `{name}` | {members(one, ('sessionUpdate',))} |")
    return "\n".join(rows)


def asks(root):
    rows = ["| request | params | when |\n|---|---|---|"]
    for one in root.definition("Outbound")["oneOf"]:
        name = one["$ref"].rpartition("/")[2]
        if name.endswith("Ask"):
            ask = root.definition(name)
            rows.append(f"| `{ask['properties']['method']['const']}` | "
                        f"{members(ask['properties']['params'])} | {ask['description']} |")
    return "\n".join(rows)


def main():
    root = rpc_stream.dialect_of(PROGRAM, "acp")
    same = page.put("acp.md", {"methods": methods(root), "updates": updates(root),
                               "asks": asks(root)}, "--write" in sys.argv)
    harness.finish(int(same), int(not same))


main()
