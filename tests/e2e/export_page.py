#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`trivet sessions export --html`: a page that loads nothing and runs nothing, opened in Chromium (Debian:
chromium) where that is installed.  `--pictures DIR` keeps pictures of it, `--write` makes docs/pictures/export.png.
"""
import http.server
import json
import os
import re
import struct
import subprocess
import sys
import threading
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import chromium  # noqa: E402
import harness   # noqa: E402

PROGRAM = os.environ["TRIVET"]
HOSTILE = ("<script>document.title = 'owned'</script><img src=\"http://127.0.0.1:%d/img\" onerror=\"document.title='owned'\">"
           "</div></section></main><style>body{background:red}</style>")
ANSWER = """## What was wrong

The parser **drops** the *last* token. In `parse.c` the loop ends one step early:

```c
for (i = 0; i < n - 1; i++)
    step(i);
```

1. The bound was `n - 1`
2. The test did not see it
   - only even lengths were tried
   - see [the manual](https://example.org/manual?a=1&b=2)

| file | lines |
|---|---:|
| parse.c | 12 |
| test_parse.c | 140 |

> All 214 tests pass now.

%s
"""
TAIL = "[click](javascript:document.title='owned') ![x](http://127.0.0.1:%d/pic) "
passed, failed = 0, 0


def check(name, ok, detail=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"FAILED: {name}: {str(detail)[:600]}")


def png():
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes([40 * y % 256, 120, 200] * 24) for y in range(12))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 24, 12, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def converse(base, port, hostile):
    """A session with reasoning, an edit, a command that fails, pictures and hostile text everywhere."""
    rounds = [
        [{"think": f"The loop looks wrong. {hostile}"}, {"say": "I look at the parser first.\n"},
         {"call": "read_file", "args": {"path": "parse.c"}}],
        [{"call": "edit_file", "args": {"path": "parse.c", "old_string": "i < n - 1", "new_string": "i < n"}}],
        [{"call": "bash", "args": {"command": f"echo {json.dumps(hostile)}; exit 3"}}],
        [{"say": ANSWER % (hostile and TAIL % port + hostile)}],
    ]
    with open(os.path.join(base, "play.json"), "w", encoding="utf-8") as file:
        json.dump({"rounds": rounds}, file)
    cwd = os.path.join(base, "work")
    os.makedirs(cwd)
    with open(os.path.join(cwd, "parse.c"), "w", encoding="utf-8") as file:
        file.write("void walk(int n)\n{\n    for (int i = 0; i < n - 1; i++)\n        step(i);\n}\n")
    with open(os.path.join(cwd, "a.png"), "wb") as file:
        file.write(png())
    env = dict(harness.clean_env(base), TRIVET_MODEL=f"rehearsal/{base}/play.json")
    subprocess.run([PROGRAM, "exec", "-q", "--image", "a.png", "--title", f"The parser drops a token {hostile[:20]}".strip(),
                    f"why does the test fail?\n{hostile}".strip()], cwd=cwd, env=env, check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return cwd, env


def draw(base, path):
    """The picture for the documentation: a conversation without hostile text."""
    cwd, env = converse(base, 9, "")
    ident = json.loads(subprocess.run([PROGRAM, "sessions", "--json"], cwd=cwd, env=env, check=True,
                                      stdout=subprocess.PIPE).stdout)[0]["id"]
    page = os.path.join(base, "page.html")
    subprocess.run([PROGRAM, "sessions", "export", ident, "--html", "-o", page], cwd=cwd, env=env, check=True)
    with chromium.Browser(base) as b:
        b.resize(760, 1160)
        b.open(f"file://{page}")
        b.picture(path, False)


def check_text(page, port):
    check("no markup from the texts", not re.search(r"<script|<img (?!alt=\"a.png\" src=\"data:)|onerror=\"|</main><style>|javascript:[^d]", page)
          and page.count("<style>") == 1, re.findall(r"<(?:script|img[^>]*)", page))
    check("the texts are there", page.count("&lt;script&gt;") >= 4, page.count("&lt;script&gt;"))
    links = set(re.findall(r'(?:href|src)="([^"]{0,40})', page))
    check("links", all(one.startswith(("https://example.org/", f"http://127.0.0.1:{port}/", "data:image/png"))
                       for one in links), links)
    check("policy", "default-src 'none'; style-src 'sha256-" in page)
    check("diff", '<span class="del">-    for (int i = 0; i &lt; n - 1; i++)</span>' in page
          and '<span class="add">+    for (int i = 0; i &lt; n; i++)</span>' in page)


def check_browser(base, path, keep, hits):
    with chromium.Browser(base) as b:
        b.resize(1000)
        b.open(f"file://{path}")
        check("the style sheet is allowed", b.value("getComputedStyle(document.querySelector('main')).maxWidth") != "none")
        check("sections", b.value("document.querySelectorAll('details.tool').length") == 3)
        check("the diff is open, the command closed", b.value(
            "[...document.querySelectorAll('details.tool')].map(e => e.open).join()") == "false,true,false")
        shown = "document.querySelector('details.reasoning > div').checkVisibility()"
        check("reasoning is closed", b.value(shown) is False)
        b.click("details.reasoning > summary")
        check("a click opens it", b.value(shown) is True)
        b.click("details.reasoning > summary")
        check("a click closes it", b.value(shown) is False)
        b.click("details.tool:last-of-type > summary")
        check("the picture is shown", b.value("document.querySelector('img').naturalWidth") == 24)
        for width in (390, 800, 1400):
            for dark in (False, True):
                b.resize(width, 1600, dark)
                check(f"fits {width}", b.value("document.documentElement.scrollWidth <= innerWidth"),
                      b.value("document.documentElement.scrollWidth"))
                light = b.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
                check(f"{'dark' if dark else 'light'} at {width}", light != dark)
                if keep:
                    b.picture(os.path.join(keep, f"export-{width}-{'dark' if dark else 'light'}.png"), False)
        check("no script ran", "owned" not in b.value("document.title"))
        check("nothing was asked for", [one for one in b.requests() if not one.startswith(("file:", "data:"))] == []
              and not hits, (b.requests(), hits))
        blocked = [one for one in b.events if one.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown")]
        check("nothing had to be blocked", not blocked, blocked)


def main():
    keep = sys.argv[sys.argv.index("--pictures") + 1] if "--pictures" in sys.argv else None
    hits = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            hits.append(self.path)
            self.send_error(404)

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with harness.private_place() as base:
        if "--write" in sys.argv:
            draw(base, os.path.join(harness.TOP, "docs/pictures/export.png"))
            return
        cwd, env = converse(base, server.server_port, HOSTILE % server.server_port)
        path = os.path.join(base, "page.html")

        def export(*args):
            return subprocess.run([PROGRAM, "sessions", "export", *args], cwd=cwd, env=env, check=False,
                                  capture_output=True, text=True)

        ident = json.loads(subprocess.run([PROGRAM, "sessions", "--json"], cwd=cwd, env=env, check=True,
                                          stdout=subprocess.PIPE).stdout)[0]["id"]
        made = export(ident[:8], "--html", "-o", path)
        check("export --html", made.returncode == 0, made)
        with open(path, encoding="utf-8") as file:
            page = file.read()
        check("the same on stdout", export(ident, "--html").stdout == page)
        check("an existing file stays", export(ident, "--html", "-o", path).returncode == 1)
        check_text(page, server.server_port)
        if chromium.find():
            check_browser(base, path, keep, hits)
        else:
            print("chromium is not installed: the page was not opened")
    harness.finish(passed, failed)


main()
