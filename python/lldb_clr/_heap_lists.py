"""Lists of what is in the heap and at its edges, as values, by the rules of _values."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping, Optional, Tuple, Union

from ._json import Json, number

Generation = Union[int, str]


@dataclass(frozen=True)
class HeapString:
    """A string, or a text that ``count`` strings have; ``address`` is that of the first one."""
    address: int
    length: int
    """UTF-16 code units."""
    text: str
    """The first 256 of them."""
    bytes: int
    """Of all ``count``."""
    count: int = 1

    @classmethod
    def of(cls, json: Json) -> HeapString:
        return cls(int(json["address"], 16), json["length"], json["text"], json["bytes"], json.get("count", 1))


@dataclass(frozen=True)
class HeapArray:
    """An array, and how many of its elements hold nothing: null, zero, or a value of zeros."""
    address: int
    type: str
    size: int
    """Bytes."""
    generation: Generation
    elements: int
    element_size: int
    empty: int
    whole: bool = True
    """False when memory of it is missing: elements there are not counted as empty."""

    @property
    def empty_bytes(self) -> int:
        return self.empty * self.element_size

    @classmethod
    def of(cls, json: Json) -> HeapArray:
        return cls(int(json["address"], 16), json["type"], json["size"], json["generation"], json["elements"], json["element_size"], json["empty"], json.get("whole", True))


@dataclass(frozen=True)
class Handle:
    """A handle. ``kind``: "strong", "pinned", "weak_short", "weak_long", "dependent", ..."""
    address: int
    kind: str
    object: int
    type: Optional[str]
    dependent: Optional[int] = None
    """Of a dependent handle: the object that lives as long as ``object`` does."""

    @classmethod
    def of(cls, json: Json) -> Handle:
        return cls(int(json["handle"], 16), json["kind"], int(json["object"], 16), json["type"], number(json.get("dependent")))


@dataclass(frozen=True)
class Finalizable:
    """An object whose finalizer has not run."""
    object: int
    type: Optional[str]
    generation: Optional[Generation] = None
    """None for one whose finalizer is due."""
    critical: bool = False
    """Its finalizer runs after those of the others; known of those that are due."""


@dataclass(frozen=True)
class Finalizers:
    """``ready``: they wait for the finalizer thread. ``registered``: they run once the object is dead."""
    ready: Tuple[Finalizable, ...]
    registered: Tuple[Finalizable, ...]

    @classmethod
    def of(cls, json: Json) -> Finalizers:
        return cls(tuple(Finalizable(int(o["object"], 16), o["type"], None, o["critical"]) for o in json["ready"]),
                   tuple(Finalizable(int(o["object"], 16), o["type"], o["generation"]) for o in json["registered"]))


@dataclass(frozen=True)
class FreePart:
    """Free memory of one generation. ``classes``: (least bytes of a block, blocks, bytes)."""
    generation: Generation
    bytes: int
    """Of the generation, free or not."""
    free_objects: int
    free_bytes: int
    classes: Tuple[Tuple[int, int, int], ...]


@dataclass(frozen=True)
class FreeBlock:
    """A block of free memory, and the object behind it, which keeps it from growing."""
    address: int
    bytes: int
    generation: Generation
    next: Optional[int]
    next_type: Optional[str]


@dataclass(frozen=True)
class FreeSpace:
    """Free memory between objects, and the largest blocks of it."""
    objects: int
    bytes: int
    parts: Tuple[FreePart, ...]
    largest: Tuple[FreeBlock, ...]

    @classmethod
    def of(cls, json: Json) -> FreeSpace:
        parts = tuple(FreePart(p["generation"], p["bytes"], p["free_objects"], p["free_bytes"], tuple((c["least"], c["count"], c["bytes"]) for c in p["classes"]))
                      for p in json["parts"])
        largest = tuple(FreeBlock(int(b["address"], 16), b["bytes"], b["generation"], int(b["next"]["object"], 16) if b["next"] else None, b["next"]["type"] if b["next"] else None)
                        for b in json["largest"])
        return cls(json["free_objects"], json["free_bytes"], parts, largest)


@dataclass(frozen=True)
class Allocation:
    """Memory that was given for the next objects, [pointer, limit)."""
    owner: str
    """"thread", "collector"."""
    pointer: int
    limit: int
    generation: Optional[Generation]
    thread: Optional[int] = None
    """Kernel id."""
    managed_id: Optional[int] = None

    @classmethod
    def of(cls, json: Json) -> Allocation:
        return cls(json["owner"], int(json["pointer"], 16), int(json["limit"], 16), json["generation"], json.get("thread"), json.get("managed_id"))


@dataclass(frozen=True)
class Verification:
    """What contradicts itself in the heap; nothing of it when ``sound``."""
    sound: bool
    objects: int
    references: int
    stray_references: int
    """References that lead to no object. ``strays`` are the first 1,000 of them: (object, offset, value)."""
    strays: Tuple[Tuple[int, int, int], ...]
    gaps: Tuple[Tuple[int, int, str], ...]
    """(address, bytes, why) of memory without objects."""
    stray_handles: Tuple[Tuple[int, int], ...]
    """(handle, value) of handles that refer to no object, the first 1,000."""
    stray_finalizable: Tuple[int, ...]
    """Entries of the finalizer queue that are no objects with finalizers, the first 1,000."""

    @classmethod
    def of(cls, json: Json) -> Verification:
        return cls(json["sound"], json["objects"], json["references"], json["stray_references"],
                   tuple((int(s["object"], 16), s["offset"], int(s["value"], 16)) for s in json["strays"]),
                   tuple((int(g["address"], 16), g["bytes"], g["why"]) for g in json["gaps"]),
                   tuple((int(h["handle"], 16), int(h["object"], 16)) for h in json["stray_handles"]), tuple(int(o, 16) for o in json["stray_finalizable"]))


@dataclass(frozen=True)
class HeapFailure:
    """An allocation that failed."""
    heap: int
    reason: int
    text: str
    asked_bytes: int
    collection: int
    """After which it failed."""
    large_object: bool


@dataclass(frozen=True)
class HeapInfo:
    """The heap as a whole, and the memory of the process around it."""
    kind: str
    """"workstation", "server"."""
    regions: bool
    committed_bytes: int
    used_bytes: int
    objects: int
    free_bytes: int
    free_objects: int
    largest_free: int
    gc_in_progress: bool
    memory: Optional[Mapping[str, int]]
    """Bytes of the process by what has them ("gc", "code", "loader", "stacks", "files", "native", "reserved"), which add up to "mapped"; None when it is not known
    what is mapped."""
    heap_hard_limit: Optional[int]
    heap_hard_limit_from: Optional[str]
    adapts_heap_count: Optional[bool]
    """Whether a server collector adapts the number of its heaps (DATAS)."""
    failures: Tuple[HeapFailure, ...]
    """Of each heap the last one."""
    problems: Tuple[str, ...]

    @classmethod
    def of(cls, json: Json) -> HeapInfo:
        limits = json["limits"]
        failures = tuple(HeapFailure(f["heap"], f["reason"], f["text"], f["asked_bytes"], f["collection"], f["large_object"]) for f in limits["failures"])
        return cls(json["kind"], json["regions"], json["committed_bytes"], json["used_bytes"], json["objects"], json["free_bytes"], json["free_objects"], json["largest_free"],
                   json["gc_in_progress"], json["process"] or None, limits["heap_hard_limit"], limits["heap_hard_limit_from"],
                   limits["adapts_heap_count"], failures, tuple(json["problems"]))
