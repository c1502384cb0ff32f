#!/usr/bin/env python3
"""Tests of python/lldb_clr and python/examples: see run.sh."""
import argparse
import ast
import json
import lzma
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PYTHON = ROOT / "python"
CORES = HERE.parent / "cores"
sys.path[:0] = [str(HERE.parent / "live"), str(HERE.parent / "extension"), str(CORES), str(PYTHON), str(HERE)]

import dotnet_process
import exception_tree
import imports
import same
from json_schema import Schema
from plugin import Lldb, Target
from processes import Unavailable
from results import Results
from run_cores import unpack


def header_number():
    """CLR_API_VERSION of the header."""
    return int(re.search(r"^#define CLR_API_VERSION (\d+)u$", (ROOT / "include" / "lldb_clr.h").read_text(), re.M)[1])


class Setup:
    """What every check needs: the build, the recorded cores unpacked, the drivers."""

    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.plugin = build / "liblldb-clr.so"
        self.core_library = build / f"libclr.so.{header_number()}"
        self.environment = dict(os.environ, LLDB_CLR_LIBRARY_DIR=str(build), PYTHONDONTWRITEBYTECODE="1")
        os.environ["LLDB_CLR_LIBRARY_DIR"] = str(build)
        self.cores = {}
        for packed in sorted(CORES.glob("*.core.xz")):
            name = packed.name[:-len(".core.xz")]
            core, expected = unpack(packed, folder), folder / f"{name}.json"
            expected.write_bytes(lzma.open(CORES / f"{name}.expected.json.xz").read())
            self.cores[name] = core, expected

    def run(self, command, **more):
        environment = {**self.environment, **more.pop("env", {})}
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300, env=environment, **more)


def same_answers(setup, name):
    import lldb_clr
    core, expected = setup.cores[name]
    answers = json.loads(expected.read_text())
    found = same.runtime_differences(lldb_clr, lldb_clr.open_core(core), answers)
    assert not found, "\n    ".join(found)
    return f"{len(answers['clrip2md'])} addresses, {sum(len(t['frames']) for t in answers['clrbt --json all']['threads'])} frames"


def without_lldb(setup):
    """A Python that cannot import lldb has the same package, and is told what is missing when it asks for it."""
    core = setup.cores["gallery-x64"][0]
    script = f"""
import sys
sys.modules["lldb"] = None
sys.path.insert(0, {str(PYTHON)!r})
import lldb_clr
print(len(lldb_clr.open_core({str(core)!r}).threads))
try:
    lldb_clr.import_lldb()
except lldb_clr.LibraryError as error:
    print("PYTHONPATH" in str(error))
"""
    done = setup.run([sys.executable, "-c", script])
    assert done.stdout == "25\nTrue\n", done.stdout + done.stderr
    linked = setup.run(["readelf", "-d", str(setup.core_library)]).stdout
    assert "NEEDED" in linked and "lldb" not in linked.replace("lldb-clr", ""), "libclr.so is linked to LLDB"


def c_interface(setup):
    """The header is C, both libraries have all of it and nothing else, and wrong calls are answered."""
    import ctypes
    from lldb_clr._library import CORE_LIBRARY, CError, Library, find_library
    header = ROOT / "include" / "lldb_clr.h"
    compiled = setup.run(["cc", "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", "-x", "c", str(header)])
    assert compiled.returncode == 0, compiled.stderr
    declared = set(re.findall(r"^CLR_API [\w *]+[ *](clr_\w+)\(", header.read_text(), re.M))
    for library in (setup.core_library, setup.plugin):
        if library.exists():
            # Symbols of every kind: a weak one of a template, or one of another library, would be a part of the interface too.
            exported = set(re.findall(r" [^U] (\S+)$", setup.run(["nm", "-D", "--defined-only", str(library)]).stdout, re.M))
            entry = {"_ZN4lldb16PluginInitializeENS_10SBDebuggerE"} if library == setup.plugin else set()
            assert exported == declared | entry, exported ^ (declared | entry)
    Library(find_library(CORE_LIBRARY))   # knows every function that the package calls
    c = ctypes.CDLL(str(setup.core_library))
    for name in ("clr_open_core", "clr_query_info", "clr_query_frames", "clr_query_save_core", "clr_query_small_core", "clr_symbolize"):
        getattr(c, name).restype = ctypes.c_void_p
    error = CError()

    def refused(status, call, *arguments):
        assert not call(*arguments, ctypes.byref(error)) and error.status == status and error.text, f"{call.__name__}: {error.status} {error.text}"
        assert not call(*arguments, None)

    core = os.fsencode(setup.cores["gallery-x64"][0])
    refused(4, c.clr_open_core, None, None)
    refused(4, c.clr_open_core, core, b"{")
    refused(4, c.clr_open_core, core, b'{"sysroot": 3}')
    refused(4, c.clr_open_core, core, b'{"sysrot": "/"}')
    refused(5, c.clr_open_core, b"/does/not/exist", None)
    refused(3, c.clr_open_process, ctypes.c_uint64(1), 0, 1)
    refused(4, c.clr_query_info, None, 1)
    runtime = ctypes.c_void_p(c.clr_open_core(core, None, ctypes.byref(error)))
    assert runtime.value and error.status == 0 and error.text == b""
    refused(4, c.clr_query_save_core, runtime, None, 0)
    refused(4, c.clr_query_small_core, runtime, None, 0)
    refused(4, c.clr_query_small_core, runtime, b"/nowhere/at/all", 8)   # a flag of the future
    refused(3, c.clr_publish, runtime)   # there is no debugger
    refused(4, c.clr_symbolize, runtime, None, ctypes.c_size_t(1), 0)
    rows = ctypes.c_void_p(c.clr_query_frames(runtime, ctypes.c_uint64(1), ctypes.c_size_t(0), 0, ctypes.byref(error)))
    c.clr_close(runtime)   # the rows keep it
    text, size = ctypes.c_void_p(), ctypes.c_size_t()
    assert c.clr_rows_next(rows, ctypes.byref(text), ctypes.byref(size), ctypes.byref(error)) == -1 and b"no thread with id 1" in error.text
    assert c.clr_rows_next(rows, ctypes.byref(text), ctypes.byref(size), ctypes.byref(error)) == 0
    assert c.clr_rows_next(rows, None, None, ctypes.byref(error)) == -1 and error.status == 4
    c.clr_rows_close(rows)
    for close in (c.clr_close, c.clr_rows_close, c.clr_symbols_close):
        close(None)
    return f"{len(declared)} functions"


def version_numbers(setup):
    """One number for the interface, in the header, in the library's name, in what it says and in the package; one version of the product."""
    import lldb_clr._library as library
    number = header_number()
    product = re.search(r"^project\(lldb-clr VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
    dynamic = setup.run(["readelf", "-d", str(setup.core_library)]).stdout
    assert f"Library soname: [libclr.so.{number}]" in dynamic, dynamic
    development = setup.build / "libclr.so"
    assert development.resolve() == setup.core_library.resolve() and development.resolve().name == f"libclr.so.{number}.{product}", development.resolve()
    assert library.API_VERSION == number, f"the package needs {library.API_VERSION}, the header is {number}"
    assert library.find_library(library.CORE_LIBRARY) == setup.core_library
    loaded = library.Library(setup.core_library)   # refuses another number
    assert loaded.version == product, loaded.version
    return f"interface {number}, product {product}"


def values(setup):
    """Objects behave: truth, lengths, laziness, what they say of themselves, errors of their kinds."""
    import lldb_clr
    runtime = lldb_clr.open_core(setup.cores["gallery-x64"][0])
    thread = runtime.thread(runtime.threads[0].os_id)
    stack = thread.backtrace()
    frame = next(f for f in stack if f.kind == "managed")
    assert frame.method == runtime.method_at(frame.ip) or frame.method.full_name == runtime.method_at(frame.ip - 1).full_name
    assert frame.how == frame.found_by and frame.offset == frame.ip - frame.code.start and frame.il_offset is not None
    assert repr(frame.method).startswith("<Method situations.dll`Situations."), repr(frame.method)
    assert stack[0].index == 0 and len(stack) == stack[-1].index + 1 and stack.end == "bottom" and len(stack[1:3]) == 2
    short = thread.backtrace(limit=2)
    assert len(short) == 2 and short.end == "limit"
    registers = thread.backtrace(limit=1, registers=True)[0].registers
    assert registers and registers["rip"] == stack[0].ip
    miss = runtime.method_at(0x10)
    assert not miss and miss.reason == "outside" and "outside" in repr(miss)
    method = runtime.method_at(frame.ip)
    assert method and method.unwind_info.source == "unwind_info" and method.unwind_info.cfa
    assert method.gc_info.version == 4 and method.gc_info.code_length == method.code.size and method.gc_info.fault is None
    assert isinstance(method.code_versions, tuple) and all(v.node for v in method.code_versions)
    thrown = next(t.exception for t in runtime.threads if t.exception)
    details = thrown.details()
    assert details.type == thrown.type == "System.NullReferenceException" and details.trace[0].method.name.startswith("Situations.")
    for error, call in [(lldb_clr.UsageError, lambda: runtime.thread(1)), (lldb_clr.UsageError, lambda: runtime.method_at(-1)),
                        (lldb_clr.UsageError, lambda: runtime.method_at("x")), (lldb_clr.Fault, lambda: runtime.exception(0x10)),
                        (lldb_clr.Fault, lambda: runtime.code_versions(0x10)), (lldb_clr.UsageError, lambda: runtime.unwind_info(0x10)),
                        (lldb_clr.UsageError, lambda: runtime.gc_info(0x10)), (lldb_clr.UsageError, lambda: len(runtime.roots(0x7fffffff))),
                        (lldb_clr.FileError, lambda: lldb_clr.open_core("/does/not/exist")), (lldb_clr.Fault, lambda: lldb_clr.open_core(__file__)),
                        (lldb_clr.FileError, lambda: runtime.save_core("/does/not/exist")),
                        (lldb_clr.UsageError, lambda: lldb_clr.Runtime(3)),
                        (lldb_clr.FileError, lambda: lldb_clr.open_core(setup.cores["gallery-x64"][0], symbol_files=["/does/not/exist"]))]:
        try:
            result = call()
        except error:
            continue
        raise AssertionError(f"{result!r} instead of {error.__name__}")
    try:
        runtime.exception(0x10)
    except lldb_clr.Fault as fault:
        assert fault.reason == "memory_missing" and fault.at is not None, repr(fault)
    perf_map = setup.folder / "perf-2.map"
    perf_map.write_text("1000 20 void [app] Ns.Type::Run()[Tier0]\n")
    named = lldb_clr.open_core(setup.cores["gallery-x64"][0], symbol_files=[str(perf_map)]).method_at(0x1004)
    assert named and named.name == "Ns.Type.Run" and named.name_from == "symbols", repr(named)
    runtime.close()
    assert not runtime.is_current
    try:
        runtime.threads
    except lldb_clr.UsageError:
        return
    raise AssertionError("a closed Runtime answers")


def lists(setup):
    """Every method once, lazily; patterns; what a list leaves open is closed."""
    import lldb_clr
    runtime = lldb_clr.open_core(setup.cores["gallery-x64"][0])
    jitted = list(runtime.methods(r2r=False))
    assert len(jitted) == runtime.info.jitted_methods, f"{len(jitted)} for {runtime.info.jitted_methods}"
    assert len({m.code.start for m in jitted}) == len(jitted)
    # The core lacks pages of CoreLib's table of functions.
    placeless = [m for m in runtime.methods() if m.code.start is None]
    assert len(placeless) > 1000 and all(m.code.fault and not m.code.regions for m in placeless)
    try:
        raise AssertionError(f"{placeless[0].gc_info!r} of a body without a place")
    except lldb_clr.UsageError as error:
        assert placeless[0].code.fault in str(error)
    assert not any(m.code.start == 0 for m in runtime.methods())
    named = list(runtime.methods("*Situations.Calls.*"))
    assert named and all("Situations.Calls." in m.full_name for m in named)
    assert {m.full_name for m in named} == {m.full_name for m in jitted if "Situations.Calls." in m.full_name}
    for _ in range(50):
        half = runtime.methods(r2r=False)
        next(half)   # dropped in the middle
    assert len(list(lldb_clr.open_core(setup.cores["gallery-x64"][0]).methods(r2r=False))) == len(jitted)   # nobody else needs that Runtime
    closed_lists(lldb_clr, setup)
    saved = lldb_clr.open_core(setup.cores["gallery-x64"][0]).save_core(setup.folder / "saved.core")
    again = lldb_clr.open_core(saved.path)
    assert saved.size == os.path.getsize(saved.path) and len(again.threads) == 25
    with_values = again.save_core(setup.folder / "values.core", values=True)   # what is not there is said by the copy
    source = lldb_clr.open_core(with_values.path).info.memory.source
    assert with_values.left_out == () and re.fullmatch(rf"core {with_values.path}, made by clr savecore --values \(lldb-clr [\d.]+\) of core {saved.path} of process \d+", source), source
    for core in (saved, with_values):
        os.unlink(core.path)
    return f"{len(jitted)} jitted methods"


def lost_threads(setup):
    """A core that was cut in front of its notes, as gdb's are: the stacks begin at the runtime's own Frames, and nobody is called healthy."""
    import lldb_clr
    whole = lldb_clr.open_core(setup.cores["gallery-x64"][0])
    data = bytearray(pathlib.Path(setup.cores["gallery-x64"][0]).read_bytes())
    headers, count = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<H", data, 56)[0]
    for at in range(headers, headers + 56 * count, 56):
        if struct.unpack_from("<I", data, at)[0] == 4:   # PT_NOTE
            struct.pack_into("<Q", data, at + 8, len(data) + 4096)
    cut = setup.folder / "lost-threads.core"
    cut.write_bytes(data)
    runtime = lldb_clr.open_core(cut)
    assert {t.os_id for t in runtime.threads} == {t.os_id for t in whole.threads if t.is_managed}, runtime.threads
    compared = 0
    for thread in runtime.threads:
        found = [f.text for f in thread.backtrace() if f.kind == "managed"]
        known = [f.text for f in whole.thread(thread.os_id).backtrace() if f.kind == "managed"]
        assert found == known[len(known) - len(found):], (thread, found, known)
        compared += len(found)
    assert compared > 40, compared
    analysis = runtime.analyze()
    assert analysis.verdict != "healthy" and any("lost its threads" in text for text in analysis.missing), analysis
    return f"{compared} managed frames of {len(runtime.threads)} threads"


def raises_usage(lldb_clr, call):
    try:
        result = call()
    except lldb_clr.UsageError as error:
        return "closed" in str(error)
    raise AssertionError(f"{result!r} behind close()")


def closed_lists(lldb_clr, setup):
    """What is iterated further behind close() says so: the end of a list that was cut would be taken for the end of the whole."""
    def fresh():
        return lldb_clr.open_core(setup.cores["gallery-x64"][0])
    runtime = fresh()
    methods, again = runtime.methods(), runtime.methods(r2r=False)
    for _ in range(3000):
        next(methods)   # within a batch
    whole = list(again)
    addresses = [m.code.start for m in whole] * 2
    symbols, unbegun, endless = runtime.symbolize(addresses), runtime.symbolize(addresses), runtime.symbolize(iter(lambda: 0x10, None))
    thread = runtime.threads[0]
    stack = thread.backtrace()
    first, second = stack[0], stack[1]
    assert next(symbols).address == addresses[0] and next(endless).address == 0x10
    runtime.close()
    for call in (lambda: next(methods), lambda: list(methods), lambda: list(symbols), lambda: next(unbegun), lambda: next(endless),
                 lambda: list(stack), lambda: stack[2], lambda: thread.backtrace(), lambda: runtime.symbolize([1]), lambda: runtime.info, lambda: runtime.method_at(1),
                 lambda: runtime.methods()):
        assert raises_usage(lldb_clr, call)
    runtime.close()
    assert stack[0] is first and stack[1] is second   # what was taken stays
    with fresh() as runtime:
        methods = runtime.methods(r2r=False)
        first = next(methods)
        methods.close()
        assert raises_usage(lldb_clr, lambda: next(methods)) and runtime.is_current
        methods = runtime.methods(r2r=False)
        assert len(list(methods)) == len(whole)
        methods.close()
        assert list(methods) == []   # it was whole
    assert raises_usage(lldb_clr, lambda: first.code_versions)
    close_while_read(lldb_clr, fresh)


def close_while_read(lldb_clr, fresh):
    """One thread closes while another one iterates: that one ends with the error, at whatever moment."""
    for round in range(20):
        runtime, ended = fresh(), []

        def read(runtime=runtime, ended=ended, bulk=round % 2):
            try:
                deque(runtime.symbolize(iter(lambda: 0x10, None)) if bulk else runtime.methods(), 0)
                ended.append("whole")
            except lldb_clr.UsageError as error:
                ended.append(str(error))
        thread = threading.Thread(target=read)
        thread.start()
        time.sleep(0.003 * round)
        runtime.close()
        thread.join(60)
        assert ended in (["this Runtime is closed"], ["whole"]), ended


def bulk(setup):
    """symbolize says what method_at says, whatever the order, and how fast it is beside the C call alone."""
    import lldb_clr
    runtime = lldb_clr.open_core(setup.cores["gallery-x64"][0])
    frames = [f.ip for t in runtime.threads if t.index for f in t.backtrace() if f.ip]
    rows = list(runtime.symbolize([*frames, 0x10, 0], lines=True))
    assert [r.address for r in rows] == [*frames, 0x10, 0]
    for row in rows:
        try:
            single = runtime.method_at(row.address)
        except lldb_clr.Fault as fault:
            assert isinstance(row.owner, lldb_clr.Fault) and row.owner.text == fault.text
            continue
        if single:
            assert (row.owner.full_name, row.owner.regions, row.offset, row.source) == (single.full_name, single.regions, single.offset, single.source), row
            assert row.owner.code.offset is None and row.owner.address is None
        else:
            assert (row.owner.reason, row.owner.symbol, row.offset) == (single.reason, single.symbol, None), row
    assert list(runtime.symbolize([])) == []
    addresses = [m.code.start + n for m in runtime.methods(r2r=False) for n in range(0, m.code.size, 3)]
    addresses = (addresses * (1 + 100_000 // len(addresses)))[:100_000]
    assert len({r.name for r in runtime.symbolize(addresses)}) > 100
    best = min(seconds(lambda: deque(runtime.symbolize(addresses), 0)) for _ in range(3))
    return f"{len(addresses)} addresses in {best:.3f} s, {len(addresses) / best / 1000:.0f} thousand a second"


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def bulk_rate(setup):
    """No less than a third of the rate at which C++ resolves the same addresses one by one, in the same minute."""
    import lldb_clr
    tool = setup.build / "tests" / "bench_resolve"
    if not tool.exists():
        raise Unavailable("bench_resolve is not built (CLR_BENCH)")
    core = setup.cores["gallery-x64"][0]
    runtime = lldb_clr.open_core(core)
    starts = [m.code.start + n for m in runtime.methods(r2r=False) for n in range(0, m.code.size, 3)]
    addresses = (starts * (1 + 100_000 // len(starts)))[:100_000]
    file = setup.folder / "bulk.addresses"
    file.write_text("".join(f"{a:x}\n" for a in addresses))
    native, python = [], []
    for _ in range(3):
        native.append(float(setup.run([str(tool), str(core), str(file)]).stdout.split()[0]))
        python.append(len(addresses) / seconds(lambda: deque(runtime.symbolize(addresses), 0)))
    ratio = max(python) / max(native)
    assert ratio >= 1 / 3, f"{max(python):.0f} a second is {ratio:.2f} of the C++ rate, {max(native):.0f}"
    return f"{max(python) / 1000:.0f} thousand a second, {ratio:.2f} of the C++ rate"


def commands_schema(setup, lldb):
    """Every command's --json on the recorded core."""
    schema = Schema(PYTHON / "docs" / "schema.json")
    core = setup.cores["gallery-x64"][0]
    target = Target(core=core)
    import lldb_clr
    runtime = lldb_clr.open_core(core)
    managed = next(f for f in runtime.threads[0].backtrace() if f.kind == "managed")
    native = runtime.threads[0].backtrace()[0]
    thrown = next(t for t in runtime.threads if t.exception)
    perf_map, samples = setup.folder / "perf-1.map", setup.folder / "samples"
    perf_map.write_text("1000 20 void [app] Ns.Type::Run()[Tier0]\n")
    samples.write_text(f"1004 3\n{managed.ip:x} 2\n10\n{native.ip:x}\n")
    commands = [("clr info", "clr info --json"), ("clr threads", "clr threads --json"), ("clr bt", "clrbt --json all"), ("clr bt", "clrbt --json --registers -n 3"),
                ("clr bt --unique", "clrbt --json --unique all"), ("clr methods", "clr methods --json"), ("clr pe", "clr pe --json"),
                ("clr ip2md", f"clrip2md --json {managed.ip:#x} {native.ip:#x} 0x10 {managed.method.method_desc:#x}"), ("clr u", f"clr u --json {managed.ip:#x}"),
                ("clr unwind", f"clr unwind --json {managed.ip:#x}"), ("clr u", f"clr u --gc --json {managed.ip:#x}"),
                ("clr gcinfo", f"clr gcinfo --json {managed.ip:#x}"), ("clr roots", "clr roots stack --json"), ("clr unwind", f"clr unwind --json {native.ip:#x}"), (None, f'clr symbols add "{perf_map}"'),
                ("clr symbols list", "clr symbols list --json"), ("clr symbolize", f'clr symbolize --json "{samples}"'),
                ("clr symbolize --each", f'clr symbolize --json --each "{samples}"'), ("clr break", "clr break --json Situations.Gallery.Order"),
                ("clr break list", "clr break list --json"), ("clr publish", "clr publish --json"),
                ("clr version", "clr version --json"), ("clr locks", "clr locks --json"), ("clr deadlocks", "clr deadlocks --json"), ("clr analyze", "clr analyze --json"),
                ("clr object", f"clr object --json {thrown.exception.address:#x}"), ("clr static", "clr static --json System.String.Empty"), ("clr static", "clr static --json *Thread*")]
    texts = lldb.run(target, [command for _, command in commands])
    checked, found = set(), []
    for (name, command), text in zip(commands, texts):
        if name is not None:
            checked.add(name)
            answer = lldb.parse(command, text, target)
            found += [f"{command}: {p}" for p in schema.problems(name, answer)]
            if name == "clr analyze":
                same = runtime.analyze()
                assert (same.text, same.verdict, same.evidence, same.thread, same.why_thread) == (answer["sentence"], "crash", tuple(answer["evidence"]), answer["thread"]["os_id"], "it had the signal"), (same, answer)
                assert "System.NullReferenceException" in same.text and "Situations.Gallery.Order" in same.text, same.text
    assert not found, "\n    ".join(found)
    # The recorded core holds no heap: tests/live/check_heap.py and check_async.py try these.
    of_heap = {name for name in schema.commands() if name.split()[1] in ("alloc", "gcdump", "heap", "objects", "arrays", "handles", "finalizers", "refs", "retained", "root", "strings", "statics", "async", "pool", "timers")}
    assert checked == set(schema.commands()) - of_heap, f"not tried: {set(schema.commands()) - checked - of_heap}"
    return f"{len(checked)} commands"


def every_json_option(setup, lldb):
    """A command that has --json is in the schema."""
    schema = Schema(PYTHON / "docs" / "schema.json")
    (tree,) = lldb.run(Target(core=setup.cores["gallery-x64"][0]), ["help clr"])
    names = re.findall(r"^ +(\w+) +-- ", tree, re.M)
    assert len(names) > 10, tree
    helps = lldb.run(Target(core=setup.cores["gallery-x64"][0]), [f"help clr {name}" for name in names])
    missing = [name for name, text in zip(names, helps) if "--json" in text and not any(c.split()[1] == name for c in schema.commands())]
    assert not missing, f"not in the schema: {missing}"


def schema_can_fail(setup):
    schema = Schema(PYTHON / "docs" / "schema.json")
    good = {"address": "0x10", "result": "miss", "reason": "outside", "text": ""}
    assert schema.problems("clr ip2md", [good]) == []
    for bad in ({**good, "reason": "elsewhere"}, {**good, "address": "0x010"}, {**good, "address": 16}, {**good, "surprise": 1}, {k: v for k, v in good.items() if k != "text"}):
        assert schema.problems("clr ip2md", [bad]), bad


def no_text_is_parsed(setup):
    """The package runs one command, `plugin load`, and never looks at what one prints (an error's text is handed on)."""
    calls = []
    for path in sorted((PYTHON / "lldb_clr").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and node.attr in ("HandleCommand", "GetOutput", "GetError", "subprocess", "popen", "system"):
                calls.append(f"{path.name} {node.attr}")
    assert calls == ["_lldb.py HandleCommand", "_lldb.py GetError"], calls


def one_way(setup):
    """The package's imports go one way: no circle, and none is hidden in a function or below TYPE_CHECKING."""
    sources = {path.stem: path.read_text() for path in (PYTHON / "lldb_clr").glob("*.py")}
    found = imports.circle(sources, "lldb_clr")
    assert found is None, " imports ".join(reversed(found))
    arrows = imports.arrows(sources, "lldb_clr")
    assert "_values" in arrows["_runtime"] and arrows["_errors"] == {"_printable"} and arrows["_printable"] == set(), arrows
    hidden = ["from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ._runtime import Runtime\n", "def f():\n    from . import _runtime\n",
              "def f():\n    import lldb_clr._runtime\n", "from lldb_clr import Runtime\n"]
    for source in hidden:
        assert imports.circle({**sources, "_values": sources["_values"] + source}, "lldb_clr") is not None, source
    return f"{len(sources)} modules, {sum(map(len, arrows.values()))} imports"


def types(setup):
    program = shutil.which("mypy")
    if not program:
        raise Unavailable("mypy is not installed")
    done = setup.run([program, "--strict", "--python-version", "3.9", "--cache-dir", str(setup.folder / "mypy"), str(PYTHON / "lldb_clr"),
                      *map(str, sorted((PYTHON / "examples").glob("*.py")))], env={"MYPYPATH": str(PYTHON)}, cwd=setup.folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def example_stacks(setup):
    done = setup.run([sys.executable, str(PYTHON / "examples" / "unique_stacks.py"), str(setup.cores["gallery-x64"][0]), "--managed"])
    assert done.returncode == 0, done.stderr
    stacks = json.loads(done.stdout)["stacks"]
    threads = [t["os_id"] for s in stacks for t in s["threads"]]
    expected = json.loads(setup.cores["gallery-x64"][1].read_text())["clrbt --json all"]["threads"]
    assert sorted(threads) == sorted(t["os_id"] for t in expected)
    by_thread = {t["os_id"]: tuple(f["ip"] for f in t["frames"] if f["kind"] == "managed") for t in expected}
    assert len(stacks) == len(set(by_thread.values())), f"{len(stacks)} stacks for {len(set(by_thread.values()))}"
    main = next(s for s in stacks if s["threads"][0]["name"] == "main")
    assert [f["method"] for f in main["frames"]] == ["Situations.Gallery.Order(Situations.Gallery.Customer)",
                                                     main["frames"][1]["method"], "Situations.Program.Main(string[])"], main
    assert main["end"] == "bottom"
    assert "error: cannot open" in setup.run([sys.executable, str(PYTHON / "examples" / "unique_stacks.py"), "/does/not/exist"]).stderr
    return f"{len(stacks)} of {len(threads)}"


def example_hot(setup):
    expected = json.loads(setup.cores["gallery-x64"][1].read_text())["clrbt --json all"]["threads"]
    frames = [f for t in expected for f in t["frames"] if "ip" in f]
    deep = sum(f.get("method", {}).get("full_name") == "Situations.Calls.Deep(int)" for f in frames)
    lines = "".join(f"{int(f['ip'], 16):>20x} \n" for f in frames) + "no address\n\n"
    done = setup.run([sys.executable, str(PYTHON / "examples" / "hot_methods.py"), str(setup.cores["gallery-x64"][0]), "--top", "3"], input=lines)
    assert done.returncode == 0, done.stderr
    rows = done.stdout.splitlines()
    assert rows[0] == f"{deep:8} {100 * deep / len(frames):6.2f}%  {'minopts':<12} Situations.Calls.Deep(int)", rows
    assert len(rows) == 4 and re.fullmatch(rf"{len(frames)} samples, \d+ functions, 1 lines left out", rows[3]), rows
    return rows[0].strip()


def example_watch(setup, lldb_python):
    command = dotnet_process.compiler_server()
    if not command:
        raise Unavailable("there is no .NET SDK")
    with dotnet_process.running(command) as process:
        done = setup.run([sys.executable, str(PYTHON / "examples" / "watch_waits.py"), str(process.pid), "--seconds", "2", "--reports", "1"],
                         env={"PYTHONPATH": lldb_python})
        assert process.poll() is None, "the process did not survive"
    assert done.returncode == 0, done.stderr
    assert re.search(r"^thread \d+.* has waited for \d+ s$", done.stdout, re.M), done.stdout + done.stderr
    assert re.search(r"^    System\.Private\.CoreLib\.dll`System\.Threading\.", done.stdout, re.M), done.stdout
    return done.stdout.splitlines()[0]


LIVE = """
import json, sys
sys.path[:0] = [{package!r}, {here!r}]
import lldb_clr
lldb = lldb_clr.import_lldb()
debugger = lldb.SBDebugger.Create()
debugger.SetAsync(False)
process = debugger.CreateTarget("").AttachToProcessWithID(debugger.GetListener(), {pid}, lldb.SBError())
runtime = lldb_clr.Runtime(process)
threads = [t for t in runtime.threads if t.is_managed and t.index]
frames = [f for t in threads for f in t.backtrace() if f.method]
names = [f.method.full_name for f in frames if f.kind == "managed"]
same = all(runtime.method_at(f.ip - 1).full_name == f.method.full_name for f in frames if f.kind == "managed" and f.index)
bulk = {{s.name for s in runtime.symbolize(f.ip - 1 for f in frames if f.kind == "managed" and f.index)}}
(empty,) = runtime.statics("System.String.Empty")
object_of_empty = runtime.object(empty.value.object)
objects = empty.value.value == object_of_empty.text == '""' and (object_of_empty.type, object_of_empty.size, object_of_empty.item_count) == ("string", 24, None)
core = runtime.save_core({core!r})
fresh = runtime.info.runtime.version
process.Detach()
try:
    runtime.threads
    stale = False
except lldb_clr.StaleError:
    stale = True
saved = [t for t in lldb_clr.open_core(core.path).threads if t.is_managed and t.index]
of_core = [f.method.full_name for t in saved for f in t.backtrace() if f.kind == "managed"]
print(json.dumps([len(threads), len(names), same, sorted(bulk) == sorted(set(n for n, f in zip(names, (f for f in frames if f.kind == "managed")) if f.index)), stale, fresh, of_core == names, objects]))
"""


def live(setup, lldb_python):
    command = dotnet_process.compiler_server()
    if not command:
        raise Unavailable("there is no .NET SDK")
    with dotnet_process.running(command) as process:
        script = LIVE.format(package=str(PYTHON), here=str(HERE), pid=process.pid, core=str(setup.folder / "live.core"))
        done = setup.run([sys.executable, "-c", script], env={"PYTHONPATH": lldb_python})
        assert process.poll() is None, "the process did not survive"
    assert done.returncode == 0, done.stderr
    threads, frames, equal, bulk_equal, stale, version, same_core, objects = json.loads(done.stdout.splitlines()[-1])
    assert threads >= 2 and frames >= 5 and equal and bulk_equal and stale and version and same_core and objects, done.stdout
    return f"{threads} threads, {frames} managed frames, .NET {version}"


def in_lldb(setup, version, driver, results):
    """The package within one LLDB: a list of checks that the script prints."""
    core, expected = setup.cores["gallery-x64"]
    commands = [f'command script import "{PYTHON / "lldb_clr"}"', "script print(lldb_clr.Runtime)", f'command script import "{HERE / "in_lldb.py"}"']
    script = setup.folder / f"in-lldb-{version}"
    script.write_text("\n".join(commands) + "\n")
    # An embedded Python takes its library from the first python3 on PATH, which may be another than the system's.
    path = os.pathsep.join(p for p in os.environ["PATH"].split(os.pathsep) if p != os.path.dirname(sys.executable) or p.startswith("/usr/"))
    done = setup.run([driver, "--no-lldbinit", "--batch", "--no-use-colors", "--source", str(script)],
                     env={"CLR_TEST_CORE": str(core), "CLR_TEST_EXPECTED": str(expected), "CLR_TEST_NATIVE": "1", "TERM": "dumb", "PATH": path}, stdin=subprocess.DEVNULL)
    rows = [json.loads(line[len("CHECK "):]) for line in done.stdout.splitlines() if line.startswith("CHECK ")]

    def one(problem):
        assert problem is None, problem

    for name, problem in rows:
        if name != "end":
            results.check(f"python/lldb-{version}: {name}", one, problem)
    results.check(f"python/lldb-{version}: the script came to its end", one,
                  None if rows and rows[-1][0] == "end" else f"exit code {done.returncode}: {(done.stdout + done.stderr)[-1500:]}")


def python_of(setup, driver):
    """LLDB's Python module for a Python of its own; None when this LLDB's cannot be imported."""
    paths = [p for p in setup.run([driver, "-P"]).stdout.splitlines() if p.startswith("/")] + ["/usr/lib/python3/dist-packages"]
    for path in paths:
        if setup.run([sys.executable, "-c", "import lldb; lldb.SBDebugger"], env={"PYTHONPATH": path}).returncode == 0:
            return path
    return None


def broken_python(setup):
    """What is said where LLDB's module cannot be imported, as of Debian's LLDB 14 and 15 without the links."""
    environment = {"PYTHONPATH": ""}
    done = setup.run([sys.executable, "-c", f"import sys; sys.path.insert(0, {str(PYTHON)!r})\nimport lldb_clr\nclass T:\n  def GetSelectedTarget(self): return self\n"
                      "  def IsValid(self): return True\n  def GetProcess(self): return self\n  def GetDebugger(self): return self\nlldb_clr.Runtime(T())"], env=environment)
    if done.returncode == 0:
        raise Unavailable("every Python here can import lldb")
    assert "lldb_clr._errors.LibraryError" in done.stderr and "-P" in done.stderr and "scripts/get-lldbs" in done.stderr, done.stderr
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("versions", nargs="*")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--lldbs", type=pathlib.Path)
    options = parser.parse_args()
    build = options.build.resolve()
    versions = options.versions or ["14", "15", "16", "19"]
    results = Results()
    sys.dont_write_bytecode = True
    with tempfile.TemporaryDirectory() as folder:
        setup = Setup(build, pathlib.Path(folder))
        for name in setup.cores:
            results.check(f"python/{name}: answers are those of the commands", same_answers, setup, name)
        results.check("python/trees of exceptions", exception_tree.check)
        for check in (without_lldb, c_interface, version_numbers, values, lost_threads, lists, bulk, bulk_rate, schema_can_fail, no_text_is_parsed, one_way, types, example_stacks, example_hot):
            results.check(f"python/{check.__name__}", check, setup)
        if not setup.plugin.exists():
            results.skip("python in LLDB", "the plugin is not built")
            return results.summary()
        done = subprocess.run([str(ROOT / "scripts" / "get-lldbs"), str(options.lldbs or build / "lldbs"), *versions], stdout=subprocess.PIPE, text=True)
        drivers = dict(line.split(" ", 1) for line in done.stdout.splitlines())
        try:
            newest = Lldb(setup.plugin, drivers.get("19"))
            for check in (commands_schema, every_json_option):
                results.check(f"python/{check.__name__}", check, setup, newest)
        except Unavailable as e:
            results.skip("python/commands_schema", str(e))
        for version in versions:
            if version in drivers:
                in_lldb(setup, version, drivers[version], results)
            else:
                results.skip(f"python/lldb-{version}", "this LLDB cannot be had here")
        lldb_python = python_of(setup, drivers["19"]) if "19" in drivers else None
        results.check("python/broken_python", broken_python, setup)
        for check in (live, example_watch):
            if lldb_python:
                results.check(f"python/{check.__name__}", check, setup, lldb_python)
            else:
                results.skip(f"python/{check.__name__}", "LLDB's Python module cannot be imported here")
    return results.summary()


if __name__ == "__main__":
    sys.exit(main())
