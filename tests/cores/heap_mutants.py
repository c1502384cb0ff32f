#!/usr/bin/env python3
"""Asks everything about the heaps and objects of damaged copies of the recorded cores that hold the managed heap, by the tool heap_mutants.

    heap_mutants.py build/tests/heap_mutants [--count 500] [--core FILE]...     --core: other cores that hold a heap, of real processes
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "live"))

from results import Results   # noqa: E402
from run_cores import unpack   # noqa: E402

CORES = ("waiting-x64", "suspended-x64")


def check(tool, core, count):
    done = subprocess.run([tool, core, str(count)], capture_output=True, text=True)
    # The last line of the errors names the mutant that ended it.
    assert done.returncode == 0, f"exit code {done.returncode}: {done.stderr[-1500:]}"
    return done.stdout.splitlines()[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("--core", action="append", default=[])
    parser.add_argument("--count", type=int, default=40, help="mutants of each core")
    options = parser.parse_args()
    results = Results()
    with tempfile.TemporaryDirectory(prefix="lldb-clr-heap-mutants-") as folder:
        cores = options.core or [unpack(HERE / f"{name}.core.xz", pathlib.Path(folder)) for name in CORES]
        for core in cores:
            results.check(f"heap-mutants/{pathlib.Path(core).stem}", check, options.tool, core, options.count)
    return results.summary()


if __name__ == "__main__":
    sys.exit(main())
