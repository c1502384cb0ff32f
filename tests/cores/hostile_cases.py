"""More cores that do harm: lies of size, of depth and of order. Each function damages a Core (hostile_parts.py) and returns how much of it."""
import struct

from hostile_parts import PAGE, PAYLOADS, add_notes

FAR = 0x20_0000_0000   # where nothing was
TYPE_DEF, NESTED_CLASS = 0x02, 0x29


def place(core, data, times=1):
    """Memory that was not there, `times` times one after the other; its address."""
    at = max((begin + size for kind, _, _, begin, _, _, size, _ in core.segments if FAR <= begin < 2 * FAR), default=FAR)
    at = (at + (1 << 32)) & ~0xFFFF_FFFF
    core.add_memory([(at, data + bytes(-len(data) % PAGE), times)])
    return at


def descriptor(core):
    return int(core.structures.answers["clr info --json"]["descriptor"]["address"], 16)


def make_description(text, size):
    """The runtime's description of itself is `text` again and again, and says that it has `size` bytes."""
    def make(core, folder):
        unit = (text * (4 << 20))[: 4 << 20]
        at = descriptor(core)
        core.put(at + 16, place(core, unit, size // len(unit) + 1))
        struct.pack_into("<I", core.bytes, core.offset(at + 12), size)
        return size
    return make


def make_sections(core, folder):
    """Images of 65,535 sections."""
    images = [m for m in core.structures.answers["clr info --json"]["modules"] if "base" in m]
    count = 0
    for module in images:
        try:
            base = int(module["base"], 16)
            header = base + struct.unpack_from("<I", core.bytes, core.offset(base + 60))[0]
            struct.pack_into("<H", core.bytes, core.offset(header + 6), 0xFFFF)
            count += 1
        except StopIteration:
            pass   # the core does not hold it
    return count


def make_types_in_each_other(core, folder):
    """Each row of NestedClass says that the type lies within the next one, and the last within the first."""
    at, size = core.streams("Gallery")["#~"]
    valid, = struct.unpack_from("<Q", core.bytes, at + 8)
    numbers = [n for n in range(64) if valid >> n & 1]
    rows = dict(zip(numbers, struct.unpack_from(f"<{len(numbers)}I", core.bytes, at + 24)))
    count, types = rows[NESTED_CLASS], rows[TYPE_DEF]
    # Sorted by their first column, and each enclosing type has a smaller number: nothing else of the stream looks so for that long.
    for begin in range(at + 24, at + size - 4 * count):
        pairs = [struct.unpack_from("<HH", core.bytes, begin + 4 * i) for i in range(count)]
        if all(a[0] < b[0] <= types for a, b in zip(pairs, pairs[1:])) and all(0 < outer < inner for inner, outer in pairs):
            for i, (inner, _) in enumerate(pairs):
                struct.pack_into("<HH", core.bytes, begin + 4 * i, inner, pairs[(i + 1) % count][0])
            return count
    raise AssertionError("the metadata has no table of nested types")


def make_signature(blob):
    """Dynamic methods and IL stubs with this signature."""
    def make(core, folder):
        at, count = place(core, blob), 0
        fields = core.structures.types["StoredSigMethodDesc"]
        for text, frame in core.structures.methods.items():
            if frame["method"]["kind"] in ("dynamic", "il_stub"):
                core.put(int(text, 16) + fields["Sig"], at)
                struct.pack_into("<I", core.bytes, core.offset(int(text, 16) + fields["cSig"]), len(blob))
                count += 1
        return count
    return make


def make_dynamic_names(core, folder):
    """Dynamic methods whose names are nothing but what a terminal obeys."""
    at, count = place(core, "".join(PAYLOADS).encode() * 20 + b"\0"), 0
    for text, frame in core.structures.methods.items():
        if frame["method"]["kind"] in ("dynamic", "il_stub"):
            core.put(int(text, 16) + core.structures.types["DynamicMethodDesc"]["MethodName"], at)
            count += 1
    return count


def make_deep_stacks(core, folder):
    """All threads stand at the top of one stack of 600,000 true frames, of which the core holds few: they are all the same."""
    depth, begin, unit = 600_000, 2 * FAR, 1 << 20
    # Its frame has 32 bytes: two words, rbp, the return address.
    ip = next(int(f["ip"], 16) for f in core.structures.frames if "Situations.Gallery.Order(" in f["text"])
    core.add_memory([(begin, struct.pack("<4Q", 0, 0, begin, ip) * (unit // 32), depth * 32 // unit + 1)])
    threads = [t["os_id"] for t in core.structures.answers["clrbt --json all"]["threads"]]
    for thread in threads:
        core.set_registers(thread, {"rip": ip, "rbp": begin, "rsp": begin})
    return depth * len(threads)


def make_loops(core, folder):
    """Lists of the runtime that lead back to their own entries: threads, Frames, chunks of methods, assemblies, and exceptions within themselves."""
    types, count = core.structures.types, 0

    def loop(address, type_name, name):
        nonlocal count
        try:
            core.put(address + types[type_name][name], address)
            count += 1
        except (StopIteration, KeyError):
            pass

    for kind, type_name, name in (("thread", "Thread", "LinkNext"), ("frame", "Frame", "Next"), ("method desc chunk", "MethodDescChunk", "Next"),
                                  ("code heap", "CodeHeapListNode", "Next"), ("range map", "RangeSectionFragment", "Next")):
        for address in core.structures.pointers.get(kind, []):
            loop(address, type_name, name)
    for thread in core.structures.answers["clr threads --json"]:
        if "exception" in thread:
            loop(int(thread["exception"]["address"], 16), "Exception", "_innerException")
    return count


def make_threads(core, folder):
    """A note for each of 2,000 threads, all of them one and the same."""
    for kind, _, offset, _, _, size, _, _ in core.segments:
        if kind != 4:
            continue
        notes, at = bytes(core.bytes[offset:offset + size]), 0
        while at < size:
            name, length, note = struct.unpack_from("<III", notes, at)
            end = at + 12 + (name + 3 & ~3) + (length + 3 & ~3)
            if note == 1:
                status = notes[at:end]
                break
            at = end
        copies = b"".join(status[:20 + 32] + struct.pack("<I", 100_000 + i) + status[20 + 36:] for i in range(2_000))
        add_notes(core, copies)
        return 2_000
    raise AssertionError("a core without notes")


def make_clauses(core, folder):
    """Methods with four thousand million exception handlers."""
    count = 0
    for start in {int(f["code"]["start"], 16) for f in core.structures.frames if f.get("code", {}).get("kind") == "jitted"}:
        header = core.word(start - 8)
        try:
            handlers = core.word(header + 8)   # EHInfo; the number of clauses stands in front of it
            core.put(handlers - 8, 0xFFFF_FFFF)
            count += 1
        except StopIteration:
            pass
    return count


def make_large_method(core, folder):
    """A method of 64 MB of one-byte instructions, in which a thread stands."""
    size, begin, data = 64 << 20, 3 * FAR, 3 * FAR + (1 << 32)
    types = core.structures.types
    header_at, section_at, node_at, fragment_at, tables_at, map_at, gc_at = (data + i * PAGE for i in (0, 1, 2, 3, 4, 1024, 8))

    def page(type_name, **values):
        words = bytearray(PAGE)
        for name, value in values.items():
            struct.pack_into("<Q", words, types[type_name][name], value)
        return bytes(words)

    jitted = [f for f in core.structures.frames if f.get("code", {}).get("kind") == "jitted"]
    at = core.offset(core.word(int(jitted[0]["code"]["start"], 16) - 8))
    header = core.bytes[at:at + 64]
    struct.pack_into("<I", header, types["RealCodeHeader"]["NumUnwindInfos"], 0)
    struct.pack_into("<Q", header, types["RealCodeHeader"]["GCInfo"], gc_at)
    # Of the GC info: two bits of a slim header, then the length in groups of eight bits, each with a bit that says whether there is one more.
    bits, length = "00", size - PAGE
    while length:
        bits += f"{length & 255:08b}"[::-1] + ("1" if length >> 8 else "0")
        length >>= 8
    gc_info = int(bits[::-1], 2).to_bytes(64, "little")
    pages = [bytes(header) + bytes(PAGE - len(header)), page("RangeSection", RangeBegin=begin, RangeEndOpen=begin + size, Flags=2, HeapList=node_at),
             page("CodeHeapListNode", StartAddress=begin, EndAddress=begin + size - 1, MapBase=begin, HeaderMap=map_at),
             page("RangeSectionFragment", RangeBegin=begin, RangeEndOpen=begin + size, RangeSection=section_at)]
    pages += [struct.pack("<256Q", *[target] * 256) + bytes(PAGE - 2048) for target in (tables_at + PAGE, tables_at + 2 * PAGE, fragment_at)]
    pages += [bytes(PAGE), gc_info + bytes(PAGE - len(gc_info))]
    top = core.structures.globals["ExecutionManagerCodeRangeMapAddress"] + types["RangeSectionMap"]["TopLevelData"]
    core.put(core.word(top + 8 * (begin >> 49 & 255)) + 8 * (begin >> 41 & 255), tables_at)
    # The nibble map: a method begins at byte 32 of the first unit; all others lead back to it.
    units = [0x0100_0000] + [32 + 9] * (size // 256)
    core.add_memory([(data, b"".join(pages), 1), (map_at, struct.pack(f"<{len(units)}I", *units) + bytes(-4 * len(units) % PAGE), 1),
                     (begin, bytes(24) + struct.pack("<Q", header_at) + b"\x90" * (PAGE - 32), 1), (begin + PAGE, b"\x90" * (1 << 20), size // (1 << 20) - 1)])
    for thread in core.structures.answers["clrbt --json all"]["threads"]:
        core.set_registers(thread["os_id"], {"rip": begin + size // 2})
    return begin + size // 2


def make_texts(core, folder):
    """Strings of two thousand million characters: those that the runtime and the program hold."""
    return sum(core.replace_bytes(struct.pack("<I", len(word)) + word.encode("utf-16-le"), struct.pack("<I", 0x7FFF_FFFF) + word.encode("utf-16-le"))
               for word in ("recursion", "in-catch-deep", "in-finally", "lambda", "iterator", "Object reference not set to an instance of an object."))


# Signatures: `void` of one parameter that nests 300,000 pointers, vectors, instances; arrays of a rank and of bounds that nobody has; two hundred million parameters.
DEEP = 300_000
CASES = {
    "a description of 200 MB of brackets": make_description(b"[", 200 << 20),
    "a description of 200 MB of objects": make_description(b'{"types":', 200 << 20),
    "a description of 200 MB of digits": make_description(b"1", 200 << 20),
    "a description of 4 GB": make_description(b" ", 0xFFFF_FFFF),
    "images of 65,535 sections": make_sections,
    "types in each other": make_types_in_each_other,
    "signatures of pointers": make_signature(b"\0\1\1" + b"\x0f" * DEEP + b"\1"),
    "signatures of vectors": make_signature(b"\0\1\1" + b"\x1d" * DEEP + b"\1"),
    "signatures of instances": make_signature(b"\0\1\1" + b"\x15\x12\x09\1" * DEEP + b"\1"),
    "signatures of functions": make_signature(b"\0\1\1" + b"\x1b\0\1" * DEEP + b"\1"),
    "signatures of arrays": make_signature(b"\0\1\1" + b"\x14\x08" + b"\xdf\xff\xff\xff" * 3),
    "signatures of many parameters": make_signature(b"\0\xcb\xff\xff\xff" + b"\x08" * DEEP),
    "dynamic methods with such names": make_dynamic_names,
    "lists that do not end": make_loops,
    "2,000 threads": make_threads,
    "exception handlers without end": make_clauses,
    "a method of 64 MB": make_large_method,
    "texts of 4 GB": make_texts,
    # The last: what this process takes for its text counts for each that it starts.
    "stacks of 600,000 frames": make_deep_stacks,
}
# LLDB's own commands take minutes for these, with the plugin or without.
OWN_COMMANDS = {
    **dict.fromkeys(("sources of lines alone", "sources of one line"), ["clr source {at}", "clr u {at}", "clr u --any {at}", "clr u --json {at}"]),
    "stacks of 600,000 frames": ["clr info", "clrbt --json all", "clrbt all", "clrbt --unique", "clrbt -n 20 all", "clr analyze", "clr threads", "clr methods *ituations*"],
    "a method of 64 MB": ["clr info", "clrbt all", "clrip2md {at}", "clr u {at}", "clr u --json {at}", "clr u --gc {at}", "clr unwind {at}", "clr gcinfo {at}", "clr analyze", "bt", "image list"],
    "2,000 threads": ["clr info", "clr threads", "clrbt all", "clrbt --json all", "clrbt --unique", "clr analyze", "clr pe"],
}
AT_CHANGES = {"a method of 64 MB"}   # what is asked about is what was made
