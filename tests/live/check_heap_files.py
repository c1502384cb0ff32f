"""Files of the managed heap that other programs, or later runs, read: they hold what the commands print."""
import collections
import json
import pathlib
import struct
import sys

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
