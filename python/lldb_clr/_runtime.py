"""The runtime of a process or core at one stop. Runtime reads; what it answers with are values of the other modules."""
from __future__ import annotations

import array
import functools
import itertools
import json
import os
import sys
import weakref
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union, cast, overload

from . import _lldb
from ._errors import UsageError
from ._frames import ManagedException
from ._gc import GcInfo
from ._objects import Object, Static, Value
from ._heap import Heap, count_of
from ._holders import HeapRoot
from ._analysis import Analysis
from ._async import Task
from ._locks import Deadlock, Lock, WaitingFor
from ._printable import shown
from ._roots import Roots
from ._info import Info, Module, SavedCore
from ._json import Json, number
from ._library import CORE_LIBRARY, NO_NUMBER, NO_OFFSET, Library, Openness, Rows, find_library, load_once
from ._table import HeapTable
from ._threads import Backtrace, Thread
from ._values import CodeReader, CodeVersion, Method, Miss, Owner, Source, Symbol, UnwindInfo, owner_of

_JITTED, _R2R = 1, 2
_RUNTIME_FRAMES, _REGISTERS, _LINES = 1, 2, 4
_SYMBOL_LINES = 1
_SAVE_ALL_METHODS, _SAVE_HEAP, _SAVE_VALUES = 1, 2, 4
_BULK = 1 << 17
_make_symbol = cast(Callable[[Tuple[int, Owner, Optional[int], Optional[Source]]], Symbol], functools.partial(tuple.__new__, Symbol))


class Methods(Iterator[Method]):
    """Methods as they are found. ``problems`` names what could not be read, once all were taken."""

    def __init__(self, rows: Rows, reader: CodeReader) -> None:
        self._rows = rows
        self._source = iter(rows)
        self._reader = reader

    def __next__(self) -> Method:
        row = next(self._source)
        return Method.of(row["method"], self._reader, row["code"])

    @property
    def problems(self) -> Tuple[str, ...]:
        return tuple(self._rows.end.get("problems", ()))

    def close(self) -> None:
        """Ends the search. Asking for more raises UsageError. Leaving the rest to the garbage collector ends it, too."""
        self._rows.close()


class Runtime:
    """The runtime of a process at its present stop: of an SBTarget, SBProcess or SBDebugger (its selected target). See open_core for core files.

    Reads on first use and keeps what it read. Once the process has run every call raises StaleError. Raises UsageError when there is no stopped process,
    LibraryError when the plugin cannot be loaded. A process without .NET gives a Runtime, too: ``info.absent`` says why.
    """

    def __init__(self, target_or_process: Any) -> None:
        library, handle, what, target = _lldb.open_process(target_or_process)
        self._adopt(library, handle, what, target)

    def _adopt(self, library: Library, handle: int, what: str, target: Any) -> None:
        self._library = library
        self._handle = handle
        self._what = what
        self._target = target   # SBTarget; None for a core that LLDB has nothing to do with
        self._info: Optional[Info] = None
        self._openness = Openness()
        self._waits: Optional[Dict[int, Any]] = None            # by kernel id
        self._bulks: List[weakref.ref[array.array[int]]] = []   # addresses that are being symbolized
        self._close = weakref.finalize(self, library.close, "clr_close", handle)

    @classmethod
    def _of_core(cls, library: Library, handle: int, path: str) -> Runtime:
        runtime = cls.__new__(cls)
        runtime._adopt(library, handle, f"core {path}", None)
        return runtime

    @shown
    def __repr__(self) -> str:
        return f"<Runtime of {self._what}{'' if self.is_current else ' (stale)'}>"

    def __enter__(self) -> Runtime:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of what was read. Later calls raise UsageError, and so do lists that are iterated further. The garbage collector does the same."""
        self._openness.closed = True
        with self._library.lock:   # no call reads the addresses now
            for bulk in self._bulks:
                if (column := bulk()) is not None:
                    del column[:]   # ends the answers that are made of it
        self._close()

    def _live(self) -> int:
        if not self._close.alive:
            raise UsageError("this Runtime is closed")
        return self._handle

    @property
    def is_current(self) -> bool:
        """False once the process has run, or when this is closed."""
        with self._library.lock:
            return self._close.alive and self._library.is_current(self._handle)

    def publish(self) -> None:
        """Gives LLDB's own commands and API all managed code of the process, and returns when they have it, as ``clr publish --wait`` does. Raises
        Fault (unsupported_contract) for a core that was opened without LLDB, UsageError when publishing is off, Interrupted when the user interrupted it."""
        with self._library.lock:
            self._library.publish(self._live())

    def _query(self, function: str, *arguments: Any) -> Rows:
        with self._library.lock:   # who closes on another thread waits
            return Rows(self._library, self._library.open(function, self._live(), *arguments), self._openness)

    def _one(self, function: str, *arguments: Any) -> Json:
        return next(iter(self._query(function, *arguments)))

    def _number(self, address: Any) -> int:
        return _lldb.number_of_address(address, self._target)

    @property
    def info(self) -> Info:
        """Version, contracts, counts, modules, where memory came from. The first time reads every nibble map: a second on a large process."""
        if self._info is None or not self.is_current:
            self._info = Info.of(self._one("clr_query_info", 1))
        return self._info

    def method_at(self, address: Any) -> Union[Method, Miss]:
        """Which method owns an address, or why none does. Takes a number, an SBFrame (its pc; of a calling frame the call before it), an SBAddress.
        Raises Fault when memory that the answer needs is missing or corrupt."""
        at = self._number(address)
        owner = owner_of(self._one("clr_query_address", at), self, at)
        if isinstance(owner, Exception):
            raise owner
        return owner

    def methods(self, pattern: Optional[str] = None, jitted: bool = True, r2r: bool = True) -> Methods:
        """Methods that the runtime has code for, body by body, found while they are iterated. ``pattern`` (* and ?) must match the whole full name, or the
        whole name. ``r2r``: also those of ReadyToRun images that never ran. Raises UsageError without a runtime."""
        kinds = (_JITTED if jitted else 0) | (_R2R if r2r else 0)
        return Methods(self._query("clr_query_methods", pattern.encode() if pattern is not None else None, kinds), self)

    @property
    def modules(self) -> List[Module]:
        """The modules of the runtime. Raises UsageError without a runtime."""
        return [Module.of(row) for row in self._query("clr_query_modules")]

    @property
    def threads(self) -> List[Thread]:
        """Every thread of the process, managed or not, then those that only the runtime knows (ended, never started)."""
        return [Thread.of(row, self) for row in self._query("clr_query_threads")]

    def thread(self, which: Any) -> Thread:
        """The thread with this kernel id, or of this SBThread. Raises UsageError when there is none."""
        os_id = _lldb.number_of_thread(which)
        for thread in self.threads:
            if thread.os_id == os_id and thread.index is not None:
                return thread
        raise UsageError(f"there is no thread with id {os_id}")

    def backtrace(self, os_id: int, limit: int = 0, runtime_frames: bool = True, lines: bool = True, registers: bool = False) -> Backtrace:
        """The stack of the thread with this kernel id: Thread.backtrace."""
        flags = (_RUNTIME_FRAMES if runtime_frames else 0) | (_LINES if lines else 0) | (_REGISTERS if registers else 0)
        return Backtrace(self._query("clr_query_frames", os_id, count_of(limit), flags), self)

    def exception(self, address: int) -> ManagedException:
        """The exception object at an address, with its inner ones. Raises Fault when it cannot be read or is no exception."""
        rows = {int(row["address"], 16): row for row in self._query("clr_query_exception", self._number(address))}
        if not rows:
            raise UsageError(f"there is no exception at {address:#x}")
        # Those within an exception are made before it; one may stand in several, and in damaged memory within itself.
        made: Dict[int, ManagedException] = {}
        outermost, begun = next(iter(rows)), set()
        waiting = [outermost]
        while waiting:
            one = waiting[-1]
            row = rows[one]
            within = [int(inner, 16) for inner in [*row.get("inner_exceptions", ()), *([row["inner"]] if "inner" in row else ())]]
            missing = [inner for inner in within if inner in rows and inner not in made and inner not in begun]
            begun.add(one)
            if missing:
                waiting += missing
                continue
            waiting.pop()
            if one not in made:
                made[one] = ManagedException.of(row, made, self)
        return made[outermost]

    def object(self, address: int, path: str = "", items: int = 100) -> Union[Object, Value]:
        """The object at an address with its fields and at most ``items`` elements, never more than 1,000,000; with a path (".Items[3].Name") what it leads to.
        Raises Fault when no object is there, UsageError when the path leads nowhere."""
        row = self._one("clr_query_object", self._number(address), path.encode(), count_of(items))
        return Object.of(row, self) if "address" in row else Value.of(row)

    def statics(self, pattern: str, thread: int = 0) -> List[Static]:
        """The static fields whose names, or those of whose types, match the pattern (* and ?). Those of a thread's own by the thread with this kernel id; 0: of
        all threads."""
        return [Static.of(row) for row in self._query("clr_query_statics", pattern.encode(), thread)]

    def unwind_info(self, address: int) -> UnwindInfo:
        """Unwind data of managed or native code at an address. Raises UsageError when there is none, Fault."""
        return UnwindInfo.of(self._one("clr_query_unwind", self._number(address)))

    def gc_info(self, address: int) -> GcInfo:
        """What the garbage collector knows of the body of managed code at an address. Raises UsageError when it is no managed code, Fault."""
        return GcInfo.of(self._one("clr_query_gc_info", self._number(address)))

    @overload
    def roots(self) -> List[HeapRoot]: ...
    @overload
    def roots(self, os_id: int) -> Roots: ...

    def roots(self, os_id: Optional[int] = None) -> Union[Roots, List[HeapRoot]]:
        """All places outside of the heap that keep objects alive. With a kernel id the references that the stack of this thread holds: Thread.roots."""
        if os_id is None:
            return list(map(HeapRoot.of, self._query("clr_query_heap_roots")))
        return Roots(self._query("clr_query_roots", os_id), self)

    def _table(self) -> HeapTable:
        with self._library.lock:
            return HeapTable(self._library, self._library.open("clr_heap_table", self._live()))

    @property
    def heap(self) -> Heap:
        """The managed heap: what fills it, by type, and its objects."""
        return Heap(self)

    @property
    def tasks(self) -> List[Task]:
        """Async methods that wait, with those that wait for them. The heap is walked once for each call."""
        return [Task.of(row) for row in self._query("clr_query_async")]

    @property
    def locks(self) -> List[Lock]:
        """Locks that threads hold or wait for, those with most waiters first. The heap is walked once for each call."""
        return [Lock.of(row) for row in self._query("clr_query_locks")]

    @property
    def deadlocks(self) -> List[Deadlock]:
        """Threads and tasks that wait for each other. Costs as much as locks."""
        return [Deadlock.of(row) for row in self._query("clr_query_deadlocks")]

    def analyze(self) -> Analysis:
        """What is the matter with the process: `clr analyze`. All stacks are walked, and the heap, unless a thread failed."""
        return Analysis.of(self._one("clr_query_analysis"))

    def waiting_for(self, os_id: int) -> Optional[WaitingFor]:
        """What the thread with this kernel id waits for: Thread.waiting_for."""
        if self._waits is None:
            self._waits = {row["os_id"]: row["waits_for"] for row in self._query("clr_query_waits")}
        self._live()
        found = self._waits.get(os_id)
        return WaitingFor.of(found) if found else None

    def code_versions(self, method_desc: int) -> Tuple[CodeVersion, ...]:
        """Versions of the method of a MethodDesc beside its default one, newest first. Raises Fault when it is no MethodDesc."""
        return tuple(CodeVersion(int(row["node"], 16), number(row["start"]), row["tier"], row["active"], row["il_version"])
                     for row in self._query("clr_query_versions", self._number(method_desc)))

    def symbolize(self, addresses: Iterable[int], lines: bool = False) -> Iterator[Symbol]:
        """A Symbol for each address, in order, taken 131,072 at a time; ``lines`` adds source lines. Misses and faults are values here. Much faster than
        method_at for many addresses: owners are made once."""
        self._live()
        return itertools.chain.from_iterable(self._all_bulks(iter(addresses), lines))

    def _all_bulks(self, addresses: Iterator[int], lines: bool) -> Iterator[Iterator[Symbol]]:
        while True:
            self._live()
            column = array.array("Q", itertools.islice(addresses, _BULK))
            if not column:
                return
            self._bulks = [bulk for bulk in self._bulks if bulk() is not None] + [weakref.ref(column)]
            yield self._bulk(column, lines)

    def _bulk(self, column: array.array[int], lines: bool) -> Iterator[Symbol]:
        library = self._library
        with library.lock:
            at, count = column.buffer_info()
            handle = library.open("clr_symbolize", self._live(), at, count, _SYMBOL_LINES if lines else 0)
            try:
                owners: List[Owner] = [owner_of(row, self) for row in json.loads(library.text_of("clr_symbols_json", handle))]
                owner = memoryview(library.column("clr_symbols_owners", handle, 4 * count)).cast("I")
                offset = memoryview(library.column("clr_symbols_offsets", handle, 8 * count)).cast("Q")
                places = library.column("clr_symbols_places", handle, 16 * count) if lines else b""
                files: List[str] = json.loads(library.text_of("clr_symbols_files", handle)) if lines else []
            finally:
                library.close("clr_symbols_close", handle)
        offsets: Iterable[Optional[int]] = offset.tolist()
        if NO_OFFSET in offset:
            offsets = (None if o == NO_OFFSET else o for o in offset)
        sources = _sources(places, files) if lines else itertools.repeat(None)
        # Symbol(...) is a function of Python, which would take most of the time.
        return map(_make_symbol, zip(column, map(owners.__getitem__, owner), offsets, sources))

    def save_core(self, path: Union[str, os.PathLike[str]], all_methods: bool = False, *, heap: bool = False, values: bool = False) -> SavedCore:
        """Writes a minimal core: what stacks, threads, exceptions and their methods need, lines too. ``all_methods`` adds what ``methods`` needs, ``heap`` the
        managed heap, ``values`` the values of arguments and locals. Raises FileError."""
        flags = (_SAVE_ALL_METHODS if all_methods else 0) | (_SAVE_HEAP if heap else 0) | (_SAVE_VALUES if values else 0)
        row = self._one("clr_query_small_core", os.fsencode(path), flags)
        return SavedCore(row["path"], row["size"], row["memory"], row["segments"], row["missing"], tuple(row["left_out"]))


def _sources(places: bytes, files: List[str]) -> Iterator[Optional[Source]]:
    known: Dict[Tuple[int, int, int, int], Optional[Source]] = {}
    flat = memoryview(places).cast("I")
    for key in zip(flat[0::4], flat[1::4], flat[2::4], flat[3::4]):
        if key not in known:
            file, line, column, il_offset = key
            if file != NO_NUMBER:
                known[key] = Source(il_offset, files[file], line, column)
            else:
                known[key] = None if il_offset == NO_NUMBER else Source(il_offset)
        yield known[key]


def _paths(given: Union[str, "os.PathLike[str]", Sequence[str]]) -> List[str]:
    """One path alone is a list of it, not of its letters."""
    return [os.fspath(given)] if isinstance(given, (str, os.PathLike)) else [os.fspath(path) for path in given]


def open_core(path: Union[str, os.PathLike[str]], *, sysroot: Optional[str] = None, path_map: Optional[Mapping[str, str]] = None,
              directories: Sequence[str] = (), symbols: Sequence[str] = (), symbol_files: Sequence[str] = ()) -> Runtime:
    """The runtime of an ELF core file, without LLDB. ``sysroot``, ``path_map`` (target's folder -> this host's) and ``directories`` say where the target's files
    are here, ``symbols`` are folders of PDBs, ``symbol_files`` perf maps, jitdumps, .nettrace and ELF files that name what memory does not.
    Raises FileError when the file cannot be read, Fault when it is no core."""
    if sys.version_info < (3, 9):
        raise UsageError("Python 3.9 or newer is needed")
    options: Json = {"directories": _paths(directories), "symbols": _paths(symbols), "symbol_files": _paths(symbol_files), "path_map": list((path_map or {}).items())}
    if sysroot is not None:
        options["sysroot"] = sysroot
    library = load_once(find_library(CORE_LIBRARY))
    handle = library.open("clr_open_core", os.fsencode(path), json.dumps(options).encode())
    return Runtime._of_core(library, handle, os.fspath(path))
