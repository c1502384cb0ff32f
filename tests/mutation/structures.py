"""Where a core holds the runtime's own structures. Found by the runtime's description of itself, read here and not by the plugin, and from addresses that
the plugin told of the undamaged core: what is damaged shall be what matters.

A place is (kind, what, offset in the file, width). Its kind tells what a change means: see judge.py."""
import json
import re
import struct

from core_image import Missing

SLOTS = 256          # of each table of the range section map
LEVELS = 5
BODIES = 60          # jitted bodies whose structures are damaged
STACK_WORDS = 96     # of each thread
BYTES_OF_TEXT = 24   # of each body
OBJECTS, OBJECT_BYTES = 400, 96


def objects_of(answers):
    """Addresses of objects that the plugin knows of, in an order that does not depend on the core."""
    text = json.dumps([answers.get(command) for command in ("clr locks --json", "clr async --json", "clr roots stack --json")])
    return sorted({int(a, 16) for a in re.findall(r'"(?:object|box)": "(0x[0-9a-f]+)"', text)})


class Structures:
    def __init__(self, core, answers, types):
        """`answers`: what the plugin says of the undamaged core, by command. `types`: the fields of the runtime's types, for a core that lacks them; filled
        in from one that does not."""
        self.core, self.answers = core, answers
        self.places, self.pointers, self.metadata = [], {}, []
        self.seen = set()
        info = answers["clr info --json"]
        self.globals = {}
        if "descriptor" in info:
            self.read_descriptor(int(info["descriptor"]["address"], 16), types)
        # A runtime of the same version, whose own description this core does not hold: what the plugin uses in its place counts more.
        self.types = types
        for s in info["supplements"]:
            if s["field"] != "!":
                self.types.setdefault(s["type"], {})[s["field"]] = s["value"]
        stacks = answers["clrbt --json all"]["threads"]
        self.frames = [f for t in stacks for f in t["frames"]]
        self.methods = {f["method"]["method_desc"]: f for f in self.frames if "code" in f and "method_desc" in f["method"]}
        for step in (self.add_notes, self.add_globals, self.add_range_map, self.add_bodies, self.add_methods, self.add_modules, self.add_threads, self.add_stacks, self.add_objects):
            step()

    # A structure is damaged field by field: what is not described is not read.
    def add(self, kind, what, address, width):
        try:
            offset = self.core.offset(address, width)
        except Missing:
            return False
        if (offset, width) not in self.seen:
            self.seen.add((offset, width))
            self.places.append((kind, what, offset, width))
        return True

    def add_bytes(self, kind, what, address, size, step=1):
        for at in range(0, size, step):
            self.add(kind, f"{what}+{at:#x}", address + at, step)

    def add_structure(self, kind, type_name, address):
        fields = self.types.get(type_name, {})
        offsets = sorted(set(fields.values()))
        for name, offset in fields.items():
            after = next((o for o in offsets if o > offset), offset + 8)
            width = max(w for w in (1, 2, 4, 8) if w <= after - offset and offset % w == 0)
            self.add(kind, f"{type_name}.{name} of {address:#x}", address + offset, width)
        self.pointers.setdefault(kind, []).append(address)

    def field(self, address, type_name, name, size=8):
        return self.core.number(address + self.types[type_name][name], size)

    def optional(self, read, *arguments):
        """None for what this core does not hold, or this runtime does not have."""
        try:
            return read(*arguments)
        except (Missing, KeyError):
            return None

    def read_descriptor(self, address, types):
        core = self.core
        size, text, count, slots = core.number(address + 12, 4), core.number(address + 16), core.number(address + 24, 4), core.number(address + 32)
        described = json.loads(core.read(text, size))
        for name, fields in described["types"].items():
            types[name] = {f: (v[0] if isinstance(v, list) else v) for f, v in fields.items() if f != "!"}
        self.globals = {name: core.number(slots + 8 * value[0][0]) for name, value in described["globals"].items() if isinstance(value[0], list)}
        for at, width in ((0, 8), (8, 4), (12, 4), (16, 8), (24, 4), (32, 8)):
            self.add("descriptor", f"descriptor+{at}", address + at, width)
        self.add_bytes("descriptor", "pointer of the descriptor", slots, 8 * count, 8)
        # Digits are what a reader believes without a doubt; other characters break the text.
        written = core.read(text, size)
        for found in re.finditer(rb"\d", written):
            self.add("descriptor text", f"JSON+{found.start()}", text + found.start(), 1)
        self.add_bytes("descriptor text", "JSON", text, size, 97)

    def add_notes(self):
        for offset, size in self.core.notes:
            for at in range(0, min(size, 16384) & ~7, 8):
                self.places.append(("notes", f"note+{at:#x}", offset + at, 8))
        for at in range(0, min(self.core.headers_size, 16384) & ~7, 8):
            self.places.append(("program headers", f"header+{at:#x}", self.core.headers_at + at, 8))

    def add_globals(self):
        for name, address in self.globals.items():
            self.add("global", name, address, 8)

    def add_range_map(self):
        table, sections = self.globals.get("ExecutionManagerCodeRangeMapAddress"), {}
        ips = [int(frame["ip"], 16) for frame in self.frames if "code" in frame]
        for ip in ips:
            if table:
                self.optional(self.add_path, table + self.types["RangeSectionMap"]["TopLevelData"], ip, sections)
        if not sections:
            self.search_sections(ips, sections)
        self.sections = sections
        for section in sections:
            self.add_structure("range section", "RangeSection", section)
            heap = self.optional(self.field, section, "RangeSection", "HeapList")
            if heap:
                self.add_structure("code heap", "CodeHeapListNode", heap)

    def add_path(self, table, ip, sections):
        for level in range(LEVELS, 0, -1):
            slot = table + 8 * (ip >> (17 + 8 * (level - 1)) & (SLOTS - 1))
            self.add("range map", f"slot of level {level} for {ip:#x}", slot, 8)
            table = self.core.number(slot) & ~1
        while table:
            self.add_structure("range map", "RangeSectionFragment", table)
            sections[self.field(table, "RangeSectionFragment", "RangeSection")] = True
            table = self.field(table, "RangeSectionFragment", "Next") & ~1

    def search_sections(self, ips, sections):
        """Without the map's address: fragments and sections are words that hold a range around code, and slots are words that hold a fragment's address."""
        pages = {ip >> 17 for ip in ips}
        for begin, size, offset in self.core.segments:
            words = struct.unpack(f"<{size // 8}Q", self.core.at(offset, size // 8 * 8))
            for i, (low, high) in enumerate(zip(words, words[1:])):
                if low < high <= low + (1 << 28) and low % 4096 == 0 and any(low >> 17 <= page <= high >> 17 for page in pages):
                    at = begin + 8 * i
                    section = self.optional(self.core.number, at + 16)
                    if section and self.optional(self.core.read, section, 16) == struct.pack("<QQ", low, high):
                        self.add_structure("range map", "RangeSectionFragment", at - self.types["RangeSectionFragment"]["RangeBegin"])
                        sections[section] = True

    def add_bodies(self):
        bodies = {}
        for frame in self.frames:
            if frame.get("code", {}).get("kind") == "jitted":
                bodies.setdefault(int(frame["code"]["start"], 16), frame)
        for start, frame in list(bodies.items())[:BODIES]:
            self.add("code header", f"pointer before {start:#x}", start - 8, 8)
            self.add_bytes("text", f"code at {start:#x}", start, BYTES_OF_TEXT)
            self.optional(self.add_nibbles, start)
            header = self.optional(self.core.number, start - 8)
            if not header:
                continue
            self.add_structure("code header", "RealCodeHeader", header)
            for name, kind in (("DebugInfo", "debug info"), ("GCInfo", "gc info")):
                if blob := self.optional(self.field, header, "RealCodeHeader", name):
                    self.add_bytes(kind, f"{name} of {start:#x}", blob, 32)
            unwind = header + self.types["RealCodeHeader"]["UnwindInfos"]
            self.add_bytes("unwind info", f"unwind info of {start:#x}", unwind, 24, 4)
        for frame in self.frames:
            if frame.get("code", {}).get("kind") == "r2r":
                self.add_bytes("text", f"code at {frame['code']['start']}", int(frame["code"]["start"], 16), 8)

    def add_nibbles(self, start):
        for section in self.sections:
            heap = self.optional(self.field, section, "RangeSection", "HeapList")
            if heap and self.field(heap, "CodeHeapListNode", "StartAddress") <= start <= self.field(heap, "CodeHeapListNode", "EndAddress"):
                units = self.field(heap, "CodeHeapListNode", "HeaderMap")
                unit = (start - self.field(heap, "CodeHeapListNode", "MapBase")) // 256
                for near in (-1, 0, 1):
                    self.add("nibble map", f"unit {near:+} of {start:#x}", units + 4 * (unit + near), 4)

    def add_methods(self):
        tables = set()
        for text, frame in self.methods.items():
            address = int(text, 16)
            self.add_structure("method desc", "MethodDesc", address)
            index = self.optional(self.field, address, "MethodDesc", "ChunkIndex", 1)
            if index is not None:
                self.add_structure("method desc chunk", "MethodDescChunk", address - 24 - 8 * index)
            if code := self.optional(self.field, address, "MethodDesc", "CodeData"):
                self.add_structure("code versions", "MethodDescCodeData", code)
            if frame["method"]["kind"] == "instantiated":
                self.add_structure("method desc", "InstantiatedMethodDesc", address)
            if frame["method"]["kind"] in ("dynamic", "il_stub"):
                self.add_structure("method desc", "DynamicMethodDesc", address)
                self.add_structure("method desc", "StoredSigMethodDesc", address)
            tables.add(int(frame["method"]["method_table"], 16))
        for table in sorted(tables):
            self.add_structure("method table", "MethodTable", table)
            cls = self.optional(self.field, table, "MethodTable", "EEClassOrCanonMT")
            if cls and not cls & 1:
                self.add_structure("method table", "EEClass", cls)

    def add_modules(self):
        for module in self.answers["clr info --json"]["modules"]:
            address = int(module["address"], 16)
            self.add_structure("module", "Module", address)
            if assembly := self.optional(self.field, address, "Module", "Assembly"):
                self.add_structure("module", "Assembly", assembly)
            if pe := self.optional(self.field, address, "Module", "PEAssembly"):
                self.add_structure("module", "PEAssembly", pe)
                if image := self.optional(self.field, pe, "PEAssembly", "PEImage"):
                    self.add_structure("module", "PEImage", image)
                    if layout := self.optional(self.field, image, "PEImage", "LoadedImageLayout"):
                        self.add_structure("module", "PEImageLayout", layout)
            if info := self.optional(self.field, address, "Module", "ReadyToRunInfo"):
                self.add_structure("ready to run", "ReadyToRunInfo", info)
            if "base" in module:
                self.optional(self.add_image, int(module["base"], 16), module["name"])

    def add_image(self, base, name):
        """Headers of the image, and its metadata: what its bytes say is the only truth about names."""
        header = base + self.core.number(base + 60, 4)
        self.add_bytes("image", f"header of {name}", base, 64, 4)
        self.add_bytes("image", f"PE header of {name}", header, 0x188, 4)
        (clr_at,) = struct.unpack("<I", self.core.read(header + 24 + 112 + 8 * 14, 4))
        # A module that is mapped flat has its sections elsewhere; its metadata is then damaged by chance only.
        at, size = struct.unpack("<II", self.core.read(base + clr_at + 8, 8))
        if self.core.number(base + at, 4) != 0x424A5342:
            return
        self.metadata.append((base + at, size))
        self.add_bytes("image", f"CLI header of {name}", base + clr_at, 72, 4)
        self.add_bytes("metadata", f"metadata of {name}", base + at, min(size, 256), 4)
        for page in range(0, size, 4096):
            for at_page in range(0, 4096, 512):
                self.add("metadata", f"metadata of {name}+{page + at_page:#x}", base + at + page + at_page, 4)

    def add_threads(self):
        self.add_structure("thread list", "ThreadStore", self.optional(self.core.number, self.globals.get("ThreadStore", 0)) or 0)
        for thread in self.answers["clr threads --json"]:
            address = int(thread["address"], 16)
            self.add_structure("thread", "Thread", address)
            frame, count = self.optional(self.field, address, "Thread", "Frame"), 0
            while frame and frame != (1 << 64) - 1 and count < 16:
                self.add("frame", f"identifier of Frame {frame:#x}", frame, 8)
                for name in ("Frame", "InlinedCallFrame", "FramedMethodFrame"):
                    self.add_structure("frame", name, frame)
                frame, count = self.optional(self.field, frame, "Frame", "Next"), count + 1

    def add_stacks(self):
        for thread in self.answers["clrbt --json all"]["threads"]:
            tops = [int(f["sp"], 16) for f in thread["frames"] if f.get("sp")]
            for top in tops[:6]:
                self.add_bytes("stack", f"stack of thread {thread['os_id']} at {top:#x}", top & ~7, 8 * STACK_WORDS // 6, 8)

    def add_objects(self):
        """Objects that stacks hold, and that threads and async methods wait with: their types, fields, and the word before each, where its lock is."""
        self.objects = objects_of(self.answers)
        for address in self.objects[:OBJECTS]:
            if self.add_bytes_of_object(address):
                self.pointers.setdefault("object", []).append(address)

    def add_bytes_of_object(self, address):
        before = len(self.places)
        self.add_bytes("object", f"object {address:#x}", address - 8, OBJECT_BYTES, 8)
        return len(self.places) > before

    def is_metadata(self, offset):
        """Whether a place in the file is metadata or names of the runtime's own."""
        for address, size in self.metadata:
            try:
                begin = self.core.offset(address)
            except Missing:
                continue
            if begin <= offset < begin + size:
                return True
        return False
