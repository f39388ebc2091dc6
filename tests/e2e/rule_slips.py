#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One real task in four toolsets, played by a model 23 of whose calls have typical mistakes: a bug is fixed, a
feature is added over three files, a function renamed, the tests are run, the work is committed.
Not one round may be lost.  Prints rounds and tokens, with the mistakes forgiven and as they would be
if each had cost a refusal and a second attempt."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import slips  # noqa: E402

FILES = {
    "calc.py": "def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    if b is None:\n        return a\n    return a + b\n",
    "cli.py": "import sys\n\nimport calc\n\nOPS = {\n    \"add\": calc.add,\n    \"sub\": calc.sub,\n}\n\n\ndef main(argv):\n"
              "    print(OPS[argv[1]](int(argv[2]), int(argv[3])))\n\n\nif __name__ == \"__main__\":\n    main(sys.argv)\n",
    "README.md": "# calc\n\nadd and sub.\n",
    "test_calc.py": "import unittest\n\nimport calc\n\n\nclass Test(unittest.TestCase):\n    def test_all(self):\n"
                    "        self.assertEqual(calc.add(1, 2), 3)\n        self.assertEqual(calc.subtract(3, 2), 1)\n"
                    "        self.assertEqual(calc.mul(3, 2), 6)\n",
}
GIT = "git -c user.name=t -c user.email=t@t"
BEFORE = f"git init -q . && git add -A && {GIT} commit -qm start"
TEST = "python3 -m unittest -q 2>&1 && echo all is well"
RENAME = "sed -i 's/calc\\.sub,/calc.subtract,/' cli.py && grep -n subtract cli.py"
COMMIT = f"git add -A &&\n{GIT} commit -qm 'Fix sub, add mul' && git log --oneline | wc -l"
MUL = "\n\ndef mul(a, b):\n    return a * b\n"
FIXED = "    if b is None:\n        return a\n    return a - b\n"

# (tool, arguments, whether there is a slip in them)
TASKS = {
    "scaiflux": [
        ("read_file", {"file_path": "calc.py", "offset": "0", "limit": "50"}, 1),       # name; numbers
        ("grep_search", {"query": "def sub"}, 1),                                       # name
        ("edit_file", {"path": "calc.py", "old_str": "  if b is None:\n      return a\n  return a + b\n",
                       "new_str": "  if b is None:\n      return a\n  return a - b\n"}, 1),  # names; indentation
        ("edit_file", {"path": "calc.py", "old_string": "def sub(", "new_string": "def subtract("}, 0),
        ("edit_file", {"path": "calc.py", "edits": [{"oldText": "    return a - b\n", "newText": "    return a - b\n" + MUL}]}, 1),
        ("edit_file", {"path": "cli.py", "old_string": "    \"sub\": calc.sub,\n", "new_string":
                       "    \"sub\": calc.subtract,\n    \"mul\": calc.mul,\n"}, 0),
        ("write_file", {"path": "README.md", "text": "# calc\n\nadd, sub and mul.\n"}, 1),  # name
        ("bash", {"command": TEST, "explanation": "run the tests"}, 1),                  # small talk
        ("bash", {"command": COMMIT}, 0),
    ],
    "run": [
        ("read_file", {"filePath": "calc.py"}, 1),
        ("edit_file", {"path": "calc.py", "old_string": "1: def sub(a, b):\n2:     if b is None:\n3:         return a\n4:     return a + b",
                       "new_string": "1: def subtract(a, b):\n2:     if b is None:\n3:         return a\n4:     return a - b"}, 1),
        ("edit_file", {"path": "calc.py", "old_string": "    return a - b", "new_string": "    return a - b\n" + MUL.rstrip("\n"),
                       "replaceAll": "false"}, 1),
        ("edit_file", {"path": "cli.py", "old_string": "\\\"sub\\\": calc.sub,\\n}", "new_string":
                       "\\\"sub\\\": calc.sub,\\n    \\\"mul\\\": calc.mul,\\n}"}, 1),    # escapes
        ("write_file", {"path": "README.md", "content": "# calc\n\nadd, sub and mul.\n"}, 0),
        ("bash", {"command": RENAME, "timeout": None}, 1),                               # null
        ("bash", {"command": TEST}, 0),
        ("bash", {"command": COMMIT}, 0),
    ],
    "kward": [
        ("list_directory", {"dir_path": "."}, 1),
        ("read_file", {"path": "calc.py", "description": "look"}, 1),
        ("read_file", {"path": "cli.py"}, 0),
        ("read_file", {"path": "README.md"}, 0),
        ("edit_file", {"path": "calc.py", "old_text": "    return a + b\n\n\ndef sub(a, b):\n    if b is None:\n        return a\n    return a + b",
                       "new_text": "    return a + b\n\n\ndef subtract(a, b):\n" + FIXED.rstrip("\n") + "\n" + MUL.rstrip("\n")}, 1),
        ("edit_file", {"path": "cli.py", "edits": json.dumps([{"old_text": "calc.sub,", "new_text":
                                                              "calc.subtract,\n    \"mul\": calc.mul,"}])}, 1),
        ("write_file", {"path": "README.md", "content": "# calc\n\nadd, sub and mul.\n"}, 0),
        ("run_shell_command", {"script": TEST, "timeout_seconds": "60"}, 1),
        ("run_shell_command", json.dumps({"command": COMMIT}).replace("\\n", "\n"), 1),  # a raw line end
    ],
    "loaf": [
        ("read_file", {"path": "{W}/calc.py", "limit": "50"}, 1),
        ("apply_patch", {"input": "--- a/calc.py\n+++ b/calc.py\n@@ -5,4 +5,4 @@\n-def sub(a, b):\n+def subtract(a, b):\n"
                                  "     if b is None:\n         return a\n-    return a + b\n+    return a - b\n"}, 1),
        ("apply_patch", {"path": "calc.py", "old_string": "return a - b\n", "new_string": "return a - b\n" + MUL}, 1),
        ("apply_patch", {"patch": "*** Update File: cli.py\n@@\n-    \"sub\": calc.sub,\n+    \"sub\": calc.subtract,\n"
                                  "+    \"mul\": calc.mul,\n"}, 1),
        ("apply_patch", {"input": "README.md\n<<<<<<< SEARCH\nadd and sub.\n=======\nadd, sub and mul.\n>>>>>>> REPLACE\n"}, 1),
        ("bash", {"cmd": TEST, "timeout": "60"}, 1),
        ("bash", {"command": COMMIT}, 0),
    ],
}
c = slips.Checks()


def tokens(requests):
    return sum(len(json.dumps(r)) for r in requests) // 4


print(f"{'toolset':10} {'calls':>6} {'slips':>6} {'rounds':>7} {'before':>7} {'tokens':>8} {'before':>8}")
all_slips = lost = 0
for toolset, task in TASKS.items():
    n_slips = sum(n for _, _, n in task)
    with slips.play(toolset, [(tool, args) for tool, args, _ in task], FILES, before=BEFORE) as seen:
        requests = seen.requests()
        for (tool, args, _), is_error, text in zip(task, seen.errors or [False] * len(task), seen.texts):
            c.that(not is_error and not text.startswith("invalid arguments"), f"{toolset} {tool} {args}", text)
            lost += bool(is_error)
        c.that(len(requests) == len(task) + 1, f"{toolset}: one round per call", len(requests))
        tested = subprocess.run(["sh", "-c", TEST], cwd=seen.workspace, capture_output=True, text=True)
        c.has(tested.stdout, "all is well", f"{toolset}: the tests pass")
        said = subprocess.run([sys.executable, "cli.py", "mul", "6", "7"], cwd=seen.workspace,
                              capture_output=True, text=True)
        c.that(said.stdout == "42\n", f"{toolset}: the feature works", said)
        c.has(seen.read("README.md"), "sub and mul", f"{toolset}: README.md")
        c.that("calc.sub," not in seen.read("cli.py"), f"{toolset}: renamed", seen.read("cli.py"))
        git = subprocess.run(["git", "status", "--porcelain"], cwd=seen.workspace, capture_output=True, text=True)
        c.that("calc.py" not in git.stdout and "cli.py" not in git.stdout, f"{toolset}: committed", git.stdout)
        # each slip: a refused call, then the same again with everything so far in front of it
        per_round = tokens(requests) // len(requests)
        print(f"{toolset:10} {len(task):6} {n_slips:6} {len(requests):7} {len(requests) + n_slips:7} "
              f"{tokens(requests):8} {tokens(requests) + n_slips * per_round:8}")
        all_slips += n_slips
print(f"{all_slips} slips, {lost} rounds lost")
c.that(all_slips == 23, "23 slips", all_slips)
c.that(lost == 0, "not one round lost", lost)
c.finish()
