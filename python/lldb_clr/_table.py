"""All objects of the heap as columns of numbers, which numpy takes without copying."""
from __future__ import annotations

import ctypes
import json
import weakref
from dataclasses import dataclass
from typing import Any, List, Optional, Tuple

from ._json import Json
from ._library import Library


@dataclass(frozen=True)
class TableType:
    """A type of a HeapTable."""
    name: str
    module: Optional[str]
    method_table: int


class HeapTable:
    """Row i is the object with the i-th lowest address, free memory included. The columns are read-only buffers (memoryview), one number a row:
    ``numpy.asarray(table.size)`` is an array over the same bytes. They stay valid as long as somebody uses them, also when the process has run."""

    def __init__(self, library: Library, handle: int) -> None:
        self._close = weakref.finalize(self, library.close, "clr_table_close", handle)
        self._rows: int = library.table_count(handle)
        self.address = self._column(library, "clr_table_addresses", handle, ctypes.c_uint64, "Q")
        self.size = self._column(library, "clr_table_sizes", handle, ctypes.c_uint64, "Q")
        """Bytes."""
        self.type = self._column(library, "clr_table_types", handle, ctypes.c_uint32, "I")
        """The index in ``types``."""
        self.generation = self._column(library, "clr_table_generations", handle, ctypes.c_uint8, "B")
        """0, 1, 2; 3 for large objects, 4 for pinned ones, 5 for frozen ones."""
        self.free = self._column(library, "clr_table_free", handle, ctypes.c_uint8, "B")
        """1 for free memory."""
        told: Json = json.loads(library.text_of("clr_table_json", handle))
        self.types: Tuple[TableType, ...] = tuple(TableType(t["name"], t["module"], int(t["method_table"], 16)) for t in told["types"])
        self.problems: Tuple[str, ...] = tuple(told["problems"])
        """What is missing."""

    def _column(self, library: Library, function: str, handle: int, number: Any, form: str) -> memoryview:
        at = library.address_of(function, handle)
        if not self._rows or at is None:
            return memoryview(b"").cast(form)
        array = (number * self._rows).from_address(at)
        array.table = self   # the buffer keeps the array, and with it this
        return memoryview(array).toreadonly().cast("B").cast(form)

    def __len__(self) -> int:
        return self._rows

    def __repr__(self) -> str:
        return f"<HeapTable of {self._rows} objects, {len(self.types)} types>"

    def type_numbers(self, name: str) -> List[int]:
        """The numbers of the types with this name, to be looked for in ``type``."""
        return [i for i, known in enumerate(self.types) if known.name == name]
