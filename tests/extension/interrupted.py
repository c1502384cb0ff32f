"""Publishing that the user interrupts, in a host of its own with LLDB's Python module: interrupted.py PLUGIN CORE. Prints JSON: what `clr publish
status` says of a whole run, behind an interrupted one, asked again, and behind the command that goes on with it."""
import json
import sys

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
    debugger = opened(plugin, core)
    debugger.RequestInterrupt()
    run(debugger, "thread backtrace")
    debugger.CancelInterruptRequest()
    answers["interrupted"] = json.loads(run(debugger, "clr publish status --json"))
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
