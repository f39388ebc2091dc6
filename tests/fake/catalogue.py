#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Model lists of all providers, on loopback.

    python3 tests/fake/catalogue.py [--log FILE] [--die-with-parent]

prints one line `PORT n` and serves until it is killed.  The first part of the path says who is
played and how:

    /openrouter/v1/models       public list; /models/user wants `Authorization: Bearer sk-good-...`
    /ollama/v1/models           ids; POST /ollama/api/show has the rest
    /llamacpp/v1/models         meta.n_ctx_train; GET /llamacpp/props has the real window
    /lmstudio/v1/models, /vllm/v1/models
    /openrouter/v1/models/AUTHOR/SLUG/endpoints   upstreams, for acme only
    /openrouter/v1/models/endpoints   upstreams of all
    /openai/v1/models           ids; /anthropic/v1/models?limit=1000 and
                                /gemini/v1beta/models?pageSize=1000 with the rest; all three want a
                                key in their own header
    /many/v1/models             1000 models
    /codex/models               what a ChatGPT account has, and /wham/usage what is left of it; both
                                want a token that does not end in `-bad`; the account acc-500 gets 500
    /cloud/v1internal:...       the same of a Google account, by POST; a model answers as well
    /loading/v1/models          503, as llama.cpp while it loads
    /other/v1/models            a web server that knows nothing of models
    /broken/...                 200 and no list
    /empty/...                  200 and a list without models
    /failing/v1/models          500
    /silent/v1/models           takes the request and never answers
    /late/...                   the rest of the path, answered after a second
    /other-account/codex/...    as /codex, with other models

The log gets one line per request: method, path, and `key` if there was one in a header.
"""
import argparse
import ctypes
import http.server
import json
import signal
import time

OPENROUTER = [
    {"id": "anthropic/claude-sonnet-5.5", "name": "Anthropic: Claude Sonnet 5.5",
     "context_length": 1000000, "description": "Writes code and prose.",
     "architecture": {"input_modalities": ["text", "image"], "output_modalities": ["text"]},
     "pricing": {"prompt": "0.000002", "completion": "0.00001", "input_cache_read": "0.0000001"},
     "top_provider": {"context_length": 1000000, "max_completion_tokens": 128000},
     "supported_parameters": ["tools", "reasoning"],
     "reasoning": {"mandatory": False, "supported_efforts": ["low", "medium", "high", "odd"]}},
    {"id": "deepseek/deepseek-v4-pro", "name": "DeepSeek V4 Pro", "context_length": 1000000,
     "architecture": {"input_modalities": ["text"], "output_modalities": ["text"]},
     "pricing": {"prompt": "-1", "completion": "cheap"},
     "top_provider": {"max_completion_tokens": None}, "supported_parameters": ["tools"]},
    {"id": "paint/brush", "name": "Brush", "context_length": 1000,
     "architecture": {"input_modalities": ["text"], "output_modalities": ["image"]}},
    {"id": "anthropic/claude-sonnet-5.5", "name": "again", "context_length": 1},
    {"name": "without an id"}, "nonsense", None,
]
OLLAMA = [{"id": "qwen3:8b", "object": "model"}, {"id": "llava", "object": "model"},
          {"id": "gone", "object": "model"}]
SHOWS = {
    "qwen3:8b": {"model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40960},
                 "capabilities": ["completion", "tools", "thinking"]},
    "llava": {"model_info": {"llama.context_length": 32768}, "capabilities": ["vision"],
              "parameters": "stop \"x\"\nnum_ctx                        8192"},
}
CODEX = [
    {"slug": "gpt-5.2-codex", "display_name": "GPT-5.2 Codex", "priority": 2,
     "description": "Optimised for code.",
     "context_window": 272000, "default_reasoning_level": "high",
     "supported_reasoning_levels": [{"effort": "low"}, {"effort": "high"}, {"effort": "xhigh"}]},
    {"slug": "gpt-5.2", "display_name": "GPT-5.2", "priority": 1, "context_window": 400000},
    {"slug": "whisper-9", "display_name": "no model for text", "priority": 0},
]
CODEX_OF_ANOTHER = [{"slug": "gpt-7", "display_name": "gpt-7", "context_window": 777000}]
OPENAI = [{"id": "gpt-5", "object": "model"}, {"id": "my-own", "context_length": 32000},
          {"id": "gpt-4.1"}, {"id": "text-embedding-3-large"}, {"id": "gpt-4o-audio-preview"}]
ANTHROPIC = [
    {"type": "model", "id": "claude-opus-5-5", "display_name": "Claude Opus 5.5",
     "max_input_tokens": 600000, "max_tokens": 64000,
     "capabilities": {"image_input": {"supported": False}, "thinking": {"supported": True}}},
    {"type": "model", "id": "claude-new", "display_name": "Claude New", "max_input_tokens": 300000,
     "capabilities": {"image_input": {"supported": True}, "thinking": {"supported": False}}}]
GEMINI = [
    {"name": "models/gemini-2.5-pro", "displayName": "Gemini 2.5 Pro", "description": "Thinks.",
     "inputTokenLimit": 900000, "outputTokenLimit": 65536, "thinking": True,
     "supportedGenerationMethods": ["generateContent", "countTokens"]},
    {"name": "models/embedding-001", "supportedGenerationMethods": ["embedContent"]}]
MANY = [{"id": f"m-{n}", "context_window": 1000 + n} for n in range(1000)]
USAGE = {"plan_type": "plus", "rate_limit": {
    "primary_window": {"used_percent": 12.5, "limit_window_seconds": 18000, "reset_at": 1800000000},
    "secondary_window": {"used_percent": 140, "limit_window_seconds": None}}}
CLOUD = {
    "models": {
        "gemini-3-pro-high": {"displayName": "Gemini 3 Pro (High)", "supportsThinking": True,
                              "maxTokens": 1048576, "maxOutputTokens": 65535,
                              "quotaInfo": {"remainingFraction": 0.75,
                                            "resetTime": "2026-01-01T00:00:00Z"}},
        "plain": {"displayName": "Plain", "quotaInfo": {"remainingFraction": 0.5}},
        "gone": {"displayName": "Gone", "disabled": True}},
    "agentModelSorts": [{"groups": [{"modelIds": ["plain", "gemini-3-pro-high"]}]}],
}
ENDPOINTS = {"data": {"endpoints": [{"tag": "Z_ai/FP8", "provider_name": "-Z  A_I "},
                                    {"provider_name": "Acme Cloud!"}, {"tag": "z-ai/fp8"}, {}]}}
ALL_ENDPOINTS = {"data": [
    {"id": "anthropic/claude-sonnet-5.5",
     "endpoints": [{"tag": "google-vertex"}, {"tag": "anthropic"}, {"tag": "anthropic"}]},
    {"id": "nobody/asked", "endpoints": [{"tag": "x"}]}, {"id": "odd", "endpoints": 7}, None]}
LISTS = {
    "openrouter": OPENROUTER,
    "ollama": OLLAMA,
    "llamacpp": [{"id": "gguf.gguf", "meta": {"n_ctx_train": 131072, "n_params": 8}}],
    "lmstudio": [{"id": "phi-4"}, {"id": "nomic-embed", "type": "embeddings"}],
    "vllm": [{"id": "meta/llama", "max_model_len": 65536}],
    "many": MANY,
}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body, content_type="application/json"):
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def note(self):
        if self.server.log:
            key = " key" if any(self.headers.get(name) for name in (
                "Authorization", "x-api-key", "x-goog-api-key")) else ""
            with open(self.server.log, "a", encoding="utf-8") as f:
                f.write(f"{self.command} {self.path}{key}\n")

    def skip_late(self):
        if self.path.startswith("/late/"):
            time.sleep(1)
            self.path = self.path[5:]

    def wants_key(self, name, begin, list_):
        good = self.headers.get(name, "").startswith(begin)
        self.answer(200 if good else 401, list_ if good else {"error": {"message": "who?"}})

    def do_GET(self):
        self.note()
        self.skip_late()
        who, _, what = self.path[1:].partition("/")
        if who == "silent":
            time.sleep(3600)
        elif who == "empty":
            self.answer(200, {"models": [], "data": []})
        elif (who, what) == ("openrouter", "v1/models/endpoints"):
            self.answer(200, ALL_ENDPOINTS)
        elif (who, what) == ("other-account", "codex/models?client_version=0.99.0"):
            self.answer(200, {"models": CODEX_OF_ANOTHER})
        elif (who, what) == ("openai", "v1/models"):
            self.wants_key("Authorization", "Bearer ", {"data": OPENAI})
        elif (who, what) == ("anthropic", "v1/models?limit=1000"):
            self.wants_key("x-api-key", "sk-", {"data": ANTHROPIC, "has_more": False})
        elif (who, what) == ("gemini", "v1beta/models?pageSize=1000"):
            self.wants_key("x-goog-api-key", "sk-", {"models": GEMINI})
        elif who == "loading":
            self.answer(503, {"error": {"code": 503, "message": "Loading model"}})
        elif who == "other":
            self.answer(404, "<html>no</html>", "text/html")
        elif who == "broken":
            self.answer(200, {"data": "soon"})
        elif who == "failing":
            self.answer(500, {"error": {"message": f"no {self.headers.get('Authorization')}"}})
        elif (who, what) == ("openrouter", "v1/models/user"):
            if self.headers.get("Authorization", "").startswith("Bearer sk-good-"):
                self.answer(200, {"data": OPENROUTER[:1]})
            else:
                self.answer(401, {"error": {"message": "who are you?"}})
        elif (who, what) in (("codex", "models?client_version=0.99.0"), ("wham", "usage")):
            if self.headers.get("Authorization", "-bad").endswith("-bad"):
                self.answer(401, {"error": {"message": "who are you?"}})
            elif self.headers.get("ChatGPT-Account-ID") == "acc-500":
                self.answer(500, {"error": {"message": "not now"}})
            else:
                self.answer(200, {"models": CODEX} if who == "codex" else USAGE)
        elif what.startswith("v1/models/acme/") and what.endswith("/endpoints"):
            self.answer(200, ENDPOINTS)
        elif what.startswith("v1/models/empty/") and what.endswith("/endpoints"):
            self.answer(200, {"data": {"endpoints": []}})
        elif (who, what) == ("llamacpp", "props"):
            self.answer(200, {"default_generation_settings": {"n_ctx": 16384},
                              "modalities": {"vision": False}})
        elif what == "v1/models" and who in LISTS:
            self.answer(200, {"object": "list", "data": LISTS[who]})
        else:
            self.answer(404, {"error": {"message": "no such path"}})

    def do_POST(self):
        self.note()
        self.skip_late()
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or "{}")
        shown = SHOWS.get(body.get("model"))
        if self.path == "/cloud/v1internal:loadCodeAssist":
            self.answer(200, {"cloudaicompanionProject": "project-1"})
            return
        if self.path.startswith("/cloud/v1internal:stream") and body.get("project") == "project-1":
            said = {"content": {"role": "model", "parts": [{"text": "from the cloud"}]},
                    "finishReason": "STOP"}
            self.answer(200, f"data: {json.dumps({'response': {'candidates': [said]}})}\n\n",
                        "text/event-stream")
            return
        if self.path == "/cloud/v1internal:fetchAvailableModels":
            known = body.get("project") == "project-1"
            self.answer(200 if known else 403, CLOUD if known else {"error": {"message": "no"}})
            return
        if self.path == "/ollama/api/show" and shown:
            self.answer(200, shown)
        else:
            self.answer(404, {"error": "model not found"})

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # clients that go away are part of the tests


def main():
    parser = argparse.ArgumentParser(description="model lists on loopback")
    parser.add_argument("--log")
    parser.add_argument("--die-with-parent", action="store_true")
    arguments = parser.parse_args()
    if arguments.die_with_parent:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    server = Server(("127.0.0.1", 0), Handler)
    server.log = arguments.log
    print("PORT", server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
