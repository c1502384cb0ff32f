"""clrbt against the stack that the program reported of itself (System.Diagnostics.StackTrace), thread by thread."""
import json
import pathlib
import re

from results import Examples


def read_report(path):
    path = pathlib.Path(path)
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def managed(thread):
    """Managed frames from the top outwards, repeats written out, without what StackTrace never shows."""
    frames, above = [], None
    for f in thread["frames"]:
        f["calls_native"] = above is not None and above["kind"] != "managed"
        above = f
        if f["kind"] == "managed" and f.get("method", {}).get("kind") not in ("il_stub", "pinvoke"):
            frames += [f] * f.get("repeat", 1)
    return frames


def same_method(frame, expected):
    method = frame.get("method")
    if method is None:
        return False
    if "token" not in expected:   # a dynamic method
        return method["name"].split(".")[-1] == expected["method"].split(".")[-1]
    return method.get("token") == expected["token"] and method.get("module") == expected["module"]


def align(frames, expected):
    """Pairs of our frame and the expected one, or the text of the first difference. A funclet and its method are two
    frames of ours and often one of StackTrace's."""
    pairs, at, funclets = [], 0, set()
    for e in expected:
        while at < len(frames) and not same_method(frames[at], e) and frames[at].get("method", {}).get("method_desc") in funclets:
            at += 1
        if at < len(frames) and not same_method(frames[at], e):
            at = behind_dead_frames(frames, at, funclets)
        if at >= len(frames):
            return pairs, f"frame {len(pairs)} {e['method']} is missing: our stack ends"
        if not same_method(frames[at], e):
            return pairs, f"frame {len(pairs)}: {describe(frames[at])} for {e['method']}"
        if frames[at].get("code", {}).get("funclet"):
            funclets.add(frames[at]["method"]["method_desc"])
        pairs.append((frames[at], e))
        at += 1
    rest = [f for f in frames[at:] if f["method"]["method_desc"] not in funclets]
    if rest and not starts_program(rest):
        return pairs, f"{len(rest)} frames more than expected, first {describe(rest[0])}"
    return pairs, None


def behind_dead_frames(frames, at, funclets):
    """Between a catch or finally handler and its method stand the frames that the exception left: still on the stack, dead to StackTrace."""
    for i in range(at, len(frames)):
        f = frames[i]
        if f["method"].get("method_desc") in funclets and not f.get("code", {}).get("funclet"):
            return i + 1
    return at


def starts_program(rest):
    """Frames below Main: the runtime's own start-up in managed code, which StackTrace leaves out."""
    return all(f["method"].get("module") == "System.Private.CoreLib.dll" for f in rest)


def describe(frame):
    return frame.get("method", {}).get("full_name") or frame.get("text", "?")


def check_thread(stack, report, wrong, lines=True):
    thread = next((t for t in stack["threads"] if t["os_id"] == report["thread"]), None)
    where = f"{report['situation']} thread {report['thread']}"
    if thread is None:
        wrong.add("thread missing", where)
        return 0
    if thread["end"] != "bottom":
        wrong.add("the walk ended early", f"{where}: {thread['end']}")
    frames = managed(thread)
    expected = [e for e in report["frames"] if not e.get("pinvoke")]
    if not expected:
        return 0
    # The report begins at the caller of Report.Here or Report.Before; above it is what parked or crashed.
    starts = [i for i, f in enumerate(frames) if same_method(f, expected[0])]
    if report["ends"] == "parks":
        starts = [i + 1 for i, f in enumerate(frames) if f.get("method", {}).get("name") == "Situations.Report.Here"]
    best = ([], "its first frame is nowhere on our stack: " + ", ".join(describe(f) for f in frames[:8]))
    for start in starts:
        pairs, difference = align(frames[start:], expected)
        if difference is None:
            best = (pairs, None)
            break
        if len(pairs) >= len(best[0]):
            best = (pairs, difference)
    pairs, difference = best
    if difference:
        wrong.add("frames", f"{where}: {difference}")
    for number, (ours, e) in enumerate(pairs):
        what = f"{where} frame {number} {e['method']}"
        # Of a generic method the runtime names the definition, which has no code: its token and offset are compared, and ClrMD's MethodDesc.
        if "method_desc" in e and not e.get("generic") and ours["method"]["method_desc"] != e["method_desc"]:
            wrong.add("MethodDesc", f"{what}: {ours['method']['method_desc']} for {e['method_desc']}")
        check_user_method(ours["method"], e, what, wrong)
        # The frame that crashes stands elsewhere than where it reported.
        if number == 0 and report["ends"] == "crashes":
            continue
        offset = ours.get("code", {}).get("offset")
        if ours["calls_native"] and ours.get("code", {}).get("kind") == "r2r":
            # The runtime reports what its InlinedCallFrame holds, which in ReadyToRun code is where JIT_PInvokeBegin returned to;
            # the call itself is some instructions further on, and that is what the processor will return to.
            if not 0 <= offset - e["native_offset"] <= 128:
                wrong.add("native offset of a P/Invoke", f"{what}: {offset} for {e['native_offset']}")
            continue
        # Of a handler and its method StackTrace prints one frame, with the place in the method; of a filter its own.
        if offset != e["native_offset"]:
            ours = method_of_funclet(frames, ours)
            offset = ours["code"].get("offset")
        if offset is not None and e["native_offset"] >= 0 and offset != e["native_offset"]:
            wrong.add("native offset", f"{what}: {offset} for {e['native_offset']}")
        if lines:
            check_line(ours.get("source") or {}, e, what, wrong)
    return len(pairs)


STATE_MACHINES = {"AsyncStateMachineAttribute": "async", "IteratorStateMachineAttribute": "iterator",
                  "AsyncIteratorStateMachineAttribute": "async iterator"}


def check_user_method(method, expected, what, wrong):
    """State machines are shown as the method that their attribute names, parts of methods as those that the compiler's name says."""
    user = method.get("user_method") or {}
    made_of = re.match(r"<(.+)>[bg]__", expected["method"].split(".")[-1])
    if "state_machine_of" in expected:
        if not user.get("mark", "").startswith(STATE_MACHINES[expected["state_machine"]]):
            wrong.add("state machine", f"{what}: {user}")
        # That of an asynchronous lambda is shown as the method around the lambda.
        if not user.get("mark", "").endswith(("lambda", "local function")) and user.get("token") != expected["state_machine_of"]:
            wrong.add("state machine", f"{what}: {user} for {expected['state_machine_of']}")
    elif made_of:
        if made_of[1] not in user.get("full_name", "") or not user["mark"].endswith(("lambda", "local function")):
            wrong.add("part of a method", f"{what}: {user}")
    elif user and not expected["method"].endswith(".MoveNext"):   # recorded reports do not say whose it is
        wrong.add("a method of its own", f"{what}: {user}")


def method_of_funclet(frames, frame):
    """The frame of the method that a funclet belongs to: the next one of the same body outside of funclets."""
    if not frame["code"].get("funclet"):
        return frame
    rest = frames[frames.index(frame) + 1:]
    return next((f for f in rest if f["code"]["start"] == frame["code"]["start"] and not f["code"].get("funclet")), frame)


def check_line(source, expected, what, wrong):
    """The sequence point that StackTrace with file information prints."""
    if "line" in expected:
        file, line = (source.get("file") or "").replace("\\", "/"), source.get("line")
        if (file, line) != (expected["file"].replace("\\", "/"), expected["line"]):
            wrong.add("line", f"{what}: {file}:{line} for {expected['file']}:{expected['line']}")
    if source and expected.get("il_offset", -1) >= 0 and source["il_offset"] != expected["il_offset"]:
        wrong.add("IL offset", f"{what}: {source['il_offset']} for {expected['il_offset']}")


def check(lldb, target, report_path, lines=True):
    """`lines`: the program's PDB can be had."""
    reports = read_report(report_path)
    assert reports, "the program reported nothing"
    (stack,) = lldb.json(target, ["clrbt --json all"])
    wrong, frames = Examples(), 0
    for report in reports:
        frames += check_thread(stack, report, wrong, lines)
    return wrong.require_none(f"{frames} frames of {len(reports)} threads, {len(stack['threads'])} threads walked")
