"""Runs inside LLDB: `variables-of-frames MOST` prints as JSON what LLDB shows of the innermost MOST frames of each thread, and
what `frame variable` prints in each; for net11_values.py."""
import json

import lldb


def answer(interpreter, command, place):
    result = lldb.SBCommandReturnObject()
    interpreter.HandleCommand(command, place, result)
    return (result.GetOutput() or "") + (result.GetError() or "")


def variables_of_frames(debugger, command, result, _):
    interpreter = debugger.GetCommandInterpreter()
    # A command of LLDB's own: the plugin brings its modules up to date before it.
    interpreter.HandleCommand("thread list", lldb.SBCommandReturnObject())
    threads, process = [], debugger.GetSelectedTarget().GetProcess()
    for thread in process:
        process.SetSelectedThread(thread)
        shown = []
        for index in range(min(int(command), thread.GetNumFrames())):
            frame = thread.GetFrameAtIndex(index)
            text = lldb.SBStream()
            frame.GetDescription(text)
            shown.append({"frame": text.GetData(), "variables": answer(interpreter, "frame variable", lldb.SBExecutionContext(frame))})
        threads.append({"index": thread.GetIndexID(), "exceptions": answer(interpreter, "clr pe --nested --json", lldb.SBExecutionContext(thread)), "frames": shown})
    result.AppendMessage(json.dumps(threads))


def __lldb_init_module(debugger, _):
    debugger.HandleCommand(f"command script add --function {__name__}.variables_of_frames variables-of-frames")
