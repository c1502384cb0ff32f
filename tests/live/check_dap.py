"""What an editor sees through lldb-dap, when `plugin load` is all that it was told: against the program's own output and source."""
import os
import pathlib
import re
import shutil
import time

import processes
from dap_client import Client, DapError
from results import Examples

SOURCE = processes.PROGRAMS / "edited" / "Program.cs"
SAME_STOP = 2   # seconds in which lldb-dap has told of all threads that stopped
EVENT = 60   # seconds until something happens that the program does at once


def line_of(name):
    return next(number for number, line in enumerate(SOURCE.read_text().splitlines(), 1) if line.endswith(f"// at: {name}"))


def adapters(lldbs):
    """(version, lldb-dap or None, what its environment needs) of the versions that are asked."""
    yield "19", shutil.which("lldb-dap-19"), {}
    tree = pathlib.Path(lldbs) / "22" / "usr" / "lib"
    unpacked = tree / "llvm-22" / "bin" / "lldb-dap"
    libraries = os.pathsep.join(str(folder) for folder in [*tree.glob("*-linux-gnu"), tree / "llvm-22" / "lib"])
    yield "22", str(unpacked) if unpacked.exists() else None, {"LD_LIBRARY_PATH": libraries}


class Session:
    """An editor that debugs `program`."""

    def __init__(self, adapter, plugin, environment):
        self.client = Client(adapter, environment)
        self.plugin, self.seen, self.thread = plugin, 0, None
        self.client.ask("initialize", adapterID="lldb", linesStartAt1=True, columnsStartAt1=True, pathFormat="path")

    def begin(self, request, breakpoints=(), functions=(), commands=(), **arguments):
        begun = self.client.send(request, initCommands=[f"plugin load {self.plugin}", *commands], **arguments)
        self.client.event("initialized", EVENT)
        lines = self.set_breakpoints(breakpoints)
        names = self.client.ask("setFunctionBreakpoints", breakpoints=list(functions))["breakpoints"]
        self.client.ask("configurationDone")
        self.client.wait_for(begun, request, EVENT)
        return lines, names

    def set_breakpoints(self, breakpoints):
        return self.client.ask("setBreakpoints", source={"path": str(SOURCE)}, breakpoints=list(breakpoints))["breakpoints"]

    def stopped(self):
        """The top frame at the next stop, and the reason. lldb-dap tells of each thread that has one: also of one that came, in the same moment, to
        where the plugin lets it go on, which has no lines; then the next event is of the thread that is meant."""
        frame = {}
        while not frame.get("source", {}).get("path", "").endswith(".cs"):
            body, self.seen = self.client.event("stopped", EVENT, self.seen)
            self.thread = body["threadId"]
            try:
                frame = next(iter(self.frames(1)), {})
            except DapError:   # "invalid thread": another one of the stop before, and the process runs
                if not body.get("preserveFocusHint"):
                    raise
        return f"{frame['name'].partition('(')[0]}:{frame['line']}", body["reason"]

    def stopped_at(self, place_of, wanted):
        """place_of() of the thread that stopped at `wanted`, or of the last one that did: several may be told of at one stop (see stopped())."""
        found = place_of(self.stopped()[0])
        while found != wanted:
            try:
                self.client.event("stopped", SAME_STOP, self.seen)
            except DapError:
                break
            found = place_of(self.stopped()[0])
        return found

    def frames(self, levels, start=0):
        return self.client.ask("stackTrace", threadId=self.thread, startFrame=start, levels=levels)["stackFrames"]

    def go(self, how):
        self.client.ask(how, threadId=self.thread)

    def told_of_breakpoints(self, how):
        """go(), and the numbers of the breakpoints that lldb-dap tells of before it stops again: LLDB looks at frames for that, of a process that
        runs, and LLDB 22 judges the step by them."""
        known = -1
        while known != len(self.client.events):   # what the stop before has led to
            known = len(self.client.events)
            time.sleep(0.1)
        self.go(how)
        _, end = self.client.event("stopped", EVENT, known)
        return [e["body"]["breakpoint"]["id"] for e in self.client.events[known:end] if e["event"] == "breakpoint"]

    def variables(self, reference, **page):
        return {v["name"]: v for v in self.client.ask("variables", variablesReference=reference, **page)["variables"]}

    def locals(self):
        frame = self.frames(1)[0]["id"]
        scope = self.client.ask("scopes", frameId=frame)["scopes"][0]
        return self.variables(scope["variablesReference"]), scope["variablesReference"], frame

    def evaluate(self, text, context="watch"):
        return self.client.ask("evaluate", expression=text, frameId=self.frames(1)[0]["id"], context=context)["result"]

    def output(self):
        return "".join(e["body"]["output"] for e in self.client.events if e["event"] == "output")


def expect(wrong, what, found, wanted):
    if found != wanted:
        wrong.add(what, f"{found} for {wanted}")


def check_launch(adapter, plugin, program, environment, stale):
    """Breakpoints that are set before there is any code, and what an editor asks at each stop. `stale`: at the first hit in code that is new this
    lldb-dap may show the frames of the plugin's own stop before it, so that a logpoint finds no variable there."""
    wrong = Examples()
    session = Session(adapter, plugin, environment)
    try:
        lines, names = session.begin(
            "launch", [{"line": line_of("Show")}, {"line": line_of("Loop"), "condition": "i == 7"}, {"line": line_of("Area"), "logMessage": "width is {width}"}],
            [{"name": "Edited.Program.Loop"}], program=str(program), env=[f"{key}={value}" for key, value in environment.items() if key.startswith("DOTNET_")])
        expect(wrong, "breakpoints before there is code", [b["verified"] for b in lines + names], [False] * 4)
        expect(wrong, "the first stop", session.stopped(), (f"Edited.Program.Show:{line_of('Show')}", "breakpoint"))
        session.client.event("breakpoint", EVENT, where=lambda body: body["breakpoint"]["id"] == lines[0]["id"] and body["breakpoint"]["verified"])
        expect(wrong, "frames", [frame["name"] for frame in session.frames(2)], ["Edited.Program.Show()", "Edited.Program.Main(string[])"])
        expect(wrong, "the second page of frames", session.frames(1, 1)[0]["name"], "Edited.Program.Main(string[])")
        found, scope, _ = session.locals()
        expect(wrong, "a local variable", found["count"]["value"], "10000")
        fields = session.variables(found["node"]["variablesReference"])
        expect(wrong, "a field", re.search('"(.*)"', fields["Name"]["value"])[1], "root")
        expect(wrong, "a field of a field", re.search('"(.*)"', session.variables(fields["Next"]["variablesReference"])["Name"]["value"])[1], "leaf")
        expect(wrong, "an array", fields["Numbers"]["value"].split(" ", 1)[-1], "int[10000] {0, 1, 2, 3, 4, 5, 6, 7, ...}")
        session.client.ask("setVariable", variablesReference=scope, name="count", value="5")
        expect(wrong, "a variable that was set", session.evaluate("count"), "5")
        session.go("next")
        expect(wrong, "next", session.stopped(), (f"Edited.Program.Show:{line_of('Show+1')}", "step"))
        session.go("continue")
        expect(wrong, "a breakpoint by name", session.stopped()[1], "breakpoint")
        session.go("continue")
        expect(wrong, "a condition", session.stopped(), (f"Edited.Program.Loop:{line_of('Loop')}", "breakpoint"))
        expect(wrong, "the variables of the condition", {name: v["value"] for name, v in session.locals()[0].items()}, {"i": "7", "area": "14"})
        session.set_breakpoints([])
        session.go("next")
        expect(wrong, "next behind it", session.stopped()[1], "step")
        session.go("stepOut")
        expect(wrong, "stepOut", session.stopped()[0].partition(":")[0], "Edited.Program.Main")
        listed = session.client.ask("evaluate", expression="`breakpoint list", context="repl")["result"]
        expect(wrong, "breakpoints that are listed", re.findall(r"^\d+: (\w+)", listed, re.M), ["name"])   # Loop's: those by line are gone
        session.set_breakpoints([{"line": line_of("End")}])
        session.go("continue")
        expect(wrong, "a breakpoint that was set late", session.stopped(), (f"Edited.Program.Main:{line_of('End')}", "breakpoint"))
        logged = re.findall(r"width is (\d+)", session.output())
        expect(wrong, "lines of the logpoint", logged[-7:] if stale else logged, [str(i) for i in range(1 if stale else 0, 8)])
        expect(wrong, "the program's words", re.findall(r"count (\d+)", session.output()), ["5"])
        strange = [e["body"]["output"] for e in session.client.events if e["event"] == "output" and e["body"].get("category") == "stderr" and "error" in e["body"]["output"]]
        expect(wrong, "errors", strange[:1], [])
    except (DapError, KeyError, TypeError) as error:
        wrong.add("the session broke off", f"{type(error).__name__}: {error}")
    finally:
        session.client.close()
    return wrong.require_none("launch, 4 pending breakpoints, frames, variables, steps")


def check_late(adapter, plugin, program, environment):
    """Breakpoints that an editor sets at a stop, in code that is not there yet: no command tells the plugin of them before the process goes on."""
    wrong = Examples()
    session = Session(adapter, plugin, environment)
    try:
        session.begin("launch", [{"line": line_of("Show")}], program=str(program), args=["steps", "show"],
                      env=[f"{key}={value}" for key, value in environment.items() if key.startswith("DOTNET_")])
        expect(wrong, "the first stop", session.stopped()[0], f"Edited.Program.Show:{line_of('Show')}")
        for mark, function in (("Size+1", "Edited.Square.Size"), ("Numbers+1", "Numbers"), ("Fail+1", "Edited.Program.Fail")):
            late, = session.set_breakpoints([{"line": line_of(mark)}])
            expect(wrong, f"{mark} before there is code", late["verified"], False)
            session.go("continue")
            place, reason = session.stopped()
            expect(wrong, mark, (function in place, place.rpartition(":")[2], reason), (True, str(line_of(mark)), "breakpoint"))
        session.client.ask("setFunctionBreakpoints", breakpoints=[{"name": "Edited.Program.Deep"}])
        session.go("continue")
        expect(wrong, "a breakpoint by name", session.stopped()[0].partition(":")[0], "Edited.Program.Deep")
    except (DapError, KeyError, TypeError) as error:
        wrong.add("the session broke off", f"{type(error).__name__}: {error}")
    finally:
        session.client.close()
    return wrong.require_none("4 breakpoints that were set late")


# Breakpoint, condition, and the stops of the program's scene `conditions` in their order, with what `key` is there.
CONDITIONS = [("Looked", "key == 3"), ("Keyed", "key == 3"), ("First", ""), ("Second", ""),
              # The next node is null where it is asked first, which stops.
              ("Named", 'key > 6 && next.Name == "next" && name == "three\\n" && due is null && mood == Mood.Rough'), ("Named+1", "null == name")]
CONDITION_STOPS = [("First", ""), ("Second", ""), ("Looked", "3"), ("Keyed", "3"), ("Keyed", "3"),   # of Keyed: int and double
                   ("Named+1", "0"), ("Named+1", "1"), ("Named", "7"), ("Named", "11")]
CONDITION_WORDS = "conditions 109"


def check_conditions(adapter, plugin, program, environment):
    """They hold when code was compiled and shown to LLDB since they were evaluated last, and stop nowhere else."""
    wrong = Examples()
    session = Session(adapter, plugin, environment)
    try:
        session.begin("launch", [{"line": line_of(mark), "condition": condition} for mark, condition in CONDITIONS], program=str(program), args=["conditions"],
                      env=[f"{key}={value}" for key, value in environment.items() if key.startswith("DOTNET_")])
        for number, (mark, key) in enumerate(CONDITION_STOPS):
            expect(wrong, "a stop", (number, session.stopped()[0].rpartition(":")[2]), (number, str(line_of(mark))))
            if key:
                expect(wrong, "the key", (number, session.locals()[0].get("key", {}).get("value")), (number, key))
            session.go("continue")
        session.client.event("exited", EVENT)
        expect(wrong, "the program's words", CONDITION_WORDS in session.output(), True)
    except (DapError, KeyError, TypeError) as error:
        wrong.add("the session broke off", f"{type(error).__name__}: {error}")
    finally:
        session.client.close()
    return wrong.require_none(f"{len(CONDITION_STOPS)} stops at {len(CONDITIONS)} breakpoints")


# How often Edited.Program.Counts comes to these lines. Those of blocks are come to where they begin.
COUNTS = {"Each in iterator": 5, "Each side": 5, "Both": 5, "Using": 5, "Filter": 5, "Parsed finally": 5, "Fault": 5, "Fault caught": 5, "Local": 5, "Counted side": 10, "Loop": 0}


def check_counts(adapter, plugin, program, environment):
    """Hits of breakpoints that were set before there was code, and never stop; of those that are listed nobody else's."""
    wrong = Examples()
    session = Session(adapter, plugin, environment)
    try:
        session.begin("launch", [{"line": line_of(mark), "hitCondition": "1000"} for mark in COUNTS] + [{"line": line_of("Counted")}], program=str(program), args=["counts"],
                      preRunCommands=["breakpoint list"], env=[f"{key}={value}" for key, value in environment.items() if key.startswith("DOTNET_")])
        expect(wrong, "the only stop", session.stopped(), (f"Edited.Program.Counts:{line_of('Counted')}", "breakpoint"))
        listed = session.client.ask("evaluate", expression="`breakpoint list --brief", context="repl")["result"]
        lines = [re.search(r"line = (\d+).*?(?:hit count = (\d+))?(?: Options|$)", line) for line in listed.splitlines() if re.match(r"\d+:", line)]
        found = {int(line[1]): int(line[2] or 0) for line in lines if line}
        expect(wrong, "hits by line", found, {line_of(mark): count for mark, count in {**COUNTS, "Counted": 1}.items()})
        expect(wrong, "breakpoints in the list", len(lines), len(COUNTS) + 1)
        expect(wrong, "breakpoints before the launch", re.findall(r"^Current breakpoints:\n(\d.*)", session.output(), re.M), [])
    except (DapError, KeyError, TypeError) as error:
        wrong.add("the session broke off", f"{type(error).__name__}: {error}")
    finally:
        session.client.close()
    return wrong.require_none(f"hits of {len(COUNTS)} breakpoints")


# What an editor's buttons do in Edited.Program.Steps, one after the other: the marks of the lines at which they stop.
STEPS = [
    ("stepIn", "Square.Size:Size"),            # through an interface, into a method that the call compiles
    ("next", "Square.Size:Size+1"),
    ("stepOut", "Program.Steps:Interface"),
    ("next", "Program.Steps:Lambda"),
    ("stepIn", "Program.Steps:Lambda"),        # the lambda, through the framework's code
    ("next", "Program.Steps:Lambda"),          # and back through it
    ("next", "Program.Steps:Sum"),
    ("stepIn", "Program.Steps:Sum+1"),
    ("next", "Program.Steps:Sum+2"),
    ("next", "Program.Steps:Sum+3"),
    ("stepIn", "Program.Steps:Sum+1"),         # the framework calls the lambda again
    ("stepOut", "Program.Steps:Sum"),
    ("next", "Program.Steps:Each kept"),
    ("next", "Program.Steps:Each kept+1"),
    ("next", "Program.Steps:Each kept"),
    ("stepIn", "Program.Kept:Kept+1"),
    ("next", "Program.Kept:Kept+2"),           # `finally` in an iterator is a method of its own
    ("next", "Program.Kept:Kept+3"),
    ("stepOut", "Program.Kept:Kept+1"),
    ("stepOut", "Program.Steps:Each kept"),
    ("next", "Program.Steps:Each"),
    ("stepIn", "Program.Numbers:Numbers"),     # the code that an iterator becomes
    ("stepOut", "Program.Steps:Each"),
    ("next", "Program.Steps:Each+1"),
    ("next", "Program.Steps:Each"),
    ("stepIn", "Program.Numbers:Numbers+2"),   # where it left
    ("stepOut", "Program.Steps:Each"),
    ("next", "Program.Steps:Each+1"),
    ("next", "Program.Steps:Each"),
    ("next", "Program.Steps:Summed"),
    ("stepIn", "Program.Numbers:Numbers"),
    ("next", "Program.Numbers:Numbers+1"),
    ("next", "Program.Steps:Summed"),          # the framework calls the iterator again
    ("next", "Program.Steps:Numbers counted"),
    ("stepIn", "Program.Numbers:Numbers"),
    ("stepOut", "Program.Steps:Numbers counted"),
    ("next", "Program.Steps:Await"),
    ("stepIn", "Program.Later:Later"),         # not into the code that starts it
    ("next", "Program.Later:Later+1"),
    ("next", "Program.Later:Later+2"),         # behind the await, on another thread
    ("next", "Program.Later:Later+3"),
    ("next", "Program.Steps:Await"),           # where it is awaited
    ("next", "Program.Steps:Try"),
    ("next", "Program.Steps:Call of Fail"),
    ("next", "Program.Steps:Catch"),           # the call throws
    ("next", "Program.Steps:Catch+1"),
    ("next", "Program.Steps:Catch+2"),
    ("next", "Program.Steps:Done"),            # behind the handler, which the runtime leaves
]


# Out of the finally block of a method that called itself: into that of its caller, the same lines.
DEEP = [("next", "Program.Deep:Deep finally"), ("stepOut", "Program.Deep:Deep finally"), ("stepOut", "Program.Steps:Deep caught")]

# The same in a Release build and on another thread than the first, in Edited.Program.Released and what is called behind it. Its statements have no braces of their own.
RELEASED = [
    ("stepIn", "Program.Released:Used+1"),     # a handler that the method calls itself: where that has its first instruction is a place of the plugin's
    ("stepIn", "Program.Ending.Dispose:Dispose"),
    ("stepOut", "Program.Released:Used+1"),
    ("next", "Program.Released:Summed again"),
    ("stepIn", "Program.Numbers:Numbers+1"),
    ("stepIn", "Program.Numbers:Numbers+2"),   # the framework calls the iterator again, in a frame like the one that it left
    ("stepIn", "Program.Numbers:Numbers+3"),
    ("stepIn", "Program.Released:Summed again"),
    ("next", "Program.Released:Lambda again"),
    ("stepIn", "Program.Released:Lambda again+1"),
    ("stepOut", "Program.Released:Lambda again"),
    ("next", "Program.Released:Call of Break"),
    ("next", "Program.Released:When+1"),
    ("next", "Program.Released:Looped"),       # for the loop's sake the first code of a method counts its blocks, by calls
    ("next", "Program.Released:Call of Shared"),
    ("stepIn", "Program.Shared:Shared"),       # another thread has compiled it since the step began
    ("stepOut", "Program.Released:Call of Shared"),
    ("next", "Program.Released:Parallel"),
    ("stepIn", "Program.Released:Parallel"),   # its lambda
    ("next", "Program.Released:Released done"),   # through several methods of the framework
    ("next", "Program.Release:Call of Released"),
    ("next", "Program.Release:Call of Waits"),
    ("stepIn", "Program.Waits:Waits"),
    ("stepIn", "Program.Later:Later+1"),
    ("next", "Program.Later:Later+2"),         # behind the await, on another thread
    ("stepOut", "Program.Waits:Waits"),        # where it is awaited
    ("next", "Program.Waits:Waits+1"),
    ("next", "Program.Waits:Waits caught"),    # for the sake of its await the compiler has moved it behind the handler
    ("next", "Program.Waits:Waits caught+1"),
    ("next", "Program.Waits:None"),
    ("next", "Program.Waits:None called"),
    ("next", "Program.Waits:None called again"),
    ("stepIn", "Program.Waits:None+1"),   # a delegate calls a method that has its code already
    ("stepOut", "Program.Waits:None called again"),
    ("next", "Program.Waits:Waits+2"),
]

# Through a function pointer into a method that the call compiles, and into it again.
POINTERS = [
    ("stepIn", "Program.Doubled:Doubled"),
    ("stepOut", "Program.Pointers:Pointer"),
    ("next", "Program.Pointers:Pointer again"),
    ("stepIn", "Program.Doubled:Doubled"),
    ("stepOut", "Program.Pointers:Pointer again"),
    ("next", "Program.Pointers:Pointers done"),
]

# Into an iterator that the method was given.
PASSED = [
    ("stepIn", "Program.Numbers:Numbers"),
    ("stepOut", "Program.Passed:Each passed"),
    ("next", "Program.Passed:Each passed+1"),
    ("next", "Program.Passed:Each passed"),
    ("stepIn", "Program.Numbers:Numbers+2"),   # where it left
    ("stepOut", "Program.Passed:Each passed"),
]

# Into what the framework calls: all of it was compiled before.
STREAMS = [
    ("stepIn", "Program.Stream:Stream"),
    ("next", "Program.Stream:Stream+1"),
    ("next", "Program.Stream:Stream+4"),   # where the compiler has put what every `yield return` leaves by
    ("next", "Program.Streamed:Each streamed"),
    ("next", "Program.Streamed:Each streamed+1"),
    ("next", "Program.Streamed:Each streamed"),
    ("stepIn", "Program.Stream:Stream+2"),   # where it left
    ("next", "Program.Stream:Stream+3"),     # behind the await
    ("stepOut", "Program.Streamed:Each streamed"),
    ("next", "Program.Streamed:Each streamed+1"),
    ("next", "Program.Streamed:Each streamed"),
    ("next", "Program.Streamed:Given summed"),
    ("stepIn", "Program.Numbers:Numbers"),
    ("stepOut", "Program.Streamed:Given summed"),
    ("next", "Program.Streamed:Given counted"),
    ("stepIn", "Program.Numbers:Numbers"),
    ("next", "Program.Numbers:Numbers+1"),
    ("stepIn", "Program.Streams:Odd"),
    ("stepOut", "Program.Streamed:Given counted"),
    ("next", "Program.Streamed:Sorted"),
    ("stepIn", "Program.Ordered.CompareTo:CompareTo"),
    ("stepOut", "Program.Streamed:Sorted"),
    ("next", "Program.Streamed:Said"),
    ("stepIn", "Program.Ordered.ToString:ToString"),
    ("stepOut", "Program.Streamed:Said"),
    ("next", "Program.Streamed:Streamed done"),
]

# By the program's scene: the line from which on somebody steps, the steps, and the program's last words.
SCENES = {"pointers": ("Pointer", POINTERS, "pointers 12"), "passed": ("Each passed", PASSED, "passed 3"),
          "streams": ("Each streamed", STREAMS, "streams 7 key 1")}

# Into lines whose last call is of code without lines, which is compiled for it: where it returns to is the first instruction of the next line.
FILLED = [("stepIn", f"Program.Fill:Fill+{line}") for line in range(1, 7)]

FAULTS = [("next", f"Program.Faults:Faults+{line}") for line in range(1, 8)]

# Out of a handler within a handler, by the brace that a Debug build has.
NESTED = [(how, f"Program.Nested:{mark}") for how, mark in (("next", "Inner caught+1"), ("stepIn", "Behind inner"), ("next", "Behind inner+1"), ("next", "Nested done"))]
NESTED_RELEASED = [("next", "Program.Nested:Behind inner"), ("next", "Program.Nested:Nested done")]

# In a filter of a Debug build, where the `finally` blocks of the methods that the call has entered run next.
FILTERED = [
    ("next", "Program.Released:When"),
    ("next", "Program.Released:When"),         # the brace behind it
    ("next", "Program.Released:When+1"),
]


class Walk:
    """Steps by requests, of which no command tells the plugin, in a session that stands at a breakpoint."""

    def __init__(self, session, wrong, untouched=()):
        self.session, self.wrong, self.untouched = session, wrong, untouched
        self.names = {number: line.partition("// at: ")[2] for number, line in enumerate(SOURCE.read_text().splitlines(), 1)}

    def mark_of(self, place):
        function, _, line = place.rpartition(":")
        return f"{function.removeprefix('Edited.')}:{self.names.get(int(line), line)}"

    def go(self, steps):
        for how, wanted in steps:
            told = [number for number in self.session.told_of_breakpoints(how) if number in self.untouched]
            found = self.session.stopped_at(self.mark_of, wanted)
            if told:
                self.wrong.add("told of in the middle of a step: breakpoints to which nothing happened", f"{how} to {wanted}: {told}")
            expect(self.wrong, f"{how} to {wanted}", found, wanted)
            if found != wanted:
                break


def check_steps(adapter, plugin, program, environment):
    """Through stubs, behind an await and from the end of a method that has waited, and over calls that throw."""
    wrong = Examples()
    session = Session(adapter, plugin, environment)
    try:
        lines, _ = session.begin("launch", [{"line": line_of("Call of Steps")}, {"line": line_of("Interface")}, {"line": line_of("Deep throws")}], program=str(program), args=["steps"],
                                 env=[f"{key}={value}" for key, value in environment.items() if key.startswith("DOTNET_")])
        walk = Walk(session, wrong, [lines[0]["id"], lines[2]["id"]])
        session.stopped()
        # A breakpoint breaks this step off, and it waits below all others.
        walk.go([("next", "Program.Steps:Interface")])
        walk.go(STEPS)
        session.go("continue")
        session.stopped()
        session.set_breakpoints([])
        walk.go(DEEP)
        session.go("continue")
        session.client.event("exited", EVENT)
        expect(wrong, "the program's words", re.findall(r"steps (\d+ \d+)", session.output()), ["10 10"])
    except (DapError, KeyError, TypeError) as error:
        wrong.add("the session broke off", f"{type(error).__name__}: {error}")
    finally:
        session.client.close()
    return wrong.require_none(f"{len(STEPS) + len(DEEP) + 1} steps")


def check_scene(adapter, plugin, program, environment, place, scene, steps, words, kept=()):
    """`steps` from the line `place` on, which one of the program's scenes comes to; then it goes on to its end, where it says `words`. Breakpoints on the lines
    of `kept` are there all the time, and nothing is told of them in the middle of a step; without these there is none any more."""
    wrong = Examples()
    session = Session(adapter, plugin, environment)
    try:
        lines, _ = session.begin("launch", [{"line": line_of(mark)} for mark in (place, *kept)], program=str(program), args=[scene],
                                 env=[f"{key}={value}" for key, value in environment.items() if key.startswith("DOTNET_")])
        session.stopped()
        if not kept:
            session.set_breakpoints([])
        Walk(session, wrong, [line["id"] for line in lines] if kept else []).go(steps)
        session.go("continue")
        session.client.event("exited", EVENT)
        expect(wrong, "the program's words", words in session.output(), True)
    except (DapError, KeyError, TypeError) as error:
        wrong.add("the session broke off", f"{type(error).__name__}: {error}")
    finally:
        session.client.close()
    return wrong.require_none(f"{len(steps)} steps")


def check_fault(adapter, plugin, program, environment):
    """A step over a signal that managed code makes an exception of: the process stands for it, in the middle of the step, and has loaded types since."""
    return check_scene(adapter, plugin, program, environment, "Fault once", "fault", [("next", "Program.FaultOnce:Fault once+1")], "fault 2", ["Deep throws"])


def check_released(adapter, plugin, program, environment):
    """Steps in a Release build."""
    return check_scene(adapter, plugin, program, environment, "Used", "released", RELEASED, "released 48")


def check_attach(adapter, plugin, environment, running):
    """A process that waits, of which the client says no more than `plugin load`: its stacks at once, and breakpoints in code that has run already, and
    that was never called."""
    wrong, names = Examples(), []
    again, fresh = line_of("Again"), line_of("Fresh")
    # LLDB 19's own end of a session like this is a crash, with or without the plugin: it need not look for symbols for it.
    session = Session(adapter, plugin, {**environment, "LLVM_DISABLE_SYMBOLIZATION": "1"})

    def tell(line):
        running.process.stdin.write(line)
        running.process.stdin.flush()

    try:
        # LLDB 22 attaches with that breakpoint, which cannot be planted before it has attached.
        early = [f"breakpoint set --file Program.cs --line {again}"]
        session.begin("attach", [{"line": again}, {"line": fresh}], commands=early, pid=running.pid, stopOnEntry=True)
        session.client.event("stopped", EVENT)
        for thread in session.client.ask("threads")["threads"]:
            session.thread = thread["id"]
            names += [frame["name"] for frame in session.frames(100)]
        expect(wrong, "the program's method", "Edited.Program.Main(string[])" in names, True)
        tell(b"1\n")
        session.seen = len(session.client.events)   # all threads stopped when LLDB attached
        session.go("continue")
        for sent, expected in (b"22\n", f"Edited.Program.Again:{again}"), (b"", f"Edited.Program.Again:{again}"), (b"", f"Edited.Program.Fresh:{fresh}"):
            expect(wrong, "a stop", session.stopped_at(str, expected), expected)
            expect(wrong, "its values", "size" in session.locals()[0], True)
            tell(sent)
            session.go("continue")
        running.wait_for(b"told 13")
        session.client.ask("disconnect", terminateDebuggee=False)
        tell(b"333\n")
        running.wait_for(b"told 17")
    except (DapError, KeyError, TypeError, TimeoutError) as error:
        wrong.add("the session broke off", f"{type(error).__name__}: {error}")
    finally:
        session.client.close()
    return wrong.require_none(f"{len(names)} frames")
