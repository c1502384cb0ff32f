#!/usr/bin/env python3
"""The live tests: real .NET programs and cores of them against the runtime's own words, ClrMD and the programs themselves.

    run.py [--plugin build/liblldb-clr.so] [--work DIR] [--only PREFIX] [--full] [--lldb DRIVER]

Each line of output is one check with its figures; what a machine lacks is skipped, with a table of reasons at the end. The last line
is `N passed, N failed, N skipped`. --full adds what takes long: every situation in every build and mode. --work keeps what was built.
"""
import argparse
import contextlib
import functools
import os
import pathlib
import shutil
import subprocess
import sys
import time

import check_answers
import check_async
import check_clrmd
import check_container
import check_ilmap
import check_listing
import check_dap
import check_heap
import check_heap_files
import check_locks
import check_verdict
import check_lldb_breaks
import check_lldb_conditions
import check_lldb_bt
import check_lldb_into
import check_lldb_life
import check_lldb_lines
import check_lldb_listing
import check_lldb_step
import check_lldb_thrown
import check_generics
import check_held
import check_kinds
import check_lldb_values
import check_objects
import check_page
import check_lldb_walk
import check_native
import check_nettrace
import check_pdb
import check_perfmap
import check_random_objects
import check_roots
import check_stacks
import check_steps
import images
import line_program
import plugin
import processes
import variants
import versions
from plugin import CoreTool, Lldb, Target
from processes import Running, Unavailable, settings
from results import Results

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "cores"))

import net11_values


class Context:
    def __init__(self, options):
        self.results = Results()
        self.keep = options.work is not None
        self.work = pathlib.Path(options.work).resolve() if options.work else processes.workspace()
        self.work.mkdir(parents=True, exist_ok=True)
        self.only, self.full, self.runtime = options.only, options.full, options.runtime
        self.plugin, self.driver = options.plugin, options.lldb
        self.core_tool = pathlib.Path(options.core_tool or pathlib.Path(options.plugin).parent / "tests" / "core_tool").resolve()
        self.lldb = None
        self.lldbs = options.lldbs or os.environ.get("CLR_LLDBS") or pathlib.Path(options.plugin).resolve().parent / "lldbs"
        self._oracle = None

    def wants(self, name):
        return not self.only or any(name.startswith(prefix) for prefix in self.only)

    def may_want(self, group):
        """Whether some check of this group is wanted."""
        return not self.only or any(group.startswith(prefix) or prefix.startswith(group) for prefix in self.only)

    def asked_by_name(self, label):
        """False for what runs by its name alone, when nobody said that."""
        return self.full or label not in BY_NAME or label in (self.only or ())

    def asked_for(self, group):
        """Checks of `group` were asked for by its name, or all checks were."""
        return self.full or any(prefix.startswith(group) for prefix in self.only or ())

    def oracle(self):
        if self._oracle is None:
            try:
                self._oracle = check_clrmd.Oracle(self.work)
            except Unavailable as e:
                self._oracle = e
        if isinstance(self._oracle, Unavailable):
            raise self._oracle
        return self._oracle

    def check(self, name, function, *arguments):
        if self.wants(name):
            self.results.check(name, function, *arguments)

    @contextlib.contextmanager
    def scratch(self, name):
        folder = self.work / "runs" / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def many_command(program, folder, *options):
    return [*program, "--truth", folder / "truth", *options]


def core_kinds(pid, folder):
    """(name, function that makes the core and returns its path): made one after the other, because they are large."""
    return [
        ("gcore", lambda: processes.gcore(pid, folder / "core.gcore", 0x33)),
        ("gcore-files", lambda: processes.gcore(pid, folder / "core.files", 0x3f)),
        ("createdump-full", lambda: processes.createdump(pid, folder / "core.full", "full")),
        ("createdump-heap", lambda: processes.createdump(pid, folder / "core.heap", "withheap")),
        ("createdump-normal", lambda: processes.createdump(pid, folder / "core.normal", "normal")),
        ("createdump-triage", lambda: processes.createdump(pid, folder / "core.triage", "triage")),
    ]


IL_MAP_MODES = ("jit", "default")
# The others with --full: a core with the most jitted code, one that holds ReadyToRun code, and one where it comes from files.
CORES_OF_MODES = {"jit": ("gcore-files", "createdump-normal"), "default": ("gcore", "createdump-heap", "createdump-normal")}


def perf_maps(c):
    """Every line of the perf map, live and on cores; the process' own events; ClrMD's bodies and stacks."""
    modes = {name: knobs for name, knobs in check_perfmap.MODES.items() if c.may_want(f"perfmap/{name}") or (name in IL_MAP_MODES and c.may_want(f"ilmap/{name}"))}
    if not modes:
        return
    program = processes.build("many", c.work / "artifacts")
    for mode, knobs in modes.items():
        c.results.with_second_try(f"perfmap/{mode}", functools.partial(perf_maps_of, c, program, mode, knobs))


def perf_maps_of(c, program, mode, knobs):
    name = f"perfmap/{mode}"
    with c.scratch(f"many-{mode}") as folder:
        env = settings(PerfMapEnabled=3, PerfMapJitDumpPath=folder, **knobs)
        with Running(many_command([program], folder), folder, env) as running:
            assert running.wait_ready(), "many did not start"
            live = Target(pid=running.pid)
            maps, truth = folder / f"perf-{running.pid}.map", folder / "truth"
            c.check(f"{name}/live", check_perfmap.check, c.lldb, live, maps, truth)
            c.check(f"{name}/events/live", check_perfmap.check_events, c.lldb, live, truth)
            c.check(f"{name}/written/live", check_perfmap.check_written, c.lldb, live, maps, truth, folder / "written-live.map")
            if mode in ("jit", "default"):
                c.check(f"{name}/stacks/live", check_answers.check_stacks_named, c.lldb, live)
            for kind, make in core_kinds(running.pid, folder):
                if kind in CORES_OF_MODES.get(mode, ()) or c.full:
                    c.check(f"{name}/core/{kind}", on_core, c, make, maps, truth, kind, mode)
            # ClrMD takes minutes for it.
            if mode in IL_MAP_MODES and (c.full or c.only):
                c.check(f"ilmap/{mode}", il_maps, c, running.pid, folder)


def il_maps(c, pid, folder):
    if not c.core_tool.exists():
        raise Unavailable(f"{c.core_tool} is not built")
    core = processes.gcore(pid, folder / "core.ilmap", 0x3f)
    try:
        return check_ilmap.check(c.oracle(), c.core_tool, Target(core=core))
    finally:
        pathlib.Path(core).unlink()


def map_until_now(maps, folder):
    """A copy of the perf map: what the process compiles from now on is no part of it, nor of the core to be taken."""
    written = maps.read_bytes()
    copy = folder / "perf-until-core.map"
    copy.write_bytes(written[: written.rfind(b"\n") + 1])
    return copy


def on_core(c, make, maps, truth, kind, mode):
    maps = map_until_now(maps, maps.parent)
    core = make()
    target = Target(core=core)
    try:
        if kind in ("createdump-normal", "createdump-triage"):
            # Small dumps lack most code; what they hold must be right: the stacks.
            return check_answers.check_stacks_named(c.lldb, target)
        figures = [check_perfmap.check(c.lldb, target, maps, truth), check_perfmap.check_events(c.lldb, target, truth),
                   check_perfmap.check_written(c.lldb, target, maps, truth, maps.parent / "written.map")]
        if kind == "gcore-files":
            figures.append("ClrMD: " + attempt(check_clrmd.check_bodies, c.oracle, c.lldb, target))
            figures.append("ClrMD: " + attempt(check_clrmd.check_stacks, c.oracle, c.lldb, target))
        return "; ".join(figures)
    finally:
        pathlib.Path(core).unlink()


def attempt(function, oracle, *arguments):
    try:
        return function(oracle(), *arguments)
    except Unavailable as e:
        return f"not compared ({e})"


QUICK = ["recursion", "mutual", "generics-values", "generics-nested", "interface-default", "lambda", "dynamic-method", "reflection", "static-constructors",
         "osr-loop", "hot-tier1", "localloc", "large-frame", "many-threads", "pinvoke-block", "pinvoke-setlasterror", "callback-delegate", "callback-unmanaged",
         "callback-nested", "monitor-wait", "busy-loop", "finalizer", "async-resumed", "timer", "many-assemblies", "in-catch-deep", "in-filter", "in-finally", "nested-catch",
         "catch-in-catch", "unhandled", "unhandled-in-thread", "unhandled-in-catch", "null-dereference", "divide-by-zero", "fail-fast",
         "native-segv", "native-abort-in-callback", "crash-in-catch", "crash-in-finally", "crash-in-filter"]

# Optimised code differs where frames, funclets and inlining meet.
QUICK_OPTIMIZED = ["recursion", "generics-values", "generics-nested", "interface-default", "lambda", "dynamic-method", "static-constructors", "localloc", "large-frame",
                   "many-threads", "pinvoke-block", "callback-unmanaged", "callback-nested", "busy-loop", "async-resumed", "in-catch-deep", "in-filter", "in-finally",
                   "nested-catch", "unhandled", "null-dereference", "null-in-leaf", "null-in-registers", "hardware-in-leaf", "stack-overflow", "native-segv",
                   "crash-in-finally"]

BUILDS = [("debug", "Debug", {}), ("release", "Release", {}), ("release-optimized", "Release", {"TieredCompilation": 0}),
          ("release-jit", "Release", {"ReadyToRun": 0}), ("debug-osr", "Debug", {"OSR_HitLimit": 1, "TC_OnStackReplacement_InitialCounter": 1})]


# Of the situations whose cores are read as .NET 11's, too; with --full, all.
AS_NET11 = ["generics-nested", "dynamic-method", "callback-nested", "hot-tier1", "in-catch-deep", "nested-catch", "unhandled", "crash-in-filter"]


def situations(c):
    """Every situation, parked (live and as a core) or crashed (as the kernel's core), against the program's own report."""
    for build_name, configuration, knobs in BUILDS:
        if not c.may_want(f"situations/{build_name}"):
            continue
        program = processes.build("situations", c.work / "artifacts", configuration)
        listed = [line.split() for line in subprocess.run([program, "list"], capture_output=True, text=True, timeout=60).stdout.splitlines()]
        for name, end in listed:
            if c.full or name in {"debug": QUICK, "release-optimized": QUICK_OPTIMIZED}.get(build_name, ()):
                label = f"situations/{build_name}/{name}"
                c.results.with_second_try(label, functools.partial(situation, c, label, program, name, end, knobs))


REWRITTEN_QUICK = ["lambda", "in-filter", "unhandled"]   # with --full, all of these:
REWRITTEN = ["generics-nested", "interface-default", "lambda", "callback-nested", "localloc", "async-resumed", "in-catch-deep", "in-filter", "in-finally",
             "static-constructors", "unhandled"]


def rewritten(c):
    """Situations of a program whose IL a profiler rewrote: every method begins later in its IL than the PDB knows."""
    if not c.may_want("rewritten"):
        return
    program = processes.build("situations", c.work / "artifacts", "Debug")
    library = c.work / "rewriter.so"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", library, pathlib.Path(__file__).with_name("rewriter.c")], check=True, timeout=60)
    ends = dict(line.split() for line in subprocess.run([program, "list"], capture_output=True, text=True, timeout=60).stdout.splitlines())
    for name in REWRITTEN if c.full or c.only else REWRITTEN_QUICK:
        label = f"rewritten/{name}"
        log = c.work / f"rewritten-{name}"
        log.unlink(missing_ok=True)
        environment = {"CORECLR_ENABLE_PROFILING": "1", "CORECLR_PROFILER": "{6A8B2A0E-6D7C-4B57-9C5B-3D1C1F0E7A11}", "CORECLR_PROFILER_PATH": str(library),
                       "REWRITER_ASSEMBLY": "situations.dll", "REWRITER_LOG": str(log)}
        c.results.with_second_try(label, functools.partial(situation, c, label, program, name, ends[name], {}, environment))
        if c.may_want(label):
            c.check(f"{label}/rewrote", check_rewrote, log)


def check_rewrote(log):
    assert log.exists(), "the profiler rewrote no method"
    return f"{log.stat().st_size} methods"


def situation(c, label, program, name, end, knobs, environment=None):
    if not c.may_want(label):
        return
    with c.scratch(label.replace("/", "-")) as folder:
        report = folder / "report"
        crashes = end != "parks"
        with Running([program, name, report], folder, settings(**knobs) | (environment or {}), core_limit=-1 if crashes else 0) as running:
            running.wait_ready(60)
            if crashes:
                running.wait_end(60)
                if not processes.kernel_writes_cores():
                    c.results.skip(label, "core_pattern of this kernel does not write cores into the working folder")
                    return
                core = running.kernel_core()
                stop = check_native.Stop(c.lldb, lambda: Target(core=core, executable=program))
                c.check(f"{label}/core", check_stacks.check, stop, None, report)
                c.check(f"{label}/native/core", check_native.check, stop)
                c.check(f"{label}/lldb/core", check_lldb_bt.check, stop)
                as_net11(c, label, lambda: core, program, folder)
                if name == "fail-fast":
                    c.check(f"{label}/analyze/core", check_answers.check_fail_fast, c.lldb, Target(core=core, executable=program), "the end")
                if name in check_lldb_values.FAULTS:
                    c.check(f"{label}/values/core", check_lldb_values.check_fault, c.lldb, Target(core=core, executable=program), name)
                return
            running.wait_still([r["thread"] for r in check_stacks.read_report(report)])
            live = check_native.Stop(c.lldb, lambda: Target(pid=running.pid))
            c.check(f"{label}/live", check_stacks.check, live, None, report)
            c.check(f"{label}/native/live", check_native.check, live)
            c.check(f"{label}/lldb/live", check_lldb_bt.check, live)
            if c.may_want(f"{label}/numbers"):
                c.check(f"{label}/numbers/live", check_native.check_numbers, c.lldb, Target(pid=running.pid))
            core = functools.cache(lambda: processes.gcore(running.pid, folder / "core.gcore"))
            stop = check_native.Stop(c.lldb, lambda: Target(core=core()))
            c.check(f"{label}/core", parked_core, c, stop, running.pid, folder, report)
            c.check(f"{label}/native/core", check_native.check, stop)
            c.check(f"{label}/lldb/core", check_lldb_bt.check, stop)
            as_net11(c, label, core, None, folder)


def as_net11(c, label, core, program, folder):
    """The core once more as if its runtime, which is .NET 10's, were .NET 11's, in memory and in what it says of itself."""
    if not c.runtime and not label.startswith("rewritten/") and (c.full or label.rpartition("/")[2] in AS_NET11 or f"{label}/net11" in (c.only or ())):
        c.check(f"{label}/net11/core", net11_check, c, core, program, folder)


def net11_check(c, core, program, folder):
    return net11_values.check(c.lldb, c.core_tool, Target(core=core(), executable=program), "", folder, recorded=False)


def parked_core(c, stop, pid, folder, report):
    figures = check_stacks.check(stop, None, report)
    core = processes.gcore(pid, folder / "core.files", 0x3f)
    return figures + "; ClrMD: " + attempt(check_clrmd.check_stacks, c.oracle, c.lldb, Target(core=core))


def stepping(c):
    """Single steps through a loop of calls, with and without optimisation."""
    for name, configuration, knobs in (("debug", "Debug", {}), ("optimized", "Release", {"TieredCompilation": 0})):
        if not c.may_want(f"stepping/{name}"):
            continue
        program = processes.build("situations", c.work / "artifacts", configuration)
        c.results.with_second_try(f"stepping/{name}", functools.partial(step, c, name, program, knobs))


def step(c, name, program, knobs):
    with c.scratch(f"stepping-{name}") as folder:
        with Running([program, "stepping", folder / "report"], folder, settings(**knobs)) as running:
            running.wait_ready(60)
            stepped = running.thread_named("stepping")
            # Only the stepped thread runs between stops: it must not wait for one that was stopped while it changed compiled code.
            running.wait_still(running.threads() - {stepped}, quiet=0.5)
            c.check(f"stepping/{name}", check_steps.check, c.lldb, Target(pid=running.pid), stepped, 2000 if c.full else 500)
            c.check(f"stepping/{name}/lldb", check_lldb_step.check, c.lldb, Target(pid=running.pid), stepped, 2000 if c.full else 250)


VARIANTS = [
    ("self-contained-10.0.12", lambda w, p: variants.self_contained(w, p, "10.0.12")),
    ("self-contained-11.0.0", lambda w, p: variants.self_contained(w, p, "11.0.0")),
    ("self-contained-9.0.22", lambda w, p: variants.self_contained(w, p, "9.0.22")),
    ("self-contained-8.0.0", lambda w, p: variants.by_hand(w, p, "8.0.0")),
    ("single-file-10.0.12", lambda w, p: variants.single_file(w, p, "10.0.12")),
    ("single-file-11.0.0", lambda w, p: variants.single_file(w, p, "11.0.0")),
    ("composite-10.0.12", lambda w, p: variants.composite(w, p, "10.0.12")),
    ("musl-x64", variants.musl),
    ("arm64", variants.arm64),
]
# Programs without CoreCLR, by the version of the compiler that made them.
NATIVE_AOT = ("10.0.12", "11.0.0")
# Those that take minutes to make, or whose checks do not all know .NET 11 yet, run by their names, or with --full.
BY_NAME = ("variants/self-contained-11.0.0", "variants/single-file-11.0.0", "variants/native-aot-10.0.12", "variants/native-aot-11.0.0")
# Runtimes that publish no data descriptor, and whose layouts are not known.
REFUSED = ("8.0.0",)


def kinds_of_program(c):
    """The same program as every kind of program: the same questions, the same answers."""
    for name, make in VARIANTS:
        if not c.may_want(f"variants/{name}") or not c.asked_by_name(f"variants/{name}"):
            continue
        try:
            variant = make(c.work, "many")
        except Unavailable as e:
            c.results.skip(f"variants/{name}", str(e))
            continue
        c.results.with_second_try(f"variants/{name}", functools.partial(kind_of_program, c, name, variant))
    for version in NATIVE_AOT:
        label = f"variants/native-aot-{version}"
        if not c.may_want(label) or not c.asked_by_name(label):
            continue
        try:
            variant = variants.native_aot(c.work, version)
        except Unavailable as e:
            c.results.skip(label, str(e))
            continue
        c.results.with_second_try(label, functools.partial(native_program, c, label, variant))


def native_program(c, label, variant):
    with c.scratch(label.replace("/", "-")) as folder, Running(variant.command, folder, settings()) as running:
        assert running.wait_ready(), "the program did not start"
        c.check(f"{label}/live", check_answers.check_native_aot, c.lldb, Target(pid=running.pid), variant.version)
        core = Target(core=processes.gcore(running.pid, folder / "core.gcore"), executable=variant.command[0])
        c.check(f"{label}/core", check_answers.check_native_aot, c.lldb, core, variant.version)


def kind_of_program(c, name, variant):
    with c.scratch(f"variant-{name}") as folder:
        env = settings(PerfMapEnabled=3, PerfMapJitDumpPath=folder)
        env.update(variant.env)
        options = ["--methods", "8000"] if variant.guest else []
        with Running(many_command(variant.command, folder, *options), folder, env, core_limit=-1 if variant.guest else 0) as running:
            if not running.wait_ready(180):
                c.results.skip(f"variants/{name}", "the program did not start")
                return
            maps, truth = folder / f"perf-{running.pid}.map", folder / "truth"
            if variant.guest:
                until_core = map_until_now(maps, folder)
                target = Target(core=variants.guest_core(running, folder / "core.guest"), executable=variant.executable)
                views = [("core", target)]
            else:
                until_core = map_until_now(maps, folder)
                core = Target(core=processes.gcore(running.pid, folder / "core.gcore"))
                views = [("live", Target(pid=running.pid)), ("core", core)]
            for view, target in views:
                if variant.version in REFUSED:
                    entry_points = sorted(int(f[1], 16) for f in check_perfmap.read_truth(truth)["method"])
                    c.check(f"variants/{name}/refused/{view}", check_answers.check_refused, c.lldb, target, variant.version, entry_points)
                    continue
                cpu = "arm64" if variant.guest else "x64"
                c.check(f"variants/{name}/info/{view}", check_answers.check_info, c.lldb, target, variant.version, cpu)
                c.check(f"variants/{name}/perfmap/{view}", check_perfmap.check, c.lldb, target, maps if view == "live" else until_core, truth)
                c.check(f"variants/{name}/events/{view}", check_perfmap.check_events, c.lldb, target, truth)
                c.check(f"variants/{name}/stacks/{view}", check_answers.check_stacks_named, c.lldb, target)
                if variant.guest:
                    # The emulator's core does not say where libraries lie: LLDB ends at libc, below the managed frames.
                    c.check(f"variants/{name}/lldb/{view}", check_lldb_bt.check, check_native.Stop(c.lldb, lambda: target), True, False)
                elif view == "core" and name != "musl-x64":   # LLDB does not unwind musl's system calls
                    # LLDB is not told of the executable, and finds no module by itself.
                    c.check(f"variants/{name}/lldb/{view}", check_lldb_bt.check, check_native.Stop(c.lldb, lambda: target))
                if name.startswith("composite") and view == "core":
                    c.check(f"variants/{name}/lldb/savecore", check_lldb_of_saved, c.lldb, target, folder / "small.core", pathlib.Path(variant.command[0]).parent)
                if name == "self-contained-10.0.12":
                    if view == "core":
                        c.check(f"variants/{name}/without-files", check_answers.check_without_files, c.lldb, target, pathlib.Path(variant.command[0]).parent)
                    c.check(f"variants/{name}/listing/{view}", check_listing.check, c.lldb, target, 1000 if c.full else 100)
                    c.check(f"variants/{name}/savecore/{view}", check_answers.check_minimal_core, c.lldb, target, folder / f"minimal.{view}",
                            pathlib.Path(variant.command[0]).parent)


def check_lldb_of_saved(lldb, target, core, program_folder):
    """LLDB's own stacks of `clr savecore`'s core while the program's folder is away: what is left of one image of all assemblies cannot be listed."""
    (saved,) = lldb.run(target, [f'clr savecore "{core}"'])
    assert saved.startswith(str(core)), saved + lldb.errors
    with check_answers.without(program_folder):
        return versions.check_bare(versions.Stop(lldb, lambda: Target(core=core), True))


# The oldest ones, and the newest. LLDB 14 and 15 by themselves lose their connection when they attach to a process in a container.
CONTAINER_VERSIONS, CONTAINER_CORES_ONLY = ("14", "16", "22", "23"), ("/14",)


def containers(c):
    """A process in a container of its own, debugged from the host, live and by its core."""
    if not c.may_want("container"):
        return
    try:
        variant = variants.self_contained(c.work, "situations", "10.0.12")
    except Unavailable as e:
        return c.results.skip("container", str(e))
    c.results.with_second_try("container", functools.partial(container, c, variant))


def container(c, variant):
    versions = {"": c.lldb, **{f"/{v}": Lldb(c.plugin, driver) for v, driver in other_lldbs(c, CONTAINER_VERSIONS if c.full or c.only else ()).items()}}
    with c.scratch("container") as folder:
        try:
            made = check_container.Container(variant, ["many-threads", "/tmp/report"], folder)
        except Unavailable as e:
            return c.results.skip("container", str(e))
        with made:
            try:
                pid = made.wait_ready()
            except Unavailable as e:
                return c.results.skip("container", str(e))
            report = check_container.report_of_host(pid, made.root / "tmp" / "report", folder / "report")
            time.sleep(1)   # between READY and its place a thread still prints, compiles and binds
            for tag, lldb in ((tag, lldb) for tag, lldb in versions.items() if tag not in CONTAINER_CORES_ONLY):
                c.check(f"container/live{tag}", check_container.check_live, lldb, pid, made.program, report)
            for tag, lldb in versions.items():
                c.check(f"container/core{tag}", check_container.check_core, lldb, made, pid, report, folder)


def heaps(c):
    """The managed heap of the collector's kinds, against ClrMD and what the program knows of itself."""
    for name, mode in check_heap.MODES.items():
        if c.may_want(f"heap/{name}"):
            c.results.with_second_try(f"heap/{name}", functools.partial(heap, c, name, mode))


# Their runtimes publish no data descriptor: the layouts are those that the plugin knows.
HEAP_VARIANTS = ("musl-x64", "arm64")


def heaps_of_variants(c):
    """The managed heap of programs that ClrMD cannot read, against what the program knows of itself."""
    for name, make in VARIANTS:
        if name in HEAP_VARIANTS and c.may_want(f"heap/{name}"):
            try:
                variant = make(c.work, "heap")
            except Unavailable as e:
                c.results.skip(f"heap/{name}", str(e))
                continue
            c.results.with_second_try(f"heap/{name}", functools.partial(heap_of_variant, c, name, variant))


def heap_of_variant(c, name, variant):
    with c.scratch(f"heap-{name}") as folder:
        env = settings()
        env.update(variant.env)
        with Running(variant.command, folder, env, core_limit=-1 if variant.guest else 0) as running:
            if not running.wait_ready(180):
                c.results.skip(f"heap/{name}", "the program did not start")
                return
            if variant.guest:
                core = Target(core=variants.guest_core(running, folder / "core.guest"), executable=variant.executable)
            else:
                core = Target(core=processes.gcore(running.pid, folder / "core.gcore"))
            c.check(f"heap/{name}/core", check_heap.check_variant, c.lldb, core, running)


def heap(c, name, mode):
    program = processes.build("heap", c.work / "artifacts", "Release")
    with c.scratch(f"heap-{name}") as folder:
        with Running([program, *mode.arguments], folder, settings(**mode.knobs)) as running:
            assert running.wait_ready(), "heap did not start"
            c.check(f"heap/{name}/live", check_heap.check_live, c.lldb, running, mode)
            core = Target(core=processes.gcore(running.pid, folder / "core.gcore"))
            c.check(f"heap/{name}/core", check_heap.check_core, c.lldb, core, running, mode)
            c.check(f"heap/{name}/clrmd", check_heap.check_clrmd, c.oracle, c.core_tool.with_name("heap_tool"), core, mode)
            if mode.still:
                c.check(f"heap/{name}/handles", check_heap.check_handles, c.oracle, c.lldb, core)
                c.check(f"heap/{name}/paths", check_heap.check_paths, c.lldb, core)
                c.check(f"heap/{name}/retained", check_heap.check_retained, c.lldb, core)
                c.check(f"heap/{name}/python", check_heap.check_python, c.lldb, core)
                c.check(f"heap/{name}/gcdump", check_heap_files.check_gcdump, c.lldb, core, folder)
                c.check(f"heap/{name}/free", check_heap_files.check_free, c.lldb, core)
                c.check(f"heap/{name}/arrays", check_heap_files.check_arrays, c.lldb, core)
                c.check(f"heap/{name}/minimal", check_heap_files.check_minimal, c.lldb, core, folder)
                c.check(f"heap/{name}/root-kinds", check_heap_files.check_root_kinds, c.lldb, core)
                c.check(f"heap/{name}/lists", check_heap_files.check_python_lists, c.lldb, core, folder)
                c.check(f"heap/{name}/where", check_heap_files.check_where, c.lldb, core)
                c.check(f"heap/{name}/roots", check_heap_files.check_roots, c.lldb, core)
                c.check(f"heap/{name}/tables", check_heap_files.check_python, c.lldb, core, folder)
                c.check(f"heap/{name}/random", random_objects, c, running, folder)
                c.check(f"heap/{name}/diff", check_heap_files.check_difference, c.lldb, core, running, folder, functools.partial(
                    Running, [program, *mode.arguments, "--nodes", "12000", "--garbage", "100"], folder / "second", settings(**mode.knobs)))


def random_objects(c, running, folder):
    core = processes.gcore(running.pid, folder / "core.files", 0x3f)   # ClrMD names no type without the files' pages
    try:
        return check_random_objects.check(c.oracle, c.lldb, Target(core=core), folder, 100_000 if c.full else check_random_objects.COUNT)
    finally:
        pathlib.Path(core).unlink()


def frames_with_arguments(c):
    """Threads that stand in a call that has not begun."""
    for kind in ("debug", "release", "r2r"):
        if c.may_want(f"roots/{kind}"):
            c.results.with_second_try(f"roots/{kind}", functools.partial(passing, c, kind))


def passing(c, kind):
    program = processes.build("passing", c.work / "artifacts", "Debug" if kind == "debug" else "Release")
    with c.scratch(f"roots-{kind}") as folder:
        if kind == "r2r":
            shutil.copytree(program.parent, folder / "program")
            absent = c.work / "artifacts" / "bin" / "absent" / "release" / "absent.dll"
            image = folder / "image" / "passing.dll"
            images.compile_image(images.fetch_crossgen(c.work), processes.shared_framework(), [program.with_name("passing.dll"), "-r", absent], "linux-x64", image)
            program = folder / "program" / "passing"
            shutil.copy(image, program.with_name("passing.dll"))
        with Running([program, folder / "said"], folder, settings()) as running:
            assert running.wait_ready(), "passing did not start"
            c.check(f"roots/{kind}/live", check_roots.check, c.lldb, Target(pid=running.pid), folder / "said")
            core = Target(core=processes.gcore(running.pid, folder / "core.files", 0x3f))
            c.check(f"roots/{kind}/core", check_roots.check, c.lldb, core, folder / "said")
            c.check(f"roots/{kind}/clrmd", check_roots.check_clrmd, c.oracle, c.lldb, core)


def waits(c):
    """Async methods that wait in known ways."""
    for mode, (configuration, knobs) in check_async.MODES.items():
        if c.may_want(f"async/{mode}"):
            c.results.with_second_try(f"async/{mode}", functools.partial(wait_program, c, mode, configuration, knobs))
    for configuration in ("Debug", "Release"):
        if c.may_want(f"async/suspended/{configuration.lower()}"):
            c.results.with_second_try(f"async/suspended/{configuration.lower()}", functools.partial(suspended_program, c, configuration))


def suspended_program(c, configuration):
    program = processes.build("suspended", c.work / "artifacts", configuration)
    mode = configuration.lower()
    with c.scratch(f"async-suspended-{mode}") as folder, Running([program], folder, settings(RuntimeAsync=1)) as running:
        assert running.wait_ready(), "suspended did not start"
        kept = not (c.runtime or "").startswith("11.")
        c.check(f"async/suspended/{mode}/live", check_async.check_suspended, c.lldb, Target(pid=running.pid), kept)
        c.check(f"async/suspended/{mode}/stacks", check_async.check_folded, c.lldb, Target(pid=running.pid))
        core = Target(core=processes.gcore(running.pid, folder / "core.gcore"))
        c.check(f"async/suspended/{mode}/core", check_async.check_suspended, c.lldb, core, kept)
        c.check(f"async/suspended/{mode}/core/stacks", check_async.check_folded, c.lldb, core)


def wait_program(c, mode, configuration, knobs):
    program = processes.build("waits", c.work / "artifacts", configuration)
    with c.scratch(f"async-{mode}") as folder:
        with Running([program], folder, settings(**knobs)) as running:
            assert running.wait_ready(), "waits did not start"
            c.check(f"async/{mode}/live", check_async.check, c.lldb, Target(pid=running.pid), running)
            core = Target(core=processes.gcore(running.pid, folder / "core.gcore"))
            c.check(f"async/{mode}/core", check_async.check, c.lldb, core, running)
            c.check(f"async/{mode}/page", check_page.check, c.lldb, core)
            c.check(f"async/{mode}/python", check_async.check_python, c.lldb, core)
            if mode == "release":
                added_frames(c, f"async/{mode}/frames", Target(pid=running.pid), core)
        with Running([program, "--pool"], folder, settings(**knobs)) as running:
            assert running.wait_ready(), "waits did not start"
            told = check_async.told_by(running)
            c.check(f"async/{mode}/pool/live", check_async.check_pool, c.lldb, Target(pid=running.pid), told)
            core = Target(core=processes.gcore(running.pid, folder / "core.pool"))
            c.check(f"async/{mode}/pool/core", check_async.check_pool, c.lldb, core, told)


def added_frames(c, label, live, core):
    """LLDBs that take further frames, and one that does not."""
    c.check(f"{label}/19", check_async.check_no_added_frames, c.lldb, core)
    found = other_lldbs(c, [v for v in ("22", "23") if (v == "23" or c.full or c.only) and c.may_want(f"{label}/{v}")])
    for version, driver in found.items():
        c.check(f"{label}/{version}/live", check_async.check_added_frames, Lldb(c.plugin, driver), live)
        c.check(f"{label}/{version}/core", check_async.check_added_frames, Lldb(c.plugin, driver), core)


def locks(c):
    """Threads that hold and wait for locks of all kinds, against what the program knows of itself, and ClrMD's owners."""
    for name, (configuration, knobs) in check_locks.BUILDS.items():
        if c.may_want(f"locks/{name}"):
            c.results.with_second_try(f"locks/{name}", functools.partial(known_waits, c, name, configuration, knobs))
        if c.may_want(f"locks/many/{name}") and (c.full or c.only or name == "release"):
            c.results.with_second_try(f"locks/many/{name}", functools.partial(many_locks, c, name, configuration, knobs))


def known_waits(c, name, configuration, knobs):
    program = processes.build("locks", c.work / "artifacts", configuration)
    with c.scratch(f"locks-{name}") as folder:
        with Running([program, "waits"], folder, settings(**knobs)) as running:
            assert running.wait_ready(), "locks did not start"
            told = check_locks.told_by(running)
            c.check(f"locks/{name}/live", check_locks.check_waits, c.lldb, Target(pid=running.pid), told)
            core = Target(core=processes.gcore(running.pid, folder / "core.gcore", 0x3f))
            c.check(f"locks/{name}/core", check_locks.check_waits, c.lldb, core, told)
            c.check(f"locks/{name}/page", check_page.check, c.lldb, core)
            c.check(f"locks/{name}/page/live", check_page.check, c.lldb, Target(pid=running.pid))
            c.check(f"locks/{name}/python", check_locks.check_python, c.lldb, core)
            c.check(f"locks/{name}/clrmd", check_locks.check_clrmd, c.oracle, c.lldb, core)


def many_locks(c, name, configuration, knobs):
    """Locks of objects by chance, against what their program says and what ClrMD has of them."""
    program = processes.build("locks", c.work / "artifacts", configuration)
    with c.scratch(f"locks-many-{name}") as folder:
        for seed in range(5 if c.full else 2):
            label = f"locks/many/{name}/{seed}"
            with Running([program, "many", seed], folder / str(seed), settings(**knobs)) as running:
                assert running.wait_ready(), "locks did not start"
                told = check_locks.told_by(running)
                c.check(f"{label}/live", check_locks.check_waits, c.lldb, Target(pid=running.pid), told)
                core = Target(core=processes.gcore(running.pid, folder / f"core.{seed}", 0x3f))
                c.check(f"{label}/core", check_locks.check_waits, c.lldb, core, told)
                c.check(f"{label}/clrmd", check_locks.check_clrmd, c.oracle, c.lldb, core)


def deadlocks(c):
    """Planted deadlocks, each found with its members; none in programs that have none."""
    for name, (configuration, knobs) in check_locks.BUILDS.items():
        if c.may_want(f"deadlocks/{name}"):
            program = processes.build("locks", c.work / "artifacts", configuration)
            listed = subprocess.run([program, "list"], capture_output=True, text=True, timeout=60).stdout.split()
            for planted in listed:
                label = f"deadlocks/{name}/{planted}"
                if c.may_want(label) and (c.full or c.only or name == "release"):
                    c.results.with_second_try(label, functools.partial(planted_deadlock, c, label, program, planted, knobs))
    for name, arguments in (("heap", ()), ("many", ("--truth", "truth", "--methods", "2000")), ("locks", ("waits",))):
        label = f"deadlocks/healthy/{name}"
        if c.may_want(label):
            program = processes.build(name, c.work / "artifacts", "Release")
            c.results.with_second_try(label, functools.partial(healthy, c, label, program, arguments))


def planted_deadlock(c, label, program, planted, knobs):
    with c.scratch(label.replace("/", "-")) as folder:
        with Running([program, "deadlock", planted], folder, settings(**knobs)) as running:
            assert running.wait_ready(), "locks did not start"
            told = check_locks.told_by(running)
            c.check(f"{label}/live", check_locks.check_deadlock, c.lldb, Target(pid=running.pid), told)
            core = Target(core=processes.gcore(running.pid, folder / "core.gcore"))
            c.check(f"{label}/core", check_locks.check_deadlock, c.lldb, core, told)
            c.check(f"{label}/page", check_page.check_deadlock, c.lldb, core)


def healthy(c, label, program, arguments):
    with c.scratch(label.replace("/", "-")) as folder:
        with Running([program, *arguments], folder, settings()) as running:
            assert running.wait_ready(), "the program did not start"
            c.check(f"{label}/live", check_locks.check_healthy, c.lldb, Target(pid=running.pid))
            c.check(f"{label}/core", check_locks.check_healthy, c.lldb, Target(core=processes.gcore(running.pid, folder / "core.gcore")))


def pages(c):
    """The page of `clr report` as a browser shows it, of each kind of trouble, and with names that want to be markup."""
    for name, (program, arguments, knobs) in PAGES.items():
        if c.may_want(f"pages/{name}"):
            c.results.with_second_try(f"pages/{name}", functools.partial(page, c, f"pages/{name}", name, program, arguments, knobs))


PAGES = {"crash": ("situations", ("unhandled-inner", "report"), {}), "deadlock": ("locks", ("deadlock", "lock-async"), {}), "pool": ("waits", ("--pool",), {}), "locks": ("locks", ("waits",), {}),
         "async": ("waits", (), {}), "memory": ("serving", ("memory",), {"GCHeapHardLimit": hex(check_verdict.LIMIT)}), "names": ("odd", (), {})}


def page(c, label, name, program, arguments, knobs):
    crashes = name == "crash"
    if crashes and not processes.kernel_writes_cores():
        c.results.skip(label, "core_pattern of this kernel does not write cores into the working folder")
        return
    executable = processes.build(program, c.work / "artifacts", "Release")
    with c.scratch(label.replace("/", "-")) as folder:
        with Running([executable, *arguments], folder, settings(**knobs), core_limit=-1 if crashes else 0) as running:
            running.wait_ready()
            if crashes:
                running.wait_end()
            core = Target(core=running.kernel_core(), executable=executable) if crashes else Target(core=processes.gcore(running.pid, folder / "core.gcore"))
            c.check(label, check_page.check_browser, c.lldb, core, check_page.names_of(running))


def verdicts(c):
    """What `clr analyze` says of services in a known state of trouble or health."""
    for build, (configuration, knobs) in check_verdict.BUILDS.items():
        for mode, (arguments, more, check) in check_verdict.MODES.items():
            label = f"verdicts/{build}/{mode}"
            if c.may_want(label) and (c.full or c.only or build == "release"):
                program = processes.build("serving", c.work / "artifacts", configuration)
                c.results.with_second_try(label, functools.partial(verdict, c, label, program, mode, arguments, {**knobs, **more}, check))


def verdict(c, label, program, mode, arguments, knobs, check):
    with c.scratch(label.replace("/", "-")) as folder:
        with Running([program, *arguments], folder, settings(**knobs)) as running:
            assert running.wait_ready(), "serving did not start"
            live = Target(pid=running.pid)
            c.check(f"{label}/live", check, c.lldb, live)
            core = Target(core=processes.gcore(running.pid, folder / "core.gcore"))
            c.check(f"{label}/core", check, c.lldb, core)
            if mode == "semaphore":
                c.check(f"{label}/again", check_verdict.check_again, c.lldb, live, False)
                c.check(f"{label}/again/interrupted", check_verdict.check_again_interrupted, c.lldb, live)
                c.check(f"{label}/again/core", check_verdict.check_again_refused, c.lldb, core)
                bare = folder / "core.bare"
                c.lldb.run(core, [f"clr savecore {bare}"])
                c.check(f"{label}/bare", check_verdict.check_bare, c.lldb, Target(core=bare))
                valued = folder / "core.values"
                c.lldb.run(core, [f"clr savecore --values {valued}"])
                c.check(f"{label}/values", check_answers.check_saved_values, c.lldb, core, Target(core=valued), pathlib.Path(program).parent)
            if mode == "web":
                c.check(f"{label}/load", check_verdict.check_load, c.lldb, live, running)
                c.check(f"{label}/signal", check_verdict.check_signal, c.lldb, live, running)
                c.check(f"{label}/requests", check_verdict.check_requests, c.lldb, live, running)
        if mode == "semaphore":
            with Running([program, "moving"], folder, settings(**knobs)) as running:
                assert running.wait_ready(), "serving did not start"
                c.check(f"{label}/again/moving", check_verdict.check_again, c.lldb, Target(pid=running.pid), True)


def symbols(c):
    """PDBs as we read them against System.Reflection.Metadata: of the programs here, of one made for it, of packages that came with theirs."""
    if not c.may_want("pdb"):
        return
    if not c.core_tool.exists():
        c.results.skip("pdb/srm", f"not built: {c.core_tool.name}")
        return
    oracle = check_pdb.reader(c.work / "pdb")
    for name, kind, optimize in (("debug", "portable", "false"), ("optimized", "portable", "true"), ("embedded", "embedded", "false")):
        if c.wants(f"pdb/srm/generated-{name}"):
            files = [check_pdb.generated(c.work / "pdb", f"generated_{name}", kind, optimize, 4000 if c.full else 400)]
            c.check(f"pdb/srm/generated-{name}", check_pdb.check, c.core_tool, oracle, files)
    programs = [processes.build(program, c.work / "artifacts", configuration).with_suffix(".dll")
                for program in ("many", "situations") for configuration in ("Debug", "Release")]
    c.check("pdb/srm/programs", check_pdb.check, c.core_tool, oracle, programs)
    packages = pathlib.Path(os.environ.get("NUGET_PACKAGES") or pathlib.Path.home() / ".nuget" / "packages")
    files = [file for file in sorted(packages.glob("*/*/lib/**/*.pdb")) if check_pdb.is_portable(file)]
    if files:
        c.check("pdb/srm/packages", check_pdb.check, c.core_tool, oracle, files)


def traces(c):
    """Traces with method events: every stack that the process printed is named, addresses that were used again by their time."""
    modes = {mode: knobs for mode, knobs in check_nettrace.MODES.items() if c.may_want(f"nettrace/{mode}")}
    if not modes:
        return
    tool = c.core_tool.with_name("nettrace_tool")
    if not tool.exists():
        c.results.skip("nettrace", f"not built: {tool.name}")
        return
    program = processes.build("traced", c.work / "artifacts", "Release")
    for mode in modes:
        with c.scratch(f"traced-{mode}") as folder:
            check_nettrace.check_all(c, program, tool, folder, mode)


LINES_SEED = 1
# Calls are counted from the beginning and for good: what calls a method of the framework goes through a stub that no list of the runtime has.
COUNTING = {"TC_CallCountingDelayMs": 1, "TC_CallCountThreshold": "7FFF"}
PROTECTIONS = {"w^x": {}, "writable": {"EnableWriteXorExecute": 0}}


def debugging(c):
    """LLDB's own commands on managed code: going from line to line, breakpoints, variables."""
    if not c.may_want("lldb"):
        return
    lines = c.work / "artifacts" / "Lines.cs"
    program = line_program.make(lines, LINES_SEED)
    options = (f"-p:LiveLines={lines}",)
    debug = processes.build("debugged", c.work / "artifacts", "Debug", options)
    for protection, knobs in PROTECTIONS.items():
        c.results.with_second_try(f"lldb/lines/{protection}", functools.partial(debug_lines, c, f"lldb/lines/{protection}", c.lldb, debug, program, knobs, 1000 if c.full else 150))
        for kind, only in (("breaks", None), ("told", check_lldb_breaks.TOLD)):
            label = f"lldb/{kind}/debug/{protection}"
            c.results.with_second_try(label, functools.partial(debug_breaks, c, label, c.lldb, debug, knobs, only))
        # Where all code is writable there is less to see.
        if protection == "w^x" or c.asked_for("lldb/pattern"):
            label = f"lldb/pattern/debug/{protection}"
            c.results.with_second_try(label, functools.partial(debug_pattern, c, label, c.lldb, debug, knobs))
    for protection, knobs in PROTECTIONS.items():
        if protection != "w^x" and not c.asked_for("lldb/walk"):
            continue
        for label, method in [(f"lldb/walk/debug/{protection}/{m}", m) for m in WALKED] + [(f"lldb/walk/debug/{protection}/{m}/finish", m) for m in FINISHED]:
            c.results.with_second_try(label, functools.partial(debug_walk, c, label, debug, method, knobs))
    if c.may_want("lldb/into") or c.may_want("lldb/listing") or c.may_want("lldb/reserved"):
        edited = processes.build("edited", c.work / "artifacts", "Debug")
        c.results.with_second_try("lldb/listing/edited", functools.partial(debug_listing, c, "lldb/listing/edited", c.lldb, edited))
        for protection, knobs in PROTECTIONS.items():
            c.results.with_second_try(f"lldb/into/{protection}", functools.partial(debug_into, c, f"lldb/into/{protection}", c.lldb, edited, knobs))
            label = f"lldb/into/nested/{protection}"
            c.results.with_second_try(label, functools.partial(debug_nested, c, label, c.lldb, edited, knobs, check_dap.NESTED))
            c.results.with_second_try(f"lldb/into/faults/{protection}", functools.partial(debug_faults, c, f"lldb/into/faults/{protection}", c.lldb, edited, knobs))
            c.results.with_second_try(f"lldb/reserved/{protection}", functools.partial(debug_reserved, c, f"lldb/reserved/{protection}", c.lldb, edited, knobs))
    if c.may_want("lldb/thrown") or c.may_want("lldb/conditions"):
        edited = processes.build("edited", c.work / "artifacts", "Debug")
        for protection, knobs in PROTECTIONS.items():
            c.results.with_second_try(f"lldb/conditions/{protection}", functools.partial(debug_conditions, c, f"lldb/conditions/{protection}", c.lldb, edited, knobs))
            c.results.with_second_try(f"lldb/thrown/{protection}", functools.partial(debug_thrown, c, f"lldb/thrown/{protection}", c.lldb, edited, knobs))
    if c.may_want("lldb/lambda"):
        edited = processes.build("edited", c.work / "artifacts", "Debug")
        c.results.with_second_try("lldb/lambda", functools.partial(debug_lambda, c, "lldb/lambda", edited))
    if c.may_want("lldb/first"):
        for build in ("Debug", "Release"):
            label = f"lldb/first/{build.lower()}"
            c.results.with_second_try(label, functools.partial(debug_first_stop, c, label, processes.build("edited", c.work / "artifacts", build), build))
    if c.may_want("lldb/released"):
        edited = processes.build("edited", c.work / "artifacts", "Release")
        for protection, knobs in PROTECTIONS.items():
            c.results.with_second_try(f"lldb/released/{protection}", functools.partial(debug_released, c, f"lldb/released/{protection}", c.lldb, edited, knobs))
            label = f"lldb/released/nested/{protection}"
            c.results.with_second_try(label, functools.partial(debug_nested, c, label, c.lldb, edited, knobs, check_dap.NESTED_RELEASED))
    c.results.with_second_try("lldb/instructions/counting", functools.partial(debug_instructions, c, "lldb/instructions/counting", debug, {"ReadyToRun": 0, **COUNTING}))
    c.results.with_second_try("lldb/lines/counting", functools.partial(debug_lines, c, "lldb/lines/counting", c.lldb, debug, program, COUNTING, 1000 if c.full else 150))
    c.results.with_second_try("lldb/values/debug", functools.partial(debug_values, c, "lldb/values/debug", c.lldb, debug, PROTECTIONS["writable"], False))
    c.results.with_second_try("lldb/objects/debug", functools.partial(debug_objects, c, "lldb/objects/debug", debug))
    c.results.with_second_try("lldb/held/debug", functools.partial(debug_held, c, "lldb/held/debug", c.lldb, debug, True))
    if c.may_want("lldb/held/fsharp"):
        unions = processes.build("unions", c.work / "artifacts", "Debug", options)
        c.results.with_second_try("lldb/held/fsharp", functools.partial(debug_held, c, "lldb/held/fsharp", c.lldb, unions, False))
    for kind in KINDS:
        if c.may_want(f"lldb/kinds/{kind}"):
            built = processes.build(kind, c.work / "artifacts", "Debug")
            c.results.with_second_try(f"lldb/kinds/{kind}/debug", functools.partial(debug_kinds, c, f"lldb/kinds/{kind}/debug", c.lldb, built, False, True))
    if c.may_want("lldb/kinds/kinds/release"):
        built = processes.build("kinds", c.work / "artifacts", "Release")
        c.results.with_second_try("lldb/kinds/kinds/release", functools.partial(debug_kinds, c, "lldb/kinds/kinds/release", c.lldb, built, True, False))
    c.results.with_second_try("lldb/generics/debug", functools.partial(debug_generics, c, "lldb/generics/debug", debug, False))
    c.results.with_second_try("lldb/life", functools.partial(debug_life, c, debug))
    if any(c.may_want(f"lldb/{kind}/release") for kind in ("breaks", "told", "values", "held", "generics", "walk")):
        release = processes.build("debugged", c.work / "artifacts", "Release", options)
        for protection, knobs in PROTECTIONS.items():
            for method in WALKED_OPTIMIZED:
                label = f"lldb/walk/release/{protection}/{method}"
                c.results.with_second_try(label, functools.partial(debug_walk, c, label, release, method, knobs))
            for kind, only in (("breaks", None), ("told", check_lldb_breaks.TOLD)):
                label = f"lldb/{kind}/release/{protection}"
                c.results.with_second_try(label, functools.partial(debug_breaks, c, label, c.lldb, release, knobs, only))
        c.results.with_second_try("lldb/held/release", functools.partial(debug_held, c, "lldb/held/release", c.lldb, release, False))
        c.results.with_second_try("lldb/generics/release", functools.partial(debug_generics, c, "lldb/generics/release", release, True))
        for name, knobs in (("release", PROTECTIONS["writable"]), ("release-optimized", {"TieredCompilation": 0, **PROTECTIONS["writable"]})):
            c.results.with_second_try(f"lldb/values/{name}", functools.partial(debug_values, c, f"lldb/values/{name}", c.lldb, release, knobs, True))
    typed(c)
    other_versions(c, debug, program)


OTHER_PLACES = {"primitives", "strings", "structures", "references", "this", "collections"}
OTHER_BREAKS = ["b Breaks.cs:LINE(Plain)", "b Debugged.Breaks.Plain", "b Breaks.cs:LINE(Generic)", "b Breaks.cs:LINE(Async)", "b Breaks.Late.Method", "b Breaks.cs:LINE(Null)"]


# The oldest ones, and the newest. Those between were tried with the same checks.
OTHER_VERSIONS = ("14", "15", "16", "23")
TYPED_VERSIONS = ("16", "19", "22")


def other_lldbs(c, versions):
    """Version -> driver of those that can be had."""
    if not versions:
        return {}
    done = subprocess.run([HERE.parent.parent / "scripts" / "get-lldbs", c.lldbs, *versions], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


def typed(c):
    """Steps as somebody types them, also in LLDB 16, which tells of no reason where a part of its own plan ends, and in LLDB 22, whose thread that
    tells of events looks at what runs."""
    versions = [v for v in TYPED_VERSIONS if c.may_want(f"lldb/typed/{v}")]
    if not versions:
        return
    edited = processes.build("edited", c.work / "artifacts", "Debug")
    found = other_lldbs(c, [v for v in versions if v != "19"])
    for version in versions:
        lldb = c.lldb if version == "19" else Lldb(c.plugin, found[version]) if version in found else None
        if lldb is None:
            c.results.skip(f"lldb/typed/{version}", f"LLDB {version} cannot be had here")
            continue
        for protection, knobs in PROTECTIONS.items():
            label = f"lldb/typed/{version}/{protection}"
            c.results.with_second_try(label, functools.partial(debug_typed, c, label, lldb, edited, knobs))
        label = f"lldb/typed/{version}/filled"
        c.results.with_second_try(label, functools.partial(debug_typed, c, label, lldb, edited, {}, ("Fill", "fill", check_dap.FILLED)))
        if version != "19":
            c.results.with_second_try(f"lldb/typed/{version}/conditions", functools.partial(debug_conditions, c, f"lldb/typed/{version}/conditions", lldb, edited, {}))
        if c.may_want(f"lldb/typed/{version}/released"):
            label, built = f"lldb/typed/{version}/released", processes.build("edited", c.work / "artifacts", "Release")
            c.results.with_second_try(label, functools.partial(debug_typed, c, label, lldb, built, {}, ("Used", "released", check_dap.RELEASED)))


def other_versions(c, debug, program):
    """A part of the same in other LLDBs."""
    versions = [v for v in OTHER_VERSIONS if c.may_want(f"lldb/versions/{v}")]
    if not versions:
        return
    found = other_lldbs(c, versions)
    for version in versions:
        label = f"lldb/versions/{version}"
        if version not in found:
            c.results.skip(label, f"LLDB {version} cannot be had here")
            continue
        lldb = Lldb(c.plugin, found[version])
        c.results.with_second_try(f"{label}/lines", functools.partial(debug_lines, c, f"{label}/lines", lldb, debug, program, COUNTING, 300 if c.full else 40))
        c.results.with_second_try(f"{label}/breaks", functools.partial(debug_breaks, c, f"{label}/breaks", lldb, debug, {}, OTHER_BREAKS))
        edited = processes.build("edited", c.work / "artifacts", "Debug")
        c.results.with_second_try(f"{label}/into", functools.partial(debug_into, c, f"{label}/into", lldb, edited, {}))
        c.results.with_second_try(f"{label}/conditions", functools.partial(debug_conditions, c, f"{label}/conditions", lldb, edited, {}))
        c.results.with_second_try(f"{label}/thrown", functools.partial(debug_thrown, c, f"{label}/thrown", lldb, edited, {}))
        c.results.with_second_try(f"{label}/listing", functools.partial(debug_listing, c, f"{label}/listing", lldb, edited))
        if c.may_want(f"{label}/released"):
            edited = processes.build("edited", c.work / "artifacts", "Release")
            c.results.with_second_try(f"{label}/released", functools.partial(debug_released, c, f"{label}/released", lldb, edited, {}))
        c.results.with_second_try(f"{label}/held", functools.partial(debug_held, c, f"{label}/held", lldb, debug, False))
        c.results.with_second_try(f"{label}/values", functools.partial(debug_values, c, f"{label}/values", lldb, debug, PROTECTIONS["writable"], False, OTHER_PLACES))


def editors(c):
    """Clients of lldb-dap, which were told `plugin load` and no more."""
    if not c.may_want("dap"):
        return
    program = processes.build("edited", c.work / "artifacts", "Debug")
    released = processes.build("edited", c.work / "artifacts", "Release")
    for version, adapter, environment in check_dap.adapters(c.lldbs):
        label = f"dap/{version}"
        if adapter is None:
            c.results.skip(label, f"no lldb-dap of LLDB {version}")
            continue
        for protection in PROTECTIONS:
            knobs = settings(**PROTECTIONS[protection])
            c.results.with_second_try(f"{label}/launch/{protection}", functools.partial(editor_launch, c, f"{label}/launch/{protection}", adapter, program, {**knobs, **environment}, version == "22"))
            c.results.with_second_try(f"{label}/late/{protection}", functools.partial(editor_late, c, f"{label}/late/{protection}", adapter, program, {**knobs, **environment}))
            c.results.with_second_try(f"{label}/conditions/{protection}", functools.partial(editor_conditions, c, f"{label}/conditions/{protection}", adapter, program, {**knobs, **environment}))
            c.results.with_second_try(f"{label}/counts/{protection}", functools.partial(editor_counts, c, f"{label}/counts/{protection}", adapter, program, {**knobs, **environment}))
            c.results.with_second_try(f"{label}/steps/{protection}", functools.partial(editor_steps, c, f"{label}/steps/{protection}", adapter, program, {**knobs, **environment}))
            c.results.with_second_try(f"{label}/fault/{protection}", functools.partial(editor_fault, c, f"{label}/fault/{protection}", adapter, program, {**knobs, **environment}))
            for scene in check_dap.SCENES:
                c.results.with_second_try(f"{label}/{scene}/{protection}", functools.partial(editor_scene, c, f"{label}/{scene}/{protection}", adapter, program, {**knobs, **environment}, scene))
            c.results.with_second_try(f"{label}/released/{protection}", functools.partial(editor_released, c, f"{label}/released/{protection}", adapter, released, {**knobs, **environment}))
            c.results.with_second_try(f"{label}/attach/{protection}", functools.partial(editor_attach, c, f"{label}/attach/{protection}", adapter, program, {**os.environ, **environment}, knobs))


def editor_launch(c, label, adapter, program, environment, stale):
    if c.wants(label):
        c.check(label, check_dap.check_launch, adapter, c.plugin, program, environment, stale)


def editor_late(c, label, adapter, program, environment):
    if c.wants(label):
        c.check(label, check_dap.check_late, adapter, c.plugin, program, environment)


def editor_conditions(c, label, adapter, program, environment):
    if c.wants(label):
        c.check(label, check_dap.check_conditions, adapter, c.plugin, program, environment)


def editor_counts(c, label, adapter, program, environment):
    if c.wants(label):
        c.check(label, check_dap.check_counts, adapter, c.plugin, program, environment)


def editor_steps(c, label, adapter, program, environment):
    if c.wants(label):
        c.check(label, check_dap.check_steps, adapter, c.plugin, program, environment)


def editor_fault(c, label, adapter, program, environment):
    if c.wants(label):
        c.check(label, check_dap.check_fault, adapter, c.plugin, program, environment)


def editor_scene(c, label, adapter, program, environment, scene):
    if c.wants(label):
        place, steps, words = check_dap.SCENES[scene]
        c.check(label, check_dap.check_scene, adapter, c.plugin, program, environment, place, scene, steps, words)


def editor_released(c, label, adapter, program, environment):
    if c.wants(label):
        c.check(label, check_dap.check_released, adapter, c.plugin, program, environment)


def debug_released(c, label, lldb, program, knobs):
    if c.wants(label):
        c.check(label, check_lldb_into.check_released, lldb, program, {f"DOTNET_{name}": value for name, value in knobs.items()})


def debug_conditions(c, label, lldb, program, knobs):
    if c.wants(label):
        c.check(label, check_lldb_conditions.check, lldb, program, {f"DOTNET_{name}": value for name, value in knobs.items()})


def debug_thrown(c, label, lldb, program, knobs):
    if c.wants(label):
        c.check(label, check_lldb_thrown.check, lldb, program, {f"DOTNET_{name}": value for name, value in knobs.items()})


def debug_typed(c, label, lldb, program, knobs, walk=("Interface", "steps", check_dap.STEPS)):
    if c.wants(label):
        c.check(label, check_lldb_into.check_typed, lldb, program, {f"DOTNET_{name}": value for name, value in knobs.items()}, *walk)


def debug_nested(c, label, lldb, program, knobs, steps):
    if c.wants(label):
        c.check(label, check_lldb_into.check_nested, lldb, program, {f"DOTNET_{name}": value for name, value in knobs.items()}, steps)


def debug_faults(c, label, lldb, program, knobs):
    if c.wants(label):
        c.check(label, check_lldb_into.check_faults, lldb, program, {f"DOTNET_{name}": value for name, value in knobs.items()})


def debug_lambda(c, label, program):
    if c.wants(label):
        c.check(label, check_lldb_into.check_lambda, c.lldb, program, {})


def debug_first_stop(c, label, program, build):
    if c.wants(label):
        c.check(label, check_lldb_into.check_first_stop, c.lldb, program, {"DOTNET_TieredCompilation": "0"}, build == "Release")


def debug_reserved(c, label, lldb, program, knobs):
    if c.wants(label):
        c.check(label, check_lldb_into.check_reserved, lldb, program, {f"DOTNET_{name}": value for name, value in knobs.items()})


def debug_into(c, label, lldb, program, knobs):
    environment = {f"DOTNET_{name}": value for name, value in knobs.items()}
    if c.wants(label):
        c.check(label, check_lldb_into.check, lldb, program, environment)
        c.check(f"{label}/filtered", check_lldb_into.check_filtered, lldb, program, environment)
        c.check(f"{label}/halted", check_lldb_into.check_halted, lldb, program, environment)
        for scene in check_dap.SCENES:
            c.check(f"{label}/{scene}", check_lldb_into.check_scene, lldb, program, environment, scene)


def debug_listing(c, label, lldb, program):
    if c.wants(label):
        c.check(label, check_lldb_listing.check, lldb, program, {})


def editor_attach(c, label, adapter, program, environment, knobs):
    if not c.wants(label):
        return
    with c.scratch(label.replace("/", "-")) as folder, Running([program, "wait"], folder, {**os.environ, **knobs}) as running:
        assert running.wait_ready(), "the program did not start"
        c.check(label, check_dap.check_attach, adapter, c.plugin, environment, running)


def debug_lines(c, label, lldb, executable, program, knobs, count):
    if not c.wants(label):
        return
    with c.scratch(label.replace("/", "-")) as folder, Running([executable, "lines", folder / "log"], folder, settings(**knobs)) as running:
        assert running.wait_ready(), "the program did not start"
        target = Target(pid=running.pid)
        c.check(label, check_lldb_lines.check, lldb, target, program, folder / "log", count)
        if lldb is not c.lldb:
            stop = check_native.Stop(lldb, lambda: target)
            c.check(f"{label}/bt/live", check_lldb_bt.check, stop)
            core = check_native.Stop(lldb, lambda: Target(core=processes.gcore(running.pid, folder / "core.gcore")))
            c.check(f"{label}/bt/core", check_lldb_bt.check, core)


WALKED_OPTIMIZED = ("Total", "Part", "Streams")   # by the compiler alone: what is new is not optimised by the runtime yet
WALKED = ("First", "Area", "Total", "Part", "Streams", "Starts", "Brief", "Caught")
FINISHED = ("Part", "Early", "Brief")


def debug_walk(c, label, executable, method, knobs):
    """From line to line where callees are compiled meanwhile, and where the method waits."""
    if not c.wants(label):
        return
    with c.scratch(label.replace("/", "-")) as folder, Running([executable, "steps", folder / "log"], folder, settings(**knobs)) as running:
        assert running.wait_ready(), "the program did not start"
        check = check_lldb_walk.check_finish if label.endswith("/finish") else check_lldb_walk.check
        c.check(label, check, c.lldb, Target(pid=running.pid), method, folder / "log")


def debug_instructions(c, label, executable, knobs):
    """Through call counting stubs, write barriers, dispatch stubs and helpers. Not in ReadyToRun code: where it was published before a thread came
    to stand in it, LLDB works its epilogues out by itself, and fails at those that end in an indirect jump."""
    if not c.wants(label):
        return
    with c.scratch(label.replace("/", "-")) as folder, Running([executable, "lines", folder / "log"], folder, settings(**knobs)) as running:
        assert running.wait_ready(), "the program did not start"
        c.check(label, check_lldb_step.check, c.lldb, Target(pid=running.pid), running.pid, 4000 if c.full else 500, "Debugged.Lines.Round")


def debug_breaks(c, label, lldb, executable, knobs, only=None):
    if not c.wants(label):
        return
    with c.scratch(label.replace("/", "-")) as folder, Running([executable, "breaks", folder / "counts"], folder, settings(**knobs)) as running:
        assert running.wait_ready(), "the program did not start"
        chosen = {spec: check_lldb_breaks.SPECS[spec] for spec in only} if only else None
        c.check(label, check_lldb_breaks.check, lldb, Target(pid=running.pid), running, folder / "counts", folder, chosen)


def debug_pattern(c, label, lldb, executable, knobs):
    if not c.wants(label):
        return
    with c.scratch(label.replace("/", "-")) as folder, Running([executable, "breaks", folder / "counts"], folder, settings(**knobs)) as running:
        assert running.wait_ready(), "the program did not start"
        c.check(label, check_lldb_breaks.check_pattern, lldb, Target(pid=running.pid))


def debug_values(c, label, lldb, executable, knobs, release, chosen=None):
    if not c.wants(label):
        return
    with c.scratch(label.replace("/", "-")) as folder, Running([executable, "values", folder / "said"], folder, settings(**knobs)) as running:
        assert running.wait_ready(), "the program did not start"
        running.wait_lines(folder / "said", "scopes")
        c.check(label, check_lldb_values.check, lldb, Target(pid=running.pid), folder / "said", folder, release, chosen)


def debug_objects(c, label, executable):
    """Live, and in a core of it."""
    if not c.wants(label):
        return
    with c.scratch(label.replace("/", "-")) as folder, Running([executable, "objects", folder / "said"], folder, settings()) as running:
        assert running.wait_ready(), "the program did not start"
        core = processes.gcore(running.pid, folder / "core.objects")
        c.check(label, check_objects.check, c.lldb, Target(pid=running.pid), folder / "said")
        c.check(f"{label}/core", check_objects.check, c.lldb, Target(core=core, executable=executable), folder / "said")


def debug_held(c, label, lldb, executable, everywhere):
    """Live, in a core of it, in one without any file, and in an editor."""
    if not c.may_want(label):
        return
    with c.scratch(label.replace("/", "-")) as folder, Running([executable, "held", folder / "said"], folder, settings()) as running:
        assert running.wait_ready(), "the program did not start"
        c.check(label, check_held.check, lldb, Target(pid=running.pid), folder / "said")
        c.check(f"{label}/named", check_held.check_named, lldb, Target(pid=running.pid), folder)
        if not everywhere:
            return
        core = processes.gcore(running.pid, folder / "core.held")
        c.check(f"{label}/core/named", check_held.check_named, lldb, Target(core=core), folder)
        c.check(f"{label}/frames", check_held.check_frames, lldb, Target(pid=running.pid), folder)
        c.check(f"{label}/assignments", check_held.check_assignments, lldb, Target(pid=running.pid))
        c.check(f"{label}/descriptions", check_held.check_descriptions, lldb, Target(pid=running.pid))
        c.check(f"{label}/core/descriptions", check_held.check_descriptions, lldb, Target(core=core))
        c.check(f"{label}/core", check_held.check, lldb, Target(core=core, executable=executable), folder / "said")
        c.check(f"{label}/core/bare", check_held.check, lldb, Target(core=core), folder / "said")
        for version, adapter, environment in check_dap.adapters(c.lldbs):
            if adapter is None:
                c.results.skip(f"{label}/dap/{version}", f"no lldb-dap of LLDB {version}")
            else:
                c.check(f"{label}/dap/{version}", check_held.check_editor, adapter, c.plugin, {**os.environ, **environment}, core, executable, folder / "said")


KINDS = ("kinds", "corner")   # in C# and Visual Basic


def debug_kinds(c, label, lldb, executable, release, everywhere):
    """Live, in a core of it, in one without any file, in Python without LLDB, and in an editor."""
    if not c.may_want(label):
        return
    with c.scratch(label.replace("/", "-")) as folder, Running([executable, "held", folder / "said"], folder, settings()) as running:
        assert running.wait_ready(), "the program did not start"
        c.check(label, check_kinds.check, lldb, Target(pid=running.pid), folder / "said", release)
        core = processes.gcore(running.pid, folder / "core.kinds")
        c.check(f"{label}/core/bare", check_kinds.check, lldb, Target(core=core), folder / "said", release)
        if not everywhere:
            return
        c.check(f"{label}/core", check_kinds.check, lldb, Target(core=core, executable=executable), folder / "said", release)
        c.check(f"{label}/python", check_kinds.check_package, c.plugin, core, folder / "said")
        for version, adapter, environment in check_dap.adapters(c.lldbs):
            if adapter is None:
                c.results.skip(f"{label}/dap/{version}", f"no lldb-dap of LLDB {version}")
            else:
                c.check(f"{label}/dap/{version}", check_kinds.check_editor, adapter, c.plugin, {**os.environ, **environment}, core, executable, folder / "said")


def debug_generics(c, label, executable, release):
    """Live, and in a core of it."""
    if not c.wants(label):
        return
    with c.scratch(label.replace("/", "-")) as folder, Running([executable, "generics", folder / "said"], folder, settings(**({"TieredCompilation": 0} if release else {}))) as running:
        assert running.wait_ready(), "the program did not start"
        core = processes.gcore(running.pid, folder / "core.generics")
        c.check(label, check_generics.check, c.lldb, Target(pid=running.pid), folder / "said", release)
        c.check(f"{label}/core", check_generics.check, c.lldb, Target(core=core, executable=executable), folder / "said", release)


def debug_life(c, executable):
    if c.may_want("lldb/life"):
        with c.scratch("lldb-life") as folder:
            check_lldb_life.check_all(c, executable, folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plugin", default=HERE.parent.parent / "build" / "liblldb-clr.so")
    parser.add_argument("--lldb", help="the LLDB driver (default: lldb-19)")
    parser.add_argument("--lldbs", help="folder of scripts/get-lldbs with LLDB 14, 15, 16 and 23 (default: beside the plugin)")
    parser.add_argument("--core-tool", help="ask this program (tests/cores/core_tool.cpp) instead of the plugin in LLDB; cores only")
    parser.add_argument("--work", help="folder for builds and cores, kept")
    parser.add_argument("--only", action="append", metavar="PREFIX", help="only checks whose name starts so (may be repeated)")
    parser.add_argument("--runtime", metavar="VERSION", help="the programs run on this runtime, which NuGet gives, instead of the SDK's")
    parser.add_argument("--full", action="store_true")
    options = parser.parse_args()
    c = Context(options)
    try:
        c.lldb = CoreTool(options.core_tool) if options.core_tool else Lldb(c.plugin, c.driver)
        processes.dotnet()
        if options.runtime:
            root = variants.installed(c.work, options.runtime)
            processes.use_root(root)
            plugin.ENVIRONMENT["DOTNET_ROOT"] = str(root)   # of programs that LLDB launches
        for suite in (perf_maps, situations, rewritten, stepping, kinds_of_program, containers, heaps, heaps_of_variants, frames_with_arguments, waits, locks, deadlocks, pages, verdicts, symbols, traces, debugging, editors):
            try:
                suite(c)
            except Unavailable as e:
                c.results.skip(suite.__name__.replace("_", " "), str(e))
    except Unavailable as e:
        c.results.skip("all live tests", str(e))
    finally:
        if not c.keep:
            shutil.rmtree(c.work, ignore_errors=True)
    return c.results.summary()


if __name__ == "__main__":
    sys.exit(main())
