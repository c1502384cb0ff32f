"""What the garbage collector knows of a method, as values, by the rules of _values."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Tuple

from ._json import Json


@dataclass(frozen=True)
class GcSlot:
    """A place in which a method keeps a reference: ``register``, or the word at ``base`` ("sp", "fp", "caller_sp") + ``offset``."""
    register: Optional[str]
    base: Optional[str]
    offset: Optional[int]
    interior: bool
    """It may point into an object, behind its end, or to no object."""
    pinned: bool
    untracked: bool
    """Live in the whole body but its prolog; it may be null."""

    def __repr__(self) -> str:
        words = [word for word, on in (("interior", self.interior), ("pinned", self.pinned), ("untracked", self.untracked)) if on]
        place = self.register or f"[{self.base}{self.offset or 0:+#x}]"
        return f"<GcSlot {' '.join([place, *words])}>"


@dataclass(frozen=True)
class GcSafePoint:
    """A call at which a collection may run. ``offset`` is that of its return address."""
    offset: int
    live: Tuple[GcSlot, ...]


@dataclass(frozen=True)
class GcChange:
    """From ``offset`` on the slot is live, or no longer."""
    offset: int
    slot: GcSlot
    live: bool


@dataclass(frozen=True)
class GcRange:
    """Code that may be interrupted anywhere: [begin, end). ``changes`` begin with the slots that are live at ``begin``."""
    begin: int
    end: int
    changes: Tuple[GcChange, ...]


@dataclass(frozen=True)
class GcInfo:
    """The GC info of a body. Offsets are in bytes from the body's start, hot and cold parts linearised."""
    address: int
    version: int
    code_length: int
    slots: Tuple[GcSlot, ...]
    safe_points: Tuple[GcSafePoint, ...]
    ranges: Tuple[GcRange, ...]
    spot: Optional[str]
    """What ``address`` is: "safe_point", "range" or "nowhere"; None when only the code length is known."""
    live: Tuple[GcSlot, ...]
    """The tracked slots that are live at ``address``."""
    header: Json
    """"prolog_end", "context", "gs_cookie", "reverse_pinvoke", ...: as `clr gcinfo --json` has them."""
    fault: Optional[str] = None
    """Why there is no more than the code length, or why lists end early."""

    def __repr__(self) -> str:
        return f"<GcInfo {self.version} of {self.code_length} bytes: {len(self.slots)} slots, {len(self.safe_points)} safe points, {len(self.ranges)} ranges>"

    @classmethod
    def of(cls, json: Json) -> GcInfo:
        slots = tuple(GcSlot(s.get("register"), s.get("base"), s.get("offset"), s["interior"], s["pinned"], s["untracked"]) for s in json.get("slots", ()))
        points = tuple(GcSafePoint(p["offset"], tuple(slots[i] for i in p["live"])) for p in json.get("safe_points", ()))
        ranges = tuple(GcRange(r["begin"], r["end"], tuple(GcChange(c["offset"], slots[c["slot"]], c["live"]) for c in r["changes"]))
                       for r in json.get("ranges", ()))
        at = json.get("at", {})
        header = {name: value for name, value in json.items() if name not in ("method", "code", "slots", "safe_points", "ranges", "at", "fault")}
        return cls(int(json["address"], 16), json["version"], json["code_length"], slots, points, ranges, at.get("spot"),
                   tuple(slots[i] for i in at.get("live", ())), header, json.get("fault"))
