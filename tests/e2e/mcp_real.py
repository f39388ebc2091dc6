#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# NEEDS: npm
"""MCP servers of others, from npm: everything (stdio and HTTP), filesystem, memory."""
import json
import os
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
from mcp_scene import Checks, Place  # noqa: E402

check = Checks()
BIN = os.environ.get("TRIVET_TEST_NPM") or os.path.join(harness.TOP, "build", "npm", "node_modules",
                                                        ".bin")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return sock.getsockname()[1]


def web(place):
    """The server `everything` on HTTP; it is started here, as servers with an address are."""
    port = free_port()
    child = subprocess.Popen([os.path.join(BIN, "mcp-server-everything"), "streamableHttp"],
                             env={**place.env, "PORT": str(port)}, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    end = time.monotonic() + 20 * harness.slow()
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except OSError:
            time.sleep(0.05)
    return child, f"http://127.0.0.1:{port}/mcp"


def main(base):
    place = Place(base, "real")
    place.env["PATH"] = BIN + os.pathsep + place.env["PATH"]
    with open(os.path.join(place.work, "note.txt"), "w", encoding="utf-8") as file:
        file.write("a note\n")
    child, url = web(place)
    place.configure(all={"command": "mcp-server-everything", "args": ["stdio"]}, web={"url": url},
                    files={"command": "mcp-server-filesystem", "args": ["."]},
                    memory={"command": "mcp-server-memory", "env": {
                        "MEMORY_FILE_PATH": "${TRIVET_SERVER_DIR}/memory.jsonl"}})
    try:
        entity = {"name": "trivet", "entityType": "engine", "observations": ["is written in C"]}
        run = place.run(
            [("mcp__all__echo", {"message": "hello"}), ("mcp__all__get-sum", {"a": 2, "b": 40}),
             ("mcp__all__get-tiny-image", {}), ("mcp__all__get-resource-links", {"count": 2}),
             ("mcp__all__get-structured-content", {"location": "New York"}),
             ("mcp__all__trigger-long-running-operation", {"duration": 1, "steps": 4}),
             ("mcp__all__get-env", {}), ("mcp__all__get-roots-list", {})],
            [("mcp__web__echo", {"message": "web"}), ("mcp__web__get-sum", {"a": 1, "b": 2}),
             ("mcp__web__get-roots-list", {})],
            [("mcp__files__write_file", {"path": "new.txt", "content": "new\n"}),
             ("mcp__files__read_text_file", {"path": "note.txt"}),
             ("mcp__files__read_text_file", {"path": "/etc/passwd"})],
            [("mcp__memory__create_entities", {"entities": [entity]}),
             ("mcp__memory__search_nodes", {"query": "written"})])
    finally:
        child.terminate()
        child.wait()
    texts = run.texts()
    for at, part in enumerate(["hello", "42", "[image image/png", "[link ", "temperature", "", "HOME",
                               place.work, "web", "3", place.work, "", "a note", "", "", "is written in C"]):
        check(f"call {at}: {part}", at < len(texts) and part in texts[at], texts[at:at + 1])
    failed = [c["tool"] for c in run.calls if c["is_error"]]
    check("only the file outside is refused", failed == ["mcp__files__read_text_file"], failed)
    check("a file was written", os.path.exists(os.path.join(place.work, "new.txt")))
    check("the turn ends well", run.code == 0, run)
    tested = json.loads(place.cli("mcp", "test", "--json").stdout)["servers"]
    versions = {s["name"]: s["protocol"] for s in tested}
    check("the versions", versions["all"] == versions["files"] == "2025-11-25", versions)
    check("no process is left", not place.leftovers(), place.leftovers())


with harness.private_place() as scratch:
    main(scratch)
check.end()
