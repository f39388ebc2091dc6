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
            if name == "proxy_head":
                yield "proxy", b"a.org,*.b.org:81,[::1]\n%%\n" + text
            if name.startswith("cluster") and b"\r\n" in text:
                yield "nats", text
            if name == "web_head" and b"HTTP/1.1\r\n" in text:
                yield "web_head", text
            if name in ("command", "plain_git", "rules"):
                yield "command", text
            yield from file_seeds(name, text)


def file_seeds(name, text):
    """Files of a user, as the unit test of that name has them."""
    if text[:1] not in (b"{", b"["):
        return
    if name == "rules":
        yield "rules", text + b"\n%%\ngit status && rm -rf x"
    if name == "redact":
        yield "redact", text
    if name in ("auth_store", "credential", "keys", "login", "oauth"):
        yield "auth", text + b"\n%%\n" + text
    if name in ("config", "custom", "library", "skills"):
        yield "config", text
        yield "library", text


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
            if "/kward/" in path:
                yield "redact", line.strip()
        for block in re.findall(rb"<<END\n(.*?)\nEND", text, re.S):
            yield from block_seeds(block)


def block_seeds(block):
    """A file that a talk writes: a session, an ignore file, a script of the fake provider."""
    if b'"type"' in block and b"\n{" in block:
        yield "log", block + b"\n"
        for message in re.findall(rb'"message": ?(\{.*\})\}', block):
            yield "message", message
        yield "chat", block + b"\n"
        yield "memory", b"[]\n%%\n" + block + b"\n%%\nI always use tabs"
    elif block.startswith((b"{", b"[")):
        yield from json_seeds(block)
        for target in ("config", "library", "redact"):
            yield target, block
        for target in ("auth", "rules", "memory"):
            yield target, block + b"\n%%\n" + block
    elif block.startswith(b"---"):
        yield "library", block
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
    yield from own_seeds()
    yield "diff", b"a\nb\nc\n%%\na\nc\nd"
    yield "text", "~/ä/../b//./\U0001f600".encode()
    yield "text", b"aGVsbG8=" b"\xff\xed\xa0\x80\xc0\xaf"


def own_seeds():
    """Files that no talk writes whole."""
    for line in (b"git a; rm 'b c' \"d\\\"\" e\\ f && x | y >/dev/null 2>&1 # z", b"A=b c", b"A+=b c",
                 b"a[1]=b c", b"sh -c 'rm x' 12>&1", b"/bin/r? x\n~/x", b"\\exec rm x"):
        yield "command", line
        yield "rules", (b'{"allow":["bash(git *)","write_file(*.md)"],"ask":["*"],'
                        b'"deny":["bash(rm)","write_file(/etc/*)"]}\n%%\n' + line)
    yield from index_seeds()
    yield from web_seeds()
    yield "memory", (b'[{"id":"core_001","text":"Use tabs","scope":"global","tags":["tabs"]}]\n%%\n'
                     b'{"id":"soft_001","text":"I always use tabs","tags":["tabs"],"confidence":0.5,'
                     b'"hits":1,"ttl_days":60,"last_seen_at":"2026-01-01T00:00:00Z",'
                     b'"status":"active"}\n%%\nPlease remember: we always use tabs. I prefer it')
    yield "auth", (b'{"openai_chatgpt_auth":"{\\"version\\":1,\\"accessToken\\":\\"a\\",'
                   b'\\"refreshToken\\":\\"r\\"}","x_kept":1,"exa_api_key":"k"}\n%%\n'
                   b'{"auth_mode":"chatgpt","tokens":{"access_token":"a","refresh_token":"r",'
                   b'"account_id":"i"},"x_more":2,"expires_at":"2026-01-01T00:00:00Z"}')
    yield "auth", (b'{"openai":{"type":"oauth","access":"a","refresh":"r","expires_ms":1},'
                   b'"anthropic":{"type":"api_key","access":"k"}}\n%%\n{"openrouter_api_key":"k"}')
    yield "chat", (b'{"type":"session_meta","id":"i","title":"t","provider":"openai","model":"m",'
                   b'"thinkingLevel":"OFF","createdAt":"2026-01-01T00:00:00Z","updatedAt":"x"}\n'
                   b'{"type":"message","index":0,"role":"user","text":"a","images":[{"path":"p",'
                   b'"mimeType":"image/png","dataUrl":"data:image/png;base64,QQ==","byteSize":1}]}\n'
                   b'{"type":"message","index":1,"role":"assistant","text":"b"}\n')
    yield "library", (b'{"program":"./run","description":"d","name":"n","command":["./run","x"],'
                      b'"timeout_seconds":5,"input_schema":{"properties":{"a":{"type":"string"}}},'
                      b'"commands":[{"name":"n","description":"d","argumentHint":"h"}]}')
    yield "library", b"---\nname: n\ndescription: >\n  a\n  b\n---\nDo $ARGUMENTS\n"


def web_seeds():
    """HTTP requests in a row, and WebSocket frames with the mask 0."""
    head = b" HTTP/1.1\r\nHost: h\r\nOrigin: https://h\r\nAuthorization: Bearer t\r\n"
    yield "web_head", b"GET /a/%41?b=%20+c&d" + head + b"\r\n" + b"POST /e" + head + (
        b"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}") + b"PUT /f" + head + (
            b"Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
    yield "web_head", b"GET /v1/ws" + head + (
        b"Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
        b"Sec-WebSocket-Protocol: trivet.v1, trivet.token.t\r\nSec-Fetch-Site: none\r\n\r\n")

    def frame(first, payload):
        n = len(payload)
        size = bytes([128 | n]) if n < 126 else b"\xfe" + n.to_bytes(2, "big")
        return bytes([first]) + size + bytes(4) + payload
    yield "web_frames", frame(0x81, b"one") + frame(1, b"tw") + frame(0x89, b"ping") + (
        frame(0, b"") + frame(0x80, "\u20ac".encode()) + frame(0x8a, b"") + frame(0x81, b"x" * 300) +
        frame(0x88, b"\x03\xe8bye"))
    for first in (0x82, 0x83, 0xc1, 0x80, 0x09, 0x8b):
        yield "web_frames", frame(0x81, b"one") + frame(first, b"two")


def index_seeds():
    """git indexes: versions 2 and 4, a link, a table of contents, a split one."""
    def entry(mode, name, strip=None):
        body = bytes(24) + mode.to_bytes(4, "big") + bytes(32) + len(name).to_bytes(2, "big")
        if strip is not None:
            return body + bytes([strip]) + name + b"\0"
        return body + name + bytes(8 - (len(body) + len(name)) % 8)
    plain = entry(0o100644, b"a") + entry(0o160000, b"lib/x")
    for tail in (b"", b"TREE\0\0\0\3abc", b"link" + bytes(4),
                 b"EOIE\0\0\0\x18" + (12 + len(plain)).to_bytes(4, "big") + bytes(20)):
        yield "gitlinks", b"DIRC\0\0\0\2\0\0\0\2" + plain + tail + bytes(20)
    short = entry(0o100644, b"a", 0) + entry(0o160000, b"b/c", 1)
    table = b"IEOT\0\0\0\x0c\0\0\0\1\0\0\0\x0c\0\0\0\2"
    yield "gitlinks", b"DIRC\0\0\0\4\0\0\0\2" + short + table + bytes(20)


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
