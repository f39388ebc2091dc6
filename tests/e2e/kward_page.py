#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tables of docs/kward.md are those of the program.

    kward_page.py [--write]     --write puts them into the page
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import page  # noqa: E402
import rpc_stream  # noqa: E402
from client import PROGRAM  # noqa: E402


def members(schema):
    """Names of an object's members; optional ones in brackets."""
    needed = schema.get("required", [])
    return ", ".join(f"`{n}`" if n in needed else f"[`{n}`]" for n in schema.get("properties", {}))


def methods(root):
    rows = ["| method | params | what it does |\n|---|---|---|"]
    for name, about, params, _ in root.methods():
        about = about.replace("|", "\\|")
        rows.append(f"| `{name}` | {members(params)} | {about} |")
    return "\n".join(rows)


def notifications(root):
    rows = ["| notification | params | when |\n|---|---|---|"]
    for name, about, schema in root.events():
        rows.append(f"| `{name}` | {members(schema)} | {about} |")
    return "\n".join(rows)


def main():
    root = rpc_stream.dialect_of(PROGRAM, "kward")
    same = page.put("kward.md", {"methods": methods(root), "notifications": notifications(root)},
                    "--write" in sys.argv)
    harness.finish(int(same), int(not same))


main()
