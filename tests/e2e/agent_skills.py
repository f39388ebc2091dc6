#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A hundred skills are listed by name within the limit; the same skill under two roots is one;
the skills of .claude count; `trivet exec` reads one with the tool Skill."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from played_model import DIALECTS, Checks, play  # noqa: E402

check = Checks()


def put(base, path, text):
    path = os.path.join(base, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def skill(name, text):
    return f"---\nname: {name}\ndescription: {text}\n---\nSteps of {name}.\n"


def nothing():
    return
    yield


def many(dialect, base):
    root = {"kward": "home/.kward/skills", "loaf": "home/.loaf/skills"}.get(
        dialect, "workspace/.agents/skills")
    put(base, "workspace/.git/HEAD", "ref: refs/heads/main\n")
    for i in range(100):
        put(base, f"{root}/skill-{i:03d}/SKILL.md", skill(f"skill-{i:03d}", f"does {i} " + "x" * 900))
    seen = play(dialect, nothing(), base)
    text = seen.requests[0]["messages"][0]["content"]
    missing = [i for i in range(100) if f"skill-{i:03d}" not in text]
    check(f"{dialect}: all names", not missing, (missing, text[-500:]))
    check(f"{dialect}: within the limit", text.count("x" * 100) <= 100 and len(text) < 22000, len(text))


def one_of_two(dialect, base):
    put(base, "workspace/.git/HEAD", "ref: refs/heads/main\n")
    for root in (".agents", ".claude"):
        put(base, f"workspace/{root}/skills/tidy/SKILL.md", skill("tidy", "Tidies up."))
    put(base, "workspace/.claude/skills/only/SKILL.md", skill("only", "Of .claude alone."))

    def scenario():
        if dialect in ("run", "scaiflux"):
            text, = yield [("Skill", {"skill": "tidy"})]
            check(f"{dialect}: read", "Steps of tidy." in text, text)

    seen = play(dialect, scenario(), base)
    text = seen.requests[0]["messages"][0]["content"]
    check(f"{dialect}: listed once", text.count("- tidy: Tidies up.") == 1, text[-800:])
    check(f"{dialect}: .claude counts", "- only: Of .claude alone." in text, text[-800:])


def main():
    for dialect in DIALECTS:
        with check.scene(f"{dialect}: many") as base:
            many(dialect, base)
    for dialect in ("loaf", "scaiflux", "run"):
        with check.scene(f"{dialect}: one of two") as base:
            one_of_two(dialect, base)
    return check.end()


sys.exit(main())
