"""Runs inside LLDB: `native-frames` prints LLDB's own stacks of all threads as JSON, for check_native.py and check_lldb_bt.py."""
import json

import lldb

MOST_FRAMES = 2000   # of one thread: a stack overflow has a hundred thousand
# x64: `mov eax, NUMBER; syscall` of clone3 and clone, which threads start behind.
CLONE_CALLS = (b"\xb8\xb3\x01\x00\x00\x0f\x05", b"\xb8\x38\x00\x00\x00\x0f\x05")
START_BYTES = 64     # from there to the call of the thread's function; and from the entry point to the call into libc


def frames(thread):
    """Concrete frames. Of the frames that are inlined into one, the innermost has the address that the thread is at; the others, and the
    concrete one itself, show where the inlined code stands."""
    found, pc, number, cut = [], None, 0, True
    for i in range(MOST_FRAMES):
        frame = thread.GetFrameAtIndex(i)
        if not frame.IsValid():
            cut = False
            break
        if pc is None:
            pc, number = frame.GetPC(), i
        if frame.IsInlined():
            continue
        found.append({"number": number, "pc": pc, "sp": frame.GetSP(), "module": frame.GetModule().GetFileSpec().GetFilename(), "symbol": frame.GetSymbol().GetName(),
                      "cfa": frame.GetCFA(), "function": frame.GetFunctionName(), **line_of(frame)})
        pc = None
    return {"frames": found, "cut": cut}


def line_of(frame):
    entry = frame.GetLineEntry()
    if not entry.IsValid():
        return {}
    file = entry.GetFileSpec()
    return {"file": f"{file.GetDirectory()}/{file.GetFilename()}", "line": entry.GetLine()}


def starts(target):
    """[first, end) of the code that begins a thread, also where libc and the executable have no symbols that say so."""
    places = []
    for module in target.module_iter():
        name = module.GetFileSpec().GetFilename() or ""
        entry = module.GetObjectFileEntryPointAddress()
        if module == target.module[0] and entry.IsValid():
            places.append(("_start", entry.GetLoadAddress(target)))
        text = module.FindSection(".text")
        if name.startswith(("libc.so", "libc-", "libc.musl", "ld-musl")) and text.IsValid():
            code = text.GetSectionData()
            code = code.ReadRawData(lldb.SBError(), 0, code.GetByteSize()) or b""
            for call in CLONE_CALLS:
                at = code.find(call)
                while at >= 0:
                    places.append(("clone", text.GetLoadAddress(target) + at + len(call)))
                    at = code.find(call, at + 1)
    return [{"name": name, "first": at, "end": at + START_BYTES} for name, at in places]


def native_frames(debugger, command, result, _):
    target = debugger.GetSelectedTarget()
    # A command of LLDB's own: the plugin brings its modules up to date before it.
    debugger.GetCommandInterpreter().HandleCommand("thread list", lldb.SBCommandReturnObject())
    threads = [{"os_id": t.GetThreadID(), "index": t.GetIndexID(), **frames(t)} for t in target.GetProcess()]
    result.AppendMessage(json.dumps({"threads": threads, "starts": starts(target)}))


def __lldb_init_module(debugger, _):
    debugger.HandleCommand(f"command script add --function {__name__}.native_frames native-frames")
