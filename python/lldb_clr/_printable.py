"""What a terminal may be given. Names come from the target, so they may hold anything: attributes have the true text, and what is printed has it escaped."""
from __future__ import annotations

import functools
import re
from typing import Callable, Match, TypeVar

_T = TypeVar("_T")

# Control characters (line breaks and tabs, too: one within a name forges a row), marks of direction, separators of lines; and what stands for bytes that are no
# text. The same as in core/memory/utf8.cpp.
_OBEYED = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def _escaped(found: Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}"


def printable(text: str) -> str:
    r"""``text`` for a terminal, as the commands print it: what a terminal obeys is written as ``\xNN`` or ``\uNNNN``."""
    return _OBEYED.sub(_escaped, text)


def shown(method: Callable[[_T], str]) -> Callable[[_T], str]:
    """Makes what a ``__repr__`` or ``__str__`` returns printable. It is to be one line."""
    @functools.wraps(method)
    def text(self: _T) -> str:
        return printable(method(self))
    return text
