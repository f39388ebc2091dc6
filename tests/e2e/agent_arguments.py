#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Arguments under other names and of other types are understood, in every toolset."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import slips  # noqa: E402

LINES = "".join(f"line {n}\n" for n in range(1, 301))
FILES = {"a.txt": LINES, "b.txt": "one\ntwo\n"}
c = slips.Checks()


def one(toolset, tool, args, what, files=None):
    """Plays one call (for Kward behind a read of the file) and returns what is seen last."""
    path = args.get("path") or args.get("file_path") if isinstance(args, dict) else None
    calls = [(tool, args)]
    if toolset == "kward" and tool in ("edit_file", "write_file"):
        calls.insert(0, ("read_file", {"path": os.path.basename(path or "b.txt")}))
    with slips.play(toolset, calls, files or FILES) as seen:
        text = seen.texts[-1]
        if seen.errors:
            c.that(not seen.errors[-1], f"{toolset} {what}: failed", text)
        return text, seen.read("b.txt")


# the example: the file's name, and numbers as text
text, _ = one("kward", "read_file", {"file_path": "a.txt", "offset": "200", "limit": "2"}, "example")
c.that(text.startswith("line 200\nline 201\n\n["), "kward reads 200 and 201", text)
for toolset in ("scaiflux", "run"):
    text, _ = one(toolset, "read_file", {"file_path": "a.txt", "offset": "200", "limit": "2"}, "example")
    c.that(text.startswith("line 201\nline 202\n"), f"{toolset} reads 201 and 202", text)
text, _ = one("loaf", "read_file", {"path": "{W}/a.txt", "offset": "200", "limit": "2"}, "example")
c.that(text.startswith("L200: line 200\nL201: line 201"), "loaf reads 200 and 201", text)

# further slips: camel case, names of other agents, null, flags and lists as text
for name in ("filePath", "filename", "target_file", "File-Path"):
    text, _ = one("scaiflux", "read_file", {name: "b.txt", "offset": None, "limit": None}, name)
    c.that(text == "one\ntwo\n", f"read_file by {name}", text)
for toolset, tool in (("loaf", "bash"), ("scaiflux", "bash"), ("run", "bash"),
                      ("kward", "run_shell_command")):
    for name in ("cmd", "script"):
        text, _ = one(toolset, tool, {name: "echo $((40 + 2))"}, name)
        c.has(text, "42", f"{toolset} {tool} by {name}")
text, _ = one("loaf", "list_dir", {"path": "{W}"}, "path of list_dir")
c.has(text, "a.txt", "list_dir by path")
text, _ = one("kward", "list_directory", {"dir_path": "."}, "dir_path of list_directory")
c.has(text, "a.txt", "list_directory by dir_path")
text, _ = one("scaiflux", "grep_search", {"query": "line 27$", "-n": "true"}, "query")
c.has(text, "a.txt", "grep_search by query")
text, _ = one("loaf", "grep_files", {"regex": "^two$", "path": "{W}"}, "regex")
c.has(text, "b.txt", "grep_files by regex")
for toolset in ("scaiflux", "run", "kward"):
    for name in ("text", "file_text"):
        one_file = dict(FILES)
        _, left = one(toolset, "write_file", {"path": "b.txt", name: "new\n"}, name, one_file)
        c.that(left == "new\n", f"{toolset} write_file by {name}", left)
    for old, new in (("old_string", "new_string"), ("old_str", "new_str"), ("oldText", "newText"),
                     ("old_text", "new_text")):
        _, left = one(toolset, "edit_file", {"path": "b.txt", old: "two", new: "2"}, old)
        c.that(left == "one\n2\n", f"{toolset} edit_file by {old}", left)
    for edits in ([{"old_text": "two", "new_text": "2"}], {"old_string": "two", "new_string": "2"},
                  json.dumps([{"old_str": "two", "new_str": "2"}]),
                  json.dumps({"oldText": "two", "newText": "2"})):
        _, left = one(toolset, "edit_file", {"file_path": "b.txt", "edits": edits}, "edits")
        c.that(left == "one\n2\n", f"{toolset} edit_file with {edits!r}", left)
text, left = one("scaiflux", "edit_file", {"path": "b.txt", "old_string": "o", "new_string": "0",
                                           "replaceAll": "True"}, "replaceAll")
c.that(left == "0ne\ntw0\n", "replace_all as text", left)

# what cannot be read stays refused, and so do two names with different values
for toolset, args, part in (
        ("scaiflux", {"path": "a.txt", "limit": "many"}, "`limit` must be an integer"),
        ("kward", {"path": ["a.txt"]}, "must be a string"),
        ("scaiflux", {"path": "a.txt", "file_path": "b.txt"}, "`file_path` and `path` are one argument"),
        ("kward", {"path": "a.txt", "filename": "b.txt"}, "`filename` and `path` are one argument"),
        ("loaf", {"path": "{W}/a.txt", "file_path": "{W}/b.txt"}, "`path` and `file_path` are one")):
    with slips.play(toolset, [("read_file", args)], FILES) as seen:
        c.has(seen.texts[0], part, f"{toolset} {args}")
        c.that(seen.errors == [True], f"{toolset} {args} is refused", seen.texts)
with slips.play("scaiflux", [("read_file", {"path": "b.txt", "file_path": "b.txt"})], FILES) as seen:
    c.that(seen.texts == ["one\ntwo\n"], "two names with one value are fine", seen.texts)
with slips.play("loaf", [("read_file", {"path": "{W}/b.txt", "offset": "two"})], FILES) as seen:
    c.has(seen.texts[0], "ignored: offset (must be of type number)", "loaf says what it could not read")
c.finish()
