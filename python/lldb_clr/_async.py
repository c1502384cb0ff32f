"""Async methods that wait, as values, by the rules of _values."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Tuple

from ._json import Json
from ._printable import shown
from ._values import Method, Source


@dataclass(frozen=True)
class AsyncFrame:
    """An async method, and the await at which it waits."""
    method: Method
    source: Optional[Source]
    """The line of the await. None where it is not known, and for a method that runs."""
    dispose: bool
    """The await is the one that the end of an ``await using`` implies; the line is that of the declaration."""
    state: int
    box: int
    """The object that the method lives in while it waits."""
    no_line: Optional[str] = None
    """Why there is no line although there are symbols."""

    @classmethod
    def of(cls, json: Json) -> AsyncFrame:
        return cls(Method.of(json["method"], None), Source.of(json.get("source")), json.get("line_kind") == "dispose", json["state"], int(json["box"], 16),
                   json.get("no_line"))


@dataclass(frozen=True)
class Task:
    """An async method that waits, or runs while others wait for it."""
    object: int
    """Its box: of most methods the task."""
    waits_for: str
    """"delay", "semaphore", "channel", "completion_source", "socket", ..."""
    text: str
    waited_object: Optional[int]
    chain: Tuple[AsyncFrame, ...]
    """The method itself, the one that awaits it, and so on."""
    thread: Optional[int]
    """Kernel id of the thread that waits for the last one of the chain, if it is known."""
    plumbing: bool
    """The chain has only methods of .NET's own libraries."""
    age_ms: Optional[int] = None
    """For how long it has waited at least; None where nobody noted when it began."""

    @shown
    def __repr__(self) -> str:
        return f"<Task {self.object:#x} {self.chain[0].method.shown_name}, waits for {self.text}>"

    @classmethod
    def of(cls, json: Json) -> Task:
        waits = json["waits_for"]
        return cls(int(json["boxes"][0], 16), waits["kind"], waits["text"], int(waits["object"], 16) if "object" in waits else None,
                   tuple(AsyncFrame.of(f) for f in json["frames"]), json["kept_by"].get("thread"), json["plumbing"], json["age_ms"])
