#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes docs/pictures/chat.svg: the real program in tmux, with the rehearsal model.

    scripts/chat_picture.py [--binary build/trivet] [--check]

--check compares the text of a new picture with the one in the tree, figures left out.
"""
import argparse
import html
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(TOP, "tests"))
import harness  # noqa: E402
import tmux     # noqa: E402

TARGET = os.path.join(TOP, "docs/pictures/chat.svg")
COLS, ROWS, WIDTH, HEIGHT = 80, 32, 8.4, 18
COLOURS = {"31": "#f7768e", "32": "#9ece6a", "33": "#e0af68", "34": "#7aa2f7", "35": "#bb9af7",
           "36": "#7dcfff"}
SCENE = {"turns": [{"when": "fail", "rounds": [
    [{"think": "The test names the last token. I look at the loop first."},
     {"call": "bash", "args": {"command": "sh test.sh"}}],
    [{"say": "The parser drops the **last token**. In `parse.c` the loop ends one step early:\n\n"
             "```c\nfor (i = 0; i < n - 1; i++)   /* stops before the end */\n```\n"},
     {"call": "edit_file", "args": {"path": "parse.c", "old_string": "i < n - 1", "new_string": "i < n"}}],
    [{"call": "bash", "args": {"command": "sh test.sh"}}],
    [{"say": "Fixed: the loop runs to the end now.\n\n| test | before | now |\n|---|---|---|\n"
             "| last | failed | ok |\n| one | failed | ok |\n"},
     {"usage": {"input": 12400, "output": 310, "cached": 9000}}]]}],
    "rounds": [[{"say": "hello"}]]}
FILES = {"parse.c": "void parse(int n)\n{\n    int i;\n    for (i = 0; i < n - 1; i++)\n"
                    "        take(i);\n}\n",
         "test.sh": "grep -q 'n - 1' parse.c || { echo 'all 214 tests passed'; exit 0; }\n"
                    "echo '2 of 214 failed: test_last, test_one'; exit 1\n",
         ".git/HEAD": "ref: refs/heads/main\n"}


def play(base):
    """What stands on the terminal after a turn, with its colours."""
    with tmux.Pane(base, COLS, ROWS) as pane:
        project = os.path.join(pane.env["HOME"], "proj")
        for name, text in FILES.items():
            os.makedirs(os.path.dirname(os.path.join(project, name)), exist_ok=True)
            with open(os.path.join(project, name), "w", encoding="utf-8") as file:
                file.write(text)
        pane.enter("cd ~/proj; clear")
        with open(os.path.join(pane.env["HOME"], "s.json"), "w", encoding="utf-8") as file:
            json.dump(SCENE, file)
        pane.enter("clear; $TRIVET chat -m rehearsal/../s.json")
        pane.wait("ctrl-d quits")
        pane.turn("why does the test fail?")
        pane.type("now add a test for an empty lin")
        pane.wait("empty lin")
        shown = pane.coloured().replace("rehearsal/../s.json", "gpt-6 high")
    rows = shown.rstrip("\n").split("\n")
    first = next(i for i, row in enumerate(rows) if "trivet" in row and "quits" in row)
    return rows[first:]


def kept(text):
    """With no-break spaces: browsers drop ordinary ones at the ends of a text."""
    return text.replace(" ", "&#160;")


def spans(row, style):
    """(text, style) pairs of a row with SGR sequences; the style goes on in the next row."""
    at = 0
    for found in re.finditer(r"\x1b\[([0-9;]*)m", row):
        if found.start() > at:
            yield row[at:found.start()], dict(style)
        at = found.end()
        for code in (found[1] or "0").split(";"):
            if code in ("", "0"):
                style.clear()
            elif code in COLOURS:
                style["fill"] = COLOURS[code]
            elif code == "39":
                style.pop("fill", None)
            elif code in ("1", "2", "3", "4"):
                style[{"1": "bold", "2": "dim", "3": "italic", "4": "under"}[code]] = True
    if at < len(row):
        yield row[at:], dict(style)


def attributes(style):
    out = f' fill="{style["fill"]}"' if "fill" in style else ""
    out += ' font-weight="bold"' if "bold" in style else ""
    out += ' opacity="0.6"' if "dim" in style else ""
    out += ' font-style="italic"' if "italic" in style else ""
    return out + (' text-decoration="underline"' if "under" in style else "")


def draw(rows):
    width, height = COLS * WIDTH + 32, len(rows) * HEIGHT + 28
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" '
           f'viewBox="0 0 {width:.0f} {height}" role="img" aria-label="A chat with trivet">',
           '<rect width="100%" height="100%" rx="8" fill="#1a1b26"/>',
           '<g font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14" fill="#c0caf5">']
    going = {}
    for y, row in enumerate(rows):
        x = 0
        for text, style in spans(row, going):
            if text.strip():
                out.append(f'<text x="{16 + x * WIDTH:.1f}" y="{26 + y * HEIGHT}" '
                           f'textLength="{len(text) * WIDTH:.1f}"{attributes(style)}>'
                           f'{kept(html.escape(text))}</text>')
            x += len(text)
    return "\n".join(out + ["</g>", "</svg>"]) + "\n"


def words(svg):
    """The text of a picture without its figures and times."""
    parts = [re.sub(r"\s+[\d.]+s\b", "", html.unescape(part)) for part in re.findall(r">([^<>]+)</text>", svg)]
    return re.sub(r"\d+", "0", " ".join(" ".join(parts).split()))


def main():
    parser = argparse.ArgumentParser(description="the picture of the chat")
    parser.add_argument("--binary", default=os.environ.get("TRIVET", os.path.join(TOP, "build/trivet")))
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    os.environ["TRIVET"] = os.path.abspath(options.binary)
    with harness.private_place() as base:
        picture = draw(play(base))
    if options.check:
        with open(TARGET, encoding="utf-8") as file:
            same = words(file.read()) == words(picture)
        print("the picture is as the program draws it" if same else
              "docs/pictures/chat.svg is another one: scripts/chat_picture.py makes it anew")
        return 0 if same else 1
    os.makedirs(os.path.dirname(TARGET), exist_ok=True)
    with open(TARGET, "w", encoding="utf-8") as file:
        file.write(picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
