"""What `v` shows below variables, by the types that the objects have: against what the program says that it holds (programs/debugged/Held.cs,
and programs/unions in F#)."""
import json
import re

from check_dap import DapError, Session, expect
from plugin import without_selection
from results import Examples

METHOD = "Debugged.Held.Begin"


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def check(lldb, target, path):
    said = read(path)
    assert len(said) > 50, f"the program said too little: {len(said)} rows"
    (stack,) = lldb.run(target, ["bt"])
    number = re.search(r"frame #(\d+): \S+ \S+`" + re.escape(METHOD) + r"\(", stack)
    assert number, f"no {METHOD}: {stack}"
    commands = [row["command"] if "command" in row else f"v {row.get('path') or row.get('fields') or row.get('refused')}" for row in said]
    objects = [row for row in said if "path" in row]
    version, _, *texts = lldb.run(target, ["version", f"frame select {number[1]}", *commands, *(f"clr object {row['path']}" for row in objects)], go_on=True)
    wrong, counts = Examples(shown=8), {"path": 0, "fields": 0, "refused": 0, "command": 0}
    compared = check_objects(wrong, objects, texts[len(said):])
    # LLDB 14 and 15 leave the arguments out of names, so that a structure's type cannot be found by its name (docs/lldb-commands.md).
    unnamed = {row["path"] for row, text in zip(said, texts) if "path" in row and re.match(r"\([^()]*<>[ &]*\)", text)}
    unnamed |= {"segment", "rows", "nested", "pairs", "byName"} if unnamed else set()   # these are asked for by their elements only
    assert not unnamed or re.search(r"version 1[45]\.", version), f"names without arguments in {version}: {unnamed}"
    for row, text in zip(said, texts):
        if re.match(r"\w*", row.get("path", row.get("fields", "")))[0] in unnamed or unnamed and row.get("path", "").startswith("account.Past"):
            continue
        kind = next(key for key in counts if key in row)
        counts[kind] += 1
        if kind in ("path", "command"):
            if shown(text) != row["text"]:
                wrong.add("a value is shown otherwise", f"{row[kind]}: {text.strip()[:200]} for {row['text']}")
        elif kind == "fields":
            names = re.findall(r"^  (\S.*?) = ", text, re.M)
            # Arrays and collections have their elements in one line.
            if names != row["names"] and not (names == [] and text.count("\n") == 1):
                wrong.add("other fields are shown", f"{row['fields']}: {names} for {row['names']}")
        elif re.search(r"^\(.*\) .* = ", text, re.M):
            wrong.add("shown though it is not there", f"{row['refused']}: {text.strip()[:200]}")
    return wrong.require_none(", ".join(f"{n} {what}" for what, n in counts.items()) + f", {compared} by clr object")


def check_objects(wrong, rows, texts):
    """`clr object` takes keys where `v` counts entries, and no variable that is a value: what it does take, it shows alike."""
    compared = 0
    for row, text in zip(rows, texts):
        found = re.match(r"0x[0-9a-f]{16} .*?(?:, \d+ bytes)?: (.*)", text.strip())
        if not found:
            continue
        compared += 1
        if re.sub(r"^\(\w+\) ", "", found[1]) != re.sub(r"^\(\w+\) ", "", row["text"].replace(" | ", ", ")):
            wrong.add("clr object shows otherwise", f"{row['path']}: {text.strip()[:200]} for {row['text']}")
    assert compared > len(rows) / 2, f"clr object takes {compared} of {len(rows)} paths"
    return compared


# Run within LLDB: evaluates sizeof and a cast for each name of a file by the API, which runs no command, and prints the size of an object, with its
# header and filled up; 0 for an error. A class has a base; a value is boxed.
MEASURE = """
def __lldb_init_module(debugger, _):
    target = debugger.GetSelectedTarget()
    for name in open({names!r}).read().split():
        value, cast = (target.EvaluateExpression(text % name) for text in ("sizeof(%s)", "(%s *)0"))
        fields = value.GetValueAsUnsigned() + (0 if cast.GetType().GetPointeeType().GetCanonicalType().GetNumberOfDirectBaseClasses() else 8)
        print("size of", name, max(24, (fields + 7) // 8 * 8 + 8) if value.GetError().Success() and cast.GetError().Success() else 0)
"""


def spelled(name):
    """A type's name as expressions have it: `System::Collections::Generic::List_int_`."""
    text, depth = "", 0
    for c in name:
        depth += (c == "<") - (c == ">" and depth > 0)
        text += c if c.isalnum() or c in "_$" or ord(c) > 127 else "::" if c == "." and not depth else "_"
    return text


def check_named(lldb, target, folder):
    """A client of the API names every type that has objects, and each is as large as they are: the heap's own word for it."""
    version, text = lldb.run(target, ["version", "clr heap --stat --json"])
    rows = json.loads(text)["types"]
    sizes = {spelled(row["name"]): row["bytes"] // row["count"] for row in rows if "[" not in row["name"] and "." in row["name"] and row["name"] != "System.String"}
    assert len(sizes) > 50, f"{len(sizes)} types"
    (folder / "names").write_text("\n".join(sizes))
    (folder / "measure.py").write_text(MEASURE.format(names=str(folder / "names")))
    (said,) = lldb.run(target, [f'command script import "{folder / "measure.py"}"'])
    found = {name: int(size) for name, size in re.findall(r"^size of (\S+) (\d+)$", said, re.M)}
    assert found.keys() == sizes.keys(), f"{len(found)} names answered, of {len(sizes)}"
    if re.search(r"version 1[45]\.", version):   # they confuse types, and are given none (docs/lldb-commands.md)
        assert not any(found.values()), found
        return "no name, as is said"
    wrong = Examples(shown=8)
    for name, size in found.items():
        if size != sizes[name]:
            wrong.add("a type has another size, or none", f"{name}: {size} for objects of {sizes[name]} bytes")
    return wrong.require_none(f"{len(found)} types")


def check_assignments(lldb, target):
    """References in `expression`: null can be assigned, anything else is told, and C++ copies no object over another."""
    commands = ["thread backtrace all", "v figure ring", "expression figure = nullptr", "p -- ring = 0", "expression shape = figure", 'expression shape = "text"', "v figure ring shape"]
    frames = lldb.run(target, commands[:1])[0]
    thread, number = re.search(r"thread #(\d+)(?:(?!thread #).)*?frame #(\d+): \S+ \S+`" + re.escape(METHOD) + r"\(", frames, re.S).groups()
    here = [f"thread select {thread}", f"frame select {number}"]
    before, set_figure, set_ring, other, text, after = lldb.run(target, here + commands[1:], go_on=True)[2:]
    assert before.count("{") >= 2 and "figure = 0x0000000000000000 null" in set_figure and "ring = 0x0000000000000000 null" in set_ring, (before, set_figure, set_ring)
    assert not other.strip() and not text.strip() and lldb.errors.count("only null can be assigned to the reference shape") == 2, lldb.errors
    assert after.count("0x0000000000000000 null") == 2 and re.search(r"shape = 0x0*[1-9a-f]\w* \{Debugged\.Ring\}", after), after
    # A client of the API evaluates C++ alone: an error there, and nothing is copied.
    api = 'script print("fails", lldb.frame.EvaluateExpression("one = two").GetError().Fail())'
    said, after = lldb.run(target, here + [api, "v one.Sum two.Sum"], go_on=True)[2:]
    assert "fails True" in said and re.findall(r"= (\d)", after) == ["1", "2"], (said, after)
    # The text of an object follows what an expression writes while the process stands.
    first = "p ((System::String &)text)._firstChar = "
    writes = [step for letter in (87, 88, 89, 90) for step in (f"{first}{letter}", "v text")]
    steps = lldb.run(target, here + ["v text", *writes, "frame info", f"{first}119"], go_on=True)[2:]
    # LLDB may tell of the stop of its attach, with a frame, only here.
    shown = re.findall(r'\btext = 0x\w+ "(\w+)"', "".join(steps))
    assert shown == ["words", "Words", "Xords", "Yords", "Zords"], steps
    return "2 references set to null, 3 other assignments refused, a text that changes"


COUNTED = """
import lldb
made = [0]
def begin(self, *arguments, old=lldb.lldb_clr_Parts.__init__):
    made[0] += 1
    old(self, *arguments)
lldb.lldb_clr_Parts.__init__ = begin
lldb.made = made
"""


def check_frames(lldb, target, folder):
    """LLDB prints frames without Python, and as it did before anything was asked of values; `v` and scripts see the same as before."""
    (frames,) = lldb.run(target, ["thread backtrace all"])
    thread, number = re.search(r"thread #(\d+)(?:(?!thread #).)*?frame #(\d+): \S+ \S+`" + re.escape(METHOD) + r"\(", frames, re.S).groups()
    (folder / "counted.py").write_text(COUNTED)
    tell, children = "script print('made', lldb.made[0])", "script print('children', [child.GetName() for child in lldb.frame.FindVariable('figure')])"
    nested = children.replace("script ", "script lldb.debugger.HandleCommand('thread backtrace'); ")
    commands = ["bt all", f"thread select {thread}", f"frame select {number}", "v figure", f"script exec(open('{folder / 'counted.py'}').read(), {{}})", children, tell,
                "bt all", tell, children, "bt", "v figure", nested]
    before, _, _, value, _, children, made, after, made_after, children_after, _, value_after, nested = lldb.run(target, commands, go_on=True)
    value, value_after = without_selection(value), without_selection(value_after)
    lines = [re.findall(r"frame #\d+:.*", text) for text in (before, after)]
    assert lines[0] == lines[1], [pair for pair in zip(*lines) if pair[0] != pair[1]][:5]
    assert int(made.split()[-1]) > 0 and made_after == made, (made, made_after)
    assert value.count("\n") > 2 and value_after == value, (value, value_after)
    assert len(children) > 20 and children_after == children and children.strip() in nested, (children, children_after, nested)
    return f"{len(lines[0])} frames"


def check_descriptions(lldb, target):
    """`po` of a variable, a path, a cast and an address; values are LLDB's."""
    frames = lldb.run(target, ["thread backtrace all"])[0]
    thread, number = re.search(r"thread #(\d+)(?:(?!thread #).)*?frame #(\d+): \S+ \S+`" + re.escape(METHOD) + r"\(", frames, re.S).groups()
    here = [f"thread select {thread}", f"frame select {number}"]
    object_ = without_selection(lldb.run(target, here + ["clr object plain"])[2])
    address = re.match(r"0x[0-9a-f]+", object_)[0]
    commands = ["po plain", f"po {address}", "po ((Debugged::Disc &)plain)", "po shapes[1]", "po numbers[1]", "po text"]
    *objects, number, text = [without_selection(text) for text in lldb.run(target, here + commands, go_on=True)[2:]]
    assert "Radius: double = 7" in object_ and all(one == object_ for one in objects), (object_, objects)
    assert number.strip() == "20" and '"words"' in text, (number, text)
    return f"{len(commands)} descriptions"


def shown(text):
    """The value behind `(TYPE) NAME = `, or `(TYPE) ` alone as `p` has it, without the address of an object and what stands below it."""
    first = text.strip().split("\n")[0]
    found = re.match(r"\(.*?\) (?:\S+(?:\[.*?\])? = )?(.*)", first)
    return re.sub(r"^0x[0-9a-f]{16} ", "", found[1]).removesuffix(": {").removesuffix(" {") if found else first


def check_editor(adapter, plugin, environment, core, executable, path):
    """The same names and values as lldb-dap tells an editor, below the variables of a core."""
    wrong, compared = Examples(), 0
    session = Session(adapter, plugin, environment)
    try:
        session.begin("attach", coreFile=str(core), program=str(executable), postRunCommands=["clr publish"])
        body, _ = session.client.event("stopped")
        session.thread = body["threadId"]
        (frame,) = [frame["id"] for frame in session.frames(100) if frame["name"].startswith(METHOD + "(")]
        scope = session.client.ask("scopes", frameId=frame)["scopes"][0]
        found = session.variables(scope["variablesReference"])
        said = read(path)
        texts = {row["path"]: row["text"] for row in said if "path" in row}
        for row in said:
            if row.get("fields") not in found: # of a variable
                continue
            parts = session.variables(found[row["fields"]]["variablesReference"])
            expect(wrong, f"below {row['fields']}", list(parts), row["names"])
            for name, part in parts.items():
                text = texts.get(f"{row['fields']}.{name}", texts.get(row["fields"] + name))
                if text is not None:
                    compared += 1
                    expect(wrong, f"{row['fields']}.{name}", re.sub(r"^0x[0-9a-f]{16} ", "", part["value"]), text)
        for expression in ("shape.Radius", "list[3]", "grid[1][0]"):
            value = session.client.ask("evaluate", expression=expression, frameId=frame, context="watch")["result"]
            expect(wrong, f"watch {expression}", re.sub(r"^0x[0-9a-f]{16} ", "", value), texts[expression])
    except (DapError, KeyError, TypeError, ValueError) as error:
        wrong.add("the session broke off", f"{type(error).__name__}: {error}")
    finally:
        session.client.close()
    assert compared > 15 or wrong.counts, f"too few values were compared: {compared}"
    return wrong.require_none(f"{compared} values below variables")
