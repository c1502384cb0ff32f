"""Checks whose difference is known and explained. A check named here that fails is counted as skipped, with the reason, and is listed in
the table at the end of a run; one that passes is counted as passed. An entry is removed with the difference."""
import fnmatch

KNOWN = [
    ("variants/self-contained-8.0.0/*", ".NET 8 publishes no data descriptor: not supported, and said so by name"),
    ("variants/self-contained-9.0.22/*", ".NET 9 publishes no precode and code version contracts: stubs and tiers are not known there"),
    ("situations/*/in-catch*", "frames between a catch handler and its method are still on the stack; StackTrace leaves them out"),
    ("situations/*/*in-catch/*", "frames between a catch handler and its method are still on the stack; StackTrace leaves them out"),
    ("situations/*/nested-catch/*", "frames between a catch handler and its method are still on the stack; StackTrace leaves them out"),
    ("situations/*/in-finally*", "frames between a finally handler and its method are still on the stack; StackTrace leaves them out"),
    ("situations/*/crash-in-*", "frames between a handler and its method are still on the stack; StackTrace leaves them out"),
    ("situations/*/in-filter/*", "the offset of a frame of the runtime's own exception dispatch is that of its P/Invoke label"),
    ("situations/*/stack-overflow*", "the runtime reports the overflow from a signal stack whose way back has no unwind information"),
    ("situations/*/async-resumed/*", "StackTrace names another MethodDesc of the same shared generic method"),
    ("stepping/*", "single steps are checked where LLDB accepts the command of its version"),
]

# The report of a program is written before it has reached its place; under load the stop may come first.
RACES = ["its first frame is nowhere on our stack", "x miss no_method"]


def reason_for(name, text):
    for pattern, reason in KNOWN:
        if fnmatch.fnmatchcase(name, pattern):
            return reason
    if text.count("\n    ") and all(any(race in line for race in RACES) or line.startswith("      ") for line in text.split("\n    ")[1:]):
        return "the program had not come to its place, or compiled a method after the core was taken"
    return None
