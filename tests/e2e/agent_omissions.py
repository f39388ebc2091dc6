#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A text with a placeholder for what is left out is not written; mode, mark and line ends stay."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import slips  # noqa: E402

OLD = "one\ntwo\nthree\n"
BAD = ("# ... rest of file unchanged", "// ... existing code ...", "<!-- ... remaining content ... -->",
       "/* ... rest of the functions ... */", "-- ... unchanged ...", "    # rest of the code remains ...",
       "... rest of the file", "{/* \u2026 existing props \u2026 */}", "// (rest of the methods) ...")
GOOD = ("...", "def f(): ...", "# the rest is silence", "print('... remaining')", "x = [...rest]",
        "- remaining work: ...", "Existing users see this ...", "# existing")
c = slips.Checks()
for toolset in ("scaiflux", "kward", "run"):
    read = [("read_file", {"path": "f.txt"})]
    for line in BAD:
        calls = read + [("write_file", {"path": "f.txt", "content": f"one\n{line}\n"})]
        with slips.play(toolset, calls, {"f.txt": OLD}) as seen:
            c.that(seen.read("f.txt") == OLD, f"{toolset}: {line} is not written", seen.texts)
            c.has(seen.texts[-1], f"line 2 ({line.strip()})", f"{toolset}: {line} is named")
    calls = read + [("write_file", {"path": "f.txt", "content": "\n".join(GOOD) + "\n"})]
    with slips.play(toolset, calls, {"f.txt": OLD}) as seen:
        c.that(seen.read("f.txt") == "\n".join(GOOD) + "\n", f"{toolset}: no placeholders", seen.texts)
    # what the file had before may stay
    old = "a\n# ... rest of file unchanged\n"
    calls = read + [("write_file", {"path": "f.txt", "content": "b\n# ... rest of file unchanged\n"})]
    with slips.play(toolset, calls, {"f.txt": old}) as seen:
        c.that(seen.read("f.txt") == old.replace("a", "b", 1), f"{toolset}: it was there", seen.texts)
    # mode, mark, line ends
    calls = read + [("write_file", {"path": "f.txt", "content": "x\ny\n"})]
    with slips.play(toolset, calls, {"f.txt": "\ufeffa\r\nb\r\n"}, before="chmod 754 f.txt") as seen:
        c.that(seen.read("f.txt") == "\ufeffx\r\ny\r\n", f"{toolset}: mark and line ends", seen.read("f.txt"))
        mode = os.stat(os.path.join(seen.workspace, "f.txt")).st_mode & 0o777
        c.that(mode == 0o754, f"{toolset}: the mode", oct(mode))
    edit = {"path": "f.txt", "old_string": "two", "new_string": "2\n// ... existing code ...\n"}
    with slips.play(toolset, read + [("edit_file", edit)], {"f.txt": OLD}) as seen:
        c.that(seen.read("f.txt") == OLD, f"{toolset}: edits too", seen.texts)
patch = "*** Begin Patch\n*** Add File: n.py\n+import os\n+# ... rest of file unchanged\n*** End Patch"
with slips.play("loaf", [("apply_patch", {"input": patch})]) as seen:
    c.has(seen.texts[0], "line 2 (# ... rest of file unchanged)", "loaf: patches too")
    c.that(not os.path.exists(os.path.join(seen.workspace, "n.py")), "nothing is added")
c.finish()
