# SPDX-License-Identifier: MIT
"""A reply of the fake provider's script as the events of an Anthropic Messages stream.

The members are those of provider.py, and besides:
  signature         of the reasoning (default "c2lnbmF0dXJl"); null sends none
  redacted          data of a redacted_thinking block behind the reasoning
  chunks            an object is a whole event, named by its "type"
  usage             {"input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens",
                    "output_tokens"}; the input side is said at the start, the output at the end
  finish            stop_reason; default "tool_use" or "end_turn"; null: no message_delta
  no_done           true: no message_stop
"""
import json

SIGNATURE = "c2lnbmF0dXJl"


def pieces(text, size):
    return [text[i : i + size] for i in range(0, len(text), size)]


def block(index, start, deltas):
    yield {"type": "content_block_start", "index": index, "content_block": start}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def thinking(reply, size):
    deltas = [{"type": "thinking_delta", "thinking": piece}
              for piece in pieces(reply["reasoning"], size)]
    signature = reply.get("signature", SIGNATURE)
    if signature:
        deltas.append({"type": "signature_delta", "signature": signature})
    return {"type": "thinking", "thinking": "", "signature": ""}, deltas


def call(number, wanted, size, is_whole):
    arguments = wanted.get("arguments", "{}")
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments)
    start = {"type": "tool_use", "id": wanted.get("id", f"toolu_{number}"), "name": wanted["name"],
             "input": {}}
    texts = [arguments] if is_whole else ["", *pieces(arguments, size)]
    return start, [{"type": "input_json_delta", "partial_json": text} for text in texts]


def blocks(reply):
    """Each block as its start and its deltas."""
    size = reply.get("piece", 5)
    if reply.get("reasoning"):
        yield thinking(reply, size)
    if reply.get("redacted"):
        yield {"type": "redacted_thinking", "data": reply["redacted"]}, []
    if reply.get("text"):
        texts = pieces(reply["text"], size) * reply.get("text_repeat", 1)
        yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": t} for t in texts]
    for number, wanted in enumerate(reply.get("tool_calls", []), 1):
        yield call(number, wanted, size, reply.get("whole_calls"))


def chunks(reply):
    """Objects for events, strings for raw bytes."""
    usage = {"input_tokens": 1, "output_tokens": 1, **reply.get("usage", {})}
    yield {"type": "message_start",
           "message": {"id": "msg_fake", "type": "message", "role": "assistant", "model": "fake",
                       "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}}
    yield {"type": "ping"}
    for index, (start, deltas) in enumerate(blocks(reply)):
        yield from block(index, start, deltas)
    yield from reply.get("chunks", [])
    finish = reply.get("finish", "tool_use" if reply.get("tool_calls") else "end_turn")
    if finish:
        yield {"type": "message_delta", "delta": {"stop_reason": finish, "stop_sequence": None},
               "usage": {"input_tokens": None, "output_tokens": usage["output_tokens"]}}
    if not reply.get("no_done"):
        yield {"type": "message_stop"}
