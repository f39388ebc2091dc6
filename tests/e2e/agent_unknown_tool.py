#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A tool that is not there: the dialect's line, then the three nearest names."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import slips  # noqa: E402

FIRST = {"loaf": '"status":"not_found"}', "scaiflux": "unknown tool: %s", "run": "unknown tool: %s",
         "kward": "Error: unknown tool: %s"}
NAMES = {"Read_File": {"loaf": "read_file", "scaiflux": "read_file", "run": "read_file",
                       "kward": "read_file"},
         "str_replace_editor": {"loaf": "apply_patch", "scaiflux": "edit_file", "run": "edit_file",
                                "kward": "edit_file"},
         "ShellCommand": {"loaf": "bash", "scaiflux": "bash", "run": "bash",
                          "kward": "run_shell_command"}}
c = slips.Checks()
for toolset in slips.TOOLSETS:
    with slips.play(toolset, [(name, {"path": "a"}) for name in NAMES]) as seen:
        for (name, near), text in zip(NAMES.items(), seen.texts):
            first, _, hint = text.partition("\n")
            c.has(first, FIRST[toolset] % name if "%s" in FIRST[toolset] else FIRST[toolset],
                  f"{toolset} {name}: the line of the dialect")
            c.that(hint.startswith("nearest tools: "), f"{toolset} {name}: the hint", text)
            names = hint.removeprefix("nearest tools: ").split(", ")
            c.that(len(names) == 3 and near[toolset] in names, f"{toolset} {name}: {near}", text)
        c.that(all(seen.errors), f"{toolset}: errors", seen.errors)
c.finish()
