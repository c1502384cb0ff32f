"""The C interface (include/lldb_clr.h) by ctypes: finding the libraries, calls, rows."""
from __future__ import annotations

import ctypes
import json
import os
import pathlib
import threading
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from ._errors import BusyError, Error, Fault, FileError, Interrupted, LibraryError, StaleError, UsageError
from ._json import Json

API_VERSION = 1
# The name with the number: the one without it is for compilers, and not everyone installs it.
CORE_LIBRARY = f"libclr.so.{API_VERSION}"
PLUGIN = "liblldb-clr.so"
FOLDER_VARIABLE = "LLDB_CLR_LIBRARY_DIR"


class CError(ctypes.Structure):
    """clr_error"""
    _fields_ = [("status", ctypes.c_int32), ("has_address", ctypes.c_int32), ("address", ctypes.c_uint64), ("text", ctypes.c_char * 1024)]


NO_NUMBER = 0xFFFF_FFFF
NO_OFFSET = 0xFFFF_FFFF_FFFF_FFFF

_FAULTS = {1: "memory_missing", 2: "corrupt", 3: "unsupported_contract", 9: "register_unknown"}
_OTHERS = {4: UsageError, 5: FileError, 6: StaleError, 10: UsageError, 11: UsageError, 12: BusyError, 13: Interrupted}


def _exception(error: CError) -> Exception:
    text = error.text.decode("utf-8", "replace")
    if error.status in _FAULTS:
        return Fault(text, _FAULTS[error.status], error.address if error.has_address else None)
    if error.status == 7:
        return MemoryError(text)
    return _OTHERS.get(error.status, Error)(text)


def library_folders() -> List[pathlib.Path]:
    """Where the libraries are looked for, best first: the environment's folder, the package itself, the build beside this source tree, the
    installed one."""
    package = pathlib.Path(__file__).resolve().parent
    named = os.environ.get(FOLDER_VARIABLE)
    folders = [pathlib.Path(named)] if named else []
    # SOURCE/python/lldb_clr -> SOURCE/build; LIBDIR/lldb-clr/python/lldb_clr -> LIBDIR
    return [*folders, package, package.parent.parent / "build", package.parent.parent.parent]


def find_library(name: str) -> pathlib.Path:
    """The library of this name; raises LibraryError with all places that were tried."""
    tried = [folder / name for folder in library_folders()]
    for path in tried:
        if path.is_file():
            return path
    raise LibraryError(f"{name} is in none of {', '.join(str(p.parent) for p in tried)}; build it, or name its folder in {FOLDER_VARIABLE}")


def mapped_library(name: str) -> Optional[pathlib.Path]:
    """The file of this name that this process has loaded already."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            for line in maps:
                path = line.rstrip("\n").partition("/")
                if path[1] and ("/" + path[2]).rsplit("/", 1)[1] == name:
                    return pathlib.Path("/" + path[2])
    except OSError:
        pass
    return None


_HANDLE = ctypes.c_void_p
_ERROR = ctypes.POINTER(CError)
_SIZE = ctypes.POINTER(ctypes.c_size_t)
_FUNCTIONS: Dict[str, Tuple[Any, List[Any]]] = {
    "clr_api_version": (ctypes.c_uint32, []),
    "clr_version": (ctypes.c_char_p, []),
    "clr_open_core": (_HANDLE, [ctypes.c_char_p, ctypes.c_char_p, _ERROR]),
    "clr_open_process": (_HANDLE, [ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint32, _ERROR]),
    "clr_debugger_known": (ctypes.c_int, [ctypes.c_uint64]),
    "clr_close": (None, [_HANDLE]),
    "clr_is_current": (ctypes.c_int, [_HANDLE]),
    "clr_publish": (ctypes.c_int, [_HANDLE, _ERROR]),
    "clr_query_info": (_HANDLE, [_HANDLE, ctypes.c_int, _ERROR]),
    "clr_query_address": (_HANDLE, [_HANDLE, ctypes.c_uint64, _ERROR]),
    "clr_query_methods": (_HANDLE, [_HANDLE, ctypes.c_char_p, ctypes.c_uint32, _ERROR]),
    "clr_query_modules": (_HANDLE, [_HANDLE, _ERROR]),
    "clr_query_threads": (_HANDLE, [_HANDLE, _ERROR]),
    "clr_query_frames": (_HANDLE, [_HANDLE, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_uint32, _ERROR]),
    "clr_query_exception": (_HANDLE, [_HANDLE, ctypes.c_uint64, _ERROR]),
    "clr_query_object": (_HANDLE, [_HANDLE, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_size_t, _ERROR]),
    "clr_query_statics": (_HANDLE, [_HANDLE, ctypes.c_char_p, ctypes.c_uint64, _ERROR]),
    "clr_query_unwind": (_HANDLE, [_HANDLE, ctypes.c_uint64, _ERROR]),
    "clr_query_gc_info": (_HANDLE, [_HANDLE, ctypes.c_uint64, _ERROR]),
    "clr_query_roots": (_HANDLE, [_HANDLE, ctypes.c_uint64, _ERROR]),
    "clr_query_heap": (_HANDLE, [_HANDLE, _ERROR]),
    "clr_query_references": (_HANDLE, [_HANDLE, ctypes.c_uint64, _ERROR]),
    "clr_query_referrers": (_HANDLE, [_HANDLE, ctypes.c_uint64, _ERROR]),
    "clr_query_heap_roots": (_HANDLE, [_HANDLE, _ERROR]),
    "clr_query_paths": (_HANDLE, [_HANDLE, ctypes.c_uint64, ctypes.c_size_t, _ERROR]),
    "clr_query_retained": (_HANDLE, [_HANDLE, ctypes.c_uint64, _ERROR]),
    "clr_query_retainers": (_HANDLE, [_HANDLE, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, _ERROR]),
    "clr_query_gcdump": (_HANDLE, [_HANDLE, ctypes.c_char_p, ctypes.c_int, _ERROR]),
    "clr_query_heap_save": (_HANDLE, [_HANDLE, ctypes.c_char_p, _ERROR]),
    "clr_query_heap_difference": (_HANDLE, [_HANDLE, ctypes.c_char_p, _ERROR]),
    "clr_heap_table": (_HANDLE, [_HANDLE, _ERROR]),
    "clr_table_count": (ctypes.c_size_t, [_HANDLE]),
    "clr_table_addresses": (ctypes.c_void_p, [_HANDLE]),
    "clr_table_sizes": (ctypes.c_void_p, [_HANDLE]),
    "clr_table_types": (ctypes.c_void_p, [_HANDLE]),
    "clr_table_generations": (ctypes.c_void_p, [_HANDLE]),
    "clr_table_free": (ctypes.c_void_p, [_HANDLE]),
    "clr_table_json": (ctypes.c_void_p, [_HANDLE, _SIZE]),
    "clr_table_close": (None, [_HANDLE]),
    "clr_query_async": (_HANDLE, [_HANDLE, _ERROR]),
    "clr_query_locks": (_HANDLE, [_HANDLE, _ERROR]),
    "clr_query_deadlocks": (_HANDLE, [_HANDLE, _ERROR]),
    "clr_query_analysis": (_HANDLE, [_HANDLE, _ERROR]),
    "clr_query_waits": (_HANDLE, [_HANDLE, _ERROR]),
    "clr_query_heap_types": (_HANDLE, [_HANDLE, ctypes.c_char_p, ctypes.c_int, _ERROR]),
    "clr_query_objects": (_HANDLE, [_HANDLE, ctypes.c_char_p, ctypes.c_int, _ERROR]),
    "clr_query_objects_where": (_HANDLE, [_HANDLE, ctypes.c_char_p, ctypes.c_int, ctypes.POINTER(ctypes.c_char_p), ctypes.c_size_t, _ERROR]),
    "clr_query_reached_types": (_HANDLE, [_HANDLE, ctypes.c_char_p, ctypes.c_int, ctypes.c_int, _ERROR]),
    "clr_query_strings": (_HANDLE, [_HANDLE, ctypes.c_char_p, ctypes.c_uint64, _ERROR]),
    "clr_query_duplicate_strings": (_HANDLE, [_HANDLE, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_size_t, _ERROR]),
    "clr_query_arrays": (_HANDLE, [_HANDLE, ctypes.c_char_p, ctypes.c_int, ctypes.c_int, ctypes.c_uint64, ctypes.c_size_t, _ERROR]),
    "clr_query_free_space": (_HANDLE, [_HANDLE, _ERROR]),
    "clr_query_allocations": (_HANDLE, [_HANDLE, _ERROR]),
    "clr_query_handles": (_HANDLE, [_HANDLE, _ERROR]),
    "clr_query_finalizers": (_HANDLE, [_HANDLE, _ERROR]),
    "clr_query_verification": (_HANDLE, [_HANDLE, _ERROR]),
    "clr_query_versions": (_HANDLE, [_HANDLE, ctypes.c_uint64, _ERROR]),
    "clr_query_small_core": (_HANDLE, [_HANDLE, ctypes.c_char_p, ctypes.c_uint32, _ERROR]),
    "clr_rows_next": (ctypes.c_int, [_HANDLE, ctypes.POINTER(ctypes.c_void_p), _SIZE, _ERROR]),
    "clr_rows_close": (None, [_HANDLE]),
    "clr_symbolize": (_HANDLE, [_HANDLE, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32, _ERROR]),
    "clr_symbols_owners": (ctypes.c_void_p, [_HANDLE]),
    "clr_symbols_offsets": (ctypes.c_void_p, [_HANDLE]),
    "clr_symbols_places": (ctypes.c_void_p, [_HANDLE]),
    "clr_symbols_json": (ctypes.c_void_p, [_HANDLE, _SIZE]),
    "clr_symbols_files": (ctypes.c_void_p, [_HANDLE, _SIZE]),
    "clr_symbols_close": (None, [_HANDLE]),
}


class Library:
    """One of the two libraries. Calls are made one at a time: the plugin's handles share what was read."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        try:
            self._library = ctypes.CDLL(str(path), mode=os.RTLD_LAZY)
            for name, (result, arguments) in _FUNCTIONS.items():
                function = getattr(self._library, name)
                function.restype = result
                function.argtypes = arguments
        except (OSError, AttributeError) as error:
            raise LibraryError(f"{path} cannot be used: {error}") from None
        if self._library.clr_api_version() != API_VERSION:
            raise LibraryError(f"{path} has version {self._library.clr_api_version()} of the C interface; this package needs {API_VERSION}")
        self.lock = threading.RLock()

    @property
    def version(self) -> str:
        """Version of the product, "0.1.0"."""
        text: bytes = self._library.clr_version()
        return text.decode()

    def debugger_known(self, debugger: int) -> bool:
        return bool(self._library.clr_debugger_known(debugger))

    def is_current(self, handle: int) -> bool:
        with self.lock:
            return bool(self._library.clr_is_current(handle))

    def open(self, function: str, *arguments: Any) -> int:
        """Calls a function that makes a handle; raises what its error says."""
        error = CError()
        with self.lock:
            handle: Optional[int] = getattr(self._library, function)(*arguments, ctypes.byref(error))
        if handle is None:
            raise _exception(error)
        return handle

    def publish(self, handle: int) -> None:
        error = CError()
        with self.lock:
            done = self._library.clr_publish(handle, ctypes.byref(error))
        if not done:
            raise _exception(error)

    def close(self, function: str, handle: int) -> None:
        with self.lock:
            getattr(self._library, function)(handle)

    def next_rows(self, handle: int) -> Optional[Json]:
        """The next batch of a query; None behind the last."""
        text, size, error = ctypes.c_void_p(), ctypes.c_size_t(), CError()
        with self.lock:
            got = self._library.clr_rows_next(handle, ctypes.byref(text), ctypes.byref(size), ctypes.byref(error))
            if got < 0:
                raise _exception(error)
            if got == 0 or text.value is None:
                return None
            batch: Json = json.loads(ctypes.string_at(text.value, size.value))
            return batch

    def table_count(self, handle: int) -> int:
        count: int = self._library.clr_table_count(handle)
        return count

    def address_of(self, function: str, handle: int) -> Optional[int]:
        """Where a column begins; it is valid as long as its handle."""
        at: Optional[int] = getattr(self._library, function)(handle)
        return at

    def text_of(self, function: str, handle: int) -> bytes:
        size = ctypes.c_size_t()
        at: Optional[int] = getattr(self._library, function)(handle, ctypes.byref(size))
        return b"" if at is None else ctypes.string_at(at, size.value)

    def column(self, function: str, handle: int, size: int) -> bytes:
        at: Optional[int] = getattr(self._library, function)(handle)
        return b"" if at is None or size == 0 else ctypes.string_at(at, size)


class Openness:
    """Whether the Runtime that answers were asked of is closed. Answers outlive a Runtime that nobody needs any more, but not one that was closed."""

    def __init__(self) -> None:
        self.closed = False

    def require(self) -> None:
        if self.closed:
            raise UsageError("this Runtime is closed")


class Rows:
    """The rows of one query as they are made. ``end`` is what closes the answer, empty before the last row was taken. Raises UsageError behind a close()."""

    def __init__(self, library: Library, handle: int, of: Openness) -> None:
        self._library = library
        self._handle: Optional[int] = handle
        self._of = of
        self._cut = False   # closed before the last row was taken
        self._batch: Iterator[Json] = iter(())
        self.end: Json = {}

    def __iter__(self) -> Iterator[Json]:
        return self

    def __next__(self) -> Json:
        while True:
            self._require_open()
            for row in self._batch:
                return row
            batch = self._next_batch()
            if batch is None:
                raise StopIteration
            self.end = batch.get("end", {})
            self._batch = iter(batch["rows"])

    def _require_open(self) -> None:
        self._of.require()
        if self._cut:
            raise UsageError("this list is closed")

    def _next_batch(self) -> Optional[Json]:
        # Who closes on another thread waits, so that the handle is one until the call is over.
        with self._library.lock:
            self._require_open()
            batch: Optional[Json] = None
            try:
                if self._handle is not None:
                    batch = self._library.next_rows(self._handle)
            finally:
                if batch is None:   # the last one, or an error
                    self._free()
            return batch

    def close(self) -> None:
        self._cut = self._cut or self._handle is not None
        self._free()

    def _free(self) -> None:
        with self._library.lock:
            handle, self._handle = self._handle, None
            if handle is not None:
                self._library.close("clr_rows_close", handle)

    def __del__(self) -> None:
        self._free()


_libraries: Dict[str, Library] = {}


def load_once(path: pathlib.Path, make: Callable[[pathlib.Path], Library] = Library) -> Library:
    """The library at `path`, one object for each file."""
    key = str(path.resolve())
    if key not in _libraries:
        _libraries[key] = make(path)
    return _libraries[key]
