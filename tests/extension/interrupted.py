"""Publishing that the user interrupts, in a host of its own with LLDB's Python module: interrupted.py PLUGIN CORE. Prints JSON: what `clr publish
status` says of a whole run, behind an interrupted one, asked again, and behind the command that goes on with it."""
import json
import sys
import threading

import lldb


def run(debugger, command):
    result = lldb.SBCommandReturnObject()
    debugger.GetCommandInterpreter().HandleCommand(command, result)
    return (result.GetOutput() or "") + (result.GetError() or "")


def opened(plugin, core):
    debugger = lldb.SBDebugger.Create()
    debugger.SetAsync(False)
    assert not run(debugger, f'plugin load "{plugin}"')
    debugger.CreateTarget("").LoadCore(core)
    return debugger


def main(plugin, core):
    whole = opened(plugin, core)
    run(whole, "thread backtrace")
    answers = {"whole": json.loads(run(whole, "clr publish status --json"))}
    # LLDB itself refuses a command that begins while an interruption is wanted, so the request must come while the plugin publishes: how long
    # that takes depends on the machine, and so does the moment that is tried.
    for delay in (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.2, 1.6, 2.4, 3.2, 5, 7, 10):
        debugger = opened(plugin, core)
        request = threading.Timer(delay, debugger.RequestInterrupt)
        request.start()
        run(debugger, "thread backtrace")
        request.cancel()
        request.join()
        debugger.CancelInterruptRequest()
        answers["interrupted"] = json.loads(run(debugger, "clr publish status --json"))
        if not answers["interrupted"]["complete"]:
            break
        lldb.SBDebugger.Destroy(debugger)
    answers["asked"] = run(debugger, "clr publish status")
    run(debugger, "thread backtrace")
    answers["continued"] = json.loads(run(debugger, "clr publish status --json"))
    answers["asked_again"] = run(debugger, "clr publish status")
    # A debugger that goes takes what was kept of it along.
    lldb.SBDebugger.Destroy(debugger)
    answers["other"] = json.loads(run(whole, "clr publish status --json"))
    print("ANSWERS " + json.dumps(answers))


if __name__ == "__main__":
    main(*sys.argv[1:])
