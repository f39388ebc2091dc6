# SPDX-License-Identifier: MIT
"""The providers as tests see them: how each is configured, what its requests look like, and what
its servers say when something is wrong.

    VENDORS["gemini"].env(port, key)      the environment that leads trivet to a server on loopback
    VENDORS["gemini"].form.results(body)  the tool results in a request, as (call id, text)

Replies are those of tests/fake/provider.py.  A Form is one wire format; vendors that share a format
share it.
"""
import json
from dataclasses import dataclass, field


def deep_find(value, fits):
    """All dictionaries inside a JSON value for which fits() is true."""
    if isinstance(value, dict):
        if fits(value):
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from deep_find(item, fits)


class Chat:
    """OpenAI Chat Completions."""
    path = "/chat/completions"

    @staticmethod
    def fixed(body):
        """What must not change between the rounds of a conversation."""
        return {k: v for k, v in body.items() if k != "messages"}, body["messages"][0]

    @staticmethod
    def said(body):
        return body["messages"][1:]

    @staticmethod
    def user_text(body):
        users = [m["content"] for m in body["messages"] if m["role"] == "user"]
        return users[-1] if isinstance(users[-1], str) else users[-1][0]["text"]

    @staticmethod
    def images(body):
        parts = deep_find(body["messages"], lambda d: d.get("type") == "image_url")
        return [part["image_url"]["url"] for part in parts]

    @staticmethod
    def results(body):
        return [(m["tool_call_id"], m["content"]) for m in body["messages"] if m["role"] == "tool"]

    @staticmethod
    def calls(body):
        return [(c["id"], c["function"]["name"], json.loads(c["function"]["arguments"]))
                for m in body["messages"] for c in m.get("tool_calls", [])]

    @staticmethod
    def usage(given, cached, made, thought):
        return {"prompt_tokens": given, "prompt_tokens_details": {"cached_tokens": cached},
                "completion_tokens": made,
                "completion_tokens_details": {"reasoning_tokens": thought}}

    @staticmethod
    def error(status, message, kind="invalid_request_error"):
        return {"error": {"message": message, "type": kind, "code": None, "param": None}}

    @staticmethod
    def refused(key):
        return {"status": 401, "body": Chat.error(401, f"Incorrect API key provided: {key}.")}

    @staticmethod
    def limited():
        return {"status": 429, "headers": {"retry-after-ms": "60", "retry-after": "20"},
                "body": Chat.error(429, "Rate limit reached", "rate_limit_exceeded")}

    @staticmethod
    def failing():
        return {"status": 503, "body": Chat.error(503, "The engine is overloaded", "server_error")}

    @staticmethod
    def too_long():
        body = Chat.error(400, "This model's maximum context length is 9 tokens.")
        body["error"]["code"] = "context_length_exceeded"
        return {"status": 400, "body": body}

    @staticmethod
    def parallel(calls):
        """Two calls, their pieces in turns."""
        pieces = [{"index": i, "id": c["id"], "type": "function",
                   "function": {"name": c["name"], "arguments": ""}} for i, c in enumerate(calls)]
        texts = [json.dumps(c["arguments"]) for c in calls]
        for at in range(0, max(map(len, texts)), 4):
            pieces += [{"index": i, "function": {"arguments": text[at : at + 4]}}
                       for i, text in enumerate(texts) if text[at : at + 4]]
        return {"chunks": [{"tool_calls": [piece]} for piece in pieces], "finish": "tool_calls"}

    @staticmethod
    def thought(reply):
        """What of a reply's reasoning goes back in the next request: none of it."""
        del reply
        return None

    @staticmethod
    def thoughts(body):
        """Reasoning in a request."""
        return list(deep_find(body["messages"], lambda d: any("reasoning" in k for k in d)))


class Router(Chat):
    """OpenRouter: Chat Completions, whose reasoning goes back."""
    DETAILS = [{"type": "reasoning.text", "text": "Think first.", "signature": "c2ln",
                "format": "anthropic-claude-v1", "index": 0}]

    @staticmethod
    def too_long():
        text = "This endpoint's maximum context length is 9 tokens. However, you asked for about 12."
        return {"status": 400, "body": {"error": {"message": text, "code": 400}}}

    @staticmethod
    def thought(reply):
        reply["chunks"] = [{"reasoning_details": Router.DETAILS}, *reply.get("chunks", [])]
        return Router.DETAILS

    @staticmethod
    def thoughts(body):
        return next((m["reasoning_details"] for m in body["messages"] if "reasoning_details" in m),
                    None)


class Local(Chat):
    """Servers on the user's machine: errors as plain text, calls whole."""

    @staticmethod
    def too_long():
        text = "the request exceeds the available context size, try increasing it"
        return {"status": 400, "body": {"error": {"message": text, "code": 400,
                                                  "type": "exceed_context_size_error"}}}

    @staticmethod
    def failing():
        return {"status": 500, "body": {"error": "llama runner process has terminated"}}

    @staticmethod
    def parallel(calls):
        return {"tool_calls": calls, "whole_calls": True, "finish": "stop"}


class Responses:
    """OpenAI Responses."""
    path = "/responses"
    parallel = staticmethod(lambda calls: {"tool_calls": calls, "interleaved": True})
    error, limited, failing, refused = Chat.error, Chat.limited, Chat.failing, Chat.refused

    @staticmethod
    def fixed(body):
        return {k: v for k, v in body.items() if k != "input"}

    @staticmethod
    def said(body):
        return body["input"]

    @staticmethod
    def user_text(body):
        users = [m for m in body["input"] if m.get("role") == "user"]
        return users[-1]["content"][0]["text"]

    @staticmethod
    def images(body):
        parts = deep_find(body["input"], lambda d: d.get("type") == "input_image")
        return [part["image_url"] for part in parts]

    @staticmethod
    def results(body):
        return [(i["call_id"], i["output"]) for i in body["input"]
                if i.get("type") == "function_call_output"]

    @staticmethod
    def calls(body):
        return [(i["call_id"], i["name"], json.loads(i["arguments"])) for i in body["input"]
                if i.get("type") == "function_call"]

    @staticmethod
    def usage(given, cached, made, thought):
        return {"input_tokens": given, "input_tokens_details": {"cached_tokens": cached},
                "output_tokens": made, "output_tokens_details": {"reasoning_tokens": thought}}

    @staticmethod
    def too_long():
        """Said inside a stream that began well."""
        return {"finish": {"code": "context_length_exceeded",
                           "message": "Your input exceeds the context window of this model."}}

    @staticmethod
    def thought(reply):
        reply["encrypted"] = "gAAAAB+/x=="
        return "gAAAAB+/x=="

    @staticmethod
    def thoughts(body):
        return next((i["encrypted_content"] for i in body["input"] if i.get("type") == "reasoning"),
                    None)


class Anthropic:
    """Anthropic Messages."""
    path = "/messages"
    parallel = staticmethod(lambda calls: {"tool_calls": calls})

    @staticmethod
    def fixed(body):
        return {k: v for k, v in body.items() if k != "messages"}

    @staticmethod
    def said(body):
        """Without the cache marks: they move on."""
        text = json.dumps(body["messages"])
        return json.loads(text.replace(', "cache_control": {"type": "ephemeral"}', ""))

    @staticmethod
    def user_text(body):
        texts = [p["text"] for m in body["messages"] if m["role"] == "user"
                 for p in m["content"] if p["type"] == "text"]
        return texts[-1]

    @staticmethod
    def images(body):
        parts = deep_find(body["messages"], lambda d: d.get("type") == "image")
        return [f"data:{p['source']['media_type']};base64,{p['source']['data']}" for p in parts]

    @staticmethod
    def results(body):
        parts = deep_find(body["messages"], lambda d: d.get("type") == "tool_result")
        return [(p["tool_use_id"], p["content"]) for p in parts]

    @staticmethod
    def calls(body):
        parts = deep_find(body["messages"], lambda d: d.get("type") == "tool_use")
        return [(p["id"], p["name"], p["input"]) for p in parts]

    @staticmethod
    def usage(given, cached, made, thought):
        del thought  # counted as output, not counted apart
        return {"input_tokens": given - cached, "cache_read_input_tokens": cached,
                "cache_creation_input_tokens": 0, "output_tokens": made}

    @staticmethod
    def error(status, message, kind="invalid_request_error"):
        del status
        return {"type": "error", "error": {"type": kind, "message": message}}

    @staticmethod
    def refused(key):
        body = Anthropic.error(401, f"invalid x-api-key: {key}", "authentication_error")
        return {"status": 401, "body": body}

    @staticmethod
    def limited():
        return {"status": 429, "headers": {"retry-after-ms": "60", "retry-after": "20"},
                "body": Anthropic.error(429, "Number of requests exceeded", "rate_limit_error")}

    @staticmethod
    def failing():
        return {"status": 529, "body": Anthropic.error(529, "Overloaded", "overloaded_error")}

    @staticmethod
    def too_long():
        return {"status": 400, "body": Anthropic.error(400, "prompt is too long: 12 tokens > 9")}

    @staticmethod
    def thought(reply):
        reply["signature"] = "EqQB/+=="
        return [{"type": "thinking", "thinking": reply["reasoning"], "signature": "EqQB/+=="}]

    @staticmethod
    def thoughts(body):
        return list(deep_find(body["messages"], lambda d: d.get("type") == "thinking"))


class Gemini:
    """Google Gemini."""
    path = ":streamGenerateContent?alt=sse"
    parallel = staticmethod(lambda calls: {"tool_calls": calls})

    @staticmethod
    def inner(body):
        return body

    @classmethod
    def fixed(cls, body):
        return {k: v for k, v in cls.inner(body).items() if k != "contents"}

    @classmethod
    def said(cls, body):
        return cls.inner(body)["contents"]

    @classmethod
    def user_text(cls, body):
        texts = [p["text"] for c in cls.said(body) if c["role"] == "user"
                 for p in c["parts"] if "text" in p]
        return texts[-1]

    @classmethod
    def images(cls, body):
        parts = [d["inlineData"] for d in deep_find(cls.said(body), lambda d: "inlineData" in d)]
        return [f"data:{p['mimeType']};base64,{p['data']}" for p in parts]

    @classmethod
    def results(cls, body):
        found = [d["functionResponse"]
                 for d in deep_find(cls.said(body), lambda d: "functionResponse" in d)]
        return [(f["id"], next(iter(f["response"].values()))) for f in found]

    @classmethod
    def calls(cls, body):
        found = [d["functionCall"]
                 for d in deep_find(cls.said(body), lambda d: "functionCall" in d)]
        return [(f["id"], f["name"], f["args"]) for f in found]

    @staticmethod
    def usage(given, cached, made, thought):
        return {"promptTokenCount": given, "cachedContentTokenCount": cached,
                "candidatesTokenCount": made - thought, "thoughtsTokenCount": thought}

    @staticmethod
    def error(status, message, kind="INVALID_ARGUMENT", details=()):
        return {"error": {"code": status, "message": message, "status": kind,
                          "details": list(details)}}

    @classmethod
    def refused(cls, key):
        return {"status": 401, "body": cls.error(401, f"bad credentials {key}", "UNAUTHENTICATED")}

    @classmethod
    def limited(cls):
        wait = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.06s"}
        return {"status": 429, "body": cls.error(429, "Resource has been exhausted",
                                                 "RESOURCE_EXHAUSTED", [wait])}

    @classmethod
    def failing(cls):
        return {"status": 503, "body": cls.error(503, "The model is overloaded.", "UNAVAILABLE")}

    @classmethod
    def too_long(cls):
        text = "The input token count (12) exceeds the maximum number of tokens allowed (9)."
        return {"status": 400, "body": cls.error(400, text)}

    @staticmethod
    def thought(reply):
        reply["signature"] = "CiQB+/x=="
        return "CiQB+/x=="

    @classmethod
    def thoughts(cls, body):
        found = list(deep_find(cls.said(body), lambda d: "thoughtSignature" in d))
        return found[0]["thoughtSignature"] if found else None


class CloudCode(Gemini):
    """The same inside an envelope."""
    path = "/v1internal:streamGenerateContent?alt=sse"

    @staticmethod
    def inner(body):
        return body["request"]


@dataclass
class Vendor:
    form: type
    model: str
    env_base: str
    env_key: str
    base: str                     # path of the base URL
    key_header: str = "Authorization"
    more_env: dict = field(default_factory=dict)
    is_priced: bool = False       # the program's own row of the model has prices
    reports_cost: bool = False      # the server says what a reply cost
    name: str = ""

    def env(self, port, key):
        return {self.env_base: f"http://127.0.0.1:{port}{self.base}", self.env_key: key,
                **self.more_env}

    @property
    def slug(self):
        return f"{self.name}/{self.model}"

    def key_value(self, key):
        return f"Bearer {key}" if self.key_header == "Authorization" else key


VENDORS = {
    "openai": Vendor(Chat, "gpt-6-sol", "OPENAI_BASE_URL", "OPENAI_API_KEY", "/v1",
                     is_priced=True),
    "openrouter": Vendor(Router, "anthropic/claude-sonnet-5.5", "OPENROUTER_BASE_URL",
                         "OPENROUTER_API_KEY", "/api/v1", reports_cost=True),
    "ollama": Vendor(Local, "qwen3:8b", "OLLAMA_BASE_URL", "OLLAMA_API_KEY", "/v1"),
    "llamacpp": Vendor(Local, "gemma-4", "LLAMACPP_BASE_URL", "LLAMACPP_API_KEY", "/v1"),
    "lmstudio": Vendor(Local, "gemma-4", "LMSTUDIO_BASE_URL", "LMSTUDIO_API_KEY", "/v1"),
    "vllm": Vendor(Local, "gemma-4", "VLLM_BASE_URL", "VLLM_API_KEY", "/v1"),
    "openai-responses": Vendor(Responses, "gpt-6-sol", "OPENAI_BASE_URL", "OPENAI_API_KEY", "/v1",
                               is_priced=True),
    "codex": Vendor(Responses, "gpt-6-sol", "CODEX_BASE_URL", "OPENAI_ACCESS_TOKEN",
                    "/backend-api/codex"),
    "anthropic": Vendor(Anthropic, "claude-sonnet-5-5", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY",
                        "/v1", key_header="x-api-key", is_priced=True),
    "gemini": Vendor(Gemini, "gemini-3.8-flash", "GEMINI_BASE_URL", "GEMINI_API_KEY", "/v1beta",
                     key_header="x-goog-api-key", is_priced=True),
    "antigravity": Vendor(CloudCode, "gemini-3-pro-high", "ANTIGRAVITY_BASE_URL",
                          "ANTIGRAVITY_ACCESS_TOKEN", "",
                          more_env={"ANTIGRAVITY_PROJECT": "project-1"}),
}
for _name, _vendor in VENDORS.items():
    _vendor.name = _name
