"""`clr object` and `clr static` against what the program itself says that its objects and static fields hold (programs/debugged/Objects.cs)."""
import json
import re

from results import Examples

ALL = "Debugged.Objects.All"


def check(lldb, target, path):
    said = [json.loads(line) for line in path.read_text().splitlines()]
    paths = [row for row in said if "path" in row]
    statics = [row for row in said if "static" in row]
    assert len(paths) > 60 and len(statics) > 15, f"the program said too little: {len(paths)} paths, {len(statics)} statics"
    ((root,),) = lldb.json(target, [f"clr static --json {ALL}"])
    wrong = Examples(shown=8)
    texts = lldb.run(target, [f"clr object '{root['object']}{row['path']}'" for row in paths], go_on=True)
    for row, text in zip(paths, texts):
        found = re.match(r"0x[0-9a-f]+ [^\n]*?: (.*)", text)
        if found is None or found[1] != row["text"]:
            wrong.add("an object is shown otherwise", f"{row['path']}: {text.strip()[:200] or lldb.errors[-200:]} for {row['text']}")
    rows = lldb.json(target, [f"clr static --json -t all '{row['static']}'" for row in statics])
    for row, found in zip(statics, rows):
        mine = [one for one in found if one.get("thread") == row["thread"]]
        if len(mine) != 1 or shown(mine[0]) != row["text"]:
            wrong.add("a static field is shown otherwise", f"{row['static']} of thread {row['thread']}: {json.dumps(found)[:300]} for {row['text']}")
    return wrong.require_none(f"{len(paths)} paths to objects and values, {len(statics)} static fields")


def shown(row):
    """A value of JSON as a text."""
    value = row["value"]
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.17G}" if value != int(value) else re.sub(r"\.?0*E", "E", f"{value:E}")
    return "null" if value is None else str(value)
