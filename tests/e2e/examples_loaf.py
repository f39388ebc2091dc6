#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The two loaf clients of examples/ against the real program.

They use only what the protocol's public pages show: handshake, session, payload.text,
payload.tool_name, payload.ok, and the events of a sign-in without a browser.  Python and JavaScript
must print the same.

covers: loaf 100, 105, 106, 112
"""
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
from client import PROGRAM  # noqa: E402

CLIENTS = {"python": [sys.executable, f"{harness.TOP}/examples/loaf_client.py"],
           "node": ["node", f"{harness.TOP}/examples/loaf_client.mjs"]}
counts = [0, 0]


def check(name, good, detail=""):
    counts[0 if good else 1] += 1
    if not good:
        print(f"FAIL {name}: {detail}", flush=True)


def run(client, env, *args, model="rehearsal/hello", command=f"{PROGRAM} loaf rpc"):
    done = subprocess.run([*CLIENTS[client], "--engine", command, *args],
                          env={**env, "TRIVET_MODEL": model}, cwd=env["TMPDIR"],
                          capture_output=True, text=True, timeout=60 * harness.slow(),
                          stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, harness.without_noise(done.stderr)


def test_turns(client, env):
    got = run(client, env, "hello")
    check(f"{client}: text", got == (0, "Hello from the rehearsal model.\n", ""), got)
    got = run(client, env, "--title", "From an example", "one", "two", model="rehearsal/echo")
    check(f"{client}: two turns of one session", got == (0, "one\ntwo\n", ""), got)
    with open(os.path.join(env["TMPDIR"], "README.md"), "w", encoding="ascii") as file:
        file.write("# Here\n")
    status, out, err = run(client, env, "go", model="rehearsal/parallel")
    check(f"{client}: tools", status == 0 and out == "All three came back.\n" and
          err.count("Tool: ") == 3 and err.count("Result: success") == 3, (status, out, err))
    status, out, err = run(client, env, "go", model="rehearsal/fail401")
    check(f"{client}: a turn that fails", status == 1 and out == "" and err != "", (out, err))
    status, out, err = run(client, env, "go", "again", model="")
    check(f"{client}: no model", status == 1 and "select a model" in err, (out, err))


def test_no_server(client, env):
    status, out, err = run(client, env, "hello", command="/bin/false rpc")
    check(f"{client}: a server that is gone", status == 1 and out == "" and "gone" in err, err)


def authority(env):
    """The authorisation server of the tests, and the environment that leads to it."""
    control, log = (os.path.join(env["TMPDIR"], n) for n in ("oauth.json", "oauth.log"))
    with open(control, "w", encoding="ascii") as file:
        json.dump({"polls": [{"status": 403}, {"status": 404}]}, file)
    server = subprocess.Popen([sys.executable, f"{harness.TOP}/tests/fake/oauth.py", "--control",
                               control, "--log", log, "--die-with-parent"],
                              stdout=subprocess.PIPE, text=True, env=env)
    port = server.stdout.readline().split()[1]
    return server, {**env, "TRIVET_OPENAI_AUTH_URL": f"http://127.0.0.1:{port}"}


def test_login(client, env):
    server, env = authority(env)
    try:
        status, out, err = run(client, env, "--login")
        lines = out.splitlines()
        check(f"{client}: sign-in", status == 0 and err == "" and len(lines) == 4 and
              lines[0].startswith("Open this URL: http") and
              lines[1].startswith("Device code: ") and lines[2].startswith("Visit: http") and
              lines[3] == "Signed in to openai.", (status, out, err))
        with open(os.path.join(env["TMPDIR"], "oauth.json"), "w", encoding="ascii") as file:
            json.dump({"device_status": 404}, file)
        status, out, err = run(client, env, "--login")
        check(f"{client}: a sign-in that is refused", status == 1 and "Device code" in err and
              "error: " in err, (status, out, err))
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


def main():
    if not shutil.which("node"):
        check("node is there", False, "install nodejs")
        CLIENTS.pop("node")
    for client in CLIENTS:
        with harness.private_place() as base:
            env = harness.clean_env(base)
            test_turns(client, env)
            test_no_server(client, env)
            test_login(client, env)
    harness.finish(*counts)


main()
