#!/usr/bin/env python3
"""Makes a descriptor of .NET 11's shape for a runtime of .NET 10: net11_descriptor.py RECORDED INFO OUT

RECORDED is what `clr info --save-descriptor` wrote of the runtime, INFO what `clr info --json` says of it. The types, globals
and contracts are those of .NET 11 (tests/target/data/net11-frozen.json); the offsets are the runtime's own, and those
of the supplements, which were measured on it. What .NET 10 keeps in another form has the place at which net11_memory.py
puts it; what it does not keep is left out."""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FROZEN = os.path.join(HERE, "..", "target", "data", "net11-frozen.json")

# Fields that .NET 11 renamed: what they are called in .NET 10's descriptor, or in the supplements.
RENAMED = {("AppDomain", "AssemblyList"): ("AppDomain", "DomainAssemblyList"),
           ("Thread", "ExposedObject"): ("Thread", "GCHandle"),
           ("FramedMethodFrame", "MethodDescPtr"): ("FramedMethodFrame", "MethodDesc")}
# The layout of what neither publishes nor lies in the supplements. Source: dotnet/runtime src/coreclr/vm/clrex.h,
# inc/patchpointinfo.h, vm/siginfo.hpp, vm/method.hpp.
MEASURED = {("StackTraceArrayHeader", "!"): 16, ("StackTraceArrayHeader", "Size"): 0,
            ("StackTraceElement", "!"): 32, ("StackTraceElement", "Ip"): 0, ("StackTraceElement", "MethodDesc"): 16, ("StackTraceElement", "Flags"): 24,
            ("PatchpointInfo", "!"): 40, ("PatchpointInfo", "LocalCount"): 16,
            ("Signature", "!"): 16, ("Signature", "SignaturePointer"): 0, ("Signature", "SignatureLength"): 8,
            ("NonVtableSlot", "!"): 8, ("MethodImpl", "!"): 16, ("NativeCodeSlot", "!"): 8}
# Where net11_memory.py puts what .NET 10 does not keep there.
MOVED = {("MethodDescCodeData", "OptimizationTier"): 16, ("AsyncMethodData", "Flags"): 0, ("AsyncMethodData", "Signature"): 8}
DIRECT = {"ArrayBaseSize": 24, "FieldOffsetBigRVA": (1 << 27) - 6, "FieldOffsetDynamicRVA": (1 << 27) - 7, "FieldOffsetNewEnc": (1 << 27) - 5,
          "FeatureOnStackReplacement": 1, "FeatureComWrappers": 1, "RecommendedReaderVersion": 1}
TEXTS = {"OperatingSystem": "Unix", "RuntimeFlavor": "Coreclr", "RuntimeProductVersionString": "10.0.12"}


def offset_of(field):
    return field[0] if isinstance(field, list) else field


def known_layouts(recorded, info):
    """(type, field) -> offset; the field "!" is the size."""
    known = MEASURED | MOVED
    for name, fields in recorded["descriptor"]["types"].items():
        for field, value in fields.items():
            known[name, field] = offset_of(value)
    for row in info["supplements"]:
        known.setdefault((row["type"], row["field"]), row["value"])
    for new, old in RENAMED.items():
        if old in known:
            known[new] = known[old]
    # arm64: .NET 11 publishes the registers of HijackArgs one by one.
    within = known.get(("HijackArgs", "CalleeSavedRegisters"))
    for (name, field), value in list(known.items()):
        if name == "CalleeSavedRegisters" and field != "!" and within is not None:
            known.setdefault(("HijackArgs", field), within + value)
    return known


def make(recorded, info, frozen):
    known = known_layouts(recorded, info)
    arm64 = info["runtime"]["cpu"] == "arm64"
    types = dict(frozen["types"])
    if arm64:
        types.update({name: type for name, type in frozen["linux_arm64"]["types"].items()})
    out = {"version": 2, "baseline": "empty", "types": {}, "globals": {}, "contracts": {}}
    for name, described in types.items():
        if described is None:
            continue
        made = {}
        if described["size"] and (name, "!") in known:
            made["!"] = known[name, "!"]
        made.update({field: known[name, field] for field in described["fields"] if (name, field) in known})
        out["types"][name] = made
    old_globals = recorded["descriptor"]["globals"]
    for name, kind in frozen["globals"].items():
        if name in TEXTS:
            out["globals"][name] = [TEXTS[name], "string"]
        elif name in DIRECT:
            out["globals"][name] = [hex(DIRECT[name]), kind]
        elif name in old_globals:
            out["globals"][name] = old_globals[name]
    out["contracts"] = dict(frozen["contracts"])
    return dict(recorded, descriptor=out)


def main():
    recorded, info, place = sys.argv[1:]
    with open(recorded) as one, open(info) as two, open(FROZEN) as three:
        made = make(json.load(one), json.load(two), json.load(three))
    with open(place, "w") as out:
        json.dump(made, out, indent=1)


if __name__ == "__main__":
    main()
