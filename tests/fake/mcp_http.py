# SPDX-License-Identifier: MIT
"""An MCP server with an address (Streamable HTTP), in this process, well-behaved or not.

    with Web("legacy", "sse") as web: web.url, web.seen (method, headers, body of each request)

Words: legacy (sessions, the default) or modern; sse (answers are streams); what the others do stands
where they are used.
"""
import base64
import hashlib
import http.server
import json
import queue
import socket
import threading
import time
import urllib.parse

TOOLS = [{"name": name, "description": f"The tool {name}.",
          "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}
         for name in ("echo", "slow", "caf\u00e9", "steps", "flood", "drop", "resume", "roots", "change")]
FRESH = {"name": "fresh", "description": "Came later.", "inputSchema": {"type": "object"}}
TOOLS[0]["inputSchema"]["properties"]["region"] = {"type": "string", "x-mcp-header": "Region"}
BAD = {"name": "badheader", "inputSchema": {"type": "object", "properties": {
    "a": {"type": "number", "x-mcp-header": "A"}}}}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    web = None

    def log_message(self, *_):
        pass

    def reply(self, status, body=b"", kind="application/json", **headers):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        if kind and data:
            self.send_header("Content-Type", kind)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def note(self, body):
        self.web.seen.append((self.command, {k.lower(): v for k, v in self.headers.items()}, body))

    def do_DELETE(self):
        self.note(None)
        self.reply(405 if "no-delete" in self.web.words else 200)

    def do_GET(self):
        self.note(None)
        try:
            self.web.get(self)
        except OSError:
            pass

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        kind = self.headers.get("Content-Type", "")
        body = json.loads(raw) if "json" in kind else raw.decode()
        self.note(body)
        if "json" not in kind or not isinstance(body, dict) or "method" not in body:
            self.web.form(self, body)
            return
        try:
            self.web.answer(self, body)
        except (BrokenPipeError, ConnectionResetError):
            self.web.seen.append(("CLOSED", {}, body))

    # ---- streams ----

    def begin(self, **headers):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.close_connection = True

    def event(self, message):
        self.wfile.write(b"event: message\ndata: " + json.dumps(message).encode() + b"\n\n")
        self.wfile.flush()


def fields(text):
    return {k: v[0] for k, v in urllib.parse.parse_qs(text).items()}


class Web:
    def __init__(self, *words, port=0):
        self.words, self.seen, self.session, self.n_sessions = set(words), [], None, 0
        self.resumed = None
        self.outbox, self.answers, self.is_changed = queue.Queue(), queue.Queue(), False
        self.lock, self.n_open, self.most_open = threading.Lock(), 0, 0  # answers to its requests
        self.closed = ("tools/call",)  # with `rights`, to a token without them
        self.issuer, self.registered = "/as", []
        self.tokens, self.n_tokens, self.lasts, self.refresh = set(), 0, 3600, None
        handler = type("Own", (Handler,), {"web": self})
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
        self.server.daemon_threads = True
        self.base = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.url = self.base + "/mcp"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def methods(self):
        return [body["method"] for _, _, body in self.seen if isinstance(body, dict) and "method" in body]

    # ---- for servers with a sign-in ----

    def get(self, handler):
        path, _, query = handler.path.partition("?")
        given = fields(query)
        if self.resumed and handler.headers.get("Last-Event-ID") == "event-7":
            handler.begin()
            handler.event(self.resumed)
        elif "hears" in self.words:
            self.stream(handler)
        elif "closed" not in self.words:
            handler.reply(405)
        elif path == "/.well-known/oauth-protected-resource/mcp":
            other = "https://other.example/mcp"
            handler.reply(200, {"resource": other if "other-resource" in self.words else self.url,
                                "authorization_servers": [self.base + self.issuer],
                                "scopes_supported": ["read", "write"]})
        elif path == "/.well-known/oauth-authorization-server" + self.issuer:
            issuer = "https://other.example" if "foreign-issuer" in self.words else self.base + self.issuer
            names = {"authorization_response_iss_parameter_supported": True} \
                if self.words & {"iss", "no-iss", "foreign-iss", "slash-iss"} else {}
            methods = {} if "no-pkce" in self.words else {"code_challenge_methods_supported": ["S256"]}
            token = "http://192.0.2.1/token" if "plain-token" in self.words else self.base + "/token"
            handler.reply(200, {"issuer": issuer, "token_endpoint": token,
                                "authorization_endpoint": self.base + "/authorize",
                                "registration_endpoint": self.base + "/register",
                                "token_endpoint_auth_methods_supported": ["none"], **methods, **names})
        elif path == "/authorize":
            self.challenge, self.asked = given["code_challenge"], given
            back = {"code": "code-1", "state": given["state"]}
            if "denied" in self.words:
                back = {"error": "access_denied", "error_description": "Words", "state": given["state"]}
            if not self.words.isdisjoint({"foreign-iss", "unexpected-iss"}):
                back["iss"] = "https://other.example"
            elif self.words & {"iss", "slash-iss"}:
                back["iss"] = self.base + self.issuer + "/" * ("slash-iss" in self.words)
            handler.reply(302, b"", Location=given["redirect_uri"] + "?" + urllib.parse.urlencode(back))
        else:
            handler.reply(404)

    def stream(self, handler):
        """What the server says by itself, until the client goes; one message with `cuts`."""
        if handler.headers.get("Mcp-Session-Id") != self.session:
            handler.reply(404)
            return
        handler.begin()
        handler.wfile.write(b"id: event-1\nretry: 100\ndata: \n\n")
        handler.wfile.flush()
        if "asks" in self.words:
            for ident in range(1000):
                handler.event({"jsonrpc": "2.0", "id": ident, "method": "roots/list"})
        while handler.headers.get("Mcp-Session-Id") == self.session:
            try:
                handler.event(self.outbox.get(timeout=0.1))
                if "cuts" in self.words:
                    return
            except queue.Empty:
                handler.wfile.write(b": still here\n\n")

    def form(self, handler, body):
        if isinstance(body, dict) and "result" in body:
            with self.lock:
                self.n_open += 1
                self.most_open = max(self.most_open, self.n_open)
            if "asks" in self.words:
                time.sleep(0.2)
            with self.lock:
                self.n_open -= 1
            self.answers.put(body)
            handler.reply(202)
            return
        if handler.path == "/register":
            self.redirects = body["redirect_uris"]
            self.registered.append((self.issuer, body))
            with socket.socket() as other:
                self.is_port_held = other.connect_ex(
                    ("127.0.0.1", urllib.parse.urlsplit(self.redirects[0]).port)) == 0
            handler.reply(201, {"client_id": "client-1", "token_endpoint_auth_method": "none"})
            return
        given = fields(body) if isinstance(body, str) else {}
        digest = hashlib.sha256(given.get("code_verifier", "").encode()).digest()
        is_right = given.get("grant_type") == "refresh_token" and given["refresh_token"] == self.refresh \
            or base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == self.challenge
        if handler.path != "/token" or not is_right or given.get("resource") != self.url:
            handler.reply(400, {"error": "invalid_grant"})
            return
        self.n_tokens += 1
        self.tokens, self.refresh = {f"token-{self.n_tokens}-0123456789"}, f"refresh-{self.n_tokens}"
        handler.reply(200, {"access_token": next(iter(self.tokens)), "token_type": "Bearer",
                            "refresh_token": self.refresh, "expires_in": self.lasts})

    def is_allowed(self, handler):
        return "closed" not in self.words or \
            handler.headers.get("Authorization", "").removeprefix("Bearer ") in self.tokens

    # ---- messages ----

    def result(self, ident, result, **more):
        if "modern" in self.words:
            result = {"resultType": "complete", **result}
        return {"jsonrpc": "2.0", "id": ident, "result": result, **more}

    def answer(self, handler, body):
        method, ident, params = body["method"], body.get("id"), body.get("params", {})
        is_greeting = method in ("initialize", "notifications/initialized") and "greets" in self.words
        if not self.is_allowed(handler) and not is_greeting:
            scope = "scope=\"narrow\", " if "greets" in self.words else ""
            handler.reply(401, {"error": "unauthorized"}, WWW_Authenticate=f"Bearer realm=\"x\", {scope}"
                          f"resource_metadata=\"{self.base}/.well-known/oauth-protected-resource/mcp\"")
            return
        if "rights" in self.words and handler.headers.get("Authorization") and method in self.closed and "write" not in self.asked["scope"].split():
            handler.reply(403, {"error": "insufficient_scope"}, WWW_Authenticate=
                          "Bearer error=\"insufficient_scope\", scope=\"write more\"")
            return
        if "modern" in self.words:
            if handler.headers.get("Mcp-Method") != method:
                handler.reply(400, {"error": {"code": -32020, "message": "header mismatch"}})
                return
        elif method == "server/discover":
            handler.reply(400, {"jsonrpc": "2.0", "id": None, "error": {
                "code": -32000, "message": "Bad Request: Server not initialized"}})
            return
        elif method == "initialize":
            self.n_sessions += 1
            self.session = f"session-{self.n_sessions}"
            self.send(handler, self.result(ident, {
                "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "web", "version": "1"}}), Mcp_Session_Id=self.session)
            return
        elif handler.headers.get("Mcp-Session-Id") != self.session:
            handler.reply(404, {"error": {"code": -32001, "message": "Session not found"}})
            return
        if "strict" in self.words and method == "notifications/initialized":
            time.sleep(0.3)  # a request on another connection could overtake it
            self.words.discard("strict")
        if "strict" in self.words:
            handler.reply(400, {"error": {"code": -32002, "message": "Server not initialized"}})
        elif ident is None:
            handler.reply(202)
        elif method == "server/discover" and "no-discover" in self.words:
            handler.reply(404, {"id": None, "error": {"code": -32601, "message": "Method not found"}})
        elif method == "server/discover":
            self.send(handler, self.result(ident, {"supportedVersions": ["2026-07-28"],
                                                   "capabilities": {"tools": {}}}))
        elif method == "tools/list":
            self.list(handler, ident)
        elif method == "tools/call":
            self.call(handler, ident, params)
        else:
            handler.reply(200, {"id": ident, "error": {"code": -32601, "message": "no"}})

    def list(self, handler, ident):
        if "drop-list" in self.words:
            self.words.discard("drop-list")
            handler.begin()
            handler.wfile.write(b"event: message\n")
            return
        self.send(handler, self.result(ident, {"tools": TOOLS + [BAD] + [FRESH] * self.is_changed}))

    def send(self, handler, message, **headers):
        if "sse" in self.words:
            handler.begin(**headers)
            handler.wfile.write(b": hello\n\nevent: other\ndata: {\"x\":1}\n\n")
            handler.event(message)
        else:
            handler.reply(200, message, **headers)

    def call(self, handler, ident, params):
        name, args = params["name"], params["arguments"]
        token = params.get("_meta", {}).get("progressToken")
        done = self.result(ident, {"content": [{"type": "text", "text": f"{name}: {args}"}]})
        if name == "slow":
            handler.begin()
            for _ in range(100):
                time.sleep(0.1)
                handler.wfile.write(b": waiting\n\n")
                handler.wfile.flush()
                if "patient" in self.words and _ == 14:
                    break
            handler.event(done)
        elif name == "steps":
            handler.begin()
            for i in range(3):
                handler.event({"method": "notifications/progress",
                               "params": {"progressToken": token, "progress": i + 1}})
            handler.event(done)
        elif name == "flood":
            handler.begin()
            handler.wfile.write(b"data: ")
            for _ in range(100):
                handler.wfile.write(b"x" * (1 << 20))
        elif name == "roots":
            self.outbox.put({"jsonrpc": "2.0", "id": "r", "method": "roots/list"})
            done["result"]["content"][0]["text"] = json.dumps(self.answers.get(timeout=20)["result"])
            self.send(handler, done)
        elif name == "change":
            self.is_changed = True
            self.outbox.put({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
            self.send(handler, done)
        elif name == "resume":
            self.resumed = done
            handler.begin()
            handler.wfile.write(b"id: event-7\nretry: 300\ndata: \n\n")
        elif name == "drop":
            handler.begin()
            handler.wfile.write(b": bye\n\n")
        else:
            self.send(handler, done)
