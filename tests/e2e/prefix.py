#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The request of a round begins with the bytes of the round before, so that providers' caches hit:
within a turn with tools, in the next turn, and in another process that resumes the session.

Where a format has the conversation last, everything up to its end must be a prefix, byte for byte;
cache marks of Anthropic move on and are taken out first.  In the envelope of Cloud Code other
members follow the conversation; there the bytes in front of them count.
"""
# covers: providers 66
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "fake")]
import harness  # noqa: E402
from client import Gone, Scaiflux  # noqa: E402
from formats import VENDORS  # noqa: E402
from provider import Server  # noqa: E402

MARK = b',"cache_control":{"type":"ephemeral"}'
CALL = {"id": "call_1", "name": "read_file", "arguments": {"path": "in.txt"}}


def turns(vendor, workspace):
    """Plays two turns in one process and a third in another; the requests as the server got them.
    """
    script = [{"text": "Look. ", "reasoning": "Hm.", "tool_calls": [CALL]}, {"text": "One."},
              {"text": "Two."}, {"text": "Three."}]
    with Server(script) as server:
        env = vendor.env(server.port, "key-of-prefix-1")
        for more, prompts in ((), ("one", "two")), (("--resume", "latest"), ("three",)):
            with Scaiflux(["--model", vendor.slug, *more], cwd=workspace, env=env) as c:
                c.event("ready")
                for prompt in prompts:
                    seen = c.turn(prompt)
                    assert seen.code is None, seen.end
                assert c.close() == 0
        return [entry for entry in server.log if "path" in entry]


def conversation_end(raw, said):
    """Where the last message ends: before the bracket that closes the list."""
    last = json.dumps(said[-1], separators=(",", ":"), ensure_ascii=False).encode()
    at = raw.rfind(last)
    assert at >= 0, "the last message is written in another way"
    return at + len(last)


def check(vendor, entries):
    assert len(entries) == 4, f"{len(entries)} requests"
    for before, after in zip(entries, entries[1:]):
        first, second = (e["raw"].replace(MARK, b"") for e in (before, after))
        end = conversation_end(first, vendor.form.said(json.loads(first)))
        assert second.startswith(first[:end]), difference(first[:end], second)
        same = vendor.form.fixed(before["body"]) == vendor.form.fixed(after["body"])
        assert same, "tools, system or settings differ"
        assert len(vendor.form.said(after["body"])) > len(vendor.form.said(before["body"]))


def difference(first, second):
    at = next((i for i, (a, b) in enumerate(zip(first, second)) if a != b), len(second))
    return f"byte {at}: {first[at - 40 : at + 60]!r} and then {second[at - 40 : at + 60]!r}"


def main():
    passed = failed = 0
    with harness.private_place() as base:
        os.environ.update(harness.clean_env(base))
        for name, vendor in VENDORS.items():
            workspace = os.path.join(base, name)
            os.mkdir(workspace)
            with open(os.path.join(workspace, "in.txt"), "w", encoding="utf-8") as file:
                file.write("alpha\n")
            try:
                check(vendor, turns(vendor, workspace))
                passed += 1
            except (AssertionError, Gone, LookupError) as why:
                print(f"{name}: {why}")
                failed += 1
    harness.finish(passed, failed)


main()
