"""What is known of code, as values. The attributes have the names of the fields of the commands' --json; addresses, tokens and hashes, which are
text there, are numbers here. A value that is not known is None; zero and "" are real values. Sizes and offsets are in bytes."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Optional, Protocol, Tuple, Union

from ._errors import Fault, UsageError
from ._gc import GcInfo
from ._json import Json, hex_of, number
from ._printable import shown


@dataclass(frozen=True)
class Region:
    """One contiguous part of a body: ``part`` is "hot" or "cold", [start, start + size)."""
    part: str
    start: int
    size: int

    @property
    def end(self) -> int:
        """Behind the last byte."""
        return self.start + self.size

    def __repr__(self) -> str:
        return f"<Region {self.part} [{self.start:#x}, {self.end:#x})>"


@dataclass(frozen=True)
class Code:
    """One body of a method. ``kind`` is "jitted", "r2r" or "interpreted"; ``tier`` "tier0", "tier1", "osr", "optimized", "minopts", "instrumented",
    "instrumented_optimized", "r2r", or None where memory does not tell it."""
    kind: str
    tier: Optional[str]
    start: Optional[int]
    """None where memory lacks what tells it; ``fault`` says what."""
    offset: Optional[int] = None
    """Of the address that was asked for, from ``start``; hot and cold parts linearised."""
    regions: Tuple[Region, ...] = ()
    """Hot first; empty when ``fault`` says why."""
    funclet: Optional[int] = None
    """Start of the funclet that holds the address; None in the main body."""
    fault: Optional[str] = None

    @property
    def size(self) -> int:
        """Bytes of all regions."""
        return sum(region.size for region in self.regions)

    @shown
    def __repr__(self) -> str:
        where = "at an unknown place" if self.start is None else f"at {self.start:#x}"
        return f"<Code {self.kind} {self.tier or 'tier not known'} {where}, {self.size} bytes>"

    @classmethod
    def of(cls, json: Json) -> Code:
        regions = tuple(Region(r["part"], int(r["start"], 16), r["size"]) for r in json["regions"] or ())
        return cls(json["kind"], json["tier"], number(json["start"]), json.get("offset"), regions, number(json.get("funclet")), json.get("fault"))


@dataclass(frozen=True)
class Source:
    """Where an instruction comes from. ``file``, ``line`` and ``column`` (from 1) are None without symbols."""
    il_offset: Optional[int]
    file: Optional[str] = None
    line: Optional[int] = None
    column: Optional[int] = None

    @shown
    def __repr__(self) -> str:
        return f"<Source {self.file}:{self.line}:{self.column}>" if self.file else f"<Source IL {hex_of(self.il_offset)}>"

    @classmethod
    def of(cls, json: Optional[Json]) -> Optional[Source]:
        return None if json is None else cls(json["il_offset"], json.get("file"), json.get("line"), json.get("column"))


@dataclass(frozen=True)
class UserMethod:
    """What the user wrote, of a method that a compiler made; ``mark`` says what it became, "async"."""
    full_name: str
    mark: str
    token: Optional[int]


@dataclass(frozen=True)
class CodeVersion:
    """A version of a method that the runtime keeps beside the default one. ``start`` is None while it is not compiled."""
    node: int
    start: Optional[int]
    tier: Optional[str]
    active: bool
    il_version: int

    @shown
    def __repr__(self) -> str:
        return f"<CodeVersion {self.tier} at {hex_of(self.start)}{' active' if self.active else ''}>"


@dataclass(frozen=True)
class UnwindInfo:
    """Unwind data at an address. ``source`` is "unwind_info" (``records`` are then the runtime function and those that it is chained to) or "cfi";
    ``cfa`` is {"register", "offset"}, None in the outermost frame; ``saved`` where each saved register lies."""
    address: int
    name: str
    source: str
    records: Tuple[Json, ...]
    cfa: Optional[Json]
    saved: Tuple[Json, ...]

    @shown
    def __repr__(self) -> str:
        return f"<UnwindInfo {self.source} at {self.address:#x} of {self.name}>"

    @classmethod
    def of(cls, json: Json) -> UnwindInfo:
        return cls(int(json["address"], 16), json["name"], json["source"], tuple(json.get("records", ())), json["cfa"], tuple(json["saved"]))


class CodeReader(Protocol):
    """Reads what a Method does not hold itself. Runtime is one; values name only this, because Runtime is made of values and imports must not go round."""

    def unwind_info(self, address: int) -> UnwindInfo: ...

    def gc_info(self, address: int) -> GcInfo: ...

    def code_versions(self, method_desc: int) -> Tuple[CodeVersion, ...]: ...


@dataclass(frozen=True)
class Method:
    """A method, and the body that was found of it."""
    name: Optional[str]
    """"Ns.Outer+Inner.Run": no generic arguments, no parameters."""
    full_name: Optional[str]
    """"Ns.Outer.Inner<int>.Run<string>(int, string[])"."""
    sos_name: str
    """As SOS and dotnet-dump print it."""
    signature_known: bool
    module: Optional[str]
    module_path: Optional[str]
    token: Optional[int]
    method_desc: Optional[int]
    method_table: Optional[int]
    name_from: str
    """"memory", "assembly", "symbols" or "token"."""
    kind: str
    """"il", "fcall", "pinvoke", "instantiated", "array", "dynamic", "il_stub", "delegate", "async_thunk", ..."""
    degraded: Optional[str] = None
    """Why the name is not better or not certain."""
    user_method: Optional[UserMethod] = None
    code: Optional[Code] = None
    """None where a method is only named: explicit Frames, precodes."""
    source: Optional[Source] = None
    address: Optional[int] = None
    """That was asked for."""
    _reader: Optional[CodeReader] = field(default=None, repr=False, compare=False)
    runtime_async: bool = False
    """The user's body of an async method that the runtime itself suspends, or of one that returns a task, as it was compiled for those who await it."""

    @shown
    def __repr__(self) -> str:
        offset = f" + {self.offset}" if self.offset is not None else ""
        return f"<Method {self.module or '?'}`{self.shown_name}{offset}>"

    @property
    def shown_name(self) -> str:
        """For people, as the commands show it: what the user wrote with a mark where a compiler made the method, else the best name that is known."""
        if self.user_method:
            return f"{self.user_method.full_name} [{self.user_method.mark}]"
        name = self.full_name or self.name or self.sos_name
        return f"{name} [async thunk]" if self.kind == "async_thunk" else f"{name} [async]" if self.runtime_async else name

    @property
    def regions(self) -> Tuple[Region, ...]:
        """Hot and cold parts of the body; empty without one."""
        return self.code.regions if self.code else ()

    @property
    def offset(self) -> Optional[int]:
        """Of the address, in bytes from the body's start."""
        return self.code.offset if self.code else None

    @property
    def il_offset(self) -> Optional[int]:
        return self.source.il_offset if self.source else None

    @property
    def unwind_info(self) -> UnwindInfo:
        """Unwind data of the address that was asked for, or of the body's start. Raises Fault, StaleError; UsageError without a body."""
        return self._its_reader().unwind_info(self._its_address())

    @property
    def gc_info(self) -> GcInfo:
        """What the garbage collector knows of the body, and of the address that was asked for. Raises Fault, StaleError; UsageError without a body."""
        return self._its_reader().gc_info(self._its_address())

    @property
    def code_versions(self) -> Tuple[CodeVersion, ...]:
        """Every version beside the default one that the runtime keeps, newest first. Raises Fault, StaleError; UsageError when the runtime has no
        MethodDesc of it (ReadyToRun methods that never ran)."""
        if self.method_desc is None:
            raise UsageError(f"{self!r} has no MethodDesc: the runtime never prepared it")
        return self._its_reader().code_versions(self.method_desc)

    def _its_address(self) -> int:
        """That which was asked for, or the start of the body. Raises UsageError without either."""
        if self.code is None:
            raise UsageError(f"{self!r} is only named: no body of it was found here")
        address = self.code.start if self.address is None else self.address
        if address is None:
            raise UsageError(f"{self!r} has a body, but not its place: {self.code.fault}")
        return address

    def _its_reader(self) -> CodeReader:
        if self._reader is None:
            raise UsageError("this Method was made without a Runtime")
        return self._reader

    @classmethod
    def of(cls, json: Json, reader: Optional[CodeReader], code: Optional[Json] = None, source: Optional[Json] = None, address: Optional[int] = None) -> Method:
        user = json.get("user_method")
        return cls(json["name"], json["full_name"], json["sos_name"], json["signature_known"], json["module"], json.get("module_path"), number(json.get("token")),
                   number(json.get("method_desc")), number(json.get("method_table")), json["name_from"], json["kind"], json.get("degraded"),
                   UserMethod(user["full_name"], user["mark"], number(user["token"])) if user else None,
                   Code.of(code) if code else None, Source.of(source), address, reader, json.get("runtime_async", False))


@dataclass(frozen=True)
class Miss:
    """No managed method, and why. It is false, so that ``if runtime.method_at(a):`` asks for a method."""
    reason: str
    """"no_runtime", "nativeaot", "not_started", "outside", "native", "stub", "precode", "thunk", "helper", "gap", "no_method", "being_deleted"."""
    text: str
    method: Optional[Method] = None
    """Whose precode it is; for a gap the method before it."""
    module: Optional[str] = None
    symbol: Optional[str] = None
    """"libc.so.6`read + 18"."""
    address: Optional[int] = None

    def __bool__(self) -> bool:
        return False

    @shown
    def __repr__(self) -> str:
        return f"<Miss {self.reason}: {self.symbol or self.text}>"


Owner = Union[Method, Miss, Fault]


def owner_of(json: Json, reader: Optional[CodeReader], address: Optional[int] = None) -> Owner:
    """An element of `clrip2md --json`."""
    if json["result"] == "method":
        return Method.of(json["method"], reader, json["code"], json.get("source"), address)
    if json["result"] == "miss":
        method = json.get("method")
        return Miss(json["reason"], json["text"], Method.of(method, reader) if method else None, json.get("module"), json.get("symbol"), address)
    return Fault(json["text"], json["reason"], number(json.get("at")))


class Symbol(NamedTuple):
    """A row of Runtime.symbolize."""
    address: int
    owner: Owner
    """One object for all addresses of a body: its ``code.offset``, ``address`` and ``source`` are None."""
    offset: Optional[int]
    """Bytes from the start of the method's body; None when the owner is no method."""
    source: Optional[Source]
    """None unless lines were asked for."""

    @property
    def name(self) -> str:
        """For people: Method.shown_name, or the native symbol, or the reason."""
        if isinstance(self.owner, Method):
            return self.owner.shown_name
        if isinstance(self.owner, Miss):
            return self.owner.symbol or f"[{self.owner.reason}]"
        return f"[{self.owner.reason}]"
