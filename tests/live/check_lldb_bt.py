"""LLDB's own stacks (`bt all`), after `plugin load` and nothing else, against clrbt of the same stop: the same managed frames, with
instruction pointer, CFA, name and line, and the native frames below them whole."""
from processes import Unavailable
from results import Examples

# Modules that the plugin publishes beside those of assemblies hold stubs, which clrbt shows as native frames without a module or not at all.
ASSEMBLIES = (".dll", ".exe")
SELDOM = ("in an InlinedCallFrame's call", "between statements", "cut")


def check(stop, lines=True, start=True):
    """`lines`: the program's PDB can be had. `start`: LLDB is asked to walk to where the threads began."""
    ours, theirs = stop.answers()
    if theirs is None:
        raise Unavailable("there is no LLDB to compare with")
    return compare(ours, theirs, lines, start)


def compare(ours, theirs, lines=True, start=True):
    wrong, figures = Examples(), dict.fromkeys(("managed", "named lines", "CFAs", "native", *SELDOM), 0)
    by_id = {t["os_id"]: t for t in theirs["threads"]}
    with_managed = 0
    for thread in ours["threads"]:
        frames = [f for f in thread["frames"] if f["kind"] != "runtime" for _ in range(f.get("repeat", 1))]
        if not any(f["kind"] == "managed" for f in frames):
            continue
        with_managed += 1
        if thread["os_id"] not in by_id:
            wrong.add("thread missing", str(thread["os_id"]))
            continue
        check_thread(thread, frames, by_id[thread["os_id"]], wrong, figures, lines, start)
    assert figures["managed"] or wrong.counts, "no managed frame was compared"
    assert not lines or figures["named lines"] or wrong.counts, "no line was compared"
    text = ", ".join(f"{n} {what}" for what, n in figures.items() if n or what not in SELDOM)
    return wrong.require_none(f"{text} in {with_managed} threads")


def check_thread(thread, frames, theirs, wrong, figures, lines, start):
    where = f"thread {thread['os_id']}"
    managed = [(i, f) for i, f in enumerate(frames) if f["kind"] == "managed"]
    addresses = {int(f["ip"], 16) for _, f in managed}
    shown = [f for f in theirs["frames"] if (f["module"] or "").endswith(ASSEMBLIES) or f["pc"] in addresses]
    figures["cut"] += theirs["cut"]
    for number, (index, f) in enumerate(managed):
        what = f"{where} frame {number} {f['text']}"
        if number >= len(shown):
            if not theirs["cut"]:
                last = theirs["frames"][-1] if theirs["frames"] else None
                wrong.add("managed frames are missing", f"{what}: LLDB's stack ends with " + (f"{last['pc']:#x} {last['module']}`{last['function']}" if last else "nothing"))
            return
        their = shown[number]
        got = f"{their['pc']:#x} {their['module']}`{their['function']}"
        ip = int(f["ip"], 16)
        if calls_out(frames, index) and ip < their["pc"] <= ip + 128:
            figures["in an InlinedCallFrame's call"] += 1
        elif their["pc"] != ip:
            wrong.add("instruction pointer", f"{what}: {got}")
            return
        figures["managed"] += 1
        same_place = f.get("repeat", 1) == 1   # of repeated frames only the first one's stack pointer is known
        if same_place and f.get("sp") and their["sp"] != int(f["sp"], 16):
            wrong.add("stack pointer", f"{what}: {their['sp']:#x} for {f['sp']}")
        cfa = cfa_of(frames, index)
        if cfa is not None:
            figures["CFAs"] += 1
            if their["cfa"] != cfa:
                wrong.add("CFA", f"{what}: {their['cfa']:#x} for {cfa:#x}")
        method = f.get("method")
        shown_name = f["text"].partition("`")[2]
        if "instantiation" in f:   # LLDB's name is that of the code, which several types share
            user = f["method"].get("user")
            shown_name = f"{user['full_name']} [{user['mark']}]" if user else f["method"]["full_name"]
        if method and not (their["function"] and shown_name.startswith(their["function"]) and shown_name[len(their["function"]):][:1] in ("", " ")):
            wrong.add("name", f"{what}: {their['function']}")
        if method and method.get("module") and their["module"] != method["module"]:
            wrong.add("module", f"{what}: {their['module']} for {method['module']}")
        source = f.get("source") or {}
        if lines and source.get("line"):
            figures["named lines"] += 1
            # Code that a compiler put between statements has no line in LLDB, so that it is stepped through; stack traces print the line before it.
            if index == 0 and their.get("line") == 0:
                figures["between statements"] += 1
            elif (their.get("file"), their.get("line")) != (source["file"].replace("\\", "/"), source["line"]):
                wrong.add("line", f"{what}: {their.get('file')}:{their.get('line')} for {source['file']}:{source['line']}")
        elif their.get("line") and "line" not in source and lines:
            wrong.add("a line that clrbt does not know", f"{what}: {their['file']}:{their['line']}")
    if len(shown) > len(managed):
        extra = shown[len(managed)]
        wrong.add("managed frames too many", f"{where}: {extra['pc']:#x} {extra['module']}`{extra['function']}")
    check_native_below(where, thread, frames, managed, theirs, wrong, figures, start)


def calls_out(frames, index):
    """ReadyToRun code in a P/Invoke: clrbt shows the address that its InlinedCallFrame holds, as the runtime does; the processor returns to a
    place some instructions further on, which LLDB shows."""
    return index > 0 and frames[index - 1]["kind"] == "native" and frames[index].get("code", {}).get("kind") == "r2r"


def cfa_of(frames, index):
    """The CFA of a frame on x64 is its caller's stack pointer, when the caller was found by unwinding it."""
    if index + 1 >= len(frames) or frames[index].get("repeat", 1) != 1:
        return None
    below = frames[index + 1]
    if below.get("found_by") not in ("unwind_info", "cfi", "frame_pointer") or not below.get("sp"):
        return None
    return int(below["sp"], 16)


def check_native_below(where, thread, frames, managed, theirs, wrong, figures, start):
    """Every native frame of clrbt's below the first managed one is on LLDB's stack, in its order."""
    if theirs["cut"] or not start:
        return
    at = 0
    shown = theirs["frames"]
    for f in frames[managed[0][0] + 1:]:
        if f["kind"] != "native":
            continue
        place = int(f["ip"], 16), int(f["sp"], 16)
        found = next((i for i in range(at, len(shown)) if (shown[i]["pc"], shown[i]["sp"]) == place), None)
        if found is None:
            last = shown[-1]
            wrong.add("a native frame is missing", f"{where}: {f['text']}; LLDB's stack of {len(shown)} frames ends with {last['pc']:#x} {last['module']}`{last['function']}")
            return
        figures["native"] += 1
        at = found + 1
