#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stored sign-ins and keys reach the provider: the real program, a loopback authorisation server and
a loopback provider.

A stored key is used; a token that is about to end is refreshed before the request; a token that the
provider refuses is renewed once and the request repeated; a sign-in that is refused for good ends
the turn with a clear error.
"""
import json
import os
import stat
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
from client import Gone, Scaiflux  # noqa: E402

FAKE = os.path.join(harness.TOP, "tests", "fake")
OK = {"text": "hello there", "usage": {"prompt_tokens": 3, "completion_tokens": 2}}
REFUSED = {"status": 401, "body": json.dumps({"error": {"message": "token expired"}})}


def start(script, *args):
    process = subprocess.Popen([sys.executable, os.path.join(FAKE, script), "--port", "0",
                                "--die-with-parent", *args], stdout=subprocess.PIPE, text=True)
    return process, int(process.stdout.readline().split()[1])


class Stage:
    """One home with its servers; `turn` plays a prompt and returns the last event."""

    def __init__(self, base, name, entries, replies, control=None):
        self.home = os.path.join(base, name)
        self.config = os.path.join(self.home, "config", "trivet")
        os.makedirs(self.config)
        self.file = os.path.join(self.config, "auth.json")
        with open(self.file, "w", encoding="utf-8") as file:
            json.dump(entries, file)
        os.chmod(self.file, 0o600)
        script, ctl = (os.path.join(self.home, n) for n in ("script.json", "control.json"))
        with open(script, "w", encoding="utf-8") as file:
            json.dump(replies, file)
        with open(ctl, "w", encoding="utf-8") as file:
            json.dump(control or {}, file)
        self.asked, self.issued = (os.path.join(self.home, n) for n in ("asked", "issued"))
        for path in (self.asked, self.issued):
            open(path, "w", encoding="utf-8").close()
        self.provider, port = start("provider.py", "--script", script, "--log", self.asked)
        self.issuer, issuer_port = start("oauth.py", "--control", ctl, "--log", self.issued)
        self.env = {"XDG_CONFIG_HOME": os.path.join(self.home, "config"),
                    "CODEX_BASE_URL": f"http://127.0.0.1:{port}/codex",
                    "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}/v1",
                    "TRIVET_OPENAI_AUTH_URL": f"http://127.0.0.1:{issuer_port}"}

    def turn(self, model):
        with Scaiflux(["--model", model], cwd=self.home, env=self.env) as c:
            c.event("ready")
            c.send({"type": "prompt", "text": "hello"})
            end = c.until(lambda m: m["type"] == "turn_complete" or
                          (m["type"] == "error" and "turn_id" in m))
            assert c.close() == 0
            text = json.dumps(c.heard) + c.stderr.decode()
            for secret in ("at-old", "rt-old", "sk-stored-key"):
                assert secret not in text, f"{secret} was shown"
            return end

    def requests(self, path):
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.strip()]

    def bearers(self):
        found = []
        for request in self.requests(self.asked):
            headers = {k.lower(): v for k, v in request.get("headers", {}).items()}
            if headers:
                found.append(headers.get("authorization") or headers.get("x-api-key"))
        return found

    def end(self):
        for process in (self.provider, self.issuer):
            process.kill()
            process.wait()


def token(expires_in_s):
    return {"openai": {"type": "oauth", "access": "at-old", "refresh": "rt-old",
                       "account_id": "acc-1", "expires_ms": int((time.time() + expires_in_s) * 1000)}}


def stored_key(base):
    s = Stage(base, "key", {"anthropic": {"type": "api_key", "access": "sk-stored-key"}}, [OK])
    try:
        assert s.turn("anthropic/claude-sonnet-5-5")["type"] == "turn_complete"
        assert s.bearers() == ["sk-stored-key"], s.bearers()
    finally:
        s.end()


def good_token(base):
    s = Stage(base, "good", token(3600), [OK])
    try:
        assert s.turn("codex/gpt-5.5")["type"] == "turn_complete"
        assert s.bearers() == ["Bearer at-old"], s.bearers()
        headers = {k.lower(): v for k, v in s.requests(s.asked)[0]["headers"].items()}
        assert headers["chatgpt-account-id"] == "acc-1", headers
        assert s.requests(s.issued) == []
    finally:
        s.end()


def ending_token(base):
    s = Stage(base, "ending", token(60), [OK])
    try:
        assert s.turn("codex/gpt-5.5")["type"] == "turn_complete"
        assert len(s.requests(s.issued)) == 1
        assert "at-old" not in s.bearers()[0]
        assert stat.S_IMODE(os.stat(s.file).st_mode) == 0o600
        assert "rt-old" not in open(s.file, encoding="utf-8").read()
    finally:
        s.end()


def refused_token(base):  # covers: providers 30
    s = Stage(base, "refused", token(3600), [REFUSED, OK])
    try:
        assert s.turn("codex/gpt-5.5")["type"] == "turn_complete"
        assert len(s.bearers()) == 2 and s.bearers()[0] == "Bearer at-old" != s.bearers()[1]
        assert len(s.requests(s.issued)) == 1
    finally:
        s.end()


def refused_twice(base):
    s = Stage(base, "twice", token(3600), [dict(REFUSED, repeat=True)])
    try:
        end = s.turn("codex/gpt-5.5")
        assert end["type"] == "error" and end["code"] == "auth_failed", end
        assert len(s.bearers()) == 2, "one renewal, one repetition"
    finally:
        s.end()


def refused_for_good(base):
    s = Stage(base, "dead", token(-10), [OK],
              {"fail": [{"status": 400, "error": "invalid_grant"}]})
    try:
        end = s.turn("codex/gpt-5.5")
        assert end["type"] == "error" and end["code"] == "auth_failed", end
        assert s.bearers() == []
    finally:
        s.end()


def no_sign_in(base):
    s = Stage(base, "none", {}, [OK])
    s.env["CODEX_BASE_URL"] = ""  # a server on this machine would be asked without a key
    try:
        end = s.turn("codex/gpt-5.5")
        assert end["code"] == "missing_credentials" and end["origin"] == "local", end
        assert s.bearers() == []
    finally:
        s.end()


def main():
    passed = failed = 0
    with harness.private_place() as base:
        os.environ.update(harness.clean_env(base))
        for play in (stored_key, good_token, ending_token, refused_token, refused_twice,
                     refused_for_good, no_sign_in):
            try:
                play(base)
                passed += 1
            except (AssertionError, Gone, KeyError) as why:
                failed += 1
                print(f"{play.__name__}: {why!r}")
    harness.finish(passed, failed)


main()
