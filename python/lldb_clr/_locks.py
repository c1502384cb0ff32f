"""Locks and waits as values, by the rules of _values."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Tuple

from ._json import Json
from ._printable import shown


@dataclass(frozen=True)
class WaitingFor:
    """What a thread waits for."""
    kind: str
    """"monitor", "lock", "task", "sleep", "native", "idle", ..."""
    text: str
    objects: Tuple[int, ...]
    """Addresses; several for a wait for any or all of them. Empty when the object is not known, and where there is none."""
    any: bool
    """One of the objects is enough."""
    certain: bool
    timeout_ms: Optional[int]

    @property
    def object(self) -> Optional[int]:
        """The address of the one object. None when it is not known, where there is none, and where there are several."""
        return self.objects[0] if len(self.objects) == 1 else None

    @classmethod
    def of(cls, json: Json) -> WaitingFor:
        objects = json.get("objects", [json["object"]] if "object" in json else [])
        return cls(json["kind"], json["text"], tuple(int(o, 16) for o in objects), json.get("any", False), json["certain"], json.get("timeout_ms"))


@dataclass(frozen=True)
class LockWaiter:
    """A thread that waits for a lock."""
    os_id: int
    managed_id: Optional[int]
    mode: str
    """"enter", "wait", "read", "write" or "upgrade"."""
    certain: bool

    @classmethod
    def of(cls, json: Json) -> LockWaiter:
        return cls(json["os_id"], json["managed_id"], json["mode"], json["certain"])


@dataclass(frozen=True)
class Lock:
    """A lock that is held or waited for."""
    object: int
    type: Optional[str]
    kind: str
    owner: Optional[int]
    """Kernel id of the thread that holds it. None: nobody, or not known."""
    owner_known: bool
    recursion: Optional[int]
    readers: Tuple[int, ...]
    waiters: Tuple[LockWaiter, ...]
    text: Optional[str]

    @shown
    def __repr__(self) -> str:
        held = f"held by {self.owner}" if self.owner is not None else "not held" if self.owner_known else "of unknown owner"
        return f"<Lock {self.object:#x} {self.type or 'of unknown type'}, {held}, {len(self.waiters)} waiters>"

    @classmethod
    def of(cls, json: Json) -> Lock:
        owner = json["owner"]
        return cls(int(json["object"], 16), json["type"], json["kind"], owner["os_id"] if owner else None, json["owner_known"], json.get("recursion"),
                   tuple(json.get("readers", ())), tuple(LockWaiter.of(w) for w in json["waiters"]), json.get("text"))


@dataclass(frozen=True)
class DeadlockMember:
    """A thread, or the box of an async method, that waits for the next member."""
    thread: Optional[int]
    box: Optional[int]
    holds: Optional[int]
    waits_for: int
    text: str

    @classmethod
    def of(cls, json: Json) -> DeadlockMember:
        return cls(json.get("thread"), int(json["box"], 16) if "box" in json else None, int(json["holds"], 16) if json["holds"] else None,
                   int(json["waits_for"], 16), json["text"])


@dataclass(frozen=True)
class Deadlock:
    """Threads and tasks that wait for each other."""
    kind: str
    certain: bool
    members: Tuple[DeadlockMember, ...]
    victims: Tuple[int, ...]
    """Kernel ids of threads that wait behind them."""

    @classmethod
    def of(cls, json: Json) -> Deadlock:
        return cls(json["kind"], json["certain"], tuple(DeadlockMember.of(m) for m in json["members"]), tuple(json["victims"]))
