#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""client_picture.py [PROGRAM]: draws docs/pictures/first-client.svg from a run of the client of
docs/first-client.md: who sent which message, in which order.
"""
import html
import json
import os
import re
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PICTURE = os.path.join(TOP, "docs", "pictures", "first-client.svg")
# Columns of the participants, and what is shown of a message.
CLIENT, ENGINE, MODEL = 90, 430, 690
ROW, TOP_ROW = 34, 86
SHOWN = {"ready": "model", "prompt": "text", "text_delta": "delta", "tool_start": "name",
         "permission_request": "tool", "permission_response": "decision", "tool_result": "name",
         "turn_complete": "stop_reason", "error": "message"}
TAP = """
import os, subprocess, sys, threading
engine = subprocess.Popen([PROGRAM] + sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def carry(source, sink, name):
    with open(LOG + name, "wb", buffering=0) as log:
        for line in source:
            log.write(line)
            sink.write(line)
            sink.flush()
threading.Thread(target=carry, args=(sys.stdin.buffer, engine.stdin, ".in"), daemon=True).start()
carry(engine.stdout, sys.stdout.buffer, ".out")
os._exit(engine.wait())
"""


def client_code():
    with open(os.path.join(TOP, "docs", "first-client.md"), encoding="utf-8") as file:
        return re.search(r"```python\n(.*?)```", file.read(), re.S)[1]


def messages(program):
    """[(to the engine?, message)] of a run of the client."""
    with tempfile.TemporaryDirectory() as base:
        work, log = os.path.join(base, "work"), os.path.join(base, "log")
        os.mkdir(work)
        with open(os.path.join(work, "main.c"), "w", encoding="ascii") as file:
            file.write("int main(void) { return 0; }\n")
        tap = os.path.join(base, "trivet")  # stands between client and engine and notes the lines
        with open(tap, "w", encoding="ascii") as file:
            file.write(f"#!{sys.executable}\nPROGRAM, LOG = {program!r}, {log!r}\n{TAP}")
        os.chmod(tap, 0o755)
        env = {"PATH": base + ":" + os.environ["PATH"], "HOME": base, "LC_ALL": "C.UTF-8"}
        subprocess.run([sys.executable, "-c", client_code()], cwd=work, env=env, check=True,
                       stdout=subprocess.DEVNULL, timeout=60)
        with open(log + ".in", encoding="utf-8") as file:
            sent = [json.loads(line) for line in file]
        with open(log + ".out", encoding="utf-8") as file:
            said = [json.loads(line) for line in file]
    return weave(sent, said)


def weave(sent, said):
    """The order in which things happened: each message of the client follows what it answers."""
    answers = {"ready": "prompt", "permission_request": "permission_response",
               "turn_complete": "shutdown"}
    out = []
    for event in said:
        out.append((False, event))
        if event["type"] in answers and sent:
            assert sent[0]["type"] == answers[event["type"]], (event, sent[0])
            out.append((True, sent.pop(0)))
    assert not sent, sent
    return out


def fold(rows):
    """Runs of text_delta become one row."""
    out = []
    for to_engine, message in rows:
        if message["type"] == "text_delta" and out and out[-1][1]["type"] == "text_delta":
            out[-1][1]["delta"] += message["delta"]
            out[-1][1]["many"] = True
        elif message["type"] != "turn_started":
            out.append((to_engine, dict(message)))
    return out


def label(message):
    value = str(message.get(SHOWN.get(message["type"], ""), "")).strip()
    value = " ".join(value.split())
    if len(value) > 30:
        value = value[:29] + "…"
    return message["type"] + (" …" if message.get("many") else ""), value


def arrow(x1, x2, y, kind, name, value):
    tip = 7 if x2 > x1 else -7
    middle = (x1 + x2) / 2
    words = html.escape(name)
    rest = f' <tspan class="value">{html.escape(value)}</tspan>' if value else ""
    return [f'<line class="{kind}" x1="{x1}" y1="{y}" x2="{x2}" y2="{y}"/>',
            f'<path class="{kind} tip" d="M{x2} {y}l{-tip} -4v8z"/>',
            f'<text x="{middle}" y="{y - 6}">{words}{rest}</text>']


def draw(rows):
    out, y = [], TOP_ROW
    for to_engine, message in rows:
        name, value = label(message)
        if message["type"] == "prompt":
            out += arrow(CLIENT, ENGINE, y, "to", name, value)
            y += ROW
            out += arrow(ENGINE, MODEL, y, "model", "request", "")
        elif message["type"] in ("text_delta", "tool_start"):
            out += arrow(ENGINE, CLIENT, y, "from", name, value)
        elif message["type"] == "tool_result":
            out += arrow(ENGINE, CLIENT, y, "from", name, value)
            y += ROW
            out += arrow(ENGINE, MODEL, y, "model", "request", "with the result")
        elif to_engine:
            out += arrow(CLIENT, ENGINE, y, "to", name, value)
        else:
            out += arrow(ENGINE, CLIENT, y, "from", name, value)
        y += ROW
    return out, y


def picture(rows):
    body, bottom = draw(rows)
    width, height = 790, bottom + 16
    lines = [f'<line class="life" x1="{x}" y1="56" x2="{x}" y2="{bottom}"/>'
             for x in (CLIENT, ENGINE, MODEL)]
    heads = [f'<rect x="{x - 70}" y="22" width="140" height="34" rx="6"/>'
             f'<text class="head" x="{x}" y="44">{name}</text>'
             for x, name in ((CLIENT, "your client"), (ENGINE, "trivet"), (MODEL, "model"))]
    style = """
svg { background: #ffffff; color: #1f2328 } text { font: 13px monospace; text-anchor: middle; fill: currentColor }
.head { font-weight: bold } .value { fill: #59636e } rect { fill: none; stroke: #59636e }
line { stroke-width: 1.4 } .life { stroke: #c4c9d0; stroke-dasharray: 3 4 } .to { stroke: #0969da }
.from { stroke: #1a7f37 } .model { stroke: #9a6700 } .to.tip { fill: #0969da } .from.tip { fill: #1a7f37 }
.model.tip { fill: #9a6700 }
@media (prefers-color-scheme: dark) {
svg { background: #0d1117; color: #e6edf3 } .value { fill: #9198a1 } rect { stroke: #9198a1 } .life { stroke: #3d444d }
.to { stroke: #4493f8 } .from { stroke: #3fb950 } .model { stroke: #d29922 } .to.tip { fill: #4493f8 }
.from.tip { fill: #3fb950 } .model.tip { fill: #d29922 } }"""
    return "\n".join(
        [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
         f'height="{height}" role="img" aria-label="messages between a client, trivet and a model">',
         "<!-- made by scripts/client_picture.py -->", f"<style>{style}</style>"]
        + lines + heads + body + ["</svg>"]) + "\n"


def main():
    program = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(TOP, "build/trivet"))
    text = picture(fold(messages(program)))
    if "--check" in sys.argv:
        with open(PICTURE, encoding="utf-8") as file:
            sys.exit(file.read() != text and "docs/pictures/first-client.svg is old: run "
                     "scripts/client_picture.py")
    with open(PICTURE, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
