#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a model reads of a command's output: head and tail at line ends, without escape sequences and
progress lines, lines of at most 2000 characters, and the path of the whole output, which its tools
can read."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from played_model import DIALECTS, SHELL, Checks, play  # noqa: E402

check = Checks()
LIMIT = {"kward": 20480}


def spoken(dialect, text):
    """The output inside a result: loaf's is an object."""
    if dialect != "loaf":
        return text
    value = json.loads(text)
    return value["stdout"] + value["stderr"]


def read_call(dialect, path, line):
    if dialect == "kward":  # files outside of the workspace are read through the shell
        return "run_shell_command", {"command": f"sed -n {line},{line + 1}p {path}"}
    if dialect == "loaf":
        return "read_file", {"file_path": path, "offset": line, "limit": 2}
    return "read_file", {"path": path, "offset": line - 1, "limit": 2}


def grep_call(dialect, path):
    if dialect == "loaf":
        return "grep_files", {"pattern": "^100001$", "path": path}
    if dialect == "kward":
        return "run_shell_command", {"command": f"grep -c '^100001$' {path}"}
    return "grep_search", {"pattern": "^100001$", "path": path, "output_mode": "content"}


def long_output(dialect):
    shell = SHELL[dialect]
    [text] = yield [(shell, {"command": "seq 1 200000; exit 3"})]
    out = spoken(dialect, text)
    check(f"{dialect}: head", re.search(r"(^|\n)1\n2\n3\n", out), out[:300])
    check(f"{dialect}: tail", "\n199999\n200000" in out, out[-300:])
    check(f"{dialect}: status", re.search(r'status:? 3|"exit_code":3', text), text[-300:])
    check(f"{dialect}: size", len((out if dialect == "loaf" else text).encode()) < LIMIT.get(dialect, 26 << 10), len(text))
    mark = re.search(r"\n\[\.\.\. (\d+) lines, (\d+) bytes left out; all of the output is in (\S+) \.\.\.\]\n",
                     out)
    check(f"{dialect}: mark", mark, out[-3000:])
    lines = re.findall(r"(?m)^\d+$", out)
    check(f"{dialect}: lines are counted", len(lines) + int(mark[1]) == 200000, mark[0])
    head = len(out[:mark.start()])
    check(f"{dialect}: a failed command shows more of its end", head < 5 << 10, head)
    if dialect == "kward":
        check("kward: its phrase is last", text.endswith("... truncated to 20480 bytes"), text[-80:])
    path = mark[3]
    read, found = yield [read_call(dialect, path, 100000), grep_call(dialect, path)]
    check(f"{dialect}: the file can be read", "100000" in read and "100001" in read, read)
    check(f"{dialect}: and searched", "100001" in found or path in found or "\n1\n" in found, found)
    [back] = yield [(shell, {"command": f"wc -l < {path}"})]
    check(f"{dialect}: and used by commands", "200000" in back, back)


def odd_output(dialect):
    shell = SHELL[dialect]
    colour = "printf '\\033[1;31mred\\033[0m \\033]0;title\\007end\\n'"
    progress = "i=0; while [ $i -lt 3000 ]; do printf 'step %d of 3000\\r' $i; i=$((i+1)); done; printf 'done    \\n'"
    texts = yield [(shell, {"command": colour}), (shell, {"command": progress}),
                   (shell, {"command": "head -c 300000 /dev/zero | tr '\\000' x; echo; echo behind"}),
                   (shell, {"command": "seq 1 30000"})]
    red, steps, line, good = [spoken(dialect, t) for t in texts]
    check(f"{dialect}: no escape sequences", "red end" in red and "\x1b" not in red
          and "\\u001b" not in red, red)
    check(f"{dialect}: progress is folded", "done" in steps and "step" not in steps, steps)
    check(f"{dialect}: long line", "[... cut; the line has 300000 characters]" in line
          and len(line) < 3000 and "behind" in line, line[-300:])
    mark = re.search(r"all of the output is in (\S+?)[\] ]", line)
    check(f"{dialect}: its path", mark, line[-300:])
    check(f"{dialect}: a good command shows more of its beginning",
          7 << 10 < good.index("[...") < 9 << 10, good.index("[..."))


def both_streams(dialect):
    """Two long streams share the size, a short one is whole; the same again has a file of its own."""
    shell = SHELL[dialect]
    both = "seq 1 40000; seq 50001 90000 >&2"
    one, two, three = yield [(shell, {"command": both}), (shell, {"command": both}),
                             (shell, {"command": "echo warning >&2; seq 1 40000"})]
    check(f"{dialect}: both tails", "\n40000" in spoken(dialect, one)
          and "\n90000" in spoken(dialect, one), one[-500:])
    check(f"{dialect}: together no more than one", len(spoken(dialect, one).encode()) < LIMIT.get(dialect, 27 << 10),
          len(one))
    check(f"{dialect}: a short stream is whole", "warning" in spoken(dialect, three), three[-500:])
    paths = [set(re.findall(r"output is in (\S+)", t)) for t in (one, two)]
    check(f"{dialect}: one file each time", len(paths[0]) == 1 and paths[0] != paths[1], paths)


def custom_tool():
    """A tool of the user's goes through the same cutter."""
    [text] = yield [("many", {})]
    mark = re.search(r"lines, \d+ bytes left out; all of the output is in (\S+) \.\.\.\]", text)
    check("custom: head, tail and path", text.startswith("1\n2\n") and "\n40000" in text and mark
          and len(text) < 26 << 10, text[-300:])
    [read] = yield [("read_file", {"file_path": mark[1], "offset": 20000, "limit": 1})]
    check("custom: all of it can be read", "L20000: 20000" in read, read)


def main():
    with check.scene("custom") as base:
        place = os.path.join(base, "home", ".loaf", "tools", "many")
        os.makedirs(place)
        with open(os.path.join(place, "tool.json"), "w", encoding="ascii") as file:
            json.dump({"name": "many", "description": "counts", "command": ["seq", "1", "40000"]}, file)
        play("loaf", custom_tool(), base)
    for dialect in DIALECTS:
        for name, case in (("long", long_output), ("odd", odd_output), ("both", both_streams)):
            with check.scene(f"{dialect} {name}") as base:
                seen = play(dialect, case(dialect), base)
                check(f"{dialect}: fine", seen.status == 0, seen.stderr)
                left = [n for n in os.listdir(os.path.join(base, "tmp")) if n.startswith("trivet-")]
                check(f"{dialect}: nothing is left behind", not left, left)
    # In a sandbox the file lies where commands may read it.
    for dialect in ("loaf", "scaiflux", "kward"):
        with check.scene(f"{dialect} confined") as base:
            play(dialect, long_output(dialect), base, env={"TRIVET_SANDBOX": "workspace-write"})
    return check.end()


sys.exit(main())
