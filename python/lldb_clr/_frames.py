"""Frames and exceptions as values, by the rules of _values."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, Mapping, Optional, Tuple

from ._json import Json, number
from ._printable import shown
from ._values import Code, CodeReader, Method, Source


@dataclass(frozen=True)
class Frame:
    """A frame of a stack. ``kind`` is "managed", "native" or "runtime" (an explicit Frame of the runtime, which has no ip)."""
    index: int
    kind: str
    ip: Optional[int]
    sp: Optional[int]
    found_by: str
    """One of context, unwind_info, cfi, frame_pointer, runtime_frame, stub, lldb."""
    text: str
    """The frame as `clrbt` prints it."""
    method: Optional[Method] = None
    module: Optional[str] = None
    symbol: Optional[str] = None
    frame_type: Optional[str] = None
    """"InlinedCallFrame"."""
    repeat: int = 1
    fault: Optional[str] = None
    registers: Optional[Dict[str, int]] = None
    instantiation: Optional[Method] = None
    """The method with its exact type arguments, where ``method`` is code that several instantiations share; None when nothing more is known."""
    instantiation_from: Optional[str] = None
    """What told it: "context_method_desc", "context_method_table", "argument_method_desc", "argument_method_table" or "this"; None when nothing did."""
    folded: Optional[str] = None
    """Why `clrbt` leaves the frame out, which the runtime puts around an async method that it suspends itself: "async_thunk", "async_resumption" or
    "async_helper". None for every other frame."""

    @shown
    def __repr__(self) -> str:
        return f"<Frame #{self.index} {self.kind}: {self.text}>"

    @property
    def how(self) -> str:
        """How the frame was found: ``found_by``."""
        return self.found_by

    @property
    def code(self) -> Optional[Code]:
        return self.method.code if self.method else None

    @property
    def source(self) -> Optional[Source]:
        return self.method.source if self.method else None

    @property
    def offset(self) -> Optional[int]:
        """Of ``ip``, in bytes from the start of the method's body."""
        return self.method.offset if self.method else None

    @property
    def il_offset(self) -> Optional[int]:
        return self.method.il_offset if self.method else None

    @property
    def file(self) -> Optional[str]:
        return self.source.file if self.source else None

    @property
    def line(self) -> Optional[int]:
        return self.source.line if self.source else None

    @classmethod
    def of(cls, json: Json, reader: Optional[CodeReader]) -> Frame:
        ip = number(json.get("ip"))
        method = Method.of(json["method"], reader, json.get("code"), json.get("source"), ip) if "method" in json else None
        registers = {name: int(value, 16) for name, value in json["registers"].items()} if "registers" in json else None
        return cls(json["index"], json["kind"], ip, number(json["sp"]), json["found_by"], json["text"], method, json.get("module"), json.get("symbol"),
                   json.get("frame_type"), json["repeat"], json.get("fault"), registers,
                   Method.of(json["instantiation"]["method"], reader) if "instantiation" in json else None,
                   json["instantiation"]["from"] if "instantiation" in json else None, json.get("folded"))


@dataclass(frozen=True)
class TraceFrame:
    """An element of an exception's stack trace."""
    ip: int
    sp: Optional[int]
    """None: this runtime does not tell."""
    text: str
    method: Method
    instantiation: Optional[Method] = None
    """The method with its exact type arguments, where ``method`` is code that several instantiations share and its frame still stands on the
    stack of the thread on which the exception is in flight; None when nothing more is known."""
    instantiation_from: Optional[str] = None
    """What tells ``instantiation``: as in Frame."""

    @classmethod
    def of(cls, json: Json, reader: Optional[CodeReader]) -> TraceFrame:
        ip = int(json["ip"], 16)
        exact = json.get("instantiation")
        return cls(ip, number(json["sp"]), json["text"], Method.of(json["method"], reader, json.get("code"), json.get("source"), ip),
                   Method.of(exact["method"], reader) if exact else None, exact["from"] if exact else None)


@dataclass(frozen=True)
class ManagedException:
    """An exception object. ``message`` is None when it is null: the type then makes up its own text."""
    address: int
    method_table: int
    type: Optional[str]
    message: Optional[str]
    hresult: Optional[int]
    trace: Tuple[TraceFrame, ...]
    """Throwing frame first."""
    inner: Optional[ManagedException] = None
    inner_exceptions: Tuple[ManagedException, ...] = ()
    """All inner exceptions of an AggregateException, of which ``inner`` is the first; empty for other exceptions."""
    remote_trace: Optional[str] = None
    """Text of a part of the trace that was thrown elsewhere."""
    fault: Optional[str] = None

    @shown
    def __repr__(self) -> str:
        return f"<ManagedException {self.type or 'of unknown type'} at {self.address:#x}: {self.message!r}>"

    @classmethod
    def of(cls, json: Json, known: Mapping[int, ManagedException], reader: Optional[CodeReader]) -> ManagedException:
        """``known`` has the inner exceptions by their addresses."""
        trace = tuple(TraceFrame.of(one, reader) for one in json["trace"])
        inner = number(json.get("inner"))
        aggregated = tuple(known[address] for address in (int(one, 16) for one in json.get("inner_exceptions", ())) if address in known)
        return cls(int(json["address"], 16), int(json["method_table"], 16), json["type"], json["message"], number(json["hresult"]), trace,
                   known.get(inner) if inner is not None else None, aggregated, json.get("remote_trace"), json.get("fault"))
