#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""trivet beside other agents: the same answer of the same server on loopback, in one run.

    bench/peers.py [--runs 5] [--into DIR] [--only NAME...] [--binary build/trivet]

Installs the others from npm into DIR (/tmp/trivet-peers), which is kept.  Not part of ./test.

    one answer    exec mode, one short sentence: time from start to end, CPU, largest resident size
    2,000 words   exec mode, as fast as the server writes
    chat          on a terminal of 80 x 24, 2,000 styled words (12.9 kB) at 500 a second: bytes
                  written to the terminal, CPU, memory (PSS) of all its processes
    installed     size on disk; of trivet the stripped program and its modules

Medians of the runs, by GNU time; the chat is measured once.  Prints a table in Markdown.
"""
import argparse
import glob
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(TOP, "tests"))
sys.path.insert(0, HERE)
import gateway      # noqa: E402
import harness      # noqa: E402
import terminals    # noqa: E402

KEY = "bench-key-0000"


class Trivet:
    name, package, ready = "trivet", None, b"> "

    def __init__(self, binary, _into):
        self.binary = os.path.abspath(binary)

    def prepare(self, home, url):
        return {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": KEY}

    def exec(self, prompt):
        return [self.binary, "exec", "--model", "openai/bench", prompt]

    def chat(self):
        return [self.binary, "chat", "--model", "openai/bench"]

    def installed(self):
        with tempfile.TemporaryDirectory() as place:
            folder = os.path.dirname(self.binary)
            for path in [self.binary, *glob.glob(folder + "/trivet-*.so"), folder + "/trivet-hold"]:
                if os.path.exists(path):
                    copy = shutil.copy(path, place)
                    subprocess.run(["strip", copy], check=True)
            return size_of(place)


class Peer:
    """A program of a package from npm."""

    def __init__(self, _binary, into):
        self.place = os.path.join(into, self.name)
        self.binary = os.path.join(self.place, "node_modules", ".bin", self.name)
        if not os.path.exists(self.binary):
            print(f"installing {self.package}", file=sys.stderr)
            subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix",
                            self.place, self.package], check=True, stdout=subprocess.DEVNULL)

    def installed(self):
        return size_of(self.place)


class Codex(Peer):
    name, package, ready = "codex", "@openai/codex", b"bench"

    def prepare(self, home, url):
        os.makedirs(home + "/.codex", exist_ok=True)
        with open(home + "/.codex/config.toml", "w", encoding="utf-8") as file:
            file.write(f'model = "bench"\nmodel_provider = "bench"\ncheck_for_update_on_startup = '
                       f'false\n[model_providers.bench]\nname = "bench"\nbase_url = "{url}"\n'
                       f'env_key = "OPENAI_API_KEY"\nwire_api = "responses"\n'
                       f'[projects."{home}/work"]\ntrust_level = "trusted"\n')
        return {"OPENAI_API_KEY": KEY}

    def exec(self, prompt):
        return [self.binary, "exec", "--skip-git-repo-check", prompt]

    def chat(self):
        return [self.binary]


class Pi(Peer):
    name, package, ready = "pi", "@earendil-works/pi-coding-agent", b"(auto)"

    def prepare(self, home, url):
        os.makedirs(home + "/.pi/agent", exist_ok=True)
        with open(home + "/.pi/agent/models.json", "w", encoding="utf-8") as file:
            json.dump({"providers": {"bench": {
                "baseUrl": url, "api": "openai-completions", "apiKey": KEY,
                "models": [{"id": "bench", "name": "bench", "reasoning": False, "input": ["text"],
                            "contextWindow": 128000, "maxTokens": 16000,
                            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}}]}}},
                      file)
        return {"PI_OFFLINE": "1", "PI_TELEMETRY": "0"}

    def exec(self, prompt):
        return [self.binary, "--model", "bench/bench", "-p", prompt]

    def chat(self):
        return [self.binary, "--model", "bench/bench"]


class Opencode(Peer):
    name, package, ready = "opencode", "opencode-ai", b"bench"

    def prepare(self, home, url):
        os.makedirs(home + "/.config/opencode", exist_ok=True)
        config = {"autoupdate": False, "share": "disabled", "provider": {"bench": {
            "npm": "@ai-sdk/openai-compatible", "name": "bench", "options": {"baseURL": url, "apiKey": KEY},
            "models": {"bench": {"name": "bench"}}}}, "model": "bench/bench", "small_model": "bench/bench"}
        with open(home + "/.config/opencode/opencode.json", "w", encoding="utf-8") as file:
            json.dump(config, file)
        return {"XDG_CONFIG_HOME": home + "/.config", "OPENCODE_DISABLE_MODELS_FETCH": "1",
                "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}

    def exec(self, prompt):
        return [self.binary, "run", "-m", "bench/bench", prompt]

    def chat(self):
        return [self.binary]


class Claude(Peer):
    name, package, ready = "claude", "@anthropic-ai/claude-code", b"shortcuts"

    def prepare(self, home, url):
        with open(home + "/.claude.json", "w", encoding="utf-8") as file:
            json.dump({"hasCompletedOnboarding": True, "theme": "dark", "customApiKeyResponses": {
                "approved": [KEY[-20:]], "rejected": []},
                "projects": {home + "/work": {"hasTrustDialogAccepted": True}}}, file)
        return {"ANTHROPIC_BASE_URL": url[:-3], "ANTHROPIC_API_KEY": KEY, "DISABLE_AUTOUPDATER": "1",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}

    def exec(self, prompt):
        return [self.binary, "-p", prompt]

    def chat(self):
        return [self.binary]


def size_of(place):
    """MiB of the files, each counted once."""
    seen, total = set(), 0
    for folder, _, names in os.walk(place):
        for name in names:
            st = os.lstat(os.path.join(folder, name))
            if st.st_ino not in seen:
                seen.add(st.st_ino)
                total += st.st_size
    return total / 2**20


def run_once(argv, env, cwd, expected):
    """Milliseconds to its end, CPU milliseconds and the largest resident size in MiB.

    GNU time measures: a child of this program would be given its resident size."""
    report = os.path.join(cwd, "usage")
    done = subprocess.run(["/usr/bin/time", "-q", "-o", report, "-f", "%e %U %S %M", *argv], env=env,
                          cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode or expected not in done.stdout:
        sys.exit(f"{argv} failed: {done.returncode} {done.stdout[-500:]!r} {done.stderr[-1000:]!r}")
    with open(report, encoding="ascii") as file:
        took, user, system, memory = map(float, file.read().split())
    return took * 1000, (user + system) * 1000, memory / 1024


def measure_chat(program, env, cwd):
    chat = terminals.Terminal(program.chat(), env, cwd)
    chat.until(program.ready, 30)
    chat.settle(1.5, at_most=25)
    chat.bytes, before = b"", chat.cpu_ms()
    chat.type("WORDS 2000 500")
    chat.settle(0.3, at_most=3)
    chat.type("\r")
    chat.until(b"finis", 60)
    chat.settle(0.5, at_most=5)
    result = len(chat.bytes), chat.cpu_ms() - before, chat.memory_mb()
    chat.end()
    return result


def measure(program, runs):
    with tempfile.TemporaryDirectory(prefix="trivet-bench-", dir="/var/tmp") as base:
        env = {**harness.clean_env(base), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        home, cwd = env["HOME"], os.path.join(env["HOME"], "work")
        os.makedirs(cwd)
        env.update(program.prepare(home, gateway.start()))
        row = {"installed": program.installed()}
        for title, prompt, expected in (("one", "hello", b"gateway"),
                                        ("words", "WORDS 2000 0", b"finis")):
            run_once(program.exec(prompt), env, cwd, expected)  # warm: caches of the file system
            seen = [run_once(program.exec(prompt), env, cwd, expected) for _ in range(runs)]
            row[title] = [statistics.median(column) for column in zip(*seen)]
        row["chat"] = measure_chat(program, env, cwd)
    return row


def main():
    parser = argparse.ArgumentParser(description="trivet beside other agents")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--into", default="/tmp/trivet-peers")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--binary", default=os.path.join(TOP, "build/trivet"))
    options = parser.parse_args()
    print("| | one answer: ms, CPU ms, MiB | 2,000 words: ms, CPU ms | chat: bytes, CPU ms, MiB "
          "| installed, MiB |\n|---|---|---|---|---|")
    for kind in (Trivet, Claude, Codex, Opencode, Pi):
        if options.only and kind.name not in options.only:
            continue
        row = measure(kind(options.binary, options.into), options.runs)
        one, words, chat = row["one"], row["words"], row["chat"]
        print(f"| {kind.name} | {one[0]:.0f}, {one[1]:.0f}, {one[2]:.1f} "
              f"| {words[0]:.0f}, {words[1]:.0f} "
              f"| {chat[0]:,}, {chat[1]:.0f}, {chat[2]:.1f} | {row['installed']:.1f} |", flush=True)


main()
