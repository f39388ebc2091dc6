#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a summary holds; a turn goes on when the model cannot write one."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from window_model import SmallModel  # noqa: E402
from window_place import main, read  # noqa: E402


def summary_fails(place):
    """The summary answers 500: the turn goes on with a list."""
    place.set_models({"tiny": {"context_window": 8000}})
    place.files(60, 4000)
    model = SmallModel(8000, 60, read, fails={"status": 500})
    done = place.run(model, "tiny", "find the paperclip")
    assert "All done." in done.stdout
    assert len(model.summaries) >= 2
    body = model.bodies[-1]
    output = body["messages"][1]
    assert output["role"] == "user" and "called read_file" in output["content"], output
    assert "find the paperclip" in json.dumps(body["messages"])


def summary_holds(place):
    """A summary is sent as a user message, with the user's words, the files and no lost question."""
    place.set_models({"tiny": {"context_window": 12000}})
    place.files(80, 4000)

    def call(n):
        if n == 3:
            return "write_file", {"path": "made.txt", "content": "x"}
        if n == 4:
            return "edit_file", {"path": "gone.txt", "old_string": "a", "new_string": "b"}
        return read(n)
    model = SmallModel(12000, 80, call)
    place.run(model, "tiny", "find the paperclip")
    after = [b for b in model.bodies if b.get("tools") and
             "What happened before this point" in b["messages"][1]["content"]]
    assert after, "no summary"
    output = after[-1]["messages"][1]["content"]
    assert after[-1]["messages"][1]["role"] == "user"
    assert "Files that were changed: made.txt" in output, output
    assert "gone.txt" not in output.split("Files that were changed")[1]
    assert any(m["role"] == "user" and m["content"] == "find the paperclip"
               for m in after[-1]["messages"])


def summary_too_long(place):
    """The request for a summary is refused as too long: it is made with fewer results."""
    place.set_models({"odd": {"context_window": 20000}})
    place.files(120, 6000)

    class Odd(SmallModel):
        def __call__(self, body):
            if not body.get("tools") and "result 0" in json.dumps(body):
                self.refused_summaries = getattr(self, "refused_summaries", 0) + 1
                return self.refusal(99999)
            return super().__call__(body)
    model = Odd(20000, 120, read, names_window=False)
    done = place.run(model, "odd")
    assert "All done." in done.stdout
    assert model.refused_summaries >= 1 and model.summaries


def summary_of_much(place):
    """A conversation forty times as long as the window: what is newest in it is summarised."""
    place.set_models({"tiny": {"context_window": 12000}})
    path = os.path.join(os.environ["XDG_STATE_HOME"], "trivet/sessions/long.jsonl")
    os.makedirs(os.path.dirname(path))
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps({"type": "session", "version": 1, "id": "long", "cwd": place.workspace,
                               "timestamp": "2026-01-01T00:00:00.000Z"}) + "\n")
        for i in range(400):
            file.write(json.dumps({"type": "message", "message": {
                "role": ("user", "assistant")[i % 2], "content": f"said {i}: " + "some words " * 450
            }}) + "\n")
    model = SmallModel(12000, 0, read)
    done = place.run(model, "tiny", "go on", args=("-r", "long"))
    assert "All done." in done.stdout
    assert not model.refused and model.summaries, (model.refused, model.summaries)
    question = json.dumps(model.bodies[0])
    assert "older messages and all results are left out" in question, question[:2000]
    assert "said 395" in question and "said 7:" not in question


main([summary_fails, summary_holds, summary_too_long, summary_of_much])
