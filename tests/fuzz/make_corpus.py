#!/usr/bin/env python3
"""Makes the seeds of the fuzz targets, tests/fuzz/corpus/TARGET.tar.xz, from what real programs left: the recorded cores, assemblies and symbol files of
the other tests; from forms that the builders of the tests make; and from what the targets themselves find of these in some thousand runs, which
are the same every time. Of many candidates the smallest set is kept that reaches all code which any of them reaches.

    make_corpus.py [--also FOLDER] BUILD [TARGET...]

BUILD: a build with the fuzz targets; default: all targets. That of `scripts/fuzz --coverage`, build-coverage, is the one that the corpora of the
repository were made with, and without sanitizers it is the fastest. FOLDER/TARGET: further candidates, as build-sanitize/fuzz of a long campaign has
them. Needs g++ and, for PDBs, the .NET SDK; another g++ or SDK makes other bytes, and so may choose others. Inputs that once made a target fail are
none of its business: they lie beside the archives, as TARGET/found-NAME.
"""
import gzip
import io
import json
import lzma
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parent
METADATA = TESTS / "metadata/data"
SYMBOLS = TESTS / "symbols/data"
LARGEST = 20480   # bytes of a seed: the mutation of a larger one finds little, slowly
RUNS = 10_000     # of each target, from the seeds of real files
# The input of these is a list of edits of a sound runtime (scenes.h), so no file is a seed of theirs; each run reads a whole runtime.
SCENES = {"code": 4000, "types": 3000, "objects": 3000, "stack": 3000, "heap": 3000, "waits": 1500, "whole_core": 1500}

NATIVE = """
int deeper(int, void*);
int leaf(int a) { return a * 3; }
__attribute__((noinline)) int middle(int a, void* b) { char room[200]; int r = deeper(a, room); return r + deeper(a + 1, b) + room[a]; }
int outer(int a) { int sum = 0; for (int i = 0; i < a; i++) sum += middle(i, &sum); return sum + leaf(a); }
"""


def run(*command, **options):
    environment = os.environ | {"LLVM_PROFILE_FILE": os.devnull}  # a build that counts lines writes none here
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, errors="replace", env=environment, **options)
    if done.returncode:
        sys.exit(f"make_corpus: {command[0]} ended with {done.returncode}:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")


def native_module(folder):
    """A shared library with call frame information, as small as the linker makes one."""
    source, library = folder / "seed.c", folder / "libseed.so"
    source.write_text(NATIVE)
    run("g++", "-x", "c", "-O1", "-fPIC", "-shared", "-nostdlib", "-Wl,-z,noseparate-code", "-Wl,--build-id", "-s", "-Wl,-soname,libseed.so",
        "-o", library, source)
    return library.read_bytes()


def native_symbols(folder):
    """Shared libraries with symbols and lines: those of each version of DWARF, one of 32 bits, symbols or debug information alone, of ARM, and none that is linked."""
    source, made = folder / "symbols.c", []
    source.write_text(NATIVE)
    common = ("g++", "-x", "c", "-O1", "-fPIC", "-nostdlib", "-fno-asynchronous-unwind-tables", "-Wl,-z,noseparate-code", "-Wl,--build-id")
    for name, options in (("dwarf5", ["-gdwarf-5", "-shared"]), ("dwarf4", ["-gdwarf-4", "-shared"]), ("dwarf2", ["-gdwarf-2", "-gstrict-dwarf", "-shared"]),
                          ("parts", ["-gdwarf-5", "-ffunction-sections", "-shared"]), ("plain", ["-shared"]), ("object", ["-g", "-c"])):
        path = folder / f"symbols-{name}.so"
        run(*common, *options, "-o", path, source)
        made.append(path.read_bytes())
    debug = folder / "symbols.debug"
    run("objcopy", "--only-keep-debug", folder / "symbols-dwarf5.so", debug)
    arm = bytearray(made[4])
    struct.pack_into("<H", arm, 18, 40)   # EM_ARM
    return made + [debug.read_bytes(), bytes(arm)]


def pdbs(folder):
    """The portable PDB of an assembly, and an assembly that embeds its own."""
    if not shutil.which("dotnet"):
        print("make_corpus: no .NET SDK, so no PDBs", file=sys.stderr)
        return []
    project = folder / "names"
    project.mkdir()
    for name in ("names.cs", "names.csproj"):
        shutil.copy(METADATA / name, project)
    for kind in ("portable", "embedded"):
        run("dotnet", "build", "-c", "Release", "-o", folder / kind, f"-p:DebugType={kind}", "-p:PathMap=" + str(project) + "=/names", cwd=project)
    return [(folder / "portable/names.pdb").read_bytes(), (folder / "embedded/names.dll").read_bytes()]


def descriptor_memory(json_text, choice):
    """The structure of a contract descriptor with its JSON and two pointers behind it, as fuzz_descriptor lays it out."""
    order = ">" if choice & 4 else "<"
    word = "I" if choice & 2 else "Q"
    header = 8 + struct.calcsize(order + "II" + word + "II" + word)
    pointers = struct.pack(order + word * 2, 0, header)
    head = bytes(8) + struct.pack(order + "II" + word + "II" + word, 3 if choice & 2 else 1, len(json_text), header + len(pointers), 2, 0, header)
    return bytes([choice]) + head + pointers + json_text


def nested_descriptors(text_of):
    """A memory with a descriptor that refers to another one, and that to a third: (its first pointer is the variable with their address)."""
    size, texts = 40, [text_of(0), text_of(1), text_of(2)]
    at, starts = 0, []
    for text in texts:
        starts.append(at)
        at += (size + len(text) + 2 * 8 + 8 + 15) // 8 * 8
    out = bytearray(at)
    for i, (start, text) in enumerate(zip(starts, texts)):
        table = (start + size + len(text) + 7) // 8 * 8
        variable = table + 16
        struct.pack_into("<8sIIQIIQ", out, start, b"DNCCDAC", 1, len(text), start + size, 2, 0, table)
        out[start + size:start + size + len(text)] = text
        struct.pack_into("<QQQ", out, table, 0, variable, starts[i + 1] if i < 2 else 0)
    return b"\0" + bytes(out)


def net11_text(sub_descriptor=False):
    """The text of a descriptor of .NET 11: every type, global and contract, the fields of each type one behind the other."""
    frozen = json.loads((TESTS / "target/data/net11-frozen.json").read_text())
    types = {}
    for name, described in (frozen["types"] | frozen["with_interpreter"]["types"]).items():
        types[name] = ({"!": 8 * len(described["fields"]) + 8} if described["size"] else {}) | {field: 8 * i for i, field in enumerate(described["fields"])}
    globals = {name: [[1], kind] if kind == "pointer" else ["0x8", kind] for name, kind in frozen["globals"].items()}
    sub = {"subDescriptors": {"GC": [[1], "pointer"]}} if sub_descriptor else {}
    return json.dumps({"version": 2, "baseline": "empty", "types": types, "globals": globals, "contracts": frozen["contracts"]} | sub, separators=(",", ":")).encode()


def gc_text(i):
    """Number -> the text of a descriptor for nested_descriptors: .NET 11's, its collector's, and one within that."""
    if i != 1:
        return net11_text(True) if i == 0 else b'{"version":2}'
    segment = {name: 8 * n for n, name in enumerate(("Allocated", "Committed", "Reserved", "Used", "Mem", "Flags", "Next"))}
    pointers = ("GCHeapGenerationTable", "GCHeapEphemeralHeapSegment", "GCHeapAllocAllocated", "GCHeapFinalizeQueue", "StructureInvalidCount", "CurrentGCState")
    return json.dumps({"version": 2, "types": {"HeapSegment": segment, "Generation": {"!": 256, "AllocationContext": 0, "StartSegment": 56}},
                       "globals": {name: [[1], "pointer"] for name in pointers} | {"GCIdentifiers": ["workstation,regions", "string"], "TotalGenerationCount": 5},
                       "contracts": {"GC": "c1"}, "subDescriptors": {"More": [[1], "pointer"]}}).encode()


def native_aot_text(how):
    """The text of a descriptor of a NativeAOT program, which says so, or which has its own versions of contracts."""
    return json.dumps({"version": 1, "baseline": "empty", "contracts": {"Thread": "n1" if how else "c1"},
                       "globals": {} if how else {"RuntimeFlavor": ["NativeAOT", "string"]}}).encode()


def descriptor_file(text):
    """A file for `clr settings --descriptor`, as fuzz_descriptor takes it."""
    return b"\x10" + json.dumps({"build_id": "0102ab", "pointer_size": 8, "byte_order": "little", "descriptor": json.loads(text),
                                 "pointers": [None, "0x10"]}).encode()


def damaged_descriptor_files(text):
    """Such files with one thing wrong each; and JSON with values of every kind, with too many, and too deep."""
    whole = json.loads(descriptor_file(text)[1:])
    changes = ({"build_id": "012"}, {"build_id": "xy"}, {"pointer_size": 5}, {"byte_order": "middle"}, {"descriptor": [1]}, {"pointers": {}}, {"pointers": [1]},
               {"pointers": ["0xg"]}, {"descriptor": json.dumps(whole["descriptor"])}, {"more": [True, -1, 1.5, None, "text"]})
    members = "{" + ",".join(['"":0'] * 1025) + "}"   # one more than an object may have
    texts = [json.dumps(whole | change) for change in changes] + ["[" * 300, "[]", "{", members]
    return [b"\x10" + damaged.encode() for damaged in texts]


def sub_descriptor(names):
    """Number -> the text of a descriptor for nested_descriptors, whose type, contract and global have the name that `names` gives to the number."""
    def text(i):
        platform = {"Architecture": "arm64", "OperatingSystem": "unix"} if i == 0 else {}
        return json.dumps({"version": 1, "baseline": "empty", "contracts": {f"C{names(i)}": 1}, "types": {f"T{names(i)}": {"!": 8}},
                           "globals": platform | {f"G{names(i)}": [[1], "pointer"]}, "subDescriptors": {f"S{i}": [[1], "pointer"]}}).encode()
    return text


def wrong_headers(symbol_file):
    """A .sym file with one word of its header wrong; bit 1 of byte 13 says that the target shall leave it so."""
    made = []
    for at, value in ((0, b"X"), (8, b"\x77"), (12, b"\5"), (13, b"\7"), (88, b"\1")):
        file = bytearray(symbol_file)
        file[at:at + len(value)] = value
        file[13] |= 2
        made.append(bytes(file))
    return made + [bytes(symbol_file[:13] + bytes([symbol_file[13] | 2]) + symbol_file[14:])]


def perf_map_ids(images):
    """The entries of debug directories that name an image's perf map."""
    return [image[at:at + 64] for image in images for at in [image.find(b"R2RM")] if at >= 0]


def trace_blocks(trace, largest):
    """The start of a trace: its header and whole blocks, shortened at their ends."""
    at = trace.index(b"\x05Trace") if b"\x05Trace" in trace else trace.index(b"Trace") - 4
    at = trace.index(b"Trace", at) + len("Trace") + 1 + 48
    out, kinds = bytearray(trace[:at + 1]), {}
    at += 1
    while at < len(trace) and trace[at] == 5:
        name_size = struct.unpack_from("<I", trace, at + 11)[0]
        name = trace[at + 15:at + 15 + name_size]
        size_at = at + 15 + name_size + 1
        size = struct.unpack_from("<I", trace, size_at)[0]
        begin = (size_at + 4 + 3) // 4 * 4
        end = begin + size + 1
        kinds[name] = kinds.get(name, 0) + 1
        if kinds[name] <= 2:
            part = trace[begin:begin + min(size, largest)]
            out += trace[at:size_at] + struct.pack("<I", len(part))
            out += bytes(-len(out) % 4) + part + b"\x06"
        at = end
    return bytes(out + b"\x01")


def metadata_root(image):
    return image[image.index(b"BSJB"):]


def torn_root(root, units):
    """The metadata of an edited module whose tables stand last and end in memory that is missing (metadata_input.h): units of 16 bytes."""
    torn = bytearray(root.replace(b"#~\0\0", b"#-\0\0", 1))
    place = torn.index(b"#-\0\0") - 8
    offset, size = struct.unpack_from("<II", torn, place)
    struct.pack_into("<I", torn, place, len(torn))
    torn += torn[offset:offset + size]
    torn[1], torn[2] = ord("W"), units
    return bytes(torn)


def saved_files():
    """What `clr heap --save` writes, damaged forms of it, and cores that are compressed (the first byte says how)."""
    row = {"name": "System.String", "module": "System.Private.CoreLib.dll", "count": 2, "bytes": 64}
    whole = {"lldb_clr_heap_summary": 1, "objects": 2, "bytes": 64, "free_objects": 0, "free_bytes": 0, "warnings": ["a sentence"],
             "types": [row, row | {"name": "Ns.Type", "module": None}]}
    damaged = [whole | change for change in ({"lldb_clr_heap_summary": 2}, {"objects": -1}, {"bytes": 1 << 60}, {"types": {}}, {"types": [{}]},
                                             {"types": [row | {"name": 1}]}, {"warnings": [7]}, {"objects": "2"})]
    core = b"\x7fELF" + bytes(200)
    return ([b"\0" + json.dumps(value).encode() for value in (whole, *damaged, {}, [])]
            + [b"\0" + text for text in (b"no JSON", b"{" * 400)]
            + [b"\1" + gzip.compress(core, mtime=0) * 2]
            + [bytes([kind]) + subprocess.run([tool, "-c"], input=core, capture_output=True, check=True).stdout for kind, tool in ((2, "zstd"), (3, "lz4"))
               if shutil.which(tool)])


def sound_scenes(folder, build, target):
    """The inputs from which the mutation of scenes begins."""
    seeds = folder / f"{target}-sound"
    seeds.mkdir()
    run(build / f"tests/fuzz_{target}", "--seeds", seeds)
    return [f.read_bytes() for f in sorted(seeds.iterdir())]


def own_inputs(folder, build, target, seeds):
    """What the target finds from these seeds. Values that it sees compared are tried, so addresses must be the same every time."""
    given, made = folder / f"{target}-seeds", folder / f"{target}-own"
    given.mkdir()
    made.mkdir()
    for i, data in enumerate(seeds):
        if len(data) <= LARGEST:
            (given / str(i)).write_bytes(data)
    # Every second it would read its folder again and run what it had replaced by something smaller: other inputs on a slower machine.
    options = ["-seed=1", "-reload=0", "-timeout=60", "-use_counters=0", f"-runs={SCENES.get(target, RUNS)}"]
    if target in SCENES or not seeds:
        options += ["-len_control=0", "-max_len=500"]
    dictionary = HERE / f"{target}.dict"
    if dictionary.exists():
        options.append(f"-dict={dictionary}")
    run("setarch", "-R", build / f"tests/fuzz_{target}", *options, made, given)
    return [f.read_bytes() for f in sorted(made.iterdir())]


def candidates(folder, build):
    """TARGET -> inputs."""
    cores = {}
    for core in ("gallery-x64", "gallery-arm64"):
        path = folder / f"{core}.core"
        path.write_bytes(lzma.open(TESTS / f"cores/{core}.core.xz").read())
        run(build / "tests/seed_tool", path, folder / "seeds", core.split("-")[1])
    run(build / "tests/seed_tool", "--built", folder / "seeds")
    for target in (folder / "seeds").iterdir():
        cores[target.name] = [f.read_bytes() for f in sorted(target.iterdir())]
    native = native_module(folder)
    images = [(METADATA / name).read_bytes() for name in ("names.dll", "names-x64.dll", "names-arm64.dll", "composite.r2r.dll")]
    images.append((TESTS / "execution/data/cold-x64.dll").read_bytes())
    descriptors = [f.read_bytes() for f in sorted((TESTS / "target/data").glob("*-linux-*.json"))]
    smallest = min(descriptors, key=len)
    trace = gzip.open(SYMBOLS / "traced.nettrace.gz").read()
    perf_maps = [f.read_bytes() for f in sorted(SYMBOLS.glob("perf-*.map"))]
    symbol_files = []
    for i, path in enumerate(sorted(SYMBOLS.glob("perf-*.map")) + sorted(METADATA.glob("*.r2rmap"))):
        saved = folder / f"{i}.sym"
        run(build / "tests/seed_tool", "--symbols", path, saved)
        symbol_files.append(saved.read_bytes())
    return {
        "debug_info": cores["debug_info"],
        "descriptor": [b"\x01" + text for text in descriptors] + [descriptor_memory(smallest, choice) for choice in (0, 2, 4, 6, 8)]
        + [nested_descriptors(sub_descriptor(names)) for names in (str, lambda i: "same")]
        + [b"\x01" + net11_text(), nested_descriptors(gc_text), descriptor_file(net11_text()), descriptor_file(smallest)]
        + damaged_descriptor_files(smallest) + [b"\x01" + native_aot_text(how) for how in (0, 1)],
        "elf_core": cores["elf_core"] + [native, native_symbols(folder)[4]] + images[:2],
        "elf_symbols": native_symbols(folder),
        "gc_info": cores["gc_info"],
        "jit_dump": [f.read_bytes() for f in sorted(SYMBOLS.glob("*.dump"))] + cores["jit_dump"],
        # Without the entry that names its perf map, the signature of an image is computed.
        "metadata": images + [image.replace(b"R2RM", b"none") for image in images if b"R2RM" in image] + [metadata_root(images[0])]
                    + [torn_root(metadata_root(image), units) for image in images for units in (1, 8, 64)] + cores["metadata"],
        "module_file": cores["module_file"],
        "net_trace": [b"\x00" + trace_blocks(trace, size) for size in (512, 2048)] + cores["net_trace"],
        "pdb": pdbs(folder) + cores["pdb"],
        "perf_map": perf_maps,
        "r2r_perf_map": [f.read_bytes() for f in sorted(METADATA.glob("*.r2rmap"))] + perf_map_ids(images),
        "saved_file": saved_files(),
        "symbol_file": symbol_files + wrong_headers(min(symbol_files, key=len)),
        "unwind": cores["unwind"] + [b"\x02" + native],
        # Its inputs are choices of a generator: real files have no such form, and the fuzzer finds them by itself.
        "elf_module": [],
        **{target: sound_scenes(folder, build, target) for target in SCENES},
    }


def choose(build, target, inputs, folder):
    """Writes the corpus of `target`: the inputs that libFuzzer keeps when it merges them. They are packed, because many are the same file with some
    bytes changed: two hundred of them take as much room as five."""
    given, chosen = folder / f"{target}-given", folder / f"{target}-chosen"
    given.mkdir()
    chosen.mkdir()
    for i, data in enumerate(inputs):
        if len(data) > LARGEST:
            print(f"make_corpus: {target} {i} has {len(data)} bytes and is left out", file=sys.stderr)
            continue
        (given / str(i)).write_bytes(data)
    # How often code runs does not count: a hundred times is no other line than once.
    run(build / f"tests/fuzz_{target}", "-set_cover_merge=1", "-use_counters=0", chosen, given)
    kept = sorted((f.read_bytes() for f in chosen.iterdir()), key=lambda d: (len(d), d))
    archive = HERE / f"corpus/{target}.tar.xz"
    with lzma.open(archive, "wb", preset=9 | lzma.PRESET_EXTREME) as packed, tarfile.open(fileobj=packed, mode="w") as tar:
        for i, data in enumerate(kept):
            member = tarfile.TarInfo(f"{i:03}")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    print(f"{target}: {len(kept)} of {len(inputs)} inputs, {sum(map(len, kept))} bytes, packed {archive.stat().st_size}")


def main():
    words = sys.argv[1:]
    also = None
    if words[:1] == ["--also"] and len(words) > 1:
        also = pathlib.Path(words[1])
        del words[:2]
    if not words:
        sys.exit(__doc__)
    build = pathlib.Path(words[0]).resolve()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        run("cmake", "--build", build, "--target", "seed_tool")   # scripts/fuzz builds only what it runs
        all_inputs = candidates(folder, build)
        for target in words[1:] or all_inputs:
            inputs = all_inputs[target]
            if target == "pdb" and not shutil.which("dotnet"):
                continue  # what these are made with is not here
            inputs += own_inputs(folder, build, target, inputs)
            if also and (also / target).is_dir():
                inputs += [f.read_bytes() for f in sorted((also / target).iterdir())]
            choose(build, target, inputs, folder)


if __name__ == "__main__":
    main()
