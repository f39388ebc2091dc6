#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Promises of the source that no compiler checks.

    check_invariants.py [ROOT]      checks ROOT/src (default: this tree)
    check_invariants.py --selftest  plants one violation of each rule and expects it to be found

1. turn_finish() alone makes EV_TURN_ENDED (replay.c repeats ends that stand in a session file).
2. A header that only its own folder includes has at most 150 lines.
"""
import pathlib
import re
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
END_MAKERS = {("src/engine/turn.c", "turn_finish"), ("src/engine/replay.c", "tell_turn")}
HEADER_LINES = 150
FUNCTION = re.compile(r"^[a-z][^;=]*?\b(\w+)\(")
PRIVATE = re.compile(r"\bfor (this folder|src/\S+) only", re.I)


def without_comments(text):
    """The same lines, comments blanked."""
    return re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m.group(0)), text, flags=re.S)


def sources(root, pattern="*.[ch]"):
    for path in sorted((root / "src").rglob(pattern)):
        yield str(path.relative_to(root)), path.read_text()


def turn_ends(root):
    for name, text in sources(root, "*.c"):
        function = None
        for number, line in enumerate(without_comments(text).split("\n"), 1):
            match = FUNCTION.match(line)
            function = match.group(1) if match else function
            if re.search(r"kind = EV_TURN_ENDED", line) and (name, function) not in END_MAKERS:
                yield f"{name}:{number}: {function}() makes EV_TURN_ENDED; turn_finish() does that"


def private_headers(root):
    for name, text in sources(root, "*.h"):
        lines = text.count("\n")
        head = re.sub(r"[\s*]+", " ", text.split("#ifndef")[0])
        if PRIVATE.search(head) and lines > HEADER_LINES:
            yield f"{name}: {lines} lines, more than {HEADER_LINES}; split it by subject"


RULES = [turn_ends, private_headers]

PLANTED = {
    turn_ends: ("src/engine/input.c", """
static void planted(struct session *s)
{
    session_emit(s, NULL, &(struct event){.kind = EV_TURN_ENDED});
}
"""),
    private_headers: ("src/engine/turn_impl.h", "\n" * HEADER_LINES),
}


def selftest():
    bad = 0
    for rule, (name, text) in PLANTED.items():
        with tempfile.TemporaryDirectory() as place:
            root = pathlib.Path(place)
            shutil.copytree(HERE.parent / "src", root / "src")
            before = list(rule(root))
            with open(root / name, "a") as out:
                out.write(text)
            found = [fault for fault in rule(root) if fault not in before]
            if not found or name not in found[0]:
                print(f"a violation of {rule.__name__} in {name} is not found")
                bad += 1
    print(f"{len(PLANTED) - bad} passed, {bad} failed")
    return bad


def check(root):
    faults = [fault for rule in RULES for fault in rule(root)]
    for fault in faults:
        print(fault)
    return len(faults)


if __name__ == "__main__":
    if sys.argv[1:] == ["--selftest"]:
        sys.exit(1 if selftest() else 0)
    sys.exit(1 if check(pathlib.Path(sys.argv[1] if sys.argv[1:] else HERE.parent)) else 0)
