#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tables of docs/acp.md are those of the program, and its text for CodeCompanion is a flat adapter.

    acp_page.py [--write]     --write puts them into the page
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import page  # noqa: E402
import rpc_stream  # noqa: E402
from client import PROGRAM  # noqa: E402


def members(schema, without=()):
    """Names of an object's members; optional ones in brackets."""
    needed = schema.get("required", [])
    return ", ".join(f"`{n}`" if n in needed else f"[`{n}`]" for n in schema.get("properties", {})
                     if n not in without)


def methods(root):
    rows = ["| method | params | what it does |\n|---|---|---|"]
    for name, about, params, _ in root.methods():
        rows.append(f"| `{name}` | {members(params)} | {about} |")
    return "\n".join(rows)


def updates(root):
    rows = ["| update | members |\n|---|---|"]
    for one in root.definition("SessionUpdate")["oneOf"]:
        one = root.schema.resolve(one["$ref"]) if "$ref" in one else one
        kind = one["properties"]["sessionUpdate"]
        name = kind["const"] if "const" in kind else kind["enum"][0]
        rows.append(f"| `{name}` | {members(one, ('sessionUpdate',))} |")
    return "\n".join(rows)


def asks(root):
    rows = ["| request | params | when |\n|---|---|---|"]
    for one in root.definition("Outbound")["oneOf"]:
        name = one["$ref"].rpartition("/")[2]
        if name.endswith("Ask"):
            ask = root.definition(name)
            rows.append(f"| `{ask['properties']['method']['const']}` | "
                        f"{members(ask['properties']['params'])} | {ask['description']} |")
    return "\n".join(rows)


class Lua:
    """Reads one expression of literals, calls and functions without arguments.  A table becomes a dict or a
    list, a call (what, argument), a function ("function", what it returns)."""

    def __init__(self, text):
        self.tokens = re.findall(r'"[^"\n]*"|\w+|[^\w\s]', text)

    def take(self, *wanted):
        token = self.tokens.pop(0)
        assert not wanted or token in wanted, (wanted, token, self.tokens[:8])
        return token

    def skip(self, *words):
        return self.tokens and self.tokens[0] in words and self.take()

    def value(self):
        token = self.take()
        if token == "{":
            return self.table()
        if token == "function":
            self.take("("), self.take(")")
            result = self.value() if self.skip("return") else None
            self.take("end")
            return "function", result
        value = token.strip('"') if token[0] == '"' else int(token) if token.isdigit() else token
        while mark := self.skip("(", "."):
            value = (value, self.take() if mark == "." else self.value())
            mark == "." or self.take(")")
        return value

    def table(self):
        items, names = [], {}
        while not self.skip("}"):
            if self.tokens[1] == "=":
                name = self.take()
                self.take("=")
                names[name] = self.value()
            else:
                items.append(self.value())
            self.skip(",") or self.tokens[0] == "}" or self.take("}")
        return names or items


def adapter_fits():
    """CodeCompanion 19.22 calls handlers.setup, .form_messages and .on_exit, without a level between."""
    with open(os.path.join(harness.TOP, "docs", "acp.md"), encoding="utf-8") as file:
        text = re.search(r"```lua\n(.*?)```", file.read(), re.S).group(1)
    lua = Lua(text)
    call = lua.value()
    assert not lua.tokens, lua.tokens
    assert call[0][1] == "setup" and call[0][0] == ("require", "codecompanion"), call[0]
    settings = call[1]
    kind, adapter = settings["adapters"]["acp"]["trivet"]
    assert kind == "function" and settings["interactions"]["chat"]["adapter"] == "trivet", settings
    handlers = adapter["handlers"]
    assert set(handlers) == {"setup", "form_messages", "on_exit"}, handlers
    assert handlers["setup"] == ("function", "true") and handlers["on_exit"] == ("function", None), handlers
    assert handlers["form_messages"] == (("require", "codecompanion.adapters.acp.helpers"), "form_messages")
    assert adapter["type"] == "acp" and adapter["commands"] == {"default": ["trivet", "acp"]}, adapter
    assert adapter["parameters"]["protocolVersion"] == 1 and "timeout" in adapter["defaults"], adapter
    return True


def main():
    root = rpc_stream.dialect_of(PROGRAM, "acp")
    same = page.put("acp.md", {"methods": methods(root), "updates": updates(root),
                               "asks": asks(root)}, "--write" in sys.argv)
    good = int(same) + int(adapter_fits())
    harness.finish(good, 2 - good)


main()
