#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The window of an unknown model is learned from refusals and kept."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from window_model import SmallModel  # noqa: E402
from window_place import PROGRAM, Server, TIMEOUT, main, read  # noqa: E402


def learned_number(place):
    """"maximum context length is 32768": the next compaction comes before that, also in the next
    process."""
    place.files(30, 8000)
    model = SmallModel(32768, 30, read)
    place.run(model, "unseen-a")
    assert len(model.refused) == 1, model.refused
    assert place.learned()["openai/unseen-a"] == 32768
    model = SmallModel(32768, 30, read)
    place.run(model, "unseen-a")  # another server: nothing is known about it
    assert len(model.refused) <= 1


def learned_same_server(place):
    """The next process at the same server makes no request that is too long."""
    place.files(30, 8000)
    model = SmallModel(32768, 30, read)
    with Server(model) as server:
        env = dict(os.environ, OPENAI_BASE_URL=f"http://127.0.0.1:{server.port}/v1",
                   OPENAI_API_KEY="key-of-windows-1")
        for refused in (1, 1):
            model.n_calls = 0
            done = subprocess.run([PROGRAM, "run", "--mode", "danger-full-access", "--model",
                                   "openai/unseen-b", "work"], cwd=place.workspace, env=env,
                                  capture_output=True, text=True, timeout=TIMEOUT, check=False)
            assert done.returncode == 0, done.stderr
            assert len(model.refused) == refused, model.refused


def learned_guess(place):
    """A refusal without a number: less than what was refused, not less than what was accepted."""
    place.files(30, 8000)
    model = SmallModel(20000, 30, read, names_window=False)
    place.run(model, "unseen-c")
    accepted = max(s for s in model.sizes if s <= 20000)
    assert len(model.refused) <= 2 and accepted > 10000, (model.refused, accepted)
    assert 10000 < place.learned()["openai/unseen-c"] < 22000, place.learned()


main([learned_number, learned_same_server, learned_guess])
