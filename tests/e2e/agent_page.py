#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The table of other names of arguments in docs/agent.md is made from the program's rows.

    tests/e2e/agent_page.py [--write]
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import page  # noqa: E402
from client import PROGRAM  # noqa: E402


def aliases():
    done = subprocess.run([PROGRAM, "describe", "tools", "--json"], stdout=subprocess.PIPE, check=True)
    rows = {}
    for dialect, tools in json.loads(done.stdout).items():
        for tool, output in tools.items():
            for name, others in output["aliases"].items():
                rows.setdefault((name, ", ".join(f"`{o}`" for o in others)), []).append(f"{dialect} {tool}")
    table = ["| argument | also | of |\n|---|---|---|"]
    for (name, others), tools in sorted(rows.items()):
        table.append(f"| `{name}` | {others} | {', '.join(tools)} |")
    return "\n".join(table)


good = page.put("agent.md", {"aliases": aliases()}, "--write" in sys.argv[1:])
harness.finish(int(good), int(not good))
