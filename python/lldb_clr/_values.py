"""What is known of a process, as values. The attributes have the names of the fields of the commands' --json; addresses, tokens and hashes, which are
text there, are numbers here. A value that is not known is None; zero and "" are real values. Sizes and offsets are in bytes."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Dict, NamedTuple, Optional, Tuple, Union

from ._errors import Fault, UsageError
from ._library import Json

if TYPE_CHECKING:
    from ._runtime import Runtime


def number(value: Any) -> Optional[int]:
    """The number of a JSON field, "0x..." or a number."""
    if value is None or isinstance(value, int):
        return value
    return int(value, 16)


def hex_of(value: Optional[int]) -> str:
    return "None" if value is None else f"{value:#x}"


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
    start: int
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

    def __repr__(self) -> str:
        return f"<Code {self.kind} {self.tier or 'tier not known'} at {self.start:#x}, {self.size} bytes>"

    @classmethod
    def of(cls, json: Json) -> Code:
        regions = tuple(Region(r["part"], int(r["start"], 16), r["size"]) for r in json["regions"] or ())
        return cls(json["kind"], json["tier"], int(json["start"], 16), json.get("offset"), regions, number(json.get("funclet")), json.get("fault"))


@dataclass(frozen=True)
class Source:
    """Where an instruction comes from. ``file``, ``line`` and ``column`` (from 1) are None without symbols."""
    il_offset: Optional[int]
    file: Optional[str] = None
    line: Optional[int] = None
    column: Optional[int] = None

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

    def __repr__(self) -> str:
        return f"<UnwindInfo {self.source} at {self.address:#x} of {self.name}>"

    @classmethod
    def of(cls, json: Json) -> UnwindInfo:
        return cls(int(json["address"], 16), json["name"], json["source"], tuple(json.get("records", ())), json["cfa"], tuple(json["saved"]))


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
    _runtime: Optional[Runtime] = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        offset = f" + {self.offset}" if self.offset is not None else ""
        return f"<Method {self.module or '?'}`{self.shown_name}{offset}>"

    @property
    def shown_name(self) -> str:
        """For people, as the commands show it: what the user wrote with a mark where a compiler made the method, else the best name that is known."""
        if self.user_method:
            return f"{self.user_method.full_name} [{self.user_method.mark}]"
        return self.full_name or self.name or self.sos_name

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
        if self.code is None:
            raise UsageError(f"{self!r} is only named: no body of it was found here")
        return self._of_runtime().unwind_info(self.address if self.address is not None else self.code.start)

    @property
    def code_versions(self) -> Tuple[CodeVersion, ...]:
        """Every version beside the default one that the runtime keeps, newest first. Raises Fault, StaleError; UsageError when the runtime has no
        MethodDesc of it (ReadyToRun methods that never ran)."""
        if self.method_desc is None:
            raise UsageError(f"{self!r} has no MethodDesc: the runtime never prepared it")
        return self._of_runtime().code_versions(self.method_desc)

    def _of_runtime(self) -> Runtime:
        if self._runtime is None:
            raise UsageError("this Method was made without a Runtime")
        return self._runtime

    @classmethod
    def of(cls, json: Json, runtime: Optional[Runtime], code: Optional[Json] = None, source: Optional[Json] = None, address: Optional[int] = None) -> Method:
        user = json.get("user_method")
        return cls(json["name"], json["full_name"], json["sos_name"], json["signature_known"], json["module"], json.get("module_path"), number(json.get("token")),
                   number(json.get("method_desc")), number(json.get("method_table")), json["name_from"], json["kind"], json.get("degraded"),
                   UserMethod(user["full_name"], user["mark"], number(user["token"])) if user else None,
                   Code.of(code) if code else None, Source.of(source), address, runtime)


@dataclass(frozen=True)
class Miss:
    """No managed method, and why. It is false, so that ``if runtime.method_at(a):`` asks for a method."""
    reason: str
    """"no_runtime", "not_started", "outside", "native", "stub", "precode", "thunk", "helper", "gap", "no_method", "being_deleted"."""
    text: str
    method: Optional[Method] = None
    """Whose precode it is; for a gap the method before it."""
    module: Optional[str] = None
    symbol: Optional[str] = None
    """"libc.so.6`read + 18"."""
    address: Optional[int] = None

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return f"<Miss {self.reason}: {self.symbol or self.text}>"


Owner = Union[Method, Miss, Fault]


def owner_of(json: Json, runtime: Optional[Runtime], address: Optional[int] = None) -> Owner:
    """An element of `clrip2md --json`."""
    if json["result"] == "method":
        return Method.of(json["method"], runtime, json["code"], json.get("source"), address)
    if json["result"] == "miss":
        method = json.get("method")
        return Miss(json["reason"], json["text"], Method.of(method, runtime) if method else None, json.get("module"), json.get("symbol"), address)
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
    def of(cls, json: Json, runtime: Optional[Runtime]) -> Frame:
        ip = number(json.get("ip"))
        method = Method.of(json["method"], runtime, json.get("code"), json.get("source"), ip) if "method" in json else None
        registers = {name: int(value, 16) for name, value in json["registers"].items()} if "registers" in json else None
        return cls(json["index"], json["kind"], ip, number(json["sp"]), json["found_by"], json["text"], method, json.get("module"), json.get("symbol"),
                   json.get("frame_type"), json["repeat"], json.get("fault"), registers)


@dataclass(frozen=True)
class TraceFrame:
    """An element of an exception's stack trace."""
    ip: int
    sp: int
    text: str
    method: Method


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
    remote_trace: Optional[str] = None
    """Text of a part of the trace that was thrown elsewhere."""
    fault: Optional[str] = None

    def __repr__(self) -> str:
        return f"<ManagedException {self.type or 'of unknown type'} at {self.address:#x}: {self.message!r}>"

    @classmethod
    def of(cls, json: Json, inner: Optional[ManagedException], runtime: Optional[Runtime]) -> ManagedException:
        trace = tuple(TraceFrame(int(t["ip"], 16), int(t["sp"], 16), t["text"], Method.of(t["method"], runtime, t.get("code"), t.get("source"), int(t["ip"], 16)))
                      for t in json["trace"])
        return cls(int(json["address"], 16), int(json["method_table"], 16), json["type"], json["message"], number(json["hresult"]), trace, inner,
                   json.get("remote_trace"), json.get("fault"))


@dataclass(frozen=True)
class Module:
    """A module of the runtime; ``methods`` counts those in its metadata."""
    name: Optional[str]
    path: Optional[str]
    address: int
    base: Optional[int]
    r2r: bool
    composite: bool
    methods: Optional[int]
    mvid: Optional[str]

    def __repr__(self) -> str:
        return f"<Module {self.name}{' r2r' if self.r2r else ''} at {hex_of(self.base)}>"

    @classmethod
    def of(cls, json: Json) -> Module:
        return cls(json["name"], json.get("path"), int(json["address"], 16), number(json.get("base")), json["r2r"], json["composite"], json["methods"], json["mvid"])


@dataclass(frozen=True)
class RuntimeVersion:
    name: Optional[str]
    version: Optional[str]
    os: Optional[str]
    cpu: Optional[str]


@dataclass(frozen=True)
class Contract:
    """``version`` is None when the descriptor does not list it; ``used``: this library reads through it."""
    version: Optional[str]
    used: bool


@dataclass(frozen=True)
class Descriptor:
    address: int
    found_in: Optional[str]
    found_by: Optional[str]


@dataclass(frozen=True)
class MemorySource:
    """Where memory came from: pages read from the source, files that stood in for what a core lacks, files that were refused, doubts."""
    source: str
    pages_filled: int
    files: Tuple[str, ...]
    refusals: Tuple[str, ...]
    notes: Tuple[str, ...]


@dataclass(frozen=True)
class Info:
    """What `clr info --json` prints. A count that could not be had is None."""
    schema: int
    runtime: RuntimeVersion
    descriptor: Optional[Descriptor]
    contracts: Dict[str, Contract]
    supplements: Tuple[Json, ...]
    range_sections: Optional[int]
    code_heaps: Optional[int]
    jitted_methods: Optional[int]
    r2r_functions: Optional[int]
    modules: Tuple[Module, ...]
    problems: Tuple[str, ...]
    memory: MemorySource
    absent: Optional[str] = None
    """Why there is no runtime to read; None when there is one."""

    def __repr__(self) -> str:
        if self.absent:
            return f"<Info no runtime: {self.absent}>"
        return f"<Info {self.runtime.name} {self.runtime.version} ({self.runtime.os} {self.runtime.cpu}), {self.jitted_methods} jitted methods, {len(self.modules)} modules>"

    @classmethod
    def of(cls, json: Json) -> Info:
        at = json.get("descriptor")
        memory = json["memory"]
        return cls(json["schema"], RuntimeVersion(**json["runtime"]), Descriptor(int(at["address"], 16), at["found_in"], at["found_by"]) if at else None,
                   {name: Contract(**contract) for name, contract in json["contracts"].items()}, tuple(json["supplements"]), json["range_sections"],
                   json["code_heaps"], json["jitted_methods"], json["r2r_functions"], tuple(Module.of(m) for m in json["modules"]), tuple(json["problems"]),
                   MemorySource(memory["source"], memory["pages_filled"], tuple(memory["files"]), tuple(memory["refusals"]), tuple(memory["notes"])),
                   json.get("absent"))


@dataclass(frozen=True)
class SavedCore:
    """A core that was written: bytes of the file and of memory in it; ``missing`` runs of memory could not be read and are not in it."""
    path: str
    size: int
    memory: int
    segments: int
    missing: int
