#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A request that is refused as too long is made again, shorter."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from window_model import SmallModel  # noqa: E402
from window_place import main, read  # noqa: E402


class Refuses(SmallModel):
    """Refuses in some rounds whatever it gets, until it is shorter by a tenth."""

    def __init__(self, rounds_refused, **how):
        super().__init__(1000000, 20, read, names_window=False, **how)
        self.rounds_refused, self.before = set(rounds_refused), None

    def __call__(self, body):
        if body.get("tools") and self.n_calls in self.rounds_refused:
            size = self.size(body)
            if self.before is None or size > self.before * 0.92:
                self.before = self.before or size
                self.refused.append(size)
                return self.refusal(size)
            self.rounds_refused.discard(self.n_calls)
            self.before = None
        return super().__call__(body)


def refused_thrice(place):
    place.files(20, 24000)
    model = Refuses([3, 9, 15])
    done = place.run(model, "thrice")
    assert "All done." in done.stdout and len(model.refused) >= 3, model.refused


def refused_for_ever(place):
    """What cannot shrink ends the turn, and the largest part is named."""
    place.files(20, 8000)

    class Never(SmallModel):
        def __call__(self, body):
            if self.n_calls >= 2:
                self.refused.append(self.size(body))
                return self.refusal(self.size(body))
            return super().__call__(body)
    model = Never(1000000, 20, read, names_window=False)
    done = place.run(model, "never", expect=4)
    assert len(model.refused) <= 12, len(model.refused)
    assert "its largest part is the" in done.stderr, done.stderr


def refused_result(place):
    """One result that is longer than the whole window is shortened, and the work goes on."""
    place.set_models({"tiny": {"context_window": 16000}})
    with open(os.path.join(place.workspace, "f1.txt"), "w", encoding="utf-8") as file:
        file.write("".join(f"line {i} of a long file, with words in it\n" for i in range(1900)))
    model = SmallModel(16000, 1, read)
    done = place.run(model, "tiny")
    assert "All done." in done.stdout and not model.refused, (model.sizes, done.stderr)


main([refused_thrice, refused_for_ever, refused_result])
