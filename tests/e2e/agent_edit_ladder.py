#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Old texts that differ from the file in ways that leave no doubt are found, one step at a time."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import slips  # noqa: E402

CODE = "def f(x):\n    if x:\n        return 1\n    return 2\n"
# name: (file, old, new, after, what the result says or None)
CASES = {
    "2 instead of 4 blanks": (CODE, "  if x:\n      return 1\n", "  if not x:\n      return 3\n",
                              CODE.replace("if x", "if not x").replace("1", "3"),
                              "another indentation"),
    "another unit": (CODE, "  if x:\n    return 1\n", "  if x:\n    print(x)\n    return 1\n",
                     CODE.replace("        return 1", "        print(x)\n        return 1"),
                     "unit of indentation"),
    "tabs": ("\tif (x) {\n\t\ta();\n\t}\n", "    if (x) {\n        a();\n    }", "    if (x) {\n        b();\n    }",
             "\tif (x) {\n\t\tb();\n\t}\n", "unit of indentation"),
    "line numbers of loaf": ("foo\nbar\nbaz\n", "L12: foo\nL13: bar", "L12: foo\nL13: new",
                             "foo\nnew\nbaz\n", "line numbers"),
    "trailing blanks": ("a  \nb\nc \n", "a\nb\n", "a\nB\n", "a  \nB\nc \n", "blanks at line ends"),
    "CRLF": ("a\r\nb\r\n", "a\nb\n", "a\nc\n", "a\r\nc\r\n", None),
    "a byte order mark": ("\ufeffa\nb\n", "a\nb", "a\nc", "\ufeffa\nc\n", None),
    "typographic quotes": ('print("hi")\n', "print(\u201chi\u201d)", 'print("ho")', 'print("ho")\n',
                           "typographic"),
    "escapes": ('a\n\tb("c")\n', 'a\\n\\tb(\\"c\\")', 'a\\n\\td(\\"c\\")', 'a\n\td("c")\n', "escapes"),
    "blank lines around": ("a\nb", "\n\nb\n", "\nc\n", "a\nc", "blank lines"),
}
c = slips.Checks()


def edit(toolset, old, new):
    if toolset == "kward":
        return [("read_file", {"path": "f.txt"}),
                ("edit_file", {"path": "f.txt", "edits": [{"old_text": old, "new_text": new}]})]
    return [("edit_file", {"path": "f.txt", "old_string": old, "new_string": new})]


for toolset in ("scaiflux", "kward", "run"):
    for name, (text, old, new, after, says) in CASES.items():
        with slips.play(toolset, edit(toolset, old, new), {"f.txt": text}) as seen:
            c.that(seen.read("f.txt") == after, f"{toolset} {name}", (seen.texts, seen.read("f.txt")))
            c.that(not says or says in seen.texts[-1], f"{toolset} {name} says so", seen.texts[-1])
    # the same shifted text twice is refused, with both lines
    twice = "x:\n    a()\n    b()\ny:\n        a()\n        b()\n"
    with slips.play(toolset, edit(toolset, "a()\nb()\n", "c()\n"), {"f.txt": twice}) as seen:
        c.that(seen.read("f.txt") == twice, f"{toolset}: twice changes nothing", seen.read("f.txt"))
        c.has(seen.texts[-1], "2 times", f"{toolset}: twice")
        c.has(seen.texts[-1], "\n2:     a()\n5:         a()", f"{toolset}: both lines")
    # nothing fuzzier
    with slips.play(toolset, edit(toolset, "return one", "return 2"), {"f.txt": "return 1\n"}) as seen:
        c.that(seen.read("f.txt") == "return 1\n", f"{toolset}: nothing fuzzier", seen.texts)
with slips.play("scaiflux", edit("scaiflux", "  if x:\n      return 1\n", "  if x:\n      return 7\n"),
                {"f.txt": CODE}) as seen:
    c.has(seen.texts[0], "1: def f(x):\n2:     if x:\n3:         return 7\n4:     return 2",
          "the new lines and those around them")
c.finish()
