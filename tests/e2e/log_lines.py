#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The log of the real program: nothing by default, requests, tool calls, syncs, locks and turns with
their durations and ids when it is asked for, never a key or what was said."""
import json
import os
import re

from security_place import Provider, play

KEY = "sk-live-4f8a9b7c6d5e4f3a2b1c"
SAID = "the-words-of-the-user"
COMMAND = "echo the-words-of-the-command"


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def silent(score, p):
    p.scene(("bash", {"command": COMMAND}))
    done = p.run("exec", "-q", "-m", "rehearsal/scene.json", "--mode", "danger-full-access", SAID)
    output = re.sub(r"^session \S+\n", "", done.stderr)
    score.check("nothing on stderr by default", done.returncode == 0 and
                " info " not in output and " debug " not in output and " ms" not in output, output)


def json_lines(score, p):
    p.scene(("bash", {"command": COMMAND}))
    path = f"{p.base}/work/log.jsonl"
    done = p.run("--log-file", path, "exec", "-m", "rehearsal/scene.json", "--mode",
                 "danger-full-access", SAID, TRIVET_LOG="debug")
    score.check("the turn goes well", done.returncode == 0, done.stderr)
    entries = lines_of(path)
    for what in ("request", "tool", "sync", "turn"):
        found = [e for e in entries if e.get("what") == what]
        score.check(f"{what} with its duration", found and all(e["ms"] >= 0 for e in found), entries)
    ids = {(e.get("session"), e.get("turn")) for e in entries
           if e.get("what") in ("request", "tool", "turn")}
    session = re.search(r"^session (\S+)", done.stderr, re.M)
    score.check("session and turn ids", len(ids) == 1 and session and
                list(ids)[0][0] == session.group(1) and list(ids)[0][1], ids)
    text = json.dumps(entries)
    score.check("neither prompt nor command", SAID not in text and COMMAND not in text, text)
    score.check("the file is the user's alone", os.stat(path).st_mode & 0o777 == 0o600,
                oct(os.stat(path).st_mode))
    score.check("stderr has no log lines", " debug " not in done.stderr, done.stderr)


def folders(score, p):
    p.scene()
    done = p.run("exec", "-m", "rehearsal/scene.json", SAID, TRIVET_LOG="silent,store=debug")
    output = [line for line in done.stderr.split("\n") if " ms, " in line]
    score.check("levels of single folders", output and all(" store: " in line for line in output), output)


def keys(score, p):
    """A request over HTTP with a key, one that is refused, and one to a server that is gone."""
    provider = Provider()
    path = f"{p.base}/work/log.jsonl"
    url = f"http://127.0.0.1:{provider.server.server_port}/v1"
    env = {"OPENAI_API_KEY": KEY, "TRIVET_LOG": "debug", "TRIVET_LOG_FILE": path,
           "TRIVET_RETRY_MS": "1"}
    p.run("exec", "-m", "openai/some-model", SAID, OPENAI_BASE_URL=url, **env)
    p.run("exec", "-m", "openai/some-model", SAID, OPENAI_BASE_URL=f"{url}/{KEY}?key={KEY}", **env)
    provider.close()
    p.run("exec", "-m", "openai/some-model", f"{SAID} {KEY}",
          OPENAI_BASE_URL="http://127.0.0.1:1/v1", **env)
    entries = lines_of(path)
    requests = [e for e in entries if e.get("what") == "request"]
    text = json.dumps(entries)
    score.check("requests over HTTP", len(requests) >= 3 and
                any("openai/some-model" in e["text"] for e in requests), entries)
    score.check("no key", KEY not in text, [e for e in entries if KEY in json.dumps(e)])
    score.check("no prompt", SAID not in text, text)


def locks(score, p):
    request = {"jsonrpc": "2.0", "id": 1, "method": "config/update",
               "params": {"values": {"theme": "dark"}}}
    body = json.dumps(request)
    path = f"{p.base}/work/log.jsonl"
    done = p.run("kward", "rpc", text=f"Content-Length: {len(body)}\r\n\r\n{body}",
                 TRIVET_LOG="debug", TRIVET_LOG_FILE=path)
    entries = lines_of(path)
    score.check("locks with their durations", any(e.get("what") == "lock" for e in entries),
                (entries, done.stdout))
    score.check("Kward's stderr stays empty", done.stderr == "", done.stderr)


def bad_file(score, p):
    done = p.run("--log-file", f"{p.base}/none/log", "exec", SAID)
    score.check("a file that cannot be opened", done.returncode == 2 and not done.stdout and
                done.stderr == f"trivet: cannot open the log file {p.base}/none/log: "
                "No such file or directory\n", done.stderr)
    done = p.run("--log-file")
    score.check("no file named", done.returncode == 2 and "--log-file needs a value" in done.stderr,
                done.stderr)


play(silent, json_lines, folders, keys, locks, bad_file)
