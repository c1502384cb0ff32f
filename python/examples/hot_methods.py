#!/usr/bin/env python3
"""Which managed methods are hot in a profile: addresses as `perf script -F ip` prints them, named by a core of the process. Needs no LLDB.

    perf record -p PID ...; gcore PID; perf script -F ip | hot_methods.py core.PID [--top N]

Takes the first address of each line of the input; other lines are counted and left out. Prints count, percent, tier, method.
"""
from __future__ import annotations

import argparse
import pathlib
import re
import sys
from collections import Counter
from typing import Iterable, Iterator, List, Tuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import lldb_clr

ADDRESS = re.compile(r"\s*(?:0x)?([0-9a-f]{1,16})\b")


class Samples:
    def __init__(self, lines: Iterable[str]) -> None:
        self.counts: Counter[int] = Counter()
        self.left_out = 0
        for line in lines:
            found = ADDRESS.match(line)
            if found:
                self.counts[int(found.group(1), 16)] += 1
            elif line.strip():
                self.left_out += 1

    @property
    def total(self) -> int:
        return sum(self.counts.values())


def by_owner(runtime: lldb_clr.Runtime, samples: Samples) -> Iterator[Tuple[str, str, int]]:
    """(kind, name, count) of every address."""
    for symbol in runtime.symbolize(samples.counts):
        owner = symbol.owner
        if isinstance(owner, lldb_clr.Method) and owner.code:
            kind = owner.code.tier or owner.code.kind
        else:
            kind = "-"
        yield kind, symbol.name.partition(" + ")[0], samples.counts[symbol.address]


def report(runtime: lldb_clr.Runtime, samples: Samples, top: int) -> List[str]:
    rows: Counter[Tuple[str, str]] = Counter()
    for kind, name, count in by_owner(runtime, samples):
        rows[kind, name] += count
    lines = [f"{count:8} {100 * count / samples.total:6.2f}%  {kind:<12} {lldb_clr.printable(name)}" for (kind, name), count in rows.most_common(top)]
    return [*lines, f"{samples.total} samples, {len(rows)} functions, {samples.left_out} lines left out"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("core")
    parser.add_argument("--top", type=int, default=20)
    options = parser.parse_args()
    try:
        print("\n".join(report(lldb_clr.open_core(options.core), Samples(sys.stdin), options.top)))
    except lldb_clr.Error as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
