#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""seeds.py DIR: makes DIR/<target>/ with seeds for the fuzzers, and DIR/<target>.dict.

Seeds are what the tests say already: the messages and files of the talks, the texts of the unit
tests (preprocessed, so that a transcript made of macros comes out whole), the docs.  Words that
stand in quotes in the seeds of a target become its dictionary, behind tests/fuzz/<target>.dict
where there is one.  Nothing is written by hand here but what has a form of the fuzzer's own, texts
separated by lines of "%%".
"""
import glob
import hashlib
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LARGEST = 16384
MOST_WORDS = 400
PIECE = r'(?:u8)?"((?:[^"\\\n]|\\.)*)"'
RUN = re.compile(rf"{PIECE}(?:\s*{PIECE})*")
ESCAPE = re.compile(r"\\(x[0-9a-fA-F]+|[0-7]{1,3}|u[0-9a-fA-F]{4}|.)")
SIMPLE = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "a": "\a", "b": "\b", "e": "\x1b"}
VENDORS = {"openai": "openai", "openrouter": "openai", "responses": "responses",
           "anthropic": "anthropic", "gemini": "gemini"}


def unescape(literal):
    """The bytes of the inside of a C string literal."""
    def one(match):
        code = match.group(1)
        if code[0] == "x":
            return chr(int(code[1:], 16) & 255)
        if code[0] in "01234567":
            return chr(int(code, 8) & 255)
        if code[0] == "u" and len(code) == 5:
            return chr(int(code[1:], 16)).encode("utf-8", "replace").decode("latin-1")
        return SIMPLE.get(code, code)
    return ESCAPE.sub(one, literal.encode("utf-8").decode("latin-1")).encode("latin-1")


def literals(path):
    """All strings of a C file as the compiler sees them, neighbours joined."""
    done = subprocess.run(["clang", "-E", "-P", "-D_GNU_SOURCE=", f"-I{TOP}/src", path],
                          capture_output=True, check=False)
    for run in RUN.finditer(done.stdout.decode("utf-8", "replace")):
        yield b"".join(unescape(m.group(1)) for m in re.finditer(PIECE, run.group()))


def unit_seeds():
    for path in sorted(glob.glob(f"{TOP}/tests/unit/test_*.c")):
        name = os.path.basename(path)[5:-2]
        vendor = VENDORS.get(name.split("_")[0])
        for text in literals(path):
            if b"data:" in text or b"event:" in text:
                yield vendor or "sse", text
                yield "sse", text
            elif text[:1] in (b"{", b"[") and len(text) > 2:
                yield from json_seeds(text)
            if name in ("slog", "session", "turn", "index") and b"\n" in text:
                yield "log", text
            if name in ("frame", "rpc", "rpc_lanes"):
                yield "frame", text
                yield "rpc", text
            if name.startswith("tools") and (b"*" in text or b"/" in text) and len(text) < 200:
                yield "match", text + b"\nsrc/a.c\nb\n"
            if name in ("path", "utf8", "base64", "str"):
                yield "text", text
            if name == "failure":
                yield "failure", text
            if b"*** Begin Patch" in text:
                yield "patch", b"one\ntwo\nthree\n\0" + text


def json_seeds(text):
    yield "json", text
    if b"jsonrpc" in text:
        yield "rpc", text
        yield "frame", b"Content-Length: %d\r\n\r\n%s" % (len(text), text)
    if b'"role"' in text:
        yield "message", text
    if b'"error"' in text:
        yield "failure", text


def talk_seeds():
    for path in sorted(glob.glob(f"{TOP}/tests/talk/*/*.talk")):
        with open(path, "rb") as file:
            text = file.read()
        said = [line[2:] for line in text.splitlines() if line.startswith((b"> ", b"< ", b"<~ "))]
        sent = b"".join(line[2:] + b"\n" for line in text.splitlines() if line.startswith(b"> "))
        yield "frame", sent
        if b"jsonrpc" in sent:
            yield "rpc", sent.replace(b"session.send", b"later").replace(b"turns/start", b"echo")
        for line in said:
            yield from json_seeds(line.strip())
        for block in re.findall(rb"<<END\n(.*?)\nEND", text, re.S):
            yield from block_seeds(block)


def block_seeds(block):
    """A file that a talk writes: a session, an ignore file, a script of the fake provider."""
    if b'"type"' in block and b"\n{" in block:
        yield "log", block + b"\n"
        for message in re.findall(rb'"message": ?(\{.*\})\}', block):
            yield "message", message
    elif block.startswith(b"{"):
        yield from json_seeds(block)
    else:
        yield "match", block


def text_seeds():
    for path in sorted(glob.glob(f"{TOP}/docs/*.md") + glob.glob(f"{TOP}/*.md")):
        with open(path, "rb") as file:
            lines = file.read().splitlines(True)[:60]
        whole = b"".join(lines)
        changed = b"".join(lines[:5] + [b"new\n"] + lines[7:30] + lines[40:])
        yield "diff", whole + b"\n%%\n" + changed
        yield "edit", whole + b"\n%%\n" + lines[2] + b"\n%%\nnew" + b"\n%%\nthe\n%%\na"
        yield "edit", whole.replace(b"\n", b"\r\n") + b"\n%%\nand\n%%\nor"
    for pattern in (b"**/*.c", b"src/**/x", b"{a,b{c,d}}/*.[ch]", b"[!a-z]?\\*", b"*a*b*c*",
                    b"{}{}{}", b"/anchored/", b"!not.me", b"**", b"a/**/b/**/c"):
        yield "match", pattern + b"\nsrc/base/x\na/b/c\nabc.c\n\n"
    yield "diff", b"a\nb\nc\n%%\na\nc\nd"
    yield "text", "~/ä/../b//./\U0001f600".encode()
    yield "text", b"aGVsbG8=" b"\xff\xed\xa0\x80\xc0\xaf"


def write_dict(path, seeds):
    words = {}
    for text in seeds:
        for word in re.findall(rb'"([A-Za-z][A-Za-z0-9_./-]{1,39})"', text):
            words[word] = words.get(word, 0) + 1
    best = sorted(words, key=lambda w: (-words[w], w))[:MOST_WORDS]
    with open(path, "wb") as file:
        file.writelines(b'"\\"%s\\""\n' % word for word in best)
        own = f"{TOP}/tests/fuzz/{os.path.basename(path)}"
        if os.path.exists(own):
            with open(own, "rb") as more:
                file.write(more.read())


def main():
    base = sys.argv[1]
    found = {}
    for source in (unit_seeds, talk_seeds, text_seeds):
        for target, text in source():
            found.setdefault(target, set()).add(text[:LARGEST])
    for name in glob.glob(f"{TOP}/tests/fuzz/fuzz_*.c"):
        target = os.path.basename(name)[5:-2]
        seeds = found.get(target, {b""})
        os.makedirs(f"{base}/{target}", exist_ok=True)
        for text in seeds:
            with open(f"{base}/{target}/{hashlib.sha1(text).hexdigest()}", "wb") as file:
                file.write(text)
        write_dict(f"{base}/{target}.dict", seeds)
        print(f"{target}: {len(seeds)} seeds")


main()
