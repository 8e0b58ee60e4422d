#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds JSON documents to docs/memtape-1.schema.json with the keywords of JSON Schema 2020-12 that it uses.

    validate_schema.py SCHEMA DOCUMENT       the document must be valid, and each of its broken copies must not be

A keyword that is not known here is an error, so that nothing in the schema goes unchecked.
"""

import copy
import json
import sys

TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None)}
SILENT = {"$schema", "$id", "$defs", "title", "description"}
KNOWN = SILENT | {"$ref", "anyOf", "type", "const", "enum", "minimum", "minItems", "items", "required", "properties",
                  "propertyNames", "additionalProperties", "if", "then", "else"}


def has_type(value, name):
    return isinstance(value, TYPES[name]) and not (isinstance(value, bool) and name in ("integer", "number"))


def problems(value, schema, root, where="$"):
    """Yields what is wrong with `value`, each as one line."""
    if unknown := schema.keys() - KNOWN:
        sys.exit(f"the schema uses {', '.join(unknown)}, which this check does not know")
    if "$ref" in schema:
        yield from problems(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root, where)
    if "anyOf" in schema and all(list(problems(value, s, root, where)) for s in schema["anyOf"]):
        yield f"{where}: none of the alternatives"
    if "if" in schema:
        holds = not list(problems(value, schema["if"], root, where))
        yield from problems(value, schema.get("then" if holds else "else", {}), root, where)
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(has_type(value, t) for t in types):
        yield f"{where}: not of type {' or '.join(types)}"
        return
    if "const" in schema and value != schema["const"] or "enum" in schema and value not in schema["enum"]:
        yield f"{where}: {value!r} is not allowed"
    if "minimum" in schema and isinstance(value, int) and value < schema["minimum"]:
        yield f"{where}: {value} is less than {schema['minimum']}"
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            yield f"{where}: too few items"
        for i, item in enumerate(value):
            yield from problems(item, schema.get("items", {}), root, f"{where}[{i}]")
    if isinstance(value, dict):
        yield from problems_of_object(value, schema, root, where)


def problems_of_object(value, schema, root, where):
    for key in schema.get("required", []):
        if key not in value:
            yield f"{where}: {key} is missing"
    for key, item in value.items():
        yield from problems(key, schema.get("propertyNames", {}), root, f"{where} key {key}")
        other = schema.get("additionalProperties", {})
        yield from problems(item, schema.get("properties", {}).get(key, other), root, f"{where}.{key}")


def broken_copies(document):
    """The document with one thing wrong with it, again and again."""
    for key in document:
        if key != "failure":
            changed = copy.deepcopy(document)
            del changed[key]
            yield f"without {key}", changed
    rank = document["ranks"][0]
    for key in rank:
        if key != "peak_moment":
            changed = copy.deepcopy(document)
            changed["ranks"][0][key] = 0.5
            yield f"ranks[0].{key} = 0.5", changed
    changed = copy.deepcopy(document)
    changed["ranks"][0]["at_peak"]["weights"] = 1
    yield "a category that does not exist", changed


def main():
    schema, document = (json.load(open(path, encoding="utf-8")) for path in sys.argv[1:3])
    wrong = list(problems(document, schema, schema))
    wrong += [f"accepted: {what}" for what, changed in broken_copies(document) if not list(problems(changed, schema, schema))]
    for rank in document["ranks"]:
        if sum(rank["at_peak"].values()) != rank["peak_allocated_bytes"]:
            wrong.append("at_peak does not sum to peak_allocated_bytes")
    print("\n".join(wrong) or "valid")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
