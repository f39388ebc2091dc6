#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""MCP servers on stdio: framing, handshake of both eras, lists, calls, results.

covers: mcp 1-5, 7, 12-16, 18-24, 27-36, 42-47, 60, 62
"""
import json
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
from mcp_scene import FAKE, Checks, Place  # noqa: E402

check = Checks()
ECHO = ("mcp__fake__echo", {"text": "hi"})
VERSION = "io.modelcontextprotocol/protocolVersion"
CAN = "io.modelcontextprotocol/clientCapabilities"


def legacy(base):
    bundles = ("NODE_EXTRA_CA_CERTS", "PIP_CERT", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "SSL_CERT_FILE", "SSL_CERT_DIR",
               "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "AWS_CA_BUNDLE", "CARGO_HTTP_CAINFO", "DENO_CERT",
               "NIX_SSL_CERT_FILE", "BUNDLE_SSL_CA_CERT", "COMPOSER_CAFILE", "NPM_CONFIG_CAFILE",
               "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH")
    place = Place(base, "legacy plac\u00e9", ANTHROPIC_API_KEY="sk-ant-0123456789", PLAIN="1",
                  **{name: "/ca/" + name for name in bundles})
    place.configure(fake=place.fake("banner", "noisy", "crlf", env={"GIVEN": "${PLAIN}-x"}))
    long_name = "x" * 100
    run = place.run(
        [ECHO, ("mcp__fake__dots_and_more", {"text": "d"}), ("mcp__fake__untyped", {"text": "u"})],
        [("mcp__fake__mixed", {}), ("mcp__fake__number", {}), ("mcp__fake__both", {})],
        [("mcp__fake__bad", {}), ("mcp__fake__refused", {}), ("mcp__fake__environment", {})],
        [("mcp__fake__ask", {}), ("mcp__fake__inject", {})],
        [("mcp__fake__nothing", {}), ("mcp__fake__steps", {"n": 3}),
         ("mcp__fake__long", {"n": 200000})], [("mcp__fake__picture", {"structured": True})])
    texts = run.texts()
    check("all calls have a result and the turn ends", run.code == 0 and len(texts) == 15, run)
    check("a call with text", texts[0] == "echo: hi", texts[0])
    check("a name with dots", texts[1] == "dots.and.more: d", texts[1])
    check("no type in the schema", texts[2] == "untyped: u", texts[2])
    for part in ("2 matches", "[image image/png,", "[audio audio/wav", "[link a.c: file:///p/a.c",
                 "[resource file:///p/b.c]\nint b;", "application/zip, 3 bytes, not shown",
                 "kind hologram"):
        check(f"mixed content: {part}", part in texts[3], texts[3])
    check("structured content alone", texts[4] == '{"matches":2}', texts[4])
    check("structured content beside a picture, without its bytes", texts[14].splitlines()[1:] == [
        '{"width":1,"images":[{"data":"[70 bytes]"}],"raw":"[1200 bytes]","caption":"one pixel"}'], texts[14])
    check("structured content is not doubled", texts[5] == '{"matches": 3}', texts[5])
    check("a failed tool", texts[6] == "it does not work" and run.calls[6]["is_error"], texts[6])
    check("an error of the protocol", "no such thing\\u001b[2J (-32602)" in texts[7]
          and run.calls[7]["is_error"], texts[7])
    check("no key in the environment", "sk-ant" not in texts[8] and "GIVEN=1-x" in texts[8], texts[8])
    check("where certificates stand is", all(f"{name}=/ca/{name}" in texts[8] for name in bundles), texts[8])
    asked = json.loads(texts[9])
    check("sampling and elicitation are refused",
          [a.get("code") for a in asked[:2]] == [-32601, -32601], asked)
    root = asked[2]["roots"][0]
    check("the workspace is the root", root["name"] == "work" and root["uri"].endswith("/work")
          and "%20plac%C3%A9/" in root["uri"], root)
    check("ping, and an unknown request", asked[3] == {} and asked[4]["code"] == -32601, asked)
    check("escape sequences are text", "\x1b" not in texts[10] and "\u202e" not in texts[10]
          and "\\u001b[2J" in texts[10], texts[10])
    check("an unknown tool names others", "mcp__fake__" in texts[11], texts[11])
    check("progress and result", texts[12] == "all steps", texts[12])
    check("a long result is cut with a notice", len(texts[13]) < 200000 and "\ufffd" not in texts[13]
          and "lines are cut" in texts[13], texts[13][-300:])
    got = place.journal()
    methods = [m["method"] for m in got if "method" in m]
    check("probe, handshake, list, in this order", methods[:4] == [
        "server/discover", "initialize", "notifications/initialized", "tools/list"], methods)
    first = got[2]["params"]
    check("initialize is complete", first["protocolVersion"] == "2025-11-25"
          and "capabilities" in first and first["clientInfo"]["name"] == "trivet", first)
    calls = [m["params"] for m in got if m.get("method") == "tools/call"]
    check("arguments are objects", all(isinstance(c["arguments"], dict) for c in calls), calls)
    check("no process is left", not place.leftovers(), place.leftovers())
    run = place.run([ECHO, ("mcp__fake__" + long_name[:44] + "_" + digest(long_name), {"text": "l"})])
    check("a name of 100 characters", run.text(1) == long_name + ": l", run)
    methods = place.methods()
    check("the era is remembered", methods[:2] == ["initialize", "notifications/initialized"], methods)
    log = os.path.join(place.env["XDG_STATE_HOME"], "trivet", "mcp", "fake.log")
    check("stderr is in the log", os.path.exists(log) and "listening" in open(log).read())


def digest(text):
    import hashlib
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def modern(base):
    place = Place(base, "modern")
    place.configure(fake=place.fake("modern", "split"))
    run = place.run([ECHO, ("mcp__fake__wants_input", {}), ("mcp__fake__slow", {"ms": 10})])
    got = place.journal()
    methods = [m.get("method") for m in got if "method" in m]
    check("modern: no handshake", run.text() == "echo: hi" and "initialize" not in methods
          and not any(m.startswith("notifications") for m in methods), (run, methods))
    metas = [m["params"]["_meta"] for m in got if "method" in m]
    check("modern: version and capabilities in every request", metas and all(
        meta[VERSION] == "2026-07-28" and meta[CAN] == {} for meta in metas), metas)
    answer = json.loads(run.text(1)) if run.text(1).startswith("[") else [0, 0, 0]
    asks = [m["id"] for m in got if m.get("params", {}).get("name") == "wants_input"]
    check("modern: a question is declined with a new id and the same state",
          answer[:2] == [{"q": {"action": "decline"}}, "opaque-1"] and len(set(asks)) == 2
          and answer[2] == asks[1], (answer, asks))


def versions(base):
    place = Place(base, "versions")
    place.configure(old=place.fake("version=2024-11-05"), odd=place.fake("version=1999-01-01"),
                    named=place.fake("unsupported=2025-03-26"), dual=place.fake("dual"),
                    plain=place.fake("toolless"))
    run = place.run([("mcp__old__echo", {"text": "1"}), ("mcp__odd__echo", {}),
                     ("mcp__named__echo", {"text": "3"}), ("mcp__dual__echo", {"text": "4"}),
                     ("mcp__plain__echo", {})])
    texts = run.texts()
    check("an older version", texts[0] == "echo: 1", texts)
    check("an unknown version is not used", "echo" not in texts[1] or run.calls[1]["is_error"], texts)
    check("a version that the server names", texts[2] == "echo: 3", texts)
    check("two servers with the same tool", texts[3] == "echo: 4", texts)
    asked = [m["params"]["protocolVersion"] for m in place.journal(keep=True)
             if m.get("method") == "initialize"]
    check("initialize with the version that was named", "2025-03-26" in asked, asked)
    lists = [m for m in place.journal() if m.get("method") == "tools/list"]
    check("no tools, no list", len(lists) == 3, len(lists))
    check("no process is left", not place.leftovers(), place.leftovers())


def probes(base):
    place = Place(base, "probes", A_WORD="w")
    place.configure(mute=place.fake("silent-probe", startupTimeout=2500),
                    dying=place.fake("die-on-probe"), missing={"command": "no-such-program-here"},
                    broken={"command": 5}, off=place.fake(disabled=True),
                    unset={"command": "python3", "args": ["${NO_SUCH_VARIABLE}"]},
                    set={"command": "${NO_SUCH_VARIABLE:-python3}",
                         "args": place.fake()["args"] + ["${A_WORD}"]})
    run = place.run([("mcp__mute__echo", {"text": "1"}), ("mcp__dying__echo", {"text": "2"}),
                     ("mcp__set__echo", {"text": "3"}), ("mcp__off__echo", {})])
    check("silence, death, a default: all work", run.texts()[:3] == ["echo: 1", "echo: 2", "echo: 3"]
          and run.code == 0, run)
    started = [m for m in place.journal() if "started" in m]
    check("expanded arguments; what is off did not start", len(started) == 5
          and any(m["args"][-1] == "w" for m in started), started)
    run = place.run([("mcp__mute__echo", {"text": "1"}), ("mcp__dying__echo", {"text": "2"})])
    probed = [m for m in place.journal() if m.get("method") == "server/discover"]
    check("the next start probes only what was never ready", run.texts() == ["echo: 1", "echo: 2"]
          and not probed, (run, probed))


def interrupted(base):
    place = Place(base, "interrupted")
    place.configure(never=place.fake("mute"))
    child = place.start([ECHO])
    end = time.monotonic() + 20 * harness.slow()
    while time.monotonic() < end and "initialize" not in [
            m.get("method") for m in place.journal(keep=True)]:
        time.sleep(0.05)
    watch = harness.Stopwatch()
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=30 * harness.slow())
    check("an interrupt does not wait for a server that starts", b'"status":"interrupted"' in out
          and watch.seconds() < 3 and not place.leftovers(), out[-300:])


def to_the_model(base):
    place = Place(base, "model")
    place.configure(fake=place.fake("pages"), b={"command": "python3", "args": place.fake()["args"]})
    run, requests = place.ask([
        {"tool_calls": [{"id": "c1", "name": "mcp__fake__picture", "arguments": {}}]},
        {"text": "seen"}])
    names = [t["function"]["name"] for t in requests[0]["tools"]]
    known = {t["function"]["name"]: t["function"] for t in requests[0]["tools"]}
    check("all pages, both servers, sorted", sum(n.startswith("mcp__fake__") for n in names) == 22
          and sum(n.startswith("mcp__b__") for n in names) == 22
          and [n for n in names if n.startswith("mcp__fake__")] == sorted(
              n for n in names if n.startswith("mcp__fake__")), names)
    check("tools for resources", names[-2:] == ["mcp_list_resources", "mcp_read_resource"], names[-3:])
    check("names for providers", all(len(n) <= 64 for n in names), names)
    check("a schema is an object and keeps its members",
          known["mcp__fake__untyped"]["parameters"]["type"] == "object"
          and "text" in known["mcp__fake__untyped"]["parameters"]["properties"],
          known["mcp__fake__untyped"])
    distant = json.dumps(known["mcp__fake__distant"]["parameters"])
    check("the address of a schema is dropped, a reference is not fetched", "$schema" not in distant,
          distant)
    check("the picture reaches the model", "iVBORw0KGgo" in json.dumps(requests[1]["messages"])
          and run.code == 0, requests[1]["messages"][-2:])


def read_only(base):
    """In the mode read-only a server cannot write in the workspace, whatever the user allows it."""
    place = Place(base, "read-only")
    place.configure(fake={"command": "python3", "args": [FAKE, "--journal", "/dev/null"]})
    target = os.path.join(place.work, "made")
    for mode, word in (("read-only", None), ("plan", None), ("workspace-write", "read-only")):
        place.env.pop("TRIVET_SANDBOX", None)
        if word:
            place.env["TRIVET_SANDBOX"] = word
        run = place.run([("mcp__fake__write", {"path": target})], args=("--mode", mode))
        check(f"a server in the mode {word or mode}", "not written" in run.text() and not os.path.exists(target), run)
    place.env.pop("TRIVET_SANDBOX")
    run = place.run([("mcp__fake__write", {"path": target})])
    check("and in workspace-write", run.text() == "written" and os.path.exists(target), run)


with harness.private_place() as scratch:
    for case in (legacy, modern, versions, probes, interrupted, to_the_model, read_only):
        case(scratch)
check.end()
