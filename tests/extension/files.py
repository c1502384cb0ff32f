"""Files of this host: those that a core names, those that a command reads, and those that it writes. What is no regular file is not opened, not
replaced, and hangs nobody; a source file is shown when it is the one that was compiled."""
import gzip
import hashlib
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "live"))

import dotnet_process
import processes

SECONDS = 60   # a command that waits for a pipe, or reads a device, never ends

PROJECT = """<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup>
    <OutputType>Exe</OutputType>
    <TargetFramework>net10.0</TargetFramework>
    <DebugType>portable</DebugType>
    <InvariantGlobalization>true</InvariantGlobalization>
  </PropertyGroup>
</Project>
"""
METHOD = """    [System.Runtime.CompilerServices.MethodImpl(System.Runtime.CompilerServices.MethodImplOptions.NoInlining)]
    static void {name}(int n)
    {{
#line {line} "{document}"
        {calls}
#line default
    }}
"""
# Each method calls the next one, and has its line in the document of that name. Those without a path are in the program's own source.
DOCUMENTS = {"Zero": "/dev/zero", "Environ": "/proc/self/environ", "Pipe": "FOLDER/pipe.cs", "Folder": "FOLDER", "Device": "FOLDER/device.cs", "Huge": "FOLDER/huge.cs",
             "Secret": "FOLDER/secret.txt", "Gone": "FOLDER/gone.cs", "Own": None}
LINES = {name: 71 + n for n, name in enumerate(DOCUMENTS)}
NAMELESS = ("Zero", "Environ", "Pipe", "Folder", "Device", "Huge")
PARK = 'System.Console.WriteLine("READY"); System.Threading.Thread.Sleep(-1);'


class Lent:
    """A core of a program whose symbols name files that nobody should open."""

    def __init__(self, folder):
        self.folder = folder / "lent"
        source, built = self.folder / "source", self.folder / "built"
        source.mkdir(parents=True)
        os.mkfifo(self.folder / "pipe.cs")
        (self.folder / "device.cs").symlink_to("/dev/zero")
        (self.folder / "secret.txt").write_text("the secret\n" * 100)
        with open(self.folder / "huge.cs", "wb") as huge:
            huge.truncate(3 << 30)
        names = list(DOCUMENTS)
        text = "static class Lent\n{\n"
        for name, following in zip(names, [*names[1:], None]):
            calls = f"{following}(n + 1);" if following else PARK
            method = METHOD.format(name=name, line=LINES[name], document=str(DOCUMENTS[name]).replace("FOLDER", str(self.folder)), calls=calls)
            text += method if DOCUMENTS[name] else re.sub(r"#line.*\n", "", method)
        text += f"    static void Main() => {names[0]}(1);\n}}\n"
        self.text = text
        (source / "Lent.cs").write_text(text)
        (source / "lent.csproj").write_text(PROJECT)
        env = dict(os.environ, DOTNET_CLI_TELEMETRY_OPTOUT="1", DOTNET_NOLOGO="1")
        done = subprocess.run([processes.dotnet(), "build", source, "-c", "Debug", "-o", built, "-v", "q", "-nologo"], env=env, capture_output=True, text=True, timeout=600)
        if done.returncode:
            raise processes.Unavailable(f"building the program failed: {done.stdout[-1000:]}{done.stderr[-500:]}")
        self.source = source / "Lent.cs"
        self.source.rename(self.folder / "moved.cs")   # it is where a command is told, or nowhere
        with processes.Running([built / "lent"], self.folder / "run") as running:
            if not running.wait_ready():
                raise processes.Unavailable("the program did not start")
            self.core = processes.gcore(running.pid, self.folder / "lent.core")


def check_lent(driver, report, tag, lent):
    """LLDB's own commands, and those of the plugin, on the program of `lent`."""
    opening = [f'target create --core "{lent.core}"']
    (_, stack, status) = driver.run([*opening, "bt", "clr publish status"], SECONDS)
    frames = {name: re.search(rf"frame #(\d+): (0x[0-9a-f]+) lent\.dll`Lent\.{name}\(([^)\n]*)\)(.*)", stack) for name in DOCUMENTS}
    lost = [name for name, frame in frames.items() if not frame]
    if lost:
        return report.fail(f"{tag} lent: bt", f"no frames of {lost}: {stack[:1500]}")
    managed = "\n".join(line for line in stack.splitlines() if "lent.dll`" in line)
    report.check(f"{tag} lent: bt", managed, rf"Lent\.Secret\(.*\) at secret\.txt:{LINES['Secret']}", rf"Lent\.Gone\(.*\) at gone\.cs:{LINES['Gone']}", r"Lent\.Own\(.*\) at Lent\.cs:\d+",
                 absent=["zero", "environ:", "pipe", "device", "huge"])
    report.check(f"{tag} lent: clr publish status tells", status, r"^warning: source file /dev/zero: lines do not name it: the target names a file of the system",
                 r"^warning: source file .*/lent/pipe\.cs: lines do not name it: it is a pipe", r"^warning: .*/lent: lines do not name it: it is a folder",
                 r"^warning: .*/huge\.cs: .*: it has more than \d+ bytes", absent=["secret", "gone"])
    looked = driver.run([*opening, "bt", *(f"image lookup -v -a {int(frame[2], 16) - 1:#x}" for frame in frames.values())], SECONDS)[2:]
    for name, text in zip(DOCUMENTS, looked):
        named = "" if name in NAMELESS else re.escape(DOCUMENTS[name].replace("FOLDER", str(lent.folder))) if DOCUMENTS[name] else re.escape(str(lent.source))
        line = LINES[name] if DOCUMENTS[name] else r"\d+"
        report.check(f"{tag} lent: the line of {name}", text, rf"LineEntry: .*: {named}:{line}(:|$)")
    shown = driver.run([*opening, "bt", *(f"frame select {frame[1]}" for frame in frames.values()), "source list", *(f"source list -n Lent.{name}" for name in DOCUMENTS),
                        "source list -a " + frames["Pipe"][2], "source info -n Lent.Zero", *(f"breakpoint set -n Lent.{name}" for name in NAMELESS)], SECONDS)
    report.check(f"{tag} lent: LLDB shows source", "\n".join(shown[2:]), "the secret", absent=[r"\x00", "HOME="])
    commands = [f"clr {what} {frame[2]}" for frame in frames.values() for what in ("source", "u")]
    by_name = [f"clr source Lent.{name}" for name in DOCUMENTS]
    texts = dict(zip([*commands, *by_name], driver.run([*opening, *commands, *by_name], SECONDS)[1:]))
    for command in by_name:
        report.check(f"{tag} lent: {command}", texts[command], r"lent\.dll`Lent\.", absent=["the secret", "HOME="])
    for name, frame in frames.items():
        expected = [r"^error: nothing tells whether .*secret\.txt is the file that was compiled: the PDB has no hash of it; --any shows it all the same"] if name == "Secret" \
            else ["^error: the file is not on this host"]
        report.check(f"{tag} lent: clr source of {name}", texts[f"clr source {frame[2]}"], rf"lent\.dll`Lent\.{name}", *expected, absent=["the secret", "HOME="])
        report.check(f"{tag} lent: clr u of {name}", texts[f"clr u {frame[2]}"], rf"^lent\.dll`Lent\.{name}\(int\) \[", absent=["the secret", "HOME="])
    report.check(f"{tag} lent: clr u tells what it leaves out", texts[f"clr u {frames['Secret'][2]}"], r"^warning: nothing tells whether .*secret\.txt")


def check_proof(driver, report, tag, lent):
    """A source file is shown when its hash is the one in the PDB, with whatever line ends; another one only when that is asked for."""
    opening = [f'target create --core "{lent.core}"']
    (_, stack) = driver.run([*opening, "bt"], SECONDS)
    own, secret = (re.search(rf"(0x[0-9a-f]+) lent\.dll`Lent\.{name}\(", stack)[1] for name in ("Own", "Secret"))
    edited = lent.text.replace("READY", "Ready")
    for name, text in {"same": lent.text, "windows": lent.text.replace("\n", "\r\n"), "edited": edited}.items():
        (lent.folder / name).mkdir(exist_ok=True)
        (lent.folder / name / "Lent.cs").write_bytes(text.encode())

    def run(folder, *commands):
        mapped = [f'clr settings --path-map "{lent.source.parent}={lent.folder / folder}"']
        return driver.run([*opening, *mapped, *commands], SECONDS)[2:]
    for folder in ("same", "windows"):
        source, listing, named = run(folder, f"clr source {own}", f"clr u {own}", "clr source Lent.Own")
        report.check(f"{tag} proof: {folder}", source, r'^-> +\d+ .*READY', absent=["warning", "error"])
        report.check(f"{tag} proof: {folder}, by the method's name", named, r"^lent\.dll`Lent\.Own\(int\) at Lent\.cs:\d+:\d+$", r"^-> +\d+ ", absent=["warning", "error"])
        report.check(f"{tag} proof: {folder}, clr u", listing, r'^ +\d+ .*READY', absent=["warning"])
    digests = [hashlib.sha256(text.encode()).hexdigest()[:16] for text in (edited, lent.text)]
    differs = rf"edited/Lent\.cs is not the file that was compiled: its SHA-256 is {digests[0]}\.\.\., the PDB's is {digests[1]}\.\.\."
    refused, shown, listing, listed = run("edited", f"clr source {own}", f"clr source --any {own}", f"clr u {own}", f"clr u --any {own}")
    report.check(f"{tag} proof: edited", refused, rf"^error: .*{differs}; --any shows it all the same", absent=["Ready"])
    report.check(f"{tag} proof: edited, --any", shown, rf"^warning: .*{differs}$", r"^-> +\d+ .*Ready")
    report.check(f"{tag} proof: edited, clr u", listing, rf"^warning: .*{differs}; --any", absent=["Ready"])
    report.check(f"{tag} proof: edited, clr u --any", listed, rf"^warning: .*{differs}$", r"^ +\d+ .*Ready")
    (without,) = run("nowhere", f"clr source --any {secret}")
    report.check(f"{tag} proof: no hash, --any", without, "^warning: nothing tells whether .*: the PDB has no hash of it$", f"^-> {LINES['Secret']} +the secret")


def check_opened(driver, report, tag, lent):
    """The system's own list of what was opened, where strace is there to ask for it."""
    if not shutil.which("strace"):
        return report.skip(f"{tag} opened files", "strace is not installed")
    log = lent.folder / "opened"
    traced = driver.within(["strace", "-f", "-qq", "-e", "trace=open,openat", "-o", str(log)])
    opening = [f'target create --core "{lent.core}"', "bt"]
    traced.run([*opening, *(command for n in range(20) for command in (f"frame select {n}", "clr source")), *(f"source list -n Lent.{name}" for name in NAMELESS),
                *(f"clr u Lent.{name}" for name in NAMELESS)], 10 * SECONDS)
    opened = log.read_text(errors="replace")
    wrong = [line for line in opened.splitlines() if re.search(r'"(/dev/zero|/proc/self/environ|[^"]*/lent/(pipe|device|huge)\.cs)"', line) and "O_PATH" not in line]
    report.check(f"{tag} opened files: none that the program lends", "\n".join(wrong) or "none", "^none$")
    report.check(f"{tag} opened files: the list is one", opened, re.escape(str(lent.core)), r"secret\.txt")


def check_written(driver, report, tag, core, folder):
    """Where files are written, and where not."""
    place = folder / "written"
    place.mkdir()
    (place / "old").write_text("precious\n")
    os.mkfifo(place / "pipe")
    (place / "link").symlink_to(place / "old")
    commands = {"savecore": 'clr savecore "{}"', "perfmap": 'clr perfmap "{}"', "symbols": 'clr symbols save "{}"', "report": 'clr report "{}"'}
    of_heap = {"gcdump": 'clr gcdump "{}"', "heap": 'clr heap --save "{}"'}   # this core holds no heap: only places can be looked at
    places = {"pipe": "it is a pipe", "link": "it is a symbolic link; give the file itself", "/dev/full": "it is a device", ".": "it is a folder"}
    lines = [command.format(place / where) for command in (commands | of_heap).values() for where in places]
    done = driver.run([f'target create --core "{core}"', *lines, *(command.format("/dev/null") for command in commands.values()),
                       *(command.format(place / f"new-{name}") for name, command in commands.items())], SECONDS)[1:]
    for line, text, why in zip(lines, done, [why for _ in commands | of_heap for why in places.values()]):
        report.check(f"{tag} {line.replace(str(place), 'FOLDER')}", text, rf"^error: cannot write .*: {why}$")
    for name, text in zip(commands, done[len(lines):]):
        report.check(f"{tag} {name} to /dev/null", text, r"^/dev/null: \d+ ", absent=["error"])
    report.check(f"{tag} devices stay devices", " ".join(str(stat.S_ISCHR(os.stat(path).st_mode)) for path in ("/dev/full", "/dev/null")), "^True True$")
    report.check(f"{tag} what a link leads to stays", (place / "old").read_text(), r"^precious\n\Z")
    modes = {path.name: f"{stat.S_IMODE(path.stat().st_mode):o}" for path in place.glob("new-*")}
    mask = os.umask(0)
    os.umask(mask)
    everyone = f"{0o644 & ~mask:o}"
    report.check(f"{tag} modes of what is written", " ".join(f"{name}={mode}" for name, mode in sorted(modes.items())),
                 f"^new-perfmap={everyone} new-report={0o600 & ~mask:o} new-savecore={0o600 & ~mask:o} new-symbols={everyone}$")
    report.check(f"{tag} nothing else is left", " ".join(sorted(path.name for path in place.iterdir())), "^link new-perfmap new-report new-savecore new-symbols old pipe$")


def check_packed(driver, report, tag, core, folder):
    """`clr core`: a compressed core has the stacks of the core that is in it."""
    place = folder / "packed"
    place.mkdir()
    packed, cut, plain = place / "name with 'quotes'.gz", place / "cut.gz", pathlib.Path(core)
    packed.write_bytes(gzip.compress(plain.read_bytes(), 1))
    cut.write_bytes(packed.read_bytes()[:-1000])
    unpacked = packed.with_suffix("")
    opened, stacks, again, onto_itself, elsewhere, without_end, no_core, nothing = driver.run(
        [f'clr core "{packed}"', "clrbt all", f'clr core "{packed}"', f'clr core "{packed}" --to "{packed}"', f'clr core "{packed}" --to "{place}/other"', f'clr core "{cut}"', f"clr core {__file__}",
         "clr core /does/not/exist"], SECONDS)
    as_it_is, same = driver.run([f'clr core "{core}"', "clrbt all"], SECONDS)   # LLDB 14 tells copies of a core in one session not apart
    report.check(f"{tag} clr core", opened, rf"^{re.escape(str(unpacked))}: {plain.stat().st_size} bytes, unpacked \(gzip\) from ", r"^Core file .* \(x86_64\) was loaded\.$")
    report.check(f"{tag} clr core: the stacks", stacks, "^" + re.escape(same) + r"\Z", r"frame #\d+: 0x[0-9a-f]+ [\w.]+\.dll`")
    report.check(f"{tag} clr core: a file that exists", again, r"^error: .* exists already: open it, or name another place by --to$")
    report.check(f"{tag} clr core --to itself", onto_itself, rf"^error: {re.escape(str(packed))} exists already: ")
    report.check(f"{tag} clr core --to itself: the file stands", packed.read_bytes()[:2].hex(), "^1f8b$")
    report.check(f"{tag} clr core --to", elsewhere, rf"^{re.escape(str(place))}/other: \d+ bytes, unpacked", "was loaded")
    report.check(f"{tag} clr core: a cut file", without_end, "^warning: the end of the core is missing: the file ends within its compressed data$", "was loaded")
    report.check(f"{tag} clr core: not compressed", as_it_is, "was loaded", absent=["unpacked", "error"])
    report.check(f"{tag} clr core: no core", no_core, "^error: LLDB does not open ")
    report.check(f"{tag} clr core: no file", nothing, "^error: cannot open /does/not/exist: No such file or directory$")
    report.check(f"{tag} clr core: what it writes is its owner's", f"{stat.S_IMODE(unpacked.stat().st_mode) & 0o077:o}", "^0$")


def check_read(driver, report, tag, core, folder):
    """Files that a command reads: folders, pipes, and lines that would write to the process."""
    place = folder / "read"
    place.mkdir()
    os.mkfifo(place / "pipe")
    (place / "long").write_text("0x1000\n" + "1" * 5000 + "\n0x2000\n")
    (place / "nul").write_bytes(b"nano\0sleep\n")
    with open(place / "large", "wb") as large:
        large.truncate(65 << 20)
    commands = ["clr symbolize", "clrip2md --from", "clr symbols add"]
    lines = [f'{command} "{where}"' for command in commands for where in (place, place / "pipe", "/dev/zero")]
    opening = [f'target create --core "{core}"']
    more = [f'clrip2md --from "{place / "long"}"', f'clrip2md --from "{place / "large"}"', f'clrip2md --json --from "{place / "long"}"', f'clrip2md --from "{place / "nul"}"']
    texts = driver.run([*opening, *lines, *more], SECONDS)[1:]
    for line, text, kind in zip(lines, texts, ["a folder", "a pipe", "a device"] * len(commands)):
        report.check(f"{tag} {line.replace(str(place), 'FOLDER')}", text, rf"^error: .*not a regular file but {kind}", absent=["samples"])
    long, large, as_json, nul = texts[len(lines):]
    report.check(f"{tag} a long line of a file", long, r"^0x0*1000: ", r"^error: line 2 of .*/long is longer than 4096 characters", r"^0x0*2000: ")
    report.check(f"{tag} a large file", large, rf"^error: .*/large has more than {64 << 20} bytes")
    report.check(f"{tag} a long line, in JSON", as_json, r'^\{"address":"0x1000".*\},$', r'^\{"address":"0x2000".*\}$', r"^\]$")
    report.check(f"{tag} a NUL in a line", nul, r"^error: 'nano\\x00sleep' is not an address: a file may have numbers")
    with dotnet_process.running(["sleep", "300"], settle=0.3) as process:
        (place / "expressions").write_text("*(int*)$sp = 77   # would write memory\n$rbx = 77\n$rbx += 1\n(int)getpid()\n1 + 1\n  $pc\nnanosleep\n0x10 # a number\n$sp[0]\nclock_nanosleep + 1\n")
        state = ["memory read -s 4 -f x -c 1 $sp", "register read rbx rsp rip"]
        before_memory, before_registers, said, after_memory, after_registers = driver.run(
            [f"process attach --pid {process.pid}", *state, f'clrip2md --from "{place / "expressions"}"', *state, "detach"], SECONDS)[1:6]
    report.check(f"{tag} expressions in a file change nothing", after_memory + after_registers, "^" + re.escape(before_memory + before_registers) + r"\Z")
    refused = [re.escape(text) for text in ("*(int*)$sp = 77", "$rbx = 77", "$rbx += 1", "(int)getpid()", "1 + 1", "$sp[0]")]
    report.check(f"{tag} expressions in a file are refused", said, *(rf"^error: '{text}' is not an address: a file may have numbers, registers" for text in refused))
    report.check(f"{tag} numbers, registers and symbols in a file", said, r"^0x0*10: ", r"^0x[0-9a-f]+: no managed method", absent=["'\\$pc'", "'nanosleep'", "'clock_nanosleep"])
