#!/usr/bin/env python3
"""Opens damaged copies of cores in real LLDB with the plugin, and judges what it says: no crash, no hang, no memory, no control byte, no wrong name.

    run.py [--plugin build/liblldb-clr.so] [--lldb DRIVER] [--count N] [--seed N] [--core FILE]...
    run.py --core FILE --only NUMBER [--keep FILE]       one mutant again; FILE gets the damaged core
    run.py --sanitizer RUNTIME --plugin ...              with a plugin that was built with it: libclang_rt.asan-x86_64.so

Without --core the recorded cores of tests/cores; --live adds a default gcore of a program (needs .NET and gdb). --count is for each core.
A mutant is hung after 30 s of processor time, or 180 s; it takes too much with 1 GB more than the undamaged core.
The last line is `N passed, N failed, N skipped`.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import queue
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "live"), str(HERE.parent / "cores")]

import judge
import processes
from core_image import CoreImage
from mutator import Mutator
from plugin import ENVIRONMENT, Lldb, split
from processes import Unavailable
from results import Results
from run_cores import unpack
from structures import Structures

CORES = HERE.parent / "cores"
CPU_SECONDS, WALL_SECONDS = 30, 180
MORE_MEMORY = 1 << 20   # kilobytes above the undamaged core
LOOKUPS = 24            # addresses that LLDB itself is asked about
BEFORE = 'settings set interpreter.stop-command-source-on-error false'


class Session:
    """One LLDB with the plugin and one core, from start to end."""

    def __init__(self, lldb, core, commands, sanitizer=None):
        lines = [f'plugin load "{lldb.plugin}"', f'target create --core "{core}"', *commands]
        environment = dict(ENVIRONMENT)
        if sanitizer:
            environment.update(LD_PRELOAD=str(sanitizer), ASAN_OPTIONS="detect_leaks=0:abort_on_error=1:allocator_may_return_null=0",
                               UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1:abort_on_error=1")
        factor = 6 if sanitizer else 1
        with tempfile.NamedTemporaryFile("w", suffix=".lldb") as script, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            script.write("\n".join(lines) + "\n")
            script.flush()
            begun = time.monotonic()
            child = subprocess.Popen([lldb.driver, "--no-lldbinit", "--batch", "--no-use-colors", "--one-line-before-file", BEFORE, "--source", script.name],
                                     stdout=out, stderr=err, stdin=subprocess.DEVNULL, env=environment)
            resource.prlimit(child.pid, resource.RLIMIT_CPU, (CPU_SECONDS * factor,) * 2)
            watchdog = threading.Timer(WALL_SECONDS * factor, child.kill)
            watchdog.start()
            _, status, usage = os.wait4(child.pid, 0)
            watchdog.cancel()
            child.returncode = self.code = os.waitstatus_to_exitcode(status)
            self.seconds, self.cpu, self.kilobytes = time.monotonic() - begun, usage.ru_utime + usage.ru_stime, usage.ru_maxrss
            out.seek(0)
            err.seek(0)
            text, self.errors = out.read().decode(errors="replace"), err.read().decode(errors="replace")
        texts = split(text.splitlines(keepends=True), lines)
        self.ended_early = lines[len(texts)] if len(texts) < len(lines) else None
        self.texts = dict(zip(lines[2:], texts[2:]))

    def faults(self, plain=None):
        if self.code == -signal.SIGXCPU or self.code == -signal.SIGKILL:
            yield f"hang: {self.cpu:.0f} s of processor time, {self.seconds:.0f} s in all, before `{self.ended_early}`"
        elif self.code < 0 or self.ended_early or "AddressSanitizer" in self.errors or "runtime error:" in self.errors:
            yield f"crash: exit code {self.code} before `{self.ended_early}`: {self.errors[-1500:]}"
        if plain and self.kilobytes > plain.kilobytes + MORE_MEMORY:
            yield f"memory: {self.kilobytes >> 10} MB, the undamaged core takes {plain.kilobytes >> 10} MB"
        for command, printed in (*self.texts.items(), ("messages", self.errors)):
            if why := judge.control_bytes(command, printed):
                yield f"control bytes: {why}"


def addresses_of(answers):
    """Addresses in each managed frame's code, its edges, and what lies around: stubs, gaps, native code."""
    some = set()
    for thread in answers["clrbt --json all"]["threads"]:
        for frame in thread["frames"]:
            if "ip" in frame:
                some.add(int(frame["ip"], 16))
            for region in frame.get("code", {}).get("regions") or []:
                start, size = int(region["start"], 16), region["size"]
                some |= {start - 1, start, start + size // 2, start + size - 1, start + size}
    return sorted(some)


class Campaign:
    def __init__(self, lldb, core, folder, options, types):
        self.lldb, self.options = lldb, options
        # One copy for each LLDB at work: it is damaged, opened, and mended again.
        self.copies = queue.SimpleQueue()
        for i in range(options.jobs):
            shutil.copyfile(core, folder / f"mutant-{i}.core")
            self.copies.put(CoreImage(folder / f"mutant-{i}.core", writable=True))
        self.image = CoreImage(core)
        self.copy = core
        asked = ["clr info --json", "clr threads --json", "clrbt --json all"]
        answers = dict(zip(asked, lldb.json(Target(self.copy), asked)))
        self.structures = Structures(self.image, answers, types)
        self.mutator = Mutator(self.image, self.structures, options.seed)
        self.list = folder / "addresses"
        ips = addresses_of(answers)
        self.list.write_text("".join(f"{a:#x}\n" for a in ips))
        managed = sorted({int(f["ip"], 16) for f in self.structures.frames if "code" in f})
        looked_up = managed[::max(1, len(managed) // LOOKUPS)]
        self.commands = ["clr info", "clr threads", "clr pe", "clrbt --json all", f"clrip2md --json --from {self.list}", "clr analyze -n 5", "bt all",
                         *[f"image lookup -a {a:#x}" for a in looked_up], f"clr u {managed[0]:#x}", f"clr unwind {managed[-1]:#x}", "clr publish status", "image list"]
        self.plain = Session(lldb, self.copy, self.commands, options.sanitizer)
        found = list(self.plain.faults())
        assert not found, f"the undamaged core: {found}"
        self.true = judge.Claims(self.plain.texts)
        assert sum(claim is not None for claim in self.true.methods.values()) > 50, "hardly anything has a name in the undamaged core"
        self.late, self.findings, self.kinds = judge.Late(), collections.defaultdict(list), {}
        self.lock = threading.Lock()

    def mutant(self, number):
        """What is wrong with one mutant goes to `findings`. Returns its session."""
        with self.lock:
            edits = self.kinds[number] = self.mutator.edits(number)
        copy = self.copies.get()
        undo = [(offset, copy.write(offset, data)) for _, _, offset, data in edits]
        try:
            if self.options.keep:
                shutil.copyfile(copy.path, self.options.keep)
            session = Session(self.lldb, copy.path, self.commands, self.options.sanitizer)
        finally:
            for offset, data in reversed(undo):
                copy.write(offset, data)
            self.copies.put(copy)
        with self.lock:
            self.judge(number, edits, session)
        return session

    def judge(self, number, edits, session):
        text_damaged = any(kind in judge.TEXTS or self.structures.is_metadata(offset) for kind, _, offset, _ in edits)
        self.findings[number] += session.faults(self.plain)
        self.findings[number] += [f"wrong name {w}" for w in judge.judge(number, judge.Claims(session.texts), self.true, self.late, text_damaged)]
        if self.findings[number] and self.options.verbose:
            self.print(number)

    def ask_late(self):
        ips = sorted({near for a in self.late.addresses("method") for near in (a, a - 1)})
        published = self.late.addresses("published")
        if not ips and not published:
            return
        with tempfile.NamedTemporaryFile("w", suffix=".addresses") as f:
            f.write("".join(f"{a:#x}\n" for a in ips))
            f.flush()
            session = Session(self.lldb, self.copy, [f"clrip2md --json --from {f.name}", *[f"image lookup -a {a:#x}" for a in published]], self.options.sanitizer)
        for number, why in judge.judge_late(self.late, judge.Claims(session.texts)):
            self.findings[number].append(f"wrong name {why}")

    def run(self, numbers):
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            sessions = [(s.seconds, s.kilobytes) for s in pool.map(self.mutant, numbers)]
        slowest, most = (max(values) for values in zip(*sessions))
        self.ask_late()
        bad = [n for n in numbers if self.findings[n]]
        figures = f"{len(numbers)} mutants of {len(self.structures.places)} places, the slowest took {slowest:.1f} s, the largest {most >> 10} MB (undamaged {self.plain.kilobytes >> 10} MB)"
        if bad:
            for number in bad:
                self.print(number)
            raise AssertionError(f"{figures}; {len(bad)} are wrong: {bad[:40]}")
        return figures

    def print(self, number):
        print(f"mutant {number} of seed {self.options.seed}:")
        for kind, what, offset, data in self.kinds[number]:
            print(f"    {kind}: {what}, at {offset:#x} of the file: {self.image.at(offset, len(data)).hex()} became {data.hex()}")
        for found in self.findings[number][:6]:
            print(f"  - {found}")
        if len(self.findings[number]) > 6:
            print(f"  - and {len(self.findings[number]) - 6} more")
        sys.stdout.flush()


class Target:
    pid = None

    def __init__(self, core):
        self.core = core

    def commands(self):
        return [f'target create --core "{self.core}"']


def live_core(folder):
    """A default gcore of a program with threads in many situations."""
    program = processes.build("situations", folder / "artifacts")
    with processes.Running([program, "gallery", folder / "report"], folder / "run") as running:
        if not running.wait_ready():
            raise Unavailable("the program ended before it was ready")
        running.wait_still(running.threads())
        return processes.gcore(running.pid, folder / "live.core")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plugin", default=HERE.parent.parent / "build" / "liblldb-clr.so")
    parser.add_argument("--lldb")
    parser.add_argument("--core", action="append", default=[], type=pathlib.Path)
    parser.add_argument("--live", action="store_true")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="number of the first mutant")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="LLDBs at once")
    parser.add_argument("--only", type=int, action="append", default=[])
    parser.add_argument("--keep", help="where the damaged core is kept")
    parser.add_argument("--sanitizer", help="runtime of the sanitizer that the plugin was built with")
    parser.add_argument("--verbose", action="store_true", help="tell of each finding when it is made")
    options = parser.parse_args()
    results = Results()
    with tempfile.TemporaryDirectory(prefix="lldb-clr-mutants-") as folder:
        folder = pathlib.Path(folder)
        try:
            lldb = Lldb(options.plugin, options.lldb)
            cores = [(core.name, core) for core in options.core]
            if not cores:
                cores = [(packed.name[:-len(".core.xz")], unpack(packed, folder)) for packed in sorted(CORES.glob("*.core.xz"))]
            if options.live:
                cores.append(("live", live_core(folder)))
        except Unavailable as why:
            results.skip("mutants", str(why))
            return results.summary()
        numbers = options.only or range(options.first, options.first + options.count)
        # A core that holds the description of its runtime comes first; the recorded one of arm64 does not.
        cores.sort(key=lambda named: "arm64" in named[0])
        types = {}
        for name, core in cores:
            work = folder / f"work-{name}"
            work.mkdir()
            results.check(f"mutants/{name}", lambda: Campaign(lldb, core, work, options, types).run(numbers))
    return results.summary()


if __name__ == "__main__":
    sys.exit(main())
