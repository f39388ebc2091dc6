# SPDX-License-Identifier: MIT
"""Patterns: JSON that expects JSON.

    "..."               any value; as the last item of an array: any further items;
                        as a member "...":"...": any further members
    "$name"             remembers the value the first time, must equal it later
    "~regex"            a string in which the regular expression is found
    "text ${name}"      text with a remembered value inside
    "\\\\$x" "\\\\~x" "\\\\..." a string that really begins so

Numbers are compared by value, true and false are no numbers, everything else must be equal.
"""
import json
import re

ANY = "..."


class Mismatch(Exception):
    """Where and why a value does not fit; str() is one line."""


def match(pattern, value, names):
    """The names bound after the match, as a new dict; raises Mismatch."""
    bound = dict(names)
    fit(pattern, value, bound, "$")
    return bound


def fit(pattern, value, names, where):
    if isinstance(pattern, dict):
        fit_object(pattern, value, names, where)
    elif isinstance(pattern, list):
        fit_array(pattern, value, names, where)
    elif isinstance(pattern, str):
        fit_string(pattern, value, names, where)
    elif not same(pattern, value):
        raise Mismatch(f"{where}: expected {show(pattern)}, got {show(value)}")


def fit_object(pattern, value, names, where):
    if not isinstance(value, dict):
        raise Mismatch(f"{where}: expected an object, got {show(value)}")
    for name in pattern:
        if name != ANY and name not in value:
            raise Mismatch(f"{where}: no member {show(name)}")
    for name in value:
        if name not in pattern and ANY not in pattern:
            raise Mismatch(f"{where}: unexpected member {show(name)}: {show(value[name])}")
    for name, part in pattern.items():
        if name != ANY:
            fit(part, value[name], names, f"{where}.{name}")


def fit_array(pattern, value, names, where):
    if not isinstance(value, list):
        raise Mismatch(f"{where}: expected an array, got {show(value)}")
    fixed = pattern[:-1] if pattern and pattern[-1] == ANY else pattern
    if len(value) < len(fixed) or (fixed is pattern and len(value) > len(fixed)):
        raise Mismatch(f"{where}: expected {len(fixed)} items, got {len(value)}: {show(value)}")
    for i, part in enumerate(fixed):
        fit(part, value[i], names, f"{where}[{i}]")


def fit_string(pattern, value, names, where):
    if pattern == ANY:
        return
    variable = re.fullmatch(r"\$([A-Za-z_]\w*)", pattern)
    if variable:
        name = variable[1]
        if not same(names.setdefault(name, value), value):
            raise Mismatch(f"{where}: ${name} is {show(names[name])}, got {show(value)}")
        return
    if pattern.startswith("~"):
        regex = fill(pattern[1:], names, re.escape)
        if not isinstance(value, str) or not re.search(regex, value, re.S):
            raise Mismatch(f"{where}: expected text like {regex!r}, got {show(value)}")
        return
    text = pattern[1:] if re.match(r"\\(\$|~|\.\.\.)", pattern) else fill(pattern, names, str)
    if text != value:
        raise Mismatch(f"{where}: expected {show(text)}, got {show(value)}")


def fill(text, names, write):
    """Replaces ${name} by what `write` makes of the remembered value."""
    def one(found):
        if found[1] not in names:
            raise Mismatch(f"${{{found[1]}}} is used before it was bound")
        value = names[found[1]]
        return write(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return re.sub(r"\$\{([A-Za-z_]\w*)\}", one, text)


def fill_json(text, names):
    """JSON text to send: "$name" becomes the remembered value, ${name} its text inside a string."""
    def whole(found):
        if found[1] not in names:
            raise Mismatch(f"${found[1]} is used before it was bound (a dollar sign is \\u0024)")
        return json.dumps(names[found[1]], ensure_ascii=False)
    text = re.sub(r'"\$([A-Za-z_]\w*)"', whole, text)
    return fill(text, names, lambda value: json.dumps(value, ensure_ascii=False)[1:-1])


def same(a, b):
    """Equality as JSON sees it: 1 is 1.0, but true is not 1."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[name], b[name]) for name in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def show(value):
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else text[:200] + "..."


def parse(text):
    """JSON as strict as the protocols want it: no doubles, no NaN."""
    def members(pairs):
        names = [name for name, _ in pairs]
        if len(set(names)) != len(names):
            raise ValueError(f"a member comes twice among {names}")
        return dict(pairs)

    def constant(name):
        raise ValueError(f"{name} is not JSON")
    return json.loads(text, object_pairs_hook=members, parse_constant=constant)
