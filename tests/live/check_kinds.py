"""Variables, fields and static fields of every kind in `v`, `clr object`, `clr static`, `p`, Python and lldb-dap: against what the programs themselves say
that they hold (programs/kinds in C#, programs/corner in Visual Basic; programs/told makes the texts)."""
import json
import math
import re
import struct

from check_dap import DapError, Session
from plugin import ask_package, without_selection
from results import Examples

# Not compared: a base class' field that the object's class hides (the program names that of the object's class, `v` the one that the variable's type has);
# an element that lldb-dap names by its key, and `v` by its position.
LEFT_OUT = {"base1.hidden", "base1.shared", "sd[1]"}

# What `v` prints where optimised code keeps a variable nowhere.
NO_HOME = re.compile(r"not available|no location|optimized|parent failed|no variable named|undeclared", re.I)


def read(path):
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return [row for row in rows if row.get("path", row.get("static")) not in LEFT_OUT]


def frame_commands(lldb, target, rows):
    """The commands that select the frame of each method."""
    (stack,) = lldb.run(target, ["thread backtrace all"])
    found = {}
    for frame in {row["frame"] for row in rows if "frame" in row}:
        m = re.search(r"thread #(\d+)(?:(?!thread #).)*?frame #(\d+): \S+ \S+`" + re.escape(frame) + r"\(", stack, re.S)
        assert m, f"no {frame}: {stack[:2000]}"
        found[frame] = [f"thread select {m[1]}", f"frame select {m[2]}"]
    return found


class Shown:
    """Compares texts with what a program said; LLDB writes numbers, characters and flags in ways of its own."""

    def __init__(self, release):
        self.release, self.wrong, self.counts = release, Examples(shown=8), {}

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def fail(self, what, row, text):
        name = row.get("path") or row.get("static") or row.get("fields") or row.get("refused") or row.get("command")
        self.wrong.add(f"{what} is shown otherwise", f"{name}: {text.strip()[:300]!r} for {row.get('text', row.get('names'))!r}")

    def figures(self):
        return self.wrong.require_none(", ".join(f"{count} {what}" for what, count in self.counts.items()))


def value_of(text):
    """The value behind `(TYPE) NAME = `, or `(TYPE) ` alone as `p` has it, without the address of an object and what stands below it; None: no value."""
    found = re.match(r"\((?:[^()]|\([^()]*\))*\) (?:[^=]*? = )?(.*)", text.strip().split("\n")[0], re.S)
    return re.sub(r"^0x[0-9a-f]{16} ", "", found[1]).removesuffix(": {").removesuffix(" {") if found else None


def is_same(row, text, expected):
    kind = row["kind"]
    if text is None:
        return False
    if text == expected or is_same_delegate(text, expected):
        return True
    if text == "{Length = 0}" and expected.endswith("[0]"):   # a part of no memory at all
        return True
    if kind == "structure":   # LLDB lists its fields
        return text in ("", "{") or text.startswith("(")
    if kind == "char" or row.get("declared") == "char":
        code = re.search(r"U\+([0-9a-f]{4})", text)
        return code is not None and expected in (f"'{chr(int(code[1], 16))}'", "'\\''", "'\\n'", "'\\0'")
    if kind == "enum":
        names = set(re.split(r" \| |, ", text))
        return names == set(expected.split(", ")) or text.startswith("0x") and int(text, 16) == int(expected)
    if kind == "real":
        return is_same_real(text, expected, row.get("declared") == "float")
    return False


def is_same_delegate(text, expected):
    """The program says the type, and not where it leads."""
    return expected.startswith("{") and text.startswith(expected[:-1] + " -> ")


def is_same_real(text, expected, single):
    try:
        got, want = (float(t.replace("Infinity", "inf")) for t in (text, expected))
    except ValueError:
        return False
    if math.isnan(want) or single and not math.isinf(want):
        return math.isnan(got) if math.isnan(want) else struct.pack("<f", got) == struct.pack("<f", want)
    return got == want and math.copysign(1, got) == math.copysign(1, want)


def check(lldb, target, path, release=False):
    rows = read(path)
    shown, plan, commands = Shown(release), [], []
    selections = frame_commands(lldb, target, rows)
    for frame, selection in selections.items():
        commands += selection
        for row in (row for row in rows if row.get("frame") == frame):
            for what, command in commands_of(row):
                plan.append((row, what, len(commands)))
                commands.append(command)
    for row in (row for row in rows if "static" in row):
        plan.append((row, "static", len(commands)))
        commands.append(f"clr static --json -t all '{row['static']}'")
    texts = lldb.run(target, commands, seconds=600, go_on=True)
    for row, what, at in plan:
        compare(shown, row, what, without_selection(texts[at]))
    least = sum("path" in row for row in rows) * (0.5 if release else 1)
    assert shown.wrong.counts or shown.counts.get("values", 0) >= least, f"{least} paths: {shown.counts}"
    return shown.figures()


def commands_of(row):
    if "path" in row:
        yield "value", f"v {row['path']}"
        if row["object"]:
            yield "object", f"clr object {row['object']}"
    elif "fields" in row:
        yield "fields", f"v {row['fields']}"
    elif "refused" in row:
        yield "refused", f"v {row['refused']}"
    else:
        yield "command", row["command"]


def compare(shown, row, what, text):
    # An expression that names a variable of optimised code may have no value.
    if shown.release and what != "static" and (not text.strip() or NO_HOME.search(text)):
        return shown.count("without a home")
    if what == "value":
        shown.count("values")
        if not is_same(row, value_of(text), row["text"]):
            shown.fail("a value", row, text)
    elif what == "object":
        found = re.match(r"0x[0-9a-f]{16} .*?(?:, \d+ bytes)?: (.*)", text.strip())
        if found is None:   # a variable that is a value
            return None
        shown.count("by clr object")
        wanted = re.sub(r"^\(.*?\) ", "", row["deep"]) if row["kind"] == "boxed" and not found[1].startswith("(") else row["deep"]
        if found[1] != wanted and not is_same_delegate(found[1], wanted) and not found[1].endswith(" characters)"):
            shown.fail("an object", row, text)
    elif what == "fields":
        names = re.findall(r"^  (\S.*?) = ", text, re.M)
        shown.count("lists of fields")
        # Arrays, collections and texts stand in one line.
        if names != row["names"] and not (names == [] and text.count("\n") == 1):
            shown.fail("a list of fields", row, str(names))
    elif what == "refused":
        shown.count("refused")
        if re.search(r"^\(.*\) .* = ", text, re.M):
            shown.fail("what is not there", row, text)
    elif what == "command":
        shown.count("commands")
        if value_of(text) != row["text"]:
            shown.fail("a command's value", row, text)
    else:
        compare_static(shown, row, text)


def compare_static(shown, row, text):
    shown.count("static fields")
    mine = [one for one in json.loads(text) if one.get("thread") == row["thread"]]
    if len(mine) != 1 or not is_same(row, static_text(mine[0]), row["text"]):
        shown.fail("a static field", row, text)


def static_text(one):
    value = one["value"]
    if isinstance(value, bool):
        return "true" if value else "false"
    text = "null" if value is None else str(value)
    return re.sub(r"^\([^()]*\) ", "", text) if one["type"] == "object" else text


def check_package(plugin, core, path):
    """The static fields in Python without LLDB."""
    script = f"""
import json, lldb_clr
runtime = lldb_clr.open_core({str(core)!r})
print(json.dumps([[s.property or s.name, s.value.value, s.thread] for names in ("Kinds.*", "Corner.*") for s in runtime.statics(names)]))
"""
    found = {(name, thread): value for name, value, thread in ask_package(plugin, script)}
    shown = Shown(False)
    for row in (row for row in read(path) if "static" in row and row["thread"] is None):
        shown.count("static fields")
        value = found.get((row["static"], None), "not there")
        text = {True: "true", False: "false", None: "null"}.get(value, str(value)) if isinstance(value, (bool, type(None))) else str(value)
        text = re.sub(r"^\([^()]*\) ", "", text) if row["static"].endswith(".Boxed") else text
        if not is_same(row, text, row["text"]):
            shown.fail("a static field", row, text)
    return shown.figures()


def check_editor(adapter, plugin, environment, core, executable, path):
    """The variables of each frame, and what stands below them, as lldb-dap tells an editor."""
    shown = Shown(False)
    rows = read(path)
    expected = {(row["frame"], row["path"]): row for row in rows if "path" in row}
    session = Session(adapter, plugin, environment)
    try:
        session.begin("attach", coreFile=str(core), program=str(executable), postRunCommands=["clr publish"])
        body, _ = session.client.event("stopped")
        session.thread = body["threadId"]
        frames = session.frames(100)
        for method in {row["frame"] for row in rows if "frame" in row}:
            (frame,) = [one["id"] for one in frames if one["name"].startswith(method + "(")]
            scope = session.client.ask("scopes", frameId=frame)["scopes"][0]
            for name, part in session.variables(scope["variablesReference"]).items():
                compare_part(shown, expected.get((method, name)), part)
                if part["variablesReference"] and (method, name) in expected:
                    for child, below in session.variables(part["variablesReference"]).items():
                        step = child if child.startswith("[") else "." + child
                        compare_part(shown, expected.get((method, name + step)), below)
    except (DapError, KeyError, TypeError, ValueError) as error:
        shown.wrong.add("the session broke off", f"{type(error).__name__}: {error}")
    finally:
        session.client.close()
    assert shown.wrong.counts or shown.counts.get("values", 0) > len(expected) / 3, shown.counts
    return shown.figures()


def compare_part(shown, row, part):
    if row is None or row["kind"] == "structure":
        return
    shown.count("values")
    text = re.sub(r"^0x[0-9a-f]{16} ", "", part["value"])
    if not is_same(row, text, row["text"]):
        shown.fail("a value", row, part["value"])
