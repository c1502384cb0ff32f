"""Cores that do harm by what each limit allows, again and again: long names of many files, many runtimes, exceptions that share what is long. Each function damages a
Core (hostile_parts.py) and returns how much of it."""
import json
import struct

from hostile_cases import descriptor, place
from hostile_files import MANY, NT_FILE, forget_files
from hostile_parts import PAGE, add_notes

SHT_HEADER, TRACE_ELEMENT = 16, 32   # bytes of a trace's header and of an element, with words of 8 bytes


def map_files(core, rows):
    """Another list of mapped files; rows: (address, path), each a page that begins its file."""
    files = struct.pack("<QQ", len(rows), PAGE) + b"".join(struct.pack("<QQQ", at, at + PAGE, 0) for at, _ in rows)
    files += b"".join(path + b"\0" for _, path in rows)
    forget_files(core)
    add_notes(core, struct.pack("<III", 5, len(files), NT_FILE) + b"CORE\0\0\0\0" + files + bytes(-len(files) % 4))
    return len(rows)


def make_long_paths(core, folder):
    """Libraries in folders in folders: 100 names of 64 KB, and 2,000 of 4 KB. The core lacks their pages, so that the files are looked for."""
    lengths = [64 << 10] * 100 + [4 << 10] * 2_000
    return map_files(core, [(MANY + 2 * PAGE * i, b"/%d" % i + b"/a" * ((length - 16) // 2) + b".so") for i, length in enumerate(lengths)])


def make_runtimes(core, folder):
    """200 libraries by the name of the runtime's, each of which leads to the one description that the core holds, in which 4 MB of numbers stand."""
    at = descriptor(core)
    size, = struct.unpack_from("<I", core.bytes, core.offset(at + 12))
    text = core.offset(core.word(at + 16))
    described = json.loads(core.bytes[text:text + size].decode())
    described["globals"].update((f"n{i}", 1) for i in range(330_000))
    text = json.dumps(described, separators=(",", ":")).encode()
    core.put(at + 16, place(core, text))
    struct.pack_into("<I", core.bytes, core.offset(at + 12), len(text))
    symbol = b"\0DotNetRuntimeContractDescriptor\0"
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    segments = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, PAGE, PAGE, PAGE) + struct.pack("<IIQQQQQQ", 2, 4, 0x200, 0x200, 0, 80, 80, 8)
    dynamic = struct.pack("<10Q", 6, 0x400, 5, 0x500, 4, 0x600, 10, len(symbol), 0, 0)   # symbols, strings, hash table, size of the strings
    symbols = bytes(24) + struct.pack("<IBBHQQ", 1, 0x11, 0, 0xFFF1, descriptor(core), 0)   # absolute
    image = bytearray(PAGE)
    for at, part in ((0, header + segments), (0x200, dynamic), (0x400, symbols), (0x500, symbol), (0x600, struct.pack("<5I", 1, 2, 1, 0, 0))):
        image[at:at + len(part)] = part
    count = 200
    core.add_memory([(MANY, bytes(image), count)])
    return map_files(core, [(MANY + i * PAGE, b"/%d/libcoreclr.so" % i) for i in range(count)])


def make_shared_traces(core, folder):
    """Each exception has a thousand inner ones, one within the other, all of one trace of 100,000 elements."""
    fields, inner, elements = core.structures.types["Exception"], 1_000, 100_000
    size = max(fields.values()) + 16
    thrown = sorted({int(t["exception"]["address"], 16) for t in core.structures.answers["clr threads --json"] if "exception" in t})
    for address in thrown:
        trace = core.word(address + fields["_stackTrace"])
        for array in (trace, core.word(trace + 16)):   # an array of objects may hold the trace as its first
            try:
                count, bytes_of = core.word(array + 16), core.word(array + 8) & 0xFFFF_FFFF
            except StopIteration:
                continue
            if 0 < count <= (bytes_of - SHT_HEADER) // TRACE_ELEMENT:
                break
        else:
            continue
        at = core.offset(array)
        element = bytes(core.bytes[at + 32:at + 64])
        long_trace = place(core, struct.pack("<QQQQ", core.word(array), SHT_HEADER + TRACE_ELEMENT * elements, elements, core.word(array + 24)) + element * elements)
        own = bytearray(core.bytes[core.offset(address):][:size])
        struct.pack_into("<Q", own, fields["_stackTrace"], long_trace)
        first = place(core, bytes(PAGE))   # only where the next memory goes: the objects need their own addresses
        objects, step = first + (1 << 32), size + 8 & ~7
        data = b""
        for i in range(inner):
            struct.pack_into("<Q", own, fields["_innerException"], objects + (i + 1) * step if i + 1 < inner else 0)
            data += own + bytes(step - len(own))
        core.add_memory([(objects, data + bytes(-len(data) % PAGE), 1)])
        core.put(address + fields["_innerException"], objects)
        core.put(address + fields["_stackTrace"], long_trace)
    return len(thrown) * inner


CASES = {"files of long names": make_long_paths, "200 runtimes": make_runtimes, "inner exceptions that share a trace": make_shared_traces}
OWN_COMMANDS = {"files of long names": ["clr info", "bt all", "clrbt", "image list"], "200 runtimes": ["clr info", "clr info --json", "clrbt"],
                "inner exceptions that share a trace": ["clr info", "clr threads", "clr pe", "clr pe --json", "clr analyze", "clr analyze --json", "clr savecore {folder}/saved", "clr report {folder}/page.html"]}
