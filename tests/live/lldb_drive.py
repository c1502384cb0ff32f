"""Runs inside LLDB: drives LLDB's own commands and prints what they did as JSON, for the check_lldb_*.py.

    drive-instructions COUNT THREAD [FUNCTION]
                                        `thread step-inst` of the thread with this OS id (from FUNCTION on): LLDB's frame 1 and clrbt's at each stop
    drive-lines FILE FUNCTION COUNT SEED  random `next`, `step` and `finish`; FILE is the program's log
    drive-walk FILE FUNCTION OPERATION [LAST]  to FUNCTION, then one operation again and again, until its lines are left or line LAST is reached;
                                        FILE as above
    drive-breaks FILE FLAG SPECS        breakpoints that let the process go on, until it ends; FILE is the mapped file, FLAG the place of its signal
    drive-reserved                      what LLDB knows of the memory that the runtime has reserved for code
    drive-values PLACES                 stops at each place, and all variables there
"""
import array
import json
import random
import re
import struct
import threading
import time

import lldb


def ask(debugger, command, frame=None):
    """(text, succeeded) of one command, which is over when this returns. Within a command, as here, LLDB takes the frame that was selected
    when that one began, unless it is told another."""
    debugger.SetAsync(False)
    result = lldb.SBCommandReturnObject()
    if frame is None:
        debugger.GetCommandInterpreter().HandleCommand(command, result)
    else:
        debugger.GetCommandInterpreter().HandleCommand(command, lldb.SBExecutionContext(frame), result)
    return (result.GetOutput() or "") + (result.GetError() or ""), result.Succeeded()


def run(debugger, command, process, seconds=30, frame=None):
    """The same of a command that lets the process run: stopped from here when it runs away."""
    timer = threading.Timer(seconds, process.SendAsyncInterrupt)
    timer.start()
    try:
        return ask(debugger, command, frame)
    finally:
        timer.cancel()


def stopped_by(thread):
    """Numbers of the breakpoints that a thread stopped at."""
    if thread.GetStopReason() != lldb.eStopReasonBreakpoint:
        return []
    return [thread.GetStopReasonDataAtIndex(i) for i in range(0, thread.GetStopReasonDataCount(), 2)]


def state_of(process):
    return lldb.SBDebugger.StateAsCString(process.GetState())


# --- drive-instructions

SAVED = ("rip", "rbx", "rbp", "r12", "r13", "r14", "r15")


def frame_of(frame):
    registers = {}
    for group in frame.GetRegisters():
        for register in group:
            if register.GetName() in SAVED:
                registers[register.GetName()] = register.GetValueAsUnsigned() if register.GetError().Success() and register.GetValue() is not None else None
        break
    return {"pc": frame.GetPC(), "sp": frame.GetSP(), "cfa": frame.GetCFA(), "function": frame.GetFunctionName(), "registers": registers}


def instructions(debugger, command, result, _):
    target = debugger.GetSelectedTarget()
    count, os_id, *function = command.split()
    count, os_id = int(count), int(os_id)
    if function:
        ask(debugger, f"breakpoint set --one-shot true --name {function[0]}")
        run(debugger, "process continue", target.GetProcess())
    thread = target.GetProcess().GetThreadByID(os_id)
    target.GetProcess().SetSelectedThread(thread)
    ask(debugger, "thread backtrace -c 1")   # as everybody begins: from then on the plugin follows every stop
    for _ in range(count):
        begin = time.monotonic()
        text, _ = run(debugger, "thread step-inst --run-mode this-thread", target.GetProcess(), frame=thread.GetFrameAtIndex(0))
        seconds = time.monotonic() - begin
        thread = target.GetProcess().GetThreadByID(os_id)
        stop = {"stop": text.strip()[:300], "reason": thread.GetStopReason(), "state": state_of(target.GetProcess()), "seconds": seconds, "description": thread.GetStopDescription(100)}
        stop["frames"] = [frame_of(thread.GetFrameAtIndex(i)) for i in range(3)]
        stop["clrbt"], _ = ask(debugger, "clrbt --json --registers -n 4", thread.GetFrameAtIndex(0))
        result.AppendMessage(json.dumps(stop))
        if target.GetProcess().GetState() != lldb.eStateStopped or thread.GetStopReason() == lldb.eStopReasonSignal:
            break


# --- drive-lines

class Log:
    """The program's log, read on from where it was read last: entries (line, None) and (-line, returned value)."""

    def __init__(self, path):
        self.file, self.entries, self.at = open(path, "rb", buffering=0), 0, 0   # of a file that grows a buffer holds what was

    def count(self):
        while True:
            self.file.seek(self.at)
            part = self.file.read(1 << 16)
            numbers = array.array("i", part[:len(part) // 4 * 4])
            i, before = 0, self.at
            while i < len(numbers) and numbers[i]:
                words = 1 if numbers[i] > 0 else 2
                if i + words > len(numbers):
                    break
                i += words
                self.at += 4 * words
                self.entries += 1
            if self.at == before or i < len(numbers) - 1:
                return self.entries


def place(thread):
    """Where a thread stands, and on which managed frame it was called."""
    frame = thread.GetFrameAtIndex(0)
    entry = frame.GetLineEntry()
    return {"function": frame.GetFunctionName(), "line": entry.GetLine() if entry.IsValid() else None, "file": entry.GetFileSpec().GetFilename() if entry.IsValid() else None,
            "pc": frame.GetPC(), "cfa": frame.GetCFA()}


def returned(thread):
    value = thread.GetStopReturnValue()
    return {"type": value.GetTypeName(), "value": value.GetValue()} if value.IsValid() else None


def lines(debugger, command, result, _):
    path, function, count, seed = command.split()
    chosen, log, target = random.Random(int(seed)), Log(path), debugger.GetSelectedTarget()
    process = target.GetProcess()
    text, fine = ask(debugger, f"breakpoint set --name {function}")
    result.AppendMessage(json.dumps({"op": "breakpoint", "text": text}))
    rows, op = 0, "continue"
    begin = time.monotonic()
    while rows < int(count):
        text, fine = run(debugger, {"continue": "process continue", "next": "thread step-over", "step": "thread step-in", "finish": "thread step-out"}[op], process)
        row = {"op": op, "state": state_of(process), "ok": fine}
        rows += 1
        if process.GetState() != lldb.eStateStopped:
            row["text"] = text
            result.AppendMessage(json.dumps(row))
            break
        thread = process.GetSelectedThread()
        row.update(place(thread), log=log.count(), reason=thread.GetStopReason(), description=thread.GetStopDescription(200), thread=thread.GetThreadID())
        if op == "finish":
            row["returned"] = returned(thread)
        if not fine or (row["description"] or "").startswith("signal"):
            row["text"] = text
        result.AppendMessage(json.dumps(row))
        if (row["description"] or "").startswith("signal"):
            break
        name = row["function"] or ""
        inside = ".Lines." in name and ".Begin" not in name
        op = chosen.choices(["next", "step", "finish"], [6, 4, 0 if ".Round(" in name else 2])[0] if inside else "continue"
    result.AppendMessage(json.dumps({"op": "end", "rows": rows, "seconds": time.monotonic() - begin}))


# --- drive-walk

OPERATIONS = {"continue": "process continue", "next": "thread step-over", "step": "thread step-in", "finish": "thread step-out"}
MOST_STEPS = 60


def of_others(thread):
    """Whether a thread runs a method for nobody who looks: such runs have an argument n from 100 on."""
    n = thread.GetFrameAtIndex(0).FindVariable("n")
    return n.IsValid() and n.GetValueAsSigned() >= 100


def walk(debugger, command, result, _):
    path, function, operation, *last = command.split()
    log, target = Log(path), debugger.GetSelectedTarget()
    process = target.GetProcess()
    text, fine = ask(debugger, f"breakpoint set --name {function}")
    made = int(re.search(r"Breakpoint (\d+)", text)[1])
    with open(path, "r+b") as f:
        f.seek(((1 << 20) - 1) * 4)
        f.write(struct.pack("<i", 1))
    op, thread = "continue", process.GetSelectedThread()
    for number in range(MOST_STEPS):
        text, fine = run(debugger, OPERATIONS[op], process, frame=thread.GetFrameAtIndex(0))
        while not number and process.GetState() == lldb.eStateStopped and of_others(process.GetSelectedThread()):
            text, fine = run(debugger, OPERATIONS[op], process)
        row = {"op": op, "state": state_of(process), "ok": fine, "text": text[:500]}
        if process.GetState() != lldb.eStateStopped:
            result.AppendMessage(json.dumps(row))
            return
        # A command that waited for a step selects the thread that it began with; the next one that of the plugin's choice.
        ask(debugger, "thread info")
        thread = process.GetSelectedThread()
        row.update(place(thread), log=log.count(), reason=thread.GetStopReason(), description=thread.GetStopDescription(200), thread=thread.GetThreadID(),
                   places=target.FindBreakpointByID(made).GetNumLocations(),
                   threads={t.GetThreadID(): t.GetStopDescription(100) for t in process if t.GetStopReason() not in (lldb.eStopReasonNone, lldb.eStopReasonInvalid)})
        row["returned"] = returned(thread) if op == "finish" else None
        result.AppendMessage(json.dumps(row))
        if row["line"] in map(int, last) or row["reason"] == lldb.eStopReasonSignal or (number and function.rpartition(".")[2] not in (row["function"] or "")):
            return
        ask(debugger, f"breakpoint disable {made}")
        op = operation


# --- drive-breaks

def breaks(debugger, command, result, _):
    with open(command.strip()) as f:
        plan = json.load(f)
    target, numbers = debugger.GetSelectedTarget(), {}
    for spec in plan["specs"]:
        before = target.GetNumBreakpoints()
        text, fine = ask(debugger, spec)
        # The last: the plugin may have set breakpoints of its own before.
        made = target.GetBreakpointAtIndex(target.GetNumBreakpoints() - 1) if target.GetNumBreakpoints() > before else None
        if made is not None:
            made.SetAutoContinue(True)
            numbers[spec] = made.GetID()
        result.AppendMessage(json.dumps({"set": spec, "text": text, "ok": fine, "locations": made.GetNumLocations() if made else None}))
    with open(plan["file"], "r+b") as f:
        f.seek(plan["flag"] * 8)
        f.write(struct.pack("<q", 1))
    process, stops, begin = target.GetProcess(), [], time.monotonic()
    last = target.BreakpointCreateByName("exit", "libc.so.6").GetID()
    watch = {"told_by_runtime": None, "compilations": None}
    while process.GetState() == lldb.eStateStopped and len(stops) < plan["stops"] and time.monotonic() - begin < plan["seconds"]:
        text, fine = run(debugger, "process continue", process, plan["seconds"])
        if process.GetState() == lldb.eStateStopped:
            thread = process.GetSelectedThread()
            if stopped_by(thread) == [last]:
                watch = json.loads(ask(debugger, "clr break list --json")[0])
                continue
            stops.append({"reason": thread.GetStopReason(), "description": thread.GetStopDescription(200), "function": thread.GetFrameAtIndex(0).GetFunctionName(), "text": text[:500]})
    for spec, number in numbers.items():
        b = target.FindBreakpointByID(number)
        result.AppendMessage(json.dumps({"spec": spec, "hits": b.GetHitCount(), "locations": b.GetNumLocations(), "resolved": b.GetNumResolvedLocations()}))
    result.AppendMessage(json.dumps({"end": state_of(process), "exit": process.GetExitStatus(), "why": process.GetExitDescription(), "stops": stops, "seconds": time.monotonic() - begin,
                                     "told": watch["told_by_runtime"], "compilations": watch["compilations"]}))


# --- drive-reserved

LARGE = 1 << 30   # the runtime reserves 2 GiB, and takes code and stubs from their beginning
BLOCK = 1 << 16


def large_reservations(process):
    with open(f"/proc/{process.GetProcessID()}/maps") as maps:
        for line in maps:
            place, permissions, _, _, inode, *_ = line.split()
            begin, end = (int(word, 16) for word in place.split("-"))
            if permissions.startswith("---") and inode == "0" and end - begin >= LARGE:
                yield begin


def reserved(debugger, command, result, _):
    """Steps over a line, and says what LLDB knows then at the beginning of each large reservation as it was before: the step itself may take some of it."""
    target = debugger.GetSelectedTarget()
    process = target.GetProcess()
    begins = list(large_reservations(process))
    run(debugger, "thread step-over", process, 60)
    found = []
    for begin in begins:
        first = -(-begin // BLOCK) * BLOCK   # that is the reservation's as a whole
        modules = [target.ResolveLoadAddress(first + at).GetModule().GetFileSpec().GetFilename() for at in (0, BLOCK, 2 * BLOCK - 1, 2 * BLOCK)]
        found.append({"begin": begin, "modules": modules})
    result.AppendMessage(json.dumps(found))


# --- drive-values

MOST_CHILDREN, DEEPEST, MOST_OTHERS = 12, 4, 5


def value_of(value, depth=0):
    found = {"name": value.GetName(), "type": value.GetTypeName(), "value": value.GetValue(), "summary": value.GetSummary(), "number": value.GetValueAsUnsigned(),
             "signed": value.GetValueAsSigned(), "pointer": value.GetType().IsPointerType(), "children": value.GetNumChildren() if depth < DEEPEST else None}
    error = value.GetError()
    if error.Fail():
        found["error"] = error.GetCString()
    if depth < DEEPEST:
        found["fields"] = [value_of(value.GetChildAtIndex(i), depth + 1) for i in range(min(value.GetNumChildren(), MOST_CHILDREN))]
    return found


def values(debugger, command, result, _):
    """PLACES: JSON list of {"where", "file", "line", "expressions"}."""
    with open(command.strip()) as f:
        places = json.load(f)
    target = debugger.GetSelectedTarget()
    process = target.GetProcess()
    for wanted in places:
        text, _ = ask(debugger, f"breakpoint set --file {wanted['file']} --line {wanted['line']}")
        # By its number: the plugin may have set breakpoints of its own behind it.
        made = target.FindBreakpointByID(int(re.search(r"Breakpoint (\d+)", text)[1]))
        row = {"where": wanted["where"], "set": text.strip()}
        # Now and then LLDB stops at a breakpoint of the plugin's own, which lets the process go on otherwise: counted.
        for row["others"] in range(MOST_OTHERS):
            text, _ = run(debugger, "process continue", process, 15)
            stopped = process.GetState() == lldb.eStateStopped
            if not stopped or any(made.GetID() in stopped_by(t) for t in process) or process.GetSelectedThread().GetStopReason() == lldb.eStopReasonSignal:
                break
        row["state"] = state_of(process)
        if process.GetState() != lldb.eStateStopped:
            result.AppendMessage(json.dumps(dict(row, text=text[:500])))
            break
        # Another thread may have come to a breakpoint of the plugin's in the same moment: it must not be the one that is shown.
        thread = process.GetSelectedThread()
        row["threads"] = {t.GetIndexID(): t.GetStopDescription(100) for t in process if t.GetStopReason() not in (lldb.eStopReasonNone, lldb.eStopReasonInvalid)}
        # Not before the threads were looked at: LLDB forgets who stopped at a place that has no breakpoint any more.
        ask(debugger, f"breakpoint disable {made.GetID()}")
        frame = thread.GetFrameAtIndex(0)
        row.update(place(thread), reason=thread.GetStopReason(), description=thread.GetStopDescription(200))
        row["run"] = text[:400]
        if thread.GetStopReason() == lldb.eStopReasonSignal:   # stopped from here: nobody came there
            row["text"] = ask(debugger, "thread backtrace all")[0]
            result.AppendMessage(json.dumps(row))
            break
        row["variables"] = [value_of(v) for v in frame.GetVariables(True, True, False, True)]
        row["text"], _ = ask(debugger, "frame variable", frame)
        row["bt"], _ = ask(debugger, "thread backtrace -c 1", frame)
        row["expressions"] = []
        for e in wanted["expressions"]:
            text, fine = ask(debugger, f"expression -- {e}", frame)
            row["expressions"].append({"expression": e, "text": text.strip(), "ok": fine})
        result.AppendMessage(json.dumps(row))


def __lldb_init_module(debugger, _):
    for name in ("instructions", "lines", "walk", "breaks", "reserved", "values"):
        debugger.HandleCommand(f"command script add --function {__name__}.{name} drive-{name}")
