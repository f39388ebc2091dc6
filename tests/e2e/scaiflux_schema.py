#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The schema that the program prints (`trivet describe scaiflux --json`) is made from the rows it
decodes and writes with.  It must be the file that all tests check messages against, and must say
the same as the protocol's own schema in tests/reference.

    scaiflux_schema.py            compares
    scaiflux_schema.py --write    writes the file anew
"""
import copy
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import client       # noqa: E402
import harness      # noqa: E402

TALK = os.path.join(os.path.dirname(HERE), "talk", "scaiflux.schema.json")
REFERENCE = os.path.join(os.path.dirname(HERE), "reference", "scaiflux.schema.json")
NOTES = ("description", "title", "default", "$schema", "$id", "$defs")
MAPS = ("properties",)                  # members whose values are schemas by name
LISTS = ("oneOf", "prefixItems")        # members that hold several schemas


def generated():
    done = subprocess.run([client.PROGRAM, "describe", "scaiflux", "--json"], check=True,
                          stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def plain(schema, root):
    """The schema without notes, names and order: what is left decides which values fit."""
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return plain(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    out = {}
    for key, value in schema.items():
        if key in NOTES:
            continue
        if key in MAPS:
            value = {name: plain(one, root) for name, one in value.items()}
        elif key in LISTS:
            value = [plain(one, root) for one in value]
        elif isinstance(value, dict):
            value = plain(value, root)
        out[key] = value
    for key in ("required", "enum"):
        if key in out:
            out[key] = sorted(out[key])
    if "oneOf" in out:
        out["oneOf"] = sorted(out["oneOf"], key=lambda one: json.dumps(one, sort_keys=True))
    if "enum" in out and out.get("type") == "string":
        del out["type"]                 # the values say it
    if list(out) == ["oneOf"] and all(list(one) == ["enum"] for one in out["oneOf"]):
        out = {"enum": sorted(sum((one["enum"] for one in out["oneOf"]), []))}
    return out


def messages(root):
    """Each direction: type of the message to its plain schema."""
    found = {}
    for way in ("Inbound", "Outbound"):
        for one in root["$defs"][way]["oneOf"]:
            schema = plain(one, root)
            found[way, schema["properties"]["type"]["const"]] = schema
    return found


def differences(made, wanted):
    made, wanted = messages(made), messages(wanted)
    for key in sorted(made.keys() | wanted.keys()):
        if made.get(key) != wanted.get(key):
            yield f"{key}: made {json.dumps(made.get(key), sort_keys=True)}, " \
                  f"wanted {json.dumps(wanted.get(key), sort_keys=True)}"


def spoiled(root):
    """Variants of the schema that differ from it in one place each."""
    def walk(value, path):
        if isinstance(value, dict):
            for key, one in value.items():
                if key not in NOTES or key == "$defs":
                    yield path + [key]
                    yield from walk(one, path + [key])
        elif isinstance(value, list):
            for i, one in enumerate(value):
                yield from walk(one, path + [i])
    for path in walk(root, []):
        if path[0] != "$defs" or len(path) < 3:
            continue
        variant = copy.deepcopy(root)
        at = variant
        for key in path[:-1]:
            at = at[key]
        del at[path[-1]]
        yield path, variant


def main():
    made = generated()
    if sys.argv[1:] == ["--write"]:
        with open(TALK, "w", encoding="utf-8") as file:
            json.dump(made, file, indent=2)
            file.write("\n")
        return
    reference, passed, failed = load(REFERENCE), 0, 0
    checks = [("the tests' file is what the program prints", made == load(TALK)),
              ("both sides are chosen from", plain(made, made).keys() == {"oneOf"})]
    found = list(differences(made, reference))
    print(*found, sep="\n", end="\n" if found else "")
    checks.append((f"{len(messages(reference))} messages are as in the reference", not found))
    # The comparison itself: a schema with any one keyword taken away differs from the whole.
    same = []
    for path, variant in spoiled(made):
        try:
            if not list(differences(variant, reference)):
                same.append(path)
        except (KeyError, IndexError):
            pass                        # so much is missing that it is no schema any more
    # A type beside an enum of strings says nothing new.
    same = [path for path in same if path[-1] != "type" or path[-2] == "properties"]
    print(*same, sep="\n", end="\n" if same else "")
    checks.append(("every keyword counts in the comparison", not same))
    for name, ok in checks:
        print("ok  " if ok else "FAIL", name)
        passed, failed = passed + bool(ok), failed + (not ok)
    harness.finish(passed, failed)


main()
