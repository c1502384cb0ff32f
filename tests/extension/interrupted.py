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


def interrupt_publishing(debugger, most=60):
    """Publishes and interrupts that, until it was interrupted in the middle: LLDB refuses a command when the interruption comes before it, and
    it does nothing behind it. What `clr publish status` says then."""
    delay = 0.1
    for _ in range(most):
        run(debugger, "clr publish off")
        interruption = threading.Timer(delay, debugger.RequestInterrupt)
        interruption.start()
        run(debugger, "clr publish on")
        interruption.join()
        debugger.CancelInterruptRequest()
        status = json.loads(run(debugger, "clr publish status --json"))
        if status["on"] and not status["complete"]:
            return status
        delay = delay / 2 if status["on"] else delay * 1.4   # refused: still off
    raise SystemExit(f"no interruption came in the middle: {status}")


def main(plugin, core):
    whole = opened(plugin, core)
    run(whole, "thread backtrace")
    answers = {"whole": json.loads(run(whole, "clr publish status --json"))}
    debugger = opened(plugin, core)
    answers["interrupted"] = interrupt_publishing(debugger)
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
