#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The table of commands: help, suggestions and `trivet describe commands` name the same commands and options."""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import harness  # noqa: E402

PROGRAM = os.environ["TRIVET"]
passed, failed = 0, 0


def check(name, ok, detail=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"FAILED: {name}: {str(detail)[:600]}")


def trivet(*args):
    return subprocess.run([PROGRAM, *args], capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL, timeout=30 * harness.slow())


def check_help(rows):
    short = trivet("--help")
    check("--help", short.returncode == 0 and short.stderr == "", short)
    check("--help is the same as help", short.stdout == trivet("help").stdout)
    check("--help fits 80 columns", all(len(line) <= 80 for line in short.stdout.splitlines()),
          [line for line in short.stdout.splitlines() if len(line) > 80])
    check("--help fits two screens", len(short.stdout.splitlines()) <= 48,
          len(short.stdout.splitlines()))
    check("no command, no terminal: help on stderr and 2",
          (bare := trivet()).returncode == 2 and bare.stderr == short.stdout, bare)
    for row in rows["commands"]:
        name = row["name"]
        check(f"--help names {name}", f"\n  trivet {name}" in short.stdout or name == "chat", short)
        asked, own = trivet("help", name), trivet(name, "--help")
        check(f"help {name}", asked.returncode == 0 and asked.stdout and asked.stderr == "", asked)
        check(f"{name} --help is the same", own.stdout == asked.stdout and own.returncode == 0, own)
        for option in row["options"]:
            check(f"help {name} names --{option['name']}", f"--{option['name']}" in asked.stdout,
                  asked.stdout)
        for verb in row["verbs"]:
            check(f"help {name} names {verb['name']}",
                  f"trivet {name} {verb['name']}" in asked.stdout.replace("[", "").replace("]", ""),
                  asked.stdout)
        if row["other"]:
            check(f"{row['other']} is {name}", trivet("help", row["other"]).stdout == asked.stdout)
    for topic in rows["topics"]:
        check(f"help {topic['name']}", trivet("help", topic["name"]).returncode == 0)
    check("variables have lines", all(row["name"] in trivet("help", "environment").stdout
                                      for row in rows["environment"]))
    check("options before the command", all(
        f"--{row['name']}" in trivet("help", "options").stdout for row in rows["options"]))


def check_words(rows):
    for row in rows["commands"]:
        name = row["name"]
        slip = name[:-1] + ("x" if name[-1] != "x" else "y")
        output = trivet(slip)
        if len(name) > 3:
            check(f"{slip}: did you mean {name}", output.returncode == 2
                  and f"did you mean {name}" in output.stderr, output)
        output = trivet(name, "--no-such-option")
        check(f"{name} --no-such-option: 2", output.returncode in (1, 2) and output.stdout == ""
              or name in ("loaf", "scaiflux", "kward"), output)
    for line in ("demo x", "doctor x", "version x", "sessions list x", "sessions fsck x", "config list x", "mcp list x"):
        output = trivet(*line.split())
        check(f"{line}: 2", output.returncode == 2 and output.stdout == "" and "no words" in output.stderr, output)
    check("help of an unknown word", "did you mean exec" in (output := trivet("help", "exce")).stderr
          and output.returncode == 2, output)
    check("control characters are escaped", "\x1b" not in trivet("\x1b]0;x\x07").stderr)


def check_place():
    """Without a current directory nothing works in another one, such as /; in / it can work."""
    with harness.private_place() as base:
        gone = os.path.join(base, "gone")
        os.mkdir(gone)
        for args in (["exec", "-m", "rehearsal/echo", "hello"], ["loaf", "rpc"], ["kward", "rpc"],
                     ["scaiflux", "serve"], ["acp"], ["mcp", "serve"]):
            output = subprocess.run(["sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh", PROGRAM, *args], text=True,
                                    cwd=gone, env=harness.clean_env(base), stdin=subprocess.DEVNULL,
                                    capture_output=True, check=False)
            os.makedirs(gone, exist_ok=True)
            check(f"{args[0]} in a directory that was removed", output.returncode == 1 and output.stdout == ""
                  and output.stderr.count("\n") == 1 and "current directory cannot be used" in output.stderr,
                  output)
        output = subprocess.run([PROGRAM, "exec", "-q", "-m", "rehearsal/echo", "hello"], cwd="/", text=True,
                                env=harness.clean_env(base), stdin=subprocess.DEVNULL, capture_output=True,
                                check=False)
        check("exec in /", output.returncode == 0 and output.stdout == "hello\n", output)


def check_version():
    output = trivet("version")
    check("version", output.returncode == 0 and output.stdout.startswith("trivet 0."), output)
    check("--version is one line", trivet("--version").stdout == output.stdout.split("\n")[0] + "\n")
    value = json.loads(trivet("version", "--json").stdout)
    check("version --json", value["version"] == output.stdout.split()[1]
          and os.path.samefile(value["program"], PROGRAM), value)
    check("modules", {row["name"] for row in value["modules"]} == {"net", "index", "search", "web"}
          and all(row["works"] for row in value["modules"]), value)


def main():
    rows = json.loads(trivet("describe", "commands", "--json").stdout)
    names = [row["name"] for row in rows["commands"]]
    check("commands", {"chat", "exec", "sessions", "doctor", "demo", "describe", "help", "version",
                       "loaf", "scaiflux", "kward"} <= set(names), names)
    check("each has a line", all(row["about"] for row in rows["commands"]))
    check_help(rows)
    check_words(rows)
    check_place()
    check_version()
    harness.finish(passed, failed)


main()
