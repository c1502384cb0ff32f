"""The instantiations that frames of shared generic code run, against what the program's methods say of themselves (programs/debugged/Generics.cs)."""
import re

from results import Examples

SHARED = "__Canon"


def check(lldb, target, path, release=False):
    said = path.read_text().split("\n")[:-1]
    found, failed = lldb.json(target, ["clrbt --json 1", "clr pe --json"])
    frames = [f for f in found["threads"][0]["frames"] if f["kind"] == "managed"]
    wrong, figures = Examples(shown=8), {"exact": 0, "not shared": 0, "shared name": 0}
    mine = [f for f in frames if re.match(r"Debugged\.(Box|Chest|Slot|Generics\.Plain)", f["method"]["full_name"])]
    mine.reverse()
    lost = [f for f in frames if f["method"]["full_name"].startswith("Debugged.Lost")]
    for frame in lost:   # frames that a handler has left: their objects are gone
        if "instantiation" in frame and "<string>" not in frame["instantiation"]["method"]["full_name"]:
            wrong.add("named by an object that came later", frame["text"])
    assert sum(f.get("repeat", 1) for f in lost) == 31, f"{len(lost)} frames left behind"
    for number, frame in enumerate(mine):
        if frame["code"].get("funclet"):
            said.insert(number, said[number - 1])   # a catch block has a frame of its own, inside that of its method
    if len(mine) != len(said):
        wrong.add("frames", f"{len(mine)} frames for {len(said)} calls: {[f['method']['full_name'] for f in mine]}")
    for frame, name in zip(mine, said):
        shared, exact = frame["method"]["full_name"], frame.get("instantiation")
        shown = (exact["method"] if exact else frame["method"])["full_name"].partition("(")[0]
        if shown == name:
            figures["exact" if exact else "not shared"] += 1
        elif exact is None and SHARED in shared and plain(shown) == plain(name):
            figures["shared name"] += 1
            # Optimised code need not keep what tells the instantiation: the object, and the hidden argument at which nothing looks.
            if name.endswith(".Quiet") or not release:
                wrong.add("no instantiation", f"{name}: {shared}")
        else:
            wrong.add("another instantiation", f"{name}: {shown}")
    check_trace(failed[0]["exceptions"][0]["trace"], said, wrong)
    assert figures["exact"] >= 6 or wrong.counts, f"too few frames have an instantiation: {figures}"
    return wrong.require_none(", ".join(f"{n} {what}" for what, n in figures.items()))


def check_trace(trace, said, wrong):
    """The exception is in flight: its frames still stand, and tell the instantiations of its trace."""
    rows = [t for t in trace if re.search(r"\.(Plain)?Fail", t["method"]["full_name"])]
    shown = [t["instantiation"]["method"]["full_name"].partition("(")[0] for t in rows if "instantiation" in t]
    if shown != said[:-3:-1]:
        wrong.add("stack trace", f"{[t['text'] for t in trace]} for {said[:-3:-1]}")
    for name, row in zip(shown, [t for t in rows if "instantiation" in t]):
        if name not in row["text"]:
            wrong.add("text of a trace", f"{row['text']} for {name}")


def plain(name):
    """Without type arguments."""
    while "<" in name:
        name = re.sub(r"<[^<>]*>", "", name)
    return name
