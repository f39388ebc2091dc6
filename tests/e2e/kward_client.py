#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# NEEDS: npm
"""examples/kward_client.mjs, a client on top of vscode-jsonrpc, visits every method of the program.

The client checks what it gets; here is checked that it ended well, said nothing on stderr, and that
the methods it called are exactly those of `trivet describe kward`: a method that comes or goes must
come or go in the example too.
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

FAKE = os.path.join(harness.TOP, "tests", "fake")
MODULES = os.path.join(harness.TOP, "build", "npm", "node_modules")
QUESTION = {"questions": [{"question": "Go on?", "header": "Next", "options": [
    {"label": "Yes", "description": "go on"}, {"label": "No", "description": "stop"}]}]}
REPLIES = [
    {"match": "ask_user_question", "tool_calls": [
        {"id": "q1", "name": "ask_user_question", "arguments": QUESTION}]},
    {"match": "Count slowly", "text": "one two three ", "stall_after": 2},
    {"text": "Hello, this is a longer greeting that somebody may want to shorten.", "repeat": True},
]


def serve(name, *args):
    server = subprocess.Popen([sys.executable, os.path.join(FAKE, name), "--port", "0",
                               "--die-with-parent", *args], stdout=subprocess.PIPE, text=True)
    return server, f"http://127.0.0.1:{server.stdout.readline().split()[1]}"


def write(path, text, mode=0o600):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text if isinstance(text, str) else json.dumps(text))
    os.chmod(path, mode)
    return path


def furnish(base, provider):
    """A configuration with a local model, a template and a plugin."""
    home = os.path.join(base, "home", ".kward")
    write(os.path.join(home, "config.json"), {
        "provider": "local", "local_base_url": f"{provider}/v1", "local_model": "tiny",
        "compaction": {"keep_recent_tokens": 10},
        "logging": {"enabled": True, "tokens": True, "performance": True}})
    write(os.path.join(home, "prompts", "plan.md"), "Plan $ARGUMENTS")
    write(os.path.join(home, "plugins", "greet", "plugin.json"),
          {"program": "greet", "commands": [{"name": "greet"}]})
    write(os.path.join(home, "plugins", "greet", "greet"), "#!/bin/sh\necho hello\n", 0o700)


def run_client(base, env):
    engine = f"{PROGRAM} kward rpc"
    workspace = os.path.join(base, "workspace")
    os.makedirs(workspace)
    env["NODE_PATH"] = MODULES
    env["PATH"] = f"{MODULES}/.bin:{env['PATH']}"
    return subprocess.run(
        ["node", os.path.join(harness.TOP, "examples", "kward_client.mjs"), "--engine", engine,
         "--workspace", workspace, "--sign-in"], env=env, capture_output=True, text=True,
        timeout=60 * harness.slow())


def rows():
    return set(rpc_stream.dialect_of(PROGRAM, "kward").results)


def main():
    checks = {}
    with harness.private_place() as base:
        env = harness.clean_env(base)
        provider, url = serve("provider.py", "--script",
                              write(os.path.join(base, "script.json"), REPLIES))
        issuer, issuer_url = serve("oauth.py", "--control", write(os.path.join(base, "control"), {}),
                                   "--log", os.path.join(base, "issued"))
        env.update(TRIVET_OPENAI_AUTH_URL=issuer_url, OPENROUTER_BASE_URL="http://127.0.0.1:9/v1",
                   KWARD_OAUTH_PORT="0")
        furnish(base, url)
        with provider, issuer:
            done = run_client(base, env)
            provider.kill()
            issuer.kill()
        called = {line.split("  ")[0] for line in done.stdout.splitlines()}
        checks["the client ended well"] = done.returncode == 0
        checks["nothing on stderr"] = not done.stderr
        checks[f"not visited: {sorted(rows() - called)}"] = rows() <= called
        checks[f"not described: {sorted(called - rows())}"] = called <= rows()
        checks["nothing is left behind"] = not harness.left_behind(base)
    for name in (name for name, is_good in checks.items() if not is_good):
        print(f"FAILED {name}")
    if not all(checks.values()):
        print(done.stdout, done.stderr)
    harness.finish(sum(checks.values()), len(checks) - sum(checks.values()))


main()
