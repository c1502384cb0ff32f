"""The managed heap, as values, by the rules of _values."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator, List, Optional, Protocol, Tuple, Union

from ._errors import UsageError
from ._json import Json
from ._library import Rows

Generation = Union[int, str]
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
class HeapObject:
    """An object of the heap."""
    address: int
    type: str
    method_table: int
    size: int
    generation: Generation

    def __repr__(self) -> str:
        return f"<HeapObject {self.address:#x} {self.type}, {self.size} bytes>"

    @classmethod
    def of(cls, json: Json) -> HeapObject:
        return cls(int(json["address"], 16), json["type"], int(json["method_table"], 16), json["size"], json["generation"])


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


class HeapReader(Protocol):
    """Asks the library. Runtime is one."""

    def _query(self, function: str, *arguments: object) -> Rows: ...


class Heap:
    """The managed heap of a runtime. Raises UsageError when the process has none yet, Fault when the core does not hold it."""

    def __init__(self, reader: HeapReader) -> None:
        self._reader = reader

    def stat(self, type: Optional[str] = None, generation: Optional[Generation] = None) -> List[HeapType]:
        """The objects of each type, by descending bytes; of types whose names match ``type`` (* and ?), and of one generation (0, 1, 2, "loh", "poh",
        "frozen")."""
        return [HeapType.of(row) for row in self._reader._query("clr_query_heap_types", _text(type), _part(generation))]

    def objects(self, type: Optional[str] = None, generation: Optional[Generation] = None) -> Iterator[HeapObject]:
        """The objects themselves, by ascending address, found while they are iterated."""
        return map(HeapObject.of, self._reader._query("clr_query_objects", _text(type), _part(generation)))

    @property
    def segments(self) -> Tuple[HeapSegment, ...]:
        """The heap's segments or regions, with what they hold. All objects are counted."""
        (row,) = self._reader._query("clr_query_heap")
        return tuple(HeapSegment.of(segment, heap["index"]) for heap in row["heaps"] for segment in heap["segments"])


def _text(pattern: Optional[str]) -> Optional[bytes]:
    return None if pattern is None else pattern.encode()
