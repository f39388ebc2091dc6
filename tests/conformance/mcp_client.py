#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""trivet as the client that the official conformance suite of MCP tests.  By hand:

    npx @modelcontextprotocol/conformance client --suite all \\
        --command "python3 tests/conformance/mcp_client.py build/trivet"

The suite appends the address of its server and names the scenario in MCP_CONFORMANCE_SCENARIO.  The
client signs in where the server wants that (this script is the browser), lists the tools and calls
each of them once: with the arguments that the suite names in MCP_CONFORMANCE_CONTEXT, else with
some that fit; a parameter `schema` gets the schema of the first tool.  Where the server refuses the
sign-in later, or wants further rights, the client signs in again.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

PROGRAM, URL = os.path.abspath(sys.argv[1]), sys.argv[-1]
VALUES = {"number": 2, "integer": 2, "string": "x", "boolean": True, "array": [], "object": {}}


def browse(url):
    try:
        urllib.request.urlopen(url, timeout=10).read()
    except urllib.error.HTTPError as error:
        print("browser:", error.code, error.read()[:200], file=sys.stderr)


def sign_in(env, cwd):
    child = subprocess.Popen([PROGRAM, "mcp", "login", "s"], env=env, cwd=cwd, text=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for line in child.stderr:
        print(line, end="", file=sys.stderr)
        found = re.search(r"https?://\S+", line)
        if found and "code_challenge" in line:
            browse(found[0])
    child.wait()
    return child.returncode == 0


def lacks(*texts):
    return any("further rights" in text or "wants a sign-in" in text or "refused the sign-in" in text
               for text in texts if text)


def main():
    base = tempfile.mkdtemp(prefix="trivet-conformance-")
    env = {"PATH": os.environ["PATH"], "HOME": base, "TMPDIR": base}
    os.makedirs(os.path.join(base, ".config", "trivet"))
    os.makedirs(os.path.join(base, "work"))
    work = os.path.join(base, "work")
    entry = {"url": URL, "timeout": 20000}
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    if context.get("client_id"):
        entry["oauth"] = {"clientId": context["client_id"], "clientSecret": context.get("client_secret")}
    with open(os.path.join(base, ".config", "trivet", "mcp.json"), "w", encoding="utf-8") as file:
        json.dump({"mcpServers": {"s": entry}}, file)

    def test():
        done = subprocess.run([PROGRAM, "mcp", "test", "--json"], env=env, cwd=work, text=True,
                              capture_output=True, check=False)
        print(done.stderr, file=sys.stderr)
        return json.loads(done.stdout)["servers"][0]

    for _ in range(3):
        server = test()
        if server["state"] == "ready" or not lacks(server["error"]):
            break
        if not sign_in(env, work):
            return 1
    tools = {t["remote"]: t for t in server["tools"]}
    print(server["state"], server["error"], list(tools), file=sys.stderr)
    first = next(iter(tools.values()), {}).get("inputSchema")
    values = {name: {k: first if k == "schema" else VALUES.get(v.get("type"), "x")
                     for k, v in t["inputSchema"]["properties"].items()} for name, t in tools.items()}
    wanted = context.get("toolCalls") or [{"name": k, "arguments": v} for k, v in values.items()]
    calls = [{"call": tools[c["name"]]["name"], "args": c["arguments"]} for c in wanted if c["name"] in tools]
    with open(os.path.join(base, "s.json"), "w", encoding="utf-8") as file:
        json.dump({"rounds": [[call] for call in calls] + [[{"say": "over"}]]}, file)
    run = [PROGRAM, "exec", "--stream-json", "-m", f"rehearsal/{base}/s.json", "--allow", "mcp__*", "go"]
    done = subprocess.run(run, env=env, cwd=work, check=False, stdout=subprocess.PIPE, text=True)
    if server["state"] == "ready" and lacks(done.stdout, test()["error"]) and sign_in(env, work):
        done = subprocess.run(run, env=env, cwd=work, check=False)
    return done.returncode if server["state"] == "ready" else 1


sys.exit(main())
