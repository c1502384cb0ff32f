#!/usr/bin/env python3
"""Times of `clrbt all` beside LLDB's own `bt all`, each in an LLDB of its own on the same core (or live process).

    bench_bt.py --plugin PLUGIN (--core FILE | --pid N) [--rounds N] [--lldb LLDB]

Every round starts two LLDBs, one for each command, in turns; each command runs twice there: cold and warm. Printed
is the minimum of all rounds, in milliseconds, with the lines that the command printed. Figures, not tests.
"""
import argparse
import tempfile

from in_lldb import figures

# Runs inside LLDB. The command's own time only: the target is loaded, its output is a string.
INSIDE = """
import json, lldb, os, time
def measure(command):
    result = lldb.SBCommandReturnObject()
    start = time.perf_counter()
    lldb.debugger.GetCommandInterpreter().HandleCommand(command, result)
    seconds = time.perf_counter() - start
    if not result.Succeeded(): raise SystemExit(result.GetError())
    return [seconds * 1000, result.GetOutput().count("\\n")]
command = os.environ["BENCH_COMMAND"]
figures = [measure(command), measure(command)]
json.dump(figures, open(os.environ["BENCH_OUT"], "w"))
"""


def run(options, command, folder):
    target = f"target create --core {options.core}" if options.core else f"process attach --pid {options.pid}"
    after = [] if options.core else ["process detach"]
    return figures(options.lldb, [f"plugin load {options.plugin}", target], INSIDE, after, command, folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--core")
    parser.add_argument("--pid")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--lldb", default="lldb-19")
    options = parser.parse_args()
    if bool(options.core) == bool(options.pid):
        parser.error("one of --core and --pid")
    best = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):
            for command in ("bt all", "clrbt all"):
                figures = run(options, command, folder)
                known = best.setdefault(command, figures)
                best[command] = [min(pair) for pair in zip(known, figures)]
    for command, (cold, warm) in best.items():
        print(f"{command:<10} {cold[0]:9.1f} ms cold {warm[0]:9.1f} ms warm {cold[1]:8} lines")
    print(f"clrbt all / bt all: {best['clrbt all'][0][0] / best['bt all'][0][0]:.2f} cold, "
          f"{best['clrbt all'][1][0] / best['bt all'][1][0]:.2f} warm")


if __name__ == "__main__":
    main()
