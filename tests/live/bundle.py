"""Single-file .NET programs (bundles): puts another program into an existing one's host and framework, and names hosts.

Format of a bundle: 8 bytes (offset of the header, 0 in a bare host) stand before a 32-byte mark in the host. Header, version 6:
u32 major, u32 minor, i32 count, string id, i64 offset and size of deps.json, the same of runtimeconfig.json, u64 flags; then for
each file i64 offset, size, compressed size, u8 type, string path. Strings have a 7-bit-encoded length.
Source: dotnet/runtime src/installer/managed/Microsoft.NET.HostModel/Bundle.
"""
import hashlib
import json
import os
import pathlib
import re
import struct
import zlib

MARK = bytes.fromhex("8b1202b96a612038727b930214d7a03213f5b9e6efae3318ee3b2dce24b36aae")
# Where an apphost keeps the name of its program.
NAME_PLACE = b"c3ab8ff13720e8ad9047dd39466b3c89" + b"74e592c2fa383d4a3960714caef0c4f2"
ASSEMBLY, NATIVE, DEPS, CONFIG = 1, 2, 3, 4


def _read_string(data, at):
    length = shift = 0
    while True:
        byte = data[at]
        at += 1
        length |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return data[at:at + length].decode(), at + length


def _write_string(text):
    raw = text.encode()
    length, out = len(raw), b""
    while length >= 128:
        out += bytes([length & 127 | 128])
        length >>= 7
    return out + bytes([length]) + raw


def _header_place(data):
    at = data.find(MARK)
    if at < 8:
        raise ValueError("no bundle mark")
    return at - 8


class Bundle:
    """An existing single-file program."""

    def __init__(self, path):
        self.data = bytearray(pathlib.Path(path).read_bytes())
        (at,) = struct.unpack_from("<q", self.data, _header_place(self.data))
        if at <= 0:
            raise ValueError("a bare host")
        major, _, count = struct.unpack_from("<IIi", self.data, at)
        if major < 6:
            raise ValueError(f"bundle version {major}")
        _, at = _read_string(self.data, at + 12)
        at += 40
        self.files = []   # (path, offset, size, compressed, type)
        for _ in range(count):
            offset, size, compressed = struct.unpack_from("<qqq", self.data, at)
            kind = self.data[at + 24]
            path, at = _read_string(self.data, at + 25)
            self.files.append((path, offset, size, compressed, kind))

    def content(self, file):
        _, offset, size, compressed, _ = file
        return zlib.decompress(self.data[offset:offset + compressed], -15) if compressed else bytes(self.data[offset:offset + size])

    def only(self, kind):
        return next(f for f in self.files if f[4] == kind)

    def host(self):
        """The bare host: the ELF file, which its section headers end."""
        (sections,) = struct.unpack_from("<Q", self.data, 0x28)
        size, count = struct.unpack_from("<HH", self.data, 0x3A)
        end, first = sections + size * count, min(f[1] for f in self.files)
        host = self.data[:min(end, first)]
        struct.pack_into("<q", host, _header_place(host), 0)
        return host


def write(host, out, files):
    """files: (name, type, bytes)."""
    data = bytearray(host)
    place = _header_place(data)
    entries = []
    for name, kind, content in files:
        if kind == ASSEMBLY:
            data += b"\0" * (-len(data) % 4096)
        entries.append((name, len(data), len(content), kind))
        data += content
    by = {kind: (offset, size) for _, offset, size, kind in entries}
    ident = hashlib.sha256(b"".join(e[0].encode() for e in entries)).hexdigest()[:12]
    header = len(data)
    data += struct.pack("<IIi", 6, 0, len(entries)) + _write_string(ident)
    data += struct.pack("<qqqqQ", *by.get(DEPS, (0, 0)), *by.get(CONFIG, (0, 0)), 0)
    for name, offset, size, kind in entries:
        data += struct.pack("<qqqB", offset, size, 0, kind) + _write_string(name)
    struct.pack_into("<q", data, place, header)
    pathlib.Path(out).write_bytes(data)
    os.chmod(out, 0o755)


FRAMEWORK_FILE = re.compile(r"^(System\.|Microsoft\.(CSharp|VisualBasic|Win32)|mscorlib|netstandard|WindowsBase|lib(System|clr|coreclr|mscor))")


def rehost(single_file, assembly, out):
    """`assembly` (IL, its symbols embedded) on the host and framework of an existing single file. Returns the framework's version."""
    old = Bundle(single_file)
    config_file = old.only(CONFIG)
    old_name = config_file[0][:-len(".runtimeconfig.json")]
    options = json.loads(old.content(config_file).decode("utf-8-sig"))["runtimeOptions"]
    deps = json.loads(old.content(old.only(DEPS)).decode("utf-8-sig"))
    framework = next(f for f in options["includedFrameworks"] if f["name"] == "Microsoft.NETCore.App")
    options["includedFrameworks"] = [framework]
    options.setdefault("configProperties", {})["System.Globalization.Invariant"] = True
    target = deps["runtimeTarget"]["name"]
    pack = next(k for k in deps["targets"][target] if k.startswith("runtimepack.Microsoft.NETCore.App.Runtime"))
    listed = {**deps["targets"][target][pack].get("runtime", {}), **deps["targets"][target][pack].get("native", {})}
    name = pathlib.Path(assembly).stem
    kept = [f for f in old.files if f[0] in listed and FRAMEWORK_FILE.match(f[0])]
    new_deps = {"runtimeTarget": {"name": target, "signature": ""}, "compilationOptions": {},
                "targets": {target: {name + "/1.0.0": {"dependencies": {pack.split("/")[0]: framework["version"]}, "runtime": {name + ".dll": {}}},
                                     pack: {"runtime": {f[0]: {} for f in kept if f[0].endswith(".dll")}}}},
                "libraries": {name + "/1.0.0": {"type": "project", "serviceable": False, "sha512": ""},
                              pack: {"type": "runtimepack", "serviceable": False, "sha512": ""}}}
    host = old.host()
    was, new = (old_name + ".dll").encode() + b"\0", (name + ".dll").encode() + b"\0"
    at = host.find(was)
    if at < 0:
        raise ValueError("the host does not name its program")
    room = max(len(was), len(new))
    host[at:at + room] = new.ljust(room, b"\0")
    files = [(f[0], ASSEMBLY if f[0].endswith(".dll") and old.content(f)[:2] == b"MZ" else NATIVE, old.content(f)) for f in kept]
    files += [(name + ".dll", ASSEMBLY, pathlib.Path(assembly).read_bytes()),
              (name + ".runtimeconfig.json", CONFIG, json.dumps({"runtimeOptions": options}).encode()),
              (name + ".deps.json", DEPS, json.dumps(new_deps).encode())]
    write(host, out, files)
    return framework["version"]


def name_apphost(apphost, assembly_name, out):
    """An apphost that starts assembly_name, which lies beside it."""
    host = bytearray(pathlib.Path(apphost).read_bytes())
    at = host.find(NAME_PLACE)
    if at < 0:
        raise ValueError("no place for a name in this host")
    host[at:at + 64] = assembly_name.encode().ljust(64, b"\0")
    pathlib.Path(out).write_bytes(host)
    os.chmod(out, 0o755)


def self_contained_config(version):
    """A runtimeconfig.json for a program that brings this runtime along."""
    return {"runtimeOptions": {"tfm": f"net{version.split('.')[0]}.0",
                               "includedFrameworks": [{"name": "Microsoft.NETCore.App", "version": version}],
                               "configProperties": {"System.Globalization.Invariant": True}}}
