# SPDX-License-Identifier: MIT
"""Checks what a loaf, Kward or ACP process writes: every message against the schema that the program
prints (`trivet describe DIALECT --json`), an answer against the result of the method it answers.

    stream = Stream(program, "loaf")
    stream.sent(request)                 # every message given to the program
    stream.take(message)                 # every message it wrote; raises Broken

The schema must be narrow enough to notice a renamed member.  So each member that is met for the
first time is also renamed, and the message with the wrong name must be refused.  OPEN lists the
places whose members are not of the protocol: what tools take and give, what users write into files.
"""
import collections
import copy
import json
import os
import re
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "talk"))
import schema  # noqa: E402

OPEN = {
    "loaf": re.compile(
        r"\.payload\.tool_input\.|\.(call|executed(\[\])?)\.(input|result)[.\[]"    # calls of tools
        r"|\.results\[\]\.output[.\[]"
        r"|\.input_schema\."                               # a JSON Schema
        r"|\.queue\[\]\.images\[\]\."                     # as the client sent them
        r"|session\.debug .*\.data\.(payload|input)\."    # the provider's request, a call
        r"|\.opaque[.\[]"),                                # the provider's own
    "kward": re.compile(
        r"\.(args|arguments)[.\[]|\.tool\.(edits|path|command|oldText|newText)[.\[]"   # calls of tools
        r"|\.function\.parameters\."                      # a JSON Schema
        r"|^memory/\S+ \.result\.\w+(\[\])?\.(?!(id|text|scope|tags|created_at|updated_at|source|pinned"
        r"|confidence|hits|last_seen_at|ttl_days|status)$)"  # members of other programs in the files
        r"|^config/(read|update) \.result\.config\."       # the user's file
        r"|^logging/stats .*\.(by[A-Z]\w*|recordsBy\w+|statuses|totals|events)\.[^.]+$"  # counts
        r"|\.opaque[.\[]"),                                # the provider's own
    "acp": re.compile(r"\.rawInput[.\[]"                  # calls of tools
                      r"|\.requestedSchema\.properties\.\w+$"),   # one member per question
}


class Broken(Exception):
    """The message is not what the schema allows."""


class Dialect:
    """The schema of one program and dialect, and which of its members have been renamed."""

    def __init__(self, program, name):
        output = subprocess.run([program, "describe", name, "--json"], stdout=subprocess.PIPE,
                              check=True)
        self.name = name
        self.schema = schema.Schema(json.loads(output.stdout))
        self.renamed = set()
        self.n_seen = collections.Counter()     # messages by kind
        defs = self.schema.root["$defs"]
        self.results = {}               # method to the name of its result
        for one in defs["Inbound"].get("oneOf", ()):
            request = one["$ref"].rpartition("/")[2]
            method = defs[request]["properties"]["method"]["const"]
            self.results[method] = request.removesuffix("Request") + "Result"

        self.outbound = {}              # name of an event to its definition
        for one in defs["Outbound"].get("oneOf", ()):
            found = self.schema.resolve(one["$ref"])["properties"]
            params = found.get("params", {})
            kind = params.get("properties", {}).get("type", {}).get("const")
            if "method" in found:
                self.outbound[found["method"]["const"], kind] = one

    def event_of(self, message):
        """The definition that oneOf would choose, found at once; None: not by its name."""
        method, params = message.get("method"), message.get("params")
        kind = params.get("type") if isinstance(params, dict) else None
        return self.outbound.get((method, kind if isinstance(kind, str) else None)) \
            or self.outbound.get((method, None))

    def definition(self, name):
        return self.schema.root["$defs"][name]

    def methods(self):
        """(name, description, schema of the params, schema of the result)"""
        for name, result in self.results.items():
            stem = result.removesuffix("Result")
            yield (name, self.definition(stem + "Request")["description"],
                   self.definition(stem + "Params"), self.definition(result))

    def events(self):
        """(name, description, schema of what it carries)"""
        for one in self.definition("Outbound")["oneOf"]:
            event = self.schema.resolve(one["$ref"])
            inner = event["properties"].get("params")
            if inner:
                inner = self.schema.resolve(inner["$ref"]) if "$ref" in inner else inner
                kind = inner["properties"].get("type", {}).get("const")
                yield (kind or event["properties"]["method"]["const"], event["description"],
                       inner["properties"]["payload"] if kind else inner)

    def errors(self):
        """(code and reason, when)"""
        for one in self.definition("Error")["oneOf"]:
            parts = one["properties"]
            reason = parts["data"]["properties"]["reason"]["const"] if "data" in parts else ""
            yield f"{parts['code']['const']} {reason}".strip(), one["description"]

    def fit(self, message, methods):
        """Checks an answer as one to one of the methods; events and errors as they are."""
        if "result" in message and methods:
            self.schema.fit(self.response(methods), message, "$")
        elif (event := self.event_of(message)) is not None:
            self.schema.fit(event, message, "$")
        else:
            self.schema.check("Outbound", message)

    def response(self, methods):
        response = dict(self.schema.root["$defs"]["Response"])
        refs = [{"$ref": f"#/$defs/{self.results[method]}"} for method in methods]
        result = refs[0] if len(refs) == 1 else {"anyOf": refs}
        response["properties"] = dict(response["properties"], result=result)
        return response

    def rename(self, message, methods):
        """Raises Broken when a member can have another name without being noticed."""
        kind = methods[0] if methods else event_name(message)
        self.n_seen[kind] += 1
        if ("result" in message and not methods) or self.n_seen[kind] > 50 and self.n_seen[kind] % 50:
            return      # any result would do; or the same as the last ones, and time matters
        for path in members(message):
            place = f"{kind} {shape(path)}"
            if place in self.renamed or OPEN[self.name].search(place):
                continue
            self.renamed.add(place)
            variant = copy.deepcopy(message)
            at = variant
            for step in path[:-1]:
                at = at[step]
            at[f"{path[-1]}_renamed"] = at.pop(path[-1])
            try:
                self.fit(variant, methods)
            except schema.Invalid:
                continue
            raise Broken(f"the schema does not notice a renamed member: {place}")


def event_name(message):
    params = message.get("params")
    kind = params.get("type") if isinstance(params, dict) else None
    return f"{message.get('method', 'answer')}{f' {kind}' if isinstance(kind, str) else ''}"


def members(value, path=()):
    """The paths of all members of objects inside a value."""
    inside = value.items() if isinstance(value, dict) else \
        enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        if isinstance(value, dict):
            yield path + (key,)
        yield from members(inner, path + (key,))


def shape(path):
    return "".join("[]" if isinstance(step, int) else f".{step}" for step in path)


_dialects = {}
_lock = threading.Lock()


def dialect_of(program, name):
    with _lock:
        if (program, name) not in _dialects:
            _dialects[program, name] = Dialect(program, name)
        return _dialects[program, name]


class Stream:
    """One process."""

    def __init__(self, program, name):
        self.dialect = dialect_of(program, name)
        self.asked = {}                 # id, as JSON, to the methods of the requests with it

    def sent(self, message):
        if isinstance(message, dict) and "id" in message:
            methods = self.asked.setdefault(json.dumps(message["id"]), [])
            method = message.get("method")
            if isinstance(method, str) and method in self.dialect.results and method not in methods:
                methods.append(method)

    def sent_bytes(self, data):
        """What was not sent as one message: lines or bodies that are JSON count."""
        for line in re.split(rb"\r?\n", data):
            try:
                self.sent(json.loads(line))
            except ValueError:
                pass

    def take(self, message):
        methods = []
        if isinstance(message, dict) and "result" in message:
            methods = self.asked.get(json.dumps(message.get("id")), [])
        try:
            self.dialect.fit(message, methods)
        except schema.Invalid as error:
            raise Broken(f"against the schema: {methods or event_name(message)}: {error}: "
                         f"{json.dumps(message)[:300]}") from None
        self.dialect.rename(message, methods)
