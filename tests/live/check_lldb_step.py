"""A thread single-stepped with LLDB's `thread step-inst`: at every instruction LLDB's own frame 1, its CFA and its saved registers are those
that clrbt finds (which check_steps.py compares with what the program can do)."""
import json
import pathlib

from results import Examples

HERE = pathlib.Path(__file__).resolve().parent


def parsed(lldb, text):
    """Lines of JSON among what a command printed."""
    found = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    assert found, f"nothing was driven: {text[:500]!r} {lldb.errors[-500:]!r}"
    return found


def drive(lldb, target, command, seconds=300):
    commands = [f'command script import "{HERE / "lldb_drive.py"}"', command]
    return parsed(lldb, lldb.run(target, commands, seconds)[-1])


def check(lldb, target, os_id, steps, function=""):
    stops = drive(lldb, target, f"drive-instructions {steps} {os_id} {function}", seconds=60 + steps)
    wrong, registers, managed, places, same, stubs = Examples(), 0, 0, set(), 0, 0
    for number, stop in enumerate(stops):
        what = f"stop {number} at {stop['frames'][0]['pc']:#x} {stop['frames'][0]['function']}"
        if stop["state"] != "stopped":
            wrong.add("the process is lost", f"{what}: {stop['state']} {stop['stop']}")
            break
        try:
            (thread,) = json.loads(stop["clrbt"])["threads"]
        except ValueError:
            wrong.add("clrbt has no stack", f"{what}: {stop['clrbt'][:200]}")
            continue
        ours = [f for f in thread["frames"] if f["kind"] != "runtime" for _ in range(f.get("repeat", 1))]
        if len(ours) < 3:
            wrong.add("clrbt has fewer than three frames", what)
            continue
        places.add(ours[0]["ip"])
        managed += ours[0]["kind"] == "managed"
        stubs += (stop["frames"][0]["function"] or "").startswith("[")
        theirs = stop["frames"][1]
        what += f", called by {ours[1]['text']}"
        if theirs["pc"] != int(ours[1]["ip"], 16):
            wrong.add("frame 1", f"{what}: {theirs['pc']:#x} {theirs['function']}")
            continue
        if theirs["sp"] != int(ours[1]["sp"], 16):
            wrong.add("stack pointer of frame 1", f"{what}: {theirs['sp']:#x} for {ours[1]['sp']}")
        if theirs["cfa"] != int(ours[2]["sp"], 16):
            wrong.add("CFA of frame 1", f"{what}: {theirs['cfa']:#x} for {ours[2]['sp']}")
        same += 1
        for name, value in ours[1].get("registers", {}).items():
            if name not in theirs["registers"]:
                continue
            registers += 1
            if theirs["registers"][name] != int(value, 16):
                got = theirs["registers"][name]
                wrong.add(f"{name} of frame 1", f"{what}: {'not known' if got is None else hex(got)} for {value}")
    assert len(stops) == steps, f"{len(stops)} stops of {steps}; " + (stops[-1]["stop"] if stops else "")
    assert managed > steps / 4 and registers, f"only {managed} of {steps} stops were in managed code, {registers} registers"
    return wrong.require_none(f"{same} of {steps} frames, {registers} registers, {managed} stops in managed code, {stubs} in stubs, {len(places)} instructions; {sum(s['seconds'] for s in stops) / steps * 1000:.0f} ms a step")
