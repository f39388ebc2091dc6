#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The list of things to do in every toolset: set, refused, given again after a compaction.  loaf's
edit_file is offered unless the model is one of the GPT family (rule 8)."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from played_model import DIALECTS, SHELL, Checks, play  # noqa: E402

check = Checks()
NAME = {"loaf": "todo_write", "kward": "todo_write", "scaiflux": "TodoWrite", "run": "TodoWrite"}


def item(content, status="pending", **more):
    return {"content": content, "status": status, "activeForm": f"{content} now", **more}


def story(dialect):
    name = NAME[dialect]
    todos = [item("find the bug", "in_progress"), item("mend it")]
    text, = yield [(name, {"todos": todos})]
    check(f"{dialect}: set", "1 to do, 1 in progress" in text and "[~] find the bug now" in text, text)
    as_text, wrong, word = yield [(name, {"todos": json.dumps(todos)}),
                                  (name, {"todos": [item("x", "later")]}),
                                  (name, {"todos": "nothing"})]
    check(f"{dialect}: as text", "1 to do" in as_text, as_text)
    check(f"{dialect}: a wrong status", "1 to do" not in wrong and "pending" in wrong, wrong)
    check(f"{dialect}: no list", "1 to do" not in word, word)
    if dialect != "scaiflux":
        bare = [{"content": "a step alone", "status": "pending"}]
        text, = yield [(name, {"todos": bare})]
        check(f"{dialect}: without activeForm", "[ ] a step alone" in text, text)
    text, = yield [(name, {"todos": [item("remember the list")]})]
    if dialect != "run":
        return
    for i in range(40):
        yield [(SHELL[dialect], {"command": f"seq {i}000 {i}900"})]


def edit_file(base):
    path = os.path.join(base, "workspace", "a.c")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as file:
        file.write("int a;\n")
    text, = yield [("edit_file", {"file_path": path, "old_string": "int a;", "new_string": "int b;"})]
    check("loaf: edit_file", "Success" in text, text)
    with open(path, encoding="ascii") as file:
        check("loaf: edited", file.read() == "int b;\n")


def names(seen):
    return [t["function"]["name"] for t in seen.requests[0]["tools"]]


def main():
    for dialect in DIALECTS:
        with check.scene(f"{dialect}") as base:
            models = os.path.join(base, "models.json")
            with open(models, "w", encoding="ascii") as file:
                json.dump({"models": [{"id": "openai/played", "context_window": 12000}]}, file)
            seen = play(dialect, story(dialect), base, env={"TRIVET_MODELS": models})
            check(f"{dialect}: offered", NAME[dialect] in names(seen), names(seen))
            if dialect == "run":
                last = str(seen.requests[-1]["messages"])
                check("run: given again", "The list of things to do:" in last
                      and "[ ] remember the list" in last, last[:2000])
    with check.scene("edit_file") as base:
        seen = play("loaf", edit_file(base), base)
        check("loaf: other models get edit_file", "edit_file" in names(seen), names(seen))
    with check.scene("gpt") as base:
        seen = play("loaf", iter(()), base, env={"TRIVET_MODEL": "openai/gpt-5.5"})
        check("loaf: GPT models do not", "edit_file" not in names(seen)
              and "apply_patch" in names(seen), names(seen))
    return check.end()


sys.exit(main())
