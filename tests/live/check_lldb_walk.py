"""`next` along the lines of one method (Steps.cs) against the log that they write: each line that runs is stopped at before it runs, once and in its
order, and nowhere else but at lines without an entry of the same method. What the method calls is compiled in between; where it waits it is gone
on with by another thread, while other runs of the same method do so too."""
import array
import pathlib
import re

import check_lldb_step
from results import Examples

# Where a method is awaited, and how the line reads at which a step out of it ends.
AWAITED = {"Part": ("Total", "await Part("), "Early": ("Late", "await started"), "Brief": ("TooLate", "started")}
WAITED_FOR = ("Total", "Streams", "Starts")
SOURCE = pathlib.Path(__file__).resolve().parent / "programs" / "debugged" / "Steps.cs"


def lines_of(method):
    """First and last line of a method."""
    lines = SOURCE.read_text().splitlines()
    first = next(i for i, line in enumerate(lines, 1) if re.search(rf"\b{method}\(\w+( \w+)?.*\)$|\b{method}\(\)$", line) and line.startswith("    p"))
    last = next(i for i, line in enumerate(lines[first:], first + 1) if line == "    }")
    return first, last


def entries_of(log):
    numbers = array.array("i", pathlib.Path(log).read_bytes()[:1 << 20])
    return list(numbers[:numbers.index(0)])


def stands_at_await(method, row, source):
    """Whether a thread stands where `method` is awaited."""
    caller, text = AWAITED[method]
    return f".{caller}(" in (row["function"] or "") and text in source[row["line"] or 0]


def check_finish(lldb, target, method, log):
    """`finish` at the first line of a method that waits: ends in the line that awaits it."""
    first, last = lines_of(method)
    rows = check_lldb_step.drive(lldb, target, f"drive-walk {log} Debugged.Steps.{method} finish", seconds=200)
    source, entries = [""] + SOURCE.read_text().splitlines(), entries_of(log)
    wrong, end = Examples(), rows[-1]
    what = f"{len(rows)} stops, the last in {end.get('function')} line {end.get('line')}, {end.get('log')} entries, {end.get('description')}"
    if len(rows) != 2 or end["state"] != "stopped" or not stands_at_await(method, end, source):
        wrong.add("another end than the line that awaits", what)
    else:
        ran = [line for line in entries[rows[0]["log"]:end["log"]] if first <= line <= last]
        wanted = [number for number, text in enumerate(source) if first <= number <= last and "At()" in text]
        if "false" in source[end["line"]]:   # that call does not wait
            wanted = [number for number in wanted if "await" not in source[number]]
        if ran != wanted:
            wrong.add("another number of lines ran", f"{what}: {ran}")
    return wrong.require_none(what)


def check(lldb, target, method, log):
    first, last = lines_of(method)
    # Where a method ends for which a thread waits, nobody goes on that could be shown.
    until = f"{last}" if method in WAITED_FOR else ""
    rows = check_lldb_step.drive(lldb, target, f"drive-walk {log} Debugged.Steps.{method} next {until}", seconds=200)
    source, entries, wrong, before, stops = [""] + SOURCE.read_text().splitlines(), entries_of(log), Examples(), None, 0
    for number, row in enumerate(rows):
        what = f"stop {number}: {row.get('function')} line {row.get('line')}, {row.get('log')} entries, {row.get('description')}"
        if row["state"] != "stopped":
            wrong.add("the process is lost", f"{what} {row['text']}")
            break
        if f".{method}" not in (row["function"] or ""):
            if number == len(rows) - 1 and number > 0 and rows[number - 1]["line"] == last and (row["line"] or not row["function"]):
                if method in AWAITED and not stands_at_await(method, row, source):
                    wrong.add("left for another line than the one that awaits it", what)
                break   # left behind the last line
            wrong.add("a stop outside of the method", what)
            break
        if number == 0 and row["places"] != 1:
            wrong.add("the name means another number of places", f"{what}: {row['places']}")
        if not row["line"] or not first <= row["line"] <= last:
            wrong.add("a stop without a line of the method", what)
            continue
        stops += 1
        logs = "At()" in source[row["line"]]
        if logs and (row["log"] >= len(entries) or entries[row["log"]] != row["line"]):
            wrong.add("a line that does not run next", f"{what}; next is {entries[row['log']:][:1]}")
        if before is not None:
            ran = [line for line in entries[before["log"]:row["log"]] if first <= line <= last]
            wanted = [before["line"]] if "At()" in source[before["line"]] else []
            if ran != wanted:
                wrong.add("another number of lines ran", f"{what}, from line {before['line']}: {ran}")
        before = row
    refused = [text for text in lldb.errors.splitlines() if "failed to set breakpoint site" in text]
    if refused:
        wrong.add("places that could not be written", refused[0])
    told = {line for line in entries[rows[0].get("log", 0):rows[-1].get("log", 0)] if first <= line <= last}
    seen = {row.get("line") for row in rows}
    if told - seen:
        wrong.add("lines were passed by", f"{sorted(told - seen)} of {method}")
    return wrong.require_none(f"{stops} stops, {len(told)} lines, {len({row.get('thread') for row in rows})} threads")
