#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tokens (bytes / 4) of the system text and of the tools in each toolset, as the first request has
them: none above 4,000.  loaf's JavaScript tools are offered only where a runtime is installed.  BEFORE is
what this script printed for the tree before "engine: requests are kept inside the model's window during a turn".

    tests/e2e/prompt_size.py [--write]      the table in docs/agent.md
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import page  # noqa: E402
from played_model import DIALECTS, Checks, play  # noqa: E402

check = Checks()
MOST = 4000
PROGRAMS = ("sh", "bash", "git", "rg", "env", "cat")
BEFORE = {"loaf": 2135, "loaf with a JavaScript runtime": 3659, "ScaiFlux": 1326, "Kward": 1080, "`trivet exec`, chat": 1279}
NAMES = {"run": "`trivet exec`, chat", "loaf": "loaf", "scaiflux": "ScaiFlux", "kward": "Kward"}


def path_with(base, programs):
    """A PATH that has these programs alone; those that are not installed are stubs."""
    place = os.path.join(base, "bin")
    os.mkdir(place)
    for name in programs:
        real = next((f"{d}/{name}" for d in ("/usr/bin", "/bin") if os.path.exists(f"{d}/{name}")), None)
        if real and name in PROGRAMS:
            os.symlink(real, os.path.join(place, name))
        elif name not in PROGRAMS:
            with open(os.path.join(place, name), "w", encoding="ascii") as file:
                file.write("#!/bin/sh\necho v20.0.0\n")
            os.chmod(os.path.join(place, name), 0o755)
    return place


def measure(dialect, base, more=()):
    seen = play(dialect, iter(()), base, env={"PATH": path_with(base, (*PROGRAMS, *more))})
    body = seen.requests[0]
    system = body["messages"][0]["content"].replace(base, "/base")
    names = [t["function"]["name"] for t in body["tools"]]
    tools = json.dumps(body["tools"], separators=(",", ":"), ensure_ascii=False)
    return len(system.encode()) // 4, len(tools.encode()) // 4, names


def thousand(n):
    return f"{n / 1000:.1f}k"


def main():
    rows = ["| toolset | tools | system text | tools, tokens | together | before |\n|---|---|---|---|---|---|"]
    places = [(d, NAMES[d], ()) for d in DIALECTS]
    places.insert(1, ("loaf", "loaf with a JavaScript runtime", ("node", "npm")))
    for dialect, name, more in places:
        with check.scene(name) as base:
            system, tools, names = measure(dialect, base, more)
            print(f"{name}: {system} tokens of system text + {tools} of {len(names)} tools "
                  f"= {system + tools}")
            check(f"{name}: below {MOST}", system + tools < MOST, system + tools)
            has_js = any("js" in n for n in names)
            check(f"{name}: JavaScript tools", has_js == bool(more), names)
            rows.append(f"| {name} | {len(names)} | {thousand(system)} | {thousand(tools)} | "
                        f"{thousand(system + tools)} | {thousand(BEFORE[name])} |")
    check("docs/agent.md", page.put("agent.md", {"sizes": "\n".join(rows)}, "--write" in sys.argv[1:]))
    return check.end()


sys.exit(main())
