#!/usr/bin/env python3
"""Two hosts of different CPUs say the same of a core, byte by byte: the recorded cores, and others that are named. A campaign apart from scripts/test.

    two_hosts.py [--plugin build/liblldb-clr.so] [--lldb DRIVER] --other PLUGIN --other-lldb DRIVER [--core FILE]... [--only NAME,...]

Each host has a build of the plugin and an LLDB of the same version; scripts/cross-arm64 makes those of arm64 and calls this. Asked are all commands that have --json, those
of the heap too, addresses of frames, the files that `clr perfmap` and `clr savecore` write, and LLDB's own `bt all`: published modules, jumps over native code that no
file describes, and in LLDB 22 and later the async methods that wait behind a stack. The last line is `N passed, N failed, N skipped`.
"""
import argparse
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from run_cores import HERE, unpack

from plugin import Lldb, Target
from processes import Unavailable
from results import Results

STACKS = ["bt all", "clrbt all", "clrbt --json all", "clrbt --json --registers all", "clr bt --unique --json all"]
STOP = ["clr info", "clr threads", "clr pe", "clr analyze", "clr locks", "clr deadlocks", "clr async", "clr async --all", "clr async --faulted", "clr pool", "clr timers", "clr roots stack"]
HEAP = ["clr heap", "clr heap --stat", "clr heap --free", "clr alloc", "clr objects", "clr strings", "clr arrays", "clr arrays --sparse", "clr handles", "clr statics", "clr finalizers",
        "clr retained --top 20", "clr roots"]
EACH_FRAME = ["clr ip2md", "clr gcinfo", "clr unwind", "clr u", "clr source"]
MOST_FRAMES = 60   # of different methods of a core
FILES = ["perfmap", "savecore", "symbols save"]   # a gcdump holds the time at which it was written


class Host:
    def __init__(self, plugin, driver, folder):
        self.lldb, self.folder, self.seconds = Lldb(plugin, driver), folder, 0.0
        said = subprocess.run([self.lldb.driver, "--version"], capture_output=True, text=True, timeout=1200).stdout
        self.version = re.search(r"lldb version (\d+)", said)[1]
        folder.mkdir()

    def ask(self, target, commands):
        begin = time.monotonic()
        texts = self.lldb.run(target, commands, seconds=3000, go_on=True)
        self.seconds += time.monotonic() - begin
        return {**dict(zip(commands, texts)), "errors of all": self.lldb.errors}


def frames_of(answer):
    """One address of each method."""
    first = {}
    for thread in json.loads(answer)["threads"]:
        for f in thread["frames"]:
            if f["kind"] == "managed":
                first.setdefault(f["text"].partition(" + ")[0], int(f["ip"], 16))
    return sorted(first.values())[:MOST_FRAMES]


def compare(answers):
    """Fails with what differs."""
    (here, theirs), wrong, size = answers, [], 0
    for command, text in here.items():
        other = theirs[command]
        size += len(text)
        if text != other:
            at = next((i for i, (a, b) in enumerate(zip(text, other)) if a != b), min(len(text), len(other)))
            wrong.append(f"{command}: {len(other)} bytes for {len(text)}, first difference at {at}: {other[max(0, at - 60):at + 60]!r} for {text[max(0, at - 60):at + 60]!r}")
    assert not wrong, "\n    ".join(wrong)
    said = sum(bool(text.strip()) for text in here.values())
    return f"{len(here)} commands, {said} of them answered, {size} bytes"


def written(host, target):
    """The sums of what is written: name -> bytes and SHA-256."""
    files = {name: host.folder / f"written.{name.split()[0]}" for name in FILES}
    host.ask(target, [f"clr {name} {file}" for name, file in files.items()])
    sums = {}
    for name, file in files.items():
        if file.exists():
            data = file.read_bytes()
            sums[name] = f"{len(data)} bytes, {hashlib.sha256(data).hexdigest()}"
            file.unlink()
    return sums


def check_core(hosts, core, results, name):
    target = Target(core=core)
    first = [*STACKS, *(f"{c} --json" for c in STOP), *(f"{c} --json" for c in HEAP), *STOP, *HEAP]
    if any(int(h.version) >= 22 for h in hosts):
        first += ["clr settings --async-frames on", "bt all "]
    answers = [host.ask(target, first) for host in hosts]
    results.check(f"{name}/stop", compare, answers)
    frames = frames_of(answers[0]["clrbt --json all"])
    each = [f"{c} --json {a:#x}" for a in frames for c in EACH_FRAME] + [f"{c} {a:#x}" for a in frames for c in EACH_FRAME]
    results.check(f"{name}/frames", compare, [host.ask(target, each) for host in hosts])
    results.check(f"{name}/written", compare, [written(host, target) for host in hosts])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plugin", default=HERE.parent.parent / "build" / "liblldb-clr.so")
    parser.add_argument("--lldb")
    parser.add_argument("--other", required=True)
    parser.add_argument("--other-lldb", required=True)
    parser.add_argument("--core", action="append", default=[], type=pathlib.Path)
    parser.add_argument("--only")
    options = parser.parse_args()
    results = Results()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        try:
            hosts = [Host(options.plugin, options.lldb, folder / "one"), Host(options.other, options.other_lldb, folder / "other")]
        except Unavailable as e:
            results.skip("two hosts", str(e))
            return results.summary()
        for path in [*sorted(HERE.glob("*.core.xz")), *options.core]:
            name = path.name.removesuffix(".xz").removesuffix(".core")
            if options.only and name not in options.only.split(","):
                continue
            core = unpack(path, folder) if path.suffix == ".xz" else path.resolve()
            check_core(hosts, core, results, f"hosts/{name}")
            if path.suffix == ".xz":
                core.unlink()
        print("; ".join(f"LLDB {h.version} took {h.seconds:.0f} s" for h in hosts))
    return results.summary()


if __name__ == "__main__":
    sys.exit(main())
