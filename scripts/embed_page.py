#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""embed_page.py FILE...: prints the C source of page_files (src/web/answer.h) with these files."""
import hashlib
import os
import sys

TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
         ".css": "text/css; charset=utf-8"}


def main():
    rows = []
    print('#include "web/answer.h"')
    for number, path in enumerate(sys.argv[1:]):
        with open(path, "rb") as file:
            data = file.read()
        name = os.path.basename(path)
        numbers = ",".join(str(byte) for byte in data)
        print(f"static const unsigned char file_{number}[] = {{{numbers}}};")
        etag = hashlib.sha256(data).hexdigest()[:16]
        rows.append('{"%s", "%s", "\\"%s\\"", file_%d, sizeof file_%d},' % (
            "/" if name == "index.html" else "/" + name, TYPES[os.path.splitext(name)[1]], etag,
            number, number))
    print("const struct page_file page_files[] = {" + "\n".join(rows) + "{0}};")


main()
