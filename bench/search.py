#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""grep and glob of trivet beside ripgrep, over the same trees in the same run.

    bench/search.py [--files 50000] [--names 200000] [--runs 9] [--binary build/trivet] [WORD...]

trivet is measured through the real program: `scaiflux serve` with the rehearsal model, which calls
grep_search or glob_search; the time of a call is from the permission that lets it run to its result
on stdout.  rg is measured from posix_spawn to its end, its output going to a file, less the time the
same rg takes over an empty directory: so the start of a process counts for neither.  Calls alternate;
everything is in the page cache; medians are compared, the limit is 1.00.  The processor time of
both is shown beside, which says more on a machine that is busy with other things.

Both honour ignore files for grep and give the same kind of result; the numbers of results are
compared too, and differing ones are a failure.  What differs is to rg's advantage: trivet also
looks into hidden files (the ignore files), sorts, and cuts and words the result for a model.
rg for glob runs without ignore files, as glob_search does.  Two expressions are shown without being
held to the limit: nothing is known of their matches but frequent characters, so that they are tried
at nearly every place, where an expression engine with lookarounds and back references cannot keep up
with an automaton.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(TOP, "tests"))
import harness      # noqa: E402
import trees        # noqa: E402

LIMIT = 1.0
MOST = 20000        # results that grep_search gives
LIST, LINES, COUNT = "files_with_matches", "content", "count"

# title, pattern, kind of result, further arguments of the tool, of rg
GREPS = [
    ("rare literal", "quixotic_marker", LINES, {}, []),
    ("literal, many lines", "checkpoint_reached", LINES, {}, []),
    ("common literal, files", "register_callback", LIST, {}, []),
    ("common literal, count", "register_callback", COUNT, {}, []),
    ("alternation", "(parse|render|format)_(header|config)_v2", LINES, {}, []),
    ("alternation of words", "quixotic_marker|HttpHandler|checkpoint_missed", LINES, {}, []),
    ("any case", "QUIXOTIC_marker", LINES, {"-i": True}, ["-i"]),
    ("class and quantifier", "[A-Z][a-z]+Handler[0-9]{2,4}", LINES, {}, []),
    ("word with class", r"\bstruct [A-Z]\w+ \*", LINES, {}, []),
    ("not ASCII", "größer", LIST, {}, []),
    ("anchored", r"^    int \S+ = 1;", LIST, {}, []),
    ("no match", "zzyzx_nowhere", LIST, {}, []),
    ("one kind of file", "checkpoint_reached", LIST, {"glob": "*.py"}, ["-g", "*.py"]),
    ("no literal, classes", r"\d{3}\)\s+==\s+[A-Z]", LIST, {}, []),
    ("a run, nothing else", "[0-9a-f]{15,}", LIST, {}, []),
    ("words and a run", r"\w+\s+\w+\s+[A-Z]{5}", LIST, {}, []),
    ("one of each kind", "[a-z]+[0-9][A-Z][0-9]", LIST, {}, []),
    ("single characters", r"\w+=\d+%", LIST, {}, []),
    ("words only", r"\b\w+\s\w+\s\w+\?$", LIST, {}, []),
]
# Nothing is known of a match of these but frequent characters: rg's automaton wins.
UNLIMITED = [
    ("frequent everywhere", r"\s\w+\s=\s\w+;", COUNT, {}, []),
    ("words, words, words", r"(\w+\s+){9}\w+\.$", LIST, {}, []),
]
GLOBS = [
    ("by ending", "**/*.proto"),
    ("by name", "**/widget1*.{c,h}"),
    ("no match", "**/nothing-*.zzz"),
]
RG_KIND = {LIST: ["-l"], LINES: ["-n", "--no-heading"], COUNT: ["-c"]}


def cpu(pid):
    """Seconds that all threads of the process have run."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total / 1e9


def need_rg():
    script = f'top={TOP}; . "$top/scripts/setup.sh"; need_packages ripgrep'
    subprocess.run(["sh", "-c", script], check=True)


class Tool:
    """One call of a tool, again and again, by a running trivet."""

    def __init__(self, base, workspace, tool, args):
        import client
        scene = os.path.join(base, f"{tool}-{abs(hash(json.dumps(args)))}.json")
        with open(scene, "w", encoding="utf-8") as file:
            json.dump({"rounds": [[{"call": tool, "args": args}], [{"say": "."}]]}, file)
        self.client = client.Scaiflux(["--model", f"rehearsal/{scene}"], cwd=workspace)
        self.client.event("ready")

    def call(self):
        c = self.client
        c.send({"type": "prompt", "text": "go"})
        ask = c.event("permission_request")
        used, start = cpu(c.process.pid), time.monotonic()
        c.send({"type": "permission_response", "request_id": ask["request_id"],
                "decision": "allow"})
        result = c.event("tool_result", 120)
        took, used = c.last_time - start, cpu(c.process.pid) - used
        if result["is_error"]:
            sys.exit(f"the call failed: {result['output'][:300]}")
        c.event("turn_complete")
        c.heard.clear()
        return took, used, result["output"]

    def close(self):
        self.client.close()


def rg(argv, place, out):
    out.seek(0)
    out.truncate()
    start = time.monotonic()
    pid = os.posix_spawn("/usr/bin/rg", ["rg", "--no-config", *argv, place], os.environ,
                         file_actions=[(os.POSIX_SPAWN_DUP2, out.fileno(), 1)])
    usage = os.wait4(pid, 0)[2]
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime


def results_of(text, prefix=""):
    """The set of lines, and whether it is cut."""
    lines = [line.removeprefix(prefix) for line in text.split("\n") if line]
    if lines and lines[-1].startswith("[more "):
        return set(lines[:-1]), True
    return set(lines) - {"No matches found."}, False


def compare(title, found, wanted, place):
    got, is_cut = results_of(found)
    want, _ = results_of(wanted, place + "/")
    want = {line for line in want if "/." not in "/" + line.split(":")[0]}
    if (got - want) or (not is_cut and got != want):
        sample = sorted(got ^ want)[:3]
        sys.exit(f"{title}: trivet has {len(got)} results, rg {len(want)}, not the same: {sample}")
    return len(want)


def measure(title, tool, argv, place, empty, runs, is_held=True):
    with tempfile.TemporaryFile() as out:
        found = tool.call()[2]
        rg(argv, place, out)
        out.seek(0)
        n = compare(title, found, out.read().decode(), place)
        rows = {"trivet": [], "rg": [], "start": []}
        for _ in range(runs):
            rows["trivet"].append(tool.call()[:2])
            rows["rg"].append(rg(argv, place, out))
            rows["start"].append(rg(argv, empty, out))
    tool.close()
    mine, its, start = ([statistics.median(column) * 1000 for column in zip(*rows[k])]
                        for k in ("trivet", "rg", "start"))
    its = [max(whole - less, 0.001) for whole, less in zip(its, start)]
    ratio, cpu_ratio = mine[0] / its[0], mine[1] / its[1]
    word = "" if ratio <= LIMIT else "  ABOVE THE LIMIT" if is_held else "  (not held to it)"
    print(f"  {title:24} {n:6} results  trivet {mine[0]:7.1f} ms  rg {its[0]:7.1f} ms  "
          f"ratio {ratio:5.2f} (limit {LIMIT:.2f}), of CPU {cpu_ratio:5.2f}{word}", flush=True)
    return ratio <= LIMIT or not is_held


def grep_all(base, args, wants):
    place, empty = os.path.join(base, "sources"), os.path.join(base, "empty")
    n = trees.make_sources(place, args.files)
    print(f"grep over {args.files} files, {n >> 20} MiB, {os.cpu_count()} processors, median of {args.runs} runs", flush=True)
    good = True
    for row in GREPS + UNLIMITED:
        title, pattern, kind, more, rg_more = row
        if not wants("grep " + title):
            continue
        call = {"pattern": pattern, "output_mode": kind, "head_limit": MOST, **more}
        tool = Tool(base, place, "grep_search", call)
        argv = [*RG_KIND[kind], *rg_more, "-e", pattern]
        good &= measure(title, tool, argv, place, empty, args.runs, row in GREPS)
    return good


def glob_all(base, args, wants):
    place, empty = os.path.join(base, "names"), os.path.join(base, "empty")
    trees.make_names(place, args.names)
    print(f"glob over {args.names} files, median of {args.runs} runs", flush=True)
    good = True
    for title, pattern in GLOBS:
        if not wants("glob " + title):
            continue
        tool = Tool(base, place, "glob_search", {"pattern": pattern})
        argv = ["--files", "--no-ignore", "-g", pattern]
        good &= measure(title, tool, argv, place, empty, args.runs)
    return good


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    options.add_argument("--files", type=int, default=50000)
    options.add_argument("--names", type=int, default=200000)
    options.add_argument("--runs", type=int, default=9)
    options.add_argument("--binary", default=os.path.join(TOP, "build", "trivet"))
    options.add_argument("words", nargs="*", metavar="WORD", help="only what has it in its title")
    args = options.parse_args()
    os.environ["TRIVET"] = os.path.abspath(args.binary)
    need_rg()

    def wants(title):
        return not args.words or any(word in title for word in args.words)
    with harness.private_place() as base:
        os.environ.update(harness.clean_env(base))
        os.mkdir(os.path.join(base, "empty"))
        good = True
        if any(wants("grep " + row[0]) for row in GREPS + UNLIMITED):
            good &= grep_all(base, args, wants)
        if any(wants("glob " + row[0]) for row in GLOBS):
            good &= glob_all(base, args, wants)
    sys.exit(0 if good else 1)


main()
