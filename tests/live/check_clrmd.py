"""Against ClrMD with the runtime's own DAC: every body of the code heaps, and every thread's managed frames.
Where ClrMD is no truth (it finds nothing in cores without file-backed pages, and repeats a waiting thread's InlinedCallFrame) it is not asked."""
import json
import subprocess

import processes
from processes import HERE, Unavailable
from results import Examples


class Oracle:
    def __init__(self, work):
        import os
        env = dict(os.environ, LIVE_ARTIFACTS=str(work / "artifacts"), DOTNET_NOLOGO="1")
        done = subprocess.run([processes.dotnet(), "build", str(HERE / "oracle"), "-c", "Release", "-v", "q", "-nologo"], env=env, capture_output=True, text=True, timeout=600)
        if done.returncode:
            raise Unavailable("the oracle does not build (is Microsoft.Diagnostics.Runtime 4.1.745802 to be had?): " + done.stdout.strip()[-200:])
        self.program = work / "artifacts" / "bin" / "oracle" / "release" / "oracle"

    def ask(self, what, target, *arguments):
        option = ["--pid", str(target.pid)] if target.pid else ["--core", str(target.core)]
        done = subprocess.run([self.program, what, *option, *arguments], capture_output=True, text=True, timeout=1800)
        if done.returncode:   # the DAC dies on some cores: that is no verdict on ours
            raise Unavailable(f"ClrMD failed on {target}: {done.stderr.strip()[:200]}")
        return [json.loads(line) for line in done.stdout.splitlines()]


def check_bodies(oracle, lldb, target, theirs=None):
    theirs = theirs if theirs is not None else oracle.ask("bodies", target)
    (rows,) = lldb.json(target, ["clr methods --json"], 600)
    ours = {int(r["code"]["start"], 16): r for r in rows if r["code"]["kind"] == "jitted"}
    wrong = Examples()
    for body in theirs:
        start = int(body["start"], 16)
        row = ours.pop(start, None)
        what = f"{body['start']} {body['name']}"
        if row is None:
            wrong.add("body missing", what)
            continue
        if row["method"]["method_desc"] != body["method_desc"]:
            wrong.add("MethodDesc", f"{row['method']['method_desc']} for {body['method_desc']}: {what}")
        regions = {r["part"]: (int(r["start"], 16), r["size"]) for r in row["code"]["regions"]}
        wanted = {"hot": (start, body["hot_size"])}
        if "cold_size" in body:
            wanted["cold"] = (int(body["cold_start"], 16), body["cold_size"])
        if regions != wanted:
            wrong.add("regions", f"{regions} for {wanted}: {what}")
        if body["name"] and "sos_name" in row["method"] and row["method"]["sos_name"].replace(" ", "") != body["name"].replace(" ", ""):
            wrong.add("SOS name", f"{row['method']['sos_name']} for {what}")
    for row in ours.values():
        wrong.add("body that ClrMD does not know", f"{row['code']['start']} {row['method']['full_name']}")
    return wrong.require_none(f"{len(theirs)} bodies")


def check_stacks(oracle, lldb, target):
    theirs = {t["os_id"]: t for t in oracle.ask("stacks", target)}
    (stack,) = lldb.json(target, ["clrbt --json --runtime-frames all"], 300)
    wrong, frames, from_frame, explicit, lost = Examples(), 0, 0, 0, 0
    for os_id, thread in theirs.items():
        mine = next((t for t in stack["threads"] if t["os_id"] == os_id), None)
        if mine is None:
            wrong.add("thread missing", str(os_id))
            continue
        if any(f["kind"] == "managed" and int(f["ip"], 16) == 0 for f in thread["frames"]):
            lost += 1   # a call without a Frame (SuppressGCTransition): ClrMD has no unwinder for the native code and shows a frame of nothing
            continue
        theirs_explicit = runtime_frames(thread["frames"])
        explicit += len(theirs_explicit)
        if runtime_frames(mine["frames"]) != theirs_explicit:
            wrong.add("runtime Frames", f"thread {os_id}: {runtime_frames(mine['frames'])} for {theirs_explicit}")
        expected = [f for f in thread["frames"] if f["kind"] == "managed"]
        actual = []
        for f in mine["frames"]:
            if f["kind"] == "managed":
                actual += [f] * f.get("repeat", 1)
        frames += len(expected)
        for number, e in enumerate(expected):
            what = f"thread {os_id} frame {number} {e.get('name')}"
            if number >= len(actual):
                wrong.add("frames missing", what)
                break
            a = actual[number]
            if a["ip"] != e["ip"] and number == 0 and waits_in_native(thread["frames"]) and a["sp"] == e["sp"] and a["method"]["method_desc"] == e.get("method_desc"):
                from_frame += 1   # ClrMD shows the address that the InlinedCallFrame holds, ours is where the native code returns to
            elif a["ip"] != e["ip"]:
                wrong.add("instruction pointer", f"{a['ip']} {a.get('text')} for {e['ip']}: {what}")
                break
            if a.get("sp") is not None and a["sp"] != e["sp"]:
                wrong.add("stack pointer", f"{a['sp']} for {e['sp']}: {what}")
            if a["method"]["method_desc"] != e.get("method_desc"):
                wrong.add("MethodDesc", f"{a['method']['method_desc']} for {e.get('method_desc')}: {what}")
        else:
            if len(actual) > len(expected):
                wrong.add("frames too many", f"thread {os_id}: {len(actual)} for {len(expected)}, first {actual[len(expected)].get('text')}")
    return wrong.require_none(f"{frames} managed and {explicit} runtime frames of {len(theirs)} threads ({from_frame} stand in an InlinedCallFrame's call)" + (f", {lost} threads that ClrMD does not walk" if lost else ""))


def runtime_frames(frames):
    """Kind and address of each explicit Frame, once: ClrMD shows one that is active twice."""
    listed = []
    for f in frames:
        if f["kind"] == "runtime" and f.get("frame_type") and (f["frame_type"], f["sp"]) not in listed[-1:]:
            listed.append((f["frame_type"], f["sp"]))
    return listed


def waits_in_native(frames):
    return bool(frames) and frames[0]["kind"] == "runtime" and frames[0].get("frame_type") == "InlinedCallFrame"
