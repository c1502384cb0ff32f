"""The managed heap: the same objects as ClrMD finds, the objects that the program knows it has, and JSON as the schema describes it."""
import collections
import json
import subprocess
import sys

from plugin import ask_package
from processes import HERE, Unavailable

sys.path.insert(0, str(HERE.parent / "python"))
from json_schema import Schema   # noqa: E402

SCHEMA = HERE.parent.parent / "python" / "docs" / "schema.json"

Mode = collections.namedtuple("Mode", "knobs arguments still", defaults=({}, (), True))

# `still`: no thread allocates, so that the heap is the same whenever it is looked at.
MODES = {
    "workstation": Mode(),
    "small-gen0": Mode({"GCgen0size": "40000"}),
    "server": Mode({"gcServer": 1}),
    "segments": Mode({"GCName": "libclrgc.so"}),
    "segments-server": Mode({"GCName": "libclrgc.so", "gcServer": 1}),
    "allocating": Mode({}, ("--churn", "4"), False),
}
COMMANDS = ["clr heap --json", "clr heap --stat --json", "clr objects --json HeapProgram.*"]
# ClrMD's names of our kinds of handles.
KINDS = {"WeakShort": "weak_short", "WeakLong": "weak_long", "Strong": "strong", "Pinned": "pinned", "RefCounted": "ref_counted", "Dependent": "dependent",
         "AsyncPinned": "async_pinned", "SizedRef": "sized_ref", "10": "weak_interior"}


def ask(lldb, target):
    """The answers of the commands, which must be as the schema says and must agree with each other."""
    schema = Schema(SCHEMA)
    heap, stat, objects = answers = lldb.json(target, COMMANDS, 600)
    wrong = [p for command, answer in zip(COMMANDS, answers) for p in schema.problems(command.split(" --json")[0], answer)]
    assert not wrong, wrong[:5]
    segments = [s for h in heap["heaps"] for s in h["segments"]]
    for name, of_heap in (("objects", "objects"), ("bytes", "used_bytes"), ("free_objects", "free_objects"), ("free_bytes", "free_bytes")):
        of_segments, of_types = sum(s[name] for s in segments), stat[name]
        assert of_segments == heap[of_heap] == of_types, f"{name}: {of_segments} in segments, {heap[of_heap]} in the heap, {of_types} by type"
    assert stat["objects"] == sum(t["count"] for t in stat["types"]) and stat["bytes"] == sum(t["bytes"] for t in stat["types"])
    listed = collections.Counter(o["type"] for o in objects)
    counted = {t["name"]: t["count"] for t in stat["types"] if t["name"].startswith("HeapProgram.") and t["count"]}
    assert listed == counted, f"listed {dict(listed)}, counted {counted}"
    unnamed = [t["name"] for t in stat["types"] if t["name"].startswith("<")]
    assert not unnamed, f"types without a name: {unnamed[:3]}"
    return heap, stat


def known_of(running):
    """What the program told of itself."""
    return json.loads(next(line for line in running.output.decode().splitlines() if line.startswith("{")))


def check_counts(heap, stat, running, mode):
    told = known_of(running)
    assert heap["kind"] == ("server" if told["server"] else "workstation"), heap["kind"]
    counts = {t["name"]: t["count"] for t in stat["types"]}
    for name, least in (("HeapProgram.Node", told["nodes"]), ("HeapProgram.WithFinalizer", told["with_finalizer"]), ("HeapProgram.Order", told["orders"])):
        assert counts.get(name, 0) >= least, f"{counts.get(name, 0)} of {name}, the program has {least}"
    assert counts["HeapProgram.WithFinalizer"] == told["with_finalizer"]
    if mode.still:
        assert not heap["gc_in_progress"] and not heap["holes"] and not heap["skipped"] and not heap["problems"], [heap[k] for k in ("holes", "skipped", "problems")]
        # What the runtime counts as allocated holds free memory, and the rests that threads were given.
        assert abs(heap["used_bytes"] + heap["free_bytes"] - told["bytes"]) < 500_000, f"{heap['used_bytes']} + {heap['free_bytes']} bytes, the program has {told['bytes']}"
    return f"{stat['objects']} objects of {len(stat['types'])} types"


def check_live(lldb, running, mode):
    from plugin import Target
    return check_counts(*ask(lldb, Target(pid=running.pid)), running, mode)


def check_core(lldb, core, running, mode):
    return check_counts(*ask(lldb, core), running, mode)


def check_variant(lldb, core, running):
    """Of a runtime that no other reader opens: the program's own counts, no contradiction, statics of the program and of its thread as roots."""
    text = check_counts(*ask(lldb, core), running, MODES["workstation"])
    verified, statics, orders, boxes = lldb.json(core, ["clr heap --verify --json", "clr statics --json HeapProgram.*", "clr objects --json HeapProgram.Order --where Id>=4700", "clr objects --json HeapProgram.Box<int>"], 600)
    assert verified["sound"], {k: v for k, v in verified.items() if v}
    held = {s["name"]: s["type"] for s in statics}
    assert held.get("HeapProgram.Statics.Object") == "HeapProgram.Derived" and "HeapProgram.Statics.Orders" in held, held
    assert len(orders) == 50 and len(boxes) == 1, (len(orders), len(boxes))
    of_order, of_box = lldb.json(core, [f"clr root --json {orders[11]['address']}", f"clr root --json {boxes[0]['address']}"], 600)
    assert [p["root"].get("name") for p in of_order["paths"]] == ["HeapProgram.Statics.Orders"], of_order
    assert [p["root"]["kind"] for p in of_box["paths"]] == ["thread_static"], of_box
    (shown,) = lldb.json(core, ["clr static --json HeapProgram.Statics.*"], 600)
    faults = [s["fault"] for s in shown if s.get("fault") and "thread has not used" not in s["fault"]]
    assert not faults and any("OfThread" in s["name"] and not s.get("fault") for s in shown), shown
    return f"{text}, {verified['references']} references, {len(statics)} static fields"


def check_clrmd(oracle, tool, core, mode):
    """Equal sets of (address, type, size)."""
    if not tool.exists():
        raise Unavailable(f"{tool.name} is not built")
    done = subprocess.run([tool, core.core, "--refs"], capture_output=True, text=True, timeout=600, check=True)
    ours = json.loads(done.stdout.splitlines()[-1])
    (theirs,) = oracle().ask("heap", core, "--refs")
    assert "gap" not in done.stdout or not mode.still, done.stdout[:300]
    if theirs["invalid"] or not mode.still:
        # ClrMD gives up where an allocation context is exhausted, and in the middle of a collection.
        assert ours["objects"] >= theirs["objects"], f"{ours['objects']} objects, ClrMD has {theirs['objects']}"
        if ours["objects"] != theirs["objects"]:
            return f"{ours['objects']} objects, {theirs['objects']} of them ClrMD's"
    wrong = [name for name in ("objects", "bytes", "hash", "refs", "refhash") if ours[name] != theirs[name]]
    assert not wrong, f"{wrong}: {ours}, ClrMD has {theirs}"
    return f"{ours['objects']} objects and {ours['refs']} references as ClrMD has them"


def check_python(lldb, core):
    """The Python package, over libclr.so, has the same counts as the commands."""
    script = ("import json, lldb_clr; heap = lldb_clr.open_core(" + repr(str(core.core)) + ").heap; "
              "print(json.dumps([[[t.name, t.count, t.bytes] for t in heap.stat()], sum(s.objects for s in heap.segments), "
              "sum(1 for _ in heap.objects('HeapProgram.Order')), sum(t.count for t in heap.stat('*', 2))]))")
    types, objects, orders, old = ask_package(lldb.plugin, script)
    stat, of_gen2 = lldb.json(core, ["clr heap --stat --json", "clr heap --stat --gen 2 --json"])
    assert types == [[t["name"], t["count"], t["bytes"]] for t in stat["types"]], types[:3]
    assert (objects, old) == (stat["objects"], of_gen2["objects"]), (objects, old)
    assert orders == next(t["count"] for t in stat["types"] if t["name"] == "HeapProgram.Order"), orders
    return f"{len(types)} types, {objects} objects"


def check_handles(oracle, lldb, core):
    """The same handles; those of heaps that the collector gave up are ours alone. The same finalizer queue."""
    handles, queue = answers = lldb.json(core, ["clr handles --json", "clr finalizers --json"])
    schema = Schema(SCHEMA)
    wrong = [p for name, answer in zip(("clr handles", "clr finalizers"), answers) for p in schema.problems(name, answer)]
    assert not wrong, wrong[:5]
    theirs = oracle().ask("handles", core)
    ours = {h["handle"]: (h["kind"], h["object"], h.get("dependent")) for h in handles}
    missing = [h for h in theirs if ours.get(h["handle"]) != (KINDS.get(h["kind"], h["kind"]), h["object"], h.get("dependent"))]
    assert not missing, f"{len(missing)} of {len(theirs)} handles are missing or differ: {missing[:2]}, ours {[ours.get(h['handle']) for h in missing[:2]]}"
    (finalizers,) = oracle().ask("finalizers", core)
    for part in ("registered", "ready"):
        mine = sorted(o["object"] for o in queue[part])
        assert mine == sorted(finalizers[part]), f"{part}: {len(mine)} objects, ClrMD has {len(finalizers[part])}"
    return f"{len(theirs)} of {len(ours)} handles, {len(queue['registered'])} objects with finalizers, as ClrMD has them"


def check_retained(lldb, core):
    """Every way from a root to an object leads over its holder; what an object retains it leads to; the same answers in each form."""
    objects, types, statics, stat = lldb.json(core, ["clr retained --json --top 60", "clr retained --json --by type --top 100000", "clr retained --json --by static --top 100000",
                                                     "clr heap --stat --live --json"], 600)
    schema = Schema(SCHEMA)
    wrong = [p for answer in (objects, types, statics) for p in schema.problems("clr retained", answer)]
    assert not wrong, wrong[:3]
    assert [r["retained"] for r in objects] == sorted((r["retained"] for r in objects), reverse=True), "the rows are not in order"
    live = {t["name"]: (t["count"], t["bytes"]) for t in stat["types"]}
    counted = collections.Counter()
    for row in types:
        counted[row["type"]] += row["count"]
        assert row["bytes"] <= row["retained"] <= stat["bytes"], row
    assert all(counted[name] == count for name, (count, _) in live.items() if name in counted), "types count other objects than clr heap --stat --live"
    assert sum(r["retained"] for r in statics) <= stat["bytes"], "static fields that alone hold their objects hold more than there is"
    chosen = [r["object"] for r in objects + statics[:20]]
    found = lldb.json(core, [f"clr retained --json {a}" for a in chosen], 600)
    assert not schema.problems("clr retained ADDRESS", found[0]), schema.problems("clr retained ADDRESS", found[0])[:3]
    for row, one in zip(objects + statics[:20], found):
        assert (one["object"], one["count"], one["bytes"], one["retained"]) == (row["object"], row["count"], row["bytes"], row["retained"]), (row, one)
        assert one["alive"] and one["retained"] <= one["reachable"]["bytes"], one
    held = [one for one in found if one["holder"]]
    ways = 0
    for one, answer in zip(held, lldb.json(core, [f"clr root --json --paths 50 {one['object']}" for one in held], 600)):
        for path in answer["paths"]:
            ways += 1
            # The array of static fields is told as the field.
            assert path["root"]["kind"] == "static" or one["holder"]["object"] in [s["object"] for s in path["steps"]], (one, path)
    assert ways, "no object has a holder"
    return f"{len(types)} types, {len(statics)} static fields, {ways} ways to {len(held)} objects lead over their holders"


def check_paths(lldb, core):
    """What the program keeps has a root, what it dropped has none; each step of a path is a reference of the one before it."""
    objects = lldb.json(core, [f"clr objects --json --top 40 {glob}" for glob in ("HeapProgram.Order", "HeapProgram.Kept", "HeapProgram.Dead", "Collectible.*")])
    kept = [o["address"] for some in (objects[0], objects[1], objects[3]) for o in some]
    dead = [o["address"] for o in objects[2]]
    answers = lldb.json(core, [f"clr root --json {a}" for a in kept + dead[:10]] + [f"clr root --json --paths 3 {kept[0]}"], 600)
    schema = Schema(SCHEMA)
    steps, texts = 0, []
    for address, answer in zip(kept + dead[:10] + kept[:1], answers):
        assert not schema.problems("clr root", answer), schema.problems("clr root", answer)[:3]
        assert bool(answer["paths"]) == (address in kept), f"{address}: {answer['paths'][:1]}"
        for path in answer["paths"]:
            assert path["root"]["object"] == path["steps"][0]["object"] and path["steps"][-1]["object"] == address, path
            texts += [(a["object"], b["object"], b["field"]) for a, b in zip(path["steps"], path["steps"][1:])]
    chosen = sorted(set(texts), key=str)[:150]
    for (a, b, field), refs in zip(chosen, lldb.json(core, [f"clr refs --out --json {a}" for a, _, _ in chosen], 600)):
        steps += 1
        found = [r["field"] for r in refs["out"] if r["to"] == b]
        assert field in found or (field or "").startswith("("), f"{a} has {found} to {b}, the path says {field}"
    for command in ("clr strings --duplicates --json", "clr strings --json --match customer*", "clr statics --json HeapProgram.*", "clr statics --json HeapProgram.Statics", "clr heap --verify --json",
                    "clr heap --stat --live --json", "clr heap --stat --dead --json", "clr heap --stat --json"):
        (answer,) = lldb.json(core, [command], 600)
        name = {"--verify": "clr heap --verify", "--stat": "clr heap --stat"}.get(command.split()[2], " ".join(command.split()[:2]))
        assert not schema.problems(name, answer), schema.problems(name, answer)[:3]
        answers.append(answer)
    duplicates, customers, statics, of_type, verified, live, dead_counts, all_counts = answers[-8:]
    # "twice 0" to "twice 99", each twice; five customers of ten orders each.
    twice = [s for s in duplicates if s["text"].startswith("twice ")]
    assert len(twice) == 100 and all(s["count"] == 2 for s in twice), twice[:3]
    assert sorted(s["count"] for s in duplicates if s["text"].startswith("customer ")) == [10] * 5
    # The rest is the literal of which they are made.
    assert sum(len(s["text"]) == len("customer 0") for s in customers) == 50, len(customers)
    held = {s["name"]: s["type"] for s in statics}
    assert held.get("HeapProgram.Statics.Object") == "HeapProgram.Derived" and "HeapProgram.Statics.Orders" in held, held
    assert of_type and of_type == [s for s in statics if s["name"].rpartition(".")[0] == "HeapProgram.Statics"], of_type
    assert verified["sound"], {k: v for k, v in verified.items() if v}
    for name in ("objects", "bytes"):
        assert live[name] + dead_counts[name] == all_counts[name], f"{live[name]} live and {dead_counts[name]} dead of {all_counts[name]} {name}"
    counts = {t["name"]: t["count"] for t in live["types"]}
    assert counts.get("HeapProgram.WithFinalizer") == 40 and counts.get("HeapProgram.Order") == 70, counts
    assert counts.get("HeapProgram.Dead", 0) <= 1, counts
    (root,) = [p["root"] for a in answers[:len(kept)] for p in a["paths"] if p["root"].get("name") == "HeapProgram.Statics.Orders"][:1]
    assert root["kind"] == "static", root
    return f"{len(kept)} objects with roots, {len(dead[:10])} without, {steps} steps; {live['objects']} objects live"
