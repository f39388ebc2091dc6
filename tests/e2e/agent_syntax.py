#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""After a change the file is looked at: new syntax errors follow the result, old ones do not."""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import slips  # noqa: E402

c = slips.Checks()


def edit(toolset, path, old, new):
    if toolset == "kward":
        return [("read_file", {"path": path}),
                ("edit_file", {"path": path, "edits": [{"old_text": old, "new_text": new}]})]
    if toolset == "loaf":
        return [("apply_patch", {"input": f"*** Begin Patch\n*** Update File: {path}\n@@\n-{old}\n+{new}\n"
                                          "*** End Patch"})]
    return [("edit_file", {"path": path, "old_string": old, "new_string": new})]


def check(path, text, old, new, part, program=None):
    if program and not shutil.which(program):
        print(f"{program} is not installed: {path} is not checked")
        return
    for toolset in slips.TOOLSETS:
        with slips.play(toolset, edit(toolset, path, old, new), {path: text}) as seen:
            output = seen.texts[-1]
            c.that(seen.read(path) == text.replace(old, new), f"{toolset} {path}: changed", output)
            c.that(part in output if part else "syntax errors" not in output, f"{toolset} {path}: {part}", output)
            c.that(output.count("\n") < 40, f"{toolset} {path}: short", output)
            c.that(seen.errors[-1:] in ([False], []), f"{toolset} {path}: no failure", output)


# the example: a ) is dropped
check("a.py", "x = 1\nprint(x)\n", "print(x)", "print(x", "syntax errors (python3):\na.py:2: SyntaxError", "python3")
check("b.py", "x = 1\nprint(x)\n", "x = 1", "x = 2", None)
check("c.json", '{"a": 1,\n"b": 2}\n', '"b": 2}', '"b": 2,}', "syntax errors (JSON):")
check("d.json", '{"a": 1,\n"b": 2}\n', '"b": 2}', '"b": 3}', None)
check("e.json", '// old\n{"a": 1}\n', '{"a": 1}', '{"a": 2}', None)  # was broken before
check("f.sh", "if true; then\n  echo\nfi\n", "fi", "done", "syntax errors (sh):", "sh")
check("g.js", "f(1);\ng(2);\n", "g(2);", "g(2;", "syntax errors (node):", "node")
check("h.mjs", "import x from 'y';\ng(2);\n", "g(2);", "await g(3);", None)
check("i.py", "print(\nx = 1\n", "x = 1", "x = 2", None)  # the same error as before
check("j.txt", "a(\n", "a(", "b(", None)
for toolset in ("scaiflux", "run", "kward"):
    with slips.play(toolset, [("write_file", {"path": "n.json", "content": "{"})]) as seen:
        c.has(seen.texts[-1], "syntax errors (JSON):", f"{toolset}: a new file")
c.finish()
