"""Locks and waits: what programs/locks says of its own threads, and ClrMD's owners."""
import json
import sys

from plugin import ask_package
from processes import HERE
from results import Examples

sys.path.insert(0, str(HERE.parent / "python"))
from json_schema import Schema   # noqa: E402

SCHEMA = HERE.parent.parent / "python" / "docs" / "schema.json"
BUILDS = {"debug": ("Debug", {}), "release": ("Release", {}), "release-optimized": ("Release", {"TieredCompilation": 0, "ReadyToRun": 0})}


def told_by(running):
    """The rows of truth that the program printed."""
    return [json.loads(line) for line in running.output.decode().splitlines() if line.startswith("{")]


def ask(lldb, target, commands):
    answers = lldb.json(target, commands)
    schema = Schema(SCHEMA)
    wrong = [p for command, answer in zip(commands, answers) for p in schema.problems(command.split(" --json")[0], answer)]
    assert not wrong, wrong[:5]
    return answers


def check_waits(lldb, target, told):
    """Every known wait with its object, every known owner; no waiter that the program does not know of."""
    threads, locks = ask(lldb, target, ["clr threads --json", "clr locks --json"])
    of_thread = {t["os_id"]: t.get("waits_for") for t in threads}
    wrong, kinds = Examples(), set()
    known = {(r["object"], r["thread"]) for r in told if "object" in r}
    asked = {r["thread"] for r in told if r["row"] == "wait"}
    for row in told:
        what = f"{row['row']} {row['name']} {row['kind']}"
        kinds.add((row["row"], row["kind"], row.get("mode"), row.get("form")))
        if row["row"] == "wait":
            waits = of_thread.get(row["thread"])
            told_objects = ([] if waits is None else waits.get("objects", [waits.get("object")]))
            if "object" in row and row["kind"] != "class_init" and row["object"] not in told_objects:
                wrong.add("clr threads", f"{what}: {waits}")
            if waits is None:
                wrong.add("no wait", what)
            elif "object" not in row or row["kind"] == "join":
                check_plain(wrong, what, row, waits, locks)
            else:
                check_wait(wrong, what, row, waits, locks)
        else:
            found = [l for l in locks if l["object"] == row["object"] and l["kind"] == row["kind"]]
            if len(found) != 1:
                wrong.add("lock missing", f"{what}: {len(found)} rows")
            elif row["row"] == "read":
                if row["thread"] not in found[0]["readers"]:
                    wrong.add("reader missing", f"{what}: {found[0]['readers']}")
            else:
                owner = found[0]["owner"] or {}
                if owner.get("os_id") != row["thread"] or owner.get("managed_id") != row["managed"]:
                    wrong.add("owner", f"{what}: {owner}")
                if found[0].get("recursion") != row["recursion"] or found[0].get("form") != row.get("form", found[0].get("form")):
                    wrong.add("form", f"{what}: {found[0]}")
    for lock in locks:
        for waiter in lock["waiters"]:
            if waiter["os_id"] in asked and lock["kind"] != "class_init" and (lock["object"], waiter["os_id"]) not in known:
                wrong.add("invented", f"{lock['object']} {lock['type']} {waiter['os_id']}")
    probably = sum(not w["certain"] for l in locks for w in l["waiters"])
    return wrong.require_none(f"{len(told)} rows of truth of {len(kinds)} kinds; {probably} waiters are only probable")


def check_wait(wrong, what, row, waits, locks):
    found = [l for l in locks if l["object"] == row["object"] and l["kind"] == row["kind"]]
    if len(found) != 1:
        return wrong.add("lock missing", f"{what}: {waits}")
    lock = found[0]
    waiter = next((w for w in lock["waiters"] if w["os_id"] == row["thread"]), None)
    if waiter is None:
        return wrong.add("waiter missing", f"{what}: {waits}")
    if "mode" in row and waiter["mode"] != row["mode"]:
        wrong.add("mode", f"{what}: {waiter['mode']}")
    if waiter["managed_id"] != row["managed"]:
        wrong.add("managed id", f"{what}: {waiter['managed_id']}")
    owner = row.get("owner")
    if lock["owner_known"] != (owner != "?"):
        wrong.add("owner known", f"{what}: {lock['owner_known']}")
    if owner != "?" and (lock["owner"] or {}).get("os_id") != owner:
        wrong.add("owner", f"{what}: {lock['owner']}")
    return None


def check_plain(wrong, what, row, waits, locks):
    if waits["kind"] != row["kind"]:
        return wrong.add("kind", f"{what}: {waits}")
    if row["kind"] == "join" and waits.get("object") != row["object"]:
        wrong.add("object", f"{what}: {waits}")
    if row["kind"] == "class_init":
        lock = next((l for l in locks if l["kind"] == "class_init" and any(w["os_id"] == row["thread"] for w in l["waiters"])), None)
        if lock is None or (lock["owner"] or {}).get("os_id") != row["owner"] or lock["waiters"][0]["certain"]:
            wrong.add("class", f"{what}: {lock}")
    return None


def check_deadlock(lldb, target, told):
    """The planted deadlock with all of its members, and no other; `clr analyze` says so."""
    deadlocks, analysis = ask(lldb, target, ["clr deadlocks --json", "clr analyze --json"])
    rows = [r for r in told if r["row"] == "deadlock"]
    members = {r["thread"] for r in rows}
    assert len(deadlocks) == 1, f"{len(deadlocks)} deadlocks: {deadlocks}"
    found = {m["thread"] for m in deadlocks[0]["members"] if "thread" in m}
    assert members <= found, f"{found}, the program says {members}"
    assert deadlocks[0]["kind"] == rows[0]["kind"], f"{deadlocks[0]['kind']} for {rows[0]['kind']}"
    bystander = {r["thread"] for r in told if r["row"] == "bystander"}
    assert not bystander & found, "a bystander is among the members"
    # A signal may come from elsewhere, so that all workers wait for one is starvation.
    verdict = "deadlock" if deadlocks[0]["certain"] or deadlocks[0]["kind"] != "pool" else "starvation"
    assert analysis["verdict"] == verdict, analysis["verdict"]
    return f"{len(found)} threads, {rows[0]['kind']}"


def check_healthy(lldb, target, verdicts=("healthy", "waiting", "busy")):
    """No deadlock, and no worse verdict than these."""
    deadlocks, analysis = ask(lldb, target, ["clr deadlocks --json", "clr analyze --json"])
    assert deadlocks == [], deadlocks
    assert analysis["verdict"] in verdicts, f"{analysis['verdict']}: {analysis['evidence']}"
    return f"no deadlock, {analysis['verdict']}"


def check_python(lldb, core):
    """The Python package, over libclr.so, answers as the commands do."""
    script = ("import json, lldb_clr; r = lldb_clr.open_core(" + repr(str(core.core)) + "); "
              "print(json.dumps([[[l.object, l.kind, l.owner, [w.os_id for w in l.waiters]] for l in r.locks], len(r.deadlocks), "
              "{t.os_id: t.waiting_for.kind for t in r.threads if t.is_managed and t.waiting_for}]))")
    locks, deadlocks, waiting = ask_package(lldb.plugin, script)
    threads, commands = ask(lldb, core, ["clr threads --json", "clr locks --json"])   # threads first: by stacks alone, as waiting_for
    theirs = [[int(l["object"], 16), l["kind"], l["owner"]["os_id"] if l["owner"] else None, [w["os_id"] for w in l["waiters"]]] for l in commands]
    assert locks == theirs, [l for l in locks if l not in theirs][:3]
    kinds = {str(t["os_id"]): t["waits_for"]["kind"] for t in threads if "waits_for" in t}
    assert waiting == kinds, [i for i in kinds.items() if waiting.get(i[0]) != i[1]][:3]
    assert deadlocks == 0, deadlocks
    return f"{len(locks)} locks, {len(waiting)} waits"


def check_clrmd(oracle, lldb, core):
    """The owners of monitors, and how often they entered, where ClrMD knows them; and no owner that it does not know."""
    (locks,) = lldb.json(core, ["clr locks --json"])
    ours = {l["object"]: l for l in locks if l["kind"] == "monitor" and l["owner"]}
    wrong, count = Examples(), 0
    for row in oracle().ask("locks", core):
        if not row["managed"]:
            continue
        count += 1
        mine = ours.pop(row["object"], None)
        if mine is None:
            wrong.add("missing", str(row))
            continue
        if mine["owner"].get("managed_id") != row["managed"] or mine["form"] != row["form"]:
            wrong.add("owner", f"{row}: {mine['owner']} {mine['form']}")
        # ClrMD counts the further entries of a thin lock, and all of another.
        if mine["recursion"] != row["recursion"] + (row["form"] == "thin"):
            wrong.add("entries", f"{row}: {mine['recursion']}")
    for left in ours.values():
        if left["owner"].get("os_id"):
            wrong.add("an owner that ClrMD does not have", str(left))
    assert count, "ClrMD knows no lock"
    return wrong.require_none(f"{count} owners with their entries as ClrMD has them, and no other")
