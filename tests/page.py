# SPDX-License-Identifier: MIT
"""Parts of a page in docs/ that test runs make.  A part stands between two comment lines:

    <!-- made: NAME -->
    ...
    <!-- end: NAME -->
"""
import difflib
import json
import os
import re
import subprocess

import harness
from client import PROGRAM


def put(name, parts, is_written):
    """Puts the parts ({name: text}) into docs/<name>, or only says whether they stand there."""
    path = os.path.join(harness.TOP, "docs", name)
    with open(path, encoding="utf-8") as file:
        old = new = file.read()
    for part, text in parts.items():
        new, n = re.subn(rf"(<!-- made: {part} -->\n).*?(<!-- end: {part} -->)",
                         lambda m, text=text: f"{m[1]}\n{text.strip()}\n\n{m[2]}", new, flags=re.S)
        assert n == 1, f"{path} has {n} places for {part}"
    if is_written:
        with open(path, "w", encoding="utf-8") as file:
            file.write(new)
    elif new != old:
        print(f"docs/{name} is not what this run makes (--write changes it):")
        print("".join(difflib.unified_diff(old.splitlines(True), new.splitlines(True), n=0)))
    return is_written or new == old


def providers():
    """The providers of the program as a table."""
    done = subprocess.run([PROGRAM, "describe", "providers", "--json"], stdout=subprocess.PIPE,
                          check=True)
    rows = ["| models | server | key | address |\n|---|---|---|---|"]
    for name, row in json.loads(done.stdout).items():
        key = f"`{row['env_key']}`" if row["env_key"] else "none"
        key += "" if row["needs_key"] or not row["env_key"] else " (optional)"
        base = f"`{row['env_base']}`, else {row['base_url']}" if row["env_base"] else "none"
        rows.append(f"| `{name}/...` | {row['label']} | {key} | {base} |")
    return "\n".join(rows)
