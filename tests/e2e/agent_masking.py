#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Old results are shortened before anything is summed up, many at once, the newest stay whole."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from window_model import SmallModel  # noqa: E402
from window_place import main, read, tools_of  # noqa: E402


def masked(place):
    """30 results of 4,000 tokens in a window of 128,000: no summary, old ones short, newest whole."""
    place.set_models({"wide": {"context_window": 128000}})
    place.files(30, 16000)
    model = SmallModel(128000, 30, read)
    place.run(model, "wide")
    assert not model.summaries and not model.refused
    results = tools_of(model.bodies[-1])
    assert len(results) == 30
    whole = [i for i, r in enumerate(results) if "left out" not in r]
    assert whole and whole == list(range(whole[0], 30)), whole
    assert 20000 < sum(len(results[i]) for i in whole) / 4 < 80000
    assert all(len(r) < 800 and "result 001" in results[0] for r in results[:whole[0]])
    assert all("all of it is in /" in r for r in results[:whole[0]]), results[0]


def masked_in_batches(place):
    """The beginning of the requests changes seldom: a sixth of the window goes at once."""
    place.set_models({"wide": {"context_window": 128000}})
    place.files(30, 16000)
    model = SmallModel(128000, 30, read)
    place.run(model, "wide")
    changes = 0
    for before, after in zip(model.bodies, model.bodies[1:]):
        if after["messages"][:len(before["messages"])] != before["messages"]:
            changes += 1
    assert 1 <= changes <= 4, changes


def not_masked(place):
    """Below 60 % nothing is shortened."""
    place.set_models({"wide": {"context_window": 128000}})
    place.files(10, 16000)
    model = SmallModel(128000, 10, read)
    place.run(model, "wide")
    assert "left out" not in "".join(tools_of(model.bodies[-1]))


main([masked, masked_in_batches, not_masked])
