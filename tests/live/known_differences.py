"""Differences that are understood, and outside of this project's power. A check named here that fails with differences of the named kinds only
is counted as skipped, with the reason, and is listed in the table at the end of a run; any other kind of difference fails it. One that passes
is counted as passed. An entry is removed with the difference."""
import fnmatch
import re

MADE_UP_FRAME = "the runtime handles a stack overflow on another stack, below a frame that it makes up: LLDB finds the code through it, "

# (names of checks, kinds of difference as results.Examples prints them, reason)
KNOWN = [
    ("variants/self-contained-9.0.22/perfmap/*", r"tier None for (tier1|osr|instrumented|instrumented_optimized)",
     ".NET 9 publishes no contract CodeVersions: the tier of a body is not known there, and said to be unknown"),
    ("variants/self-contained-9.0.22/events/*", r"entry point: miss stub",
     ".NET 9 publishes no contract PrecodeStubs: a precode is named as such, not by its method"),
    ("variants/musl-x64/stacks/*", r"the walk ended early in (ld-musl-x86_64\.so\.1|libc\.so), which has no unwind information",
     "this distribution's musl has neither call frame information nor frame pointers: nothing leads from its start-up code and waits to their callers"),
    ("situations/*/stack-overflow/lldb/core", r"stack pointer", MADE_UP_FRAME + "with a stack pointer on that stack"),
    ("lldb/versions/14/breaks", r"a stop that nobody asked for",
     "LLDB 14 stops at breakpoints that let the process go on, when they lie on neighbouring instructions; in native code too"),
]


def reason_for(name, text):
    kinds = re.findall(r"^ +\d+ x (.*)$", text, re.MULTILINE)
    for pattern, known, reason in KNOWN:
        if kinds and fnmatch.fnmatchcase(name, pattern) and all(re.fullmatch(known, kind) for kind in kinds):
            return reason
    return None
