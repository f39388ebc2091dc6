#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# NEEDS: terminal
"""What a model, a tool or a server writes reaches a terminal as text: no clipboard, no cleared
screen, no hidden question; in `trivet run` and in the lines that the dialects write to stderr.
"""
import json
import os
import pty
import select
import time

from security_place import Provider, harness, play

ORDERS = "\x1b]52;c;eA==\x07\x1b[2J\x1b[8m\x9b31m\u202e\u2066\x08\x7f"
BAD = [c for c in "\x1b\x07\x08\x7f\x9b\u202e\u2066"]


def bad_in(text):
    return [hex(ord(c)) for c in BAD if c in text]


def on_terminal(p, *flags, answers=()):
    return command(p, "run", *flags, "go", answers=answers)


def command(p, *args, answers=()):
    """All that a terminal gets, stdout and stderr."""
    p.give_away()
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(p.work)
        if os.getuid() == 0:
            os.setgid(p.uid)
            os.setuid(p.uid)
        os.execve(p.program, ["trivet", *args], p.env)
    seen, answers, end = b"", list(answers), time.monotonic() + 20 * harness.slow()
    while time.monotonic() < end:
        try:
            if not select.select([fd], [], [], 0.2)[0]:
                continue
            data = os.read(fd, 4096)
        except OSError:
            break
        seen += data
        if answers and (b"n  no: " in seen or b"[y/N] " in seen):
            time.sleep(0.4)
            os.write(fd, answers.pop(0).encode())
    os.close(fd)
    _, status = os.waitpid(pid, 0)
    return seen.decode(errors="replace"), os.waitstatus_to_exitcode(status)


def answer(score, p):
    p.put("scene.json", json.dumps({"rounds": [[{"say": f"one{ORDERS}two\tthree\r\nfour\n"}]]}))
    seen, status = on_terminal(p, "-m", "rehearsal/scene.json")
    score.check(f"an answer ({score.name})", status == 0 and not bad_in(seen) and "two\tthree" in
                seen and "\\u001b]52;c;eA==" in seen, (bad_in(seen), seen))
    done = p.run("run", "-m", "rehearsal/scene.json", "go")
    score.check(f"an answer in a pipe ({score.name})", not bad_in(done.stdout + done.stderr)
                and "two\tthree\nfour\n" in done.stdout, done.stdout)


def question(score, p):
    name = f"file{ORDERS}.txt"
    p.put("scene.json", json.dumps({"rounds": [
        [{"say": "\x1b[8m\x1b]0;title\x07"}, {"call": "write_file",
                                               "args": {"path": name, "content": ORDERS}}],
        [{"call": f"tool{ORDERS}", "args": {ORDERS: ORDERS}}],
        [{"call": "read_file", "args": {"path": f"none/{name}"}}],
        [{"call": "bash", "args": {"command": f"echo '{ORDERS}'; exit 3"}}],
        [{"say": "over"}]]}))
    seen, status = on_terminal(p, "-m", "rehearsal/scene.json", "--mode", "prompt",
                               answers=["y\n", "y\n"])
    score.check(f"questions and failures ({score.name})", "over" in seen and status == 0
                and not bad_in(seen) and "n  no: " in seen, (bad_in(seen), seen))


def server_error(score, p):
    provider = Provider()
    body = json.dumps({"error": {"message": f"no{ORDERS}\n? bash rm"}}).encode()

    def refuse(handler):
        handler.rfile.read(int(handler.headers["Content-Length"]))
        handler.send_response(400)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    provider.server.RequestHandlerClass.do_POST = refuse
    p.env.update(OPENAI_API_KEY="key-of-tests-123",
                 OPENAI_BASE_URL=f"http://127.0.0.1:{provider.server.server_port}/v1")
    seen, status = on_terminal(p, "-m", "openai/gpt-4.1")
    provider.close()
    score.check(f"an error of the server ({score.name})", status == 1 and "trivet exec: " in seen
                and not bad_in(seen) and "\n? bash" not in seen, (bad_in(seen), seen))


def names_of_files(score, p):
    """The log: a name of the repository in a warning."""
    with open(f"{p.work}/AGENTS.md", "wb") as file:
        file.truncate(1 << 20)
    os.rename(p.work, p.work + ORDERS.replace("/", ""))
    p.work += ORDERS.replace("/", "")
    seen, status = on_terminal(p, "-m", "rehearsal/hello")
    score.check(f"a name in the log ({score.name})", status == 0 and not bad_in(seen)
                and "left out" in seen, (bad_in(seen), seen))
    seen, _ = on_terminal(p, "-m", "rehearsal/hello", "-w", f"nowhere{ORDERS}")
    score.check(f"a name in an error ({score.name})", not bad_in(seen) and "nowhere" in seen,
                (bad_in(seen), seen))


def saved(score, p):
    """What is kept in files, by the commands that print it; as JSON it means the same."""
    p.put("scene.json", json.dumps({"rounds": [[{"say": f"said{ORDERS}\ttab"}]]}))
    p.run("run", "-m", "rehearsal/scene.json", f"asked{ORDERS}")
    whole = json.loads(p.run("sessions", "--json").stdout)
    ident = whole[0]["id"]
    p.put(".mcp.json", json.dumps({"mcpServers": {"fake": {"command": "sh", "args": [ORDERS]}}}))
    for args in (["sessions"], ["sessions", "--plain"], ["sessions", "show", ident], ["sessions", "export", ident],
                 ["sessions", "export", ident, "--html"], ["sessions", "search", "asked"],
                 ["mcp", "list"], ["mcp", "trust"], ["doctor"], ["models"]):
        seen, _ = command(p, *args, answers=["n\n"])
        score.check(f"{' '.join(args[:2])} ({score.name})", seen and not bad_in(seen), (bad_in(seen), seen))
    for args in (["sessions", "--json"], ["sessions", "search", "asked", "--json"], ["mcp", "list", "--json"],
                 ["run", "-q", "-m", "rehearsal/scene.json", "--json", f"asked{ORDERS}"],
                 ["run", "-q", "-m", "rehearsal/scene.json", "--stream-json", f"asked{ORDERS}"]):
        seen, _ = command(p, *args)
        lines = [json.loads(line) for line in seen.split("\r\n") if line.startswith(("{", "["))]
        score.check(f"{' '.join(args[:3])} as JSON ({score.name})", lines and not bad_in(seen), (bad_in(seen), seen))
        if args == ["sessions", "--json"]:
            score.check(f"it means the same ({score.name})", lines == [whole] and ORDERS in whole[0]["title"],
                        lines)
    done = p.run("sessions", "export", ident)
    score.check(f"a pipe gets the bytes ({score.name})", f"said{ORDERS}\ttab" in done.stdout, done.stdout)


play(answer, question, server_error, names_of_files, saved)
