"""A core on a host that has none of its files: LLDB's own stacks are whole, and the stand-ins of native modules make way for files."""
import json
import re
import shutil
import struct

SECONDS = 180
THREAD = re.compile(r"^[* ] thread #(\d+)")
PUBLISHED = r"lldb-clr-published-\w+/"
FRAME = re.compile(r"^\s+\*? ?frame #\d+: (0x[0-9a-f]+) (\S+?)`(.*)$")


def stacks_of(text):
    """number of a thread -> (address, module, name) of each of its frames, in LLDB's own `bt all`."""
    stacks, frames = {}, []
    for line in text.splitlines():
        if match := THREAD.match(line):
            frames = stacks.setdefault(int(match[1]), [])
        elif match := FRAME.match(line):
            frames.append((int(match[1], 16), match[2], match[3]))
    return stacks


def native_frames(thread):
    return [(int(f["ip"], 16), f.get("module"), f.get("symbol")) for f in thread["frames"] if f["kind"] == "native"]


def check(driver, report, tag, core, folder):
    _, every, own, images = driver.run([f'target create --core "{core}"', "bt all", "clrbt --json all", "image list"], SECONDS)
    stacks, threads = stacks_of(every), json.loads(own)["threads"]
    lost, named, count = [], [], 0
    for thread in threads:
        seen = iter(stacks.get(thread["index"], []))
        for ip, module, symbol in native_frames(thread):
            count += 1
            # LLDB shows inlined functions too where it found the file and its debug information.
            met = next((frame for frame in seen if frame[0] == ip), None)
            if met is None:
                lost.append(f"thread {thread['index']}: {ip:#x} {module}`{symbol}")
                break
            if met[1] != module or not (symbol or met[2].startswith("___lldb_unnamed_symbol")):
                named.append(f"thread {thread['index']}: {ip:#x} is {met[1]}`{met[2]}, not {module}`{symbol}")
    report.check(f"{tag} stand-ins: the threads of bt all", f"{len(stacks)} of {len(threads)}", rf"^{len(threads)} of {len(threads)}$")
    report.check(f"{tag} stand-ins: native frames of bt all", f"{count} frames" if not lost else "; ".join(lost[:5]), r"^[1-9]\d\d+ frames$")
    report.check(f"{tag} stand-ins: their names", "; ".join(named[:5]) or "all", "^all$")
    if not re.search(PUBLISHED + r"libcoreclr\.so", images):
        return   # LLDB has found the file itself
    report.check(f"{tag} stand-ins: one for each native module", images, PUBLISHED + r"libc\.so\.6 ", PUBLISHED + r"libhostfxr\.so ")
    # Files by the names of modules, whatever they hold.
    place = folder / f"{tag}-stand-ins"
    place.mkdir()
    other, same = place / "other.so", place / "libcoreclr.so"
    for file in (other, same):
        shutil.copy("/bin/true", file)
    _, _, _, beside, _, instead = driver.run([f'target create --core "{core}"', "bt 2", f'target modules add "{other}"', "image list",
                                              f'target modules add "{same}"', "image list"], SECONDS)
    report.check(f"{tag} stand-ins: another file changes nothing", beside, PUBLISHED + r"libcoreclr\.so ", re.escape(str(other)))
    report.check(f"{tag} stand-ins: a file takes the place of its own", instead, PUBLISHED + r"libc\.so\.6 ", re.escape(str(same)), absent=[PUBLISHED + r"libcoreclr\.so "])


class CoreCopy:
    """A copy of a core of which parts can be taken away. The runtime's files are nowhere where it says, unless `with_files`."""

    def __init__(self, core, with_files=False):
        data = core.read_bytes()
        self.data = bytearray(data if with_files else data.replace(b"/Microsoft.NETCore.App/", b"/Microsoft.NETCore.Xxx/"))

    def headers_at(self, at):
        """(place of the header, type, flags, offset, address, physical address, size in the file, size in memory, alignment) of each segment of the ELF file at that offset."""
        offset, = struct.unpack_from("<Q", self.data, at + 32)
        size, count = struct.unpack_from("<HH", self.data, at + 54)
        return [(at + offset + i * size, *struct.unpack_from("<IIQQQQQQ", self.data, at + offset + i * size)) for i in range(count)]

    def loads(self):
        """(place of the header, address, offset, size) of what the core has of memory."""
        return [(place, address, offset, size) for place, kind, _, offset, address, _, size, _, _ in self.headers_at(0) if kind == 1 and size != 0]   # PT_LOAD

    def mappings_of(self, module):
        """The ranges of memory that are of a file of this name, ascending."""
        found = []
        for _, kind, _, at, _, _, length, _, _ in self.headers_at(0):
            while kind == 4 and length >= 12:   # PT_NOTE
                name_size, note_size, note = struct.unpack_from("<III", self.data, at)
                begin = at + 12 + (name_size + 3) // 4 * 4
                if note == 0x46494C45:   # NT_FILE
                    files, _ = struct.unpack_from("<QQ", self.data, begin)
                    names = bytes(self.data[begin + 16 + 24 * files:begin + note_size]).split(b"\0")
                    found += [struct.unpack_from("<QQ", self.data, begin + 16 + 24 * i) for i in range(files) if names[i].endswith(b"/" + module.encode())]
                used = (begin - at) + (note_size + 3) // 4 * 4
                at, length = at + used, length - used
        return sorted(found)

    def place_of(self, at):
        """Where the copy holds this address."""
        return next(offset + at - address for _, address, offset, size in self.loads() if address <= at < address + size)

    def segment_of(self, module, wanted):
        """The address of the first segment of this type of a module."""
        base = self.mappings_of(module)[0][0]
        return base + next(address for _, kind, _, _, address, _, _, _, _ in self.headers_at(self.place_of(base)) if kind == wanted)

    def drop_link_map(self, program):
        """What the loader lists: LLDB then finds no modules but the program."""
        at = self.place_of(self.segment_of(program, 2))   # PT_DYNAMIC
        tags = struct.iter_unpack("<QQ", self.data[at:at + 0x400])
        debug = next(value for tag, value in tags if tag == 21)   # DT_DEBUG
        struct.pack_into("<Q", self.data, self.place_of(debug + 8), 0)

    def drop_unwind_table_of(self, module):
        """The pages in which the module's table of unwind descriptions begins."""
        table = self.segment_of(module, 0x6474E550)   # PT_GNU_EH_FRAME
        (place,) = [place for place, address, _, size in self.loads() if address <= table < address + size]
        struct.pack_into("<Q", self.data, place + 32, 0)

    def drop(self, module):
        """All of the file, as gcore does unless it is told otherwise: the core then has no word of that memory."""
        for begin, end in self.mappings_of(module):
            for place, address, _, _ in self.loads():
                if begin <= address < end:
                    struct.pack_into("<I", self.data, place, 0)   # PT_NULL

    def write(self, to):
        to.write_bytes(self.data)
        return to


def lost_frames(driver, core):
    """The first frame of each thread of `clrbt all` that LLDB's own `bt all` lacks, and the frames of the former."""
    _, every, own = driver.run([f'target create --core "{core}"', "bt all", "clrbt --json all"], SECONDS)
    stacks, lost, frames = stacks_of(every), [], []
    for thread in json.loads(own)["threads"]:
        seen = iter(stacks.get(thread["index"], []))
        of_thread = [frame for frame in thread["frames"] if frame["kind"] != "runtime"]
        frames += of_thread
        missing = next((frame for frame in of_thread if not any(met[0] == int(frame["ip"], 16) for met in seen)), None)
        if missing:
            lost.append(f"thread {thread['index']}: {missing['text']}")
    return lost, frames


def check_lost(driver, report, tag, core, folder):
    """Where nothing tells how the runtime's native code is left, stacks go on at what it noted when managed code was left: also LLDB's own."""
    cut = CoreCopy(core)
    cut.drop_unwind_table_of("libcoreclr.so")
    lost, frames = lost_frames(driver, cut.write(folder / f"{tag}-lost.core"))
    count = sum(frame["kind"] == "managed" for frame in frames)
    report.check(f"{tag} stand-ins: frames of bt all behind a lost stretch", "; ".join(lost[:5]) or f"{count} managed frames", r"^[1-9]\d+ managed frames$")


def check_unread(driver, report, tag, core, folder):
    """ReadyToRun code of which the core has nothing: the frame is there, with the assembly's name, and stacks end or go on behind it as clrbt's do."""
    cut = CoreCopy(core)
    cut.drop("System.Private.CoreLib.dll")
    lost, frames = lost_frames(driver, cut.write(folder / f"{tag}-unread.core"))
    count = sum(" System.Private.CoreLib.dll + 0x" in frame["text"] for frame in frames)
    report.check(f"{tag} stand-ins: frames of bt all in code that the core lacks", "; ".join(lost[:5]) or f"{count} frames", r"^[1-9]\d* frames$")
