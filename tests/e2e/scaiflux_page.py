#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tables of docs/scaiflux.md are what the program says of itself.

    scaiflux_page.py            compares
    scaiflux_page.py --write    writes them anew
"""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import harness      # noqa: E402
import page         # noqa: E402
from client import PROGRAM, Scaiflux  # noqa: E402


def describe(*flags):
    return subprocess.run([PROGRAM, "describe", "scaiflux", *flags], check=True,
                          stdout=subprocess.PIPE, text=True).stdout


def members(schema):
    needed = schema["required"]
    return ", ".join(f"`{name}`{'' if name in needed else '?'}" for name in schema["properties"]
                     if name != "type") or "–"


def messages(root, way):
    rows = ["| `type` | members | |\n|---|---|---|"]
    for one in root["$defs"][way]["oneOf"]:
        schema = root["$defs"][one["$ref"].rpartition("/")[2]]
        kind = schema["properties"]["type"]["const"]
        rows.append(f"| `{kind}` | {members(schema)} | {schema['description']} |")
    return "\n".join(rows)


def commands():
    with harness.private_place() as base:
        with Scaiflux(["-m", "rehearsal/hello"], cwd=base, env=harness.clean_env(base)) as c:
            c.send({"type": "slash", "command": "help"})
            data = c.event("slash_result")["data"]
            assert c.close() == 0
    rows = ["| command | arguments | |\n|---|---|---|"]
    for one in data["commands"]:
        names = ", ".join(f"`{name}`" for name in [one["name"], *one["aliases"]])
        args = one["args"].replace("|", "\\|")
        rows.append(f"| {names} | {f'`{args}`' if args else ''} | {one['summary']} |")
    return "\n".join(rows)


def errors():
    rows = ["| `code` | |\n|---|---|"]
    for line in describe().partition("ERRORS\n")[2].strip().splitlines():
        code, when = re.match(r" *(\S+) +(.*)", line).groups()
        rows.append(f"| `{code}` | {when} |")
    return "\n".join(rows)


def main():
    root = json.loads(describe("--json"))
    same = page.put("scaiflux.md", {"messages": messages(root, "Inbound"),
                                    "events": messages(root, "Outbound"),
                                    "commands": commands(), "errors": errors()},
                    "--write" in sys.argv)
    harness.finish(int(same), int(not same))


main()
