"""Damages a recorded core on purpose: names, paths, ranges, counts; and writes a PDB that fits it."""
import mmap
import random
import re
import struct
import zlib

FORGED = "FORGED"   # behind a line break: a row that the target made up
PAYLOADS = ["\x1b[2J", "\x1b]0;x\x07", "\n" + FORGED, "\x9b31m", "\u202e", "\u2028" + FORGED, "\x7f", "\r", "\u200f\u2066"]

PT_LOAD, PT_NOTE, NT_PRSTATUS = 1, 4, 1
EM_X86_64, EM_AARCH64 = 62, 183
REGISTERS = {EM_X86_64: ("r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9", "r8", "rax", "rcx", "rdx", "rsi", "rdi", "orig_rax", "rip", "cs", "eflags", "rsp"),
             EM_AARCH64: (*(f"x{i}" for i in range(29)), "fp", "lr", "sp", "pc")}
PRSTATUS_TID, PRSTATUS_REGISTERS = 32, 112
METHOD_DEF = 6
DOCUMENT_TAG = 22   # of HasCustomDebugInformation
EMBEDDED_SOURCE = struct.pack("<IHH8B", 0x0E8A571B, 0x6926, 0x466E, 0xB4, 0xAD, 0x8A, 0xB0, 0x46, 0x11, 0xF5, 0xFE)
PAGE = 0x1000


def frame_registers(lldb, target, program="situations.dll"):
    """(thread id, registers) of the first frame of each thread that is the program's own code."""
    threads = lldb.json(target, ["clrbt --json --registers all"])[0]["threads"]
    found = []
    for thread in threads:
        for frame in thread["frames"]:
            if frame["kind"] == "managed" and frame["text"].split("`")[0].endswith(program) and "registers" in frame:
                found.append((thread["os_id"], {name: int(value, 16) for name, value in frame["registers"].items()}))
                break
    return found


def spoiled(name, number, unit=len):
    """`name` with a payload in its middle, no longer than before; unit: how long a text is there."""
    fitting = [p for p in PAYLOADS if unit(p) <= unit(name) - 2]
    if not fitting:
        return name
    payload = fitting[number % len(fitting)]
    rest = unit(name) - unit(payload)
    return name[: rest - 1] + payload + name[-1]


class Core:
    """An ELF core whose bytes are replaced in place; those of a file, when they are mapped."""

    def __init__(self, data):
        self.bytes = data if isinstance(data, mmap.mmap) else bytearray(data)
        offset, = struct.unpack_from("<Q", self.bytes, 32)
        size, count = struct.unpack_from("<HH", self.bytes, 54)
        self.segments = [struct.unpack_from("<IIQQQQQQ", self.bytes, offset + i * size) for i in range(count)]
        self.registers = REGISTERS[struct.unpack_from("<H", self.bytes, 18)[0]]

    def set_registers(self, thread, registers):
        """Lets `thread` stand where these registers say."""
        for kind, _, offset, _, _, size, _, _ in self.segments:
            at = offset
            while kind == PT_NOTE and at < offset + size:
                name, length, note = struct.unpack_from("<III", self.bytes, at)
                text = at + 12 + (name + 3 & ~3)
                if note == NT_PRSTATUS and struct.unpack_from("<I", self.bytes, text + PRSTATUS_TID)[0] == thread:
                    for register, value in registers.items():
                        struct.pack_into("<Q", self.bytes, text + PRSTATUS_REGISTERS + 8 * self.registers.index(register), value)
                    return
                at = text + (length + 3 & ~3)
        raise AssertionError(f"the core has no thread {thread}")

    def places(self, part):
        at = self.bytes.find(part)
        while at >= 0:
            yield at
            at = self.bytes.find(part, at + 1)

    def streams(self, name):
        """Streams of the metadata whose heap of names holds `name`: name -> (offset, size) in the core. Pages are missing in larger ones, whose
        heaps seem to reach over those behind them: the last one is right."""
        for root in reversed(list(self.places(b"BSJB"))):
            length, = struct.unpack_from("<I", self.bytes, root + 12)
            if length > 64:
                continue
            at = root + 16 + length
            count, = struct.unpack_from("<H", self.bytes, at + 2)
            at += 4
            found = {}
            for _ in range(min(count, 8)):
                offset, size = struct.unpack_from("<II", self.bytes, at)
                end = self.bytes.index(0, at + 8)
                found[self.bytes[at + 8:end].decode(errors="replace")] = (root + offset, size)
                at = (end + 4 - at & ~3) + at
            start, size = found.get("#Strings", (0, 0))
            if self.bytes.find(b"\0" + name.encode() + b"\0", start, start + size) >= 0:
                return found
        raise AssertionError(f"no metadata names {name}")

    def spoil_heap(self, name):
        """Puts payloads into all names of the assembly that has `name`; how many."""
        start, size = self.streams(name)["#Strings"]
        count = 0
        for found in re.finditer(rb"[\x21-\x7e]{4,}", bytes(self.bytes[start:start + size])):
            new = spoiled(found[0].decode(), count, lambda text: len(text.encode())).encode()
            assert len(new) == len(found[0]), (found[0], new)
            self.bytes[start + found.start():start + found.end()] = new
            count += 1
        return count

    def spoil_string(self, text, number):
        """Puts a payload into the managed strings that are `text`; how many."""
        return self.replace_bytes(struct.pack("<I", len(text)) + text.encode("utf-16-le"),
                                  struct.pack("<I", len(text)) + spoiled(text, number).encode("utf-16-le"))

    def replace_path(self, old, new):
        """`old` by `new` of the same length, in UTF-8 and UTF-16; how many."""
        assert len(old) == len(new), (old, new)
        return self.replace_bytes(old.encode("utf-16-le"), new.encode("utf-16-le")) + self.replace_bytes(old.encode(), new.encode())

    def replace_bytes(self, old, new):
        assert len(old) == len(new), (old, new)
        places = list(self.places(old))
        for at in places:
            self.bytes[at:at + len(old)] = new
        return len(places)

    def pdb_identity(self, path):
        """The 20 bytes by which an assembly knows the PDB that was built as `path`."""
        entry = next(at for at in self.places(b"RSDS") if self.bytes[at + 24:at + 24 + len(path) + 1] == path.encode() + b"\0")
        size = 24 + len(path) + 1
        # Of the debug directory: a stamp, the version of portable PDBs, the type CodeView, the size.
        mark = struct.pack("<HHII", 0x100, 0x504D, 2, size)
        directory = min(self.places(mark), key=lambda at: abs(at - entry))
        return bytes(self.bytes[entry + 4:entry + 20]) + bytes(self.bytes[directory - 4:directory])

    def method_rows(self, name):
        at, _ = self.streams(name)["#~"]
        valid, = struct.unpack_from("<Q", self.bytes, at + 8)
        before = bin(valid & (1 << METHOD_DEF) - 1).count("1")
        return struct.unpack_from("<I", self.bytes, at + 24 + 4 * before)[0]

    def words(self, writable=True):
        """Offsets of the words of the process's memory."""
        for kind, flags, offset, _, _, size, _, _ in self.segments:
            if kind == PT_LOAD and (flags & 2 or not writable):
                yield from range(offset, offset + size - 15, 8)

    def offset(self, address):
        """Where the file holds this address."""
        return next(offset + address - begin for kind, _, offset, begin, _, size, _, _ in self.segments if kind == PT_LOAD and begin <= address < begin + size)

    def word(self, address):
        return struct.unpack_from("<Q", self.bytes, self.offset(address))[0]

    def put(self, address, value):
        struct.pack_into("<Q", self.bytes, self.offset(address), value)

    def add_memory(self, pieces):
        """Further memory: (address, bytes, how often these follow each other). A small file so holds any amount of it."""
        table = [struct.pack("<IIQQQQQQ", *segment) for segment in self.segments]
        for address, data, times in pieces:
            self.bytes += bytes(-len(self.bytes) % PAGE)
            segment = PT_LOAD, 6, len(self.bytes), address, 0, len(data), len(data), PAGE
            self.segments.append(segment)
            table += [struct.pack("<IIQQQQQQ", *segment[:3], address + i * len(data), *segment[4:]) for i in range(times)]
            self.bytes += data
        self.bytes += bytes(-len(self.bytes) % PAGE)
        struct.pack_into("<Q", self.bytes, 32, len(self.bytes))
        struct.pack_into("<H", self.bytes, 56, len(table))
        self.bytes += b"".join(table)

    def lie_in_ranges(self, end_of):
        """Gives each pair of neighbouring words that looks like a range of pages another end; how many."""
        count = 0
        for at in self.words():
            begin, end = struct.unpack_from("<QQ", self.bytes, at)
            if 0x7F00_0000_0000 <= begin < end <= begin + (64 << 20) and not (begin | end) % PAGE:
                struct.pack_into("<Q", self.bytes, at + 8, end_of(begin, end))
                count += 1
        return count

    def lie_in_words(self, seed, count):
        """Puts large counts and broken pointers into words that hold small numbers and pointers."""
        chance = random.Random(seed)
        words = [at for at in self.words() if any(self.bytes[at:at + 8])]
        for at in chance.sample(words, count):
            value, = struct.unpack_from("<Q", self.bytes, at)
            lies = [0xFFFF_FFFF, 0x7FFF_FFFF_FFFF_FFFF, 0x10_0000_0000, 0xFFFF_FFFF_FFFF_FFFF] if value < 1 << 32 else [value + (1 << 32), value & ~0xFFF, value + 8, value ^ 1 << 47]
            struct.pack_into("<Q", self.bytes, at, chance.choice(lies) & 0xFFFF_FFFF_FFFF_FFFF)
        return count


def compressed(number):
    """ECMA-335 II.23.2."""
    if number < 0x80:
        return bytes([number])
    return struct.pack(">H", 0x8000 | number) if number < 0x4000 else struct.pack(">I", 0xC000_0000 | number)


class Pdb:
    """A portable PDB of methods that each have line 5 of one of `documents`, and a variable with a payload in its name. `source`: the text of all documents,
    which the PDB holds; each byte of IL is then of another one of them.
    Source: dotnet/runtime docs/design/specs/PortablePdb-Metadata.md."""

    def __init__(self, identity, methods, documents, source=None):
        self.blobs, self.strings = bytearray(1), bytearray(1)
        blob_of = [self.blob(b"\0" + compressed(self.blob(name.encode()))) for name in documents]
        # Any signature of locals, so that variables have types; IL 0, one line, 5 columns; line 5, column 1.
        points = [self.blob(compressed(signature) + b"\0" + b"\0\x05" + b"\x05\x01") for signature in range(1, 9)]
        first = [1 + i % len(documents) for i in range(methods)]
        if source is not None:
            others = b"".join(b"\0" + compressed(1 + i) + b"\1\0\x05\0\0" for i in range(1, len(documents)))
            points, first = [self.blob(b"\1\1" + b"\0\0\x05" + b"\x05\x01" + others)], [0] * methods
            deflater = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
            text = self.blob(struct.pack("<I", len(source)) + deflater.compress(source) + deflater.flush())
        names = [self.string(f"v{payload}w") for payload in PAYLOADS]
        count = len(documents)
        tables = [(0x30, b"".join(struct.pack("<HHHH", name, 0, 0, 0) for name in blob_of), count),
                  (0x31, b"".join(struct.pack("<HH", first[i], points[i % len(points)]) for i in range(methods)), methods),
                  (0x32, b"".join(struct.pack("<HHHHII", 1 + i, 0, 1 + i, 1, 0, 0x7FFF_FFFF) for i in range(methods)), methods),
                  (0x33, b"".join(struct.pack("<HHH", 0, 0, names[i % len(names)]) for i in range(methods)), methods)]
        if source is not None:
            tables.append((0x37, b"".join(struct.pack("<HHH", 1 + i << 5 | DOCUMENT_TAG, 1, text) for i in range(count)), count))
        valid = sum(1 << table for table, _, _ in tables)
        rows = struct.pack("<IBBBBQQ", 0, 2, 0, 0, 1, valid, 0) + b"".join(struct.pack("<I", n) for _, _, n in tables) + b"".join(t for _, t, _ in tables)
        pdb = identity + struct.pack("<IQII", 0, 1 | 1 << METHOD_DEF, 1, methods)
        self.streams = [("#Pdb", pdb), ("#~", rows), ("#Strings", bytes(self.strings)), ("#GUID", EMBEDDED_SOURCE), ("#Blob", bytes(self.blobs))]

    def blob(self, data):
        at = len(self.blobs)
        self.blobs += compressed(len(data)) + data
        return at

    def string(self, text):
        at = len(self.strings)
        self.strings += text.encode() + b"\0"
        return at

    def bytes(self):
        version = b"PDB v1.0\0\0\0\0"
        headers = [struct.pack("<II", 0, 0) + name.encode() + b"\0" * (4 - len(name) % 4) for name, _ in self.streams]
        at = 16 + len(version) + 4 + sum(map(len, headers))
        whole = struct.pack("<IHHII", 0x424A_5342, 1, 1, 0, len(version)) + version + struct.pack("<HH", 0, len(self.streams))
        contents = b""
        for header, (_, data) in zip(headers, self.streams, strict=True):
            data += b"\0" * (-len(data) % 4)
            whole += struct.pack("<II", at + len(contents), len(data)) + header[8:]
            contents += data
        return whole + contents


def add_notes(core, added):
    """Behind the notes that the core has, in a place of their own."""
    for index, (kind, flags, offset, address, physical, size, memory, align) in enumerate(core.segments):
        if kind != PT_NOTE:
            continue
        known = bytes(core.bytes[offset:offset + size])
        core.bytes += bytes(-len(core.bytes) % PAGE)
        moved = (kind, flags, len(core.bytes), address, physical, size + len(added), memory, align)
        core.segments[index] = moved
        core.bytes += known + added + bytes(-(size + len(added)) % PAGE)
        headers, = struct.unpack_from("<Q", core.bytes, 32)
        struct.pack_into("<IIQQQQQQ", core.bytes, headers + 56 * index, *moved)
        return
    raise AssertionError("a core without notes")
