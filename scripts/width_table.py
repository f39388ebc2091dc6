#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes src/terminal/width_table.h from the Unicode tables of this Python."""
import os
import sys
import unicodedata

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = os.path.join(HERE, "../src/terminal/width_table.h")


def is_zero(c):
    kind = unicodedata.category(chr(c))
    return kind in ("Mn", "Me") or 0x1160 <= c <= 0x11ff or c in (0x200b, 0x200c, 0x200d, 0x2060, 0xfeff)


def is_wide(c):
    return (unicodedata.category(chr(c)) != "Cn" and not is_zero(c) and
            unicodedata.east_asian_width(chr(c)) in ("W", "F"))


def ranges(test):
    """Ranges [first, last]; code points that are not assigned join two neighbours of one kind."""
    found, last, joined = [], None, True
    for c in range(0x300, 0x30000):
        if test(c):
            if found and joined and last is not None:
                found[-1][1] = c
            else:
                found.append([c, c])
            last, joined = c, True
        elif unicodedata.category(chr(c)) != "Cn":
            last, joined = None, False
    return found


def table(name, rows):
    out = [f"static const struct width_range {name}[] = {{"]
    line = "   "
    for first, last in rows:
        item = f" {{{first:#x}, {last:#x}}},"
        if len(line + item) > 100:
            out.append(line)
            line = "   "
        line += item
    return "\n".join(out + [line, "};"])


def main():
    text = ("/* SPDX-License-Identifier: MIT */\n"
            f"/* Made by scripts/width_table.py from Unicode {unicodedata.unidata_version}. */\n"
            "#ifndef TRIVET_TERMINAL_WIDTH_TABLE_H\n#define TRIVET_TERMINAL_WIDTH_TABLE_H\n\n"
            "#include <stdint.h>\n\n"
            "struct width_range {\n    uint32_t first, last;\n};\n\n"
            "/* Characters that are drawn upon the one before them. */\n"
            f"{table('zero_ranges', ranges(is_zero))}\n\n"
            "/* Characters of two columns. */\n"
            f"{table('wide_ranges', ranges(is_wide))}\n\n#endif\n")
    with open(TARGET, "w", encoding="utf-8") as file:
        file.write(text)
    return 0


sys.exit(main())
