#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# NEEDS: npm
"""examples/acp_client.mjs, a client on top of the official ACP library, visits every method.

The client checks what it gets; here is checked that it ended well and called all methods of
`trivet describe acp`, and that every message fits the JSON Schema that comes with the library.

covers: acp 31, 42, 44, 45, 53, 56, 72, 81, 89, 101, 106
"""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import harness  # noqa: E402
import rpc_stream  # noqa: E402
from client import PROGRAM  # noqa: E402

MODULES = os.path.join(harness.TOP, "build", "npm", "node_modules")
SCHEMA = os.path.join(MODULES, "@agentclientprotocol", "sdk", "schema", "v1", "schema.json")
QUESTION = {"questions": [{"question": "Go on?", "header": "Next", "options": [
    {"label": "Yes", "description": "go on"}, {"label": "No", "description": "stop"}]}]}
SCENE = {"context_window": 100000, "turns": [
    {"when": "read draft.txt", "rounds": [
        [{"call": "read_file", "args": {"path": "draft.txt"}}], [{"say": "{{tool_output}}"}]]},
    {"when": "edit draft", "rounds": [
        [{"call": "edit_file", "args": {"path": "draft.txt", "old_string": "not saved yet",
                                        "new_string": "saved now"}}],
        [{"call": "TodoWrite", "args": {"todos": [
            {"content": "Look", "activeForm": "Looking", "status": "pending"}]}}], [{"say": "Done."}]]},
    {"when": "ask a question", "rounds": [
        [{"call": "ask_user_question", "args": QUESTION}], [{"say": "{{tool_output}}"}]]},
    {"when": "run a command", "rounds": [
        [{"think": "A command."}, {"call": "bash", "args": {"command": "echo hi"}}],
        [{"say": "After."}]]}],
    "rounds": [[{"think": "Hm."}, {"say": "Hello there."}]]}


def run_client(base, env):
    workspace = os.path.join(base, "workspace")
    os.makedirs(workspace)
    with open(os.path.join(workspace, "scene.json"), "w", encoding="utf-8") as file:
        json.dump(SCENE, file)
    env["NODE_PATH"] = MODULES
    env["PATH"] = f"{MODULES}/.bin:{env['PATH']}"
    log = os.path.join(base, "log")
    done = subprocess.run(
        ["node", os.path.join(harness.TOP, "examples", "acp_client.mjs"), "--engine",
         f"{PROGRAM} acp --model rehearsal/{workspace}/scene.json", "--workspace", workspace,
         "--log", log], env=env, capture_output=True, text=True, timeout=60 * harness.slow())
    with open(log, encoding="utf-8") as file:
        return done, [json.loads(line) for line in file]


def official(messages):
    """What the library's schema says against notifications and requests, or None without a
    validator."""
    try:
        import jsonschema
    except ImportError:
        return None
    with open(SCHEMA, encoding="utf-8") as file:
        schema = json.load(file)
    definitions = {one.get("x-method"): name for name, one in schema["$defs"].items()
                   if one.get("x-method") and one.get("x-side") == "client"
                   and not name.endswith("Response")}
    faults = []
    for message in messages:
        name = definitions.get(message.get("method"))
        if not name:
            continue
        part = {"$schema": schema["$schema"], "$defs": schema["$defs"], "$ref": f"#/$defs/{name}"}
        for fault in jsonschema.Draft202012Validator(part).iter_errors(message["params"]):
            faults.append(f"{name}: {fault.message[:200]}: {json.dumps(message)[:300]}")
    return faults


def main():
    with harness.private_place() as base:
        done, messages = run_client(base, harness.clean_env(base))
    called = {line.split("  ")[0] for line in done.stdout.splitlines()}
    wanted = set(rpc_stream.dialect_of(PROGRAM, "acp").results) - {"$/cancel_request"}
    faults = official(messages)
    checks = {
        "the client ended well": done.returncode == 0,
        "nothing on stderr": harness.without_noise(done.stderr) == "",
        f"all methods were called: {sorted(wanted - called)}": wanted <= called,
        f"messages fit the library's schema: {(faults or [])[:3]}": not faults,
    }
    for name, ok in checks.items():
        if not ok:
            print("FAIL", name, done.stdout[-1500:], done.stderr[-1500:])
    passed = sum(checks.values())
    print(f"{passed} passed, {len(checks) - passed} failed")
    return passed != len(checks)


if __name__ == "__main__":
    sys.exit(main())
