"""The runtime's perf map (DOTNET_PerfMapEnabled=3) as truth about jitted code."""
import collections
import re

import names

TIERS = {"QuickJitted": "tier0", "OptimizedTier1": "tier1", "OptimizedTier1OSR": "osr", "Optimized": "optimized",
         "MinOptJitted": "minopts", "InstrumentedTier": "instrumented", "InstrumentedTierOptimized": "instrumented_optimized"}
# Tiers that the JIT decides alone: they have no version node, and the runtime keeps no trace of them.
UNKNOWABLE = {"optimized", "minopts", "tier0"}
# Of ReadyToRun code, which the runtime's own maps do not list; clr perfmap does.
PRECOMPILED = ("[PreJIT]", "[PreJit-cold]")

LINE = re.compile(r"^0x([0-9a-f]+) ([0-9a-f]+) (.*)$")

Line = collections.namedtuple("Line", "start size text tier method")


def read(path):
    """(method lines in the order of the file, number of damaged lines). A name outside ASCII is written as cut UTF-16
    without its newline: that line and the one glued to it are damaged."""
    lines, damaged = [], 0
    with open(path, "rb") as f:
        for raw in f.read().split(b"\n"):
            if not raw:
                continue
            try:
                text = raw.decode("ascii")
            except UnicodeDecodeError:
                damaged += 2
                continue
            m = LINE.match(text)
            if not m or " 0x" in m[3] and re.search(r"0x[0-9a-f]{8,} [0-9a-f]+ ", m[3]):
                damaged += 1
                continue
            if re.match(r"stub( |<\d+> )", m[3]):   # .NET 10, .NET 9
                continue
            method = names.parse_perf(m[3])
            lines.append(Line(int(m[1], 16), int(m[2], 16), m[3], TIERS.get(method.suffix), method))
    return lines, damaged


def alive(lines):
    """Lines whose memory no later line took, sorted; and those that lost it."""
    kept, dead = {}, []
    import bisect
    starts = []
    for line in lines:
        at = bisect.bisect_left(starts, line.start)
        first = at
        while first > 0 and starts[first - 1] + kept[starts[first - 1]].size > line.start:
            first -= 1
        last = at
        while last < len(starts) and starts[last] < line.start + line.size:
            last += 1
        for s in starts[first:last]:
            dead.append(kept.pop(s))
        starts[first:last] = [line.start]
        kept[line.start] = line
    return [kept[s] for s in starts], dead
