#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The list of things to do in every toolset: set, refused, given again after a compaction.  `trivet exec`
offers it to a large model only after a compaction; ACP, which shows it, always, and explore besides.  loaf's
edit_file is offered unless the model is one of the GPT family."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from played_model import DIALECTS, SHELL, Checks, Model, client, harness, play, provider  # noqa: E402

check = Checks()
NAME = {"loaf": "todo_write", "kward": "todo_write", "scaiflux": "TodoWrite", "run": "TodoWrite"}


def item(content, status="pending", **more):
    return {"content": content, "status": status, "activeForm": f"{content} now", **more}


def scenario(dialect):
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


def names(seen, at=0):
    return [t["function"]["name"] for t in seen.requests[at]["tools"]]


def set_models(base, **more):
    """The window of the played model is small; the environment with it."""
    path = os.path.join(base, "models.json")
    with open(path, "w", encoding="ascii") as file:
        json.dump({"models": [{"id": "openai/played", "context_window": 12000, **more}]}, file)
    return {"TRIVET_MODELS": path}


def large(base):
    """A model that reasons and is not cheap."""
    def long():
        for i in range(40):
            yield [("bash", {"command": f"seq {i}000 {i}900"})]

    env = set_models(base, price_in=5, reasons=True)
    seen = play("run", long(), base, env=env)
    summed = [i for i, body in enumerate(seen.requests) if "tools" in body and "What happened before" in
              str(body["messages"][1])]
    check("large: not offered", "TodoWrite" not in names(seen), names(seen))
    check("large: after a compaction", summed and "TodoWrite" in names(seen, summed[0]),
          [m["content"][:80] for m in seen.requests[-1]["messages"][:3]])
    for change in ({"reasons": False}, {"price_in": 0.5}):
        env = set_models(base, **{"price_in": 5, "reasons": True, **change})
        seen = play("run", iter(()), base, env=env)
        check(f"large: {change}", "TodoWrite" in names(seen), names(seen))


class Acp(client.Rpc):
    args = ("acp",)


def acp(base):
    model = Model(iter(()))
    workspace = os.path.join(base, "workspace")
    os.makedirs(workspace)
    with provider.Server(model) as server:
        env = {**harness.clean_env(base), "OPENAI_API_KEY": "test-key-123456", "TRIVET_MODEL": "openai/played",
               "OPENAI_BASE_URL": f"http://127.0.0.1:{server.port}/v1",
               **set_models(base, price_in=5, reasons=True)}
        with Acp((), cwd=workspace, env=env) as c:
            c.call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
            session = c.call("session/new", {"cwd": workspace, "mcpServers": []})["sessionId"]
            c.call("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "go"}]})
    check("ACP", {"TodoWrite", "explore"} <= set(names(model)), names(model))


def main():
    for dialect in DIALECTS:
        with check.scene(f"{dialect}") as base:
            seen = play(dialect, scenario(dialect), base, env=set_models(base))
            check(f"{dialect}: offered", NAME[dialect] in names(seen), names(seen))
            if dialect == "run":
                last = str(seen.requests[-1]["messages"])
                check("run: given again", "The list of things to do:" in last
                      and "[ ] remember the list" in last, last[:2000])
    for scene in (large, acp):
        with check.scene(scene.__name__) as base:
            scene(base)
    with check.scene("edit_file") as base:
        seen = play("loaf", edit_file(base), base)
        check("loaf: other models get edit_file", "edit_file" in names(seen), names(seen))
    with check.scene("gpt") as base:
        seen = play("loaf", iter(()), base, env={"TRIVET_MODEL": "openai/gpt-5.5"})
        check("loaf: GPT models do not", "edit_file" not in names(seen)
              and "apply_patch" in names(seen), names(seen))
    return check.end()


sys.exit(main())
