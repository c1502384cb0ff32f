"""References that keep objects alive, as values, by the rules of _values."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator, List, Optional, Sequence, Tuple, Union, overload

from ._json import Json, number
from ._library import Rows
from ._printable import shown
from ._values import CodeReader, Method


@dataclass(frozen=True)
class Root:
    """A reference that a frame of a stack holds. ``register``, or the word at ``slot`` = ``base`` ("sp", "fp", "caller_sp") + ``offset``."""
    kind: str
    """"stack" of a managed frame, "frame" of a Frame of the runtime's: arguments of a call that has not begun, variables of native code."""
    object: Optional[int]
    """None for an interior root: which object ``value`` points into is not looked for."""
    type: Optional[str]
    value: int
    slot: Optional[int]
    register: Optional[str]
    base: Optional[str]
    offset: Optional[int]
    thread: int
    frame: int
    """The index of its frame in Thread.backtrace()."""
    ip: Optional[int]
    """None of a Frame of the runtime's, whose address is ``sp``."""
    sp: int
    method: Optional[Method]
    frame_type: Optional[str]
    """"PrestubMethodFrame", "GCFrame"...; None of a managed frame."""
    interior: bool
    pinned: bool
    untracked: bool
    certain: bool
    why_uncertain: Optional[str] = None

    @shown
    def __repr__(self) -> str:
        words = [word for word, on in (("interior", self.interior), ("pinned", self.pinned), ("untracked", self.untracked), ("uncertain", not self.certain)) if on]
        place = self.register or self.frame_type or f"[{self.base}{self.offset or 0:+#x}]"
        return f"<Root {' '.join([place, *words])} of frame #{self.frame}: {self.value:#x} {self.type or ''}>"

    @classmethod
    def of(cls, json: Json, reader: Optional[CodeReader]) -> Root:
        return cls(json["kind"], number(json["object"]), json.get("type"), int(json["value"], 16), number(json.get("slot")), json.get("register"), json.get("base"),
                   json.get("offset"), json["thread"], json["frame"], number(json.get("ip")), int(json["sp"], 16),
                   Method.of(json["method"], reader) if "method" in json else None, json.get("frame_type"), json["interior"], json["pinned"], json["untracked"], json["certain"], json.get("why_uncertain"))


class Roots(Sequence[Root]):
    """The roots of a stack."""

    def __init__(self, rows: Rows, reader: Optional[CodeReader]) -> None:
        self._roots: List[Root] = [Root.of(row, reader) for row in rows]
        self._end: Json = rows.end

    def __iter__(self) -> Iterator[Root]:
        return iter(self._roots)

    def __len__(self) -> int:
        return len(self._roots)

    @overload
    def __getitem__(self, index: int) -> Root: ...
    @overload
    def __getitem__(self, index: slice) -> List[Root]: ...

    def __getitem__(self, index: Union[int, slice]) -> Union[Root, List[Root]]:
        return self._roots[index]

    @property
    def end(self) -> str:
        """"bottom", "limit", or why the walk ended early."""
        text: str = self._end["end"]
        return text

    @property
    def notes(self) -> Tuple[str, ...]:
        """What is not known."""
        return tuple(self._end["notes"])

    def __repr__(self) -> str:
        return "\n".join(map(repr, self._roots)) or "<empty Roots>"
