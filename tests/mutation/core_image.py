"""A 64-bit little-endian ELF core as bytes that can be looked up by target address, and changed in its file."""
import struct

PT_LOAD, PT_NOTE = 1, 4
X64 = 62   # e_machine


class Missing(Exception):
    """The core does not hold these bytes."""


class CoreImage:
    def __init__(self, path, writable=False):
        self.path = path
        self.file = open(path, "r+b" if writable else "rb")
        header = self.file.read(64)
        assert header[:6] == b"\x7fELF\x02\x01", f"{path} is no 64-bit little-endian ELF file"
        (self.machine,) = struct.unpack_from("<H", header, 18)
        (self.headers_at,) = struct.unpack_from("<Q", header, 32)
        size, count = struct.unpack_from("<HH", header, 54)
        self.file.seek(self.headers_at)
        table = self.file.read(size * count)
        self.headers_size = len(table)
        self.segments, self.notes = [], []
        for i in range(count):
            kind, _, offset, address, _, file_size, memory_size, _ = struct.unpack_from("<IIQQQQQQ", table, i * size)
            if kind == PT_LOAD and file_size:
                self.segments.append((address, min(file_size, memory_size), offset))
            elif kind == PT_NOTE:
                self.notes.append((offset, file_size))
        self.segments.sort()

    def shows_more_than(self, other):
        """Whether bytes stand at an address at which `other` has none, or those of another place in its file. That some are missing does not count."""
        return any(not other.holds(*segment) for segment in self.segments)

    def holds(self, address, size, at):
        while size > 0:
            found = next(((begin, length) for begin, length, where in self.segments if begin <= address < begin + length and where + address - begin == at), None)
            if not found:
                return False
            done = found[0] + found[1] - address
            address, size, at = address + done, size - done, at + done
        return True

    def offset(self, address, size=1):
        """Where the file holds these bytes."""
        for begin, length, at in self.segments:
            if begin <= address and address + size <= begin + length:
                return at + address - begin
        raise Missing(f"{size} bytes at {address:#x}")

    def at(self, offset, size):
        self.file.seek(offset)
        return self.file.read(size)

    def read(self, address, size):
        return self.at(self.offset(address, size), size)

    def number(self, address, size=8):
        return int.from_bytes(self.read(address, size), "little")

    def write(self, offset, data):
        """Returns what stood there."""
        before = self.at(offset, len(data))
        self.file.seek(offset)
        self.file.write(data)
        self.file.flush()
        return before
