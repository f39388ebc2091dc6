#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A picture that is read goes to the model as one, known by its content; too large ones and blind
models get a note; PDF files give their text or say what is missing."""
import base64
import json
import os
import struct
import sys
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from played_model import DIALECTS, Checks, play  # noqa: E402

check = Checks()


def png(width, height):
    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data
                + struct.pack(">I", zlib.crc32(kind + data)))
    rows = b"".join(b"\0" + b"\xff\0\0" * width for _ in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


SMALL = png(10, 10)
FILES = {"small.png": SMALL, "named.txt": SMALL, "wide.png": png(3000, 1),
         "a.gif": b"GIF89a\x05\0\x06\0\0\0\0;", "text.png": b"no picture\n",
         "a.pdf": b"%PDF-1.4\n\0\0", "data.bin": b"\0\1\2"}


def read(dialect, place, name):
    return "read_file", ({"file_path": os.path.join(place, name)} if dialect == "loaf"
                         else {"path": name})


def scenario(dialect, place):
    names = list(FILES)
    texts = dict(zip(names, (yield [read(dialect, place, name) for name in names])))
    for name in ("small.png", "named.txt"):
        check(f"{dialect}: {name}", "is a picture (image/png, 10 x 10 pixels" in texts[name], texts)
    check(f"{dialect}: gif", "image/gif, 5 x 6" in texts["a.gif"], texts["a.gif"])
    check(f"{dialect}: too wide", "3000 x 1" in texts["wide.png"] and "too large" in texts["wide.png"],
          texts["wide.png"])
    check(f"{dialect}: text by any name", "no picture" in texts["text.png"], texts["text.png"])
    check(f"{dialect}: PDF", "is a PDF file" in texts["a.pdf"] and "pdftotext" in texts["a.pdf"],
          texts["a.pdf"])
    check(f"{dialect}: another binary file", "picture" not in texts["data.bin"], texts["data.bin"])


def blind(dialect, place):
    [text] = yield [read(dialect, place, "small.png")]
    check(f"{dialect}: a model without pictures gets a note", "does not take pictures" in text, text)


def make(base):
    place = os.path.join(base, "workspace")
    os.makedirs(place)
    for name, data in FILES.items():
        with open(os.path.join(place, name), "wb") as file:
            file.write(data)
    return place


def main():
    data = base64.b64encode(SMALL).decode()
    for dialect in DIALECTS:
        with check.scene(dialect) as base:
            seen = play(dialect, scenario(dialect, make(base)), base)
            body = json.dumps(seen.requests[1])
            check(f"{dialect}: picture blocks in the next request",
                  body.count(f"data:image/png;base64,{data}") == 2 and "image/gif;base64" in body,
                  body[-600:])
            if dialect == "kward":
                images = [m["params"]["payload"]["result"]["images"] for m in seen.heard
                          if m.get("params", {}).get("type") == "toolResult"]
                check("kward: images", images[0] == [{"type": "image", "data": data,
                                                       "mimeType": "image/png"}]
                      and images[2] == [], images[:3])
        with check.scene(f"{dialect} blind") as base:
            config = os.path.join(base, "xdg", "config", "trivet")
            os.makedirs(config)
            with open(os.path.join(config, "models.json"), "w", encoding="ascii") as file:
                json.dump({"models": [{"id": "openai/played", "images": False,
                                       "context_window": 128000}]}, file)
            seen = play(dialect, blind(dialect, make(base)), base)
            check(f"{dialect}: no block for it", "base64," not in json.dumps(seen.requests[1]))
    return check.end()


sys.exit(main())
