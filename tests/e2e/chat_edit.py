#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# NEEDS: terminal
"""Typing in the chat: several lines, history, paste, wide characters; and what a resize in the
middle of an answer, NO_COLOR and TERM=dumb do.
"""
import os
import re
import stat
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import tmux  # noqa: E402


def prompt_of(pane):
    """The rows of the editor, without the footer."""
    rows = pane.live()
    first = max(i for i, row in enumerate(rows) if row.startswith(">"))
    return [row[2:] for row in rows[first:-1]]


def lines(base):
    """Ctrl-J, `\\` Enter and Alt-Enter; words and lines; undo."""
    with tmux.Pane(base) as pane:
        pane.chat(model="rehearsal/echo")
        pane.type("one")
        pane.keys("C-j")
        pane.type("two\\")
        pane.keys("Enter")
        pane.type("three four-five")
        pane.wait("three four-five")
        assert prompt_of(pane) == ["one", "two", "three four-five"], pane.screen()
        pane.keys("C-w")
        pane.type("six")
        pane.keys("M-b", "M-b")
        pane.type("2 ")
        pane.keys("Up", "Home")
        pane.type("x")
        pane.wait("xtwo")
        assert prompt_of(pane) == ["one", "xtwo", "2 three six"], pane.screen()
        pane.keys("C-_")
        pane.wait("xtwo", gone=True)
        pane.keys("C-a", "C-k", "C-y", "C-y")
        pane.wait("twotwo")
        pane.keys("Enter")
        pane.until(lambda s: s.count("one\ntwotwo\n2 three six") == 2)


def history(base):
    """Earlier prompts with Up and Ctrl-R, also of an earlier chat; the file is the user's alone."""
    with tmux.Pane(base) as pane:
        pane.chat(model="rehearsal/hello")
        for text in ("first question", "second\\", "line of it", "third question"):
            pane.enter(text)
            if not text.endswith("\\"):
                pane.wait("esc stops", gone=True)
                time.sleep(0.1)
        pane.keys("C-d")
        pane.wait("to go on")
        path = os.path.join(pane.env["XDG_STATE_HOME"], "trivet/history")
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        pane.enter("clear")
        pane.chat(model="rehearsal/hello")
        pane.type("draft")
        pane.keys("Up", "Up")
        pane.until(lambda s: "> second\n  line of it\n" in s)
        pane.keys("Up", "Up", "Up")
        pane.wait("> first question")
        pane.keys("Down", "Down", "Down", "Down", "Down")
        pane.wait("> draft")
        pane.keys("C-r")
        pane.type("quest")
        pane.wait("third question")
        pane.keys("C-r")
        pane.wait("first question")
        pane.keys("Enter")
        pane.wait("> first question")
        pane.keys("C-r")
        pane.type("second")
        pane.keys("Escape")
        pane.wait("> first question")


def paste(base):
    """200 lines are one mark; they are sent whole, and nothing in them is a key."""
    text = "".join(f"line {i}\r" if i % 2 else f"line {i}\n" for i in range(200)) + "\x03\x1b[A end"
    with tmux.Pane(base) as pane:
        pane.chat(model="rehearsal/echo")
        pane.type("look: ")
        pane.paste(text)
        pane.type(" ok?")
        pane.wait("> look: [paste 1: 201 lines] ok?")
        pane.keys("Left", "Left", "Left", "Left", "BSpace")
        pane.wait("> look:  ok?")
        pane.keys("C-_")
        pane.wait("> look: [paste 1: 201 lines] ok?")
        pane.keys("Enter")
        pane.idle(1)
        whole = pane.all()
        for i in (0, 99, 199):
            assert len(re.findall(rf"\bline {i}$", whole, re.M)) >= 2, (i, whole[-800:])
        assert "\\u0003" in whole
        pane.paste("short\npaste")
        pane.until(lambda s: "> short\n  paste\n" in s)


def wide(base):
    """Two columns for CJK and emoji, one cluster for what looks like one character."""
    with tmux.Pane(base) as pane:
        pane.chat(model="rehearsal/echo")
        pane.type("日本語👍🏽e\u0301x")
        pane.wait("日本語")
        pane.keys("Left", "BSpace")
        pane.until(lambda s: "日本語👍" in s and "e" not in prompt_of(pane)[0])
        pane.keys("BSpace")
        pane.until(lambda s: "> 日本語x" in s)
        assert pane.show("#{cursor_x}") == "8", pane.show("#{cursor_x}")
        pane.keys("C-u", "C-k")
        pane.type("字" * 40)
        pane.wait("字字")
        rows = prompt_of(pane)
        assert rows == ["字" * 29, "字" * 11], rows
        pane.keys("Up")
        pane.type("b")
        pane.until(lambda s: "字" * 11 + "b" + "字" * 17 in s)


WORDS = {"rounds": [[{"say": " ".join(f"w{i}w" for i in range(1500)), "pause_ms": 2}]]}


def resizes(base):
    """100 marks of the shell and 1,500 words of an answer survive nine resizes, none twice."""
    with tmux.Pane(base) as pane:
        pane.enter("seq -f mark%g 100")
        pane.wait("mark100")
        pane.chat(scene=WORDS, wait=None)
        pane.wait("ctrl-d quits")
        pane.enter("go")
        pane.wait("w30w")
        pane.type("typed meanwhile")
        for cols, rows in ((60, 24), (100, 30), (80, 10), (45, 24), (120, 24), (30, 20), (80, 24),
                           (79, 23), (80, 24)):
            pane.resize(cols, rows)
            time.sleep(0.25)
        pane.wait("esc stops", gone=True, seconds=20)
        whole = pane.all(joined=True)
        marks = re.findall(r"\bmark\d+$", whole, re.M)
        words = re.findall(r"\bw(\d+)w\b", whole)
        assert len(set(marks)) == 100 == len(marks), len(marks)
        assert sorted(map(int, words)) == list(range(1500)), (len(words), len(set(words)))
        rows = pane.live()
        assert rows[-2] == "> typed meanwhile", rows


def shrinks(base):
    """A window that shrinks in mid-stream, in both directions and again before the program knows: the
    lower rows stand once, below the text, and no word is lost."""
    sizes = (((70, 12), (61, 24)), ((61, 24), (59, 8)), ((61, 8), (40, 8), (50, 8)), ((70, 12), (120, 8), (40, 8)))
    for i, steps in enumerate(sizes):
        with tmux.Pane(os.path.join(base, str(i))) as pane:
            pane.chat(scene=WORDS)
            pane.enter("go")
            pane.wait("w30w")
            pane.type("typed text that fills a row of the editor and a part of the next one")
            for size in steps:
                pane.resize(*size)
                time.sleep(0.02)
            pane.idle(1, 30)
            whole = pane.all()
            assert "esc stops" not in whole and whole.count("typed text") == 1, (steps, whole)
            words = re.findall(r"\bw(\d+)w\b", pane.all(joined=True))
            assert sorted(map(int, words)) == list(range(1500)), (steps, len(words))
            pane.until(lambda s: s.rstrip("\n").split("\n")[-1].strip())
    with tmux.Pane(os.path.join(base, "idle")) as pane:  # tmux drops the rows below the cursor
        pane.chat(model="rehearsal/hello")
        pane.wait("workspace-write")
        pane.enter("/help")
        pane.wait("/quit")
        pane.resize(80, 9)
        pane.wait("workspace-write")


def emoji(base):
    """A terminal may take fewer columns for an emoji than we do; nothing shows through what it skips."""
    word = "\u2764\ufe0f\u26a0\ufe0f\u2714\ufe0fend"
    scene = {"rounds": [[{"say": " ".join(["words"] * 12) + "\n", "pause_ms": 20},
                         {"say": f"{word}\n" * 3, "pause_ms": 120}, {"say": "\n```\n" + word * 40 + "\n```\n"}]]}
    with tmux.Pane(base) as pane:
        pane.chat(scene=scene)
        pane.enter("go")
        pane.wait("end")
        pane.type(word)
        pane.idle(1)
        rows = [row for row in pane.all().split("\n") if "\u2764" in row]
        assert len(rows) > 8, rows
        for row in rows:
            assert set(row) <= set("\u2764\u26a0\u2714\ufe0fend> "), row
        code = "".join(pane.all().split("workspace-write")[0].split())
        assert code.count("end") == 44, code


def frames(base):
    """All that is drawn stands in whole frames; nothing is cleared, switched or hidden; a window of
    a few rows is enough."""
    with tmux.Pane(base, rows=8, TRIVET_CHAT_TITLE="off") as pane:
        pane.enter("seq -f mark%g 20")
        pane.wait("mark20\n")
        pane.chat(scene=WORDS)
        record = os.path.join(base, "bytes")
        pane.record(record)
        pane.type("go")
        pane.keys("Enter")
        pane.wait("w200w")
        pane.type("line\\")
        pane.keys("Enter")
        for i in range(8):
            pane.type(f"line{i}\\")
            pane.keys("Enter")
        pane.wait("line7")
        pane.idle(1, 20)
        with open(record, "rb") as file:
            data = file.read()
        assert not re.search(rb"\x1b\[[23]J|\x1b\[\?(1049|47|100\d|25l)|\x1bM|\x1b\[\d*[rSTLM]", data)
        outside = re.sub(rb"\x1b\[\?2026h.*?\x1b\[\?2026l", b"", data, flags=re.S)
        assert outside == b"", outside
        words = re.findall(r"\bw(\d+)w\b", pane.all(joined=True))
        assert sorted(map(int, words)) == list(range(1500)), len(words)
        marks = re.findall(r"\bmark\d+$", pane.all(), re.M)
        assert len(marks) == 20, (marks, pane.all()[:1500])


def soft_wrap(base):
    """A paragraph is one line to the terminal; code is not changed at all."""
    text = " ".join(f"word{i}" for i in range(200))
    code = "x = '" + "y" * 200 + "'"
    scene = {"rounds": [[{"say": f"{text}\n\n```\n{code}\n```\n"}]]}
    with tmux.Pane(base) as pane:
        pane.chat(scene=scene)
        pane.turn("go")
        joined = pane.all(joined=True).split("\n")
        assert any(" ".join(line.split()) == text for line in joined), joined
        assert code in [line.rstrip() for line in joined], joined


def colours(base):
    """NO_COLOR: no colours and no styles; the same text."""
    scene = {"rounds": [[{"say": "# Head\n\n**bold** `code`\n\n```c\nint x;\n```\n"}]]}
    with tmux.Pane(base, NO_COLOR="1") as pane:
        pane.chat(scene=scene)
        record = os.path.join(base, "bytes")
        pane.record(record)
        pane.enter("go")
        pane.wait("int x;")
        pane.wait("esc stops", gone=True)
        with open(record, "rb") as file:
            assert not re.search(rb"\x1b\[[0-9;]*m", file.read())
        assert "# Head" in pane.screen() and "```c\nint x;\n```" in pane.screen(), pane.screen()
    with tmux.Pane(base) as pane:
        pane.chat(scene=scene)
        pane.enter("go")
        pane.wait("int")
        pane.wait("esc stops", gone=True)
        assert "\x1b[1m" in pane.coloured() and "```" not in pane.screen()


def plain(base):
    """TERM=dumb and --plain: not one escape byte, and all can be done."""
    scene = {"turns": [{"when": "write", "rounds": [[{"call": "bash", "args": {
        "command": "touch made"}}], [{"say": "# done\n\n**it** is"}]]}],
        "rounds": [[{"say": "plain answer"}]]}
    for flags, extra in ((["--plain"], {}), ([], {"TERM": "dumb"})):
        with tmux.Pane(base) as pane:
            record = os.path.join(base, "bytes" + "-".join(flags))
            start = f"env TERM={extra.get('TERM', 'xterm')} $TRIVET"
            pane.env["TRIVET"] = start
            with open(os.path.join(pane.workspace, "scene.json"), "w", encoding="utf-8") as file:
                import json
                json.dump(scene, file)
            pane.enter(f"clear; bind 'set enable-bracketed-paste off'; "
                       f"script -qc '{start} chat -m rehearsal/scene.json --ask bash "
                       f"{' '.join(flags)}' {record}")
            pane.wait("ctrl-d quits")
            pane.enter("hello")
            pane.wait("plain answer")
            pane.enter("write it")
            pane.wait("? bash")
            time.sleep(0.4)  # what comes at once is no answer
            pane.enter("y")
            pane.wait("it is")
            assert os.path.exists(os.path.join(pane.workspace, "made"))
            pane.enter("two\\")
            pane.enter("lines")
            pane.until(lambda _: pane.all().count("plain answer") == 2)
            pane.keys("C-d")
            pane.wait("to go on")
            with open(record, "rb") as file:
                assert b"\x1b" not in file.read()


tmux.run([lines, history, paste, wide, resizes, shrinks, emoji, frames, soft_wrap, colours, plain])
