"""The part of JSON Schema that python/docs/schema.json uses. Stricter in one thing: a field that the schema does not name is an error, so that a new field
is described before it is printed."""
import json
import re

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
KEYWORDS = {"$ref", "type", "enum", "const", "pattern", "properties", "required", "items", "additionalProperties", "oneOf", "anyOf", "minimum", "description"}


class Schema:
    def __init__(self, path):
        self.document = json.loads(path.read_text())

    def commands(self):
        return self.document["$defs"]["commands"]["$defs"]

    def problems(self, command, value, limit=10):
        """What is wrong with the JSON that `command` printed, at most `limit` sentences."""
        found = []
        self._check(self.commands()[command], value, command, found)
        return found[:limit]

    def _check(self, schema, value, where, found):
        unknown = set(schema) - KEYWORDS
        assert not unknown, f"the schema uses {unknown}, which this validator does not know"
        if "$ref" in schema:
            self._check(self.document["$defs"][schema["$ref"].removeprefix("#/$defs/")], value, where, found)
        for word in ("oneOf", "anyOf"):
            if word in schema:
                self._check_choice(schema[word], word == "oneOf", value, where, found)
        if "type" in schema and not any(is_a(value, t) for t in as_list(schema["type"])):
            found.append(f"{where}: {value!r} is no {schema['type']}")
            return
        if "const" in schema and value != schema["const"]:
            found.append(f"{where}: {value!r} is not {schema['const']!r}")
        if "enum" in schema and value not in schema["enum"]:
            found.append(f"{where}: {value!r} is none of {schema['enum']}")
        if "pattern" in schema and isinstance(value, str) and not re.search(schema["pattern"], value):
            found.append(f"{where}: {value!r} does not match {schema['pattern']}")
        if "minimum" in schema and is_a(value, "number") and value < schema["minimum"]:
            found.append(f"{where}: {value!r} is less than {schema['minimum']}")
        if isinstance(value, dict):
            self._check_object(schema, value, where, found)
        if isinstance(value, list) and "items" in schema:
            for i, element in enumerate(value):
                self._check(schema["items"], element, f"{where}[{i}]", found)

    def _check_object(self, schema, value, where, found):
        for name in schema.get("required", ()):
            if name not in value:
                found.append(f"{where}: {name} is missing")
        known = schema.get("properties")
        for name, element in value.items():
            if known and name in known:
                self._check(known[name], element, f"{where}.{name}", found)
            elif "additionalProperties" in schema:
                self._check(schema["additionalProperties"], element, f"{where}.{name}", found)
            elif known is not None:
                found.append(f"{where}: the schema does not describe {name}")

    def _check_choice(self, choices, exactly_one, value, where, found):
        results = []
        for choice in choices:
            results.append([])
            self._check(choice, value, where, results[-1])
        good = sum(not r for r in results)
        if good == 0:
            found.extend(min(results, key=len))
        elif exactly_one and good > 1:
            found.append(f"{where}: it is several things at once")


def as_list(value):
    return value if isinstance(value, list) else [value]


def is_a(value, kind):
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[kind])
