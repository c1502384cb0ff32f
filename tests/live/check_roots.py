"""What the runtime's Frames hold (`clr roots stack`), against what the threads of programs/passing pass, and against the runtime's own enumeration of all stacks."""
import collections

from results import Examples

# Arguments that are no texts of their own: `this`, and places within objects.
OTHERS = {"instance.this", "buffer.this", "byrefs.b", "span.a", "value.field"}
# The receiver of an interface call is not among the texts.
MORE = {"interface": 1}
# Of arguments by a signature, the DAC tells none behind the first structure that holds references, and not all of that one.
BY_SIGNATURE = {"PrestubMethodFrame", "StubDispatchFrame"}


def read(lldb, target):
    roots, threads = lldb.json(target, ["clr roots stack --json", "clr threads --json"])
    return roots, {t["os_id"]: t.get("name") for t in threads}


def check(lldb, target, path):
    roots, names = read(lldb, target)
    said = collections.defaultdict(set)
    for line in path.read_text().splitlines():
        thread, text = line.split(" ", 1)
        said[thread].add(text)
    held = collections.defaultdict(list)
    for root in roots:
        if root["kind"] == "frame" and root["frame_type"] != "GCFrame" and names[root["thread"]] in said:
            held[names[root["thread"]]].append(root)
    texts = [r["object"] for rows in held.values() for r in rows if not r["interior"] and r["type"] == "string"]
    objects = dict(zip(texts, lldb.json(target, [f"clr object {address} --json" for address in texts])))
    wrong, types = Examples(shown=8), collections.Counter()
    for thread, expected in said.items():
        types.update(r["frame_type"] for r in held[thread])
        if len(held[thread]) != len(expected) + MORE.get(thread, 0):
            wrong.add("another count", f"{thread}: {[(r['frame_type'], r.get('type'), r['interior']) for r in held[thread]]} for {len(expected)} arguments")
        found = {objects[r["object"]]["text"].strip('"') for r in held[thread] if r["object"] in objects}
        if found != expected - OTHERS:
            wrong.add("other arguments", f"{thread}: {sorted(found)} for {sorted(expected - OTHERS)}")
        for root in held[thread]:
            if not root["certain"] or (not root["interior"] and root["type"] is None):
                wrong.add("no object", f"{thread}: {root}")
    assert len(said) >= 20 or wrong.counts, f"only {len(said)} threads"
    return wrong.require_none(", ".join(f"{n} in a {kind}" for kind, n in types.items()))


def check_clrmd(oracle, lldb, target):
    theirs = {place(r, int(r["slot"], 16) == 0): r for r in oracle().ask("roots", target)}
    roots, names = read(lldb, target)
    ours = {place(r, "slot" not in r): r for r in roots}
    wrong, left_out = Examples(shown=8), 0
    for key, root in theirs.items():
        mine = ours.get(key)
        if mine is None:
            wrong.add("root missing", f"{names.get(root['thread'])}: {root}")
        elif not root["interior"] and mine["value"] != root["object"]:
            wrong.add("another object", f"{mine} for {root}")
    for key in ours.keys() - theirs.keys():
        if ours[key].get("frame_type") == "GCFrame" or ours[key].get("frame_type") in BY_SIGNATURE:
            left_out += 1
        elif ours[key]["kind"] == "frame" or not outside_the_heap(ours[key]):
            wrong.add("root that the runtime does not tell", f"{names.get(ours[key]['thread'])}: {ours[key]}")
    return wrong.require_none(f"{len(theirs)} roots, {left_out} more that the DAC leaves out")


def place(root, register):
    where = (root["register"], root["sp"]) if register else root["slot"]
    return root["thread"], where, root["interior"], root["pinned"]


def outside_the_heap(root):
    """ClrMD tells roots of objects alone; an interior one may point to a stack."""
    return root["interior"]
