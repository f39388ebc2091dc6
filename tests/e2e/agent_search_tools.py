#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A model gets the web search only where there is a key for it; loaf still lists the tool and
says what is missing when it is called."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from played_model import DIALECTS, Checks, play  # noqa: E402

check = Checks()
SEARCH = {"loaf": "search_web", "kward": "web_search", "scaiflux": "WebSearch", "run": "WebSearch"}
NEVER = "http://127.0.0.1:1/never"


def nothing():
    return
    yield


def unasked(dialect):
    [text] = yield [(SEARCH[dialect], {"query": "cats"})]
    check(f"{dialect}: a call without a key is an error", "key" in text or "unknown tool" in text, text)


def output(seen):
    return [tool["function"]["name"] for tool in seen.requests[0]["tools"]]


def main():
    for dialect in DIALECTS:
        with check.scene(dialect) as base:
            check(f"{dialect}: hidden", SEARCH[dialect] not in output(play(dialect, nothing(), base)))
        with check.scene(f"{dialect} empty key") as base:
            names = output(play(dialect, nothing(), base, env={"EXA_API_KEY": ""}))
            check(f"{dialect}: an empty key is none", SEARCH[dialect] not in names, names)
        with check.scene(f"{dialect} called") as base:
            play(dialect, unasked(dialect), base, env={"EXA_BASE_URL": NEVER})
    for dialect in ("loaf", "kward"):
        with check.scene(f"{dialect} key") as base:
            names = output(play(dialect, nothing(), base, env={"EXA_API_KEY": "exa-test-123456"}))
            check(f"{dialect}: there with a key", SEARCH[dialect] in names, names)
    return check.end()


sys.exit(main())
