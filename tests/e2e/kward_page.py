#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tables of docs/kward.md are those of the program.

    kward_page.py [--write]     --write puts them into the page
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import page  # noqa: E402
from client import PROGRAM  # noqa: E402


def describe():
    done = subprocess.run([PROGRAM, "describe", "kward", "--json"], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def members(schema):
    """Names of an object's members; optional ones in brackets."""
    needed = schema.get("required", [])
    return ", ".join(f"`{n}`" if n in needed else f"[`{n}`]" for n in schema.get("properties", {}))


def methods(root):
    rows = ["| method | params | what it does |\n|---|---|---|"]
    for name, row in root["methods"].items():
        about = row["description"].replace("|", "\\|")
        rows.append(f"| `{name}` | {members(row.get('params', {}))} | {about} |")
    return "\n".join(rows)


def notifications(root):
    rows = ["| notification | params | when |\n|---|---|---|"]
    for name, row in root["events"].items():
        rows.append(f"| `{name}` | {members(row['schema'])} | {row['description']} |")
    return "\n".join(rows)


def main():
    root = describe()
    same = page.put("kward.md", {"methods": methods(root), "notifications": notifications(root)},
                    "--write" in sys.argv)
    harness.finish(int(same), int(not same))


main()
