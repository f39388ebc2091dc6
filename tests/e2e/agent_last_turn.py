#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""loaf keeps only texts in its files; while the process lives the calls and results of the last turns
are sent along, up to a quarter of the window."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from played_model import Checks, Model, client, harness, provider  # noqa: E402

check = Checks()


def results(body):
    return [m["content"] for m in body["messages"] if m["role"] == "tool"]


def play(base, scenario, prompts, window=0, between=None):
    """The first request of every turn."""
    workspace = os.path.join(base, "workspace")
    os.makedirs(workspace)
    model, firsts = Model(scenario), []
    with open(os.path.join(base, "models.json"), "w", encoding="ascii") as file:
        json.dump({"models": [{"id": "openai/played", "context_window": window}] if window else []}, file)
    with provider.Server(model) as server:
        env = {**harness.clean_env(base), "OPENAI_API_KEY": "test-key-123456", "TRIVET_MODEL": "openai/played",
               "TRIVET_MODELS": os.path.join(base, "models.json"),
               "OPENAI_BASE_URL": f"http://127.0.0.1:{server.port}/v1"}
        with client.Loaf((), cwd=workspace, env=env) as c:
            session = c.call("session.create")["session_id"]
            for prompt in prompts:
                firsts.append(len(model.requests))
                c.turn(session, prompt)
                if between:
                    between(c, session)
    if model.failed:
        raise model.failed
    return [model.requests[n] for n in firsts]


def example(base):
    """The request of turn 2 has the result of turn 1, in front of its answer."""
    def scenario():
        yield [("bash", {"command": "echo found it"})]
        yield {"text": "Done."}

    _, second = play(base, scenario(), ("one", "two"))
    check("the result", len(results(second)) == 1 and "found it" in results(second)[0], results(second))
    roles = [m["role"] for m in second["messages"] if m["role"] != "system"]
    check("in order", roles == ["user", "user", "assistant", "tool", "assistant", "user"], roles)


def many(base):
    """A small window: the oldest go, the newest stay."""
    def scenario():
        for turn in range(6):
            yield [("bash", {"command": f"seq {turn}0001 {turn}1200"})]
            yield {"text": "Done."}

    last = play(base, scenario(), [f"turn {i}" for i in range(6)], window=24000)[-1]
    kept = "".join(results(last))
    check("the newest", "41200" in kept, kept[-200:])
    check("not the oldest", "00001" not in kept and len(kept) / 4 < 24000 / 4, len(kept))


def cleared(base):
    """After /clear nothing of it is sent."""
    def scenario():
        yield [("bash", {"command": "echo found it"})]
        yield {"text": "Done."}

    def clear(c, session):
        c.call("command.execute", {"session_id": session, "raw_command": "/clear"})

    _, second = play(base, scenario(), ("one", "two"), between=clear)
    check("cleared", "found it" not in json.dumps(second["messages"]), second["messages"])


def main():
    for scene in (example, many, cleared):
        with check.scene(scene.__name__) as base:
            scene(base)
    return check.end()


sys.exit(main())
