#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# NEEDS: terminal
"""docs/chat.md says what the program does: its tables are those of `trivet describe chat`, and its
picture is what the program draws.  `--write` makes both anew.
"""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import harness  # noqa: E402

PAGE = os.path.join(harness.TOP, "docs/chat.md")
PICTURE = os.path.join(harness.TOP, "scripts/chat_picture.py")
BEGIN, END = "<!-- made by tests/e2e/chat_page.py -->\n", "<!-- end -->\n"


def main():
    program = os.environ["TRIVET"]
    tables = subprocess.run([program, "describe", "chat"], capture_output=True, text=True,
                            check=True).stdout
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    wanted = f"{before}{BEGIN}{tables}{END}{after}"
    if "--write" in sys.argv:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(wanted)
        return subprocess.run([sys.executable, PICTURE, "--binary", program], check=False).returncode
    failed = 0
    if wanted != page:
        failed += 1
        print("docs/chat.md differs from `trivet describe chat`; --write makes it anew")
    if harness.has_namespaces():
        failed += subprocess.run([sys.executable, PICTURE, "--binary", program, "--check"],
                                 check=False).returncode != 0
    else:
        harness.skip("chat_page: the picture, which has no warning")
    usage = subprocess.run([program, "chat", "--help"], capture_output=True, text=True, check=True)
    if not re.search(r"--plain", usage.stdout):
        failed += 1
        print("the usage does not name --plain")
    harness.finish(3 - failed, failed)
    return 0


sys.exit(main())
