"""Breakpoints of LLDB's own on managed code against the program's counters: each is hit exactly as often as the program says that the code ran."""
import json
import pathlib
import re
import struct

import check_lldb_step
import processes
from results import Examples

SOURCE = processes.PROGRAMS / "debugged" / "Breaks.cs"
# command -> slots whose counts its hits add up to. LINE stands for the line that ends in `at: SLOT`.
SPECS = {
    "b Breaks.cs:LINE(Plain)": ["Plain"],
    "b Breaks.Plain": ["Plain"],
    "b Debugged.Breaks.Plain": ["Plain"],
    "b Plain": ["Plain"],
    "b Breaks.cs:LINE(Hot)": ["Hot"],
    "b Breaks.Hot": ["Hot"],
    "b Breaks.cs:LINE(Osr)": ["Osr"],
    "b Breaks.cs:LINE(Generic)": ["Shared", "Value"],
    "b Debugged.Breaks.Generic.Take": ["Shared", "Value"],
    "b Breaks.cs:LINE(Nested)": ["Nested"],
    "b Breaks.cs:LINE(Lambda)": ["Lambda"],
    "b Breaks.cs:LINE(Local)": ["Local"],
    "b Breaks.cs:LINE(Async)": ["Async"],
    "b Breaks.cs:LINE(Iterator)": ["Iterator"],
    "b Breaks.Late.Method": ["Late"],
    "b Breaks.cs:LINE(LateLine)": ["LateLine"],
    "breakpoint set --name Breaks.Over": ["OverInt", "OverString"],
    'breakpoint set --name "Debugged.Breaks.Over(string)"': ["OverString"],
    r"breakpoint set --func-regex Breaks\.Match(One|Two)": ["MatchOne", "MatchTwo"],
    "b Debugged.Breaks.Built..ctor": ["Constructor"],
    "b Breaks.Built.get_Value": ["Getter"],
    "b Breaks.Pair.Sum": ["Struct"],
    "b Breaks.IDefault.Default": ["Default"],
    "b Breaks.Built.op_Addition": ["Operator"],
    "b Breaks.First.Virtual": ["Virtual/2"],
    "b Breaks.Called": ["Delegate"],
    "b Breaks.cs:LINE(Finally)": ["Finally"],
    "b Breaks.cs:LINE(Null)": ["Null"],
    "b Breaks.cs:LINE(Threads)": ["Threads"],
    r"breakpoint set --func-regex Breaks\.Meet<": ["Meeting"],
    "b Breaks.Late..cctor": ["StaticConstructor"],
    'breakpoint set --name "System.Convert.ToBase64String(byte[])"': ["R2r"],
    'breakpoint set --name "System.Version.Parse(string)"': ["R2rHot"],
}
# The runtime tells of methods that these may mean; of a regular expression's it cannot.
TOLD = {spec: wanted for spec, wanted in SPECS.items() if "regex" not in spec}
MOST_STOPS = 200


def line_of(slot, source=SOURCE):
    for number, line in enumerate(source.read_text().splitlines(), 1):
        if re.search(rf"// at: .*\b{re.escape(slot)}(?![\w-])", line):
            return number
    raise AssertionError(f"no line of {source.name} says `at: {slot}`")


def slots(output):
    return {m[2]: int(m[1]) for m in re.finditer(r"^(\d+) (\w+)$", output.decode(), re.M)}


def counted(counts, names, wanted):
    total = 0
    for slot in wanted:
        name, _, part = slot.partition("/")
        total += counts[names[name]] // int(part or 1)
    return total


def check(lldb, target, running, file, folder, chosen=None, seconds=90):
    names = slots(running.output)
    specs = {re.sub(r"LINE\((\w+)\)", lambda m: str(line_of(m[1])), text): wanted for text, wanted in (chosen or SPECS).items()}
    plan = folder / "plan.json"
    plan.write_text(json.dumps({"file": str(file), "flag": names["Go"], "specs": list(specs), "stops": MOST_STOPS, "seconds": seconds}))
    rows = check_lldb_step.drive(lldb, target, f"drive-breaks {plan}", seconds=seconds + 60)
    counts = struct.unpack("<64q", file.read_bytes()[:512])
    end = rows[-1]
    wrong, hits = Examples(), 0
    for row in rows:
        if "spec" not in row:
            continue
        expected = counted(counts, names, specs[row["spec"]])
        if not expected:
            wrong.add("the program did not come there", row["spec"])
        if row["hits"] != expected:
            wrong.add("hits", f"{row['spec']}: {row['hits']} for {expected}, {row['resolved']} of {row['locations']} places")
        hits += row["hits"]
    for row in rows:
        if "set" in row and row["locations"] is None:
            wrong.add("no breakpoint", f"{row['set']}: {row['text'].strip()[:200]}")
    for stop in end["stops"]:
        wrong.add("a stop that nobody asked for", f"{stop['description']} in {stop['function']}")
    # A third of the time LLDB's debug server cannot resume a .NET process that is about to end, without any plugin or breakpoint too.
    ended = end["end"] == "exited" and (end["exit"] == 0 or end["why"] == "lost connection")
    if not ended or not counts[names["Done"]]:
        wrong.add("the process did not run to its end", f"{end['end']}, exit status {end['exit']} ({end['why']}), done {counts[names['Done']]}")
    told = not any("regex" in spec for spec in specs)
    if end["told"] != told:
        wrong.add("the runtime tells of methods" if end["told"] else "the runtime was not heard", f"{end['compilations']} compilations stopped")
    places = sum(row["locations"] for row in rows if "spec" in row)
    assert hits, "no breakpoint was hit: " + "; ".join(f"{r['set']}: {r['text'].strip()[:100]}" for r in rows if "set" in r)[:2000]
    return wrong.require_none(f"{hits} hits of {len(specs)} breakpoints at {places} places, {end['compilations']} stops for new code, {end['seconds']:.1f} s")


# Jitted methods of the program's and of the framework's, on many pages.
PATTERNS = (r"Debugged\.", r"^System\.", ".")
NATIVE = "^__cxa_throw$"


def check_pattern(lldb, target):
    """Breakpoints by regular expressions are planted when they are set, whatever page their code is on, and native ones touch no page."""
    commands = [f"breakpoint set -s libstdc++.so.6 -r {NATIVE}"]
    commands += [f"breakpoint set -s {module} -r {pattern}" for pattern in PATTERNS for module in ("debugged.dll", "System.Private.CoreLib.dll")]
    wrong, places = Examples(), 0
    for command, text in zip(commands, lldb.run(target, commands)):
        if "failed to set breakpoint site" in text:
            wrong.add("a place was not planted", f"{command}: {text.strip()[:300]}")
        if "made writable" in text and NATIVE in command:
            wrong.add("pages were changed for native code", text.strip()[:300])
        found = re.search(r"(\d+) locations|(where = )", text)
        places += int(found[1] or 1) if found else 0
    assert places > len(commands), "the breakpoints have no places"
    return wrong.require_none(f"{places} places of {len(commands)} breakpoints")
