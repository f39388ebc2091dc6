#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Signing in to OpenAI over Kward's protocol: the real program, a loopback authorisation server and
a loopback provider, with Kward's own files.

covers: kward 339, 340, 341, 342, 343, 344, 345, 346, 351, 72
"""
import base64
import hashlib
import json
import os
import re
import socket
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
from client import Gone, Kward  # noqa: E402

FAKE = os.path.join(harness.TOP, "tests", "fake")
OK = {"text": "hello there", "usage": {"prompt_tokens": 3, "completion_tokens": 2}}
SCOPE = "openid profile email offline_access api.connectors.read api.connectors.invoke"


def start(script, *args):
    process = subprocess.Popen([sys.executable, os.path.join(FAKE, script), "--port", "0",
                                "--die-with-parent", *args], stdout=subprocess.PIPE, text=True)
    return process, int(process.stdout.readline().split()[1])


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args, **kwargs):
        return None


def fetch(url):
    """Status, headers and text of one GET; redirects are not followed."""
    opener = urllib.request.build_opener(NoRedirect)
    try:
        with opener.open(url, timeout=30) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.headers, e.read().decode()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def is_open(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


class Stage:
    """One home, the authorisation server, the provider, and a client that is asked."""

    def __init__(self, base, name, control=None, config=None, env=None, replies=None):
        self.home = os.path.join(base, name)
        os.makedirs(os.path.join(self.home, "config"), exist_ok=True)
        self.auth = os.path.join(self.home, "auth.json")
        self.config = os.path.join(self.home, "config", "config.json")
        if config is not None:
            self.write(self.config, config)
        self.control, script = (os.path.join(self.home, n) for n in ("control", "script"))
        self.write(self.control, control or {})
        self.write(script, replies or [OK])
        self.asked, self.issued = (os.path.join(self.home, n) for n in ("asked", "issued"))
        for path in (self.asked, self.issued):
            open(path, "w", encoding="utf-8").close()
        self.provider, port = start("provider.py", "--script", script, "--log", self.asked)
        self.issuer, issuer_port = start("oauth.py", "--control", self.control, "--log", self.issued)
        self.env = {"KWARD_CONFIG_PATH": self.config, "KWARD_AUTH_PATH": self.auth,
                    "KWARD_OAUTH_PORT": str(free_port()), "CODEX_BASE_URL": f"http://127.0.0.1:{port}/codex",
                    "OPENROUTER_BASE_URL": f"http://127.0.0.1:{port}/v1",
                    "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}/v1",
                    "GEMINI_BASE_URL": f"http://127.0.0.1:{port}/v1beta",
                    "TRIVET_OPENAI_AUTH_URL": f"http://127.0.0.1:{issuer_port}", **(env or {})}
        self.client = Kward(cwd=self.home, env=self.env)

    @staticmethod
    def write(path, value):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(value, file)

    def ask(self, method, **params):
        number = self.client.ask(method, params)
        return self.client.until(lambda m: m.get("id") == number)

    def result(self, method, **params):
        answer = self.ask(method, **params)
        assert "result" in answer, answer
        return answer["result"]

    def error(self, method, **params):
        answer = self.ask(method, **params)
        assert "error" in answer, answer
        return answer["error"]

    def finished(self):
        return self.client.until(lambda m: m.get("method") == "auth/loginFinished")["params"]

    def requests(self, path):
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.strip()]

    def close(self):
        """Ends the program; nothing secret was ever said."""
        assert self.client.close() == 0, "ends although a login may be open"
        said = json.dumps(self.client.heard) + self.client.stderr.decode()
        secrets = set(re.findall(r'"(?:access_token|refresh_token|id_token|code)": ?"([^"]+)"',
                                 open(self.auth, encoding="utf-8").read()
                                 if os.path.exists(self.auth) else ""))
        for secret in secrets:
            assert secret not in said, "a token was shown"

    def end(self):
        if self.client.process.poll() is None:
            self.client.kill()
        for process in (self.provider, self.issuer):
            process.kill()
            process.wait()


def stage(fn):
    """Runs fn with a stage that is always closed."""
    def run(base, **options):
        s = Stage(base, fn.__name__, **options)
        try:
            fn(s)
            s.close()
        finally:
            s.end()
    run.__name__ = fn.__name__
    return run


def browse(login):
    """What a browser does: the authorisation page, then where it is sent to."""
    status, headers, _ = fetch(login["authorizationUrl"])
    assert status == 302, status
    return fetch(headers["Location"])


def check_url(s, login):  # kward 339, 340, 351
    assert set(login) == {"providerId", "loginId", "authorizationUrl", "redirectUri", "status"}, login
    assert login["providerId"] == "openai" and login["status"] == "pending"
    url = urllib.parse.urlsplit(login["authorizationUrl"])
    query = {k: v[0] for k, v in urllib.parse.parse_qs(url.query).items()}
    assert url.scheme in ("http", "https") and url.path == "/oauth/authorize", url
    assert query["response_type"] == "code" and query["code_challenge_method"] == "S256"
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", query["code_challenge"]), query
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", query["state"]), query
    assert query["redirect_uri"] == login["redirectUri"]
    assert query["scope"] == SCOPE and query["originator"] == "kward"
    assert query["id_token_add_organizations"] == query["codex_cli_simplified_flow"] == "true"
    assert re.fullmatch(r"http://localhost:\d+/auth/callback", login["redirectUri"])
    return query


@stage
def browser(s):
    """The whole way: sign in by the browser, the file, the notification, a turn with the token."""
    login = s.result("auth/loginWithOAuth", providerId="openai", timeoutSeconds=60)
    query = check_url(s, login)
    pending = s.result("auth/loginStatus", loginId=login["loginId"])
    assert pending == {"providerId": "openai", "loginId": login["loginId"], "status": "pending",
                       "redirectUri": login["redirectUri"],
                       "message": "OpenAI login pending."}, pending
    port = urllib.parse.urlsplit(login["redirectUri"]).port
    with open("/proc/net/tcp", encoding="ascii") as table:  # 341
        bound = [row.split()[1] for row in table if f":{port:04X} " in row and " 0A " in row]
    assert bound == [f"0100007F:{port:04X}"], bound
    status, _, text = fetch(f"{login['redirectUri']}?code=x&state=wrong")  # 342
    assert status == 400 and "another sign-in" in text
    assert s.result("auth/loginStatus", loginId=login["loginId"])["status"] == "pending"
    status, headers, text = browse(login)
    assert status == 200 and headers["Content-Type"].startswith("text/plain"), (status, text)
    done = s.finished()
    assert done == {"providerId": "openai", "loginId": login["loginId"], "status": "completed",
                    "redirectUri": login["redirectUri"], "message": "Logged in to OpenAI."}, done
    assert s.result("auth/loginStatus", loginId=login["loginId"]) == done
    form = s.requests(s.issued)[-1]["form"]
    verifier = form["code_verifier"]
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=")
    assert challenge.decode() == query["code_challenge"] and len(verifier) == 86, "64 random bytes"
    check_file(s)
    end = time.time() + 30
    while is_open(port) and time.time() < end:
        time.sleep(0.02)
    assert not is_open(port), "the port closes afterwards"
    assert s.error("auth/submitOpenAICode", loginId=login["loginId"],
                   code="c")["message"] == "Login is not pending"
    play_turn(s)


def check_file(s):  # 345
    assert stat.S_IMODE(os.stat(s.auth).st_mode) == 0o600
    with open(s.auth, encoding="utf-8") as file:
        kept = json.load(file)
    assert kept["auth_mode"] == "openai_oauth" and kept["account_id"], kept.keys()
    assert {"access_token", "refresh_token", "id_token", "account_id"} <= set(kept["tokens"])
    assert re.fullmatch(r"\d{4}-.*Z", kept["saved_at"]) and re.fullmatch(r"\d{4}-.*Z", kept["expires_at"])


def play_turn(s):
    """The client configuration was refreshed: the next turn goes to Codex with the token."""
    assert s.result("auth/status")["openaiOAuth"] is True
    assert s.result("models/current")["provider"] == "Codex"
    session = s.result("sessions/create")["id"]
    s.result("turns/start", sessionId=session, input="hello")
    end = s.client.until(lambda m: m.get("method") == "turn/event" and
                         m["params"]["type"] == "turnFinished")
    assert end["params"]["payload"]["status"] == "completed", end
    with open(s.auth, encoding="utf-8") as file:
        tokens = json.load(file)["tokens"]
    headers = {k.lower(): v for k, v in s.requests(s.asked)[0]["headers"].items()}
    assert headers["authorization"] == f"Bearer {tokens['access_token']}"
    assert headers["chatgpt-account-id"] == tokens["account_id"]


@stage
def pasted(s):
    """The user pastes the address, once of another sign-in."""
    login = s.result("auth/startOpenAILogin")
    check_url(s, login)
    _, headers, _ = fetch(login["authorizationUrl"])
    address = headers["Location"]
    wrong = s.error("auth/submitOpenAICode", loginId=login["loginId"],
                    code=re.sub(r"state=[^&]+", "state=other", address))
    assert wrong["message"] == "OAuth state mismatch", wrong
    assert s.result("auth/loginStatus", loginId=login["loginId"])["status"] == "pending"
    done = s.result("auth/submitOpenAICode", loginId=login["loginId"], code=address)
    assert done["status"] == "completed" and done["message"] == "Logged in to OpenAI."
    said = [m for m in s.client.heard if m.get("method") == "auth/loginFinished"]
    assert [m["params"] for m in said] == [done], "sent once, before the answer"


@stage
def bare_code(s):
    login = s.result("auth/startOpenAILogin", timeoutSeconds=-1)
    _, headers, _ = fetch(login["authorizationUrl"])
    code = urllib.parse.parse_qs(urllib.parse.urlsplit(headers["Location"]).query)["code"][0]
    done = s.result("auth/submitOpenAICode", loginId=login["loginId"], code=code)
    assert done["status"] == "completed"


@stage
def refused_exchange(s):
    """346: a token exchange that fails ends the login, is reported and answered."""
    login = s.result("auth/startOpenAILogin")
    _, headers, _ = fetch(login["authorizationUrl"])
    s.write(s.control, {"fail": [{"status": 400, "error": "invalid_grant"}]})
    answer = s.error("auth/submitOpenAICode", loginId=login["loginId"], code=headers["Location"])
    assert answer["code"] == -32603, answer
    output = [m["params"] for m in s.client.heard if m.get("method") == "auth/loginFinished"]
    assert len(output) == 1 and output[0]["status"] == "failed"
    assert output[0]["message"] == "OpenAI login failed." and output[0]["error"] == answer["message"]
    assert s.result("auth/loginStatus", loginId=login["loginId"]) == output[0]
    assert not os.path.exists(s.auth)


@stage
def user_says_no(s):
    login = s.result("auth/startOpenAILogin")
    status, _, _ = browse(login)
    assert status == 200, "a refusal is an answer, too"
    done = s.finished()
    assert done["status"] == "failed" and "error" in done, done


@stage
def too_late(s):
    login = s.result("auth/loginWithOAuth", providerId="openai", timeoutSeconds=0.2)
    done = s.finished()
    assert done["loginId"] == login["loginId"] and done["status"] == "failed", done
    assert s.error("auth/submitOpenAICode", loginId=login["loginId"],
                   code="c")["message"] == "Login is not pending"


@stage
def refusals(s):
    assert s.error("auth/submitOpenAICode", loginId="nope", code="c")["message"] == "Unknown login: nope"
    assert s.error("auth/loginStatus", loginId="nope")["message"] == "Unknown login: nope"
    unknown = s.error("auth/loginWithOAuth", providerId="github")
    assert unknown["message"] == "Unsupported OAuth provider: github" and unknown["code"] == -32602
    login = s.result("auth/startOpenAILogin")
    nothing = s.error("auth/submitOpenAICode", loginId=login["loginId"], code="http://localhost/x")
    assert nothing["code"] == -32602, nothing
    # A login that is still open does not hold up the end of the process (see close).


@stage
def signed_out(s):
    """The file goes, and the token is revoked at the issuer."""
    login = s.result("auth/startOpenAILogin")
    browse(login)
    s.finished()
    assert s.result("auth/logoutProvider", providerId="openai")["message"] == "Logged out of OpenAI."
    assert not os.path.exists(s.auth)
    assert s.requests(s.issued)[-1]["path"] == "/oauth/revoke"
    assert s.result("auth/status")["openaiOAuth"] is False


@stage
def own_client(s):
    """The client id of the config counts; the port of the environment, unless it is taken."""
    first = s.result("auth/startOpenAILogin")
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(first["authorizationUrl"]).query)
    assert query["client_id"] == ["app_mine"], query
    second = s.result("auth/startOpenAILogin")
    assert first["redirectUri"] != second["redirectUri"], "two logins have two ports"
    wanted = int(s.env["KWARD_OAUTH_PORT"])
    assert f":{wanted}/" in first["redirectUri"] and f":{wanted}/" not in second["redirectUri"]


@stage
def many_at_once(s):
    """Many processes find a token that has ended: one refresh, one file, all turns work."""
    others = [Kward(cwd=s.home, env=s.env) for _ in range(6)]
    try:
        sessions = [c.call("sessions/create")["id"] for c in others]
        for c, session in zip(others, sessions):
            c.ask("turns/start", {"sessionId": session, "input": "hello"})
        for c in others:
            end = c.until(lambda m: m.get("method") == "turn/event" and
                          m["params"]["type"] == "turnFinished")
            assert end["params"]["payload"]["status"] == "completed", end
        assert len(s.requests(s.issued)) == 1, "one refresh for all"
        with open(s.auth, encoding="utf-8") as file:
            kept = json.load(file)
        assert kept["extra"] == {"stays": True} and kept["tokens"]["access_token"] != "at-old"
        assert stat.S_IMODE(os.stat(s.auth).st_mode) == 0o600
    finally:
        for c in others:
            c.close()


@stage
def keys_of_the_config(s):
    """Keys among the settings reach their providers."""
    session = s.result("sessions/create")["id"]
    for model, header, value in (("OpenRouter/a/b", "authorization", "Bearer key-or"),
                                 ("Anthropic/claude-sonnet-5-5", "x-api-key", "key-an"),
                                 ("Gemini/gemini-3-pro", "x-goog-api-key", "key-ge")):
        s.result("runtime/updateSetting", sessionId=session, settingId="defaultModel", value=model)
        turn = s.result("turns/start", sessionId=session, input="hello")["id"]
        s.client.until(lambda m: m.get("method") == "turn/event" and
                       m["params"]["turnId"] == turn and m["params"]["type"] == "turnFinished")
        asked = [r["headers"] for r in s.requests(s.asked) if "headers" in r]
        headers = {k.lower(): v for k, v in asked[-1].items()}
        assert headers.get(header) == value, (model, headers)


def keep_ended_token(base):
    home = os.path.join(base, "many_at_once")
    os.makedirs(home)
    Stage.write(os.path.join(home, "auth.json"),
                {"auth_mode": "openai_oauth", "extra": {"stays": True}, "account_id": "acc-1",
                 "tokens": {"access_token": "at-old", "refresh_token": "rt-old"},
                 "expires_at": "2026-01-01T00:00:00.000Z"})


PLAYS = (
    (browser, {}), (pasted, {}), (bare_code, {}), (refused_exchange, {}),
    (user_says_no, {"control": {"authorize": "deny"}}), (too_late, {}), (refusals, {}),
    (signed_out, {}), (own_client, {"config": {"openai_oauth_client_id": "app_mine"}}),
    (keys_of_the_config, {"config": {"openrouter_api_key": "key-or", "gemini_api_key": "key-ge",
                                     "anthropic_api_key": "key-an"},
                          "replies": [dict(OK, repeat=True)]}),
    (many_at_once, {"replies": [dict(OK, repeat=True)]}),
)


def main():
    passed = failed = 0
    with harness.private_place() as base:
        os.environ.update(harness.clean_env(base))
        keep_ended_token(base)
        for play, options in PLAYS:
            try:
                play(base, **options)
                passed += 1
            except (AssertionError, Gone, KeyError) as why:
                failed += 1
                print(f"{play.__name__}: {why!r}")
    harness.finish(passed, failed)


main()
