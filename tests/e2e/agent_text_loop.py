#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A reply that repeats the same passage is cut.  `trivet exec` reminds the model once and ends
the turn at the second time; the protocols end it as they do at the limit of a reply."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from played_model import DIALECTS, Checks, play  # noqa: E402

check = Checks()
PASSAGE = "Let me look at the parser once more, since the test still fails. "
LOOP = {"text": "I begin. " + PASSAGE * 4000, "piece": 40}
CUT = "[The reply was cut: it repeated the same passage.]"


def forever():
    while True:
        yield LOOP


def once(kind):
    yield {kind: "I begin. " + PASSAGE * 4000, "piece": 40}
    yield {"text": "Now the end."}


def table():
    yield {"text": "".join(f"| {i} | a row of a long table with the same words in it |\n"
                           for i in range(300)), "piece": 40}


def heard(seen):
    return "".join(str(m) for m in seen.heard)


def main():
    for dialect in DIALECTS:
        with check.scene(f"{dialect} forever") as base:
            seen = play(dialect, forever(), base)
            text = heard(seen)
            if dialect != "run":
                check(f"{dialect}: it is cut", CUT in text and text.count(PASSAGE) < 60,
                      text.count(PASSAGE))
            n = 2 if dialect == "run" else 1
            check(f"{dialect}: requests", len(seen.requests) == n, len(seen.requests))
            check(f"{dialect}: status", (seen.status != 0) == (dialect == "run"), seen.status)
            if dialect == "run":
                check("run: why", "repeats the same passage" in seen.stderr.decode(), seen.stderr)
        with check.scene(f"{dialect} table") as base:
            seen = play(dialect, table(), base)
            check(f"{dialect}: a table is no loop", "| 299 |" in heard(seen), heard(seen)[-200:])
    for kind in ("text", "reasoning"):
        with check.scene(f"run once {kind}") as base:
            seen = play("run", once(kind), base)
            last = seen.requests[-1]["messages"]
            said = "".join(str(m["content"]) for m in last)
            check(f"run {kind}: the model is reminded", len(seen.requests) == 2
                  and "repeated the same passage and was cut" in last[-1]["content"], last[-1])
            check(f"run {kind}: the passage is not sent back", said.count(PASSAGE) < 12, len(said))
            check(f"run {kind}: it goes on", seen.status == 0 and "Now the end." in seen.heard[0],
                  seen.heard)
    return check.end()


sys.exit(main())
