"""The runtime itself and cores that were written, as values, by the rules of _values."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, Optional, Tuple

from ._json import Json, hex_of, number
from ._printable import shown


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

    @shown
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
    """``version`` is None when the descriptor does not list it; ``used``: this library reads through it; ``known``: and can read this version of it."""
    version: Optional[str]
    used: bool
    known: Optional[bool] = None


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

    @shown
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
    """A core that was written: bytes of the file and of memory in it; ``missing`` runs of memory could not be read and are not in it;
    ``left_out`` says what a limit kept out of it."""
    path: str
    size: int
    memory: int
    segments: int
    missing: int
    left_out: Tuple[str, ...] = ()
