#!/usr/bin/env python3
"""LLDB's own stacks in every LLDB, on cores of every kind of program and dump: a campaign of an hour or more, apart from run.py and CI.

    versions.py [--plugin build/liblldb-clr.so] [--lldbs build/lldbs] [--versions 14,15,...] [--only KIND,...] [--work DIR]

In each version: `clrbt` has the frames that the program reports of itself, and `bt all` those of `clrbt`, with names, lines, stack pointers and CFAs (check_lldb_bt.py).
Then the text of `bt all` is held against that of LLDB 19: threads and addresses, and modules, names, lines and values of managed frames must be the same; what differs
of native frames is counted. The last line is `N passed, N failed, N skipped`.
"""
import argparse
import collections
import pathlib
import re
import shutil
import subprocess
import sys

import check_lldb_bt
import check_native
import check_stacks
import processes
import variants
from plugin import Lldb, Target
from processes import Running, Unavailable, settings
from results import Results

HERE = pathlib.Path(__file__).resolve().parent
VERSIONS = ("14", "15", "16", "17", "18", "19", "21", "22", "23")
BASE = "19"   # which the others are held against
FULL, SOME = ("gcore", "gcore-files", "createdump-full", "createdump-heap", "createdump-normal", "createdump-triage", "savecore"), ("gcore", "gcore-files", "savecore")
# kind of program -> (how it is made, the cores that are taken of it, whether its files can be taken away)
PROGRAMS = {
    "debug": (lambda work: variants.Variant("debug", [processes.build("situations", work / "artifacts", "Debug")]), FULL, False),
    "optimized": (lambda work: variants.Variant("optimized", [processes.build("situations", work / "artifacts", "Release")], {"DOTNET_TieredCompilation": "0"}), FULL, False),
    "self-contained": (lambda work: variants.self_contained(work, "situations", "10.0.12"), SOME, True),
    "self-contained-11": (lambda work: variants.self_contained(work, "situations", "11.0.0"), SOME, True),
    "single-file": (lambda work: variants.single_file(work, "situations", "10.0.12"), SOME, True),
    "single-file-compressed": (lambda work: published(work, "compressed", "-p:PublishSingleFile=true", "-p:EnableCompressionInSingleFile=true"), SOME, True),
    "single-file-trimmed": (lambda work: published(work, "trimmed", "-p:PublishSingleFile=true", "-p:PublishTrimmed=true", "-p:EnableCompressionInSingleFile=true",
                                                   "-p:InvariantGlobalization=true", "-p:SuppressTrimAnalysisWarnings=true"), SOME, True),
    "single-file-r2r": (lambda work: published(work, "r2r", "-p:PublishSingleFile=true", "-p:PublishReadyToRun=true"), SOME, True),
    "composite": (lambda work: variants.composite(work, "situations", "10.0.12"), SOME, True),
    "single-file-composite": (lambda work: published(work, "one-composite", "-p:PublishSingleFile=true", "-p:PublishReadyToRun=true", "-p:PublishReadyToRunComposite=true"), SOME, True),
}
SITUATION = "many-threads"
CRASH = "null-dereference"   # whose core the kernel writes


def published(work, name, *options):
    return variants.publish(work, "situations", f"single-file-{name}", "-p:RuntimeFrameworkVersion=10.0.12", *options)


class Texts:
    """`bt all` of one core in one version, as frames of each thread."""

    FRAME = re.compile(r"^\s+\*? ?frame #\d+: (0x[0-9a-f]+) (?:(.+?)`)?(.*)$")

    def __init__(self, text):
        self.threads = collections.OrderedDict()
        for line in text.splitlines():
            if match := re.match(r"^[* ] thread #(\d+)", line):
                frames = self.threads.setdefault(int(match[1]), [])
            elif match := self.FRAME.match(line):
                frames.append(self.frame(*match.groups()))

    @staticmethod
    def frame(address, module, text):
        text, _, place = text.partition(" at ")
        text = re.sub(r" \[(?:inlined\] .*|opt\]|artificial\])$", "", text)
        name, _, rest = re.sub(r" \+ \d+$", "", text).partition("(")
        if name.startswith("___lldb_unnamed_symbol"):
            name = ""   # numbered until 20, by their offsets since
        return {"address": address, "module": module or "", "name": name, "values": rest, "line": re.sub(r":\d+$", "", place) if place.count(":") > 1 else place}


def compare(base, other, figures, managed, known):
    """What differs from LLDB 19's text: `managed` and `known` are addresses of managed frames and of all. Frames that LLDB makes of inlined native functions have
    others, and are left out: versions show more or fewer of them, and some find more debug information."""
    wrong = []
    if list(base.threads) != list(other.threads):
        return [f"threads {list(other.threads)} for {list(base.threads)}"]
    for number, theirs in base.threads.items():
        a, b = ([f for f in frames if f["address"] in known] for frames in (theirs, other.threads[number]))
        figures["frames"] += len(b)
        if [f["address"] for f in a] != [f["address"] for f in b]:
            at = next((i for i, (x, y) in enumerate(zip(a, b)) if x["address"] != y["address"]), min(len(a), len(b)))
            wrong.append(f"thread {number}: {len(b)} frames for {len(a)}, first difference at frame {at}: {b[at:at + 1]} for {a[at:at + 1]}")
            continue
        for x, y in zip(a, b):
            for part in ("module", "name", "line", "values"):
                if x[part] == y[part]:
                    continue
                if x["address"] not in managed:
                    figures[f"other {part} of native frames"] += 1
                    figures.examples.setdefault(part, f"{y[part]!r} for {x[part]!r}")
                else:
                    wrong.append(f"thread {number}: {part} {y[part]!r} for {x[part]!r} at {x['address']}")
    return wrong


class Figures(collections.Counter):
    def __init__(self):
        super().__init__()
        self.examples = {}

    def __str__(self):
        return ", ".join(f"{count} {what}" for what, count in self.items())


class Stop(check_native.Stop):
    """One session: clrbt, the frames by LLDB's API, and the text of `bt all`."""

    def __init__(self, lldb, find_target, bare):
        super().__init__(lldb, find_target)
        self.bare = bare

    def answers(self, seconds=600):
        if self._answers is None and self.bare:
            # LLDB's own stacks by their text alone: what is asked of modules by the API wants files.
            target = self._find_target()
            self.text, own = self._lldb.run(target, ["bt all", check_native.STACKS], seconds)
            ours, shown = self._lldb.parse(check_native.STACKS, own, target), Texts(self.text).threads
            theirs = [{"os_id": t["os_id"], "frames": [{"pc": int(f["address"], 16), "module": f["module"]} for f in shown.get(t["index"], [])]} for t in ours["threads"]]
            self._answers = ours, {"threads": theirs}
        if self._answers is None:
            target = self._find_target()
            imported = f'command script import "{HERE / "lldb_frames.py"}"'
            texts = self._lldb.run(target, ["bt all", check_native.STACKS, imported, "native-frames"], seconds)
            self.text = texts[0]
            self._answers = self._lldb.parse(check_native.STACKS, texts[1], target), self._lldb.parse("native-frames", texts[3], target)
        return self._answers


def addresses_of(answers):
    """Those of managed frames, and of all."""
    ours, theirs = answers
    managed = {f["ip"] for t in ours["threads"] for f in t["frames"] if f["kind"] == "managed"}
    known = {f["ip"] for t in ours["threads"] for f in t["frames"] if f["kind"] == "native"}
    shown = {f["pc"]: f["module"] or "" for t in theirs["threads"] for f in t["frames"]}
    managed = {int(ip, 16) for ip in managed} | {pc for pc, module in shown.items() if module.endswith(check_lldb_bt.ASSEMBLIES)}
    return ({f"{ip:#018x}" for ip in managed}, {f"{ip:#018x}" for ip in managed | shown.keys() | {int(ip, 16) for ip in known}})


class Campaign:
    def __init__(self, options):
        self.results = Results()
        self.work = pathlib.Path(options.work).resolve() if options.work else processes.workspace()
        self.work.mkdir(parents=True, exist_ok=True)
        self.plugin, self.only = options.plugin, options.only.split(",") if options.only else None
        self.cores = options.cores.split(",") if options.cores else None
        lldbs = options.lldbs or pathlib.Path(options.plugin).resolve().parent / "lldbs"
        done = subprocess.run([HERE.parent.parent / "scripts" / "get-lldbs", lldbs, *options.versions.split(",")], stdout=subprocess.PIPE, text=True)
        self.drivers = {version: driver for version, driver in (line.split(" ", 1) for line in done.stdout.splitlines())}
        if BASE not in self.drivers:
            sys.exit(f"LLDB {BASE}, which the others are held against, cannot be had")
        self.table = collections.defaultdict(dict)   # label -> version -> word

    def versions(self):
        return [BASE, *(v for v in self.drivers if v != BASE)]

    def wants(self, core):
        return self.cores is None or core in self.cores

    def core(self, label, target, report, bare):
        """Everything of one core in every version. `bare`: no file of the program is on this host."""
        if not self.wants(label.rpartition("/")[2]):
            return
        base = None
        for version in self.versions():
            name = f"{label}/{version}"
            stop = Stop(Lldb(self.plugin, self.drivers[version]), lambda: target, bare)
            failed = len(self.results.failed)
            if report and not bare:
                self.results.check(f"{name}/report", check_stacks.check, stop, None, report)
            self.results.check(f"{name}/bt", lambda: check_bare(stop) if bare else check_lldb_bt.check(stop))
            if len(self.results.failed) == failed or hasattr(stop, "text"):
                texts = Texts(getattr(stop, "text", ""))
                if version == BASE:
                    base, addresses = texts, addresses_of(stop.answers())
                elif base is None:
                    self.results.skip(f"{name}/text", f"LLDB {BASE} has no text of it")
                else:
                    self.results.check(f"{name}/text", same_text, base, texts, *addresses)
            self.table[label][version] = "ok" if len(self.results.failed) == failed else "FAILED"

    def parked(self, kind, variant, cores, removable):
        folder = self.work / "runs" / kind
        shutil.rmtree(folder, ignore_errors=True)
        report = folder / "report"
        with Running([*variant.command, SITUATION, report], folder, {**settings(), **variant.env}) as running:
            assert running.wait_ready(180), "the program did not start"
            running.wait_still([r["thread"] for r in check_stacks.read_report(report)])
            for name in (n for n in cores if self.wants(n) or n == "gcore" and self.wants("gcore-bare")):
                label, core = f"{kind}/{name}", folder / f"core.{name}"
                try:
                    self.take(running.pid, name, core)
                except Unavailable as error:
                    self.results.skip(label, str(error))
                    continue
                self.core(label, Target(core=core), report, False)
                if name == "gcore" and removable:
                    place = pathlib.Path(variant.command[0]).parent
                    hidden = place.with_name(place.name + ".hidden")
                    place.rename(hidden)
                    try:
                        self.core(f"{kind}/{name}-bare", Target(core=core), report, True)
                    finally:
                        hidden.rename(place)
                core.unlink()

    def take(self, pid, name, core):
        if name.startswith("gcore"):
            processes.gcore(pid, core, 0x33 if name == "gcore" else 0x3f)
        elif name == "savecore":
            Lldb(self.plugin, self.drivers[BASE]).run(Target(pid=pid), [f"clr savecore {core}"])
        else:
            processes.createdump(pid, core, {"createdump-full": "full", "createdump-heap": "withheap", "createdump-normal": "normal", "createdump-triage": "triage"}[name])
        if not core.exists():
            raise Unavailable(f"no core by {name}")

    def crashed(self, kind, variant):
        folder = self.work / "runs" / f"{kind}-crash"
        shutil.rmtree(folder, ignore_errors=True)
        if not self.wants("kernel"):
            return None
        if not processes.kernel_writes_cores():
            return self.results.skip(f"{kind}/kernel", "core_pattern of this kernel does not write cores into the working folder")
        report = folder / "report"
        with Running([*variant.command, CRASH, report], folder, {**settings(), **variant.env}, core_limit=-1) as running:
            running.wait_ready(60)
            running.wait_end(60)
            core = running.kernel_core()
            if core is None:
                return self.results.skip(f"{kind}/kernel", "the kernel wrote no core")
            self.core(f"{kind}/kernel", Target(core=core, executable=variant.command[0]), report, False)
            core.unlink()

    def run(self):
        for kind, (make, cores, removable) in PROGRAMS.items():
            if self.only and kind not in self.only:
                continue
            try:
                variant = make(self.work)
                self.parked(kind, variant, cores, removable)
                self.crashed(kind, variant)
            except (Unavailable, AssertionError, TimeoutError, subprocess.SubprocessError) as error:
                self.results.skip(kind, str(error))
        versions = list(self.drivers)
        print("\n| core | " + " | ".join(versions) + " |\n|---" * (1) + "|---" * len(versions) + "|")
        for label, words in self.table.items():
            print(f"| {label} | " + " | ".join(words.get(v, "-") for v in versions) + " |")
        return self.results.summary()


def same_text(base, other, managed, known):
    figures = Figures()
    wrong = compare(base, other, figures, managed, known)
    assert not wrong, f"{len(wrong)} differences: " + "; ".join(wrong[:4])
    return f"{figures}" + (f"; {figures.examples}" if figures.examples else "")


# Where ReadyToRun code calls native code clrbt shows the address that the runtime's InlinedCallFrame has, which lies some instructions before the return address.
CALL_BEHIND = 64   # bytes


def check_bare(stop):
    """Without any file: LLDB's own stacks have every frame of clrbt's, in its order."""
    ours, theirs = stop.answers()
    by_id, lost, count = {t["os_id"]: t for t in theirs["threads"]}, [], 0
    for thread in ours["threads"]:
        seen, inner = iter(by_id[thread["os_id"]]["frames"]), None
        for f in (f for f in thread["frames"] if f["kind"] != "runtime" for _ in range(f.get("repeat", 1))):
            count += 1
            most = CALL_BEHIND if f["kind"] == "managed" and inner == "native" else 0
            if not any(0 <= met["pc"] - int(f["ip"], 16) <= most for met in seen):
                lost.append(f"thread {thread['index']}: {f['text']}")
                break
            inner = f["kind"]
    assert count and not lost, f"{len(lost)} threads lack frames: " + "; ".join(lost[:4])
    return f"{count} frames"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plugin", default="build/liblldb-clr.so")
    parser.add_argument("--lldbs", help="folder of scripts/get-lldbs (default: beside the plugin)")
    parser.add_argument("--versions", default=",".join(VERSIONS))
    parser.add_argument("--only", help="kinds of programs: " + ", ".join(PROGRAMS))
    parser.add_argument("--cores", help="kinds of cores, of those that are taken of each program, gcore-bare and kernel among them")
    parser.add_argument("--work", help="where programs are built and cores are taken")
    return Campaign(parser.parse_args()).run()


if __name__ == "__main__":
    sys.exit(main())
