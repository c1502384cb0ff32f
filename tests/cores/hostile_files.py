"""Files that do harm: what a user names in a command, and cores that do it with large files: those that they name, and those that they hold. Each function damages a Core (hostile_parts.py) and returns how much of it."""
import os
import struct
import zlib

from hostile_parts import PAGE, PT_NOTE, Pdb, add_notes

NT_FILE = 0x46494C45
MANY = 0x30_0000_0000      # where nothing was
OWNER, RECORDED_PDB = b"lldb-clr\0", 0x434C5202   # core/metadata/recorded_pdbs.h
LARGE = 250 << 20          # bytes: two of them may be kept
EXPANDED = 63 << 20        # bytes: less than the limit of one PDB that a core holds


def notes(core):
    """(number of the segment, type, offset of the description, its size) of each note."""
    for index, (kind, _, at, _, _, size, _, _) in enumerate(core.segments):
        end = at + size
        while kind == PT_NOTE and at < end:
            name, length, note = struct.unpack_from("<III", core.bytes, at)
            text = at + 12 + (name + 3 & ~3)
            yield index, note, text, length
            at = text + (length + 3 & ~3)


def mapped_files(core):
    """Path -> where its first page lies."""
    _, _, at, size = next(n for n in notes(core) if n[1] == NT_FILE)
    count, _ = struct.unpack_from("<QQ", core.bytes, at)
    names = bytes(core.bytes[at + 16 + 24 * count:at + size]).split(b"\0")
    found = {}
    for row, name in zip(range(count), names):
        begin, _, page = struct.unpack_from("<QQQ", core.bytes, at + 16 + 24 * row)
        if page == 0:
            found.setdefault(name.decode(), begin)
    return found


def make_file(core, place, path, begin, size):
    """A file in the place of `path`, whose first page is the core's own, so that all that proves a file fits; nothing but holes follows. False: the core lacks the
    page, or the name is too long."""
    try:
        at = core.offset(begin)
    except StopIteration:
        return False
    new = str(place)
    if len(new) > len(path):
        return False
    with open(place, "wb") as file:
        file.write(core.bytes[at:at + PAGE])
        file.truncate(size)
    core.replace_path(path, new[0] + "/" * (len(path) - len(new)) + new[1:])
    return True


def make_large_files(core, folder):
    """A file for each module."""
    count = sum(make_file(core, folder / str(number), path, begin, LARGE) for number, (path, begin) in enumerate(mapped_files(core).items()))
    # What names the program's types and methods is in no page of the core any more, so that its file is asked.
    at, size = core.streams("Gallery")["#~"]
    core.bytes[at:at + 8] = bytes(8)
    return count


def make_expanding_pdbs(core, folder):
    """For each assembly whose debug directory the core holds a PDB that it keeps: some kilobytes, which expand to 63 MB."""
    ids = set()
    for mark in core.places(struct.pack("<HHI", 0x100, 0x504D, 2)):
        entry = min(core.places(b"RSDS"), key=lambda at: abs(at - mark))
        ids.add(bytes(core.bytes[entry + 4:entry + 20]) + bytes(core.bytes[mark - 4:mark]))
    methods = core.method_rows("Gallery")
    tail = None
    added = b""
    for identity in sorted(ids):
        head = Pdb(identity, methods, ["/nowhere/a.cs"]).bytes()
        packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
        packed = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
        if tail is None:   # a stream of its own behind the flush, the same for all
            size = EXPANDED - len(head)
            packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
            tail = packer.compress(bytes(size)) + packer.flush()
        text = identity + struct.pack("<I", len(head) + size) + packed + tail
        added += struct.pack("<III", len(OWNER), len(text), RECORDED_PDB) + OWNER + bytes(-len(OWNER) % 4) + text + bytes(-len(text) % 4)
    add_notes(core, added)
    return len(ids)


def make_files_of_all_kinds(core, folder):
    """PDBs that expand, and native modules that LLDB gets, behind whose last segment there are 246 MB of other bytes. Each kind keeps to its limit."""
    count, small = make_expanding_pdbs(core, folder), 4 << 20
    sizes = {"situations": small, "libSystem.Native.so": LARGE, "libhostpolicy.so": LARGE}
    for path, begin in mapped_files(core).items():
        name = path.rpartition("/")[2]
        if name in sizes and make_file(core, folder / str(len(name)), path, begin, sizes[name]):
            with open(folder / str(len(name)), "r+b") as file:
                file.seek(small)
                for _ in range(small, sizes[name], 1 << 20):
                    file.write(b"\x55" * (1 << 20))
            count += 1
    return count


def forget_files(core):
    """The true list of mapped files is none any more."""
    at = next(n for n in notes(core) if n[1] == NT_FILE)[2]
    struct.pack_into("<I", core.bytes, core.bytes.rfind(struct.pack("<I", NT_FILE), 0, at), 0)


def make_many_mappings(core, folder):
    """One file whose beginning is mapped 20,000 times, each time as a library of 60 segments, none of which is mapped."""
    count, segments = 20_000, 60
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 3, 62, 1, 0, 64, 0, 0, 64, 56, segments, 0, 0, 0)
    image = header + b"".join(struct.pack("<IIQQQQQQ", 1, 5, PAGE * n, 0x10_0000 * n, 0, PAGE, PAGE, PAGE) for n in range(1, segments + 1))
    image += bytes(-len(image) % PAGE)
    core.add_memory([(MANY, image, count)])
    files = struct.pack("<QQ", count, PAGE) + b"".join(struct.pack("<QQQ", MANY + i * len(image), MANY + i * len(image) + PAGE, 0) for i in range(count))
    files += b"/nowhere/a.so\0" * count
    forget_files(core)
    add_notes(core, struct.pack("<III", 5, len(files), NT_FILE) + b"CORE\0\0\0\0" + files + bytes(-len(files) % 4))
    return count


def make_many_libraries(core, folder):
    """A million rows of mapped files: 65,536 libraries, each by a name of its own, and one file for all others."""
    libraries, others = 1 << 16, (1 << 20) - (1 << 16)
    rows = [(MANY + 2 * PAGE * i, b"/nowhere/%d.so" % i) for i in range(libraries)] + [(2 * MANY + 2 * PAGE * i, b"/nowhere/a") for i in range(others)]
    files = struct.pack("<QQ", len(rows), PAGE) + b"".join(struct.pack("<QQQ", at, at + PAGE, 0 if i < libraries else 1) for i, (at, _) in enumerate(rows))
    files += b"".join(name + b"\0" for _, name in rows)
    forget_files(core)
    add_notes(core, struct.pack("<III", 5, len(files), NT_FILE) + b"CORE\0\0\0\0" + files + bytes(-len(files) % 4))
    return len(rows)


def make_named_files(core, folder):
    """Files that a user got with a core and names in commands: none is a regular file, or its contents are what nobody expects."""
    os.mkfifo(folder / "pipe")
    for name, target in {"zero": "/dev/zero", "terminal": "/dev/tty", "full": "/dev/full", "log": "/proc/kmsg"}.items():
        os.symlink(target, folder / name)
    for name, content in {"controls": b"$\x1b[31m\xe2\x80\xae\xff\x9b2J\n", "brackets": b"[" * (15 << 20), "line": b"7f" * (8 << 20),
                          "profile": b"".join(b"%x \x1b[31mevil\xe2\x80\xae (/tmp/\x1b[2J.so)\n" % at for at in range(1 << 46, (1 << 46) + 20_000)),
                          "map": b"".join(b"%x ffffffffffffffff \x1b[31mevil\xe2\x80\xae\n" % at for at in range(1 << 46, (1 << 46) + 20_000)),
                          "trace": b"Nettrace\0\0\0\0" + struct.pack("<II", 6, 0) + b"\xff\xff\xff\x7f" * 10_000}.items():
        (folder / name).write_bytes(content)
    with open(folder / "endless", "wb") as file:
        file.truncate(1 << 42)
    return len(NAMED)


NAMED = ["pipe", "zero", "terminal", "full", "controls", "brackets", "line", "profile", "map", "trace", "endless"]
NAMED_COMMANDS = [f"{command} {{folder}}/{name}" for name in NAMED
                  for command in ("clr symbolize", "clr symbols add", "clr settings --descriptor", "clr heap --diff", *(() if name == "profile" else ("clrip2md --from",)))]
# LLDB itself opens what is a core by its name alone.
NAMED_COMMANDS += [f"clr core {{folder}}/{name}" for name in NAMED if name != "endless"] + ["clrbt"]
FILES = ["clr info", "bt all", "clr statics *ituations*"]
CASES = {"large module files": make_large_files, "PDBs that expand": make_expanding_pdbs, "files of all kinds": make_files_of_all_kinds,
         "a file that is mapped 20,000 times": make_many_mappings, "65,536 libraries": make_many_libraries}
OWN_COMMANDS = {"files that a user names": NAMED_COMMANDS, **dict.fromkeys(("a file that is mapped 20,000 times", "65,536 libraries"), ["clr info", "clrbt"]), "large module files": FILES, "files of all kinds": [*FILES, "clrbt all"],
                "PDBs that expand": ["bt all", "clrbt all"]}
