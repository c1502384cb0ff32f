"""Checks for every target, whatever its kind: `clr info` tells what it is, every managed frame has a name, and the same stop
answers alike from the process and from each core of it."""
import contextlib
import re

from plugin import Target
from results import Examples


def check_info(lldb, target, version, cpu="x64"):
    (info,) = lldb.json(target, ["clr info --json"])
    runtime = info["runtime"]
    assert info["schema"] == 1, f"schema {info['schema']}"
    assert runtime["name"] == "CoreCLR" and runtime["os"] == "linux" and runtime["cpu"] == cpu, f"runtime {runtime}"
    if version and runtime.get("version"):
        assert runtime["version"].startswith(version), f"version {runtime['version']} for {version}"
    assert info.get("jitted_methods"), "no jitted methods counted"
    assert any(m["name"] == "System.Private.CoreLib.dll" for m in info["modules"]), "CoreLib is not among the modules"
    return f"{runtime.get('version')}, {info['jitted_methods']} jitted methods, {len(info['modules'])} modules"


def check_refused(lldb, target, version, addresses):
    """A runtime that cannot be read is refused by its version: no answer names a method, and the native frames are there all the same."""
    info, stack = lldb.json(target, ["clr info --json", "clrbt --json all"])
    assert info["runtime"]["name"] is None, f"runtime {info['runtime']}"
    assert any(f"version {version}" in p and "are supported" in p for p in info["problems"]), f"problems {info['problems']}"
    results = {(a["result"], a.get("reason")) for a in lldb.ip2md(target, addresses).values()}
    assert results == {("miss", "no_runtime")}, f"answers {results}"
    kinds = {f["kind"] for t in stack["threads"] for f in t["frames"]}
    assert kinds == {"native"}, f"frames {kinds}"
    return info["problems"][0]


def check_native_aot(lldb, target, version):
    """A program that was compiled ahead of time is named as what it is, for every address, and its native frames are there."""
    info, stack = lldb.json(target, ["clr info --json", "clrbt --json all"])
    assert info["runtime"]["name"] == "NativeAOT", f"runtime {info['runtime']}"
    # Before .NET 11 it publishes nothing that tells its version.
    assert info["runtime"]["version"] in (None, version), f"runtime {info['runtime']}"
    assert "is a NativeAOT program" in info["absent"] and "LLDB's own commands" in info["absent"], info["absent"]
    frames = [f for t in stack["threads"] for f in t["frames"]]
    assert {f["kind"] for f in frames} == {"native"}, f"kinds {sorted({f['kind'] for f in frames})}"
    assert any("Deep" in (f.get("symbol") or f["text"]) for f in frames), "its method is not among the native frames"
    results = {(a["result"], a.get("reason")) for a in lldb.ip2md(target, sorted({int(f["ip"], 16) for f in frames})).values()}
    assert results == {("miss", "nativeaot")}, f"answers {results}"
    (text,) = lldb.run(target, ["clr analyze"])
    assert "is a NativeAOT program" in text, text[:300]
    return info["absent"][:80]


def managed_addresses(stack):
    return {int(f["ip"], 16) for t in stack["threads"] for f in t["frames"] if f["kind"] == "managed"}


def early_end(thread):
    """How a walk failed: with the module, when it stands in native code that nothing describes."""
    last = [f for f in thread["frames"] if f["kind"] != "runtime"][-1:]
    native = last and last[0]["kind"] == "native" and last[0].get("module") and thread["end"].startswith("no unwind information for")
    return "the walk ended early" + (f" in {last[0]['module']}, which has no unwind information" if native else "")


def check_stacks_named(lldb, target):
    """Every thread's walk reaches the bottom, and every managed instruction pointer resolves by itself to the method of its frame."""
    (stack,) = lldb.json(target, ["clrbt --json all"])
    wrong, named = Examples(), 0
    frames = [(t, f) for t in stack["threads"] for f in t["frames"] if f["kind"] == "managed"]
    assert frames, "no managed frame on any stack"
    answers = lldb.ip2md(target, sorted({int(f["ip"], 16) for _, f in frames}))
    for t in stack["threads"]:
        if t["end"] != "bottom":
            wrong.add(early_end(t), f"thread {t['os_id']}: {t['end']}")
    for t, f in frames:
        answer = answers[int(f["ip"], 16)]
        if answer["result"] != "method":
            wrong.add(f"{answer['result']} {answer.get('reason')}", f"{f['ip']} {f.get('text')}: {answer.get('text')}")
        elif not f.get("method") or answer["method"]["method_desc"] != f["method"]["method_desc"]:
            wrong.add("frame and address differ", f"{f['ip']} {f.get('text')}")
        elif answer["method"]["name_from"] == "token":
            wrong.add("name degraded to a token", f"{f['ip']} {answer['method']['full_name']}")
        else:
            named += 1
    return wrong.require_none(f"{named} managed frames named, {len(stack['threads'])} threads")


def essence(answer):
    """What must not depend on where the bytes came from."""
    result = {k: answer.get(k) for k in ("result", "reason")}
    if answer["result"] == "method":
        m, c = answer["method"], answer["code"]
        result.update(full_name=m["full_name"], method_desc=m["method_desc"], token=m.get("token"), module=m["module"], start=c["start"], tier=c.get("tier"),
                      regions=c.get("regions"), offset=c.get("offset"))
    return result


def check_same(lldb, first, second, addresses):
    """Two views of one stop answer alike; a fault of the second is allowed only where it names missing memory."""
    a, b = lldb.ip2md(first, addresses), lldb.ip2md(second, addresses)
    wrong, missing = Examples(), 0
    for address in addresses:
        if b[address]["result"] == "fault" and b[address]["reason"] == "memory_missing" and a[address]["result"] != "fault":
            missing += 1
        elif essence(a[address]) != essence(b[address]):
            wrong.add("answers differ", f"{address:#x}: {essence(a[address])} and {essence(b[address])}")
    return wrong, missing


EVERY_VARIABLE = ('script _ = [print("variable", f.name, v.name, v.GetTypeName(), v.summary or v.value or v.error) for t in lldb.process for f in t '
                  'if (f.module.file.basename or "").endswith(".dll") for v in f.GetVariables(True, True, False, True)]')


@contextlib.contextmanager
def without(folder):
    """While the program's folder is away, as on another machine."""
    away = folder.with_name(folder.name + ".away")
    folder.rename(away)
    try:
        yield
    finally:
        away.rename(folder)


def check_saved_values(lldb, core, saved, program_folder):
    """`clr savecore --values` of a core: `bt all` shows the same lines and values of arguments as in the whole core, and `frame variable` the same locals,
    while the program and its PDBs are away."""
    def shown(target):
        stacks, values = lldb.run(target, ["bt all", EVERY_VARIABLE], 120)
        return re.findall(r"\.dll`(.*)", stacks), re.findall(r"^variable (.*)", values, re.M)
    whole, variables = shown(core)
    with without(program_folder):
        small, again = shown(saved)
    assert small == whole, next((f"{b} for {a}" for a, b in zip(whole, small) if a != b), f"{len(small)} frames for {len(whole)}")
    texts = sum(1 for line in whole if re.search(r'=("|\w[\w.`<>]*\[|0x\w+ \{|Count = |\{)', line))
    assert texts, "no frame shows the text of an object, so the objects are not tested"
    lines = sum(1 for line in whole if re.search(r" at \w+\.cs:\d+", line))
    assert lines, "no frame has a line, so the PDBs are not tested"
    assert variables and again == variables, next((f"{b} for {a}" for a, b in zip(variables, again) if a != b), f"{len(again)} variables for {len(variables)}")
    return f"{len(whole)} frames, {texts} with objects, {lines} with lines, {len(variables)} variables, {saved.core.stat().st_size} bytes for {core.core.stat().st_size}"


def check_without_files(lldb, core, program_folder):
    """A core without the program's files, in which the framework's ReadyToRun code is missing: the managed frames stand where they stood, each with a name,
    a token or an assembly; what cannot be known is told; and LLDB's `bt all` has them too. A few may be missing, also told: short methods set no frame pointer."""
    def code(thread):
        return [int(f["ip"], 16) for f in thread["frames"] if f["kind"] == "managed" or re.search(r"\.dll [+]", f["text"])]
    (whole,) = lldb.json(core, ["clrbt --json all"])
    with without(program_folder):
        (bare,) = lldb.json(core, ["clrbt --json all"])
        (text,) = lldb.run(core, ["bt all"], 120)
    def same(a, b):
        return a == b or 0 < b - a < 64   # the call of an InlinedCallFrame, and the place that it records: to tell that these are one call takes the code
    threads, wrong, frames, unread, lost = {t["os_id"]: t for t in bare["threads"]}, Examples(), 0, 0, 0
    shown = {int(ip, 16) for ip in re.findall(r"frame #\d+: (0x[0-9a-f]+)", text)}
    for thread in whole["threads"]:
        expected, there = code(thread), code(threads[thread["os_id"]])
        frames += len(expected)
        missing = [f["text"] for f in threads[thread["os_id"]]["frames"] if f.get("fault")]
        unread += len(missing)
        rest = iter(expected)
        lost += len(expected) - len(there)
        if not all(any(same(a, b) for a in rest) for b in there):
            wrong.add("frames", f"thread {thread['os_id']}: {[hex(ip) for ip in there]} for {[hex(ip) for ip in expected]}")
        if missing and not any(note.startswith("frames may be missing behind") for note in threads[thread["os_id"]].get("notes", [])):
            wrong.add("gap not told", f"thread {thread['os_id']}: {missing[0]}")
        if lacks := [hex(ip) for ip in there if ip not in shown]:
            wrong.add("not in bt", f"thread {thread['os_id']}: {lacks[:3]}")
    wrong.require_none(f"{frames} managed frames")
    assert unread, "no code is missing, so nothing was tested"
    assert lost <= frames // 20, f"{lost} of {frames} frames are missing"
    return f"{frames} managed frames, {unread} of them in code that the core lacks, {lost} missing"


def check_minimal_core(lldb, target, core, program_folder):
    """`clr savecore` of target: opened while the program's folder is away, the core says the same as its source."""
    first = ["clrbt --json all", "clr threads --json"]
    # At one stop: between two a process ends the workers of its pool that have had nothing to do for a while.
    saved, *texts = lldb.run(target, [f'clr savecore "{core}"', *first])
    assert saved.startswith(str(core)), saved + lldb.errors
    source = [lldb.parse(command, text, target) for command, text in zip(first, texts)]
    with without(program_folder):
        minimal = Target(core=core)
        copy = lldb.json(minimal, first)
        ips = sorted({int(f["ip"], 16) for t in source[0]["threads"] for f in t["frames"] if f["kind"] == "managed"})
        answers = lldb.ip2md(minimal, ips)
    wrong, frames = Examples(), 0
    threads = {t["os_id"]: t for t in copy[0]["threads"]}
    for thread in source[0]["threads"]:
        other = threads.get(thread["os_id"])
        if other is None:
            wrong.add("thread missing", f"{thread['os_id']}")
            continue
        if thread["end"] != other["end"]:
            wrong.add("end", f"thread {thread['os_id']}: {other['end']} for {thread['end']}")
        if len(thread["frames"]) != len(other["frames"]):
            wrong.add("number of frames", f"thread {thread['os_id']}: {len(other['frames'])} for {len(thread['frames'])}")
        for a, b in zip(thread["frames"], other["frames"]):
            frames += 1
            if a != b:
                wrong.add("frame", f"thread {thread['os_id']}: {b['text']} ({b['found_by']}) for {a['text']} ({a['found_by']})")
    rows = {t["address"]: t for t in copy[1]}  # dead threads share the os_id 0
    for thread in source[1]:
        same = {k: v for k, v in thread.items() if k not in ("name", "index")}
        other = {k: v for k, v in rows.get(thread["address"], {}).items() if k not in ("name", "index")}
        if same != other:
            wrong.add("clr threads", f"{other} for {same}")
    full = lldb.ip2md(target, ips)
    for ip in ips:
        if answers[ip] != full[ip]:
            wrong.add("clrip2md", f"{ip:#x}: {answers[ip]} for {full[ip]}")
    return wrong.require_none(f"{frames} frames, {len(ips)} managed addresses, {core.stat().st_size // 1024} KB")


def check_fail_fast(lldb, target, message):
    (text,) = lldb.run(target, ["clr analyze"])
    assert f'fail fast: "{message}"' in text.splitlines(), f"no message of FailFast: {text[:600]}"
    return message
