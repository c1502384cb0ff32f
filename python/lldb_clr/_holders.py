"""Who holds an object of the heap, and what would go with it, as values, by the rules of _values."""
from __future__ import annotations

from dataclasses import dataclass
from typing import List, Optional, Protocol, Tuple

from ._errors import UsageError
from ._json import Json, number
from ._library import Rows
from ._printable import shown


class HeapReader(Protocol):
    """Asks the library. Runtime is one."""

    def _query(self, function: str, *arguments: object) -> Rows: ...


@dataclass(frozen=True)
class Reference:
    """A reference of one object to another. ``object`` is the other one: that which is referred to, or that which refers."""
    object: int
    type: Optional[str]
    field: Optional[str]
    """"_next", "[3]"; "(dependent handle)" and "(the loader of its type)" where no field holds the reference; None when it is not known."""
    offset: Optional[int] = None
    """In the object that refers; None for references that lead to an object, and for those that no field holds."""

    @shown
    def __repr__(self) -> str:
        return f"<Reference {self.field or '?'}: {self.object:#x} {self.type or ''}>"


@dataclass(frozen=True)
class HeapRoot:
    """A place outside of the heap that keeps an object alive."""
    kind: str
    """"stack", "frame" (a Frame of the runtime's on a stack), "handle", "static", "thread_static", "finalizer"."""
    object: int
    slot: Optional[int] = None
    """Where the reference is; None for a register."""
    name: Optional[str] = None
    """Of a static field."""
    handle_kind: Optional[str] = None
    thread: Optional[int] = None
    """Kernel id, of a stack and of thread statics."""
    frame: Optional[int] = None
    """Of a stack: the index in Thread.backtrace()."""
    register: Optional[str] = None
    method: Optional[str] = None
    """Of a stack: the full name of the frame's method."""
    certain: bool = True
    type: Optional[str] = None
    """Of the object; None for the root of a path, whose first step has it."""

    @shown
    def __repr__(self) -> str:
        where = self.name or self.handle_kind or (f"thread {self.thread}" + (f" frame #{self.frame}" if self.frame is not None else "") if self.thread else "")
        return f"<HeapRoot {self.kind} {where}: {self.object:#x}>"

    @classmethod
    def of(cls, json: Json) -> HeapRoot:
        return cls(json["kind"], int(json["object"], 16), number(json.get("slot")), json.get("name"), json.get("handle_kind"), json.get("thread"), json.get("frame"),
                   json.get("register"), json["method"].get("full_name") if "method" in json else None, json.get("certain", True), json.get("type"))


@dataclass(frozen=True)
class Step:
    """An object on the way from a root; ``field`` of the one before it leads here, None for the first."""
    object: int
    type: Optional[str]
    field: Optional[str] = None
    left_out: int = 0   # steps between the one before and this, of a very long way


@dataclass(frozen=True)
class HeapPath:
    """A way from a root to an object. The first step is what the root holds, the last the object itself."""
    root: HeapRoot
    steps: Tuple[Step, ...]

    @shown
    def __repr__(self) -> str:
        return f"<HeapPath {self.root!r} -> " + " -> ".join(f"{step.field or ''} {step.type}".strip() for step in self.steps) + ">"

    @classmethod
    def of(cls, json: Json) -> HeapPath:
        return cls(HeapRoot.of(json["root"]), tuple(Step(int(s["object"], 16), s["type"], s.get("field"), s.get("left_out", 0)) for s in json["steps"]))


def _root_text(root: Json) -> str:
    if root["kind"] == "handle":
        return f"{root['handle_kind']} handle {root['slot']}"
    return " ".join(str(part) for part in (root["kind"], root.get("name"), root.get("thread")) if part is not None)


@dataclass(frozen=True)
class Retained:
    """What would go: with one object, with the objects of a type or of the types of an assembly together, or with what a static field holds."""
    retained: int
    """Bytes that would go, the object's own included."""
    count: int
    """Of one object: those that would go with it, itself included; else the objects of the type or assembly."""
    bytes: int
    object: Optional[int] = None
    type: Optional[str] = None
    assembly: Optional[str] = None
    static: Optional[str] = None
    root: Optional[str] = None
    """By root: "static Ns.Type.Field", "thread 4711", "strong handle 0x...", "finalizer"."""
    alive: bool = True
    reachable: Optional[int] = None
    """Bytes of everything that an object leads to, shared with others or not; None in lists."""
    holder: Optional[int] = None
    """The object with which this one would go; None when there is none, and in lists."""

    @shown
    def __repr__(self) -> str:
        what = self.root or self.static or self.assembly or f"{self.type}{f' at {self.object:#x}' if self.object else ''}"
        return f"<Retained {self.retained} bytes by {what}>"

    @classmethod
    def of(cls, json: Json) -> Retained:
        holder, reachable, root = json.get("holder"), json.get("reachable"), json.get("root")
        return cls(json["retained"], json["count"], json["bytes"], number(json.get("object")), json.get("type"), json.get("assembly"),
                   root.get("name") if root else None, _root_text(root) if root else None, json.get("alive", True), reachable["bytes"] if reachable else None,
                   int(holder["object"], 16) if holder else None)


class Held:
    """What an object of the heap can be asked. The first question that needs all references reads them, which is kept until the process runs."""
    address: int
    _reader: Optional[HeapReader]

    def _ask(self, function: str, *arguments: object) -> Rows:
        if self._reader is None:
            raise UsageError("this object belongs to no Runtime that could be asked")
        return self._reader._query(function, self.address, *arguments)

    def references(self) -> List[Reference]:
        """The objects that it refers to."""
        return [Reference(int(r["to"], 16), r["type"], r["field"], r["offset"]) for r in self._ask("clr_query_references")]

    def referrers(self) -> List[Reference]:
        """The objects that refer to it."""
        return [Reference(int(r["from"], 16), r["type"], r["field"]) for r in self._ask("clr_query_referrers")]

    def paths(self, most: int = 1) -> List[HeapPath]:
        """At most so many ways to it from different roots, the shortest first; empty for an object that nobody holds."""
        if most < 1:
            raise UsageError(f"there cannot be {most} paths")
        return list(map(HeapPath.of, self._ask("clr_query_paths", most)))

    def retained(self) -> Retained:
        """What would go with it."""
        (row,) = self._ask("clr_query_retained")
        return Retained.of(row)
