"""The IL maps of a core's methods against those of ClrMD and the runtime's own DAC, entry by entry.
ClrMD has the map of one body per method, and for a method of a generic type the maps of all instances in a row."""
import json
import subprocess
import tempfile

from processes import Unavailable
from results import Examples

PROLOG = -2


def ours_of(tool, core):
    done = subprocess.run([str(tool), "ilmap", str(core)], capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise AssertionError(f"core_tool ilmap: {done.stderr.strip()[:200]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def theirs_of(oracle, target, ours):
    with tempfile.NamedTemporaryFile("w", suffix=".methods") as methods:
        methods.writelines(f"{m}\n" for m in sorted({r["method_desc"] for r in ours} - {"0x0"}))
        methods.flush()
        return oracle.ask("ilmap", target, "--methods", methods.name)


def split(entries, starts):
    """The maps of single bodies: each begins with the prologue at the body's start."""
    maps = []
    for address, il in entries:
        if not maps or (il == PROLOG and address in starts):
            maps.append([])
        maps[-1].append([address, il])
    return maps


def compare(ours, theirs):
    wrong, bodies = Examples(), {}
    for row in ours:
        if "error" in row:
            wrong.add("map that cannot be read", f"{row['start']}: {row['error']}")
        elif row["map"]:
            bodies[int(row["start"], 16)] = row
    compared = {}
    for method in theirs:
        for map_ in split(method["map"], bodies):
            start = map_[0][0]
            row = bodies.get(start)
            if row is None:
                wrong.add("body that is not ours", f"{start:#x} of {method['method_desc']}")
            elif [[start + native, il] for native, il, _ in row["map"]] != map_:
                wrong.add("map", f"{row['start']} of {method['method_desc']}: {row['map']} for {[[a - start, il] for a, il in map_]}"[:1000])
            else:
                compared[start] = row
    kinds = {kind: [r for r in compared.values() if r["kind"] == kind] for kind in ("jitted", "r2r")}
    told = ", ".join(f"{len(rows)} {kind} methods with {sum(len(r['map']) for r in rows)} entries" for kind, rows in kinds.items() if rows)
    if not compared:
        raise AssertionError("nothing to compare")
    return wrong.require_none(f"{told} equal; {len(bodies)} maps read")


def check(oracle, tool, target):
    ours = ours_of(tool, target.core)
    return compare(ours, theirs_of(oracle, target, ours))
