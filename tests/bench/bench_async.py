#!/usr/bin/env python3
"""Times of `clr async` beside the heap pass of `clr heap`, each in an LLDB of its own on the same core.

    bench_async.py --plugin PLUGIN --core FILE [--rounds N] [--lldb LLDB]

Every round starts two LLDBs, one for each command, in turns; each command runs once there, in a new session. Printed is the minimum of all
rounds, in milliseconds, with the tasks and frames of the chains, and what the bar of `clr async` allows: 1.2 times the heap pass, 300 ms, and
10 us a frame of a chain. Figures, not tests.
"""
import argparse
import json
import tempfile

from in_lldb import figures

# Runs inside LLDB. The command's own time only: the target is loaded, its output is a string.
INSIDE = """
import json, lldb, os, time
result = lldb.SBCommandReturnObject()
start = time.perf_counter()
lldb.debugger.GetCommandInterpreter().HandleCommand(os.environ["BENCH_COMMAND"], result)
seconds = time.perf_counter() - start
if not result.Succeeded(): raise SystemExit(result.GetError())
json.dump([seconds * 1000, result.GetOutput()], open(os.environ["BENCH_OUT"], "w"))
"""


def run(options, command, folder):
    return figures(options.lldb, [f"plugin load {options.plugin}", f"target create --core {options.core}"], INSIDE, [], command, folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--core", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--lldb", default="lldb-19")
    options = parser.parse_args()
    best = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):
            for command in ("clr heap --json", "clr async", "clr async --json"):
                milliseconds, text = run(options, command, folder)
                best[command] = min(best.get(command, milliseconds), milliseconds)
                if command == "clr async --json":
                    stacks = json.loads(text)["stacks"]
    chains = sum(s["count"] for s in stacks)
    frames = sum(s["count"] * len(s["frames"]) for s in stacks)
    for command, milliseconds in best.items():
        print(f"{command:<16} {milliseconds:9.1f} ms")
    allowed = 1.2 * best["clr heap --json"] + 300 + frames / 100
    print(f"{chains} chains, {frames} frames; allowed {allowed:.0f} ms")


if __name__ == "__main__":
    main()
