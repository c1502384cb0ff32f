"""What can go wrong, as exceptions."""
from __future__ import annotations

from typing import Optional

from ._printable import shown


class Error(Exception):
    """Anything that this package raises by itself. Its text may hold names of the target; printed, they are escaped."""

    @shown
    def __str__(self) -> str:
        return super().__str__()


class Fault(Error):
    """The target's memory is missing or contradicts itself, or its runtime is of a kind that is not implemented.

    ``reason`` is ``"memory_missing"``, ``"corrupt"``, ``"unsupported_contract"`` or ``"register_unknown"``; ``at`` is the target address that failed, where there is one.
    Bulk lookups give a fault as the value of its row; everything else raises it.
    """

    def __init__(self, text: str, reason: str = "corrupt", at: Optional[int] = None) -> None:
        super().__init__(text)
        self.text = text
        self.reason = reason
        self.at = at

    @shown
    def __repr__(self) -> str:
        where = "" if self.at is None else f" at {self.at:#x}"
        return f"<Fault {self.reason}{where}: {self.text}>"


class StaleError(Error):
    """The process has run, or is gone, since the Runtime was made: make a new one at each stop."""


class UsageError(Error, ValueError):
    """What was asked for cannot be: no such thread, no runtime in the process, the process is running."""


class BusyError(Error):
    """Another command is at work on the same process; the same call succeeds once that has ended."""


class Interrupted(Error):
    """The user stopped the work before it was done."""


class FileError(Error, OSError):
    """A file of this host cannot be read or written."""


class LibraryError(Error):
    """The native library or LLDB's Python cannot be used; the text says what to do."""
