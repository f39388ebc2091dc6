#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Arguments that are no JSON: what can be mended is, what was cut is called cut."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import slips  # noqa: E402

FILES = {"a.txt": "one\ntwo\n"}
CUT = "arguments were cut or are not JSON"
READ = {"loaf": '{"file_path": "{W}/a', "scaiflux": '{"path": "a', "run": '{"path": "a',
        "kward": '{"path": "a'}
SHELL = {"loaf": "bash", "scaiflux": "bash", "run": "bash", "kward": "run_shell_command"}
c = slips.Checks()

for toolset in slips.TOOLSETS:
    with slips.play(toolset, [("read_file", READ[toolset])], FILES) as seen:
        text, raw = seen.texts[0], READ[toolset].replace("{W}", seen.workspace)
        c.has(text, CUT, f"{toolset}: cut in a string")
        c.has(text, f"they have {len(raw)} bytes and end with: {raw[-100:]}", f"{toolset}: the end")
        first = text.split("\n")[0]
        c.that(toolset == "loaf" or "missing" not in text and "required" not in text,
               f"{toolset}: not called missing", text)
        c.that(toolset != "loaf" or "file_path" in first, "loaf's own error stays first", text)
        c.that(seen.errors in ([True], []), f"{toolset}: it is an error", text)
    long = '{"command": "' + "x" * 300 + "ä" * 50
    with slips.play(toolset, [(SHELL[toolset], long)], FILES) as seen:
        c.has(seen.texts[0], f"they have {len(long.encode())} bytes and end with: "
              + "x" * 50 + "ä" * 50, f"{toolset}: the last 100 characters")
    with slips.play(toolset, [(SHELL[toolset], '{"command": "echo one\n\techo two"}')], FILES) as seen:
        c.has(seen.texts[0], "one", f"{toolset}: a raw line end and a raw tab")
        c.has(seen.texts[0], "two", f"{toolset}: a raw line end and a raw tab")
    with slips.play(toolset, [(SHELL[toolset], r'{"command": "printf \%s\\n a\.d | grep \d"}')],
                    FILES) as seen:
        c.has(seen.texts[0], "a.d", f"{toolset}: bad backslashes are doubled")
    with slips.play(toolset, [(SHELL[toolset], r'"{\"command\": \"echo twice\"}"')], FILES) as seen:
        c.has(seen.texts[0], "twice", f"{toolset}: an object inside a string")
c.finish()
