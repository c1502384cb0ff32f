"""Rewrites what a recorded core of .NET 10 holds into the form in which .NET 11 holds it, in a copy of the core.

Moved are: the links of the list of threads, the list of assemblies, the exceptions in flight, the data of the runtime's
own Frames for calls of native code, the debug info of jitted code, the tiers of methods that have one version only, and
what tells the two bodies of a method that the runtime suspends apart. What becomes longer gets memory of its own."""
import bisect
import struct

import net11_descriptor
from hostile_parts import PAGE, PT_LOAD, Core

OWN_MEMORY = 0x10000000
# What .NET 11 stores of a method whose tier it does not know.
NO_TIER = 0xFFFFFFFF
TIERS = {"tier0": 0, "optimized": 3}
# How .NET 10 numbers the bodies of a method that the runtime suspends, and the flags of .NET 11:
# 1 is called by the convention of such methods, 2 returns a task, 4 the variant that does not, 0x10 a thunk.
ASYNC_FLAGS = {0: 0, 1: 0x2, 2: 0x12, 3: 0x5, 4: 0x15, 5: 0x5}
NON_VTABLE_SLOT, METHOD_IMPL, NATIVE_CODE_SLOT, ASYNC_DATA = 8, 0x10, 0x20, 0x40


class Memory(Core):
    """A core to whose memory some is added."""

    def __init__(self, data):
        super().__init__(data)
        self.loads = sorted((start, offset, size) for kind, _, offset, start, _, size, _, _ in self.segments if kind == PT_LOAD)
        self.starts = [start for start, _, _ in self.loads]
        self.added = bytearray()
        assert all(start > OWN_MEMORY + (1 << 26) or start + size <= OWN_MEMORY for start, _, size in self.loads)

    def offset_of(self, address, size=8):
        """Where the file holds these bytes; None when the core lacks one."""
        at = bisect.bisect_right(self.starts, address) - 1
        if at < 0:
            return None
        start, offset, length = self.loads[at]
        return offset + address - start if address + size <= start + length else None

    def read(self, address, size):
        """Up to `size` bytes: those before the first that the core lacks."""
        parts = []
        while size > 0 and (at := self.offset_of(address, 1)) is not None:
            start, offset, length = self.loads[bisect.bisect_right(self.starts, address) - 1]
            parts.append(bytes(self.bytes[at:min(at + size, offset + length)]))
            address, size = address + len(parts[-1]), size - len(parts[-1])
        return b"".join(parts)

    def word(self, address):
        """None when the core lacks it."""
        at = self.offset_of(address)
        return None if at is None else struct.unpack_from("<Q", self.bytes, at)[0]

    def write(self, address, data):
        at = self.offset_of(address, len(data))
        self.bytes[at:at + len(data)] = data

    def set_word(self, address, value):
        self.write(address, struct.pack("<Q", value))

    def add(self, data):
        """The address of `data`, which the core did not hold."""
        self.added += bytes(-len(self.added) % 8)
        address = OWN_MEMORY + len(self.added)
        self.added += data
        return address

    def addresses_of(self, value):
        """Where a word holds `value`."""
        packed = struct.pack("<Q", value)
        for start, offset, size in self.loads:
            at = self.bytes.find(packed, offset, offset + size)
            while at >= 0:
                yield start + at - offset
                at = self.bytes.find(packed, at + 1, offset + size)

    def save(self, path):
        self.add_memory([(OWN_MEMORY, bytes(self.added), 1)])
        with open(path, "wb") as file:
            file.write(self.bytes)


class Nibbles:
    """Reads the numbers of debug info: three bits a nibble, the highest first."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def u32(self):
        value = 0
        while True:
            nibble = self.data[self.at // 2] >> self.at % 2 * 4 & 15
            self.at += 1
            value = value << 3 | nibble & 7
            if not nibble & 8:
                return value

    def rest(self):
        return self.data[(self.at + 1) // 2:]


def nibbles_of(numbers):
    out = []
    for number in numbers:
        digits = [number & 7]
        while number := number >> 3:
            digits.append(number & 7 | 8)
        out += reversed(digits)
    out += [0] * (len(out) % 2)
    return bytes(low | high << 4 for low, high in zip(out[::2], out[1::2]))


def bounds_of_net11(data):
    """Sources of three bits for those of two."""
    if not data:
        return b""
    head = Nibbles(data)
    count, native, il = head.u32(), head.u32() + 1, head.u32() + 1
    bits, out, width = int.from_bytes(head.rest(), "little"), 0, native + il
    for i in range(count):
        entry = bits >> i * (width + 2) & (1 << width + 2) - 1
        out |= (entry & 3 | entry >> 2 << 3) << i * (width + 3)
    return nibbles_of([count, native - 1, il - 1]) + out.to_bytes((count * (width + 3) + 7) // 8, "little")


# Which numbers a variable's place has, by its kind.
PLACES = {0: 1, 1: 1, 2: 1, 3: 2, 4: 2, 5: 2, 6: 3, 7: 3, 8: 2, 9: 1, 10: 1}


def variables_of_net11(data):
    """The number first, which is counted from -6 and not from -4."""
    if not data:
        return b""
    old = Nibbles(data)
    count = old.u32()
    out = [count]
    for _ in range(count):
        begin, length, number, kind = (old.u32() for _ in range(4))
        out += [number + 2, begin, length, kind, *(old.u32() for _ in range(PLACES[kind]))]
    return nibbles_of(out)


def debug_info_of_net11(memory, at, patchpoint_bytes):
    """The debug info of a body whose .NET 10's lies at `at`; None when the core lacks some of it."""
    flags, patchpoints = memory.read(at, 1), b""
    if not flags:
        return None
    at += 1
    if flags[0] & 1:
        count, = struct.unpack_from("<I", memory.read(at + net11_descriptor.MEASURED["PatchpointInfo", "LocalCount"], 4))
        patchpoints = memory.read(at, patchpoint_bytes + 4 * count)
        at += patchpoint_bytes + 4 * count
    if flags[0] & 2:
        at += 4 + struct.unpack_from("<I", memory.read(at, 4))[0]
    raw = memory.read(at, 64)
    head, original = Nibbles(raw), 0
    try:
        size = head.u32()
        if size == 0xFFFFFFFF:
            size, original = head.u32(), head.u32()
        variables = head.u32()
    except IndexError:
        return None
    at += len(raw) - len(head.rest())
    whole = memory.read(at, size + original + variables)
    if len(whole) < size + original + variables:
        return None
    bounds, before, homes = bounds_of_net11(whole[:size]), bounds_of_net11(whole[size:size + original]), variables_of_net11(whole[size + original:])
    if before or patchpoints or not bounds:
        head = nibbles_of([0, len(bounds), len(homes), len(before), len(patchpoints), 0, 0])
    else:
        head = nibbles_of([len(bounds), len(homes)])
    return head + bounds + homes + before + patchpoints


class Mover:
    """Moves what one core holds. `answers` are those that its own descriptor gives: what it is that is moved."""

    def __init__(self, core, recorded, info, answers):
        with open(core, "rb") as file:
            self.memory = Memory(file.read())
        self.recorded, self.threads = recorded, answers["threads"]["threads"]
        self.layouts = net11_descriptor.known_layouts(recorded, info)
        self.moved = {}
        self.methods, self.bodies = {}, {}
        self.collect(answers)

    def at(self, type, field):
        return self.layouts[type, field]

    def collect(self, answer):
        """Each method that an answer names, and each body of jitted code with its tier."""
        if isinstance(answer, list):
            for inner in answer:
                self.collect(inner)
        elif isinstance(answer, dict):
            method, code = answer.get("method"), answer.get("code")
            if isinstance(method, dict) and "method_desc" in method:
                self.methods[int(method["method_desc"], 16)] = None
                if isinstance(code, dict) and code.get("kind") == "jitted":
                    self.bodies[int(code["start"], 16)] = (int(method["method_desc"], 16), code.get("tier"))
            for inner in answer.values():
                self.collect(inner)

    def global_place(self, name):
        (slot,), _ = self.recorded["descriptor"]["globals"][name]
        return self.base + int(self.recorded["pointers"][slot], 16)

    def number(self, name):
        return int(self.recorded["descriptor"]["globals"][name][0], 16)

    def move(self, sections):
        """Returns how many there were of each kind of thing."""
        self.move_threads()
        self.move_assemblies()
        self.move_thrown_objects()
        self.move_call_frames()
        self.move_stub_kinds(sections)
        self.move_debug_info()
        self.move_tiers()
        self.move_async_data()
        return self.moved

    def move_threads(self):
        """Links lead to the threads, and not to their own links."""
        link = self.at("Thread", "LinkNext")
        first_at = self.at("ThreadStore", "FirstThreadLink")
        (slot,), _ = self.recorded["descriptor"]["globals"]["ThreadStore"]
        in_image = int(self.recorded["pointers"][slot], 16)
        # A recorded descriptor does not say where the image lies: the list begins in what the runtime's variable leads to.
        (at, self.base), = ((place, variable - in_image) for place in self.memory.addresses_of(int(self.threads[0]["address"], 16) + link)
                            for variable in self.memory.addresses_of(place - first_at) if (variable - in_image) % PAGE == 0)
        moved = 0
        while following := self.memory.word(at):
            self.memory.set_word(at, following - link)
            at, moved = following, moved + 1
        assert moved == len(self.threads), f"{moved} links lead to {len(self.threads)} threads"
        self.moved["threads"] = moved

    def move_assemblies(self):
        """The list holds assemblies, and not what leads to them."""
        domain = self.memory.word(self.global_place("AppDomain"))
        at = domain + self.at("AppDomain", "DomainAssemblyList")
        count, = struct.unpack("<I", self.memory.read(at + self.at("ArrayListBase", "Count"), 4))
        block, moved = at + self.at("ArrayListBase", "FirstBlock"), 0
        while moved < count and block:
            size, = struct.unpack("<I", self.memory.read(block + self.at("ArrayListBlock", "Size"), 4))
            for i in range(min(size, count - moved)):
                place = block + self.at("ArrayListBlock", "ArrayStart") + 8 * i
                self.memory.set_word(place, self.memory.word(self.memory.word(place)))
                moved += 1
            block = self.memory.word(block + self.at("ArrayListBlock", "Next"))
        assert moved == count, f"{moved} of {count} assemblies"
        self.moved["assemblies"] = moved

    def move_thrown_objects(self):
        """An ExInfo holds the exception itself, and not a handle."""
        count = 0
        for thread in self.threads:
            record = self.memory.word(int(thread["address"], 16) + self.at("Thread", "ExceptionTracker"))
            while record:
                slot = record + self.at("ExceptionInfo", "ThrownObject")
                handle = self.memory.word(slot)
                thrown = self.memory.word(handle) if handle else None
                if thrown:
                    self.memory.set_word(slot, thrown)
                    count += 1
                record = self.memory.word(record + self.at("ExceptionInfo", "PreviousNestedInfo"))
        self.moved["exceptions"] = count

    def move_call_frames(self):
        """Bit 0 of the datum says that an exception is thrown through the call: 10 has bit 1 for it, and in bit 0 that the
        rest is no method."""
        kind, count = self.number("InlinedCallFrameIdentifier"), 0
        for thread in self.threads:
            frame = self.memory.word(int(thread["address"], 16) + self.at("Thread", "Frame"))
            while frame and frame != (1 << 64) - 1:
                datum = self.memory.word(frame + self.at("InlinedCallFrame", "Datum"))
                if self.memory.word(frame) == kind and datum is not None:
                    method = 0 if datum & 1 else datum & ~7
                    self.memory.set_word(frame + self.at("InlinedCallFrame", "Datum"), method | (datum >> 1 & 1))
                    count += datum != 0
                frame = self.memory.word(frame + self.at("Frame", "Next"))
        self.moved["calls"] = count

    def move_debug_info(self):
        places, count, lacking = {}, 0, 0
        for start in self.bodies:
            header = self.memory.word(start - 8)
            slot = header + self.at("RealCodeHeader", "DebugInfo") if header else 0
            old = self.memory.word(slot) if slot else None
            if not old:
                continue
            if old not in places:
                new = debug_info_of_net11(self.memory, old, self.at("PatchpointInfo", "!"))
                places[old] = self.memory.add(new) if new else None
            if places[old] is None:
                lacking += 1
                continue
            self.memory.set_word(slot, places[old])
            count += 1
        self.moved["debug info"], self.moved["debug info that the core lacks"] = count, lacking

    def move_stub_kinds(self, sections):
        """The number of what stubs a range has: 11 dropped one, the third."""
        count = 0
        for found in {section["range_list"] for section in sections}:
            at = int(found, 16) + self.at("CodeRangeMapRangeList", "RangeListType")
            old = self.memory.read(at, 4) if found != "0x0" else b""
            if len(old) == 4:
                kind, = struct.unpack("<I", old)
                self.memory.write(at, struct.pack("<I", kind - (kind > 2)))
                count += 1
        self.moved["ranges of stubs"] = count

    def nodes(self, state):
        """The addresses of the code of each version that has a node."""
        node = self.memory.word(state + self.at("MethodDescVersioningState", "NativeCodeVersionNode")) if state else 0
        while node:
            yield self.memory.word(node + self.at("NativeCodeVersionNode", "NativeCode"))
            node = self.memory.word(node + self.at("NativeCodeVersionNode", "Next"))

    def move_tiers(self):
        """What a method has of code gets a field for the tier of its first version."""
        tiers = {}
        for start, (method, tier) in self.bodies.items():
            data = self.memory.word(method + self.at("MethodDesc", "CodeData"))
            if data and self.memory.word(data) is not None:
                found = tiers.setdefault((method, data), [])
                if start not in self.nodes(self.memory.word(data + self.at("MethodDescCodeData", "VersioningState"))):
                    found.append(TIERS.get(tier, NO_TIER))
        for method in self.methods:
            data = self.memory.word(method + self.at("MethodDesc", "CodeData"))
            if data and self.memory.word(data) is not None:
                tiers.setdefault((method, data), [])
        tier_at = net11_descriptor.MOVED["MethodDescCodeData", "OptimizationTier"]
        for (method, data), found in tiers.items():
            assert len(set(found)) < 2, f"method {method:#x} has first versions of different tiers: {found}"
            new = self.memory.add(self.memory.read(data, tier_at) + struct.pack("<I", found[0] if found else NO_TIER))
            self.memory.set_word(method + self.at("MethodDesc", "CodeData"), new)
        self.moved["tiers"] = sum(found[:1] not in ([], [NO_TIER]) for found in tiers.values())

    def move_async_data(self):
        count, chunks = 0, set()
        for method in self.methods:
            index = self.memory.read(method + self.at("MethodDesc", "ChunkIndex"), 1)
            if not index:
                continue
            chunk = method - self.at("MethodDescChunk", "!") - 8 * index[0]
            if chunk in chunks:
                continue
            chunks.add(chunk)
            number = self.memory.read(chunk + self.at("MethodDescChunk", "Count"), 1)
            at = chunk + self.at("MethodDescChunk", "!")
            for _ in range(number[0] + 1 if number else 0):
                raw = self.memory.read(at + self.at("MethodDesc", "Flags"), 2)
                if len(raw) < 2:
                    break
                flags, = struct.unpack("<H", raw)
                if flags & ASYNC_DATA:
                    data = at + self.method_bytes(flags & (7 | NON_VTABLE_SLOT | METHOD_IMPL | NATIVE_CODE_SLOT))
                    kind, = struct.unpack("<I", self.memory.read(data + self.at("AsyncMethodData", "Kind"), 4))
                    self.memory.write(data + net11_descriptor.MOVED["AsyncMethodData", "Flags"], struct.pack("<I", ASYNC_FLAGS[kind]))
                    count += 1
                at += self.method_bytes(flags & (7 | NON_VTABLE_SLOT | METHOD_IMPL | NATIVE_CODE_SLOT | ASYNC_DATA))
        self.moved["async methods"] = count

    def method_bytes(self, flags):
        """How long a method with these flags is: by .NET 11's sizes of its parts, which must give what .NET 10's own table says."""
        kinds = ("MethodDesc", "FCallMethodDesc", "PInvokeMethodDesc", "EEImplMethodDesc", "ArrayMethodDesc", "InstantiatedMethodDesc",
                 "CLRToCOMCallMethodDesc", "DynamicMethodDesc")
        parts = ((NON_VTABLE_SLOT, "NonVtableSlot"), (METHOD_IMPL, "MethodImpl"), (NATIVE_CODE_SLOT, "NativeCodeSlot"), (ASYNC_DATA, "AsyncMethodData"))
        total = self.at(kinds[flags & 7], "!") + sum(self.at(name, "!") for bit, name in parts if flags & bit)
        if "MethodDescSizeTable" in self.recorded["descriptor"]["globals"]:
            said = self.memory.read(self.global_place("MethodDescSizeTable") + flags, 1)
            assert said in (b"", bytes([total])), f"a method with flags {flags:#x} has {said[0]} bytes, not {total}"
        return total
