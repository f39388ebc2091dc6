# SPDX-License-Identifier: MIT
"""Validates a value against the subset of JSON Schema that scaiflux.schema.json uses.

A keyword that is not known here is an error, so the subset cannot fall behind silently.
"""
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


class Schema:
    def __init__(self, root):
        self.root = root

    def check(self, name, value):
        """Raises Invalid unless value fits $defs/name.  Names the variant by its `type` member."""
        variants = self.root["$defs"][name].get("oneOf", [])
        for variant in variants:
            schema = self.resolve(variant["$ref"])
            const = schema.get("properties", {}).get("type", {}).get("const")
            if isinstance(value, dict) and const == value.get("type"):
                return self.fit(schema, value, "$")
        if variants:
            raise Invalid(f"{show(value)} is no {name} message")
        return self.fit(self.root["$defs"][name], value, "$")

    def resolve(self, ref):
        return self.root["$defs"][ref.removeprefix("#/$defs/")]

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

    def rule_oneOf(self, wanted, value, where, _):
        n = sum(self.fits(variant, value) for variant in wanted)
        self.need(n == 1, where, f"{show(value)} fits {n} variants instead of one")

    def rule_if(self, wanted, value, where, schema):
        self.fit(schema.get("then" if self.fits(wanted, value) else "else", True), value, where)

    def rule_type(self, wanted, value, where, _):
        names = wanted if isinstance(wanted, list) else [wanted]
        self.need(any(TYPES[name](value) for name in names), where,
                  f"{show(value)} is not of type {' or '.join(names)}")

    def rule_const(self, wanted, value, where, _):
        self.need(same(wanted, value), where, f"{show(value)} is not {show(wanted)}")

    def rule_enum(self, wanted, value, where, _):
        self.need(any(same(one, value) for one in wanted), where,
                  f"{show(value)} is not in {wanted}")

    def rule_properties(self, wanted, value, where, _):
        if isinstance(value, dict):
            for name in wanted.keys() & value.keys():
                self.fit(wanted[name], value[name], f"{where}.{name}")

    def rule_required(self, wanted, value, where, _):
        for name in wanted:
            self.need(not isinstance(value, dict) or name in value, where, f"{name} is missing")

    def rule_additionalProperties(self, wanted, value, where, schema):
        self.need(wanted is False, where, "only additionalProperties: false is known here")
        if isinstance(value, dict):
            extra = value.keys() - schema.get("properties", {}).keys()
            self.need(not extra, where, f"unknown members {sorted(extra)}")

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
