"""Objects chosen at random, as the package shows them by their addresses, against ClrMD: types, sizes, fields, elements. Addresses at which no object begins are refused."""
import json
import math

from plugin import ask_package
from results import Examples

COUNT = 2000

# Runs where LLDB is not: the package over libclr.so. Objects are named by their address, not by what a heap walk has found.
SCRIPT = """
import json, lldb_clr
def plain(value):
    return {"value": value.value, "type": value.type, "object": value.object, "fault": value.fault, "fields": [dict(plain(f.value), name=f.name, offset=f.offset) for f in value.fields]}
runtime = lldb_clr.open_core(THE_CORE)
with open(THE_OUT, "w") as out:
    for address in json.load(open(THE_IN)):
        try:
            o = runtime.object(int(address, 16), items=20)
        except lldb_clr.Error as e:
            out.write(json.dumps({"address": address, "refused": str(e)}) + "\\n")
            continue
        out.write(json.dumps({"address": address, "type": o.type, "method_table": hex(o.method_table), "size": o.size, "fault": o.fault, "length": o.item_count, "text": o.text,
                              "items": [plain(i.value) for i in o.items],
                              "fields": [dict(plain(f.value), name=f.name, offset=f.offset) for f in o.fields]}) + "\\n")
print(json.dumps("done"))
"""


def check(oracle, lldb, core, folder, count=COUNT, seed=1):
    theirs = oracle().ask("objects", core, "--count", str(count), "--seed", str(seed))
    enums = {row["enum"]: [(name, int(value)) for name, value in row["values"]] for row in theirs if "enum" in row}
    objects = [row for row in theirs if "address" in row]
    (none,) = [row["none"] for row in theirs if "none" in row]
    asked, answers = folder / "asked.json", folder / "objects.json"
    asked.write_text(json.dumps([row["address"] for row in objects] + none))
    script = SCRIPT
    for name, value in (("THE_CORE", core.core), ("THE_OUT", answers), ("THE_IN", asked)):
        script = script.replace(name, repr(str(value)))
    assert ask_package(lldb.plugin, script) == "done"
    ours = {row["address"]: row for row in map(json.loads, answers.read_text().splitlines())}
    wrong, fields = Examples(shown=8), 0
    for row in objects:
        fields += compare(row, ours[row["address"]], enums, wrong)
    shown = [ours[a] for a in none if "refused" not in ours[a]]
    for row in shown:
        wrong.add("an object where none begins", f"{row['address']} is shown as {row['type']}: {row['text'][:60]}")
    figures = wrong.require_none(f"{len(objects)} objects with {fields} fields and elements as ClrMD has them, {len(none)} other addresses refused")
    assert fields > len(objects) // 2, f"only {fields} fields of {len(objects)} objects"
    return figures


def compare(theirs, ours, enums, wrong):
    """Counts the values that were compared."""
    what = f"{theirs['address']} {theirs['type']}"
    if "refused" in ours:
        wrong.add("an object is refused", f"{what}: {ours['refused']}")
        return 0
    for name in ("method_table", "size"):
        if theirs[name] != ours[name]:
            wrong.add(name, f"{what}: {ours[name]} for {theirs[name]}")
    if ours["fault"]:
        wrong.add("a fault", f"{what}: {ours['fault']}")
    if "text" in theirs:
        return 1
    if "length" in theirs:
        if theirs["length"] != ours["length"]:
            wrong.add("length", f"{what}: {ours['length']} for {theirs['length']}")
        # ClrMD takes the bounds of an array that does not begin at 0 for elements.
        items = [] if theirs["type"].endswith("<*>") else theirs.get("items", [])
        if items and len(ours["items"]) != len(items):
            wrong.add("elements", f"{what}: {len(ours['items'])} for {len(items)}")
        return sum(compare_value(t, o, f"{what}[{i}]", enums, wrong) for i, (t, o) in enumerate(zip(items, ours["items"])))
    return compare_fields(theirs["fields"], ours["fields"], what, enums, wrong)


def compare_fields(theirs, ours, what, enums, wrong):
    if any(f["name"].startswith("[") for f in ours):   # ClrMD has the first element of an inline array or fixed buffer alone
        return compare_value(theirs[0], ours[0], f"{what}[0]", enums, wrong) if len(theirs) == 1 else 0
    mine = {(f["name"], f["offset"]): f for f in ours}
    count = 0
    for field in theirs:
        one = mine.pop((field["name"], field["offset"]), None)
        if one is None:
            wrong.add("a field is missing", f"{what}.{field['name']} at {field['offset']}")
            continue
        count += compare_value(field, one, f"{what}.{field['name']}", enums, wrong)
    for name, offset in mine:
        wrong.add("a field that ClrMD does not have", f"{what}.{name} at {offset}")
    return count


def compare_value(theirs, ours, what, enums, wrong):
    if ours["fault"]:
        wrong.add("a fault of a field", f"{what}: {ours['fault']}")
        return 0
    value = ours["value"]
    if "fields" in theirs:
        # A structure that is shown as one number or text alone has no fields of its own to compare.
        return compare_fields(theirs["fields"], ours["fields"], what, enums, wrong) if ours["fields"] or not theirs["fields"] else 0
    if "object" in theirs:
        same = ours["object"] is not None and ours["object"] == int(theirs["object"], 16)
    elif "enum" in theirs and isinstance(value, str):
        same = enum_number(value, enums.get(theirs["enum"], [])) == theirs.get("number", theirs.get("native"))
    elif "bool" in theirs:
        same = value is theirs["bool"]
    elif "char" in theirs:
        same = value == theirs["char"] or isinstance(value, str) and char_of(value) == chr(theirs["char"])
    elif "real" in theirs:
        same = same_real(value, float(theirs["real"].replace("∞", "inf")))
    elif "number" in theirs or "native" in theirs:
        number = theirs.get("number", theirs.get("native"))
        same = (int(value, 0) if isinstance(value, str) else value) in (number, number % (1 << 64))
    else:
        return 0   # ClrMD does not tell it
    if not same:
        wrong.add("a value", f"{what}: {value!r} {ours['object']} for { {k: v for k, v in theirs.items() if k not in ('name', 'offset')} }")
    return 1


def char_of(text):
    """The character of a text that may have quotes and escapes."""
    text = text[1:-1] if len(text) > 2 and text[0] == text[-1] == "'" else text
    return text if len(text) == 1 else json.loads(f'"{text}"') if text[:1] == "\\" and text[1:2] in "nrtbfu\\" else {"\\0": "\0", "\\'": "'"}.get(text)


def enum_number(text, values):
    """The number of an enumeration's text: names that are joined, or a number."""
    by_name, number = dict(values), 0
    for part in text.replace(" | ", ", ").split(", "):
        if part in by_name:
            number |= by_name[part]
        else:
            try:
                number |= int(part, 0)
            except ValueError:
                return None
    return number


def same_real(value, real):
    if isinstance(value, str):
        value = float(value.replace("Infinity", "inf"))
    return value is not None and (math.isnan(value) and math.isnan(real) or value == real or math.isclose(value, real, rel_tol=1e-6))
