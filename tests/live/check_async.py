"""Async methods that wait: every chain that the program says it has, complete, in order, with the lines of its awaits; and no other."""
import collections
import json
import pathlib
import re
import subprocess
import sys

from processes import HERE

sys.path.insert(0, str(HERE.parent / "python"))
from json_schema import Schema   # noqa: E402

SCHEMA = HERE.parent.parent / "python" / "docs" / "schema.json"
SOURCES = HERE / "programs" / "waits"
# `line //@ CHAIN:INDEX METHOD [= KIND]`, see Program.cs.
MARK = re.compile(r"//@ ([\w-]+):(\d+)(?:-(\d+))? ([^=\s]+)(?: = (\w+))?")
# Chains whose last method a thread waits for.
BY_THREAD = "thread-"

MODES = {"debug": ("Debug", {}), "release": ("Release", {}), "release-optimized": ("Release", {"TieredCompilation": 0, "ReadyToRun": 0})}


def known_chains():
    """chain -> ([(method, file, line)] from the first one on, kind)."""
    frames, kinds = collections.defaultdict(dict), {}
    for path in sorted(SOURCES.glob("*.cs")):
        for number, text in enumerate(path.read_text().splitlines(), 1):
            for chain, first, last, method, kind in MARK.findall(text):
                for index in range(int(first), int(last or first) + 1):
                    assert index not in frames[chain], f"{chain}:{index} is marked twice"
                    frames[chain][index] = (method, path.name, number)
                if kind:
                    kinds[chain] = kind
    chains = {}
    for chain, by_index in frames.items():
        # A first method that is none of the program's has no mark.
        chains[chain] = ([by_index[i] for i in sorted(by_index)], kinds.get(chain))
    return chains


def told_by(running):
    return json.loads(next(line for line in running.output.decode().splitlines() if line.startswith("{")))


def method_of(frame):
    method = frame["method"]
    name = (method.get("user_method") or method)["full_name"]
    # A lambda is marked with the method around it, a local function too.
    return re.sub(r"\(.*", "", name)


def frames_of(stack):
    """The program's own methods of a stack."""
    return [(method_of(f), pathlib.Path(f["source"]["file"]).name, f["source"]["line"]) for f in stack["frames"]
            if f.get("source", {}).get("file") and pathlib.Path(f["source"]["file"]).parent.name == "waits"]


def check(lldb, target, running):
    chains, told = known_chains(), told_by(running)
    assert set(chains) >= set(told["chains"]), set(told["chains"]) - set(chains)
    merged, each, faulted = lldb.json(target, ["clr async --json", "clr async --json --each", "clr async --json --faulted"])
    schema = Schema(SCHEMA)
    wrong = [p for answer in (merged, each, faulted) for p in schema.problems("clr async", answer)]
    assert not wrong, wrong[:5]
    wanted = collections.Counter()
    for name, count in told["chains"].items():
        frames, kind = chains[name]
        wanted[(tuple(frames), kind, name.startswith(BY_THREAD))] += count
    for stacks, name in ((each["stacks"], "--each"), (merged["stacks"], "merged")):
        found = collections.Counter()
        for stack in stacks:
            frames = tuple(frames_of(stack))
            if not frames:
                assert stack["plumbing"], stack
                continue
            # What is waited for is marked where the first method is the program's, or stands for it.
            kind = stack["waits_for"]["kind"]
            marked = [k for f, k, _ in wanted if f == frames]
            kind = kind if kind in marked or not marked or marked[0] is not None else None
            found[(frames, kind, stack["kept_by"]["kind"] == "thread")] += stack["count"]
        missing, invented = wanted - found, found - wanted
        assert not missing and not invented, f"{name}: missing {list(missing.items())[:3]}, invented {list(invented.items())[:3]}"
    forgotten = sorted(t["exception"]["message"].strip('"') for t in faulted["faulted"] if not t["observed"])
    assert forgotten == sorted(told["faulted"]), forgotten
    lines = sum(len(frames_of(s)) for s in each["stacks"])
    return f"{sum(told['chains'].values())} chains of {len(told['chains'])} kinds, {lines} lines"
