#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""No key anywhere: every vendor with a key of its own through good turns, refusals that repeat the
key, broken streams, an interrupt and a crash, all recorded; then everything that was written is
searched, files and pipes.

Inside ./test there is more to search: what all other tests left ($TRIVET_EVIDENCE, evidence.py), for
every key and token that any of them used.

What is searched for is every part of ten characters of a key's random half, plain and in base64, so
that a key that was cut or wrapped is found as well.  A word that must be there shows that the
search looks in the right places.
"""
# covers: providers 57
import base64
import concurrent.futures
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "fake")]
import evidence  # noqa: E402
import harness  # noqa: E402
from client import Gone, Kward, Loaf, Scaiflux  # noqa: E402
from formats import VENDORS  # noqa: E402
from provider import Server  # noqa: E402

WINDOW = 10
AT_ONCE = 40  # files and folders for one grep
HOLDERS = ("auth.json", "secrets.json", "secrets-fallback.json", "requests.jsonl", "issued.jsonl",
           "issued", "oauth.log", "asked", "replies.json")
VISIBLE = "visible-word"  # what the model says and everybody may read
ENV_CALL = {"id": "call_1", "name": "bash",
            "arguments": {"command": "env; cat /proc/$PPID/environ"}}


def parts_of(key):
    """What must not be found of a key."""
    half = key.rpartition("-")[2]
    found = {half[i : i + WINDOW].encode() for i in range(len(half) - WINDOW + 1)}
    for lead in range(3):  # base64 of the key at each alignment
        coded = base64.b64encode(b"x" * lead + key.encode())[8:-8]
        found |= {coded[i : i + 2 * WINDOW] for i in range(len(coded) - 2 * WINDOW + 1)}
    return found


def scenes(vendor, key):
    """Replies by what the user says."""
    form, loud = vendor.form, f"{vendor.key_header}: {vendor.key_value(key)}"
    bad = form.error(400, f"cannot read this: {loud} {key} https://x/?key={key}")
    slow = {"text": "".join(f"{VISIBLE} {i} " for i in range(200)), "chunk_delay_ms": 20}
    return [
        {"match": "tool", "text": VISIBLE, "tool_calls": [ENV_CALL]},
        {"match": "refused", **form.refused(key)},
        {"match": "bad", "status": 400, "body": bad},
        {"match": "failing", "status": 500, "headers": {"x-should-retry": "false", "X-Echo": loud},
         "body": f"backtrace with {loud}"},
        {"match": "page", "body": f"<html>{loud}</html>", "content_type": f"text/{key}"},
        {"match": "inside", "chunks": [bad], "finish": None, "no_done": True},
        {"match": "cut", "text": VISIBLE * 9, "piece": 3, "cut_after": 20},
        {"match": "broken", "chunks": [f"data: {{{loud}\n\n"]},
        {"match": "slow", **slow}, {"match": "crash", **slow},
        {"text": f"Then {VISIBLE}.", "repeat": True},
    ]


def recorded(env, heard):
    """With a recording of its own for each program."""
    return {**env, "TRIVET_RECORD": os.path.join(env["TRIVET_RECORD"], str(len(heard)))}


def play(vendor, workspace, env, heard):
    """All scenes in ScaiFlux, then a good turn in each of the other dialects."""
    with Scaiflux(["--model", vendor.slug], cwd=workspace, env=recorded(env, heard)) as c:
        c.event("ready")
        for prompt in ("tool", "refused", "bad", "failing", "page", "inside", "cut", "broken"):
            seen = c.turn(prompt)
            assert (seen.code is None) == (prompt == "tool"), (prompt, seen.end)
            if prompt == "tool":
                assert "PATH=" in seen.results[0][1], seen.results
        c.send({"type": "prompt", "text": "slow"})
        c.event("text_delta")
        c.send({"type": "interrupt"})
        seen = c.rest_of_turn()
        assert seen.end.get("stop_reason") == "interrupted", seen.end
        assert c.close() == 0
        heard.append((repr(c.heard), c.stderr))
    with Loaf(cwd=workspace, env={**recorded(env, heard), "DEBUG": "*"}) as c:
        session = c.call("session.create")["session_id"]
        c.call("state.get")
        seen = c.turn(session, "hello")
        assert seen.text == f"Then {VISIBLE}.", (seen.text, seen.end)
        assert c.close() == 0
        heard.append((repr(c.heard), c.stderr))
    with Kward(cwd=workspace, env=recorded(env, heard)) as c:
        session = c.call("sessions/create", {"workspaceRoot": workspace})
        turn = c.call("turns/start", {"sessionId": session["id"], "input": "hello"})
        done = c.event("turnFinished", turn["id"])
        assert done["payload"]["status"] == "completed", done
        assert c.close() == 0
        heard.append((repr(c.heard), c.stderr))


def crash(vendor, workspace, env, heard, number):
    """Ends the program by a signal in the middle of a stream."""
    with Scaiflux(["--model", vendor.slug], cwd=workspace, env=recorded(env, heard)) as c:
        c.event("ready")
        c.send({"type": "prompt", "text": "crash"})
        c.event("text_delta")
        c.process.send_signal(number)
        assert c.process.wait(30 * harness.slow()) != 0
        time.sleep(0.1)  # the readers of the pipes come to their ends
        heard.append((repr(c.heard), c.stderr))


def search(texts, parts):
    """Names of the texts in which a part is found."""
    return sorted({name for name, data in texts for part in parts if part in data})


def written(base, heard):
    """Everything that is left, by name."""
    for n, (out, err) in enumerate(heard):
        yield f"stdout {n}", out.encode()
        yield f"stderr {n}", err
    for place, _, names in os.walk(base):
        for name in names:
            path = os.path.join(place, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    yield path[len(base) + 1 :], file.read()


def one(vendor, base):
    """Returns where the key was found, and how many texts hold the visible word."""
    key = f"sk-{vendor.name}-{secrets.token_hex(16)}"
    workspace, record = os.path.join(base, "workspace"), os.path.join(base, "record")
    os.mkdir(workspace)
    os.mkdir(record)
    os.environ.update(harness.clean_env(base))
    heard = []
    with Server(scenes(vendor, key)) as server:
        env = {**vendor.env(server.port, key), "TRIVET_MODEL": vendor.slug, "TRIVET_RECORD": record}
        play(vendor, workspace, env, heard)
        for number in (signal.SIGABRT, signal.SIGSEGV):
            crash(vendor, workspace, env, heard, number)
            server.script.used = [False] * len(server.script.used)
    texts = list(written(base, heard))
    assert any(name.startswith("record/") for name, _ in texts), "nothing was recorded"
    shown = search(texts, [VISIBLE.encode()])
    for kind in ("stdout", "record/", "workspace/.scaiflux/sessions/"):
        assert any(name.startswith(kind) for name in shown), f"{kind}: {VISIBLE} is missing"
    return search(texts, parts_of(key))


def coded(secret):
    """A secret as it is and inside base64 at each alignment, without the borders."""
    return [secret] + [base64.b64encode(b"x" * lead + secret.encode())[4:-4].decode()
                       for lead in range(3)]


def may_hold(path):
    """Whether the file is a place for secrets: their store, a test's own setting, a server's log."""
    return os.path.basename(path) in HOLDERS


def found_by_grep(patterns, path):
    """Files below the path in which one of the patterns is found; all processors search."""
    entries = [os.path.join(path, name) for name in os.listdir(path)]
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file, \
            concurrent.futures.ThreadPoolExecutor(harness.workers()) as pool:
        file.write("".join(line + "\n" for line in patterns))
        file.flush()

        def grep(begin):
            done = subprocess.run(["grep", "-rlaF", "-f", file.name, "--",
                                   *entries[begin : begin + AT_ONCE]], stdout=subprocess.PIPE,
                                  text=True, env={"LC_ALL": "C", "PATH": os.environ["PATH"]})
            assert done.returncode in (0, 1), f"grep ended with {done.returncode}"
            return done.stdout.splitlines()
        return [hit for hits in pool.map(grep, range(0, len(entries), AT_ONCE)) for hit in hits]


def everything_else():
    """Searches what the other tests left; returns how many texts that was."""
    folder = evidence.FOLDER
    with open(os.path.join(folder, "secrets"), encoding="utf-8") as file:
        known = set(file.read().split())
    assert len(known) > 10, f"only {len(known)} secrets were in use"
    patterns = [part for secret in known for part in coded(secret)]
    n_texts = 0
    for kind, proof in (("streams", "turn_complete"), ("files", "trivet")):
        path = os.path.join(folder, kind)
        n_texts += sum(len(names) for _, _, names in os.walk(path))
        assert found_by_grep([proof], path), f"no {proof} in {kind}: this is not what tests left"
        leaks = [hit for hit in found_by_grep(patterns, path) if not may_hold(hit)]
        assert not leaks, f"secrets are in {leaks[:20]}"
    return n_texts


def main():
    passed = failed = 0
    if evidence.FOLDER:
        try:
            print(f"{everything_else()} texts of other tests hold no secret")
            passed += 1
        except AssertionError as why:
            print(f"other tests: {why}")
            failed += 1
    for name, vendor in VENDORS.items():
        with harness.private_place() as base:
            try:
                found = one(vendor, base)
                assert not found, f"the key is in {found}"
                passed += 1
            except (AssertionError, Gone, LookupError, RuntimeError) as why:
                print(f"{name}: {type(why).__name__}: {str(why)[:2000]}")
                failed += 1
    harness.finish(passed, failed)


main()
