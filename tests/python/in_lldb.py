"""Runs within LLDB (`command script import`): the package on what the debugger has open. Prints one line of JSON for each check: [name, problem or null]."""
import json
import os
import sys

import lldb

import same


def report(name, problem=None):
    print("CHECK " + json.dumps([name, problem]))
    sys.stdout.flush()


def check(name, function):
    try:
        report(name, function() or None)
    except Exception as error:   # what a check throws is its result
        report(name, f"{type(error).__name__}: {error}")


def expect(error, call):
    """A sentence unless `call` raises `error`."""
    try:
        result = call()
    except error:
        return None
    return f"{result!r} instead of {error.__name__}"


def core(debugger, path, expected):
    import lldb_clr
    target = debugger.CreateTarget("")
    process = target.LoadCore(path)
    with open(expected, encoding="utf-8") as f:
        answers = json.load(f)

    def same_as_the_commands():
        runtime = lldb_clr.Runtime(target)
        return "; ".join(same.runtime_differences(lldb_clr, runtime, answers)) or None

    def objects():
        of_process, of_debugger = lldb_clr.Runtime(process), lldb_clr.Runtime(debugger)
        thread = process.GetThreadAtIndex(0)
        frame = thread.GetFrameAtIndex(0)   # of native code: LLDB alone finds no managed frame in a core without the binaries
        mine = of_process.thread(thread)
        assert mine.os_id == thread.GetThreadID() and mine.backtrace()[0].ip == frame.GetPC(), mine
        expected = of_process.method_at(frame.GetPC())
        assert expected.reason == "native" and of_debugger.method_at(frame) == of_process.method_at(frame.GetPCAddress()) == expected, expected

    def publishing():
        def run(command):
            result = lldb.SBCommandReturnObject()
            debugger.GetCommandInterpreter().HandleCommand(command, result)
            assert result.Succeeded(), result.GetError()
            return result.GetOutput()

        def level():
            return json.loads(run("clr publish status --json"))["level"]

        runtime = lldb_clr.Runtime(target)
        run("clr publish off")
        if wrong := expect(lldb_clr.UsageError, runtime.publish):
            return wrong
        run("clr publish on")
        run("clr settings --publish r2r")   # what was done for this stop is to be looked at again
        assert level() == "nothing", level()
        runtime.publish()
        assert level() == "everything", level()
        run("clr settings --publish lines,variables,r2r")
        method = next(runtime.methods(r2r=False))
        assert target.ResolveLoadAddress(method.regions[0].start).GetFunction().GetName() == method.full_name, method
        return None

    def lazy_methods():
        methods = lldb_clr.Runtime(target).methods()
        first = next(methods)
        methods.close()
        assert first.full_name and first.regions, first
        return expect(lldb_clr.UsageError, lambda: next(methods))

    def stale():
        runtime, other = lldb_clr.Runtime(target), lldb_clr.Runtime(target)
        method = runtime.threads[0].backtrace()
        list(method)
        rows = runtime.methods()
        next(rows)
        debugger.DeleteTarget(target)
        assert not runtime.is_current
        return expect(lldb_clr.StaleError, lambda: other.threads) or expect(lldb_clr.StaleError, lambda: runtime.info) \
            or expect(lldb_clr.StaleError, lambda: list(rows)) or expect(lldb_clr.UsageError, lambda: lldb_clr.Runtime(target))

    check("answers are those of the commands", same_as_the_commands)
    check("SBTarget, SBProcess, SBDebugger, SBThread, SBFrame, SBAddress", objects)
    check("methods are found as they are asked for", lazy_methods)
    check("publish() waits until LLDB has all code", publishing)
    check("a process that is gone makes objects stale", stale)


def native(debugger):
    """A live process without a runtime."""
    import lldb_clr
    debugger.SetAsync(False)
    target = debugger.CreateTarget("/bin/true")
    info = lldb.SBLaunchInfo([])
    info.SetLaunchFlags(lldb.eLaunchFlagStopAtEntry | lldb.eLaunchFlagDisableASLR)
    process = target.Launch(info, lldb.SBError())

    def no_runtime():
        runtime = lldb_clr.Runtime(process)
        assert runtime.info.absent and "no .NET runtime" in runtime.info.absent, runtime.info
        pc = process.GetThreadAtIndex(0).GetFrameAtIndex(0).GetPC()
        miss = runtime.method_at(pc)
        assert not miss and miss.reason == "no_runtime", miss
        assert len(runtime.threads) == 1 and not runtime.threads[0].is_managed
        assert runtime.threads[0].backtrace()[0].ip == pc
        return expect(lldb_clr.UsageError, lambda: list(runtime.methods()))

    def step():
        runtime = lldb_clr.Runtime(process)
        threads = runtime.threads
        assert runtime.is_current
        process.GetThreadAtIndex(0).StepInstruction(False)
        assert not runtime.is_current
        fresh = lldb_clr.Runtime(process)
        assert fresh.is_current
        return expect(lldb_clr.StaleError, lambda: threads[0].backtrace()) or expect(lldb_clr.StaleError, lambda: runtime.method_at(1))

    check("a process without .NET", no_runtime)
    check("a step makes objects stale", step)
    process.Kill()


def __lldb_init_module(debugger, _dictionary):
    core_path = os.environ.get("CLR_TEST_CORE")
    try:
        if core_path:
            core(debugger, core_path, os.environ["CLR_TEST_EXPECTED"])
        if os.environ.get("CLR_TEST_NATIVE"):
            native(debugger)
    except Exception as error:
        report("the script ran to its end", f"{type(error).__name__}: {error}")
    report("end")
