"""The instantiations that frames of shared generic code run, against what the program's methods say of themselves (programs/debugged/Generics.cs)."""
import re

from results import Examples

SHARED = "__Canon"


def check(lldb, target, path, release=False):
    said = path.read_text().split("\n")[:-1]
    (found,) = lldb.json(target, ["clrbt --json 1"])
    frames = [f for f in found["threads"][0]["frames"] if f["kind"] == "managed"]
    wrong, figures = Examples(shown=8), {"exact": 0, "not shared": 0, "shared name": 0}
    mine = [f for f in frames if re.match(r"Debugged\.(Box|Chest|Slot|Generics\.Plain)", f["method"]["full_name"])]
    mine.reverse()
    if mine and mine[-1]["code"].get("funclet"):
        said.append(said[-1])   # a catch block has a frame of its own, inside that of its method
    if len(mine) != len(said):
        wrong.add("frames", f"{len(mine)} frames for {len(said)} calls: {[f['method']['full_name'] for f in mine]}")
    for frame, name in zip(mine, said):
        shared, exact = frame["method"]["full_name"], frame.get("instantiation")
        shown = (exact["method"] if exact else frame["method"])["full_name"].partition("(")[0]
        if shown == name:
            figures["exact" if exact else "not shared"] += 1
        elif exact is None and SHARED in shared and plain(shown) == plain(name):
            figures["shared name"] += 1
            # Instance methods may do without a context: it is the object's, which optimised code need not keep; Quiet keeps it.
            if name.endswith(".Quiet") or (not release and not re.search(r"\.(Get|Own|Look)$", name)):
                wrong.add("no instantiation", f"{name}: {shared}")
        else:
            wrong.add("another instantiation", f"{name}: {shown}")
    assert figures["exact"] >= 6 or wrong.counts, f"too few frames have an instantiation: {figures}"
    return wrong.require_none(", ".join(f"{n} {what}" for what, n in figures.items()))


def plain(name):
    """Without type arguments."""
    while "<" in name:
        name = re.sub(r"<[^<>]*>", "", name)
    return name
