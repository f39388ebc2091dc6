#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# LONG ROUNDS: a message of 20 MB
"""MCP servers that misbehave: the turn always ends well and no process is left.

covers: mcp 6, 8-11, 17, 25, 26, 37-39
"""
import json
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
from mcp_scene import Checks, Place  # noqa: E402

check = Checks()
ECHO = ("mcp__fake__echo", {"text": "hi"})


def dead(base):
    place = Place(base, "dead")
    place.configure(fake=place.fake())
    run = place.run([("mcp__fake__die", {})], [ECHO], [("mcp__fake__die", {})], [ECHO])
    call = run.calls[0]
    check("a server that dies in a call", call["is_error"] and "status 3: last words" in call["text"]
          and call["duration_ms"] < 1000 * harness.slow(), run)
    check("it is started once more", run.text(1) == "echo: hi", run)
    check("and not again", run.calls[3]["is_error"] and run.code == 0, run)
    starts = [m for m in place.journal() if "started" in m]
    check("two starts in all", len(starts) == 2, starts)
    check("no process is left", not place.leftovers(), place.leftovers())


def silent(base):
    place = Place(base, "silent")
    slow = {"command": "sh", "args": ["-c", "echo loading >&2; echo 'needs a \033[31mdisk' >&2; sleep 100"]}
    place.configure(fake=place.fake(timeout=400), never=place.fake("mute", startupTimeout=1000),
                    deaf=place.fake("deaf", "stubborn", startupTimeout=1000),
                    gone=place.fake("exit"), off=place.fake(disabled=True),
                    lacks=place.fake(env={"A": "${NO_SUCH_VARIABLE}"}),
                    slow={**slow, "startupTimeout": 1000}, far={"url": "http://127.0.0.1:9/mcp"})
    run = place.run([("mcp__fake__slow", {"ms": 20000}), ECHO],
                    [("mcp__fake__steps", {"n": 6, "ms": 200})])
    check("a call without answer ends at its limit", run.calls[0]["is_error"]
          and "no answer to tools/call within" in run.text(0)
          and run.calls[0]["duration_ms"] < 5000 * harness.slow(), run)
    check("the others go on", run.text(1) == "echo: hi", run)
    check("progress counts as a sign of life", run.text(2) == "all steps", run)
    canceled = [m for m in place.journal() if m.get("method") == "notifications/cancelled"]
    check("the server is informed", len(canceled) == 1 and canceled[0]["params"]["reason"] == "timeout",
          canceled)
    notices = [e["text"] for e in run.events if e["type"] == "notice"]
    check("the turn says once which cannot be used", len(notices) == 1 and all(
        part in notices[0] for part in ("gone: it ended with status", "never: it did not start within 1000 ms",
                                        "deaf: it did not start", "far: ")), notices)
    check("with the last words of one that is late",
          "slow: it did not start within 1000 ms: loading / needs a" in str(notices)
          and "\x1b" not in "".join(notices), notices)
    check("not those that its settings switch off or cannot start",
          "off:" not in str(notices) and "lacks:" not in str(notices), notices)
    check("servers that never start do not hold the turn", run.code == 0
          and run.seconds < 15 * harness.slow(), run)
    check("no process is left", not place.leftovers(), place.leftovers())


def floods(base):
    place = Place(base, "floods")
    place.configure(fake=place.fake(), line=place.fake())
    run = place.run([("mcp__fake__flood", {"kind": "notices"})],
                    [("mcp__line__flood", {"kind": "line"})],
                    [("mcp__fake__long", {"n": 3500000})], [ECHO])
    check("100 MB of notices", run.text(0) == "flooded", run)
    check("a line of 100 MB", run.calls[1]["is_error"] and "too long" in run.text(1), run)
    check("20 MB of result", "lines are cut" in run.text(2), run.text(2)[-200:])
    check("and the turn goes on", run.text(3) == "echo: hi" and run.code == 0, run)
    check("no process is left", not place.leftovers(), place.leftovers())
    place.configure(fake=place.fake())
    run = place.run([("mcp__fake__flood", {"kind": "stderr"}), ECHO])
    log = os.path.join(place.env["XDG_STATE_HOME"], "trivet", "mcp", "fake.log")
    check("100 MB on stderr", run.texts() == ["flooded", "echo: hi"]
          and os.path.getsize(log) <= 1 << 20, (run, os.path.getsize(log)))


def lists(base):
    place = Place(base, "lists")
    place.configure(fake=place.fake(), endless=place.fake("endless"))
    replies = [{"tool_calls": [{"id": "1", "name": "mcp__fake__change", "arguments": {}}]},
               {"tool_calls": [{"id": "2", "name": "mcp__fake__fresh", "arguments": {"text": "n"}}]},
               {"text": "ok"}]
    run, requests = place.ask(replies)
    names = [[t["function"]["name"] for t in r["tools"]] for r in requests]
    check("a changed list is there with the next request", "mcp__fake__fresh" not in names[0]
          and "mcp__fake__fresh" in names[1] and run.text(1) == "fresh: n", run)
    check("endless pages are cut", names[0].count("mcp__endless__echo") == 1, names[0])


def canceled(base):
    place = Place(base, "canceled")
    place.configure(fake=place.fake("stubborn"))
    child = place.start([("mcp__fake__slow", {"ms": 30000})])
    end = time.monotonic() + 20 * harness.slow()
    while time.monotonic() < end and not any(
            m.get("method") == "tools/call" for m in place.journal(keep=True)):
        time.sleep(0.05)
    watch = harness.Stopwatch()
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=30 * harness.slow())
    output = [m for m in place.journal() if m.get("method") == "notifications/cancelled"]
    check("a cancel reaches the server", len(output) == 1, output)
    check("the turn ends as interrupted", b'"status":"interrupted"' in out, out[-500:])
    seconds = watch.seconds()
    check("a server that stays is ended", seconds < 8 and not place.leftovers(), (seconds, place.leftovers()))


def killed(base):
    place = Place(base, "kill")
    place.configure(fake=place.fake())
    child = place.start([("mcp__fake__slow", {"ms": 30000})])
    end = time.monotonic() + 20 * harness.slow()
    while time.monotonic() < end and not any(
            m.get("method") == "tools/call" for m in place.journal(keep=True)):
        time.sleep(0.05)
    child.kill()
    child.communicate()
    check("nothing is left after kill -9", not place.leftovers(), place.leftovers())


def confined(base):
    place = Place(base, "confined")
    outside = os.path.join(place.env["HOME"], "outside")
    place.configure(fake=place.fake(), free=place.fake(sandbox=False))
    run = place.run([("mcp__fake__write", {"path": outside}),
                     ("mcp__fake__write", {"path": "inside"}),
                     ("mcp__free__write", {"path": outside})])
    check("a server is confined to the workspace", run.calls[0]["is_error"]
          and run.text(1) == "written", run)
    check("unless its settings say otherwise", run.text(2) == "written", run)
    place.env["TRIVET_SANDBOX"] = "require"
    run = place.run([("mcp__free__write", {"path": outside})])
    check("which a required sandbox refuses", run.calls[0]["is_error"], run)


def own_directory(base):
    """${TRIVET_SERVER_DIR} in the settings: the server may write there, and finds it again."""
    place = Place(base, "own-directory")
    own = os.path.join(place.env["XDG_DATA_HOME"], "trivet", "mcp", "fake")
    place.configure(fake=place.fake(env={"GIVEN": "${TRIVET_SERVER_DIR}/x"}), other=place.fake())
    run = place.run([("mcp__fake__environment", {}), ("mcp__fake__write", {"path": own + "/x"}),
                     ("mcp__other__write", {"path": own + "/y"})])
    check("it is the server's alone", f"GIVEN={own}/x" in run.text() and run.text(1) == "written"
          and run.calls[2]["is_error"] and os.listdir(own) == ["x"], run)
    check("nobody else reads it", os.stat(own).st_mode & 0o777 == 0o700, os.stat(own))
    run = place.run([("mcp__fake__write", {"path": own + "/x"})], args=["--mode", "read-only"])
    check("not in the mode read-only", run.calls[0]["is_error"], run)
    real = os.path.dirname(own) + "-real"
    os.rename(os.path.dirname(own), real)
    os.symlink(real, os.path.dirname(own))
    run = place.run([("mcp__fake__write", {"path": own + "/y"})])
    check("a link is no directory of its own", run.calls[0]["is_error"] and "is a link" in str(run.events)
          and os.listdir(own) == ["x"], run)
    os.unlink(os.path.dirname(own))
    with open(os.path.join(place.work, ".mcp.json"), "w", encoding="utf-8") as file:
        json.dump({"mcpServers": {"fake": place.fake(env={"GIVEN": "${TRIVET_SERVER_DIR}"})}}, file)
    place.cli("mcp", "trust", "-y")
    run = place.run([("mcp__fake__environment", {})])
    check("a project's server of the same name has another one", f"GIVEN={own}@" in run.text(), run)


@harness.needs_namespaces
def masks(base):
    """Directories that only mask names in the workspace go with the room of a server."""
    place = Place(base, "masks")
    place.configure(end={"command": "sh", "args": ["-c", "exit 3"]}, fake=place.fake())
    for _ in range(3):
        place.run([ECHO])
    check("nothing is left behind a server that ends at its start",
          os.listdir(place.work) == ["journal"], os.listdir(place.work))
    for sig in (signal.SIGINT, signal.SIGKILL):
        os.unlink(place.journal_path)
        child = place.start([("mcp__fake__slow", {"ms": 20000})])
        place.until("tools/call")
        keepers = [pid for room in harness.children(child.pid) for pid in harness.children(room)]
        for pid in keepers:  # as one that is busy
            os.kill(pid, signal.SIGSTOP)
        check(f"{sig.name}: a keeper was stopped", keepers, harness.children(child.pid))
        child.send_signal(sig)
        child.communicate(timeout=60 * harness.slow())
        if sig == signal.SIGKILL:
            for pid in keepers:
                os.kill(pid, signal.SIGCONT)
        end = time.monotonic() + 20 * harness.slow()
        while len(os.listdir(place.work)) > 1 and time.monotonic() < end:
            time.sleep(0.05)
        check(f"{sig.name}: nor behind a room that did not respond",
              os.listdir(place.work) == ["journal"], os.listdir(place.work))


with harness.private_place() as scratch:
    for case in (dead, silent, floods, lists, canceled, killed, confined, own_directory, masks):
        case(scratch)
check.end()
