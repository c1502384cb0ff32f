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


def without_unwind_table_of(core, module, to):
    """A copy of the core that lacks the pages in which the module's table of unwind descriptions begins. No file of a host is where it says."""
    data = bytearray(core.read_bytes().replace(b"/Microsoft.NETCore.App/", b"/Microsoft.NETCore.Xxx/"))

    def headers_at(at):
        offset, = struct.unpack_from("<Q", data, at + 32)
        size, count = struct.unpack_from("<HH", data, at + 54)
        return [(at + offset + i * size, *struct.unpack_from("<IIQQQQQQ", data, at + offset + i * size)) for i in range(count)]

    base = None
    for _, kind, _, at, _, _, length, _, _ in headers_at(0):
        while kind == 4 and length >= 12:   # PT_NOTE
            name_size, note_size, note = struct.unpack_from("<III", data, at)
            begin = at + 12 + (name_size + 3) // 4 * 4
            if note == 0x46494C45:   # NT_FILE
                files, _ = struct.unpack_from("<QQ", data, begin)
                names = bytes(data[begin + 16 + 24 * files:begin + note_size]).split(b"\0")
                base = next(struct.unpack_from("<Q", data, begin + 16 + 24 * i)[0] for i in range(files) if names[i].endswith(b"/" + module.encode()))
            used = (begin - at) + (note_size + 3) // 4 * 4
            at, length = at + used, length - used
    loads = [(place, address, offset, size) for place, kind, _, offset, address, _, size, _, _ in headers_at(0) if kind == 1 and size != 0]   # PT_LOAD
    head = next(offset + base - address for _, address, offset, size in loads if address <= base < address + size)
    table = base + next(address for _, kind, _, _, address, _, _, _, _ in headers_at(head) if kind == 0x6474E550)   # PT_GNU_EH_FRAME
    (place,) = [place for place, address, _, size in loads if address <= table < address + size]
    struct.pack_into("<Q", data, place + 32, 0)
    to.write_bytes(data)
    return to


def check_lost(driver, report, tag, core, folder):
    """Where nothing tells how the runtime's native code is left, stacks go on at what it noted when managed code was left: also LLDB's own."""
    cut = without_unwind_table_of(core, "libcoreclr.so", folder / f"{tag}-lost.core")
    _, every, own = driver.run([f'target create --core "{cut}"', "bt all", "clrbt --json all"], SECONDS)
    stacks = stacks_of(every)
    lost, count = [], 0
    for thread in json.loads(own)["threads"]:
        seen = iter(stacks.get(thread["index"], []))
        for frame in thread["frames"]:
            if frame["kind"] == "runtime":
                continue
            count += frame["kind"] == "managed"
            if not any(met[0] == int(frame["ip"], 16) for met in seen):
                lost.append(f"thread {thread['index']}: {frame['text']}")
                break
    report.check(f"{tag} stand-ins: frames of bt all behind a lost stretch", f"{count} managed frames" if not lost else "; ".join(lost[:5]), r"^[1-9]\d+ managed frames$")
