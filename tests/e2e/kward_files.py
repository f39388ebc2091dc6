#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An existing Kward installation is opened, continued, and still readable for others.

The installation is composed here (docs/conformance/kward.md 93-96, 271-301, 318-332): config, sessions of
version 1 and 2 with a branch, a label and records of types nobody knows, memories, templates, skills
and logs.  trivet lists, resumes and continues them.  Then a small reader of our own, which knows
only those facts, must find the same conversations in the files, every old byte must be where it was,
and every member that trivet has no use for must still be there.

covers: kward 181
"""
import glob
import json
import os
import re
import sys
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
from client import Kward  # noqa: E402

STAMP = "2026-06-12T10:11:12.345Z"
CONFIG = {"provider": "openrouter", "openrouter_model": "a/b", "personas": {"active": "pirate"},
          "overlay": {"x": [1, None, 2.50]}, "future": 12345678901234567890123,
          "memory": {"enabled": True, "future": "kept"},
          "logging": {"enabled": True, "tokens": True, "future": 1}}
CORE = {"id": "core_004", "text": "Be brief", "scope": "global", "tags": [], "created_at": STAMP,
        "updated_at": STAMP, "source": "explicit_user_instruction", "pinned": True, "mood": "calm"}
SOFT = {"id": "soft_009", "text": "Say hello first", "scope": "global", "tags": ["hello"],
        "confidence": 0.6, "hits": 4, "created_at": STAMP, "updated_at": STAMP,
        "last_seen_at": "2100-01-01T00:00:00.000Z", "ttl_days": 60, "source": "inferred",
        "status": "active", "weight": {"x": 1}}


def message(role, content, **more):
    return {"type": "message", "timestamp": STAMP, "message": {"role": role, "content": content,
                                                               **more}}


def call(number, name, **arguments):
    return {"id": number, "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)}}


def version_1(workspace):
    return [
        {"type": "session", "version": 1, "id": "one", "timestamp": STAMP, "cwd": workspace,
         "model": "a/b", "reasoningEffort": "high", "future": True},
        {"type": "session_info", "timestamp": STAMP, "name": "old name"},
        message("user", "the expanded text", display_content="/plan it", id="u-1", future=[1]),
        message("assistant", "reading", toolCalls=[call("c1", "read_file", path="a.txt")],
                reasoningSummary="look first"),
        message("toolResult", "one", toolCallId="c1", toolName="read_file"),
        {"type": "tool_execution_end", "timestamp": STAMP, "toolCallId": "c1", "toolName": "read",
         "args": {"path": "a.txt"}, "result": {"content": "one"}, "isError": False},
        {"type": "from_the_future", "anything": {"at": ["all"]}},
        message("assistant", [{"type": "thinking", "thinking": "so"}, {"type": "text", "text": "done"}],
                usage={"total_tokens": 40}),
        message("user", [{"type": "text", "text": "look"}, {"type": "image", "data": "aGk=",
                                                             "media_type": "image/jpg",
                                                             "path": "/x/pic.jpg"}]),
        message("assistant", "seen"),
        {"type": "memory_state", "timestamp": STAMP, "sessionMemories": [{"id": "soft_009"}],
         "lastRetrieval": None},
    ]


def entry(number, parent, role, content, kind="message", **more):
    record = {**message(role, content, id=number, **more), "type": kind, "id": number}
    return {**record, "parentId": parent} if parent else record


def version_2(workspace):
    """A tree: a1 - a2 - a3 - a4 is left for a1 - a2 - b3 - b4, with a summary of the left branch."""
    return [
        {"type": "session", "version": 2, "id": "two", "timestamp": STAMP, "cwd": workspace,
         "provider": "openrouter", "model": "a/b"},
        {"type": "system_prompt", "timestamp": STAMP, "reason": "attach", "hash": "sha256:00",
         "content": "be good"},
        entry("000000a1", None, "user", "first"),
        entry("000000a2", "000000a1", "assistant", "answer"),
        entry("000000a3", "000000a2", "user", "the left branch"),
        entry("000000a4", "000000a3", "assistant", "left answer"),
        {"type": "label", "id": "000000f1", "timestamp": STAMP, "targetId": "000000a3",
         "label": "tried"},
        {"type": "branch_summary", "id": "000000b3", "parentId": "000000a2", "timestamp": STAMP,
         "fromId": "000000a4", "summary": "left: tried and left", "details": {}},
        entry("000000b4", "000000b3", "user", "the right branch"),
        entry("000000b5", "000000b4", "assistant", "right answer"),
        entry("000000c6", "000000b5", "user", "too much"),
        {"type": "leaf", "timestamp": STAMP, "targetId": "000000b5"},
        {"type": "session_info", "timestamp": STAMP, "name": "tree", "provider": "openrouter"},
    ]


# ---- a reader that knows nothing of trivet

def records_of(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def conversation(path):
    """(role, text) of the active conversation, by kward 113, 181."""
    records = records_of(path)
    kept = {"message", "compaction", "branch_summary"}
    if records[0]["version"] < 2:
        chain = [r for r in records if r["type"] in kept]
    else:
        by_id, leaf = {}, None
        for r in records:
            if r["type"] in kept:
                assert re.fullmatch("[0-9a-f]{8}", r["id"]), r
                assert r.get("parentId") is None or r["parentId"] in by_id, f"no such parent: {r}"
                assert r["type"] == "branch_summary" or r["message"]["id"] == r["id"], r
                by_id[r["id"]], leaf = r, r["id"]
            elif r["type"] == "leaf":
                leaf = r["targetId"]
        chain = []
        while leaf:
            chain.insert(0, by_id[leaf])
            leaf = by_id[leaf].get("parentId")
    return [said(r) for r in chain]


def said(record):
    if record["type"] == "branch_summary":
        return "branch", record["summary"]
    m = record["message"]
    if m["role"] == "branchSummary":  # in a copy it is an ordinary message record
        return "branch", m["summary"]
    content = m["content"]
    if isinstance(content, list):
        content = "".join(p.get("text", "") for p in content if p["type"] == "text")
    return {"toolResult": "tool"}.get(m["role"], m["role"]), content


def shown(client, session):
    """The same from sessions/transcript."""
    rows = []
    for m in client.call("sessions/transcript", {"sessionId": session})["messages"]:
        if m["role"] == "branchSummary":
            rows.append(("branch", m["summary"]))
            continue
        text = "".join(p.get("text", "") for p in m["content"] if p["type"] == "text")
        rows.append(({"toolResult": "tool"}.get(m["role"], m["role"]), text))
    return rows


class Place:
    def __init__(self, base):
        self.home = os.path.join(base, "home", ".kward")
        self.workspace = os.path.join(base, "project")
        os.makedirs(self.workspace)
        folder = "--" + self.workspace[1:].replace("/", "-") + "--"
        self.sessions = os.path.join(self.home, "sessions", folder)
        self.put("../../project/a.txt", "one\n")
        self.put("config.json", json.dumps(CONFIG))
        self.put("AGENTS.md", "Speak plainly.")
        self.put("memory/core.json", json.dumps({"version": 1, "memories": [CORE]}))
        self.put("memory/soft.jsonl", json.dumps(SOFT) + "\nnot a record\n")
        self.put("prompts/plan.md", "---\ndescription: A plan\n---\nPlan $ARGUMENTS")
        self.put("skills/tidy/SKILL.md", "---\nname: tidy\ndescription: Tidies\n---\nDo.")
        self.put("logs/2026-06-12.jsonl", "broken\n" + json.dumps(
            {"timestamp": STAMP, "category": "tokens", "event": "model_usage",
             "usage": {"total_tokens": 5}}) + "\n")
        self.put(f"sessions/{folder}/last_session.json", json.dumps({"path": "x", "timestamp": STAMP}))
        self.one, self.two = (os.path.join(self.sessions, n) for n in ("one.jsonl", "two.jsonl"))
        self.write_lines(self.one, version_1(self.workspace))
        self.write_lines(self.two, version_2(self.workspace))

    def put(self, name, text):
        path = os.path.normpath(os.path.join(self.home, name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def write_lines(self, path, records):
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(r) + "\n" for r in records)

    def client(self):
        return Kward(cwd=self.workspace, env={"TRIVET_MODEL": "rehearsal/hello"})


def bytes_of(path):
    with open(path, "rb") as file:
        return file.read()


def turn(client, session, text):
    started = client.call("turns/start", {"sessionId": session, "input": text})
    assert client.event("turnFinished", started["id"])["payload"]["status"] == "completed"


# ---- checks

def lists_both(place):
    with place.client() as client:
        items = {s["id"]: s for s in client.call("sessions/list", {})["sessions"]}
    one, two = items["one"], items["two"]
    assert (one["name"], one["messageCount"], one["firstMessage"]) == \
        ("old name", 6, "the expanded text"), one
    assert (two["name"], two["messageCount"], two["firstMessage"]) == ("tree", 4, "first"), two


def continues(path, place):
    """Resumed, shown, continued, renamed; the old bytes stay, others can read the new ones."""
    before, old = bytes_of(path), conversation(path)
    with place.client() as client:
        session = client.call("sessions/resume", {"path": path})["id"]
        rows = shown(client, session)
        assert rows == old, (rows, old)
        assert bytes_of(path) == before, "resuming wrote"
        turn(client, session, "hello again")
        turn(client, session, "and again")
        client.call("sessions/rename", {"sessionId": session, "name": "new name"})
        rows = shown(client, session)
        client.call("shutdown")
        client.process.wait(30 * harness.slow())
    assert bytes_of(path).startswith(before), "old bytes changed"
    new = conversation(path)
    assert new[:len(old)] == old and [r for r, _ in new[len(old):]] == ["user", "assistant"] * 2, new
    assert rows == new, (rows, new)
    assert [r["name"] for r in records_of(path) if r["type"] == "session_info"][-1] == "new name"
    with place.client() as client:
        again = client.call("sessions/resume", {"path": path})
        assert again["name"] == "new name" and shown(client, again["id"]) == rows


def old_spellings(place):
    with place.client() as client:
        session = client.call("sessions/resume", {"path": place.one})["id"]
        m = client.call("sessions/transcript", {"sessionId": session})["messages"]
        exported = client.call("sessions/export", {"sessionId": session})["path"]
    assert m[1]["content"][0] == {"type": "thinking", "thinking": "look first"}, m[1]
    assert m[1]["content"][2]["name"] == "read" and m[2]["toolCallId"] == "c1", m[2]
    assert m[4]["content"][1] == {"type": "image", "data": "aGk=", "mimeType": "image/jpeg",
                                  "alt": "pic.jpg"}, m[4]
    with open(exported, encoding="utf-8") as file:
        assert "## User\n\n/plan it\n" in file.read()
    os.unlink(exported)


def forks_of_a_tree(place):
    with place.client() as client:
        session = client.call("sessions/resume", {"path": place.two})["id"]
        entries = client.call("sessions/forkMessages", {"sessionId": session})["messages"]
        fork = client.call("sessions/fork", {"sessionId": session,
                                             "entryId": entries[-1]["entryId"]})
        turn(client, fork["session"]["id"], "hello in the fork")
        rows = shown(client, fork["session"]["id"])
        client.call("shutdown")
    head = records_of(fork["session"]["path"])[0]
    assert head["parentPath"] == place.two and head["parentId"] == "two"
    assert conversation(fork["session"]["path"]) == rows


def config_keeps(place):
    with place.client() as client:
        client.call("config/update", {"values": {"mine": 1}})
        client.call("models/set", {"provider": "OpenRouter", "model": "c/d"})
        client.call("memory/autoSummary/enable")
    text = bytes_of(os.path.join(place.home, "config.json")).decode()
    config = json.loads(text)
    assert "12345678901234567890123" in text and "2.5" in text, text
    for name in ("personas", "overlay", "logging"):
        assert config[name] == CONFIG[name], config[name]
    assert config["memory"] == {"enabled": True, "future": "kept", "auto_summary": True}
    assert config["openrouter_model"] == "c/d" and config["mine"] == 1


def memory_keeps(place):
    with place.client() as client:
        assert client.call("memory/add", {"text": "new one"})["memory"]["id"] == "soft_010"
        assert client.call("memory/addCore", {"text": "new one"})["memory"]["id"] == "core_005"
        session = client.call("sessions/create", {})["id"]
        turn(client, session, "hello with memory")
        why = client.call("memory/why", {"sessionId": session})
    assert "soft_009" in [r["id"] for r in why["soft"]], why
    with open(os.path.join(place.home, "memory", "core.json"), encoding="utf-8") as file:
        core = json.load(file)
    assert core["version"] == 1 and core["memories"][0] == CORE, core
    with open(os.path.join(place.home, "memory", "soft.jsonl"), encoding="utf-8") as file:
        lines = file.read().splitlines()
    assert "not a record" in lines
    kept = json.loads(lines[0])
    assert kept["weight"] == SOFT["weight"] and kept["hits"] > SOFT["hits"], kept


def library_and_logs(place):
    with place.client() as client:
        session = client.call("sessions/create", {"name": "keep"})["id"]
        commands = client.call("commands/list", {"sessionId": session})["commands"]
        sections = client.call("resources/startup", {"sessionId": session})["sections"]
        stats = client.call("logging/stats", {"range": "100 years"})
    assert [c["name"] for c in commands] == ["plan", "skill:tidy"], commands
    assert [s["name"] for s in sections] == ["Context", "Skills", "Prompts"], sections
    assert stats["recordsByEvent"]["model_usage"] >= 1
    assert stats["usageStats"]["totals"]["total_tokens"] >= 5, stats


def a_long_line_of_forks(place):
    """A chain of forks as long as the list, deeper than any stack."""
    folder = place.sessions
    for n in range(3000):
        parent = {"parentPath": os.path.join(folder, f"chain{n - 1}.jsonl")} if n else {}
        place.write_lines(os.path.join(folder, f"chain{n}.jsonl"), [
            {"type": "session", "version": 1, "id": f"chain{n}", "timestamp": STAMP,
             "cwd": place.workspace, **parent}, message("user", f"number {n}")])
    with place.client() as client:
        found = client.call("sessions/list", {"limit": 5000}, 60)["sessions"]
    depths = {s["id"]: s["depth"] for s in found}
    assert depths["chain0"] == 0 and depths["chain2999"] == 2999
    for path in glob.glob(os.path.join(folder, "chain*.jsonl")):
        os.unlink(path)


def main():
    passed = failed = 0
    with harness.private_place() as base:
        os.environ.update(harness.clean_env(base))
        place = Place(base)
        checks = [(lists_both, place), (old_spellings, place), (continues, place.one, place),
                  (continues, place.two, place), (forks_of_a_tree, place), (config_keeps, place),
                  (memory_keeps, place), (library_and_logs, place), (a_long_line_of_forks, place)]
        for check, *args in checks:
            try:
                check(*args)
                passed += 1
            except Exception:
                failed += 1
                print(f"---- {check.__name__}")
                traceback.print_exc(file=sys.stdout)
    harness.finish(passed, failed)


main()
