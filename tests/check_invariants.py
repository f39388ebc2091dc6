#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Promises of the source that no compiler checks.

    check_invariants.py [ROOT]      checks ROOT/src (default: this tree)
    check_invariants.py --selftest  plants one violation of each rule and expects it to be found

1. turn_finish() alone makes EV_TURN_ENDED (replay.c repeats ends that stand in a session file).
2. A header that only its own folder includes has at most 150 lines.
3. Folders below the dialects name no dialect, folders below and beside a vendor no vendor, folders
   below the toolsets no tool of a model: not in code and not in texts.  NAMED_IN says what is excepted
   and why.  Comments are free: they cite the documents of the protocols.
4. No function has more than six parameters.
5. The tag of a struct or enum that a header defines is defined nowhere else.
6. src/engine/git.c alone starts git.
"""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
END_MAKERS = {("src/engine/turn.c", "turn_finish"), ("src/engine/replay.c", "add_end")}
HEADER_LINES = 150
FUNCTION = re.compile(r"^[a-z][^;=]*?\b(\w+)\(")
PRIVATE = re.compile(r"\bfor (this folder|src/\S+) only", re.I)


def without_comments(text):
    """The same lines, comments blanked."""
    return re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m.group(0)), text, flags=re.S)


def read_tree(root):
    """The sources below ROOT/src: text by name.  The rules look at such a dictionary."""
    return {str(path.relative_to(root)): path.read_text()
            for path in sorted((root / "src").rglob("*.[ch]"))}


def turn_ends(tree):
    for name, text in tree.items():
        if not name.endswith(".c"):
            continue
        function = None
        for number, line in enumerate(without_comments(text).split("\n"), 1):
            match = FUNCTION.match(line)
            function = match.group(1) if match else function
            if re.search(r"kind = EV_TURN_ENDED", line) and (name, function) not in END_MAKERS:
                yield f"{name}:{number}: {function}() makes EV_TURN_ENDED; turn_finish() does that"


def private_headers(tree):
    for name, text in tree.items():
        if not name.endswith(".h"):
            continue
        lines = text.count("\n")
        head = re.sub(r"[\s*]+", " ", text.split("#ifndef")[0])
        if PRIVATE.search(head) and lines > HEADER_LINES:
            yield f"{name}: {lines} lines, more than {HEADER_LINES}; split it by subject"


DIALECTS = r"loaf|kward|scai ?flux"
VENDORS = (r"open ?ai|open ?router|anthropic|claude|gemini|google|codex|chat ?gpt|cloud ?code|"
           r"antigravity|ollama|llama ?_?cpp|lm ?studio|vllm|copilot|(?<![a-z])exa(?![a-z])")
TOOLS = r'"(?:read_file|write_file|edit_file|run_shell_command|list_directory|apply_patch)"'
# A folder and those below it, and which names stand there by right.
ALL = f"{DIALECTS}|{VENDORS}|{TOOLS}"
ABOVE = {"src/dialects": ALL, "src/terminal": ALL, "src/cli": ALL,
         "src/toolsets": f"{DIALECTS}|{TOOLS}", "src/providers": VENDORS}
NAMED_IN = {
    "src/auth/issuer.c": (VENDORS, "addresses and clients of the services a user signs in to"),
    "src/auth/credential.c": (VENDORS, "the environment variables that hold keys"),
    "src/auth/jwt.c": (VENDORS, "members of the tokens of one issuer"),
    "src/auth/oauth.c": (VENDORS, "the exchange that one issuer offers"),
    "src/tools/exa": (VENDORS, "the implementation of web search; one service, one file"),
    "src/toolsets/": (r"(?<![a-z])exa(?![a-z])|claude", "toolsets call that implementation"),
    "src/context/instructions.c": (r"claude", "the name of an instruction file"),
    "src/context/skills.c": (r"claude", "the name of a directory of skills"),
    "src/providers/rehearsal/": (TOOLS, "plays a model, which must call tools by their names"),
    "src/net/secrets.c": (VENDORS, "names of headers that must never be shown"),
    "src/sandbox/places.c": (ALL, "files with secrets, whoever wrote them"),
    "src/base/limits.h": (DIALECTS, "limits are user-visible rows; the wire ones name the protocol"),
}


def names_below(tree):
    both = re.compile(f"({DIALECTS})|({VENDORS})|({TOOLS})", re.I)
    for name, text in tree.items():
        allowed = [words for place, words in ABOVE.items() if name.startswith(place + "/")]
        allowed += [words for place, (words, _) in NAMED_IN.items() if name.startswith(place)]
        code = re.sub(r'#include "[^"]*"', "", without_comments(text))
        for number, line in enumerate(code.split("\n"), 1):
            for match in both.finditer(re.sub(r"LIMIT_\w+", "", line)):
                if not any(re.fullmatch(words, match.group(0), re.I) for words in allowed):
                    yield f"{name}:{number}: names {match.group(0)}: {line.strip()[:80]}"


PARAMETERS = 6
HEAD = re.compile(r"^[a-z_][\w \t\n*]*?[ *](\w+)\(([^;{}]*?)\)\s*(?:__attribute__\s*\(\(.*?\)\)\s*)?[{;]",
                  re.M | re.S)
MEMBER = re.compile(r"\(\*(\w+)\)\(([^;{}]*?)\);", re.S)


def count_parameters(text):
    """Commas that are in no inner parentheses, and one."""
    flat = text
    while "(" in flat:
        flat, n = re.subn(r"\([^()]*\)", "", flat)
        if not n:
            break
    return flat.count(",") + 1


def long_parameters(tree):
    for name, text in tree.items():
        code = without_comments(text)
        for match in (*HEAD.finditer(code), *MEMBER.finditer(code)):
            if count_parameters(match.group(2)) > PARAMETERS:
                number = code.count("\n", 0, match.start()) + 1
                yield f"{name}:{number}: {match.group(1)} has more than {PARAMETERS} parameters; use a struct"


TAG = re.compile(r"^(?:static )?(?:const )?((?:struct|enum|union) \w+) \{", re.M)


def tags_twice(tree):
    places = {}
    for name, text in tree.items():
        for tag in set(TAG.findall(without_comments(text))):
            places.setdefault(tag, []).append(name)
    for tag, names in places.items():
        if len(names) > 1 and any(name.endswith(".h") for name in names):
            yield f"{names[-1]}: {tag} is also defined in {', '.join(names[:-1])}"


GIT = re.compile(r'"git",\s*"(?:-|(?:cat-file|config|diff|log|ls-files|rev-parse|show|status|worktree)")')


def starts_of_git(tree):
    for name, text in tree.items():
        if name != "src/engine/git.c" and GIT.search(without_comments(text)):
            yield f"{name}: starts git without session_git_await"


RULES = [turn_ends, private_headers, names_below, long_parameters, tags_twice, starts_of_git]

PLANTED = {
    turn_ends: ("src/engine/input.c", """
static void planted(struct session *s)
{
    session_emit(s, NULL, &(struct event){.kind = EV_TURN_ENDED});
}
"""),
    private_headers: ("src/engine/turn_impl.h", "\n" * HEADER_LINES),
    names_below: ("src/context/config.c", 'static const char planted[] = "Invalid Kward config";\n'),
    long_parameters: ("src/tools/read.c", "int planted(int a, int b, int c, int d, int e,\n"
                      "            int f, void (*g)(int, int));\n"),
    tags_twice: ("src/wire/rpc.c", "struct message {\n    int n;\n};\n"),
    starts_of_git: ("src/terminal/changes.c", 'const char *planted[] = {"git", "-c", "color.ui=false"};\n'),
}
MORE = [
    (long_parameters, "src/engine/form.h", "struct planted {\n    void (*fn)(int a, int b, int c, int d,"
     " int e, int f, int g);\n};\n"),
]
MORE_NAMES = [
    ("src/engine/ask.c", "static bool planted(int k) { return k == LIST_CLOUDCODE; }\n"),
    ("src/engine/lists.c", 'static const char planted[] = "openrouter";\n'),
    ("src/engine/open.c", 'static const char planted[] = "read_file";\n'),
    ("src/providers/live.c", 'static const char planted[] = "loaf";\n'),
    ("src/toolsets/rules.c", 'static const char planted[] = "gemini";\n'),
]


def selftest():
    bad = 0
    planted = [(rule, *what) for rule, what in PLANTED.items()]
    planted += MORE + [(names_below, *what) for what in MORE_NAMES]
    tree = read_tree(HERE.parent)
    for rule, name, text in planted:
        rest = tree if rule is tags_twice else {}  # the other rules look at one file at a time
        before = list(rule({**rest, name: tree[name]}))
        found = [fault for fault in rule({**rest, name: tree[name] + text}) if fault not in before]
        if not found or name not in found[0]:
            print(f"a violation of {rule.__name__} in {name} is not found")
            bad += 1
    print(f"{len(planted) - bad} passed, {bad} failed")
    return bad


def check(root):
    tree = read_tree(root)
    faults = [fault for rule in RULES for fault in rule(tree)]
    for fault in faults:
        print(fault)
    return len(faults)


if __name__ == "__main__":
    if sys.argv[1:] == ["--selftest"]:
        sys.exit(1 if selftest() else 0)
    sys.exit(1 if check(pathlib.Path(sys.argv[1] if sys.argv[1:] else HERE.parent)) else 0)
