#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Before every request its size is estimated, and what does not fit is shortened inside of the turn."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from window_model import SmallModel  # noqa: E402
from window_place import main, read  # noqa: E402


def small_window(place):
    """A window of 8,000 tokens and 20 rounds of 1,000."""
    place.set_models({"tiny": {"context_window": 8000}})
    place.files(20, 4000)
    model = SmallModel(8000, 20, read)
    place.run(model, "tiny")
    assert not model.refused and max(model.sizes) < 8000, model.sizes


def miscounted(place):
    """A model that counts 1.9 tokens where we count one: the first usage corrects us."""
    place.set_models({"dense": {"context_window": 32000}})
    place.files(30, 6000)
    model = SmallModel(32000, 30, read, bytes_per_token=2.1)
    place.run(model, "dense")
    assert not model.refused, (model.refused, model.sizes)


def switched_off(place):
    """The user's own words and the system text are never touched."""
    place.set_models({"tiny": {"context_window": 8000}})
    place.files(20, 4000)
    model = SmallModel(8000, 12, read)
    place.run(model, "tiny", "remember the word paperclip")
    systems = {b["messages"][0]["content"] for b in model.bodies if b.get("tools")}
    assert len(systems) == 1
    for body in model.bodies:
        assert "remember the word paperclip" in json.dumps(body), body["messages"][1]


main([small_window, miscounted, switched_off])
