#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The instruction files of a directory inside the workspace follow the result of the first
call that reads or changes a file there, once, and again after a compaction."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from played_model import DIALECTS, Checks, play  # noqa: E402

check = Checks()


def put(base, name, text):
    path = os.path.join(base, "workspace", name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def read(dialect, base, name, **more):
    if dialect == "loaf":
        return "read_file", {"file_path": os.path.join(base, "workspace", name), **more}
    return "read_file", {"path": name, **more}


def prepare_once(base):
    put(base, "AGENTS.md", "Rule of the workspace.")
    put(base, "src/AGENTS.md", "Rule of src.\n@notes/style.md")
    put(base, "src/notes/style.md", "Imported style.")
    put(base, "notes/style.md", "Style of another directory.")
    put(base, "src/deep/CLAUDE.md", "Rule of deep.")
    for name in ("top.c", "src/a.c", "src/b.c", "src/deep/c.c", "lib/d.c"):
        put(base, name, f"text of {name}\n")


def once(dialect, base):
    """With the first read below, from the outer directory inward, imports relative to the file."""
    top, = yield [read(dialect, base, "top.c")]
    check(f"{dialect}: the workspace's own stands in the system text", "Rule" not in top, top)
    deep, again, lib = yield [read(dialect, base, n) for n in ("src/deep/c.c", "src/a.c", "lib/d.c")]
    places = [deep.find(t) for t in ("text of src/deep/c.c", "Rule of src.", "Imported style.",
                                     "Rule of deep.")]
    check(f"{dialect}: both, in order", -1 not in places and places == sorted(places), deep)
    check(f"{dialect}: named by its path", "src/AGENTS.md" in deep and "Style of another" not in deep,
          deep)
    check(f"{dialect}: once", "Rule" not in again and "Rule" not in lib, again + lib)
    later, = yield [read(dialect, base, "src/b.c")]
    check(f"{dialect}: nor later", "Rule" not in later, later)


def prepare_slips(base):
    put(base, "AGENTS.md", "Rule of the workspace, which is long enough to be recognised.")
    secret = os.path.join(base, "secret.md")
    with open(secret, "w", encoding="utf-8") as file:
        file.write("Text from outside.")
    for name in ("out/a.c", "same/a.c", "long/a.c", "bin/a.c"):
        put(base, name, f"text of {name}\n")
    os.symlink(secret, os.path.join(base, "workspace/out/AGENTS.md"))
    os.symlink("../AGENTS.md", os.path.join(base, "workspace/same/AGENTS.md"))
    put(base, "long/AGENTS.md", "".join(f"rule {i:05d} of long\n" for i in range(800)))
    put(base, "bin/AGENTS.md", "Binary\0text")


def slips(dialect, base):
    """A failed read gives nothing; a link out of the workspace is not followed; a copy of what the
    model has is not repeated; long files are cut."""
    lost, out, same, binary = yield [read(dialect, base, n) for n in
                                     ("long/none.c", "out/a.c", "same/a.c", "bin/a.c")]
    check(f"{dialect}: not with a failure", "of long" not in lost, lost)
    check(f"{dialect}: not through a link", "from outside" not in out, out)
    check(f"{dialect}: not a second time", "recognised" not in same, same)
    check(f"{dialect}: no binary file", "Binary" not in binary, binary)
    long, = yield [read(dialect, base, "long/a.c")]
    check(f"{dialect}: 8 KiB and a note", "rule 00000 of long" in long and "rule 00799" not in long
          and "[cut: the first" in long and 7000 < len(long) < 9000, (len(long), long[-200:]))


def after_compaction(base):
    """A window of 8,000 tokens: the instructions come again with a read behind the compaction."""
    put(base, "src/AGENTS.md", "Rule of src.")
    for i in range(14):
        put(base, f"src/f{i}.c", f"{i:02d} some text of a file\n" * 160)
    said = []
    for i in range(14):
        text, = yield [read("run", base, f"src/f{i}.c")]
        said.append("Rule of src." in text)
    check("first and again", said[0] and not said[1] and any(said[2:]), said)
    check("not every time", sum(said) < 6, said)


def main():
    for dialect in DIALECTS:
        for prepare, case in ((prepare_once, once), (prepare_slips, slips)):
            with check.scene(f"{dialect}: {case.__name__}") as base:
                prepare(base)
                play(dialect, case(dialect, base), base)
    with check.scene("after a compaction") as base:
        models = put(base, "../models.json", json.dumps(
            {"models": [{"id": "openai/played", "context_window": 8000}]}))
        play("run", after_compaction(base), base, env={"TRIVET_MODELS": models})
    return check.end()


sys.exit(main())
