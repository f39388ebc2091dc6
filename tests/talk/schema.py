# SPDX-License-Identifier: MIT
"""Validates a value against the subset of JSON Schema that `trivet describe DIALECT --json` uses.

A keyword that is not known here is an error, so the subset cannot fall behind silently.
"""
import json
import re

from pattern import same, show

NOTES = {"description", "title", "default", "$schema", "$id", "$defs"}
TYPES = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
}


class Invalid(Exception):
    pass


def is_constant(schema):
    return isinstance(schema, dict) and ("const" in schema or len(schema.get("enum", ())) == 1)


def constant(schema):
    return schema["const"] if "const" in schema else schema["enum"][0]


class Schema:
    def __init__(self, root):
        self.root = root
        self.indexes = {}           # see index()

    def check(self, name, value):
        """Raises Invalid unless value fits $defs/name."""
        self.fit(self.root["$defs"][name], value, "$")

    def resolve(self, ref):
        return self.root["$defs"][ref.removeprefix("#/$defs/")]

    def may_be(self, schema, value):
        """False when a constant member of the schema says that value is meant by another one."""
        if isinstance(schema, dict) and "$ref" in schema:
            schema = self.resolve(schema["$ref"])
        if not isinstance(schema, dict):
            return True
        if is_constant(schema):
            return same(constant(schema), value)
        if not isinstance(value, dict):
            return schema.get("type") != "object"
        inner = schema.get("properties", {})
        names = [name for name in inner if isinstance(inner[name], dict)]
        needed = [name for name in schema.get("required", ()) if is_constant(inner.get(name))]
        return all(name in value for name in needed) and \
            all(self.may_be(inner[name], value[name]) for name in names if name in value
                and (is_constant(inner[name]) or "properties" in inner[name]))

    def n_constants(self, schema):
        """How many members of the schema, besides the version, have one value only."""
        if "$ref" in schema:
            schema = self.resolve(schema["$ref"])
        inner = schema.get("properties", {})
        return sum(is_constant(inner[name]) for name in inner if name != "jsonrpc")

    def fits(self, schema, value):
        try:
            self.fit(schema, value, "$")
        except Invalid:
            return False
        return True

    def fit(self, schema, value, where):
        if schema is True:
            return
        if schema is False:
            raise Invalid(f"{where} must not be there")
        for key, wanted in schema.items():
            if key in NOTES or key in ("then", "else"):
                continue
            rule = getattr(self, "rule_" + key.lstrip("$"), None)
            if rule is None:
                raise Invalid(f"the schema uses {key}, which schema.py does not know")
            rule(wanted, value, where, schema)

    @staticmethod
    def need(ok, where, text):
        if not ok:
            raise Invalid(f"{where}: {text}")

    def rule_ref(self, wanted, value, where, _):
        self.fit(self.resolve(wanted), value, where)

    def rule_allOf(self, wanted, value, where, _):
        for schema in wanted:
            self.fit(schema, value, where)

    def rule_anyOf(self, wanted, value, where, _):
        if not any(self.fits(schema, value) for schema in wanted):
            raise Invalid(f"{where}: {show(value)} fits no variant")

    def index(self, variants):
        """(name of a member that has another constant in each variant, {constant: variant})"""
        if id(variants) not in self.indexes:
            known = [self.resolve(one["$ref"]) if "$ref" in one else one for one in variants]
            inner = [one.get("properties", {}) for one in known]
            found = None, {}
            for name in inner[0]:
                if all(is_constant(one.get(name)) for one in inner):
                    by_value = {json.dumps(constant(one[name])): schema
                                for one, schema in zip(inner, variants)}
                    if len(by_value) == len(variants):
                        found = name, by_value
            self.indexes[id(variants)] = found
        return self.indexes[id(variants)]

    def rule_oneOf(self, wanted, value, where, _):
        name, by_value = self.index(wanted)
        if name and isinstance(value, dict) and name in value:
            chosen = by_value.get(json.dumps(value[name]))
            if chosen is None:
                raise Invalid(f"{where}.{name}: {show(value[name])} fits 0 variants")
            return self.fit(chosen, value, where)
        likely = [schema for schema in wanted if self.may_be(schema, value)]
        named = [schema for schema in likely if self.n_constants(schema)] or likely
        if len(named) == 1 and not any(self.fits(schema, value) for schema in likely
                                       if schema is not named[0]):
            return self.fit(named[0], value, where)     # the usual case, which says what is wrong
        n = sum(self.fits(variant, value) for variant in wanted)
        if n != 1:
            raise Invalid(f"{where}: {show(value)} fits {n} variants instead of one")

    def rule_if(self, wanted, value, where, schema):
        self.fit(schema.get("then" if self.fits(wanted, value) else "else", True), value, where)

    def rule_type(self, wanted, value, where, _):
        names = wanted if isinstance(wanted, list) else [wanted]
        if not any(TYPES[name](value) for name in names):
            raise Invalid(f"{where}: {show(value)} is not of type {' or '.join(names)}")

    def rule_const(self, wanted, value, where, _):
        if not same(wanted, value):
            raise Invalid(f"{where}: {show(value)} is not {show(wanted)}")

    def rule_enum(self, wanted, value, where, _):
        if not any(same(one, value) for one in wanted):
            raise Invalid(f"{where}: {show(value)} is not in {wanted}")

    def rule_properties(self, wanted, value, where, _):
        if isinstance(value, dict):
            for name in wanted.keys() & value.keys():
                self.fit(wanted[name], value[name], f"{where}.{name}")

    def rule_required(self, wanted, value, where, _):
        for name in wanted:
            self.need(not isinstance(value, dict) or name in value, where, f"{name} is missing")

    def rule_additionalProperties(self, wanted, value, where, schema):
        if isinstance(value, dict):
            extra = value.keys() - schema.get("properties", {}).keys()
            self.need(wanted is not False or not extra, where, f"unknown members {sorted(extra)}")
            for name in extra:
                self.fit(wanted, value[name], f"{where}.{name}")

    def rule_minProperties(self, wanted, value, where, _):
        self.need(not isinstance(value, dict) or len(value) >= wanted, where, "too few members")

    def rule_prefixItems(self, wanted, value, where, _):
        if isinstance(value, list):
            for i, (schema, item) in enumerate(zip(wanted, value)):
                self.fit(schema, item, f"{where}[{i}]")

    def rule_items(self, wanted, value, where, schema):
        if isinstance(value, list):
            start = len(schema.get("prefixItems", []))
            for i, item in enumerate(value[start:], start):
                self.fit(wanted, item, f"{where}[{i}]")

    def rule_minItems(self, wanted, value, where, _):
        self.need(not isinstance(value, list) or len(value) >= wanted, where, "too few items")

    def rule_maxItems(self, wanted, value, where, _):
        self.need(not isinstance(value, list) or len(value) <= wanted, where, "too many items")

    def rule_uniqueItems(self, wanted, value, where, _):
        if wanted and isinstance(value, list):
            doubles = [a for i, a in enumerate(value) if any(same(a, b) for b in value[:i])]
            self.need(not doubles, where, f"{show(doubles)} comes twice")

    def rule_minLength(self, wanted, value, where, _):
        self.need(not isinstance(value, str) or len(value) >= wanted, where, "too short")

    def rule_maxLength(self, wanted, value, where, _):
        self.need(not isinstance(value, str) or len(value) <= wanted, where, "too long")

    def rule_pattern(self, wanted, value, where, _):
        self.need(not isinstance(value, str) or re.search(wanted, value), where,
                  f"{show(value)} does not fit {wanted}")

    def rule_minimum(self, wanted, value, where, _):
        self.need(not TYPES["number"](value) or value >= wanted, where,
                  f"{value} is below {wanted}")

    def rule_maximum(self, wanted, value, where, _):
        self.need(not TYPES["number"](value) or value <= wanted, where,
                  f"{value} is above {wanted}")
