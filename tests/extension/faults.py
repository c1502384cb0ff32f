"""A fault at each way in from LLDB, by LLDB_CLR_FAIL_AT (extension/door/faults.h): LLDB stays alive, its own command still answers, and the
fault is told."""
import os
import pathlib

import dotnet_process
from lldb_driver import Died

PYTHON = pathlib.Path(__file__).resolve().parent.parent.parent / "python"
TEXTS = {"bad_alloc": "out of memory", "other": "unknown failure"}


def told(way, text):
    return rf"lldb-clr: a call of LLDB's \({way}\) was not handled: {text}"


def ways(pid, compiler):
    """Way, commands, what is expected of their texts: (number of the command, patterns); {} is the fault's text."""
    attach = f"process attach --pid {pid}"
    counted = "calls of LLDB's were not handled"
    yield "command", ["clr info", "clrbt", "version"], {0: "^error: {}$", 1: "^error: {}$", 2: "lldb version"}
    yield "override", [attach, "bt", "clr publish status", "detach"], {1: r"frame #0", 2: counted}
    yield "summary", [attach, "expression typedef struct {{ int _flags; }} decimal; decimal d = {{ 3 }}; d",
                      "expression struct S {{ int n; int data[]; }}; *(struct S*)$sp", "detach"], {1: "_flags = 3", 2: "n = "}
    yield "script", [attach, f"script import sys; sys.path.insert(0, {str(PYTHON)!r}); import lldb_clr",
                     "script print(lldb_clr.Runtime(lldb.target))", "version", "detach"], {2: "Error: .*{}", 3: "lldb version"}
    if compiler:
        dotnet, *arguments = compiler
        launch = ["script lldb.debugger.SetAsync(False)", f'target create "{dotnet}"', "breakpoint set -n NoSuchMethodAnywhere", "breakpoint set -n exit",
                  "process launch -n -- " + " ".join(arguments)]
        yield "compile_hook", [*launch, "clr publish status", "version"], {5: counted, 6: "lldb version"}
        # Without its hook the plugin cannot go on from a stop of its own that LLDB 14 shows when two threads come to one at once: not always is it in `exit`.
        yield "stop_hook", [*launch, "bt", "thread step-inst", "bt", "clr publish status"], {5: "frame #0", 7: "frame #0", 8: counted}


def check(driver, report, tag, library):
    with dotnet_process.running(["sleep", "300"], settle=0.3) as native:
        command = dotnet_process.compiler_server("faults")
        managed = dotnet_process.running(command) if command else None
        server = managed.__enter__() if managed else native
        try:
            for way, commands, expected in ways(server.pid, dotnet_process.short_program()):
                for kind, text in TEXTS.items():
                    one(driver, report, f"{tag} fault at {way}:{kind}", way, kind, text, commands, expected, library)
        finally:
            if managed:
                managed.__exit__(None, None, None)
    for kind in TEXTS:
        texts = at(driver, "load", kind, ["version", "clr info"], library)
        report.check(f"{tag} fault at load:{kind}", driver.load_text + "\n" + "\n".join(texts), told("load", TEXTS[kind]), "lldb version", "is not a valid command")


def at(driver, way, kind, commands, library):
    # The Python inside LLDB is the system's; it looks for its modules beside the first python3 of PATH, which may be another.
    environment = {"LLDB_CLR_FAIL_AT": f"{way}:{kind}", "LLDB_CLR_LIBRARY_DIR": str(library), "PATH": os.pathsep.join(["/usr/bin", os.environ["PATH"]])}
    return driver.run([c.replace("{{", "{").replace("}}", "}") for c in commands], 300, environment=environment)


def one(driver, report, name, way, kind, text, commands, expected, library):
    try:
        texts = at(driver, way, kind, commands, library)
    except Died as error:
        report.fail(name, str(error))
        return
    whole = "\n".join(texts)
    patterns = [] if way in ("command", "script") else [told(way, text)]
    report.check(name, whole, *patterns)
    for number, pattern in expected.items():
        report.check(f"{name}: {commands[number][:40]}", texts[number], pattern.replace("{}", text))
