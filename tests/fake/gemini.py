# SPDX-License-Identifier: MIT
"""A reply of the fake provider's script as the chunks of a Gemini stream, bare or in the envelope
of Cloud Code.

The members are those of provider.py; a call is always sent whole.  Besides:
  signature         of the first call or, without calls, of an empty text behind all others
                    (default "c2lnbmF0dXJl"); null sends none
  no_ids            true: calls come without ids
  chunks            list: an object is a part, or a whole chunk if it has "candidates", "error",
                    "promptFeedback" or "usageMetadata"; a string is sent as it is
  usage             object with the names of Chat Completions or of usageMetadata
  finish            finishReason (default "STOP"); null sends none
"""
import json

WHOLE = {"candidates", "error", "promptFeedback", "usageMetadata"}
WORDS = {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}


def pieces(text, size):
    return [text[i : i + size] for i in range(0, len(text), size)]


def call_parts(reply, signature):
    for index, call in enumerate(reply.get("tool_calls", [])):
        arguments = call.get("arguments", {})
        if isinstance(arguments, str):
            arguments = json.loads(arguments or "{}")
        inside = {"name": call["name"], "args": arguments}
        if not reply.get("no_ids"):
            inside["id"] = call.get("id", f"call_{index + 1}")
        part = {"functionCall": inside}
        if signature and index == 0:
            part["thoughtSignature"] = signature
        yield part


def parts(reply):
    size = reply.get("piece", 5)
    signature = reply.get("signature", "c2lnbmF0dXJl")
    for piece in pieces(reply.get("reasoning", ""), size):
        yield {"thought": True, "text": piece}
    for _ in range(reply.get("text_repeat", 1)):
        for piece in pieces(reply.get("text", ""), size):
            yield {"text": piece}
    yield from call_parts(reply, signature)
    if signature and reply.get("text") and not reply.get("tool_calls"):
        yield {"text": "", "thoughtSignature": signature}


def usage_of(usage):
    if "prompt_tokens" not in usage:
        return usage
    prompt, thoughts = usage.get("prompt_tokens_details", {}), usage.get("completion_tokens_details", {})
    reasoning = thoughts.get("reasoning_tokens", 0)
    return {"promptTokenCount": usage["prompt_tokens"], "thoughtsTokenCount": reasoning,
            "candidatesTokenCount": usage.get("completion_tokens", 0) - reasoning,
            "cachedContentTokenCount": prompt.get("cached_tokens", 0)}


def chunk(part, finish=None):
    candidate = {"content": {"role": "model", "parts": [part] if part else []}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "responseId": "fake", "modelVersion": "fake"}


def chunks(reply):
    """Objects for events, strings for raw bytes."""
    for part in parts(reply):
        yield chunk(part)
    for item in reply.get("chunks", []):
        yield item if isinstance(item, str) or WHOLE & set(item) else chunk(item)
    finish = reply.get("finish", "STOP")
    last = chunk(None, WORDS.get(finish, finish)) if finish else {}
    if "usage" in reply:
        last["usageMetadata"] = usage_of(reply["usage"])
    if last:
        yield last


def wrapped(reply):
    for item in chunks(reply):
        is_bare = isinstance(item, str) or "error" in item
        yield item if is_bare else {"response": item, "traceId": "fake"}


def last_user_text(body):
    """What the user said last; "" for a request of another format."""
    inner = body.get("request", body) if isinstance(body, dict) else {}
    for content in reversed(inner.get("contents", []) if isinstance(inner, dict) else []):
        texts = [part["text"] for part in content.get("parts", []) if "text" in part]
        if content.get("role") == "user" and texts:
            return "\n".join(texts)
    return ""
