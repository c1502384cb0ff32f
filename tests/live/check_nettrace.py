"""The method store of a trace (`nettrace_tool`) against the process itself: the stacks that it printed (System.Diagnostics.StackTrace, method
handles, native offsets), and the runtime's perf map of the same run. programs/traced makes both; code of its collectible assemblies and dynamic
methods is freed, and addresses are used again, so that a stack can only be named by its time."""
import json
import pathlib
import re
import subprocess

import names
import perfmap
from processes import Running, settings
from results import Examples

LOADER, JIT, NGEN = 0x8, 0x10, 0x20
CONFIG = f"Microsoft-Windows-DotNETRuntime:0x{LOADER | JIT | NGEN:x}:5,traced:0xffffffffffffffff:5"
MODES = {"default": {}, "jit": {"ReadyToRun": 0}}
ROUNDS = 60


def ask(tool, *words):
    done = subprocess.run([str(tool), *map(str, words)], capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise AssertionError(f"nettrace_tool {words[0]}: {done.stderr.strip()[:300]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def run_traced(program, folder, knobs):
    """Runs the program to its end, with a trace, a report and a perf map in `folder`."""
    trace, report = folder / "traced.nettrace", folder / "report"
    report.unlink(missing_ok=True)
    env = settings(EnableEventPipe=1, EventPipeOutputPath=trace, EventPipeOutputStreaming=1, EventPipeConfig=CONFIG, PerfMapEnabled=3,
                   PerfMapJitDumpPath=folder, **knobs)
    with Running([program, report, str(ROUNDS)], folder, env) as running:
        code = running.wait_end(240)
        assert code == 0 and b" ALIVE 0" in running.output, f"traced ended with {code}: {running.output[-300:]}"
        return trace, report, folder / f"perf-{running.pid}.map"


def plain(text):
    """A method name of an event or of reflection without generic arguments and parameters: `Ns.Outer`1+Inner.Run`."""
    depth, out = 0, ""
    for c in text:
        if c == "(" and depth == 0:
            break
        depth += (c == "[") - (c == "]")
        if depth == 0 and c != "]":
            out += c
    return names.squash(out)


def of_report(frame):
    """The name that an event has for a reported frame: constructors are called like their types, dynamic methods belong to dynamicClass."""
    name = frame["method"]
    if "token" not in frame:
        return "dynamicClass." + name
    return plain(name[: -len("..ctor")] if name.endswith("..ctor") else name)


def same_method(frame, expected):
    """Of a generic method the report has the MethodDesc of the definition, the trace that of the instance."""
    if expected.get("generic"):
        return plain(frame["name"]) == of_report(expected)
    return frame.get("method_desc") == expected["method_desc"]


def check_stack(where, recorded, reported, wrong):
    """Every reported frame, from the outermost inwards, is the next recorded one: same MethodDesc, same offset, and its name. A jitted P/Invoke is
    reported twice, and recorded as the address in libcoreclr.so to which it returns: that no method store can name."""
    frames, extra = list(reversed(recorded["frames"])), 0
    at = 0
    natives = len({f["method_desc"] for f in reported["frames"] if f.get("pinvoke")})
    for expected in reversed(reported["frames"][1:]):   # the innermost is Point itself, which reports in one line and records in the next
        if expected.get("pinvoke"):
            continue
        while at < len(frames) and not same_method(frames[at], expected):
            extra += 1
            at += 1
        if at == len(frames):
            wrong.add("frame missing", f"{where}: {expected['method']} {expected['method_desc']}")
            return 0, 0
        frame = frames[at]
        at += 1
        if frame["offset"] != expected["native_offset"]:
            wrong.add("offset", f"{where}: {frame['offset']} for {expected['native_offset']} of {frame['name']}")
        if plain(frame["name"]) != of_report(expected):
            wrong.add("name", f"{where}: {frame['name']} for {expected['method']}")
    nameless = [f["ip"] for f in frames if f["name"].startswith("0x")]
    if len(nameless) > natives:
        wrong.add("frame without a name", f"{where}: {nameless}")
    return extra, sum(f["last"] != f["name"] for f in frames if f.get("reused"))


def check_stacks(tool, trace, report):
    reported = {int(r["situation"].split()[-1]): r for r in map(json.loads, pathlib.Path(report).read_text().splitlines())}
    recorded = {int.from_bytes(bytes(e["payload"][:4]), "little"): e for e in ask(tool, "stacks", trace, "traced") if e["event"] == "Point"}
    wrong, frames, skipped, reused = Examples(), 0, 0, 0
    if set(reported) != set(recorded):
        wrong.add("points", f"{len(recorded)} recorded for {len(reported)}")
    for number in sorted(set(reported) & set(recorded)):
        event, thread = recorded[number], reported[number]
        if event["fields"] != [["number", 9], ["text", 18]] or bytes(event["payload"][4:]).decode("utf-16-le") != "größer\0":
            wrong.add("payload", f"point {number}: {event['fields']} {event['payload']}")
        if event["thread"] != thread["thread"]:
            wrong.add("thread", f"point {number}: {event['thread']} for {thread['thread']}")
        extra, others = check_stack(f"point {number}", event, thread, wrong)
        frames += len(event["frames"])
        skipped += extra
        reused += others
    figures = f"{len(reported)} stacks, {frames} frames, all managed ones named, {reused} at addresses that had another method later, {skipped} that StackTrace does not show"
    if reused == 0:
        wrong.add("no address was used again", figures)
    return wrong.require_none(figures)


def check_perf_map(tool, trace, map_path):
    """Every body of the perf map is in the store at the same place with the same name."""
    lines, damaged = perfmap.read(map_path)
    bodies = {}
    for body in ask(tool, "methods", trace):
        bodies.setdefault((int(body["start"], 16), body["size"]), []).append(body)
    # Methods that are compiled while the process ends, behind the last event, are in the map only.
    last = max(i for i, line in enumerate(lines) if (line.start, line.size) in bodies)
    wrong, compared = Examples(), 0
    for line in lines[: last + 1]:
        here = bodies.get((line.start, line.size), [])
        owner = "dynamicClass" if line.method.dynamic else line.method.type
        name = owner if line.method.name == ".ctor" else f"{owner}.{line.method.name}"
        type_name, _ = names.parse_type(owner)
        want = names.squash(type_name if line.method.name == ".ctor" else f"{type_name}.{line.method.name}")
        if not here:
            wrong.add("body missing", f"0x{line.start:x} {line.size:x} {line.text}")
        elif not any(plain(body["name"]) == plain(name) or plain(body["name"]) == want for body in here):
            wrong.add("name", f"0x{line.start:x} {here[0]['name']} for {line.text}")
        else:
            compared += 1
    for group in bodies.values():
        for body in group:
            if body["name"].startswith("Round") and body["unloaded"] is None:
                wrong.add("collectible code that is still there", body["name"])
    unloaded = sum(b["unloaded"] is not None for group in bodies.values() for b in group)
    r2r = sum(not b["jitted"] for group in bodies.values() for b in group)
    return wrong.require_none(f"{compared} bodies of the perf map, {damaged} lines of it damaged, {len(lines) - last - 1} from after the trace; {unloaded} unloaded, {r2r} ReadyToRun bodies more")


def check_info(tool, trace, cut):
    """A whole trace is read whole; one that was cut says so, and keeps what came before."""
    info = ask(tool, "info", trace)[0]
    assert info["version"] == 4 and info["complete"] and info["rundown_complete"], info
    assert not info["malformed"] and not info["malformed_payloads"] and not info["dropped"] and not info["skipped_blocks"], info
    data = pathlib.Path(trace).read_bytes()
    before = 0
    for part in range(1, 10):
        pathlib.Path(cut).write_bytes(data[: len(data) * part // 10])
        some = ask(tool, "info", cut)[0]
        assert not some["complete"] and not some["rundown_complete"] and not some["malformed"], (part, some)
        assert before <= some["method_events"] <= info["method_events"], (part, some)
        before = some["method_events"]
    return f"{info['events']} events, {info['method_events']} of methods, {info['module_events']} of modules; cut at 90 %: {before} of methods"


def check_all(c, program, tool, folder, mode):
    """The checks of one run; c.check(name, function, arguments...) runs and counts each."""
    trace, report, map_path = run_traced(program, folder, MODES[mode])
    c.check(f"nettrace/{mode}/info", check_info, tool, trace, folder / "cut.nettrace")
    c.check(f"nettrace/{mode}/stacks", check_stacks, tool, trace, report)
    c.check(f"nettrace/{mode}/perfmap", check_perf_map, tool, trace, map_path)
