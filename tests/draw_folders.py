#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws the folders of src as docs/folders.svg from house.order: a row per line of that file, the
lowest at the bottom.  A folder includes only folders below its row.  Also: the files that
docs/tour.md names exist.

    draw_folders.py            fails when the drawing is not what house.order and src give
    draw_folders.py --write    draws it anew
"""
import glob
import html
import os
import re
import sys

import harness

ORDER = os.path.join(harness.TOP, "house.order")
DRAWING = os.path.join(harness.TOP, "docs", "folders.svg")
WIDTH, ROW, BOX, GAP, LEFT = 960, 64, 34, 8, 16
STYLE = ("text { font: 13px sans-serif; fill: #222 } .about { font-size: 12px; fill: #555 } "
         "rect { fill: #eef2f7; stroke: #7a8ba0 } line { stroke: #ccd4dd }")


def folders_of(pattern, named):
    """The folders of src that a pattern names, without those that have a line of their own."""
    found = sorted(glob.glob(os.path.join(harness.TOP, pattern)))
    names = [os.path.relpath(path, harness.TOP) for path in found if os.path.isdir(path)]
    return [name for name in names if name == pattern or name not in named]


def layers():
    """[(folders, what they are)], the lowest first"""
    with open(ORDER, encoding="utf-8") as file:
        lines = [line.partition("#") for line in file if line.startswith("src/")]
    named = {word for words, _, _ in lines for word in words.split() if "*" not in word}
    return [([name for word in words.split() for name in folders_of(word, named)], about.strip())
            for words, _, about in lines]


def draw():
    rows = layers()
    height = ROW * len(rows) + GAP
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
           f'width="{WIDTH}" height="{height}" role="img" aria-label="Folders of src by layer">',
           f"<style>{STYLE}</style>"]
    for i, (names, about) in enumerate(reversed(rows)):
        top, left = GAP + i * ROW, LEFT
        for name in names:
            label = name.removeprefix("src/")
            width = 8 * len(label) + 18
            out.append(f'<rect x="{left}" y="{top}" width="{width}" height="{BOX}" rx="4"/>')
            out.append(f'<text x="{left + width // 2}" y="{top + 22}" text-anchor="middle">'
                       f"{html.escape(label)}</text>")
            left += width + GAP
        out.append(f'<text class="about" x="{LEFT}" y="{top + BOX + 15}">{html.escape(about)}</text>')
        out.append(f'<line x1="{LEFT}" y1="{top + ROW - 6}" x2="{WIDTH - LEFT}" y2="{top + ROW - 6}"/>')
    return "\n".join(out + ["</svg>"]) + "\n"


def missing():
    """Paths in docs/tour.md that lead nowhere."""
    with open(os.path.join(harness.TOP, "docs", "tour.md"), encoding="utf-8") as file:
        named = re.findall(r"`((?:src|tests|docs)/[\w./-]+)`", file.read())
    return sorted(path for path in set(named)
                  if not os.path.exists(os.path.join(harness.TOP, path)))


def main():
    text = draw()
    if "--write" in sys.argv:
        with open(DRAWING, "w", encoding="utf-8") as file:
            file.write(text)
        return 0
    faults = [f"docs/tour.md names {path}, which does not exist" for path in missing()]
    with open(DRAWING, encoding="utf-8") as file:
        if file.read() != text:
            faults.append("docs/folders.svg is not what house.order gives: "
                          "tests/draw_folders.py --write draws it")
    print("\n".join(faults))
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
