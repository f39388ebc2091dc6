# SPDX-License-Identifier: MIT
"""Reads a talk file into steps.  README.md describes the format."""
import re
from dataclasses import dataclass, field

DIALECTS = ("loaf", "scaiflux", "kward", "acp")
SENDS = ("send", "raw", "times")
EXPECTS = ("expect", "until")

# Directive: whether it needs an argument.
DIRECTIVES = {
    "run": True, "run-as": True, "env": True, "file": True, "workspace": False, "provider": True,
    "request": True, "expect-exit": True, "close": False, "signal": True, "sleep": True,
    "within": True, "any-order": False, "end": False, "skip-until": False, "silent": True,
    "stderr-empty": False, "stderr": True, "covers": True, "frame": True, "sh": True,
    "expect-file": True, "hold": False, "release": False, "ignore-rest": False, "needs": True, "unsplit": False,
    "may-be-gone": False, "issuer": True, "lists": False, "visit": True,
}


class BadTalk(Exception):
    pass


@dataclass
class Step:
    line: int
    kind: str
    text: str = ""
    body: str = None                            # what stood between <<END and END
    steps: list = field(default_factory=list)   # of an @any-order block


@dataclass
class Talk:
    path: str
    steps: list
    covers: list    # (dialect, number)


def read(path):
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    steps, covers, blocks, i = [], [], [], 0
    while i < len(lines):
        number, line = i + 1, lines[i]
        i += 1
        if not line.strip() or line.startswith("#"):
            continue
        step = parse_line(path, number, line)
        here = re.fullmatch(r"(.*?)\s*<<(\w+)", step.text) if step.kind in (
            "file", "provider", "issuer", "expect-file") else None
        if here:
            end = i + next((n for n, text in enumerate(lines[i:]) if text == here[2]), len(lines))
            if end >= len(lines):
                raise BadTalk(f"{path}:{number}: no line {here[2]}")
            step.text, step.body, i = here[1], "".join(x + "\n" for x in lines[i:end]), end + 1
        elif step.kind in ("send", "request") + EXPECTS:
            # Indented lines continue the JSON.
            while i < len(lines) and re.match(r"\s+\S", lines[i]):
                step.text += " " + lines[i].strip()
                i += 1
        if step.kind == "covers":
            covers += parse_covers(path, step)
        elif step.kind == "any-order":
            blocks.append(step)
        elif step.kind == "end":
            if not blocks:
                raise BadTalk(f"{path}:{number}: @end without @any-order")
            steps.append(blocks.pop())
        elif blocks:
            if step.kind != "expect":
                raise BadTalk(f"{path}:{number}: only < lines in an @any-order block")
            blocks[-1].steps.append(step)
        else:
            steps.append(step)
    if blocks:
        raise BadTalk(f"{path}:{blocks[0].line}: @any-order without @end")
    if not any(step.kind in ("run", "run-as") for step in steps):
        raise BadTalk(f"{path}: no @run")
    return Talk(path, steps, covers)


def parse_line(path, number, line):
    for mark, kind in ((">raw ", "raw"), (">times ", "times"), ("<~", "until"), (">", "send"),
                       ("<", "expect")):
        if line.startswith(mark):
            text = line[len(mark):]
            return Step(number, kind, text if kind == "raw" else text.strip())
    found = re.fullmatch(r"@([a-z-]+)(?:\s+(.*?))?\s*", line)
    if not found or found[1] not in DIRECTIVES:
        raise BadTalk(f"{path}:{number}: not understood: {line[:80]}")
    if DIRECTIVES[found[1]] and not found[2]:
        raise BadTalk(f"{path}:{number}: @{found[1]} needs an argument")
    return Step(number, found[1], found[2] or "")


def parse_covers(path, step):
    dialect, *numbers = step.text.split()
    result = []
    for word in numbers:
        span = re.fullmatch(r"(\d+)(?:-(\d+))?,?", word)
        if dialect not in DIALECTS or not span:
            raise BadTalk(f"{path}:{step.line}: @covers DIALECT NUMBER... or FROM-TO, "
                          f"not {step.text}")
        first, last = int(span[1]), int(span[2] or span[1])
        result += [(dialect, n) for n in range(first, last + 1)]
    return result
