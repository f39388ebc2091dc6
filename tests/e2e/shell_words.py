#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What command_split says that a line runs is what a shell runs.

    tests/e2e/shell_words.py [COUNT]

Random lines are made of quotes, escapes, separators, redirections and words with a meaning.  Each
line that command_split reads is run by bash, where no builtin is left and every command ends in one
function that writes down its words, and every fourth one also by sh (dash), where the names are
links to a helper that does the same.  A line is run with all commands succeeding and, if it has &&
or ||, with all of them failing: every command is then run at least once.  Nothing may be run that was
not read; and what was read must be run, unless the line is a syntax error.

The shells start in an empty directory, without globs (command_split leaves them to the shell), with
a home called ~ (so that it expands to itself) and a PATH that leads nowhere else.  TRIVET_SEED
repeats a run.
"""
import collections
import os
import random
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
COUNT = int(sys.argv[1]) if sys.argv[1:] else 400
BATCH = 200
SOURCES = ["tools/command", "base/arena", "base/buf", "base/err", "base/mem", "base/str",
           "base/utf8"]
NAMES = ["a", "b", "git", "rm", "2", "22", "if", "exec", "eval", "A", "ab", "ba", "aa"]
PIECES = ["a", "b", "git", "rm", "2", "22", "A", "x y", " ", " ", " ", " ", "\t", "\n", "\n", ";",
          ";", "; ", "&", "|", " && ", " || ", "&&", "||", ";;", "|&", "'", "'", "\"", "\"", "\\",
          "\\\\", "\\\"", "\\'", "\\ ", "'a b'", "\"b ;\"", "''", "\"\"", ">", "<", "&>",
          ">/dev/null", " >/dev/null", "2>/dev/null", " 2>&1", ">&2", "22>/dev/null", " 2>&1 ",
          "> /dev/null", "</dev/null", ">>/dev/null ", "#", " #", "$", "$a", "`", "(", ")", "{",
          "}", "{a,b}", "!", "[[", "]]", "if", "then", "fi", "do", "time", "in", "exec", "eval",
          "function", "=", "A=", "A+=", "a[1]=", "A=~", "~", "~/", "*", "?", "[a]", "^", "%", ",",
          "\r", "\v", "\f", "\x01", "\x7f", "ä", "\u00a0", "\u2028"]
BASH = r"""
set -f
command_not_found_handle() {
    local all
    printf -v all '%s\036' "$@"
    printf '%s\035' "$all" >>"$OUT"
    return "$STATUS"
}
exec 9<"$LINES_FILE"
for name in $(compgen -b); do
    case $name in eval | printf | wait | read | local | return | enable) ;; *) enable -n "$name" ;; esac
done
enable -n enable
while IFS= read -r -d '' line <&9; do
    for STATUS in 0 1; do
        if [[ $STATUS = 0 || $line = *'&&'* || $line = *'||'* ]]; then
            (eval -- "$line"; wait) 2>"$ERRORS" >"$NOWHERE" </dev/null
        fi
        said=$(<"$ERRORS")
        if [[ $said = *'syntax error'* || $said = *'unexpected EOF'* ]]; then
            printf 'syntax\034' >>"$OUT"
        else
            printf 'fine\034' >>"$OUT"
        fi
    done
done
"""


def build(base):
    """The helper, with the room it is about."""
    binary = f"{base}/split"
    top = os.path.dirname(os.path.dirname(HERE))
    sources = [f"{top}/src/{name}.c" for name in SOURCES] + [f"{HERE}/shell_words.c"]
    subprocess.run([os.environ.get("CC", "cc"), "-std=gnu17", "-D_GNU_SOURCE=", "-O1", "-g",
                    f"-I{top}/src", *sources, "-o", binary], check=True)
    os.makedirs(f"{base}/bin")
    for name in NAMES:
        os.symlink(binary, f"{base}/bin/{name}")
    os.makedirs(f"{base}/empty")
    os.makedirs(f"{base}/work")
    return binary


def random_line(rng):
    return "".join(rng.choices(PIECES, k=rng.randint(1, 12))).encode()


def split(binary, lines):
    """For each line a list of commands, or None when it was not read."""
    done = subprocess.run([binary], input=b"".join(line + b"\0" for line in lines),
                          capture_output=True, check=True).stdout
    at = 0

    def number():
        nonlocal at
        end = done.index(b"\n", at)
        value, at = int(done[at:end]), end + 1
        return value

    def word():
        nonlocal at
        n = number()
        at += n
        return done[at - n:at]

    def commands():
        n = number()
        return None if n < 0 else [tuple(word() for _ in range(number())) for _ in range(n)]
    return [commands() for _ in lines]


def read_lines(binary, rng, count):
    """Pairs of a line and its commands, only of lines that were read and run something."""
    found = {}
    while len(found) < count:
        lines = [random_line(rng) for _ in range(1000)]
        found.update((line, said) for line, said in zip(lines, split(binary, lines)) if said)
    return list(found.items())[:count]


def environment(base, path):
    open(f"{base}/out", "wb").close()
    open(f"{base}/errors", "wb").close()
    return {"PATH": path, "HOME": "~", "LC_ALL": "C.UTF-8", "OUT": f"{base}/out",
            "ERRORS": f"{base}/errors", "NOWHERE": "/dev/null", "LINES_FILE": f"{base}/lines"}


def records(text):
    """The commands that were written down, each a tuple of words."""
    return [tuple(one.split(b"\x1e")[:-1]) for one in text.split(b"\x1d")[:-1]]


def run_bash(base, lines):
    """Per line: what ran when all succeeded and when all failed, and whether it is shell at all."""
    with open(f"{base}/lines", "wb") as file:
        file.write(b"".join(line + b"\0" for line in lines))
    subprocess.run([shutil.which("bash"), "-c", BASH], env=environment(base, f"{base}/empty"),
                   cwd=f"{base}/work", stdin=subprocess.DEVNULL, check=False,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(f"{base}/out", "rb") as file:
        parts = file.read().split(b"\x1c")[:-1]
    assert len(parts) == 2 * len(lines), f"bash answered {len(parts)} of {2 * len(lines)}"
    for i in range(0, len(parts), 2):
        runs, ends = [], []
        for part in parts[i:i + 2]:
            body, end = (part.rsplit(b"\x1d", 1) if b"\x1d" in part else (None, part))
            runs.append(records(body + b"\x1d") if body is not None else [])
            ends.append(end)
        yield runs, b"syntax" in ends


def run_sh(base, line):
    """The same by sh; only names that are links can be seen."""
    runs, is_wrong = [], False
    for status in "01":
        env = dict(environment(base, f"{base}/bin"), STATUS=status)
        done = subprocess.run(["/bin/sh", "-f", "-c", line + b"\nwait"], env=env,
                              cwd=f"{base}/work", stdin=subprocess.DEVNULL, capture_output=True,
                              check=False)
        with open(f"{base}/out", "rb") as file:
            runs.append(records(file.read()))
        is_wrong = is_wrong or b"yntax error" in done.stderr
    return runs, is_wrong


def compare(line, claimed, seen, runs, is_wrong):
    """None, or what differs.  `seen` are the commands that would be written down."""
    said = collections.Counter(claimed)
    for ran in runs:
        more = collections.Counter(ran) - said
        if more:
            return f"ran, but was not read: {list(more)}"
    # A command that cannot be found, or a redirection alone, ends as it likes.
    is_chain = b"&&" in line or b"||" in line
    if is_wrong or (is_chain and (len(seen) < len(claimed) or b">" in line or b"<" in line)):
        return None
    missing = set(seen) - set(runs[0]) - set(runs[1])
    return f"was read, but did not run: {list(missing)}" if missing else None


def check_bash(base, pairs):
    for (line, claimed), (runs, is_wrong) in zip(pairs, run_bash(base, [p[0] for p in pairs])):
        seen = [c for c in claimed if b"/" not in c[0]]  # bash asks nobody about those
        yield line, compare(line, claimed, seen, runs, is_wrong)


def check_sh(base, pairs):
    known = {name.encode() for name in NAMES}
    for line, claimed in pairs:
        runs, is_wrong = run_sh(base, line)
        seen = [c for c in claimed if c[0] in known]
        yield line, compare(line, claimed, seen, runs, is_wrong)


def check(base, binary, rng, count):
    failures = []
    for at in range(0, count, BATCH):
        pairs = read_lines(binary, rng, min(BATCH, count - at))
        for name, results in (("bash", check_bash(base, pairs)), ("sh", check_sh(base, pairs[::4]))):
            for line, wrong in results:
                if wrong:
                    failures.append(line)
                    print(f"FAIL  {name}: {line!r}: {wrong}")
    left = os.listdir(f"{base}/work")
    if left:
        failures.append(left)
        print(f"FAIL  files were made: {left}")
    return failures


def main():
    seed = harness.seed()
    with harness.private_place() as base:
        failures = check(base, build(base), random.Random(seed), COUNT)
    if failures:
        print(f"TRIVET_SEED={seed}")
    harness.finish(COUNT - len(failures) if len(failures) < COUNT else 0, len(failures))


main()
