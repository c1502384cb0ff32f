#!/usr/bin/env python3
"""Replays the recorded cores of this folder: the plugin must say of each what NAME.expected.json holds, and its stacks must be those that the
program itself reported (NAME.report.xz). No .NET, none of the program's files.

    run_cores.py [--plugin build/liblldb-clr.so] [--lldb DRIVER] [--write]      --write renews NAME.expected.json from what is answered now

The last line is `N passed, N failed, N skipped`.
"""
import argparse
import json
import lzma
import pathlib
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "live"))

import check_async
import check_page
import check_stacks
import net11_values
from plugin import Lldb, Target
from processes import Unavailable
from results import Results

COMMANDS = ["clr info --json", "clr threads --json", "clrbt --json all"]
# What is asked besides, of a core of everything that waits.
WAITS = ["clr locks --json", "clr async --all --json", "clr async --faulted --json", "clr deadlocks --json", "clr pool --json", "clr timers --json", "clr analyze --json"]


# Where one core's runtime lay. Somebody may have one there, of which answers must not come: as long a path that nobody has.
LAY, LIES = "/tmp/dotnet11/", "/gone/dotnet1/"


def unpack(path, folder):
    out = folder / path.name[:-len(".xz")]
    with lzma.open(path) as packed:
        core = packed.read()
    for encoding in ("utf-8", "utf-16-le"):
        core = core.replace(LAY.encode(encoding), LIES.encode(encoding))
    out.write_bytes(core)
    return out


def differences(expected, actual, where="", found=None):
    """Where two answers differ, at most ten places. What the expected answer lacks may be there: fields are added freely."""
    found = [] if found is None else found
    if len(found) >= 10:
        return found
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key, value in expected.items():
            if key not in actual:
                found.append(f"{where}.{key} is gone")
            else:
                differences(value, actual[key], f"{where}.{key}", found)
    elif isinstance(expected, list) and isinstance(actual, list):
        if len(expected) != len(actual):
            found.append(f"{where}: {len(actual)} elements for {len(expected)}")
        for i, (e, a) in enumerate(zip(expected, actual)):
            differences(e, a, f"{where}[{i}]", found)
    elif expected != actual:
        found.append(f"{where}: {actual!r} for {expected!r}")
    return found


def without_paths(answer):
    """The same without what depends on where this machine unpacked the core."""
    if isinstance(answer, dict):
        return {k: without_paths(v) for k, v in answer.items() if k not in ("memory", "core", "notes", "problems")}
    return [without_paths(v) for v in answer] if isinstance(answer, list) else answer


def of_the_core(answer):
    """What the core alone decides: names of native code and lines depend on the binaries and PDBs that this machine has."""
    if isinstance(answer, list):
        return [of_the_core(v) for v in answer]
    if not isinstance(answer, dict):
        return answer
    foreign = {"source"} | ({"text"} if answer.get("kind") == "managed" else {"text", "module", "symbol"} if answer.get("kind") == "native" else set())
    return {k: of_the_core(v) for k, v in answer.items() if k not in foreign}


def addresses(stack):
    """Every frame's address, and the bytes beside."""
    ips = {int(f["ip"], 16) for t in stack["threads"] for f in t["frames"] if f["kind"] == "managed"}
    return sorted(ips)


def ask(lldb, target, name):
    commands = [*COMMANDS, *(WAITS if name.startswith("waiting") else [])]
    answers = dict(zip(commands, lldb.json(target, commands)))
    by = lldb.ip2md(target, addresses(answers["clrbt --json all"]))
    answers["clrip2md"] = [by[a] for a in sorted(by)]
    asked = addresses(answers["clrbt --json all"])
    answers["clr gcinfo"] = lldb.json(target, [f"clr gcinfo --json {a:#x}" for a in asked])
    answers["clr gcinfo --all"] = lldb.run(target, [f"clr gcinfo --all {a:#x}" for a in asked[:20]], go_on=True)
    answers["clr roots"] = lldb.json(target, ["clr roots stack --json"])[0]
    answers["clr roots stack"] = lldb.run(target, ["clr roots stack"])
    return without_paths(answers)


def check_expected(lldb, target, name, expected_path):
    with lzma.open(expected_path, "rt", encoding="utf-8") as f:
        expected = json.load(f)
    actual = ask(lldb, target, name)
    found = [f"{command}{d}" for command in expected for d in differences(of_the_core(expected[command]), of_the_core(actual[command]))]
    assert not found, "\n    ".join(["answers differ from the recorded ones", *found])
    frames = sum(f.get("repeat", 1) for t in actual["clrbt --json all"]["threads"] for f in t["frames"])
    return f"{len(actual['clrbt --json all']['threads'])} threads, {frames} frames, {len(actual['clrip2md'])} addresses"


def check_report(lldb, target, report_path, folder):
    report = folder / "report"
    report.write_bytes(lzma.open(report_path).read())
    return check_stacks.check(lldb, target, report, lines=False)   # the PDB stayed where the core was made


def check_names(lldb, target):
    """LLDB finds methods of whom only names are known by each of these, and the plugin's commands take them as addresses."""
    frames = [f for t in lldb.json(target, ["clrbt --json all"])[0]["threads"] for f in t["frames"] if f["kind"] == "managed"]
    starts = {}
    for f in frames:
        plain = all(c.isalnum() or c in "._" for c in f["method"]["name"]) and "<" not in f["method"]["full_name"]
        if f["code"]["kind"] == "jitted" and plain:
            starts.setdefault(f["method"]["full_name"], (f["method"]["name"], f["code"]["start"]))
    some = sorted(starts.items())[:5]
    assert len(some) >= 3, f"too few plain names in {len(frames)} frames"
    asked = [(name, start) for full, (whole, start) in some for name in (full, whole, whole.split(".", 1)[1])]
    texts = lldb.run(target, [f'image lookup -n "{name}"' for name, _ in asked] + [f"clrip2md {whole}" for _, (whole, _) in some])
    wanted = [(f"image lookup -n {name}", f"[0x{int(start, 16):016x}]") for name, start in asked]
    wanted += [(f"clrip2md {whole}", f"`{whole}") for _, (whole, _) in some]
    wrong = [f"{command}: no {part} in {text!r}" for (command, part), text in zip(wanted, texts, strict=True) if part not in text]
    assert not wrong, "\n    ".join(["names that do not lead to their code", *wrong])
    return f"{len(asked)} names of {len(some)} methods"


# What the threads of tests/live/programs/suspended stand in, innermost first.
SUSPENDED = {"stands": ["Stand(Suspended.Order)", "Stands(Suspended.Order) [async]"],
             "runs": ["Stand(Suspended.Order)", "Inner(Suspended.Order) [async]", "Runs(Suspended.Order) [async]", "Runs(Suspended.Order) [async thunk]"]}
# Which of its methods have code for a caller that is given a task, and which are only run by each other.
THUNKS, BODIES = {"Waits", "Stands", "Runs"}, {"Waits", "Stands", "Runs", "Pass", "Leaf", "Inner"}


def check_suspended(lldb, target):
    """Methods that the runtime suspends are told apart from the code that starts them, on stacks and in lists; what they wait with are objects."""
    (stack,) = lldb.json(target, ["clrbt --json all"])
    listed, objects = lldb.run(target, ["clr methods Suspended.Program.*", "clr objects System.Runtime.CompilerServices.Continuation"])
    for name, wanted in SUSPENDED.items():
        (thread,) = [t for t in stack["threads"] if t.get("name") == name]
        texts = [f["text"].split("`Suspended.Program.")[1].split(" + ")[0] for f in thread["frames"] if "`Suspended.Program." in f["text"]]
        assert texts[:len(wanted)] == wanted, f"thread {name}: {texts}"
    marked = {mark: {line.split("`Suspended.Program.")[1].split("(")[0].split("<")[0] for line in listed.splitlines() if line.endswith(mark)}
              for mark in (" [async thunk]", " [async]")}
    assert marked == {" [async thunk]": THUNKS, " [async]": BODIES}, f"{marked}\n{listed}"
    assert objects.strip().endswith("10 objects, 560 bytes"), objects
    return f"{len(THUNKS)} thunks, {len(BODIES)} bodies, 10 continuations"


def check_chosen(lldb, target):
    """What is chosen of the chains is what is counted."""
    every, some, waits, nothing = lldb.run(target, [f"clr async {choice}" for choice in ("", "--method WaitsProgram.Simple.Semaphore*", "--tops --method WaitsProgram.Simple.Semaphore*", "--waiting-on 0x10")])
    count = re.search(r"^([1-9]\d+) chains of async methods that wait$", every, re.M)[1]
    last = [text.strip().splitlines()[-1] for text in (some, waits, nothing)]
    assert last == [f"2 of {count} chains of async methods that wait"] * 2 + [f"0 of {count} chains of async methods that wait"], last
    assert (some.count("WaitsProgram.Simple.Semaphore"), some.count("waits for ")) == (2, 2), some
    return last[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plugin", default=HERE.parent.parent / "build" / "liblldb-clr.so")
    parser.add_argument("--lldb")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    results = Results()
    core_tool = pathlib.Path(options.plugin).resolve().parent / "tests" / "core_tool"
    try:
        lldb = Lldb(options.plugin, options.lldb)
    except Unavailable as e:
        results.skip("recorded cores", str(e))
        return results.summary()
    for packed in sorted(HERE.glob("*.core.xz")):
        name = packed.name[:-len(".core.xz")]
        expected, report = HERE / f"{name}.expected.json.xz", HERE / f"{name}.report.xz"
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            target = Target(core=unpack(packed, folder))
            if options.write:
                with lzma.open(expected, "wt", encoding="utf-8") as f:
                    json.dump(ask(lldb, target, name), f)
            results.check(f"cores/{name}/answers", check_expected, lldb, target, name, expected)
            results.check(f"cores/{name}/names", check_names, lldb, target)
            results.check(f"cores/{name}/page", check_page.check_alone, lldb, target)
            results.check(f"cores/{name}/page/places", check_page.check_places, lldb, target)
            if "11" not in name:
                results.check(f"cores/{name}/net11", net11_values.check, lldb, core_tool, target, name, folder)
            if name.startswith("suspended"):
                results.check(f"cores/{name}/async", check_suspended, lldb, target)
                recorded = {thread: check_async.RUN[thread] for thread in SUSPENDED}
                results.check(f"cores/{name}/folded", check_async.check_folded, lldb, target, recorded)
            if name.startswith("waiting"):
                results.check(f"cores/{name}/chosen", check_chosen, lldb, target)
            if report.exists():
                results.check(f"cores/{name}/report", check_report, lldb, target, report, folder)
    if not results.passed and not results.failed:
        results.skip("recorded cores", "there is none in tests/cores")
    return results.summary()


if __name__ == "__main__":
    sys.exit(main())
