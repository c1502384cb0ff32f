"""`frame variable`, arguments in `bt` and `expression name.Field` against what the program itself says that its variables hold
(programs/debugged/Values.cs)."""
import json
import math
import re
import struct

import check_lldb_step
import processes
from check_lldb_breaks import line_of
from results import Examples

SOURCE = processes.PROGRAMS / "debugged" / "Values.cs"
# where -> fields to be read by `expression`, with the path to the value in the program's description.
EXPRESSIONS = {
    "primitives": [("i", "i"), ("l", "l"), ("ul", "ul"), ("d", "d"), ("yes", "yes"), ("s + us", None)],
    "structures": [("point.X", "point.X"), ("line.From.Y", "line.From.Y"), ("line.To.X", "line.To.X"), ("color", "color")],
    "references": [("dog.Name", "dog.Name"), ("dog.Weight", "dog.Weight"), ("dog.Friend.Name", "dog.Friend.Name"), ("dog.Friend.legs", "dog.Friend.legs"), ("plain.legs", "plain.legs")],
    "this": [("this.Weight", "this.Weight"), ("this.Friend.Name", "this.Friend.Name"), ("times", "times")],
    "this-of-struct": [("this.Value", "this.Value")],
    "captures": [("counted", "counted"), ("number", "number"), ("x + local", None)],
    "waits": [("number", "number"), ("before", "before")],
    "generic-values": [("first.X", "first.X")],
}
SUMS = {"s + us": "33000", "x + local": "24"}
# Values in an `object` that are no objects of their own: shown with their type.
BOXED = {"integer", "bool", "char", "real", "enum", "struct"}
# An optimised variable may have no home at an instruction; LLDB's words for it.
NO_HOME = re.compile(r"not available|no location|optimized|unavailable", re.I)


# Situations that end with a fault: the method in which it was, and what programs/situations/Crashes.cs put in its variables.
FAULTS = {"null-in-leaf": ("Situations.Crashes.Length", {"s": "null"}),
          "null-in-registers": ("Situations.Crashes.InRegisters", {"factor": "41", "extra": "77", "total": "451", "n": "0x0000000000000000"})}


def check_fault(lldb, target, name):
    """Variables of a frame that a fault interrupted: registers that the handler changed since must not be taken for theirs."""
    method, expected = FAULTS[name]
    (stack,) = lldb.run(target, ["bt"])
    number = re.search(r"frame #(\d+): \S+ \S+`" + re.escape(method) + r"\(", stack)
    assert number, f"no {method}: {stack}"
    _, shown = lldb.run(target, [f"frame select {number[1]}", "frame variable"])
    wrong = Examples()
    for variable, value in expected.items():
        found = re.search(rf"^\([^)]*\) {variable} = (.*)$", shown, re.M)
        if found is None:
            wrong.add("not shown", f"{variable}: {shown}")
        elif value not in found[1].split():   # nor without a home: all of these have one
            wrong.add("value", f"{variable}: {found[1]}, not {value}")
    return wrong.require_none(f"{len(expected)} variables")


def read_said(path):
    return {row["where"]: row["variables"] for row in map(json.loads, path.read_text().splitlines())}


def check(lldb, target, path, folder, release=False, chosen=None):
    said = {where: variables for where, variables in read_said(path).items() if chosen is None or where in chosen}
    assert said, "the program said nothing"
    places = [{"where": where, "file": SOURCE.name, "line": line_of(where, SOURCE), "expressions": [e for e, _ in EXPRESSIONS.get(where, [])]} for where in said]
    plan = folder / "places.json"
    plan.write_text(json.dumps(places))
    rows = check_lldb_step.drive(lldb, target, f"drive-values {plan}", seconds=150)
    wrong, figures = Examples(shown=4), dict.fromkeys(("variables", "without a home", "parts", "expressions", "not shown", "stops of the plugin's own", "times with another thread at one of these"), 0)
    for row in rows:
        where = row["where"]
        figures["stops of the plugin's own"] += row["others"]
        figures["times with another thread at one of these"] += len(row.get("threads", ())) > 1
        if row["state"] != "stopped" or row.get("line") != next(p["line"] for p in places if p["where"] == where):
            wrong.add("no stop", f"{where}: {row['state']} at {row.get('function')} line {row.get('line')}: {row['set']} {row.get('description')} {row.get('threads')} {row['others']} {row.get('run') or row.get('text', '')[:400]}")
            continue
        shown = {}
        for v in row["variables"]:
            shown.setdefault(v["name"], v)
        for name, expected in said[where].items():
            found = shown.get(name)
            if found is None:
                figures["not shown"] += 1
                if not release:
                    wrong.add("not shown", f"{where}: {name}; shown are {', '.join(shown)}")
                continue
            if found.get("error") or found["value"] is None and found["summary"] is None and not found["children"]:
                if release and NO_HOME.search(found.get("error") or "not available"):
                    figures["without a home"] += 1
                    continue
            figures["variables"] += 1
            Compare(where, wrong, figures).value(name, found, expected)
        check_expressions(row, said[where], wrong, figures, release)
    missing = set(said) - {row["where"] for row in rows}
    if missing:
        wrong.add("never came there", ", ".join(sorted(missing)))
    assert figures["variables"] > (10 if release else sum(map(len, said.values())) * 0.5) or wrong.counts, f"too few variables were compared: {figures}"
    return wrong.require_none(", ".join(f"{n} {what}" for what, n in figures.items()) + f" at {len(rows)} places")


class Compare:
    def __init__(self, where, wrong, figures):
        self.where, self.wrong, self.figures = where, wrong, figures

    def fail(self, kind, name, found, expected):
        text = {k: found.get(k) for k in ("type", "value", "summary", "children", "error") if found.get(k) is not None}
        self.wrong.add(f"{kind} is shown otherwise", f"{self.where}: {name}: {text} for {json.dumps(expected, ensure_ascii=False)[:300]}")

    def value(self, name, found, expected):
        self.figures["parts"] += 1
        if found["type"].removesuffix("&").removesuffix("*").strip() in ("System.Object", "object") and expected["k"] in BOXED:
            return self.boxed(name, found, expected)
        getattr(self, expected["k"])(name, found, expected)

    def both(self, found):
        return f"{found.get('value') or ''} {found.get('summary') or ''}".strip()

    def boxed(self, name, found, expected):
        """`(TYPE) VALUE`, in the words of the value itself."""
        text = found.get("summary") or ""
        m = re.match(r"\(([^)]+)\) (.*)$", text, re.S)
        inner = m[2] if m else ""
        if not m or not {"integer": lambda: inner == expected["text"], "bool": lambda: inner == ("true" if expected["value"] else "false"), "char": lambda: chr(expected["number"]) in inner,
                         "real": lambda: float(inner) == float(expected["text"]), "enum": lambda: inner == expected["text"],
                         "struct": lambda: all(f"{f} = {plain_text(v)}" in inner for f, v in expected["fields"].items() if plain_text(v))}[expected["k"]]():
            self.fail("a boxed value", name, found, expected)

    def integer(self, name, found, expected):
        want = int(expected["text"])
        if want not in (found["signed"], found["number"]) or not re.search(rf"(?<!\d){re.escape(expected['text'])}(?!\d)|\\x|'", self.both(found)):
            self.fail("an integer", name, found, expected)

    def bool(self, name, found, expected):
        if self.both(found) != ("true" if expected["value"] else "false"):
            self.fail("a bool", name, found, expected)

    def char(self, name, found, expected):
        if found["number"] & 0xFFFF != expected["number"] or (expected["number"] >= 32 and chr(expected["number"]) not in self.both(found)):
            self.fail("a char", name, found, expected)

    def real(self, name, found, expected):
        try:
            got, want = float(found["value"] or found["summary"]), float(expected["text"].replace("Infinity", "inf"))
        except (TypeError, ValueError):
            return self.fail("a floating-point number", name, found, expected)
        code = "<f" if expected["bits"] == 32 else "<d"
        if not (math.isnan(got) and math.isnan(want)) and struct.pack(code, got) != struct.pack(code, want) and not math.isclose(got, want, rel_tol=1e-14):
            self.fail("a floating-point number", name, found, expected)

    def null(self, name, found, expected):
        if found["number"] != 0 and "null" not in self.both(found):
            self.fail("null", name, found, expected)

    def nothing(self, name, found, expected):
        if "null" not in self.both(found) and "false" not in str(found.get("fields")):
            self.fail("a nullable without a value", name, found, expected)

    def some(self, name, found, expected):
        want = expected["value"]
        inner = next((f for f in found.get("fields", []) if f["name"] in ("value", "Value")), None)
        if inner is not None:
            return self.value(name + ".value", inner, want)
        if want["k"] == "integer" and not re.search(rf"(?<!\d){want['text']}(?!\d)", self.both(found)):
            self.fail("a nullable", name, found, expected)

    def string(self, name, found, expected):
        text = found.get("summary") or ""
        inner = text[text.find('"') + 1:text.rfind('"')] if text.count('"') > 1 else None
        if inner is None or not same_text(inner, expected["text"], expected["length"]):
            self.fail("a string", name, found, expected)

    def enum(self, name, found, expected):
        names = [part.strip() for part in expected["text"].split(",")]
        text = self.both(found)
        if str(found["signed"]) != expected["number"] and str(found["number"]) != expected["number"]:
            self.fail("an enum", name, found, expected)
        elif not all(re.search(rf"\b{re.escape(n)}\b", text) for n in names):
            self.fail("an enum's name", name, found, expected)

    def struct(self, name, found, expected):
        if not self.fields(name, found, expected):
            self.fail("a structure", name, found, expected)

    def object(self, name, found, expected):
        if found["number"] == 0:
            return self.fail("an object", name, found, expected)
        if not self.fields(name, found, expected, strict=False):
            self.fail("an object", name, found, expected)

    def fields(self, name, found, expected, strict=True):
        """Compares the fields that are there, those of base classes included. False when none is."""
        held = {}
        collect(found, held)
        compared = 0
        for field, value in expected["fields"].items():
            inner = held.get(field) or held.get(re.sub(r"^<(.+)>k__BackingField$", r"\1", field))
            if inner is not None:
                self.value(f"{name}.{field}", inner, value)
                compared += 1
        # Of an object behind a reference of a base type LLDB knows the base's fields only, unless it is shown by a summary.
        return compared == len(expected["fields"]) if strict else compared > 0 or bool(found.get("summary")) or found.get("children") is None

    def array(self, name, found, expected):
        self.sequence("an array", name, found, expected)

    def list(self, name, found, expected):
        self.sequence("a list", name, found, expected)

    def sequence(self, kind, name, found, expected):
        text = found.get("summary") or ""
        if not re.search(rf"(?<!\d){expected['length']}(?!\d)", text):
            return self.fail(f"the length of {kind}", name, found, expected)
        at = 0
        for item in expected["items"]:
            shown = plain_text(item)
            if shown is None:
                continue
            place = text.find(shown, at)
            if place < 0:
                return self.fail(f"the elements of {kind}", name, found, expected)
            at = place + len(shown)

    def map(self, name, found, expected):
        text = found.get("summary") or ""
        if not re.search(rf"(?<!\d){expected['length']}(?!\d)", text):
            return self.fail("the length of a dictionary", name, found, expected)
        for key, value in expected["pairs"]:
            if plain_text(key) not in text or plain_text(value) not in text:
                return self.fail("the entries of a dictionary", name, found, expected)

    def time(self, name, found, expected):
        text = self.both(found).replace("T", " ")
        want = re.sub(r"\.?0+$", "", expected["text"]) if "." in expected["text"] else expected["text"]
        want = want if re.search(r" \d\d:\d\d:\d\d", want) else expected["text"][:19]
        if want[:10] not in text or (want[11:] not in text and want[11:] not in ("00:00:00",)):
            self.fail("a DateTime", name, found, expected)

    def span(self, name, found, expected):
        if expected["text"].rstrip("0") not in self.both(found):
            self.fail("a TimeSpan", name, found, expected)

    def guid(self, name, found, expected):
        if expected["text"] not in self.both(found).lower():
            self.fail("a Guid", name, found, expected)

    def decimal(self, name, found, expected):
        if expected["text"] not in self.both(found):
            self.fail("a decimal", name, found, expected)


def collect(found, held):
    """All fields below a value, those of base classes as its own."""
    for f in found.get("fields", []):
        name = f["name"] or ""
        if "." in name or name == f["type"] or not name:   # a base class
            collect(f, held)
        else:
            held.setdefault(name, f)


def plain_text(item):
    return {"integer": lambda: item["text"], "string": lambda: f'"{item["text"]}"', "null": lambda: "null"}.get(item["k"], lambda: None)()


def unescaped(text):
    simple = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", '"': '"', "\\": "\\", "a": "\a", "b": "\b", "v": "\v", "f": "\f", "e": "\x1b"}
    return re.sub(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(.))", lambda m: chr(int(m[1] or m[2], 16)) if m[1] or m[2] else simple.get(m[3], m[3]), text)


def same_text(shown, text, length):
    """A long text may be cut, when it says so."""
    got = unescaped(shown)
    if got == text and len(text.encode("utf-16-le")) == 2 * length:
        return True
    plain = re.sub(r"(\.\.\.|…).*$", "", got)
    return length > 50 and len(plain) >= 16 and text.startswith(plain[:len(text)])


def check_expressions(row, said, wrong, figures, release):
    paths = dict(EXPRESSIONS.get(row["where"], []))
    for e in row["expressions"]:
        if release and not e["ok"]:
            continue
        figures["expressions"] += 1
        what = f"{row['where']}: {e['expression']}: {e['text'][:300]}"
        if not e["ok"]:
            wrong.add("an expression fails", what)
            continue
        path = paths[e["expression"]]
        if path is None:
            want = {"k": "integer", "text": SUMS[e["expression"]]}
        else:
            first, *rest = path.split(".")
            want = said[first]
            for part in rest:
                want = want["fields"][part]
        if not result_is(e["text"], want):
            wrong.add("an expression has another value", f"{what} for {want}")


def result_is(text, want):
    m = re.search(r"\$\d+ = (.*)", text)
    if not m:
        return False
    got = m[1].strip()
    if want["k"] == "integer":
        return re.search(rf"(?<![\d.]){re.escape(want['text'])}(?![\d.])", got) is not None
    if want["k"] == "real":
        try:
            return math.isclose(float(got), float(want["text"]))
        except ValueError:
            return False
    if want["k"] == "string":
        return f'"{want["text"]}"' in got
    if want["k"] == "bool":
        return got == ("true" if want["value"] else "false")
    if want["k"] == "enum":
        return want["text"] in got
    return False
