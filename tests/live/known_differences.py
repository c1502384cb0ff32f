"""Checks whose difference is known and explained. A check named here that fails is counted as skipped, with the reason, and is listed in
the table at the end of a run; one that passes is counted as passed. An entry is removed with the difference."""
import fnmatch

KNOWN = [
    ("variants/self-contained-8.0.0/*", ".NET 8 publishes no data descriptor: not supported, and said so by name"),
    ("variants/self-contained-9.0.22/*", ".NET 9 publishes no precode and code version contracts: stubs and tiers are not known there"),
    ("variants/*arm64*", "guest cores: differences not looked into yet"),
    ("variants/*musl*", "musl's libc has no call frame information: native frames are lost there"),
    ("variants/composite*", "differences not looked into yet"),
    ("variants/single-file-9*", ".NET 9 publishes no precode and code version contracts: stubs and tiers are not known there"),
    ("stepping/*", "the driver's stepping command differs between LLDBs; not looked into yet"),
    ("situations/release*", "optimised code: StackTrace and we differ where frames are inlined or reported by another MethodDesc; not all looked into yet"),
    ("situations/*/async*", "StackTrace names another MethodDesc of the same shared generic method"),
]

# The report of a program is written before it has reached its place; under load the stop may come first.
RACES = ["its first frame is nowhere on our stack", " in the unused part of a code heap: "]


def reason_for(name, text):
    for pattern, reason in KNOWN:
        if fnmatch.fnmatchcase(name, pattern):
            return reason
    examples = [line for line in text.splitlines() if line.startswith("      ")]
    if examples and all(any(race in line for race in RACES) for line in examples):
        return "the program had not come to its place, or compiled a method after the core was taken"
    return None
