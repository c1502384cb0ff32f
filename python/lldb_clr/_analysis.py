"""What is the matter with a process, as values, by the rules of _values."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Tuple

from ._json import Json
from ._printable import shown


@dataclass(frozen=True)
class Analysis:
    """The answer of ``clr analyze`` for one stop."""
    verdict: str
    """"crash", "deadlock", "memory", "starvation", "waiting", "busy", "healthy", "unknown": the gravest."""
    verdicts: Tuple[str, ...]
    """All of them, the gravest first."""
    certain: bool
    """False: by words on the stack, or by what a moment shows."""
    text: str
    """The verdict, and what it means here, in one sentence."""
    evidence: Tuple[str, ...]
    missing: Tuple[str, ...]
    """What could not be looked at, and doubts about what was."""
    thread: Optional[int]
    """Kernel id of the thread at which to look first; None where none is known."""
    why_thread: Optional[str]
    """"it had the signal", "an exception is in flight on it", ..."""

    @shown
    def __repr__(self) -> str:
        return f"<Analysis {self.text}>"

    @classmethod
    def of(cls, json: Json) -> Analysis:
        thread = json.get("thread") or {}
        return cls(json["verdict"], tuple(json["verdicts"]), json["certain"], json["sentence"], tuple(json["evidence"]), tuple(json["missing"]),
                   thread.get("os_id"), thread.get("why"))
