"""Threads and their stacks as values, by the rules of _values; the frames of a stack are made as they are asked for."""
from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Iterator, List, Optional, Protocol, Sequence, Tuple, Union, overload

from ._errors import UsageError
from ._frames import Frame, ManagedException
from ._json import Json, number
from ._library import Rows
from ._locks import WaitingFor
from ._printable import printable, shown
from ._roots import Roots
from ._values import CodeReader


class StackReader(Protocol):
    """Reads what a Thread or a ThrownException does not hold itself. Runtime is one: see CodeReader."""

    def backtrace(self, os_id: int, limit: int, runtime_frames: bool, lines: bool, registers: bool) -> Backtrace: ...

    def exception(self, address: int) -> ManagedException: ...

    def roots(self, os_id: int) -> Roots: ...

    def waiting_for(self, os_id: int) -> Optional[WaitingFor]: ...


@dataclass(frozen=True)
class ThrownException:
    """The exception of a thread, in short. ``details()`` reads the rest."""
    type: Optional[str]
    message: Optional[str]
    address: int
    fault: Optional[str] = None
    _reader: Optional[StackReader] = field(default=None, repr=False, compare=False)

    def details(self) -> ManagedException:
        """With its stack trace and its inner exceptions. Raises Fault, StaleError."""
        if self._reader is None:
            raise UsageError("this exception was made without a Runtime")
        return self._reader.exception(self.address)

    @shown
    def __repr__(self) -> str:
        return f"<ThrownException {self.type or 'of unknown type'} at {self.address:#x}: {self.message!r}>"


@dataclass(frozen=True)
class Thread:
    """A thread of the process. What only the runtime knows (``managed_id`` and what follows) is None for threads that it does not know."""
    index: Optional[int]
    """As LLDB numbers threads, from 1; None: only the runtime knows it, it has ended or never ran."""
    os_id: Optional[int]
    name: Optional[str]
    selected: bool
    managed_id: Optional[int] = None
    address: Optional[int] = None
    """Of the runtime's Thread."""
    state: Optional[Tuple[str, ...]] = None
    """"background", "unstarted", "dead", "threadpool_worker", ..."""
    gc_mode: Optional[str] = None
    """"cooperative" or "preemptive"."""
    exception: Optional[ThrownException] = None
    """In flight."""
    last_thrown: Optional[ThrownException] = None
    """When none is in flight; it may be handled by now."""
    fault: Optional[str] = None
    _reader: Optional[StackReader] = field(default=None, repr=False, compare=False)

    @property
    def is_managed(self) -> bool:
        """The runtime knows it."""
        return self.address is not None

    def backtrace(self, limit: int = 0, runtime_frames: bool = True, lines: bool = True, registers: bool = False) -> Backtrace:
        """The stack, innermost frame first; at most ``limit`` frames (0: all). ``lines`` looks for source lines, ``runtime_frames`` shows the runtime's
        explicit Frames. What is wrong with a frame is in its ``fault``. Raises StaleError; UsageError for a thread that has no stack."""
        if self._reader is None or self.index is None or self.os_id is None:
            raise UsageError("the thread has no stack: it has ended or never ran")
        return self._reader.backtrace(self.os_id, limit, runtime_frames, lines, registers)

    @property
    def roots(self) -> Roots:
        """The references that its frames hold, as the garbage collector would find them, innermost frame first. Raises StaleError; UsageError for a thread
        that has no stack, or without a runtime."""
        if self._reader is None or self.index is None or self.os_id is None:
            raise UsageError("the thread has no stack: it has ended or never ran")
        return self._reader.roots(self.os_id)

    @property
    def waiting_for(self) -> Optional[WaitingFor]:
        """What it waits for, by its stack; None when it runs, and when that is not known. Raises StaleError; UsageError without a runtime."""
        if self._reader is None:
            raise UsageError("this thread was made without a Runtime")
        return self._reader.waiting_for(self.os_id) if self.os_id is not None else None

    @shown
    def __repr__(self) -> str:
        who = f"#{self.index}" if self.index is not None else "without a stack"
        managed = f" managed {self.managed_id}" if self.managed_id is not None else ""
        return f"<Thread {who} os {self.os_id}{managed}{f' {self.name!r}' if self.name else ''}>"

    @classmethod
    def of(cls, row: Json, reader: StackReader) -> Thread:
        def thrown(value: Optional[Json]) -> Optional[ThrownException]:
            return ThrownException(value["type"], value["message"], int(value["address"], 16), value.get("fault"), reader) if value else None
        state = row.get("state")
        return cls(row.get("index"), row["os_id"], row.get("name"), row["selected"], row.get("managed_id"), number(row.get("address")),
                   tuple(state) if state is not None else None, row.get("gc_mode"), thrown(row.get("exception")), thrown(row.get("last_thrown")), row.get("fault"), reader)


class Backtrace(Sequence[Frame]):
    """A stack. Frames are made as they are asked for, and kept."""

    def __init__(self, rows: Rows, reader: CodeReader) -> None:
        self._rows = rows
        self._source = iter(rows)
        self._reader = reader
        self._frames: List[Frame] = []

    def _fill(self, count: Optional[int]) -> None:
        wanted = None if count is None else max(0, count - len(self._frames))
        self._frames.extend(Frame.of(row, self._reader) for row in itertools.islice(self._source, wanted))

    def __iter__(self) -> Iterator[Frame]:
        for i in itertools.count():
            self._fill(i + 1)
            if i >= len(self._frames):
                return
            yield self._frames[i]

    def __len__(self) -> int:
        self._fill(None)
        return len(self._frames)

    @overload
    def __getitem__(self, index: int) -> Frame: ...
    @overload
    def __getitem__(self, index: slice) -> List[Frame]: ...

    def __getitem__(self, index: Union[int, slice]) -> Union[Frame, List[Frame]]:
        self._fill(index + 1 if isinstance(index, int) and index >= 0 else None)
        return self._frames[index]

    @property
    def end(self) -> str:
        """"bottom", "limit", or why the walk ended early."""
        self._fill(None)
        text: str = self._rows.end["end"]
        return text

    @property
    def notes(self) -> Tuple[str, ...]:
        """What was wrong on the way."""
        self._fill(None)
        return tuple(self._rows.end["notes"])

    def __repr__(self) -> str:
        return "\n".join(printable(f"#{frame.index}: {frame.text}") for frame in self) or "<empty Backtrace>"
