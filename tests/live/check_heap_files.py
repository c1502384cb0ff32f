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
