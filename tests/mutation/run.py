#!/usr/bin/env python3
"""Opens damaged copies of cores in real LLDB with the plugin, and judges what it says: no crash, no hang, no memory, no control byte, no wrong name.

    run.py [--plugin build/liblldb-clr.so] [--lldb DRIVER] [--count N] [--seed N] [--core FILE]...
    run.py --core FILE --only NUMBER [--keep FILE]       one mutant again; FILE gets the damaged core
    run.py --library build/tests/core_tool               without LLDB, ten times as fast: names, crashes, hangs and memory
    run.py --sanitized                                   a plugin with sanitizers, which is built first (needs clang 19)

--core takes files; x64, arm64 and waiting for the recorded cores of tests/cores, of which the first two are the default; and live for a default gcore of a program (needs
.NET and gdb). --count is for each core. Every second thread is made to stand in its first managed frame, so that LLDB's own `bt` walks managed code.
A mutant is hung after 30 s of processor time, or 180 s; it takes too much with 1 GB more than the undamaged core.
The last line is `N passed, N failed, N skipped`.
"""
import argparse
import collections
import concurrent.futures
import functools
import itertools
import json
import mmap
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
from core_image import CoreImage, X64
from hostile_parts import Core
from mutator import Mutator
from plugin import ENVIRONMENT, Lldb, split
from processes import Unavailable
from results import Results
from run_cores import unpack
from structures import Structures

CORES = HERE.parent / "cores"
ROOT = HERE.parent.parent
CPU_SECONDS, WALL_SECONDS = 30, 180
MORE_MEMORY = 1 << 20   # kilobytes above the undamaged core
LOOKUPS = 24            # addresses that LLDB itself is asked about
FRAMES = 100            # of a thread, in LLDB's own stacks
ASKED = ["clr info --json", "clr threads --json", "clrbt --json all"]
# Answers that name objects; the first two need a core that holds the managed heap.
OBJECTS = ["clr locks --json", "clr async --json", "clr roots stack --json"]
SHOWN = 12              # objects that each LLDB shows, in several ways
BEFORE = 'settings set interpreter.stop-command-source-on-error false'


class Watched:
    """One process from start to end, with limits."""

    def __init__(self, words, factor):
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            begun = time.monotonic()
            child = subprocess.Popen(words, stdout=out, stderr=err, stdin=subprocess.DEVNULL, env=ENVIRONMENT)
            resource.prlimit(child.pid, resource.RLIMIT_CPU, (CPU_SECONDS * factor,) * 2)
            ended = threading.Event()
            watchdog = threading.Thread(target=self.watch, args=(child, ended))
            watchdog.start()
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = self.code = os.waitstatus_to_exitcode(status)
            ended.set()
            watchdog.join()
            self.seconds, self.cpu, self.kilobytes = time.monotonic() - begun, usage.ru_utime + usage.ru_stime, usage.ru_maxrss
            out.seek(0)
            err.seek(0)
            self.text, self.errors = out.read().decode(errors="replace"), err.read().decode(errors="replace")

    @staticmethod
    def watch(child, ended):
        """Ends a process that neither runs nor waits for a processor. On a busy machine others only take long."""
        before = 0
        while not ended.wait(WALL_SECONDS):
            try:
                ran, waited, _ = map(int, pathlib.Path(f"/proc/{child.pid}/schedstat").read_text().split())
            except OSError:
                return
            if ran + waited - before < WALL_SECONDS * 1e9 / 10:
                return child.kill()
            before = ran + waited


class Session:
    """One LLDB with the plugin and one core, from start to end."""

    def __init__(self, lldb, core, commands, sanitized=False):
        lines = [f'plugin load "{lldb.plugin}"', f'target create --core "{core}"', *commands]
        with tempfile.NamedTemporaryFile("w", suffix=".lldb") as script:
            script.write("\n".join(lines) + "\n")
            script.flush()
            self.add(Watched([lldb.driver, "--no-lldbinit", "--batch", "--no-use-colors", "--one-line-before-file", BEFORE, "--source", script.name],
                             6 if sanitized else 1))
        texts = split(self.text.splitlines(keepends=True), lines)
        self.ended_early = lines[len(texts)] if len(texts) < len(lines) else None
        self.texts = dict(zip(lines[2:], texts[2:]))

    def add(self, watched):
        self.text, self.errors, self.code = watched.text, watched.errors, watched.code
        self.messages = self.errors
        self.seconds, self.cpu, self.kilobytes = watched.seconds, watched.cpu, watched.kilobytes

    @staticmethod
    def commands(addresses, managed, objects, types):
        looked_up = managed[::max(1, len(managed) // LOOKUPS)]
        shown = objects[::max(1, len(objects) // SHOWN)]
        ways = itertools.cycle(["", "--json ", "--depth 4 ", "--items 1000 --json ", *[f"--as '{name}' " for name in types[:2]]])
        return ["clr info", "clr threads", "clr pe", "clrbt --json all", f"clrip2md --json --from {addresses}", "clr analyze -n 5", f"thread backtrace -c {FRAMES} all",
                *[f"image lookup -a {a:#x}" for a in looked_up], f"clr u {managed[0]:#x}", f"clr unwind {managed[-1]:#x}", "clr publish status", "image list",
                *[f"clr object {next(ways)}{address:#x}" for near in (0, 8) for address in (a + near for a in shown)], "clr static System.Threading.*",
                "clr heap --stat", "clr locks", "clr deadlocks", "clr async", "clr async --faulted", "clr pool", "clr timers"]

    def faults(self, plain=None):
        if self.code == -signal.SIGXCPU or self.code == -signal.SIGKILL:
            yield f"hang: {self.cpu:.0f} s of processor time, {self.seconds:.0f} s in all, before `{self.ended_early}`"
        elif self.code < 0 or self.ended_early or "AddressSanitizer" in self.errors or "runtime error:" in self.errors:
            yield f"crash: exit code {self.code} before `{self.ended_early}`: {self.errors[-1500:]}"
        if plain and self.kilobytes > plain.kilobytes + MORE_MEMORY:
            yield f"memory: {self.kilobytes >> 10} MB, the undamaged core takes {plain.kilobytes >> 10} MB"
        for command, printed in (*self.texts.items(), ("messages", self.messages)):
            if why := judge.control_bytes(command, printed):
                yield f"control bytes: {why}"


class LibrarySession(Session):
    """The same questions to the library without LLDB, by core_tool."""

    def __init__(self, tool, core, commands, sanitized=False):
        self.texts, self.ended_early, totals = {}, None, [0, 0, 0]
        for command in commands:
            what = TOOL_COMMANDS.get(" ".join(command.split()[:2]))
            if not what:
                continue
            self.add(Watched([tool, what, core, *command.split()[3:]], 6 if sanitized else 1))
            self.messages = ""   # core_tool is a tool of tests: what it says itself it says as it is
            totals = [totals[0] + self.seconds, totals[1] + self.cpu, max(totals[2], self.kilobytes)]
            self.texts[command] = self.text
            if self.code < 0:
                self.ended_early = command
                break
        self.seconds, self.cpu, self.kilobytes = totals

    @staticmethod
    def commands(addresses, managed, objects, types):
        return ["clr info --json", "clrbt --json all", f"clrip2md --json --from {addresses}"]


TOOL_COMMANDS = {"clr info": "info", "clrbt --json": "stacks", "clrip2md --json": "ip2md"}


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


def types_of(answers):
    """Names of types that objects on the stacks have, the commonest first."""
    counted = collections.Counter(root["type"] for root in answers.get("clr roots stack --json") or [] if root.get("type"))
    return [name for name, _ in counted.most_common() if "'" not in name]


def answers_about(lldb, core):
    answers = dict(zip(ASKED, lldb.json(Target(core), ASKED)))
    for command, text in zip(OBJECTS, lldb.run(Target(core), OBJECTS, go_on=True)):
        if text.startswith(("[", "{")):
            answers[command] = json.loads(text)
    return answers


def stand_in_managed_code(lldb, core):
    """Every second thread that has one stands in its first managed frame: where native code cannot be walked, LLDB's stacks would end before."""
    threads = lldb.json(Target(core), ["clrbt --json --registers all"])[0]["threads"]
    first = [next((f["registers"] for f in t["frames"] if f["kind"] == "managed" and "registers" in f), None) for t in threads]
    standing = [(t["os_id"], registers) for t, registers in zip(threads, first) if registers]
    set_registers(core, [(thread, {name: int(value, 16) for name, value in registers.items()}) for thread, registers in standing[::2]])


def set_registers(core, threads):
    # What this process takes counts for each that it starts, so no core is read whole.
    with open(core, "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        changed = Core(mapped)
        for thread, registers in threads:
            changed.set_registers(thread, registers)


class Campaign:
    def __init__(self, lldb, core, folder, options, types):
        self.lldb, self.options = lldb, options
        moved = folder / "core"
        shutil.copyfile(core, moved)
        core = moved
        stand_in_managed_code(lldb, core)
        # One copy for each LLDB at work: it is damaged, opened, and mended again.
        self.copies = queue.SimpleQueue()
        for i in range(options.jobs):
            shutil.copyfile(core, folder / f"mutant-{i}.core")
            self.copies.put(CoreImage(folder / f"mutant-{i}.core", writable=True))
        self.image = CoreImage(core)
        self.copy = core
        answers = answers_about(lldb, core)
        self.thread = answers["clrbt --json all"]["threads"][0]["os_id"]
        self.structures = Structures(self.image, answers, types)
        self.mutator = Mutator(self.image, self.structures, options.seed)
        self.list = folder / "addresses"
        ips = addresses_of(answers)
        self.list.write_text("".join(f"{a:#x}\n" for a in ips))
        managed = sorted({int(f["ip"], 16) for f in self.structures.frames if "code" in f})
        self.open = functools.partial(LibrarySession, options.library) if options.library else functools.partial(Session, lldb)
        self.commands = self.open.func.commands(self.list, managed, self.structures.objects, types_of(answers))
        self.plain = self.open(self.copy, self.commands, options.sanitized)
        found = list(self.plain.faults())
        assert not found, f"the undamaged core: {found}"
        self.true = judge.Claims(self.plain.texts)
        assert sum(claim is not None for claim in self.true.methods.values()) > 50, "hardly anything has a name in the undamaged core"
        self.late, self.findings, self.kinds = judge.Late(), collections.defaultdict(list), {}
        self.others = 0   # mutants that are other cores: their names are not judged
        self.lock = threading.Lock()

    def mutant(self, number):
        """What is wrong with one mutant goes to `findings`. Returns its session."""
        with self.lock:
            edits = self.kinds[number] = self.mutator.edits(number)
        copy = self.copies.get()
        undo = [(offset, copy.write(offset, data)) for _, _, offset, data in edits]
        try:
            # Where the core's own headers put its bytes at other addresses, the core is another one: no reader can know better.
            another = any(kind == "program headers" for kind, *_ in edits) and CoreImage(copy.path).shows_more_than(self.image)
            if self.options.keep:
                shutil.copyfile(copy.path, self.options.keep)
            session = self.open(copy.path, self.commands, self.options.sanitized)
        finally:
            for offset, data in reversed(undo):
                copy.write(offset, data)
            self.copies.put(copy)
        with self.lock:
            self.judge(number, edits, session, another)
        return session

    def judge(self, number, edits, session, another):
        text_damaged = any(judge.is_text(kind, what) or self.structures.is_metadata(offset) for kind, what, offset, _ in edits)
        self.findings[number] += session.faults(self.plain)
        self.others += another
        if not another:
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
            session = self.open(self.copy, [f"clrip2md --json --from {f.name}", *[f"image lookup -a {a:#x}" for a in published]], self.options.sanitized)
        true = judge.Claims(session.texts)
        for address in published:
            if address not in true.published:
                true.published.update(self.native_name(address))
        for number, why in judge.judge_late(self.late, true):
            self.findings[number].append(f"wrong name {why}")

    def native_name(self, address):
        """LLDB is told of native code alone where threads stand: one of the undamaged core stands there."""
        if self.image.machine != X64:
            return {}   # the files of another CPU are not here, so that nothing has such a name
        with tempfile.NamedTemporaryFile(suffix=".core") as standing:
            shutil.copyfile(self.copy, standing.name)
            set_registers(standing.name, [(self.thread, {"rip": address})])
            session = self.open(standing.name, ["thread backtrace -c 1 all", f"image lookup -a {address:#x}"], self.options.sanitized)
        found = judge.Claims(session.texts).published
        return {address: found[address]} if address in found else {}

    def run(self, numbers):
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            sessions = []
            for session in pool.map(self.mutant, numbers):
                sessions.append((session.seconds, session.kilobytes))
                if self.options.verbose and len(sessions) % 50 == 0:
                    print(f"{len(sessions)} of {len(numbers)}", flush=True)
        slowest, most = (max(values) for values in zip(*sessions))
        self.ask_late()
        bad = [n for n in numbers if self.findings[n]]
        figures = f"{len(numbers)} mutants of {len(self.structures.places)} places, the slowest took {slowest:.1f} s, the largest {most >> 10} MB (undamaged {self.plain.kilobytes >> 10} MB); names of {self.others} not judged"
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


SANITIZED = ROOT / "build-sanitize-plugin"


def build_sanitized():
    """The plugin. LLDB itself is not built with sanitizers, so their runtime must be loaded before it."""
    compiler = shutil.which("clang++-19")
    if not compiler:
        raise Unavailable("clang++-19 is not installed")
    steps = [] if (SANITIZED / "CMakeCache.txt").exists() else [["cmake", "--preset", "sanitize-plugin"]]
    for step in (*steps, ["cmake", "--build", "--preset", "sanitize-plugin"]):
        done = subprocess.run(step, cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            raise Unavailable(f"{' '.join(step)}: {(done.stdout + done.stderr)[-2000:]}")
    runtime = subprocess.check_output([compiler, "-print-file-name=libclang_rt.asan-x86_64.so"], text=True).strip()
    ENVIRONMENT.update(LD_PRELOAD=runtime, ASAN_OPTIONS="detect_leaks=0:abort_on_error=1:allocator_may_return_null=0",
                       UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1:abort_on_error=1")
    return SANITIZED / "liblldb-clr.so"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plugin", default=ROOT / "build" / "liblldb-clr.so")
    parser.add_argument("--lldb")
    parser.add_argument("--core", action="append", default=[])
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="number of the first mutant")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="LLDBs at once")
    parser.add_argument("--only", type=int, action="append", default=[])
    parser.add_argument("--keep", help="where the damaged core is kept")
    parser.add_argument("--sanitized", action="store_true", help="with AddressSanitizer and UndefinedBehaviorSanitizer")
    parser.add_argument("--library", metavar="TOOL", help="build/tests/core_tool: ask the library without LLDB, ten times as fast")
    parser.add_argument("--verbose", action="store_true", help="tell of each finding when it is made, and how far it is")
    options = parser.parse_args()
    results = Results()
    with tempfile.TemporaryDirectory(prefix="lldb-clr-mutants-") as folder:
        folder = pathlib.Path(folder)
        try:
            lldb = Lldb(build_sanitized() if options.sanitized else options.plugin, options.lldb)
            recorded = {name: unpack(CORES / f"gallery-{name}.core.xz", folder) for name in ("x64", "arm64")}
            made = {"live": lambda: live_core(folder), "waiting": lambda: unpack(CORES / "waiting-x64.core.xz", folder), **{name: lambda core=core: core for name, core in recorded.items()}}
            cores = [(pathlib.Path(core).name, made[core]() if core in made else pathlib.Path(core)) for core in options.core or recorded]
        except Unavailable as why:
            results.skip("mutants", str(why))
            return results.summary()
        numbers = options.only or range(options.first, options.first + options.count)
        # The recorded core of arm64 does not hold the description of its runtime.
        types = Structures(CoreImage(recorded["x64"]), answers_about(lldb, recorded["x64"]), {}).types
        for name, core in cores:
            work = folder / f"work-{name}"
            work.mkdir()
            results.check(f"mutants/{name}", lambda: Campaign(lldb, core, work, options, dict(types)).run(numbers))
    return results.summary()


if __name__ == "__main__":
    sys.exit(main())
