#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which talk proves which tool of which dialect: a normal call, a limit, an error.

    check_tools.py [--binary PROGRAM] [DIALECT...]

The tools come from the program (`trivet describe tools --json`), so a new one without a talk is a
failure.  A talk says what it proves in a comment:

    # tool: loaf bash: normal, limit, error

and must call that tool.  What a tool does not have is in NOT_THERE, with the reason.  The names,
types and required arguments of the protocol documents are in DOCUMENTED; the schemas that the
model sees must be the same.
"""
import argparse
import json
import os
import re
import subprocess
import sys

import harness
import proofs

MARK = re.compile(r"^# tool: +(\w+) +([\w-]+): +(.+)$")
KINDS = ("normal", "limit", "error")

NO_LIMIT_OF_STOP = "none is known: one job is stopped"
NO_LIMIT_OF_LIST = "none is known: all jobs that run are listed"
NO_ERROR_OF_LIST = "it needs no argument, and a wrong type counts as absent"
NOT_THERE = {
    ("loaf", "stop_background_bash", "limit"): NO_LIMIT_OF_STOP,
    ("loaf", "stop_background_js", "limit"): NO_LIMIT_OF_STOP,
    ("loaf", "list_background_bash", "limit"): NO_LIMIT_OF_LIST,
    ("loaf", "list_background_js", "limit"): NO_LIMIT_OF_LIST,
    ("loaf", "list_background_bash", "error"): NO_ERROR_OF_LIST,
    ("loaf", "list_background_js", "error"): NO_ERROR_OF_LIST,
    ("loaf", "write_background_js", "limit"):
        "none is known; input that the job does not read is in e2e/bad_arguments.py",
    ("loaf", "create_persistent_tool", "limit"): "none is known",
}

# tool: arguments, `!` behind the required ones; `name:type`, a string when no type is given.
# edit_file and todo_write of loaf, todo_write of Kward are trivet's own.
DOCUMENTED = {
    "loaf": """
apply_patch: input!
bash: command! timeout_seconds:number cwd env:object reset_session:boolean run_in_background:boolean
    session_name reuse_session:boolean full_terminal:boolean terminal_cols:number
    terminal_rows:number
edit_file: file_path! old_string! new_string! replace_all:boolean
todo_write: todos!:objects
create_persistent_tool: name! description! handler_code! args_schema:object filename
    overwrite:boolean
grep_files: pattern! include path limit:number
install_js_packages: packages!:strings args:strings dev:boolean package_manager cwd
    timeout_seconds:number
list_background_bash: include_exited:boolean
list_background_js: include_exited:boolean
list_dir: dir_path! offset:number limit:number depth:number
read_background_bash: session_id! max_chars:number stream peek:boolean
read_background_js: session_id! max_chars:number stream peek:boolean
read_file: file_path! offset:number limit:number mode indentation:object
resize_background_bash: session_id! cols!:number rows!:number
run_js: code! args:strings cwd timeout_seconds:number keep_script:boolean runtime format
run_js_module: module! args:strings package_manager cwd timeout_seconds:number
search_web: query! type num_results:number include_text:boolean include_highlights:boolean
    highlight_query highlight_sentences:number highlights_per_url:number include_domains:strings
    exclude_domains:strings
start_background_js: code! args:strings cwd keep_script:boolean runtime format session_name
    reuse_session:boolean
stop_background_bash: session_id! force:boolean
stop_background_js: session_id! force:boolean
write_background_bash: session_id! input key repeat:number append_newline:boolean
write_background_js: session_id! input! append_newline:boolean
""",
    "scaiflux": """
read_file: path! offset:integer limit:integer
glob_search: pattern! path
grep_search: pattern! path glob output_mode -A:integer -B:integer -C:integer context:integer
    -n:boolean -i:boolean type head_limit:integer offset:integer multiline:boolean
write_file: path! content!
edit_file: path! old_string! new_string! replace_all:boolean
bash: command! timeout:integer description run_in_background:boolean
WebFetch: url! prompt!
WebSearch: query! allowed_domains:strings blocked_domains:strings
TodoWrite: todos!:objects
Skill: skill! args
""",
    # The document names only `action` of code_search: the others are trivet's.
    "kward": """
list_directory: path!
read_file: path! offset:integer limit:integer
write_file: path! content!
edit_file: path! edits!:objects
run_shell_command: command! timeout_seconds:number
code_search: action! query url max_results:integer
web_search: queries!:strings max_results:integer provider recency_filter domain_filter:strings
read_skill: name! path
ask_user_question: questions!:objects
todo_write: todos!:objects
""",
}


def documented(dialect):
    """{tool: {argument: (type, is required)}}"""
    tools = {}
    for line in re.sub(r"\n +", " ", DOCUMENTED[dialect]).strip().splitlines():
        tool, _, arguments = line.partition(":")
        tools[tool] = {}
        for argument in arguments.split():
            name, _, kind = argument.partition(":")
            tools[tool][name.rstrip("!")] = (kind or "string", name.endswith("!"))
    return tools


def type_of(schema):
    """The type of an argument, as DOCUMENTED writes it; null does not count."""
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    return schema["items"]["type"] + "s" if kind == "array" else kind


def all_tools(program):
    output = subprocess.run([program, "describe", "tools", "--json"], capture_output=True, check=True)
    return json.loads(output.stdout)


def compare(dialect, tools):
    """Sentences about what the schemas have otherwise than the document."""
    expected = documented(dialect)
    for tool in expected.keys() ^ tools.keys():
        yield f"{dialect} {tool} is in the " + ("document" if tool in expected else "program") + " only"
    for tool in expected.keys() & tools.keys():
        schema = tools[tool]["input_schema"]
        needed = schema.get("required", [])
        has = {name: (type_of(s), name in needed) for name, s in schema["properties"].items()}
        if has != expected[tool]:
            yield f"{dialect} {tool} takes {has}, documented is {expected[tool]}"
        if list(has) != list(expected[tool]):
            yield f"{dialect} {tool}: arguments in another order than documented"
        if schema.get("additionalProperties") is not False:
            yield f"{dialect} {tool}: the schema is not closed"


def talks():
    """({(dialect, tool, kind): [talk]}, faults)"""
    proven, faults = {}, []
    for found, test, where in proofs.all_marks(MARK):
        dialect, tool, kinds = found.groups()
        with open(os.path.join(harness.TOP, test), encoding="utf-8") as file:
            if not re.search(rf'"(call|name)": "{re.escape(tool)}"', file.read()):
                faults.append(f"{where}: the talk does not call {tool}")
        for kind in re.split(r",\s*", kinds.strip()):
            if kind not in KINDS:
                faults.append(f"{where}: {kind} is none of {', '.join(KINDS)}")
            proven.setdefault((dialect, tool, kind), []).append(os.path.basename(test))
    return proven, faults


def report(dialect, tools, proven):
    """Prints one line per tool and kind; yields what is missing."""
    for tool in tools:
        for kind in KINDS:
            key = (dialect, tool, kind)
            found, reason = proven.pop(key, None), NOT_THERE.get(key)
            print(f"{dialect:9} {tool:24} {kind:7} {', '.join(found or [])}{reason or ''}")
            if found and reason:
                yield f"{dialect} {tool}: {kind} is shown by {found[0]} and in NOT_THERE"
            elif not found and not reason:
                yield f"{dialect} {tool}: no talk shows {kind}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", default=os.path.join(harness.TOP, "build/trivet"))
    parser.add_argument("dialects", nargs="*", default=list(DOCUMENTED))
    arguments = parser.parse_args()
    proven, faults = talks()
    output, n_tools = all_tools(arguments.binary), 0
    for dialect in arguments.dialects or DOCUMENTED:
        tools = output[dialect]
        n_tools += len(tools)
        faults += compare(dialect, tools)
        faults += report(dialect, tools, proven)
    faults += [f"{d} has no tool {t}, named by {names[0]}" for (d, t, _), names in proven.items()
               if d in (arguments.dialects or DOCUMENTED)]
    for fault in faults:
        print(fault)
    print(f"{max(0, n_tools - len(faults))} passed, {len(faults)} failed")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
