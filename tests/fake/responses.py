# SPDX-License-Identifier: MIT
"""A reply of the fake provider's script as the events of an OpenAI Responses stream.

The members are those of provider.py, and besides:
  encrypted         encrypted content of the reasoning item (default "ZW5jcnlwdGVk"); null sends none
  late              true: the encrypted content stands only in the last event
  refusal           text, as a refusal behind the text
  interleaved       true: the pieces of parallel calls come in turns
  chunks            an object is a whole event, named by its "type"
  usage             {"input_tokens", "input_tokens_details", "output_tokens", ...}
  finish            "completed" (default); a reason such as "max_output_tokens": incomplete; an
                    object: the error of a failed response; null: none
  error             object {"code", "message"}: an error event instead of the end
  empty_output      true: no items in the last event, as the ChatGPT backend does
"""
import itertools
import json

ENCRYPTED = "ZW5jcnlwdGVk"


def pieces(text, size):
    return [text[i : i + size] for i in range(0, len(text), size)]


class Item:
    """An output item: how it begins, what streams, how it ends."""

    def __init__(self, index, item, deltas=(), **end):
        self.index, self.deltas = index, list(deltas)
        self.begun, self.ended = item, {**item, **end, "status": "completed"}

    def begin(self):
        yield {"type": "response.output_item.added", "output_index": self.index, "item": self.begun}

    def stream(self):
        for delta in self.deltas:
            yield {"output_index": self.index, "item_id": self.begun["id"], **delta}

    def end(self):
        yield {"type": "response.output_item.done", "output_index": self.index, "item": self.ended}

    def events(self):
        return itertools.chain(self.begin(), self.stream(), self.end())


def reasoning(index, reply, size):
    kind = "response.reasoning_summary_text.delta"
    deltas = [{"type": kind, "summary_index": 0, "delta": piece}
              for piece in pieces(reply["reasoning"], size)]
    end = {"summary": [{"type": "summary_text", "text": reply["reasoning"]}]}
    if reply.get("encrypted", ENCRYPTED):
        end["encrypted_content"] = reply.get("encrypted", ENCRYPTED)
    return Item(index, {"type": "reasoning", "id": f"rs_{index}", "summary": []}, deltas, **end)


def message(index, reply, size):
    text = reply.get("text", "") * reply.get("text_repeat", 1)
    parts = [{"type": "output_text", "text": text, "annotations": []}] if text else []
    deltas = [{"type": "response.output_text.delta", "content_index": 0, "delta": piece}
              for piece in pieces(text, size)]
    if reply.get("refusal"):
        parts.append({"type": "refusal", "refusal": reply["refusal"]})
        deltas += [{"type": "response.refusal.delta", "content_index": len(parts) - 1,
                    "delta": piece} for piece in pieces(reply["refusal"], size)]
    start = {"type": "message", "id": f"msg_{index}", "role": "assistant", "content": []}
    return Item(index, start, deltas, content=parts)


def call(index, number, wanted, reply, size):
    arguments = wanted.get("arguments", "{}")
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments)
    kind = "response.function_call_arguments"
    deltas = [{"type": f"{kind}.delta", "delta": piece} for piece in pieces(arguments, size)]
    deltas.append({"type": f"{kind}.done", "arguments": arguments})
    start = {"type": "function_call", "id": f"fc_{index}", "arguments": "",
             "call_id": wanted.get("id", f"call_{number}"), "name": wanted["name"]}
    return Item(index, start, [] if reply.get("whole_calls") else deltas, arguments=arguments)


def items(reply):
    size = reply.get("piece", 5)
    found = []
    if reply.get("reasoning"):
        found.append(reasoning(len(found), reply, size))
    if reply.get("text") or reply.get("refusal"):
        found.append(message(len(found), reply, size))
    for number, wanted in enumerate(reply.get("tool_calls", []), 1):
        found.append(call(len(found), number, wanted, reply, size))
    return found


def in_turns(calls):
    """All begin, stream a piece each in turn, all end, the last first."""
    yield from itertools.chain(*(item.begin() for item in calls))
    for row in itertools.zip_longest(*(item.stream() for item in calls)):
        yield from (event for event in row if event)
    yield from itertools.chain(*(item.end() for item in reversed(calls)))


def body(reply, found):
    for item in found:
        if reply.get("interleaved") and item.begun["type"] == "function_call":
            yield from in_turns(found[item.index :])
            return
        for event in item.events():
            if reply.get("late") and event.get("item"):
                kept = {k: v for k, v in event["item"].items() if k != "encrypted_content"}
                event = {**event, "item": kept}
            yield event


def end(reply, found):
    if reply.get("error"):
        return {"type": "error", "param": None, **reply["error"]}
    finish = reply.get("finish", "completed")
    if not finish or reply.get("no_done"):
        return None
    status = "completed" if finish == "completed" else "incomplete"
    response = {"id": "resp_fake", "status": status, "model": "fake",
                "output": [] if reply.get("empty_output") else [item.ended for item in found]}
    if isinstance(finish, dict):
        status, response["status"], response["error"] = "failed", "failed", finish
    elif status == "incomplete":
        response["incomplete_details"] = {"reason": finish}
    if "usage" in reply:
        response["usage"] = reply["usage"]
    return {"type": f"response.{status}", "response": response}


def unnumbered(reply):
    found = items(reply)
    yield {"type": "response.created", "response": {"id": "resp_fake", "status": "in_progress"}}
    yield {"type": "response.in_progress", "response": {"id": "resp_fake"}}
    yield from body(reply, found)
    yield from reply.get("chunks", [])
    last = end(reply, found)
    if last:
        yield last


def chunks(reply):
    """Objects for events, strings for raw bytes."""
    for number, event in enumerate(unnumbered(reply)):
        yield event if isinstance(event, str) else {"sequence_number": number, **event}
