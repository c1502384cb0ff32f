"""The managed heap, as values, by the rules of _values."""
from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass, field
from typing import Iterator, List, Optional, Protocol, Sequence, Tuple, Union

from ._errors import UsageError
from ._heap_lists import Allocation, Finalizers, FreeSpace, Generation, Handle, HeapArray, HeapInfo, HeapString, Verification
from ._holders import Held, HeapReader, Retained
from ._json import Json
from ._printable import shown
from ._table import HeapTable

_BY = ("object", "type", "assembly", "static", "root")
_PARTS = {None: -1, 0: 0, 1: 1, 2: 2, "loh": 3, "poh": 4, "frozen": 5}


def _part(generation: Optional[Generation]) -> int:
    part = _PARTS.get(generation)
    if part is None:
        raise UsageError(f"there is no generation {generation!r}: 0, 1, 2, 'loh', 'poh' or 'frozen'")
    return part


@dataclass(frozen=True)
class HeapType:
    """The objects of one type."""
    name: str
    method_table: int
    module: Optional[str]
    count: int
    bytes: int

    @classmethod
    def of(cls, json: Json) -> HeapType:
        return cls(json["name"], int(json["method_table"], 16), json["module"], json["count"], json["bytes"])


@dataclass(frozen=True)
class HeapObject(Held):
    """An object of the heap."""
    address: int
    type: str
    method_table: int
    size: int
    generation: Generation
    _reader: Optional[HeapReader] = field(default=None, repr=False, compare=False)

    @shown
    def __repr__(self) -> str:
        return f"<HeapObject {self.address:#x} {self.type}, {self.size} bytes>"

    @classmethod
    def of(cls, json: Json, reader: Optional[HeapReader]) -> HeapObject:
        return cls(int(json["address"], 16), json["type"], int(json["method_table"], 16), json["size"], json["generation"], reader)


@dataclass(frozen=True)
class HeapSegment:
    """Objects that lie one behind the other, [begin, end)."""
    heap: int
    address: int
    begin: int
    end: int
    committed: int
    generation: Generation
    objects: int
    bytes: int
    free_objects: int
    free_bytes: int

    @classmethod
    def of(cls, json: Json, heap: int) -> HeapSegment:
        return cls(heap, int(json["address"], 16), int(json["begin"], 16), int(json["end"], 16), int(json["committed"], 16), json["generation"],
                   json["objects"], json["bytes"], json["free_objects"], json["free_bytes"])


@dataclass(frozen=True)
class HeapChange:
    """The objects of one type at two times, (before, now)."""
    name: str
    module: Optional[str]
    change: str
    """"new", "gone", "grown", "shrunk", "same" (bytes)."""
    count: Tuple[int, int]
    bytes: Tuple[int, int]

    @classmethod
    def of(cls, json: Json) -> HeapChange:
        return cls(json["name"], json["module"], json["change"], (json["count"][0], json["count"][1]), (json["bytes"][0], json["bytes"][1]))


@dataclass(frozen=True)
class SavedGcdump:
    """A .gcdump that was written. ``references`` are those between objects, ``bytes`` those of the objects, ``size`` those of the file."""
    path: str
    size: int
    objects: int
    bytes: int
    references: int
    roots: int


class TableReader(HeapReader, Protocol):
    """One that makes tables, too."""

    def _table(self) -> HeapTable: ...


class Heap:
    """The managed heap of a runtime. Raises UsageError when the process has none yet, Fault when the core does not hold it."""

    def __init__(self, reader: TableReader) -> None:
        self._reader = reader

    @property
    def info(self) -> HeapInfo:
        """The heap as a whole, its limits, and what the memory of the process is. All objects are counted."""
        (row,) = self._reader._query("clr_query_heap")
        return HeapInfo.of(row)

    def stat(self, type: Optional[str] = None, generation: Optional[Generation] = None, live: Optional[bool] = None) -> List[HeapType]:
        """The objects of each type, by descending bytes; of types whose names match ``type`` (* and ?), and of one generation (0, 1, 2, "loh", "poh",
        "frozen"). ``live``: only of objects that a root reaches; False: only of the others."""
        if live is None:
            return [HeapType.of(row) for row in self._reader._query("clr_query_heap_types", _text(type), _part(generation))]
        return [HeapType.of(row) for row in self._reader._query("clr_query_reached_types", _text(type), _part(generation), 1 if live else 0)]

    def objects(self, type: Optional[str] = None, generation: Optional[Generation] = None, where: Sequence[str] = ()) -> Iterator[HeapObject]:
        """The objects themselves, by ascending address, found while they are iterated. ``where``: conditions that must all hold, as ``clr objects --where``
        takes them: ["Id=4711", "Customer.Name!=null"]."""
        if isinstance(where, str):
            where = (where,)
        texts = (ctypes.c_char_p * len(where))(*(text.encode() for text in where))
        rows = self._reader._query("clr_query_objects_where", _text(type), _part(generation), texts, len(where))
        return (HeapObject.of(row, self._reader) for row in rows)

    def strings(self, match: Optional[str] = None, least: int = 0) -> Iterator[HeapString]:
        """The strings of ``least`` bytes and more whose whole texts match ``match`` (* and ?), by ascending address, found while they are iterated. Of a text of
        more than 256 UTF-16 code units the first 256 are compared."""
        return (HeapString.of(row) for row in self._reader._query("clr_query_strings", _text(match), count_of(least)))

    def duplicates(self, match: Optional[str] = None, least: int = 0, most: int = 0) -> List[HeapString]:
        """The texts that several strings have, those first that take most bytes; at most ``most`` of them, 0: all."""
        return list(map(HeapString.of, self._reader._query("clr_query_duplicate_strings", _text(match), count_of(least), count_of(most))))

    def arrays(self, type: Optional[str] = None, generation: Optional[Generation] = None, sparse: bool = False, least: int = 0, most: int = 20) -> List[HeapArray]:
        """The largest arrays of ``least`` bytes and more, or with ``sparse`` those that have most bytes in empty elements; at most ``most``, 0: all."""
        rows = self._reader._query("clr_query_arrays", _text(type), _part(generation), 1 if sparse else 0, count_of(least), count_of(most))
        return list(map(HeapArray.of, rows))

    def handles(self) -> List[Handle]:
        """All handles, weak ones too."""
        return list(map(Handle.of, self._reader._query("clr_query_handles")))

    def finalizers(self) -> Finalizers:
        """The objects whose finalizers have not run."""
        (row,) = self._reader._query("clr_query_finalizers")
        return Finalizers.of(row)

    def free_space(self) -> FreeSpace:
        """Free memory by generation and size of the blocks, and the largest blocks."""
        (row,) = self._reader._query("clr_query_free_space")
        return FreeSpace.of(row)

    def allocations(self) -> List[Allocation]:
        """Memory that threads were given for their next objects."""
        return list(map(Allocation.of, self._reader._query("clr_query_allocations")))

    def verify(self) -> Verification:
        """Looks for contradictions, as a program leaves them that writes beyond its memory."""
        (row,) = self._reader._query("clr_query_verification")
        return Verification.of(row)

    def table(self) -> HeapTable:
        """All objects as columns of numbers: the way in which millions of them are compared. The heap is walked now; 22 bytes for each object."""
        return self._reader._table()

    def retained(self, by: str = "object", pattern: Optional[str] = None, most: int = 20) -> List[Retained]:
        """The objects (or by="type", "assembly", "static", "root" those) that retain most. ``pattern`` is compared with the names of types, assemblies, fields or roots."""
        if by not in _BY or most < 1:
            raise UsageError(f"by is one of {', '.join(_BY)}, and most at least 1")
        return list(map(Retained.of, self._reader._query("clr_query_retainers", _BY.index(by), _text(pattern), most)))

    def gcdump(self, path: Union[str, os.PathLike[str]], live: bool = False) -> SavedGcdump:
        """Writes a .gcdump for PerfView, Visual Studio and dotnet-gcdump; ``live``: only of objects that a root reaches. Replaces a file. Raises FileError."""
        (row,) = self._reader._query("clr_query_gcdump", os.fsencode(path), 1 if live else 0)
        return SavedGcdump(**row)

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the counts by type, for a later ``diff``. Replaces a file. Raises FileError."""
        list(self._reader._query("clr_query_heap_save", os.fsencode(path)))

    def diff(self, other: Union[str, os.PathLike[str]]) -> List[HeapChange]:
        """The types that changed since ``other``, an earlier core or a file of ``save``; those first that grew most."""
        return list(map(HeapChange.of, self._reader._query("clr_query_heap_difference", os.fsencode(other))))

    @property
    def segments(self) -> Tuple[HeapSegment, ...]:
        """The heap's segments or regions, with what they hold. All objects are counted."""
        (row,) = self._reader._query("clr_query_heap")
        return tuple(HeapSegment.of(segment, heap["index"]) for heap in row["heaps"] for segment in heap["segments"])


def count_of(number: int) -> int:
    if not 0 <= number < 1 << 64:
        raise UsageError(f"{number} is no count")
    return number


def _text(pattern: Optional[str]) -> Optional[bytes]:
    return None if pattern is None else pattern.encode()
