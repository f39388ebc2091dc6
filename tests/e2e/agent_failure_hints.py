#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An edit that does not fit is answered with what helps: what changed, what is close, where."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import slips  # noqa: E402

CODE = "int a;\nint b;\nvoid f(void)\n{\n\tputs(\"x\");\n\treturn;\n}\n"
FIRST = {"scaiflux": "old_string was not found in f.c", "run": "old_string was not found in f.c",
         "kward": "Error: edits[0].old_text was not found in f.c"}
SHELL = {"scaiflux": "bash", "run": "bash", "kward": "run_shell_command"}
c = slips.Checks()


def edit(toolset, old, new):
    if toolset == "kward":
        return ("edit_file", {"path": "f.c", "edits": [{"old_text": old, "new_text": new}]})
    return ("edit_file", {"path": "f.c", "old_string": old, "new_string": new})


def fails(toolset, calls, files=None):
    with slips.play(toolset, [("read_file", {"path": "f.c"}), *calls], files or {"f.c": CODE}) as seen:
        text = seen.texts[-1]
    c.that(len(text) <= 1500 + 200, f"{toolset}: not too long", len(text))
    return text


for toolset in ("scaiflux", "kward", "run"):
    sed = (SHELL[toolset], {"command": "sed -i 's/int b/long b/' f.c"})
    text = fails(toolset, [sed, edit(toolset, "int b;", "int c;")])
    c.that(text.split("\n")[0] == FIRST[toolset], f"{toolset}: the first line", text)
    c.has(text, "\nthe file changed since you read it:\n", f"{toolset} after sed")
    c.has(text, "-int b;\n+long b;", f"{toolset} after sed: the difference")
    # half of the lines are right
    text = fails(toolset, [edit(toolset, "{\n\tputs(\"y\");\n\treturn;\n}", "")])
    c.has(text, "\nthe closest lines (\u2192 is a tab):\n4: {\n5: \u2192puts(\"x\");\n6: \u2192return;\n7: }",
          f"{toolset}: the closest lines")
    c.that("changed since" not in text, f"{toolset}: it did not change", text)
    # one line, alike
    text = fails(toolset, [edit(toolset, "void f(voids)", "void g(void)")])
    c.has(text, "\n3: void f(void)", f"{toolset}: a similar line")
    # already done
    text = fails(toolset, [edit(toolset, "int b;", "long b;"), edit(toolset, "int b;", "long b;")])
    c.has(text, "\nalready there: the new text stands at line 2", f"{toolset}: done before")
    c.that("changed since" not in text, f"{toolset}: our own change is known", text)
    # several places: five of them
    many = "".join(f"{n}\nsame();\n" for n in range(9))
    text = fails(toolset, [edit(toolset, "same();", "other();")], {"f.c": many})
    c.has(text, "9 times", f"{toolset}: several")
    c.that(text.endswith("\nthe first places:" + "".join(f"\n{2 * n + 2}: same();" for n in range(5))),
           f"{toolset}: five line numbers", text)
    # nothing like it: no hint
    text = fails(toolset, [edit(toolset, "zzzz qqqq", "x")])
    c.that(text == FIRST[toolset], f"{toolset}: nothing to say", text)
c.finish()
