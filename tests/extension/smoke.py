"""The plugin in every supported LLDB, from outside: it loads, its commands answer, its errors are plain, LLDB stays alive.

Groups that every version runs: symbols of the API, without a process, native process, without /proc, core and live (the commands on a runtime,
and minimal cores), whole names, what commands ask for, files that a program lends. Groups of the versions in EVERY_GROUP alone, because what they try is the plugin's own
and not LLDB's: symbol files; and, in the newest of them, a runtime whose self-description is torn, and files that are read and written. Those in
COMMANDS_GROUP run every command of LLDB's `help`, without the plugin and with it, and compare more of what commands ask for.
"""
import argparse
import concurrent.futures
import contextlib
import json
import lzma
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time

import api_symbols
import asked
import bad_input
import command_line
import dotnet_process
import every_command
import faults
import files
import host_faults
import sos_names
import sources
import stand_ins
import whole_names
import without_proc
from lldb_driver import Died, Driver, Report

import processes   # of tests/live, which whole_names knows

HERE = pathlib.Path(__file__).resolve().parent
SCRIPTS = HERE.parent.parent / "scripts"
RECORDED = HERE.parent / "cores" / "gallery-x64.core.xz"
EVERY_GROUP = ("14", "19")   # 15 and 16 are called as 14 is
FAULT_GROUP = ("14", "19")    # the plugin handles its faults itself: the oldest and the newest way of being called are enough
COMMANDS_GROUP = ("14", "19", "23")   # how LLDB goes through modules differs by version: the oldest, the newest, and Debian's
COMMANDS_LIVE = "19"                  # of these, on live processes as well
YOUNG = 240.0   # seconds that a process has lived when a debugger comes to it
AT_ONCE = 2   # LLDBs; each waits for its process now and then


def drivers(folder, versions, plugin):
    """A driver for each version that can be had, and of the others why not."""
    done = subprocess.run([SCRIPTS / "get-lldbs", folder, *versions], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    sys.stderr.write(done.stderr)
    found = {version: Driver(version, program, plugin) for version, program in (line.split(" ", 1) for line in done.stdout.splitlines())}
    missing = dict(re.findall(r"^get-lldbs: LLDB (\d+) skipped: (.*)$", done.stderr, re.M))
    return found, {version: missing.get(version, done.stderr[-300:]) for version in {*versions, *missing} - {*found}}


def check_without_process(driver, report, tag):
    commands = ["help clr", "help clrip2md", "help clr ip2md", "help clrbt", "clrip2md", "clrip2md 0x1000", "clrip2md --bogus 1",
                "clrbt", "clr info", "clr methods", "clr info extra words", "clr settings --path-map nonsense",
                "clr symbols", "clr symbols list", "clr symbols remove x", "clr symbols add /bin/true", "clr symbolize /does/not/exist", "clr perfmap",
                "clrip2md --from /does/not/exist", f"plugin load \"{driver.plugin}\"",
                "target create /bin/true", "clrip2md 0x1000", "clrbt all", "clr info", "version"]
    texts = driver.run(commands)
    by = iter(zip(commands, texts))

    def expect(*patterns, absent=()):
        command, text = next(by)
        report.check(f"{tag} {command}", text, *patterns, absent=absent)

    report.check(f"{tag} plugin load is silent", driver.load_text or "(nothing)", r"^\(nothing\)$")
    expect("ip2md", "bt", "info", "methods")
    expect("Syntax: clrip2md", "--json", "--from")
    expect("Syntax: clr ip2md", "--json")
    expect("Syntax: clrbt", "THREAD")
    expect("^error: ADDRESS is missing")
    expect("^error: there is no target")
    expect("^error: .*--bogus")
    expect("^error: there is no target")
    expect("^error: there is no target")
    expect("^error: there is no target")
    expect("^error: .*extra")
    expect("^error: --path-map takes FROM=TO, not 'nonsense'")
    expect("^error: .*add, list, remove, save")
    expect("^no symbol files")
    expect("^error: FILE 'x' is not in use")
    expect("^(/bin/true: ELF file|error: )")
    expect("^error: ")
    expect("^error: there is no target")
    expect("^error: ")
    expect("^lldb-clr: the plugin is loaded already", absent=["exists already"])
    expect("Current executable set")
    expect("^error: there is no process")
    expect("^error: there is no process")
    expect("^error: there is no process")
    expect(r"lldb version")


def check_native_process(driver, report, tag):
    """A process without a runtime, and one that has exited."""
    with dotnet_process.running(["sleep", "300"], settle=0.3) as process:
        commands = [f"process attach --pid {process.pid}", "clr info --modules", "clrip2md $pc", "clrip2md --json $pc $sp 12", "clrbt",
                    "clr methods", "clrip2md no_such_name_at_all", "clrip2md 0x1ffffffffffffffffff", "clrip2md 1.5", "clrip2md ''",
                    "clrbt 99", "clrbt nonsense", "detach"]
        texts = dict(zip(commands, driver.run(commands)))
        alive = process.poll() is None
    report.check(f"{tag} no runtime: clr info", texts["clr info --modules"], "no .NET runtime")
    report.check(f"{tag} no runtime: clrip2md $pc", texts["clrip2md $pc"], "no .NET runtime")
    report.check(f"{tag} no runtime: --json", texts["clrip2md --json $pc $sp 12"], r'"reason":"no_runtime"', r'"address":"0xc"')
    report.check(f"{tag} no runtime: clrbt", texts["clrbt"], r"^\* thread #1", r"^  \* frame #0: 0x[0-9a-f]+ ", "frame #1: ")
    report.check(f"{tag} no runtime: clr methods", texts["clr methods"], "^error: .*no .NET runtime")
    report.check(f"{tag} unknown name", texts["clrip2md no_such_name_at_all"], "^error: 'no_such_name_at_all' is not an address: .*undeclared identifier")
    report.check(f"{tag} number of 68 bits", texts["clrip2md 0x1ffffffffffffffffff"], "^error: .* is not an address: .*too large")
    report.check(f"{tag} a fraction", texts["clrip2md 1.5"], "^error: '1.5' is not an address")
    report.check(f"{tag} an empty word", texts["clrip2md ''"], "^error: ")
    report.check(f"{tag} no such thread", texts["clrbt 99"], "^error: there is no thread #99")
    report.check(f"{tag} not a thread", texts["clrbt nonsense"], "^error: THREAD 'nonsense' is not a thread number")
    report.check(f"{tag} the process survives", str(alive), "True")
    # LLDB 14 to 17 wait for 20 s when they are to end before they have seen that the process has.
    (*_, exited, _) = driver.run(["target create /bin/true", "process launch --no-stdio", "platform shell sleep 0.5", "clrip2md 0x1000", "process status"])
    report.check(f"{tag} after the process has exited", exited,
                 r"^(error: (the process (has exited|is running)|there is no process)|0x0+1000: no managed method \(no_runtime\))")   # LLDB may be behind


def managed_frame(text):
    """Address of the first managed frame of a text backtrace: modules that are assemblies."""
    found = re.search(r"frame #\d+: (0x[0-9a-f]+) [\w.]+\.dll`", text)
    return found.group(1) if found else None


def check_managed(driver, report, tag, opening, closing):
    """A process or core with a runtime."""
    first = driver.run([*opening, "clr info", "clrbt all", "clr methods --count *String*", "clr info --json", *closing], 300)
    info, stacks, methods, as_json = first[len(opening):len(opening) + 4]
    report.check(f"{tag} clr info", info, r"^runtime: +CoreCLR \d+\.\d+\.\d+ \(linux", r"^descriptor: +0x", r"^contracts used: .*ExecutionManager")
    report.check(f"{tag} clrbt all", stacks, r"^[* ] thread #1", r"frame #\d+: 0x[0-9a-f]+ [\w.]+\.dll`[\w.]+", absent=["not named"])
    report.check(f"{tag} clr methods", methods, r"^[1-9]\d* methods")
    report.check(f"{tag} clr info --json", as_json, r'"schema":1', r'"name":"CoreCLR"')
    address = managed_frame(stacks)
    if not address:
        report.fail(f"{tag} clrip2md of a frame", "clrbt shows no managed frame")
        return
    commands = [f"clrip2md {address}", f"clrip2md --json {address} 0x10", f"clr unwind {address}", f"clr unwind --json {address}", "clr unwind 0x10", f"clr gcinfo {address}", f"clr gcinfo --all --json {address}", "clr roots stack", "clr roots stack --json",
                "clrbt --registers -n 2", "clrbt --unique", "clrbt --unique --json", f"clr u {address}", f"clr u --json {address}", "clr u No.Such.Method",
                f"clr source {address}", "clr source 0x10"]
    second = driver.run([*opening, *commands, *closing], 300)
    text, as_json, unwind, unwind_json, no_unwind, gc_info, gc_info_json, roots, roots_json, registers, unique, unique_json, listing, listing_json, no_listing, source, no_source = second[len(opening):len(opening) + len(commands)]
    report.check(f"{tag} clrip2md", text, r"\.dll`", "module:", "token:", "MethodDesc:", "code:", "start:", "region:")
    report.check(f"{tag} clrip2md --json", as_json, r'"result":"method"', r'"result":"miss"')
    report.check(f"{tag} clr unwind", unwind, r"\.dll`", r"^  RUNTIME_FUNCTION 0x[0-9a-f]+: \[0x", r"^    CFA = r[bs]p", r"^    rip at CFA - 0x8")
    report.check(f"{tag} clr unwind --json", unwind_json, r'"source":"unwind_info"', r'"op":"PUSH_NONVOL"', r'"register":"rip"')
    report.check(f"{tag} clr unwind of nothing", no_unwind, r"^error: no unwind data for 0x10: no module")
    report.check(f"{tag} clr gcinfo", gc_info, r"\.dll`", r"^  GC info \d+ at 0x[0-9a-f]+: \d+ bytes of code", r"^  \d+ slots, \d+ safe points, \d+ ranges")
    report.check(f"{tag} clr gcinfo --json", gc_info_json, r'"code_length":\d+', r'"slots":\[', absent=['"fault":"GC'])
    report.check(f"{tag} clr roots stack", roots, r"^thread #\d+", r"^  0x[0-9a-f]{16} .*\.dll`", r"^    \S+ .* 0x[0-9a-f]{16} [\w.]+")
    report.check(f"{tag} clr roots stack --json", roots_json, r'"kind":"stack"', r'"type":"[\w.]+', r'"certain":true')
    report.check(f"{tag} clr u", listing, r"\.dll`.* \[", r"^    0x[0-9a-f]+ <\+0>:", rf"^->  {address.replace('0x0000', '0x')} <\+\d+>:")
    report.check(f"{tag} clr u --json", listing_json, r'^\{"method":', r'"instructions":\[\{"address":"0x', r'"asked":true')
    report.check(f"{tag} clr u of nothing", no_listing, r"^error: ")
    report.check(f"{tag} clr source", source, r"\.dll`")
    report.check(f"{tag} clr source of nothing", no_source, r"^error: 0x10 is neither managed code nor a MethodDesc")
    # LLDB numbers inlined functions, too, where the C library has debug information.
    report.check(f"{tag} clrbt --registers", registers, r"frame #0: .* \[context\]", r"^ +rax = 0x[0-9a-f]{16}  rdx", r"frame #[1-9]: .* \[cfi\]", "stopped at 2 frames")
    report.check(f"{tag} clrbt --unique", unique, r"^\d+ threads?: #\d+", r"frame #\d+: 0x[0-9a-f]+ [\w.]+\.dll`")
    report.check(f"{tag} clrbt --unique --json", unique_json, r'^\{"stacks": \[', r'\{"threads":\[\d+', r'"end":"bottom"')


def check_symbols(driver, report, tag, opening, closing, folder):
    """The maps that are written of a process, used again: without the process, and within it."""
    tables = folder / f"symbols-{driver.version}"
    tables.mkdir(exist_ok=True)
    perf_map, r2r_map, sym, samples = (tables / name for name in ("written.map", "corelib.ni.r2rmap", "written.sym", "samples"))
    commands = [f'clr perfmap "{perf_map}"', f'clr perfmap "{r2r_map}" --r2r System.Private.CoreLib.dll', f'clr symbols save "{sym}"',
                f'clr symbols add "{perf_map}" "{r2r_map}" "{sym}"', "clr symbols list", "clr symbols list --json", f'clr symbols remove "{sym}"',
                "clr symbols add /does/not/exist", "clr perfmap --r2r no-such-module.dll", "clr perfmap /no/such/folder/map"]
    texts = driver.run([*opening, *commands, *closing], 300)[len(opening):len(opening) + len(commands)]
    written, image, saved, added, listed, as_json, removed, absent, stranger, nowhere = texts
    report.check(f"{tag} clr perfmap", written, rf"^{re.escape(str(perf_map))}: [1-9]\d{{3,}} lines")
    report.check(f"{tag} clr perfmap --r2r", image, r": [1-9]\d{4} methods of System\.Private\.CoreLib\.dll")
    report.check(f"{tag} clr symbols save", saved, rf"^{re.escape(str(sym))}: [1-9]\d{{3,}} entries")
    report.check(f"{tag} clr symbols add", added, "perf map, ", "R2R perf map, ", r"\.sym file, ")
    report.check(f"{tag} clr symbols list", listed, r"\.map: perf map, \d+ entries, addresses of the process",
                 r"\.r2rmap: R2R perf map, \d+ entries, System\.Private\.CoreLib\.dll at 0x")
    report.check(f"{tag} clr symbols list --json", as_json, r'^\[\{"path":', r'"image":"System\.Private\.CoreLib\.dll"')
    report.check(f"{tag} clr symbols remove", removed, "^2 symbol files in use")
    report.check(f"{tag} clr symbols add of nothing", absent, "^error: .*No such file")
    report.check(f"{tag} clr perfmap of no module", stranger, "^error: no-such-module.dll is neither a file nor a module")
    report.check(f"{tag} clr perfmap to nowhere", nowhere, "^error: cannot write .*No such file")

    lines = [line.split(" ", 2) for line in perf_map.read_text().splitlines()[::997]]
    starts = [int(start, 16) for start, _, _ in lines]
    samples.write_text("".join(f"{start:x} {1 + i % 3}\n" for i, start in enumerate(starts)) + "nonsense\n")
    commands = [f'clr symbolize "{samples}" --json', f'clr symbolize "{samples}" -t 3', f'clr symbolize "{samples}" --each']
    as_json, text, each = driver.run([*opening, *commands, *closing], 300)[len(opening):len(opening) + 3]
    total = sum(1 + i % 3 for i in range(len(starts)))
    report.check(f"{tag} clr symbolize", text, r"^ +count percent +function", r"^ +\d+ +[\d.]+%  .*`", rf"^{total} samples, \d+ rows",
                 "1 lines left out, first line \\d+: the address is not hexadecimal")
    rows = json.loads(as_json[as_json.index("["):as_json.rindex("]") + 1])
    report.check(f"{tag} clr symbolize --json", f"{sum(row['count'] for row in rows)} samples", f"^{total} samples")
    report.check(f"{tag} clr symbolize --each", each, *(f"^{start:#018x} .*`" for start in starts[:3]))
    # Where there is no process the files are all there is: of the same addresses the same methods.
    offline = driver.run([f'clr symbols add "{perf_map}"', f'clr symbolize "{samples}" --each'], 300)[-1]
    for start, _, name in lines[:3]:
        report.check(f"{tag} clr symbolize without a process", offline, f"^{int(start, 16):#018x} {re.escape(name)}$")


def check_minimal_core(driver, report, tag, opening, closing, path):
    """`clr savecore`, and the stacks that the core shows: the same as those of its source at the same stop."""
    (*_, saved, stacks) = driver.run([*opening, f'clr savecore "{path}"', "clrbt all", *closing], 300)[:len(opening) + 2]
    report.check(f"{tag} clr savecore", saved, rf"^{re.escape(str(path))}: \d+ bytes, \d+ of memory in \d+ segments")
    (_, again, refused) = driver.run([f'target create --core "{path}"', "clrbt all", f'clr savecore "{path.parent}/no/such"'], 300)

    def frames(text):
        return "\n".join(line.lstrip("* ") for line in text.splitlines() if "frame #" in line)
    report.check(f"{tag} stacks of the minimal core", frames(again), "^" + re.escape(frames(stacks)) + r"\Z")
    # Where LLDB finds no modules by itself `clrbt` counts the functions that are inlined there all the same.
    lone = stand_ins.CoreCopy(path, with_files=True)
    lone.drop_link_map("dotnet")
    (_, alone) = driver.run([f'target create --core "{lone.write(path.with_name(path.name + "-alone"))}"', "clrbt all"], 300)
    places = ["\n".join(re.findall(r"frame #\d+: 0x[0-9a-f]+", frames(text))) for text in (stacks, alone)]
    report.check(f"{tag} stacks of a core without a link map", places[1], "^" + re.escape(places[0]) + r"\Z")
    report.check(f"{tag} clr savecore to nowhere", refused, "^error: cannot write .*No such file")


def check_interrupted(driver, report, tag, core):
    """Publishing of a core that was interrupted is gone on with. Needs a way to interrupt that a test can take: LLDB 17 and later."""
    name = f"{tag} interrupted publishing"
    paths = subprocess.run([driver.program, "-P"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.strip()
    done = subprocess.run([sys.executable, HERE / "interrupted.py", driver.plugin, core], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300,
                          env=dict(os.environ, PYTHONPATH=paths))
    found = re.search("^ANSWERS (.*)$", done.stdout, re.M)
    if not found:
        if "RequestInterrupt" in done.stderr or "No module named" in done.stderr:
            report.skip(name, done.stderr.strip().splitlines()[-1])
        else:
            report.fail(name, f"exit code {done.returncode}: {done.stderr[-400:]}")
        return
    answers = json.loads(found[1])
    whole, part, rest, other = (answers[k] for k in ("whole", "interrupted", "continued", "other"))
    report.check(f"{name}: a part is published", json.dumps(part), '"complete": false')
    report.check(f"{name}: less than all", "fewer" if part["methods"] < whole["methods"] else f"{part['methods']} of {whole['methods']}", "^fewer$")
    report.check(f"{name}: it is said", answers["asked"], "^warning: not complete: it was interrupted; the next command that shows code goes on with it")
    report.check(f"{name}: the next command goes on", f"{rest['complete']} {rest['methods']}", f"^True {whole['methods']}$")
    report.check(f"{name}: nothing is said then", answers["asked_again"], "^publishing is on", absent=["not complete", "given up"])
    report.check(f"{name}: another debugger stays as it is", str(other["methods"]), f"^{whole['methods']}$")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plugin", required=True, type=pathlib.Path)
    parser.add_argument("--lldbs", required=True, type=pathlib.Path)
    parser.add_argument("versions", nargs="*")
    arguments = parser.parse_args()
    report = Report()
    if not arguments.plugin.exists():
        report.fail("the plugin", f"{arguments.plugin} is not built")
    else:
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as ends:
            of_sources = Report()
            sources.check(of_sources)
            report.print(of_sources)
            check_all(arguments, report, pathlib.Path(folder), ends)
    return report.finish()


def check_all(arguments, report, folder, ends):
    pool = ends.enter_context(concurrent.futures.ThreadPoolExecutor(AT_ONCE))
    situation = pool.submit(whole_names.make_core, folder)
    found, missing = drivers(arguments.lldbs, arguments.versions, arguments.plugin.resolve())
    targets = Targets(folder, ends, situation, pool.submit(files.Lent, folder))
    torn = [version for version in found if version in EVERY_GROUP][-1:]
    targets.newest = torn[-1] if torn else None
    # The longest comes first.
    jobs = [pool.submit(check_torn, found[version]) for version in torn]
    jobs += [pool.submit(check_version, driver, targets) for driver in found.values()]
    for version in sorted(missing):
        report.skip(f"lldb-{version}", missing[version])
    for job in [*jobs[len(torn):], *jobs[:len(torn)]]:
        report.print(job.result())


class Targets:
    """What every version is tried on, and why some of it cannot be had."""

    def __init__(self, folder, ends, situation, lent):
        self.folder, self.situation, self.lent = folder, situation, lent
        self.attaching = threading.Lock()   # a process has one debugger at a time
        self.faults = threading.Lock()      # they have a process of their own
        self.newest = None                  # of the versions that every group runs in
        self.live = contextlib.ExitStack()   # of `process`, which can be another one later
        ends.enter_context(self.live)
        self.process = self.start()
        core = folder / "core"
        self.core = core if self.process and dotnet_process.gcore(self.process.pid, core) else None
        self.recorded = folder / "recorded.core"
        with lzma.open(RECORDED) as packed:
            self.recorded.write_bytes(packed.read())
        self.proc = without_proc.impossible()

    def start(self):
        command = dotnet_process.compiler_server()
        self.started = time.monotonic()
        return self.live.enter_context(dotnet_process.running(command)) if command else None

    def young_process(self):
        """One that does not end while a debugger looks at it: the compiler server does after ten minutes without work."""
        if time.monotonic() - self.started > YOUNG:
            self.live.close()
            self.process = self.start()
        return self.process


def check_version(driver, targets):
    """The report of one version."""
    report, tag = Report(), f"lldb-{driver.version}"

    def guarded(name, step, *more):
        began = time.monotonic()
        try:
            step(driver, report, tag, *more)
        except (Died, subprocess.SubprocessError, processes.Unavailable) as error:
            report.fail(f"{tag} {name}", str(error))
        report.lines.append(f"took  {tag} {name}: {time.monotonic() - began:.1f} s")

    guarded("symbols of the API", api_symbols.check)
    guarded("without a process", check_without_process)
    guarded("names of SOS", sos_names.check_everywhere)
    guarded("native process", check_native_process)
    guarded("refused settings", command_line.check_refused_settings, targets.folder)
    if driver.version in EVERY_GROUP:
        own = targets.folder / f"own-{driver.version}"
        own.mkdir()
        guarded("command line", command_line.check, own)
        guarded("words of SOS", sos_names.check_words)
    if driver.version in FAULT_GROUP:
        with targets.faults:
            guarded("faults", faults.check, driver.plugin.parent)
            guarded("host faults", host_faults.check, targets.recorded, targets.folder)
            if driver.version == targets.newest:
                guarded("host faults of live processes", host_faults.check_live)
    if driver.version in COMMANDS_GROUP:
        guarded("every command, core", check_every_command, "core", targets)
        if driver.version == COMMANDS_LIVE:
            guarded("every command, live", check_every_command, "live", targets)
    if targets.proc:
        report.skip(f"{tag} without /proc", targets.proc)
    else:
        guarded("without /proc", without_proc.check, targets.recorded)
    guarded("stand-ins", stand_ins.check, targets.recorded, targets.folder)
    guarded("stand-ins", stand_ins.check_lost, targets.recorded, targets.folder)
    guarded("stand-ins", stand_ins.check_unread, targets.recorded, targets.folder)
    if targets.core:
        guarded("core", check_managed_target, "core", targets)
        if driver.version == targets.newest:
            guarded("interrupted publishing", check_interrupted, targets.core)
    else:
        report.skip(f"{tag} core", "no gcore" if targets.process else "no .NET SDK")
    if targets.process:
        with targets.attaching:
            guarded("live", check_managed_target, "live", targets)
    else:
        report.skip(f"{tag} live", "no .NET SDK")
    try:
        core = targets.situation.result()
    except processes.Unavailable as error:
        report.skip(f"{tag} whole names", str(error))
    except (OSError, subprocess.SubprocessError) as error:
        report.fail(f"{tag} whole names", f"no core of a program: {error}")
    else:
        guarded("whole names", whole_names.check, core)
        guarded("asked", asked.check, core, driver.version in COMMANDS_GROUP)
    check_files(driver, report, tag, targets, guarded)
    return report


def check_files(driver, report, tag, targets, guarded):
    newest = driver.version == targets.newest
    if newest:
        guarded("files that are written", files.check_written, targets.recorded, targets.folder)
        guarded("files that are read", files.check_read, targets.recorded, targets.folder)
    own = targets.folder / f"packed-{driver.version}"
    own.mkdir()
    guarded("compressed cores", files.check_packed, targets.recorded, own)
    try:
        lent = targets.lent.result()
    except processes.Unavailable as error:
        return report.skip(f"{tag} lent files", str(error))
    except (OSError, subprocess.SubprocessError) as error:
        return report.fail(f"{tag} lent files", f"no core of a program: {error}")
    guarded("lent files", files.check_lent, lent)
    if newest:
        guarded("proof of source files", files.check_proof, lent)
        guarded("opened files", files.check_opened, lent)


def check_managed_target(driver, report, tag, name, targets):
    if name == "live":
        opening, closing = [f"process attach --pid {targets.young_process().pid}"], ["detach"]
    else:
        opening, closing = [f'target create --core "{targets.core}"'], []
    check_managed(driver, report, f"{tag} {name}:", opening, closing)
    check_minimal_core(driver, report, f"{tag} {name}:", opening, closing, targets.folder / f"minimal-{driver.version}-{name}")
    if name == "core" and driver.version in EVERY_GROUP:
        check_symbols(driver, report, f"{tag} {name}:", opening, closing, targets.folder)


def check_every_command(driver, report, tag, name, targets):
    folder = targets.folder / f"commands-{driver.version}-{name}"
    folder.mkdir()
    tag = f"{tag} every command, {name}:"
    if name == "core":
        every_command.check_core(driver, report, tag, targets.recorded, folder)
        return
    try:
        targets.situation.result()   # which builds the program
        program = processes.build("situations", targets.folder / "artifacts")
    except processes.Unavailable as error:
        report.skip(tag, str(error))
        return
    with processes.Running([program, "generics", folder / "report"], folder) as running:
        if not running.wait_ready():
            raise processes.Unavailable("the program did not start")
        every_command.check_standing(driver, report, tag, running.pid, folder)
    every_command.check_running(driver, report, tag, program, folder)


def check_torn(driver):
    report, tag = Report(), f"lldb-{driver.version} torn"
    command = dotnet_process.compiler_server("torn")
    if not command:
        report.skip(tag, "no .NET SDK")
        return report
    try:
        with dotnet_process.running(command) as process:
            bad_input.check(driver, report, f"{tag}:", process.pid)
    except (Died, subprocess.SubprocessError, ValueError, KeyError, IndexError) as error:
        report.fail(tag, f"{type(error).__name__}: {error}")
    return report


if __name__ == "__main__":
    sys.exit(main())
