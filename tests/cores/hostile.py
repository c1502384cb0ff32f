#!/usr/bin/env python3
"""Opens cores that somebody made to do harm, in LLDB with the plugin and by the C interface: a terminal gets nothing that it obeys, no device, FIFO or file of the
system is opened, no command takes long, and LLDB takes no more memory than a large core may need.

    hostile.py [--plugin build/liblldb-clr.so] [--lldb DRIVER] [--only NAME]... [--keep FOLDER]

The cores are made here of the recorded one: bytes of it are replaced, and memory is added to one. The last line is `N passed, N failed, N skipped`.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "live"), str(HERE.parent / "mutation")]

import check_page
import hostile_cases
import hostile_files
import hostile_products
import hostile_waits
from core_image import CoreImage
from hostile_parts import FORGED, PAGE, PAYLOADS, Core, Pdb, frame_registers, spoiled
from plugin import ENVIRONMENT, Lldb, Target
from processes import Unavailable
from results import Results
from run_cores import unpack
from structures import Structures

# Seconds of the processor for one command. Builds use this machine, too: commands that take 3 seconds alone were seen to take 22. What these cases
# found took 80 seconds and more, or did not end.
SLOWEST = 30.0
LONGEST = 60.0             # seconds by the clock: it waits for something
LARGEST = 1 << 20          # KB resident
KEPT = 32 << 20            # bytes of a command's text that are looked at
# Programs end together with what they began. Not by a session: Linux shares the processors out by session first, so that a build of a low priority in
# ours would get as much as one of these.
OWN_GROUP = {"process_group": 0}
ASSEMBLY = "/tmp/situations/bin/situations/debug/situations.dll"
BUILT_PDB = "/tmp/situations/obj/situations/debug/situations.pdb"

# What a terminal obeys: controls but line break and tab, DEL, C1, marks of direction, separators; in UTF-8, as LLDB writes.
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
FORGED_ROW = re.compile(rf"^\s*{FORGED}", re.M)

# `{at}`: an address within the method that the damaged thread stands in.
COMMANDS = ["clr info", "clr info --modules", "clr info --json", "clr publish status", "clr publish status --json", "bt all", "thread list", "thread info",
            "image list", "target modules dump symtab situations.dll", "target modules dump sections situations.dll",
            "image lookup -v -a {at}", "image lookup -r -n Gallery", "image lookup -t Customer", "frame variable", "v -T", "frame info", "disassemble -c 4",
            "source info -a {at}", "target modules dump line-table Gallery.cs", "clrbt all", "clrbt --json all", "clrbt --unique", "clrip2md {at}",
            "clrip2md --json {at}", "clr threads", "clr threads --json", "clr methods *ituations*", "clr methods --json *ituations*", "clr u {at}",
            "clr u --json {at}", "clr source {at}", "clr unwind {at}", "clr analyze", "clr pe", "clr pe --json", "frame select 1", "frame variable", "thread select 4", *("up", "frame variable") * 4, "thread select 13", *("up", "frame variable") * 2,
            "breakpoint set -n Recurse", "breakpoint set -f Gallery.cs -l 5", "breakpoint list", "clr break Gallery.cs:5", "clr break list", "process status", "clr savecore {folder}/saved", "clr perfmap {folder}/perf.map", "clr report {folder}/page.html"]


class Run:
    """What one LLDB said, opened and took."""

    def __init__(self, lldb, core, commands, folder, plugin=True):
        lines = ([f'plugin load "{lldb.plugin}"'] if plugin else []) + [f'target create --core "{core}"', *commands]
        trace = folder / "trace"
        script = folder / "commands.lldb"
        script.write_text("\n".join(lines) + "\n")
        before = ["--one-line-before-file", "settings set interpreter.stop-command-source-on-error false"]
        words = [lldb.driver, "--no-lldbinit", "--batch", "--no-use-colors", *before, "--source", str(script)]
        if STRACE:
            words = [STRACE, "-f", "--seccomp-bpf", "-qq", "-yy", "-s", "4096", "-e", "trace=open,openat,openat2,creat", "-o", str(trace), "--", *words]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=ENVIRONMENT, **OWN_GROUP)
        self.texts, self.seconds = {}, {}
        timer = threading.Timer(LONGEST * 3, self.kill)
        timer.start()
        self.read(lines)
        _, status, usage = os.wait4(self.process.pid, 0)
        timer.cancel()
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.kilobytes = usage.ru_maxrss
        self.opened = opened(trace) if STRACE else []
        self.unfinished = [line for line in lines if line not in self.texts]

    def kill(self):
        os.killpg(self.process.pid, 9)   # a group of its own

    def clocks(self):
        """(clock, processor time of LLDB, None when it has ended)."""
        pid = self.process.pid
        try:
            if STRACE:
                pid = int(pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            used = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except (OSError, IndexError):
            used = None
        return time.monotonic(), used

    def took(self, command, began):
        """Notes how long `command` took since `began`, and returns the clocks of now."""
        now = self.clocks()
        if command is not None:
            waited = now[0] - began[0]
            used = waited if None in (now[1], began[1]) else now[1] - began[1]
            self.seconds[command] = max(self.seconds.get(command, 0), waited if waited > LONGEST else used)
        return now

    def read(self, lines):
        """How long each command took, and its text, of a very long one the beginning and its errors. LLDB echoes each."""
        rest, current, began, size = list(lines), None, self.clocks(), 0
        for line in self.process.stdout:
            text = line.decode(errors="surrogateescape")
            if rest and text.rstrip("\n") == f"(lldb) {rest[0]}":
                began = self.took(current, began)
                current = rest.pop(0)
                self.texts.setdefault(current, [])
                size = 0
            elif current is not None and (size < KEPT or text.startswith("error: ")):
                self.texts[current].append(text[:KEPT])
                size += len(line)
        self.took(current, began)
        self.texts = {command: "".join(parts) for command, parts in self.texts.items()}


STRACE = shutil.which("strace")
OPENING = re.compile(r'^\d+ +(?:open|openat|openat2|creat)\((.*)$')
PATH = re.compile(r'"((?:[^"\\]|\\.)*)"')
UNFINISHED = re.compile(r"^(\d+) .*?( <unfinished \.\.\.>)$")
RESUMED = re.compile(r"^(\d+) +<\.\.\. \w+ resumed>(.*)$")
RESULT = re.compile(r"= \d+<(.*)>$")
# The plugin asks where network file systems are; libc's allocator asks whether memory may be overcommitted when a thread's heap shrinks, which no core decides.
OWN = {"/proc/self/mounts", "/proc/sys/vm/overcommit_memory"}
# LLDB 14 to 18 do not tell which file their core is (SBProcess::GetCoreFile), so the plugin looks for it among the files that its own process has open.
OPEN_FILES, TELLS_CORE = {"/proc/self/fd", "/proc/self/maps"}, 19


def opened_always(lldb):
    """What the plugin opens of the system, whatever the core holds."""
    said = subprocess.run([lldb.driver, "--version"], capture_output=True, text=True, env=ENVIRONMENT).stdout
    return OWN | (OPEN_FILES if int(re.search(r"version (\d+)", said)[1]) < TELLS_CORE else set())


def opened(trace):
    """(path as given, what it led to, flags) of every attempt to open a file. One that never came back counts as well."""
    found, pending = [], {}
    for line in trace.read_text(errors="surrogateescape").splitlines():
        # A call during which another thread made one stands in two lines.
        if begun := UNFINISHED.match(line):
            pending[begun[1]] = begun[0].removesuffix(begun[2])
            continue
        if resumed := RESUMED.match(line):
            line = pending.pop(resumed[1], "") + resumed[2]
        call = OPENING.match(line)
        path = call and PATH.search(call[1])
        if path:
            result = RESULT.search(line)
            found.append((path[1], result[1] if result else "", call[1]))
    for line in pending.values():
        if (call := OPENING.match(line)) and (path := PATH.search(call[1])):
            found.append((path[1], "", call[1]))
    return found


def odd_files(attempts):
    """Paths of those that are, or lead to, no regular file. To look at a file by O_PATH opens nothing."""
    odd = set()
    for path, target, call in attempts:
        if "O_PATH" in call or "ENOENT" in call or "ENOTDIR" in call:
            continue
        if re.fullmatch(r"/proc/self/fd/\d+", path) and target.startswith("/"):
            path = target   # a file that was looked at by O_PATH, opened through its descriptor
        real = os.path.normpath(path if path.startswith("/") else "/" + path)
        of_the_system = re.match(r"/+(dev|proc|sys)(/|$)", real)
        try:
            kind = os.stat(path).st_mode
            special = not (stat.S_ISREG(kind) or stat.S_ISDIR(kind))
        except (OSError, ValueError):
            special = False
        if of_the_system or special or re.search(r"<char |<block |^pipe:|^socket:", target):
            odd.add(re.sub(r"^/proc/\d+/", "/proc/self/", real))
    return odd


def make_names(core, folder):
    """Names of types, methods, fields, parameters and the file of the program, threads' names and texts."""
    count = core.spoil_heap("Gallery")
    for number, word in enumerate(("recursion", "generics-values", "in-catch-deep", "in-finally", "exception-inner", "lambda", "iterator")):
        count += core.spoil_string(word, number)
    # Of the notes: native modules and symbols, which only the plugin shows.
    for number, word in enumerate(("libc.so.6", "pthread_cond_wait", "System.Linq.dll")):
        count += core.replace_bytes(word.encode(), spoiled(word, number, lambda text: len(text.encode())).encode())
    file_name = "s\x1b[2J\n\u202ex\x9b.dll\u2028"
    # LLDB prints the names of files that it finds in the core's notes itself, so only the runtime's own name changes.
    return count + core.replace_bytes(ASSEMBLY.encode("utf-16-le"), (ASSEMBLY[:-len(file_name)] + file_name).encode("utf-16-le"))


def bad_file(path, folder):
    """`path`, or a new file of that kind."""
    made = folder / path.lower()
    if path == "FIFO":
        os.mkfifo(made)
    elif path == "FIFO/.":
        made = folder / "fifo-and-more"
        os.mkfifo(made)
        return f"{made}/."   # a debugger leaves out what stands behind the name
    elif path == "ENDLESS":
        with open(made, "wb") as f:
            f.truncate(1 << 40)
    else:
        return path
    return str(made)


def make_path(path):
    def make(core, folder):
        target = bad_file(path, folder)
        return core.replace_path(ASSEMBLY, padded(target, len(ASSEMBLY))) + core.replace_path(BUILT_PDB, padded(target, len(BUILT_PDB)))
    return make


def make_pdb(documents):
    """A PDB whose documents are what no debugger should read. The user names its folder, as a user does who got it with the core."""
    def make(core, folder):
        names = [bad_file(name, folder) for name in documents]
        identity = core.pdb_identity(BUILT_PDB)
        (folder / "situations.pdb").write_bytes(Pdb(identity, core.method_rows("Gallery"), names).bytes())
        return len(names)
    return make


def make_sources(source):
    """A PDB that holds `source` for each of a hundred documents."""
    def make(core, folder):
        names = [f"/nowhere/{number}.cs" for number in range(100)]
        pdb = Pdb(core.pdb_identity(BUILT_PDB), core.method_rows("Gallery"), names, source)
        (folder / "situations.pdb").write_bytes(pdb.bytes())
        return len(names)
    return make


def make_names_with_symbols(core, folder):
    documents = [f"/src{payload}/{payload}{FORGED}.cs" for payload in PAYLOADS]
    return make_pdb(documents)(core, folder) + make_names(core, folder)   # the PDB goes by names that are still whole


def make_ranges(core, folder):
    return core.lie_in_ranges(lambda begin, end: begin + (1 << 32))


def make_ranges_beyond(core, folder):
    return core.lie_in_ranges(lambda begin, end: 0xFFFF_FFFF_FFFF_F000)


def make_counts(seed):
    def make(core, folder):
        return core.lie_in_words(seed, 600)
    return make


def make_endless_heap(core, folder):
    """A code heap of 2 GB in which every 32 bytes begin a method that exists. It repeats a few pages, and stands where nothing was. A core may share 64 MB so:
    the rest is missing."""
    size, unit, begin, data = 1 << 31, 4 << 20, 0x10_0000_0000, 0x0F_0000_0000
    header_at, section_at, node_at, fragment_at, tables_at, map_at = (data + i * PAGE for i in (0, 1, 2, 3, 4, 1024))
    types, top = core.structures.types, core.structures.globals["ExecutionManagerCodeRangeMapAddress"]

    def page(type_name, **values):
        words = bytearray(PAGE)
        for name, value in values.items():
            struct.pack_into("<Q", words, types[type_name][name], value)
        return bytes(words)

    # A method that no command asks for: half a million rows would be right, and take long to print.
    jitted = [f for f in core.structures.frames if f.get("code", {}).get("kind") == "jitted"]
    start = next(int(f["code"]["start"], 16) for f in jitted if "ituations" not in f["text"].split("`")[1])
    at = core.offset(core.word(start - 8))
    method = core.bytes[at:at + 64]
    struct.pack_into("<I", method, types["RealCodeHeader"]["NumUnwindInfos"], 0)   # these would say where its code begins
    pages = [bytes(method) + bytes(PAGE - len(method)),
             page("RangeSection", RangeBegin=begin, RangeEndOpen=begin + size, Flags=2, HeapList=node_at),
             page("CodeHeapListNode", StartAddress=begin, EndAddress=begin + size - 1, MapBase=begin, HeaderMap=map_at),
             page("RangeSectionFragment", RangeBegin=begin, RangeEndOpen=begin + size, RangeSection=section_at)]
    # Three levels of the range map, of which every slot leads on.
    levels = [tables_at + PAGE, tables_at + 2 * PAGE, fragment_at]
    pages += [struct.pack("<256Q", *[target] * 256) + bytes(PAGE - 2048) for target in levels]
    core.put(core.word(top + 8 * (begin >> 49 & 255)) + 8 * (begin >> 41 & 255), tables_at)
    core.add_memory([(header_at, b"".join(pages), 1), (map_at, b"\x11" * unit, size // 256 * 4 // unit), (begin, struct.pack("<4Q", 0, 0, 0, header_at) * (unit // 32), size // unit)])
    return size


def make_stacks_at_the_end(core, folder):
    """Stack pointers in the last page of the address space."""
    threads = [thread for thread, _ in core.standing]
    for number, thread in enumerate(threads):
        core.set_registers(thread, {"rsp": (1 << 64) - 8 * number - 1})
    return len(threads)


def padded(path, length):
    """The same file by a path of `length` characters."""
    assert len(path) <= length, path
    first, rest = path[:1], path[1:]
    return first + "/" * (length - len(path)) + rest


DEVICES = ["/dev/zero", "/dev/tty", "//dev/zero", "/tmp/../dev/zero", "/proc/self/environ", "/proc/kmsg", "FIFO", "FIFO/.", "ENDLESS", "/sys/kernel/notes", "/net/host/share/a.cs"]
CASES = {
    "names": make_names,
    "assembly is a device": make_path("/dev/zero"),
    "assembly is a device behind ..": make_path("/tmp/../dev/zero"),
    "assembly is of the system": make_path("/proc/self/environ"),
    "assembly is a FIFO": make_path("FIFO"),
    "assembly is endless": make_path("ENDLESS"),
    "documents": make_pdb(DEVICES),
    "names with symbols": make_names_with_symbols,
    "sources of lines alone": make_sources(b"\n" * (31 << 20)),
    "sources of one line": make_sources(b"\n\n\n\n" + b"\x1b" * (31 << 20)),
    "ranges of 4 GB": make_ranges,
    "ranges to the end of memory": make_ranges_beyond,
    "counts": make_counts(1),
    "more counts": make_counts(2),
    "code without end": make_endless_heap,
    "stacks at the end of memory": make_stacks_at_the_end,
    **hostile_files.CASES,
    **hostile_products.CASES,
    **hostile_cases.CASES,
}
OWN_COMMANDS = {**hostile_cases.OWN_COMMANDS, **hostile_files.OWN_COMMANDS, **hostile_products.OWN_COMMANDS, **hostile_waits.OWN_COMMANDS}


class OwnWords:
    """What LLDB prints of the same core without the plugin. From 22 on it finds native modules by the core's notes, and `image list` has their names as they
    are: nobody but LLDB itself could change that."""

    INDEX = re.compile(r"^\[ *\d+\] ", re.M)

    def __init__(self, lldb, folder, commands):
        self.lldb, self.folder, self.commands = lldb, folder, [c for c in commands if c.split()[0] not in ("clr", "clrbt", "clrip2md")]
        self.texts = None

    def without(self, command, text):
        """`text` without the lines that LLDB alone prints, too; asked only where one of them matters."""
        if command not in self.commands or not (OBEYED.search(text) or any("\udc80" <= c <= "\udcff" for c in text)):
            return text
        if self.texts is None:
            self.texts = Run(self.lldb, self.folder / "core", self.commands, self.folder, plugin=False).texts
        known = set(self.INDEX.sub("", self.texts.get(command, "")).split("\n"))
        return "\n".join(line for line in text.split("\n") if self.INDEX.sub("", line) not in known)


def check(lldb, name, make, core, frames, usual, keep, usual_commands=COMMANDS):
    with tempfile.TemporaryDirectory() as folder:
        if keep:
            folder = pathlib.Path(keep, name.replace(" ", "-"))
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        folder = pathlib.Path(folder)
        harmful = Core(core.bytes)
        harmful.structures, harmful.standing = core.structures, frames
        for thread, registers in frames:   # so that LLDB's own commands meet managed code
            harmful.set_registers(thread, registers)
        changes = make(harmful, folder)
        assert changes, "nothing of the core was changed"
        (folder / "core").write_bytes(harmful.bytes)
        at = changes if name in hostile_cases.AT_CHANGES else frames[0][1]["rip"]
        commands = [c.format(at=f"{at:#x}", folder=folder) for c in OWN_COMMANDS.get(name, usual_commands)]
        if (folder / "situations.pdb").exists():
            commands.insert(0, f"clr settings --symbols {folder}")
        with concurrent.futures.ThreadPoolExecutor(1) as beside:
            asked = beside.submit(faults_of_calls, lldb, folder / "core", folder)
            run = Run(lldb, folder / "core", commands, folder)
        found = []
        if run.process.returncode != 0:
            found.append(f"LLDB ended with {run.process.returncode}" + (f" at `{run.unfinished[0]}`" if run.unfinished else ""))
        slow = {command: round(seconds, 1) for command, seconds in run.seconds.items() if seconds > SLOWEST}
        if slow:
            found.append(f"slow: {slow}")
        if run.kilobytes > LARGEST:
            found.append(f"{run.kilobytes >> 10} MB resident")
        found += [f"opened {path}" for path in sorted(odd_files(run.opened) - usual)]
        if (page := folder / "page.html").exists():
            try:
                check_page.Page(page.read_text(encoding="utf-8"))
            except (AssertionError, ValueError, check_page.xml.ParseError) as e:
                found.append(f"the page: {e}")
        elif "clr report" in " ".join(commands):
            found.append("there is no page")
        if (perf_map := folder / "perf.map").exists():   # perf and others print it as it is
            if bad := OBEYED.search(perf_map.read_bytes().decode(errors="surrogateescape")):
                found.append(f"the perf map holds {bad[0]!a}")
        own = OwnWords(lldb, folder, commands)
        for command, text in run.texts.items():
            text = own.without(command, text)
            bad = OBEYED.search(text)
            if bad:
                found.append(f"`{command}` prints {bad[0]!a}: {text[max(0, bad.start() - 60):bad.end() + 20]!a}")
            if FORGED_ROW.search(text):
                found.append(f"`{command}` prints a row that the target made up")
            if any("\udc80" <= c <= "\udcff" for c in text):
                found.append(f"`{command}` prints bytes that are no text")
        try:
            wrong, calls = asked.result()
            found += wrong
        except Unavailable as e:
            calls = str(e)
        if name in hostile_waits.CUT and not any(hostile_waits.CUT[name] in text for text in run.texts.values()):
            found.append(f"nothing says {hostile_waits.CUT[name]!r}")
        shown = sum(1 for text in run.texts.values() if re.search(r"\\x1b|\\u001b|\\u202e", text))
        if name.startswith("names") and shown < 8:
            found.append(f"only {shown} commands show a spoiled name: the test tests nothing")
        assert not found, "\n    ".join(found[:12])
        return f"{changes} changes, {max(run.seconds.values()):.1f} s, {run.kilobytes >> 10} MB, {shown} commands with escapes; {calls}"


def alone(run, *arguments):
    """What `run` answers in a process of its own: what this one has taken counts for each LLDB that it starts, and some answers have 170 MB."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer = [None, run(*arguments)]
        except BaseException as e:
            answer = [type(e).__name__, str(e)]
        with open(writing, "w") as out:
            json.dump(answer, out)
        os._exit(0)
    os.close(writing)
    with open(reading) as said:
        text = said.read()
    os.waitpid(child, 0)
    fault, answer = json.loads(text)
    if fault is not None:
        known = {"Unavailable": Unavailable, "AssertionError": AssertionError}
        raise known[fault](answer) if fault in known else RuntimeError(f"{fault}: {answer}")
    return answer


def check_found(lldb, core, frames, folder):
    """A method whose name is shown with escapes is found by that name; JSON has the name that it has."""
    harmful = Core(core.bytes)
    make_names(harmful, folder)
    (folder / "names").write_bytes(harmful.bytes)
    target = Target(core=folder / "names")
    at = frames[0][1]["rip"]
    text, as_json = lldb.run(target, [f"clrip2md {at:#x}", f"clrip2md --json {at:#x}"])
    shown = re.search(r"`(.*\\x.*) \+ \d+$", text.splitlines()[0])[1]
    plain = shown[:shown.rindex("(")]
    method = json.loads(as_json)[0]["method"]
    assert OBEYED.search(method["full_name"]) and method["full_name"] != shown, f"JSON says {method['full_name']!a}"
    commands = [f"image lookup -n '{shown}'", f"image lookup -n '{plain}'", f"clr methods --jitted '{plain}'", f"breakpoint set -n '{plain}'", f"clr break '{plain}'"]
    texts = lldb.run(target, commands, go_on=True)
    wanted = ["1 match found", "1 match found", "1 method", f"`{shown}", f"`{shown}"]
    wrong = [f"{command}: no {part} in {text!a}" for command, part, text in zip(commands, wanted, texts, strict=True) if part not in text]
    assert not wrong, "\n    ".join(wrong)
    return f"{len(commands)} ways to find {shown}"


def run_package(lldb, script, core, folder):
    """What a program of this folder prints that uses the Python package on `core`, how it ended, the files that it opened, its seconds and KB."""
    library = pathlib.Path(lldb.plugin).parent
    if not list(library.glob("libclr.so*")):
        raise Unavailable(f"no libclr.so in {library}")
    words, trace, said = [sys.executable, str(HERE / script), str(core), str(folder), str(folder)], folder / "package.trace", folder / "said"
    if STRACE:
        words = [STRACE, "-f", "--seccomp-bpf", "-qq", "-yy", "-s", "4096", "-e", "trace=open,openat,openat2,creat", "-o", str(trace), "--", *words]
    environment = {**ENVIRONMENT, "LLDB_CLR_LIBRARY_DIR": str(library), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONIOENCODING": "utf-8:surrogateescape"}
    with said.open("wb") as out:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=environment, **OWN_GROUP)
    timer = threading.Timer(LONGEST * 10, os.killpg, (process.pid, 9))   # a group of its own
    timer.start()
    _, status, usage = os.wait4(process.pid, 0)
    timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    odd = odd_files(opened(trace)) - OWN if STRACE else set()
    return said.read_bytes().decode(errors="surrogateescape"), process.returncode, odd, usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def check_python(lldb, make, core, folder):
    """What the Python package prints of such a core, and what it opens and takes."""
    harmful = Core(core.bytes)
    make(harmful, folder)
    (folder / "python").write_bytes(harmful.bytes)
    text, code, odd, used, _ = run_package(lldb, "hostile_python.py", folder / "python", folder)
    assert code == 0, ascii(text[-500:])
    bad = OBEYED.search(text)
    assert not bad, f"it prints {bad[0]!a}: {text[max(0, bad.start() - 60):bad.end() + 20]!a}"
    assert not FORGED_ROW.search(text), "it prints a row that the target made up"
    assert not any("\udc80" <= c <= "\udcff" for c in text), "it prints bytes that are no text"
    assert not odd, f"it opened {sorted(odd)}"
    assert used < SLOWEST, f"{used:.1f} s"
    shown = len(re.findall(r"\\x1b|\\u202e", text))
    assert shown > 100, f"only {shown} spoiled names are shown: the test tests nothing"
    return f"{shown} escapes in {len(text)} bytes, {used:.1f} s"


def faults_of_calls(lldb, core, folder):
    """What is wrong with the answers of the C interface, and a word about them."""
    text, code, odd, _, kilobytes = run_package(lldb, "hostile_calls.py", core, folder)
    if code != 0:
        return [f"the C interface ended with {code}: {text.strip()[-500:]!a}"], ""
    answer = json.loads(text.splitlines()[-1])
    found = [f"the C interface opened {path}" for path in sorted(odd)]
    if answer["seconds"] > SLOWEST:
        found.append(f"{answer['slowest']} took {answer['seconds']} s")
    if kilobytes > LARGEST:
        found.append(f"the C interface: {kilobytes >> 10} MB resident")
    return found, f"{answer['calls']} calls, {answer['rows']} rows, {answer['seconds']} s, {kilobytes >> 10} MB"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plugin", default=HERE.parent.parent / "build" / "liblldb-clr.so")
    parser.add_argument("--lldb")
    parser.add_argument("--only", action="append")
    parser.add_argument("--keep", help="make the files there, and leave them")
    options = parser.parse_args()
    results = Results()
    try:
        lldb = Lldb(options.plugin, options.lldb)
    except Unavailable as e:
        results.skip("hostile cores", str(e))
        return results.summary()
    if not STRACE:
        results.skip("hostile/opened files", "strace is not installed: nobody looked at which files LLDB opened")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        path = unpack(HERE / "gallery-x64.core.xz", folder)
        core = Core(path.read_bytes())
        frames = frame_registers(lldb, Target(core=path))
        asked = ["clr info --json", "clr threads --json", "clrbt --json all"]
        core.structures = Structures(CoreImage(path), dict(zip(asked, lldb.json(Target(core=path), asked))), {})
        usual = odd_files(Run(lldb, path, ["bt all", "image list"], folder, plugin=False).opened) | opened_always(lldb)
        if not options.only:
            results.check("hostile/names are found as they are shown", check_found, lldb, core, frames, folder)
        if not options.only or "names in Python" in options.only:
            results.check("hostile/names in Python", check_python, lldb, make_names_with_symbols, core, folder)
        for name, make in CASES.items():
            if not options.only or name in options.only:
                results.check(f"hostile/{name}", alone, check, lldb, name, make, core, frames, usual, options.keep)
        if not options.only or hostile_waits.CASES.keys() & set(options.only):
            path = unpack(HERE / "waiting-x64.core.xz", folder)
            core, target = Core(path.read_bytes()), Target(core=path)
            asked = [*asked, *hostile_waits.ASKED]
            core.structures = Structures(CoreImage(path), dict(zip(asked, lldb.json(target, asked))), {})
            frames = frame_registers(lldb, target, "waiting.dll")
            for name, make in hostile_waits.CASES.items():
                if not options.only or name in options.only:
                    results.check(f"hostile/{name}", alone, check, lldb, name, make, core, frames, usual, options.keep, hostile_waits.COMMANDS)
    return results.summary()


if __name__ == "__main__":
    sys.exit(main())
