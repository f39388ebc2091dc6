#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One real task in four toolsets, played by a model 23 of whose calls have typical mistakes: a bug is fixed, a
feature is added over three files, a function renamed, the tests are run, the work is committed.
The model looks at what a call did; if it did nothing it makes the call again, without the mistake.
Not one round may be lost.  BEFORE is what this script printed for trivet without the corrections, the tree
before "engine: requests are kept inside the model's window during a turn".

    tests/e2e/agent_slips.py [--write]      the table in docs/agent.md
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import page  # noqa: E402
from played_model import Checks, play  # noqa: E402

check = Checks()

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
START = f"git init -q . && git add -A && {GIT} commit -qm start"
TEST = "python3 -m unittest -q 2>&1 && echo all is well"
RENAME = "sed -i 's/calc\\.sub,/calc.subtract,/' cli.py && grep -n subtract cli.py"
COMMIT = f"git add -A &&\n{GIT} commit -qm 'Fix sub, add mul' && git log --oneline | wc -l"
MUL = "\n\ndef mul(a, b):\n    return a * b\n"
NAMES = {"loaf": "loaf", "scaiflux": "ScaiFlux", "kward": "Kward", "run": "`trivet exec`"}
FIXED = "    if b is None:\n        return a\n    return a - b\n"

BAD = "    if b is None:\n        return a\n    return a + b\n"


def says(words):
    return lambda text, _: words in text


def holds(name, words):
    def fits(_, workspace):
        with open(os.path.join(workspace, name), encoding="utf-8") as file:
            return words in file.read()
    return fits


def lacks(name, words):
    has = holds(name, words)
    return lambda text, workspace: not has(text, workspace)


TESTED, COMMITTED, READ = says("all is well"), says("2"), says("def sub")
README = "# calc\n\nadd, sub and mul.\n"
HAS_MUL, HAS_README = holds("calc.py", "def mul"), holds("README.md", "add, sub and mul.")
CLI = "*** Update File: cli.py\n@@\n-    \"sub\": calc.sub,\n+    \"sub\": calc.subtract,\n+    \"mul\": calc.mul,\n"
WHOLE = "*** Begin Patch\n{}*** End Patch\n"

# (tool, arguments, the same without the mistake or None if there is none, whether the result is what is wanted)
TASKS = {
    "scaiflux": [
        ("read_file", {"file_path": "calc.py", "offset": "0", "limit": "50"},           # name; numbers
         {"path": "calc.py", "offset": 0, "limit": 50}, READ),
        ("grep_search", {"query": "def sub"}, {"pattern": "def sub"}, says("calc.py")),  # name
        ("edit_file", {"path": "calc.py", "old_str": "  if b is None:\n      return a\n  return a + b\n",  # indentation
                       "new_str": "  if b is None:\n      return a\n  return a - b\n"},
         {"path": "calc.py", "old_string": BAD, "new_string": FIXED}, holds("calc.py", "a - b")),
        ("edit_file", {"path": "calc.py", "old_string": "def sub(", "new_string": "def subtract("}, None,
         holds("calc.py", "subtract")),
        ("edit_file", {"path": "calc.py", "edits": [{"oldText": "    return a - b\n",
                                                     "newText": "    return a - b\n" + MUL}]},
         {"path": "calc.py", "old_string": "    return a - b\n", "new_string": "    return a - b\n" + MUL}, HAS_MUL),
        ("edit_file", {"path": "cli.py", "old_string": "    \"sub\": calc.sub,\n", "new_string":
                       "    \"sub\": calc.subtract,\n    \"mul\": calc.mul,\n"}, None, holds("cli.py", "mul")),
        ("write_file", {"path": "README.md", "text": README}, {"path": "README.md", "content": README}, HAS_README),
        ("bash", {"command": TEST, "explanation": "run the tests"}, {"command": TEST}, TESTED),  # surplus
        ("bash", {"command": COMMIT}, None, COMMITTED),
    ],
    "run": [
        ("read_file", {"filePath": "calc.py"}, {"path": "calc.py"}, READ),
        ("edit_file", {"path": "calc.py", "old_string": "1: def sub(a, b):\n2:     if b is None:\n3:         return a\n"
                       "4:     return a + b", "new_string": "1: def subtract(a, b):\n2:     if b is None:\n"
                       "3:         return a\n4:     return a - b"},                    # line numbers
         {"path": "calc.py", "old_string": "def sub(a, b):\n" + BAD, "new_string": "def subtract(a, b):\n" + FIXED},
         holds("calc.py", "subtract")),
        ("edit_file", {"path": "calc.py", "old_string": "    return a - b", "new_string":
                       "    return a - b\n" + MUL.rstrip("\n"), "replaceAll": "false"},
         {"path": "calc.py", "old_string": "    return a - b", "new_string": "    return a - b\n" + MUL.rstrip("\n")},
         HAS_MUL),
        ("edit_file", {"path": "cli.py", "old_string": "\\\"sub\\\": calc.sub,\\n}", "new_string":
                       "\\\"sub\\\": calc.sub,\\n    \\\"mul\\\": calc.mul,\\n}"},    # escapes
         {"path": "cli.py", "old_string": "\"sub\": calc.sub,\n}", "new_string":
          "\"sub\": calc.sub,\n    \"mul\": calc.mul,\n}"}, holds("cli.py", "mul")),
        ("write_file", {"path": "README.md", "content": README}, None, HAS_README),
        ("bash", {"command": RENAME, "timeout": None}, {"command": RENAME}, lacks("cli.py", "calc.sub,")),  # null
        ("bash", {"command": TEST}, None, TESTED),
        ("bash", {"command": COMMIT}, None, COMMITTED),
    ],
    "kward": [
        ("list_directory", {"dir_path": "."}, {"path": "."}, says("calc.py")),
        ("read_file", {"path": "calc.py", "description": "look"}, {"path": "calc.py"}, READ),
        ("read_file", {"path": "cli.py"}, None, says("OPS")),
        ("read_file", {"path": "README.md"}, None, says("# calc")),
        ("edit_file", {"path": "calc.py", "old_text": "    return a + b\n\n\ndef sub(a, b):\n" + BAD.rstrip("\n"),
                       "new_text": "    return a + b\n\n\ndef subtract(a, b):\n" + FIXED.rstrip("\n") + "\n" + MUL.rstrip("\n")},
         {"path": "calc.py", "edits": [{"old_text": "    return a + b\n\n\ndef sub(a, b):\n" + BAD.rstrip("\n"), "new_text":
          "    return a + b\n\n\ndef subtract(a, b):\n" + FIXED.rstrip("\n") + "\n" + MUL.rstrip("\n")}]}, HAS_MUL),
        ("edit_file", {"path": "cli.py", "edits": json.dumps([{"old_text": "calc.sub,", "new_text":
                                                              "calc.subtract,\n    \"mul\": calc.mul,"}])},
         {"path": "cli.py", "edits": [{"old_text": "calc.sub,", "new_text": "calc.subtract,\n    \"mul\": calc.mul,"}]},
         holds("cli.py", "mul")),
        ("write_file", {"path": "README.md", "content": README}, None, HAS_README),
        ("run_shell_command", {"script": TEST, "timeout_seconds": "60"}, {"command": TEST, "timeout_seconds": 60}, TESTED),
        ("run_shell_command", json.dumps({"command": COMMIT}).replace("\\n", "\n"), {"command": COMMIT},  # a raw line end
         COMMITTED),
    ],
    "loaf": [
        ("read_file", {"path": "{W}/calc.py", "limit": "50"}, {"file_path": "{W}/calc.py", "limit": 50}, READ),
        ("apply_patch", {"input": "--- a/calc.py\n+++ b/calc.py\n@@ -5,4 +5,4 @@\n-def sub(a, b):\n+def subtract(a, b):\n"
                                  "     if b is None:\n         return a\n-    return a + b\n+    return a - b\n"},
         {"input": WHOLE.format("*** Update File: calc.py\n@@\n-def sub(a, b):\n+def subtract(a, b):\n     if b is None:\n"
                                "         return a\n-    return a + b\n+    return a - b\n")}, holds("calc.py", "subtract")),
        ("apply_patch", {"path": "calc.py", "old_string": "return a - b\n", "new_string": "return a - b\n" + MUL},
         {"input": WHOLE.format("*** Update File: calc.py\n@@\n     return a - b\n+\n+\n+def mul(a, b):\n+    return a * b\n")},
         HAS_MUL),
        ("apply_patch", {"patch": CLI}, {"input": WHOLE.format(CLI)}, holds("cli.py", "mul")),
        ("apply_patch", {"input": "README.md\n<<<<<<< SEARCH\nadd and sub.\n=======\nadd, sub and mul.\n>>>>>>> REPLACE\n"},
         {"input": WHOLE.format("*** Update File: README.md\n@@\n-add and sub.\n+add, sub and mul.\n")}, HAS_README),
        ("bash", {"cmd": TEST, "timeout": "60"}, {"command": TEST, "timeout_seconds": 60}, TESTED),
        ("bash", {"command": COMMIT}, None, COMMITTED),
    ],
}
BEFORE = {"scaiflux": (16, 33098), "run": (14, 26907), "kward": (16, 29934), "loaf": (14, 44289)}  # rounds, tokens


def scenario(task, workspace, lost):
    def made(arguments):
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        return text.replace("{W}", workspace)

    for tool, arguments, right, is_wanted in task:
        text, = yield [(tool, made(arguments))]
        if is_wanted(text, workspace):
            continue
        lost.append((tool, arguments, text))
        if right:
            text, = yield [(tool, made(right))]
        check(f"{tool} {arguments}", right and is_wanted(text, workspace), text)


def sh(workspace, *command):
    return subprocess.run(command, cwd=workspace, capture_output=True, text=True, check=False).stdout


def look(toolset, workspace):
    """The work is done, whatever it took."""
    check(f"{toolset}: the tests pass", "all is well" in sh(workspace, "sh", "-c", TEST))
    check(f"{toolset}: the feature works", sh(workspace, sys.executable, "cli.py", "mul", "6", "7") == "42\n")
    check(f"{toolset}: renamed", lacks("cli.py", "calc.sub,")("", workspace))
    status = sh(workspace, "git", "status", "--porcelain")
    check(f"{toolset}: committed", "calc.py" not in status and "cli.py" not in status, status)


def replay(toolset, base):
    """How many rounds and tokens it takes; what was lost."""
    workspace = os.path.join(base, "workspace")
    os.mkdir(workspace)
    for name, text in FILES.items():
        with open(os.path.join(workspace, name), "w", encoding="utf-8") as file:
            file.write(text)
    subprocess.run(["sh", "-c", START], cwd=workspace, check=True)
    lost = []
    args = ("--mode", "danger-full-access") if toolset == "run" else ()
    seen = play(toolset, scenario(TASKS[toolset], workspace, lost), base, args=args)
    look(toolset, workspace)
    return len(seen.requests), sum(weigh(body, base) for body in seen.requests), lost


def weigh(body, base):
    """In tokens of four bytes, wherever the test runs and whether or not JavaScript is installed."""
    tools = [t for t in body["tools"] if "js" not in t["function"]["name"]]
    return len(json.dumps([body["messages"], tools]).replace(base, "/base")) // 4


def main():
    rows = ["| toolset | calls | with a mistake | rounds before | rounds | tokens before | tokens |\n|---|---|---|---|---|---|---|"]
    n_slips = n_lost = 0
    for toolset, task in TASKS.items():
        with check.scene(toolset) as base:
            rounds, size, lost = replay(toolset, base)
            slips = sum(1 for _, _, right, _ in task if right)
            n_slips, n_lost = n_slips + slips, n_lost + len(lost)
            print(f"{toolset}: {rounds} rounds, {size} tokens, {len(lost)} lost")
            check(f"{toolset}: not one round lost", not lost, lost)
            check(f"{toolset}: one round per call", rounds == len(task) + 1, rounds)
            was = BEFORE[toolset]
            rows.append(f"| {NAMES[toolset]} | {len(task)} | {slips} | {was[0]} | {rounds} | {was[1] / 1000:.1f}k | {size / 1000:.1f}k |")
    check("23 slips", n_slips == 23, n_slips)
    check("docs/agent.md", page.put("agent.md", {"slips": "\n".join(rows)}, "--write" in sys.argv[1:]))
    return check.end()


sys.exit(main())
