#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An authorisation server on loopback, for sign-ins, refreshes and their failures.

    python3 tests/fake/oauth.py --control FILE --log FILE [--port 0] [--die-with-parent]

prints one line `PORT n` and serves until it is killed.  It plays three issuers at once:

  OpenAI      GET /oauth/authorize, POST /oauth/token (code, refresh, token exchange),
              POST /oauth/revoke, POST /api/accounts/deviceauth/usercode and /token
  Google      GET /o/oauth2/v2/auth, POST /token, GET /oauth2/v2/userinfo
  OpenRouter  GET /auth, POST /api/v1/auth/keys

The authorize pages redirect at once.  Codes are good once, and only with the verifier of their
challenge, their client and their redirect URI.  Refresh tokens rotate: `rt-...` that was not seen
before is good, one that was used already is answered with 401 refresh_token_reused.

The control file is a JSON object, read again for every request:

  expires_in        of access tokens, seconds (default 3600); null: not said
  omit              list of members left out of token answers: "refresh_token", "id_token", ...
  delay_ms          before a token answer
  fail              list of {"status", "error", "body", "cut"}: how the first token requests since
                    the control changed are answered; null is no failure
  authorize         "deny": the user says no; "wrong_state": comes back with another state
  key               "refuse": no API key for the id token
  device_status     of the first device request (default 200)
  interval          of device codes, seconds, as number or text (default 0.02)
  device_expires    seconds
  polls             list of {"status", "error"}: answers to device polls, then it is granted
  userinfo          status of the profile (default 200)
  account           id of the ChatGPT account (default acc-1)

The log gets one JSON line per request: {"n", "method", "path", "query", "form", "authorization"}.
"""
import argparse
import base64
import ctypes
import hashlib
import http.server
import itertools
import json
import os
import secrets
import signal
import sys
import threading
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import evidence     # noqa: E402


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def jwt(claims):
    head = b64(json.dumps({"alg": "none"}).encode())
    return f"{head}.{b64(json.dumps(claims).encode())}.{b64(b'signature')}"


class State:
    """What the server remembers, guarded by one lock."""

    def __init__(self, control, log):
        self.control_path, self.log_path = control, log
        self.lock = threading.Lock()
        self.numbers = itertools.count(1)
        self.requests = itertools.count(1)
        self.codes = {}
        self.used = set()
        self.control_text = None
        self.n_tokens = self.n_polls = 0

    def control(self):
        text = open(self.control_path, encoding="utf-8").read()
        if text != self.control_text:
            self.control_text = text
            self.n_tokens = self.n_polls = 0
        return json.loads(text or "{}")

    def write(self, entry):
        with open(self.log_path, "a", encoding="utf-8") as log:
            log.write(json.dumps(entry) + "\n")

    def new_code(self, **facts):
        code = f"code-{next(self.numbers)}"
        self.codes[code] = facts
        return code


class Refused(Exception):
    def __init__(self, status, error, words="refused"):
        super().__init__(error)
        self.status, self.error, self.words = status, error, words


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state = None

    def log_message(self, *_):
        pass

    def send(self, status, body, location=None):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if location:
            self.send_header("Location", location)
        self.end_headers()
        self.wfile.write(data)

    def fields(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        if "json" in (self.headers.get("Content-Type") or ""):
            return json.loads(body or "{}")
        return dict(urllib.parse.parse_qsl(body, keep_blank_values=True))

    def serve(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        form = self.fields()
        with self.state.lock:
            self.state.write({"n": next(self.state.requests), "method": self.command,
                              "path": url.path, "query": query, "form": form,
                              "authorization": self.headers.get("Authorization")})
            control = self.state.control()
        route = ROUTES.get((self.command, url.path))
        if not route:
            self.send(404, {"error": "not_found"})
            return
        try:
            route(self, control, query, form)
        except Refused as no:
            self.send(no.status, {"error": no.error, "error_description": no.words})

    do_GET = do_POST = serve

    # ---- pages ----

    def authorize(self, control, query, _form):
        for name in ("client_id", "redirect_uri", "state", "code_challenge", "scope"):
            if not query.get(name):
                raise Refused(400, "invalid_request", f"{name} is missing")
        if query.get("code_challenge_method") != "S256" or query.get("response_type") != "code":
            raise Refused(400, "invalid_request")
        back = {"state": query["state"]}
        if control.get("authorize") == "deny":
            back.update(error="access_denied", error_description="The user said no")
        else:
            with self.state.lock:
                back["code"] = self.state.new_code(challenge=query["code_challenge"],
                                                   client=query["client_id"],
                                                   redirect=query["redirect_uri"])
        if control.get("authorize") == "wrong_state":
            back["state"] = "somebody-else"
        self.send(302, {}, query["redirect_uri"] + "?" + urllib.parse.urlencode(back))

    def authorize_key(self, _control, query, _form):
        with self.state.lock:
            code = self.state.new_code(challenge=query["code_challenge"], client=None,
                                       redirect=None)
        self.send(302, {}, query["callback_url"] + "?" + urllib.parse.urlencode({"code": code}))

    # ---- tokens ----

    def take_code(self, form, client, redirect):
        with self.state.lock:
            facts = self.state.codes.pop(form.get("code"), None)
        challenge = b64(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        if not facts or facts["client"] != client or facts["redirect"] != redirect:
            raise Refused(400, "invalid_grant", "unknown code " + "x" * 60)
        if facts["challenge"] != challenge:
            raise Refused(400, "invalid_grant", "the verifier does not fit")

    def take_refresh(self, form):
        token = form.get("refresh_token", "")
        with self.state.lock:
            if token in self.state.used:
                raise Refused(401, "refresh_token_reused")
            if not token.startswith("rt-"):
                raise Refused(400, "invalid_grant")
            self.state.used.add(token)

    def tokens(self, control):
        n = next(self.state.numbers)
        lasts = control.get("expires_in", 3600)
        account = control.get("account", "acc-1")
        claims = {"https://api.openai.com/auth": {"chatgpt_account_id": account,
                                                  "chatgpt_plan_type": "plus"},
                  "email": "user@example.com", "exp": int(time.time()) + 7200}
        answer = {"access_token": jwt(dict(claims, n=n)),
                  "refresh_token": f"rt-{n}-{secrets.token_hex(8)}",
                  "id_token": jwt(dict(claims, id=n)), "token_type": "Bearer", "expires_in": lasts}
        for name in control.get("omit", []):
            answer.pop(name, None)
        for name in ("access_token", "refresh_token", "id_token"):
            evidence.note_secret(answer.get(name, ""))
        if lasts is None:
            answer.pop("expires_in", None)
        return answer

    def fail_first(self, control):
        """True when the connection was cut."""
        with self.state.lock:
            at, self.state.n_tokens = self.state.n_tokens, self.state.n_tokens + 1
        failures = control.get("fail", [])
        how = failures[at] if at < len(failures) else None
        if not how:
            return False
        if how.get("cut"):
            self.close_connection = True
            self.connection.close()
            return True
        if "body" in how:
            self.send(how.get("status", 200), how["body"].encode())
            return True
        raise Refused(how["status"], how.get("error", "server_error"))

    def token(self, control, _query, form):
        time.sleep(control.get("delay_ms", 0) / 1000)
        if self.fail_first(control):
            return
        grant = form.get("grant_type")
        if grant == "authorization_code":
            self.take_code(form, form.get("client_id"), form.get("redirect_uri"))
        elif grant == "refresh_token":
            self.take_refresh(form)
        elif grant == "urn:ietf:params:oauth:grant-type:token-exchange":
            if control.get("key") == "refuse":
                raise Refused(403, "not_allowed")
            evidence.note_secret("sk-exchanged-key")
            self.send(200, {"access_token": "sk-exchanged-key"})
            return
        else:
            raise Refused(400, "unsupported_grant_type")
        self.send(200, self.tokens(control))

    def token_google(self, control, query, form):
        if not form.get("client_secret"):
            raise Refused(401, "invalid_client")
        self.token(control, query, form)

    def key(self, _control, _query, form):
        self.take_code(form, None, None)
        self.send(200, {"key": "sk-or-v1-made-by-pkce", "user_id": "user-9"})

    def revoke(self, _control, _query, _form):
        self.send(200, b"")

    def userinfo(self, control, _query, _form):
        if control.get("userinfo", 200) != 200:
            raise Refused(control["userinfo"], "server_error")
        self.send(200, {"email": "someone@gmail.example", "name": "Someone"})

    # ---- device codes ----

    def device_start(self, control, _query, form):
        status = control.get("device_status", 200)
        if status != 200:
            raise Refused(status, "not_enabled")
        answer = {"device_auth_id": "device-1", "usercode": "ABCD-EFGH",
                  "interval": control.get("interval", 0.02)}
        if "device_expires" in control:
            answer["expires_in"] = control["device_expires"]
        self.send(200, answer)

    def device_poll(self, control, _query, form):
        if form.get("device_auth_id") != "device-1" or form.get("user_code") != "ABCD-EFGH":
            raise Refused(400, "invalid_request")
        with self.state.lock:
            at, self.state.n_polls = self.state.n_polls, self.state.n_polls + 1
        polls = control.get("polls", [])
        if at < len(polls):
            raise Refused(polls[at]["status"], polls[at].get("error", ""))
        verifier = b64(hashlib.sha256(b"of the server").digest())
        challenge = b64(hashlib.sha256(verifier.encode()).digest())
        port = self.server.server_address[1]
        with self.state.lock:
            code = self.state.new_code(challenge=challenge, client=control.get("client", CLIENT),
                                       redirect=f"http://127.0.0.1:{port}/deviceauth/callback")
        self.send(200, {"authorization_code": code, "code_verifier": verifier,
                        "code_challenge": challenge})


CLIENT = "app_EMoamEEZ73f0CkXaXp7hrann"

ROUTES = {
    ("GET", "/oauth/authorize"): Handler.authorize,
    ("GET", "/o/oauth2/v2/auth"): Handler.authorize,
    ("GET", "/auth"): Handler.authorize_key,
    ("POST", "/oauth/token"): Handler.token,
    ("POST", "/token"): Handler.token_google,
    ("POST", "/api/v1/auth/keys"): Handler.key,
    ("POST", "/oauth/revoke"): Handler.revoke,
    ("GET", "/oauth2/v2/userinfo"): Handler.userinfo,
    ("POST", "/api/accounts/deviceauth/usercode"): Handler.device_start,
    ("POST", "/api/accounts/deviceauth/token"): Handler.device_poll,
}


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_):
        pass  # clients that go away are part of the tests


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--control", required=True)
    parser.add_argument("--log", required=True)
    parser.add_argument("--die-with-parent", action="store_true")
    args = parser.parse_args()
    if args.die_with_parent:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    Handler.state = State(args.control, args.log)
    server = Server(("127.0.0.1", args.port), Handler)
    print(f"PORT {server.server_address[1]}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
