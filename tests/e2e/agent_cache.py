#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""After a round of 12 calls the next request finds the cache of the one before (Anthropic looks back 20
blocks from a mark), cache writes and reads have their own price, and a model may name another."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from played_model import Checks, Model, client, harness, provider  # noqa: E402
import formats  # noqa: E402

check = Checks()
LOOKED_BACK = 20


def blocks(body):
    """All blocks of the conversation in order, and whether each has a mark."""
    return [(json.dumps({k: v for k, v in block.items() if k != "cache_control"}), "cache_control" in block)
            for message in body["messages"] for block in message["content"]]


def hits(before, after):
    """Whether a mark of the second request lies at most 20 blocks behind one of the first, on the same bytes."""
    first, second = blocks(before), blocks(after)
    stored = {i for i, (_, is_marked) in enumerate(first) if is_marked
              and [b for b, _ in first[:i + 1]] == [b for b, _ in second[:i + 1]]}
    return any(is_marked and any(0 <= i - s < LOOKED_BACK for s in stored) for i, (_, is_marked) in enumerate(second))


def run(base, script, env, *args):
    workspace = os.path.join(base, "workspace")
    os.makedirs(workspace, exist_ok=True)
    with open(os.path.join(workspace, "in.txt"), "w", encoding="ascii") as file:
        file.write("alpha\n")
    with provider.Server(script) as server:
        full = {**harness.clean_env(base), **env(server.port)}
        done = subprocess.run([client.PROGRAM, "exec", "-q", "--json", *args, "go"], cwd=workspace, env=full,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=60 * harness.slow(), check=False)
        return json.loads(done.stdout), [e["body"] for e in server.log if "body" in e]


def marks(base):
    """1, 12 and 30 calls in a round."""
    vendor = formats.VENDORS["anthropic"]
    for n in (1, 12, 30):
        calls = [{"id": f"call_{n}_{i}", "name": "read_file", "arguments": {"path": "in.txt", "limit": i + 1}}
                 for i in range(n)]
        script = [{"text": "Look.", "tool_calls": calls}, {"text": "Done.", "repeat": True}]
        _, bodies = run(base, script, lambda port: vendor.env(port, "key-of-cache-1"), "--model", vendor.slug)
        check(f"{n} calls", len(bodies) == 2 and hits(*bodies), [sum(m for _, m in blocks(b)) for b in bodies])
        check(f"{n} calls: at most four marks", all(json.dumps(b).count("cache_control") <= 4 for b in bodies))


def prices(base):
    """100 plain, 200 read, 1,000 written, 10 out."""
    usage = {"prompt_tokens": 1300, "completion_tokens": 10,
             "prompt_tokens_details": {"cached_tokens": 200, "cache_write_tokens": 1000}}
    models = os.path.join(base, "models.json")
    for write, wanted in ((None, 1000 * 2.5), (8, 1000 * 8)):
        entry = {"id": "openai/played", "price_in": 2, "price_out": 10, "price_cached": 0.5}
        if write:
            entry["price_cache_write"] = write
        with open(models, "w", encoding="ascii") as file:
            json.dump({"models": [entry]}, file)
        out, _ = run(base, Model(iter([{"text": "Well.", "usage": usage}])), lambda port: {
            "OPENAI_API_KEY": "test-key-123456", "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1",
            "TRIVET_MODEL": "openai/played", "TRIVET_MODELS": models})
        cost = (100 * 2 + 200 * 0.5 + wanted + 10 * 10) / 1e6
        check(f"price {write}", abs(out["cost_usd"] - cost) < 1e-9, (out["cost_usd"], cost, out["usage"]))


def main():
    for scene in (marks, prices):
        with check.scene(scene.__name__) as base:
            scene(base)
    return check.end()


sys.exit(main())
