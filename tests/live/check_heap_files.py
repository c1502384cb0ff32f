"""Files of the managed heap that other programs, or later runs, read: they hold what the commands print."""
import collections
import json
import pathlib
import struct
import sys

from plugin import ask_package
from processes import HERE

sys.path.insert(0, str(HERE.parent / "python"))
from json_schema import Schema   # noqa: E402

SCHEMA = HERE.parent.parent / "python" / "docs" / "schema.json"


class Gcdump:
    """A small reader of the format, by its documents: names of types, and nodes as (type, size, address, children)."""

    def __init__(self, path):
        self.data, self.at = path.read_bytes(), 0
        assert self.text() == "!FastSerialization.1"
        self.begin("GCHeapDump")
        self.begin("Graphs.MemoryGraph")
        self.total, self.root = self.take("<q"), self.take("<i")
        self.types = [(self.text(), self.take("<i"), self.text()) for _ in range(self.take("<i"))]
        places = [self.take("<I") for _ in range(self.take("<i"))]
        size = self.take("<i")
        begin = self.at
        nodes = []
        for number, place in enumerate(places):
            self.at = begin + place
            kind = self.compressed()
            of_node = self.compressed() if kind & 1 else self.types[kind >> 1][1]
            nodes.append((kind >> 1, of_node, [number + self.compressed() for _ in range(self.compressed())]))
        assert self.at == begin + size
        addresses = [self.take("<Q") for _ in range(self.take("<i"))]
        self.nodes = [(self.types[kind][0], size, address, children) for (kind, size, children), address in zip(nodes, addresses)]

    def take(self, form):
        (value,) = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return value

    def text(self):
        size = self.take("<i")
        self.at += max(size, 0)
        return None if size < 0 else self.data[self.at - size:self.at].decode()

    def begin(self, name):
        assert self.data[self.at:self.at + 3] == b"\5\5\1"
        self.at += 11
        assert self.text() == name
        self.at += 1

    def compressed(self):
        byte = self.take("<B")
        value = (byte & 0x7f) - (0x80 if byte & 0x40 else 0)
        while byte & 0x80:
            byte = self.take("<B")
            value = (value << 7) + (byte & 0x7f)
        return value


def check_gcdump(lldb, core, folder):
    """Nodes, sizes, types and references as the commands count them; what roots reach, and no more, with --live."""
    schema, told = Schema(SCHEMA), []
    for live in ("", "--live"):
        path = pathlib.Path(folder) / f"heap{live}.gcdump"
        written, stat, verified = lldb.json(core, [f"clr gcdump --json {live} {path}", f"clr heap --stat --json {live}", "clr heap --verify --json"], 600)
        assert not schema.problems("clr gcdump", written), schema.problems("clr gcdump", written)
        assert written["size"] == path.stat().st_size and path.stat().st_mode & 0o077 == 0, written
        read = Gcdump(path)
        objects = [node for node in read.nodes if node[2]]
        assert (len(objects), sum(n[1] for n in objects), read.total) == (stat["objects"], stat["bytes"], stat["bytes"]), (len(objects), read.total, stat["objects"], stat["bytes"])
        counted, listed = collections.Counter(), collections.Counter(n[0] for n in objects)
        for row in stat["types"]:
            counted[row["name"]] += row["count"]
        assert listed == counted, (listed - counted, counted - listed)
        references = sum(len(n[3]) for n in objects)
        assert references == written["references"] and (live or references == verified["references"]), (references, written, verified["references"])
        reached, todo = set(), [read.root]
        while todo:
            node = todo.pop()
            if node not in reached:
                reached.add(node)
                todo += read.nodes[node][3]
        alive = sum(bool(read.nodes[n][2]) for n in reached)
        told.append((len(objects), alive))
        orders = [n for n in read.nodes if n[0] == "[static var HeapProgram.Statics.Orders]"]
        assert len(orders) == 1 and read.nodes[orders[0][3][0]][0] == "System.Collections.Generic.List<HeapProgram.Order>", orders
    (everything, alive), (only, same) = told
    assert alive == only == same, told
    return f"{everything} objects, {alive} of them alive"


def check_difference(lldb, core, running, folder, second):
    """A heap of other size, compared with a core and with a summary of it, live: the sums by type of both, subtracted."""
    from plugin import Target
    schema, kept, live = Schema(SCHEMA), pathlib.Path(folder) / "first.heap", Target(pid=running.pid)
    saved, stat = lldb.json(core, [f"clr heap --save {kept} --json", "clr heap --stat --json"], 600)
    (same,) = lldb.json(live, [f"clr heap --diff {kept} --json"], 600)
    assert not schema.problems("clr heap --save", saved) and not same["types"] and same["bytes"][0] == same["bytes"][1] == stat["bytes"], (saved, same)
    with second() as other:
        assert other.wait_ready(), "heap did not start"
        now, by_file, by_core = lldb.json(Target(pid=other.pid), ["clr heap --stat --json", f"clr heap --diff {kept} --json", f"clr heap --diff {core.core} --json"], 600)
    assert not schema.problems("clr heap --diff", by_file), schema.problems("clr heap --diff", by_file)[:3]
    assert {**by_file, "other": ""} == {**by_core, "other": ""}, "a core and its summary differ"
    sums = []
    for answer in (stat, now):
        sums.append(collections.Counter())
        for t in answer["types"]:
            sums[-1][t["name"], t["module"], "count"] += t["count"]
            sums[-1][t["name"], t["module"], "bytes"] += t["bytes"]
    before, after = sums
    expected = {key: [before[key], after[key]] for key in before | after}
    changed = {key[:2] for key, (was, is_now) in expected.items() if was != is_now}
    assert {(t["name"], t["module"]) for t in by_file["types"]} == changed, changed
    for t in by_file["types"]:
        assert all(t[what] == expected[t["name"], t["module"], what] for what in ("count", "bytes")), t
    growth = [t["bytes"][1] - t["bytes"][0] for t in by_file["types"]]
    assert growth == sorted(growth, reverse=True) and by_file["types"][0]["name"] == "HeapProgram.Node", by_file["types"][0]
    return f"{len(changed)} types changed"


def check_free(lldb, core):
    """Free memory by part, memory that threads were given, what assemblies retain: the same as other commands count."""
    schema = Schema(SCHEMA)
    heap, free, given, assemblies, live = lldb.json(core, ["clr heap --json", "clr heap --free --json", "clr alloc --json", "clr retained --by assembly --json --top 1000",
                                                           "clr heap --stat --live --json"], 600)
    for name, answer in (("clr heap --free", free), ("clr alloc", given), ("clr retained", assemblies)):
        assert not schema.problems(name, answer), schema.problems(name, answer)[:3]
    parts = collections.Counter()
    for segment in (s for h in heap["heaps"] for s in h["segments"]):
        for what in ("free_objects", "free_bytes"):
            parts[segment["generation"], what] += segment[what]
    for part in free["parts"]:
        for what, of_class in (("free_objects", "count"), ("free_bytes", "bytes")):
            assert parts[part["generation"], what] == part[what] == sum(c[of_class] for c in part["classes"]), part
        bounds = [c["least"] for c in part["classes"]] + [float("inf")]
        assert all(least * c["count"] <= c["bytes"] < most * c["count"] for c, least, most in zip(part["classes"], bounds, bounds[1:]) if c["count"]), part
    assert (free["free_objects"], free["free_bytes"]) == (heap["free_objects"], heap["free_bytes"]), free
    assert free["largest"] and free["largest"][0]["bytes"] == heap["largest_free"] and all(a["bytes"] >= b["bytes"] for a, b in zip(free["largest"], free["largest"][1:]))
    for block in free["largest"]:
        assert block["next"] is None or int(block["next"]["object"], 16) == int(block["address"], 16) + block["bytes"], block
    segments = [(int(s["begin"], 16), int(s["end"], 16)) for h in heap["heaps"] for s in h["segments"]]
    for place in given:
        begin, end = int(place["pointer"], 16), int(place["limit"], 16)
        assert end - begin == place["bytes_left"] and any(b <= begin <= end <= e for b, e in segments), place
    assert any(place.get("thread") and place["managed_id"] for place in given), given
    assert sum(a["count"] for a in assemblies) == live["objects"] and sum(a["bytes"] for a in assemblies) == live["bytes"], assemblies
    assert {"heap.dll", "System.Private.CoreLib.dll"} <= {a["assembly"] for a in assemblies} and all(a["bytes"] <= a["retained"] <= live["bytes"] for a in assemblies)
    return f"{free['free_objects']} free blocks in {len(free['parts'])} parts, {len(given)} contexts, {len(assemblies)} assemblies"


# Of the orders 4700 to 4749 in a list, and twenty that hang on nodes, whose other fields are zero.
CONDITIONS = {
    "Id=4711": 1, "Id!=4711": 69, "Id<4700": 20, "Id>=4740": 10, "Id=0x1267": 1, "Customer=\"hangs on a node\"": 20, "Customer='customer 3'": 10, "Customer=null": 0, "Customer!=null": 70,
    "Day=Monday": 7, "Day!=Sunday": 42, "Day=6": 7, "Day>5": 7, "Total=1.5": 1, "Total>60": 9, "Weight=0.25": 1, "Weight<1": 24, "Paid=true": 25, "Paid!=true": 45, "Id=4711 --where Paid=false": 1,
    "Customer._stringLength=10": 50, "Nothing=1": 0}


def check_where(lldb, core):
    """Objects by what they hold, as the program made them."""
    answers = lldb.json(core, [f"clr objects HeapProgram.Order --json --where {condition}" for condition in CONDITIONS], 600)
    found = {condition: len(answer) for condition, answer in zip(CONDITIONS, answers)}
    assert found == CONDITIONS, {k: (v, CONDITIONS[k]) for k, v in found.items() if v != CONDITIONS[k]}
    (order,) = answers[0]
    (shown,) = lldb.json(core, [f"clr object --json {order['address']}"])
    assert next(f["value"] for f in shown["fields"] if f["name"] == "Id") == 4711, shown
    (some,) = lldb.json(core, ["clr objects HeapProgram.Order --json --where Id>0 --top 3"])
    assert len(some) == 3, some
    return f"{len(CONDITIONS)} conditions"


# Elements and empty ones of arrays that the program made, by type; no other array has such a type and number of elements.
ARRAYS = {("byte[]", 100_000): 100_000, ("object[]", 20_000): 20_000, ("HeapProgram.Pair[]", 3): 1, ("HeapProgram.Deep[]", 5): 5, ("int[,]", 12): 12, ("object[,]", 4): 1, ("decimal[]", 7): 7}


def check_arrays(lldb, core):
    """Arrays and their empty elements, as the program made them."""
    schema = Schema(SCHEMA)
    all_of_them, sparse, largest, few, objects = lldb.json(core, ["clr arrays --json --top 1000000", "clr arrays --sparse --json --top 1000000", "clr arrays --json", "clr arrays --json --gen loh --min 150000 *",
                                                                  "clr objects --json"], 600)
    for answer in (all_of_them, sparse):
        assert not schema.problems("clr arrays", answer), schema.problems("clr arrays", answer)[:3]
    rows = all_of_them["rows"]
    listed = {o["address"]: (o["type"], o["size"]) for o in objects if o["type"].endswith("]")}
    assert {r["address"]: (r["type"], r["size"]) for r in rows} == listed, f"{len(rows)} arrays, {len(listed)} objects are arrays"
    assert (all_of_them["arrays"], all_of_them["bytes"]) == (len(rows), sum(r["size"] for r in rows)), all_of_them["arrays"]
    assert largest["rows"] == rows[:20] and [r["size"] for r in rows] == sorted((r["size"] for r in rows), reverse=True), "the rows are not in order"
    empty = [r["empty"] * r["element_size"] for r in sparse["rows"]]
    assert empty == sorted(empty, reverse=True) and sum(empty) == sparse["empty_bytes"] == all_of_them["empty_bytes"] and min(empty) > 0, sparse["empty_bytes"]
    assert all(r["generation"] == "loh" and r["size"] >= 150_000 for r in few["rows"]) and few["rows"], few["rows"][:3]
    for (name, elements), count in ARRAYS.items():
        found = [r["empty"] for r in rows if (r["type"], r["elements"]) == (name, elements)]
        assert count in found, f"{name} of {elements} elements: {found} are empty, not {count}"
    return f"{len(rows)} arrays, {sparse['empty_bytes']} bytes in empty elements"


def check_minimal(lldb, core, folder):
    """A minimal core with the heap answers as the whole one does."""
    from plugin import Target
    small = pathlib.Path(folder) / "minimal.core"
    orders, _ = lldb.json(core, ["clr objects HeapProgram.Order --json", "clr info --json"], 600)
    lldb.run(core, [f"clr savecore --heap {small}"], 600)
    commands = ["clr heap --stat --json", "clr handles --json", "clr finalizers --json", "clr roots --json", "clr statics --bytes --json", "clr alloc --json", "clr heap --verify --json",
                "clr heap --free --json", "clr retained --json", "clr retained --by assembly --json", f"clr root --paths 5 --json {orders[3]['address']}", f"clr refs --json {orders[3]['address']}",
                f"clr object --json {orders[3]['address']}", "clr objects HeapProgram.Derived --where InDerived='held by a static' --json", "clr arrays --json", "clr strings --duplicates --json"]
    whole, minimal = (lldb.json(target, commands, 600) for target in (core, Target(core=small)))
    wrong = [command for command, a, b in zip(commands, whole, minimal) if a != b]
    assert not wrong, {c: (str(a)[:300], str(b)[:300]) for c, a, b in zip(commands, whole, minimal) if c in wrong[:3]}
    size, of_all = small.stat().st_size, pathlib.Path(core.core).stat().st_size
    small.unlink()
    return f"{len(commands)} answers are the same, {size >> 20} of {of_all >> 20} MB"


def check_root_kinds(lldb, core):
    """`clr roots` of each kind has what the other commands have; what handles and types keep alive is among the references."""
    schema = Schema(SCHEMA)
    every, stack, statics, handles, queue, with_bytes, by_root, live = lldb.json(core, ["clr roots --json", "clr roots stack --json", "clr statics --json", "clr handles --json", "clr finalizers --json",
                                                                                        "clr statics --bytes --json", "clr retained --by root --json --top 100000", "clr heap --stat --live --json"], 600)
    for name, answer in (("clr roots", every), ("clr statics", with_bytes)):
        assert not schema.problems(name, answer), schema.problems(name, answer)[:3]
    kinds = collections.defaultdict(list)
    for root in every:
        kinds[root["kind"]].append(root)
    assert kinds["stack"] + kinds["frame"] == [r for k in ("stack", "frame") for r in stack if r["kind"] == k], "stacks differ"
    assert [(r["name"], r["object"], r["type"]) for r in kinds["static"]] == [(s["name"], s["object"], s["type"]) for s in statics if int(s["object"], 16)], "static fields differ"
    assert [(r["slot"], r["object"]) for r in kinds["handle"]] == [(h["handle"], h["object"]) for h in handles if h["kind"] in ("strong", "pinned", "async_pinned", "sized_ref")], "handles differ"
    assert [r["object"] for r in kinds["finalizer"]] == [o["object"] for o in queue["ready"]], "finalizers differ"
    assert kinds["thread_static"] and all(r["type"] == "object[]" for r in kinds["thread_static"]), kinds["thread_static"][:2]
    for kind in ("static", "handle", "thread_static", "finalizer"):
        (one,) = lldb.json(core, [f"clr roots {kind} --json"], 600)
        assert one == kinds[kind], f"clr roots {kind}: {len(one)} rows, {len(kinds[kind])} among all"
    # What a field holds alone is told by both commands.
    retained = collections.Counter({(r["root"]["name"], r["root"]["slot"]): r["retained"] for r in by_root if r["root"]["kind"] == "static" and r["root"].get("name")})
    told = sorted((s["retained"] for s in with_bytes), reverse=True)
    assert [s["retained"] for s in with_bytes] == told and sum(told) == sum(retained.values()) <= live["bytes"] and told[0] > 0, told[:3]
    assert sorted(s["name"] for s in with_bytes) == sorted(s["name"] for s in statics), "other fields with --bytes"
    # Twenty orders hang on nodes by dependent handles; objects of types that can be unloaded keep their loaders.
    keys = [h for h in handles if h["kind"] == "dependent" and h["type"] == "HeapProgram.Node"]
    unloadable = lldb.json(core, ["clr objects --json Collectible.*"])[0]
    asked = [k["object"] for k in keys[:5]] + [o["address"] for o in unloadable]
    answers = lldb.json(core, [f"clr refs --json {a}" for a in asked], 600)
    assert len(keys) >= 20 and len(unloadable) == 3, (len(keys), len(unloadable))
    for key, answer in zip(keys[:5], answers):
        (held,) = [r for r in answer["out"] if r["field"] == "(dependent handle)"]
        assert held["to"] == key["dependent"] and held["offset"] is None and held["type"] == "HeapProgram.Order", held
        (back,) = [r for r in lldb.json(core, [f"clr refs --in --json {held['to']}"], 600)[0]["in"] if r["field"] == "(dependent handle)"]
        assert back["from"] == key["object"], back
    for answer in answers[5:]:
        assert not schema.problems("clr refs", answer), schema.problems("clr refs", answer)[:3]
        (loader,) = [r for r in answer["out"] if r["offset"] is None]
        assert (loader["field"], loader["type"]) == ("(the loader of its type)", "System.Reflection.LoaderAllocator"), loader
    return f"{len(every)} roots, {len(with_bytes)} static fields"


# Each answer of the package as the command with the same question has it.
LISTS = """
import json
heap = runtime.heap
finalizers, free, info, verified = heap.finalizers(), heap.free_space(), heap.info, heap.verify()
answer = {
    "clr handles": [[h.address, h.kind, h.object, h.type, h.dependent] for h in heap.handles()],
    "ready": [o.object for o in finalizers.ready], "registered": [[o.object, o.generation] for o in finalizers.registered],
    "clr strings": [[s.address, s.length, s.text, s.bytes] for s in heap.strings("customer*")],
    "clr strings --duplicates": [[s.address, s.count, s.bytes] for s in heap.duplicates("twice*", most=30)],
    "clr arrays": [[a.address, a.elements, a.empty, a.empty_bytes] for a in heap.arrays(sparse=True, least=1000, most=15)],
    "where": [o.address for o in heap.objects("HeapProgram.Order", where=["Id>=4740", "Paid=true"])],
    "live": [[t.name, t.count] for t in heap.stat(live=True)], "dead": [[t.name, t.count] for t in heap.stat(live=False)],
    "free": [free.objects, free.bytes, [[p.generation, p.free_bytes] for p in free.parts], [b.address for b in free.largest]],
    "clr alloc": [[a.owner, a.pointer, a.limit, a.thread, a.managed_id] for a in heap.allocations()],
    "verify": [verified.sound, verified.objects, verified.references], "info": [info.kind, info.objects, info.used_bytes, info.committed_bytes, dict(info.memory)],
    "roots": [[r.kind, r.object, r.type] for r in runtime.roots() if r.kind == "handle"],
}
with open(FILE, "w") as out:
    json.dump(answer, out)
"""


def check_python_lists(lldb, core, folder):
    file = pathlib.Path(folder) / "lists.json"
    ask_package(lldb.plugin, f"import lldb_clr\nruntime = lldb_clr.open_core({str(core.core)!r})\n{LISTS.replace('FILE', repr(str(file)))}\nprint(1)")
    ours = json.loads(file.read_text())
    commands = ["clr handles --json", "clr finalizers --json", "clr strings --match customer* --json", "clr strings --duplicates --match twice* --top 30 --json",
                "clr arrays --sparse --min 1000 --top 15 --json", "clr objects HeapProgram.Order --where Id>=4740 --where Paid=true --json", "clr heap --stat --live --json", "clr heap --stat --dead --json",
                "clr heap --free --json", "clr alloc --json", "clr heap --verify --json", "clr heap --json", "clr roots handle --json"]
    handles, finalizers, strings, duplicates, arrays, where, live, dead, free, given, verified, heap, roots = lldb.json(core, commands, 600)
    number = lambda text: int(text, 16)   # noqa: E731
    expected = {
        "clr handles": [[number(h["handle"]), h["kind"], number(h["object"]), h["type"], number(h["dependent"]) if "dependent" in h else None] for h in handles],
        "ready": [number(o["object"]) for o in finalizers["ready"]], "registered": [[number(o["object"]), o["generation"]] for o in finalizers["registered"]],
        "clr strings": [[number(s["address"]), s["length"], s["text"], s["bytes"]] for s in strings],
        "clr strings --duplicates": [[number(s["address"]), s["count"], s["bytes"]] for s in duplicates],
        "clr arrays": [[number(a["address"]), a["elements"], a["empty"], a["empty"] * a["element_size"]] for a in arrays["rows"]],
        "where": [number(o["address"]) for o in where], "live": [[t["name"], t["count"]] for t in live["types"]], "dead": [[t["name"], t["count"]] for t in dead["types"]],
        "free": [free["free_objects"], free["free_bytes"], [[p["generation"], p["free_bytes"]] for p in free["parts"]], [number(b["address"]) for b in free["largest"]]],
        "clr alloc": [[a["owner"], number(a["pointer"]), number(a["limit"]), a.get("thread"), a.get("managed_id")] for a in given],
        "verify": [verified[k] for k in ("sound", "objects", "references")], "info": [heap["kind"], heap["objects"], heap["used_bytes"], heap["committed_bytes"], heap["process"]],
        "roots": [["handle", number(r["object"]), r["type"]] for r in roots]}
    wrong = [name for name, answer in expected.items() if ours[name] != answer]
    assert not wrong, {name: (ours[name][:3], expected[name][:3]) for name in wrong}
    empty = [name for name, answer in expected.items() if not answer and name != "ready"]
    assert not empty, f"nothing was compared: {empty}"
    return f"{len(expected)} answers as the commands give them"


# Runs with the package, without LLDB and within it; `runtime` is there.
PYTHON = """
import array, collections, json
table, stat, objects = runtime.heap.table(), runtime.heap.stat(), list(runtime.heap.objects())
counted = collections.Counter(table.types[t].name for t, free in zip(table.type, table.free) if not free)
told = collections.Counter()
for t in stat:
    told[t.name] += t.count
live = [(a, s, g) for a, s, g, free in zip(table.address, table.size, table.generation, table.free) if not free]
parts = {0: 0, 1: 1, 2: 2, "loh": 3, "poh": 4, "frozen": 5}
same = live == [(o.address, o.size, parts[o.generation]) for o in objects]
formats = [(c.format, c.itemsize, c.readonly, len(c) == len(table), c.contiguous) for c in (table.address, table.size, table.type, table.generation, table.free)]
column = table.address
first = column[0]
del table
kept = column[0] == first   # a column keeps its memory
order = next(o for o in runtime.heap.objects("HeapProgram.Order") if runtime.object(o.address)["Id"].value == 4711)
dead = next(o for o in runtime.heap.objects("HeapProgram.Dead"))
one = runtime.object(order.address)
(path,) = one.paths()
roots = runtime.roots()
answer = {"same": same, "counts": counted == told, "formats": formats, "kept": kept,
          "order": order.address, "in": [[r.object, r.type, r.field] for r in one.referrers()], "out": [[r.object, r.field, r.offset] for r in order.references()],
          "dead": [dead.paths(), dead.retained().alive], "path": [path.root.kind, path.root.name, [[s.object, s.type, s.field] for s in path.steps]],
          "roots": sorted([r.kind, r.object, r.slot or 0] for r in roots), "retained": [one.retained().retained, one.retained().reachable],
          "by": {by: [r.retained for r in runtime.heap.retained(by, most=5)] for by in ("object", "type", "assembly", "static", "root")},
          "gcdump": runtime.heap.gcdump(FILE + ".gcdump", live=True).objects}
runtime.heap.save(FILE)
answer["diff"] = len(runtime.heap.diff(FILE))
with open(FILE + ".json", "w") as out:
    json.dump(answer, out)
"""


def check_python(lldb, core, folder):
    """The package's table, references, roots, paths and retained sizes, without LLDB and in it: those of the commands."""
    schema, answers = Schema(SCHEMA), []
    for place in ("alone", "lldb"):
        file = pathlib.Path(folder) / f"python-{place}"
        script = PYTHON.replace("FILE", repr(str(file)))
        if place == "alone":
            ask_package(lldb.plugin, f"import lldb_clr\nruntime = lldb_clr.open_core({str(core.core)!r})\n{script}\nprint(1)")
        else:
            module = pathlib.Path(folder) / "asks_heap.py"
            module.write_text(f"import lldb_clr\ndef run(target):\n    runtime = lldb_clr.Runtime(target)\n    exec({script!r}, {{'runtime': runtime}})\n")
            texts = lldb.run(core, [f'command script import "{HERE.parent.parent / "python" / "lldb_clr"}"', f'command script import "{module}"', "script asks_heap.run(lldb.target)"], 600)
            assert file.with_suffix(".json").exists(), texts
        answers.append(json.loads(pathlib.Path(f"{file}.json").read_text()))
    alone, within = answers
    assert alone == within, {k: (alone[k], within[k]) for k in alone if alone[k] != within[k]}
    assert alone["same"] and alone["counts"] and alone["kept"] and alone["diff"] == 0, {k: alone[k] for k in ("same", "counts", "kept", "diff")}
    assert alone["formats"] == [["Q", 8, True, True, True], ["Q", 8, True, True, True], ["I", 4, True, True, True], ["B", 1, True, True, True], ["B", 1, True, True, True]], alone["formats"]
    assert alone["dead"] == [[], False], alone["dead"]
    address = f"{alone['order']:#x}"
    refs, root, retained, live, *by = lldb.json(core, [f"clr refs --json {address}", f"clr root --json {address}", f"clr retained --json {address}", "clr heap --stat --live --json",
                                                       *(f"clr retained --json --top 5 --by {by}" for by in alone["by"])], 600)
    assert alone["in"] == [[int(r["from"], 16), r["type"], r["field"]] for r in refs["in"]] and alone["in"], alone["in"]
    assert alone["out"] == [[int(r["to"], 16), r["field"], r["offset"]] for r in refs["out"]], alone["out"]
    (path,) = root["paths"]
    assert alone["path"] == [path["root"]["kind"], path["root"].get("name"), [[int(s["object"], 16), s["type"], s.get("field")] for s in path["steps"]]], alone["path"]
    assert alone["retained"] == [retained["retained"], retained["reachable"]["bytes"]], (alone["retained"], retained)
    assert list(alone["by"].values()) == [[r["retained"] for r in rows] for rows in by], alone["by"]
    assert alone["gcdump"] == live["objects"], alone["gcdump"]
    assert not schema.problems("clr refs", refs), schema.problems("clr refs", refs)[:3]
    return f"{len(alone['roots'])} roots, {alone['gcdump']} live objects, alone and in LLDB"


def check_roots(lldb, core):
    """What a root retains no way from another root leads to; the list of orders is held by its static field alone."""
    rows, orders, live = lldb.json(core, ["clr retained --json --by root --top 100000", "clr retained --json --by static --type HeapProgram.Statics.*", "clr heap --stat --live --json"], 600)
    schema = Schema(SCHEMA)
    assert not schema.problems("clr retained", rows), schema.problems("clr retained", rows)[:3]
    sizes = [row["retained"] for row in rows]
    assert sizes == sorted(sizes, reverse=True) and sum(sizes) <= live["bytes"] and sum(r["count"] for r in rows) <= live["objects"], (sum(sizes), live["bytes"])
    assert all(row["bytes"] <= live["bytes"] and (row["count"] > 0) for row in rows)
    by_name = {row["root"]["name"]: row for row in rows if row["root"]["kind"] == "static" and row["root"]["name"]}
    for row in orders:
        assert by_name[row["root"]["name"]]["retained"] == row["retained"] and by_name[row["root"]["name"]]["object"] == row["object"], row
    assert "HeapProgram.Statics.Orders" in by_name and {row["root"]["kind"] for row in rows} >= {"static", "thread", "handle"}, {row["root"]["kind"] for row in rows}
    (thread,) = [row for row in rows if row["root"]["kind"] == "thread"][:1]
    assert thread["retained"] > 300_000, thread   # the main thread holds what the program keeps
    return f"{len(rows)} roots retain {sum(sizes)} of {live['bytes']} bytes"
