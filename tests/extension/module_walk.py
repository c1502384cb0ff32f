"""Runs inside LLDB: goes through all modules of the selected target by LLDB's Python API, and prints what is strange about those that hold managed
code. `command script import module_walk.py` runs it. The last line counts."""
import lldb


def problems_of(module, target):
    """What is strange about one published module."""
    if not module.IsValid() or not module.GetFileSpec().GetFilename() or not module.GetTriple().startswith(target.GetTriple().split("-")[0]):
        yield "no name or no triple"
    if len(module.GetUUIDString() or "") != 36:
        yield "no UUID"
    base = module.GetObjectFileHeaderAddress().GetLoadAddress(target)
    code = [leaf for section in module.section_iter() for leaf in ([section.GetSubSectionAtIndex(i) for i in range(section.GetNumSubSections())] or [section])
            if leaf.GetSectionType() == lldb.eSectionTypeCode]
    if not code or base != code[0].GetLoadAddress(target):
        yield f"its base {base:#x} is not its first section"
    for section in code:
        start = section.GetLoadAddress(target)
        if start == lldb.LLDB_INVALID_ADDRESS or start != section.GetFileAddress() or not section.GetByteSize():
            yield f"section {section.GetName()} is not where it says"
        elif target.ResolveLoadAddress(start).GetModule() != module or module.ResolveFileAddress(start).GetSection() != section:
            yield f"section {section.GetName()} is not found by its address"
    for symbol in (module.GetSymbolAtIndex(i) for i in range(module.GetNumSymbols())):
        start, end = symbol.GetStartAddress().GetLoadAddress(target), symbol.GetEndAddress().GetLoadAddress(target)
        if not symbol.GetName() or not start < end:
            yield f"symbol {symbol.GetName()} has no range"
        elif target.ResolveLoadAddress(start).GetModule() != module:
            yield f"symbol {symbol.GetName()} is not found by its address"
    for i in range(module.GetNumCompileUnits()):
        unit = module.GetCompileUnitAtIndex(i)
        if not unit.IsValid() or any(not entry.IsValid() for entry in unit):
            yield f"unit {i} cannot be gone through"
        unit.GetTypes()
    module.FindFirstType("System.String"), module.FindTypes("System.String"), module.GetTypes(), module.FindFunctions("Main"), module.FindGlobalVariables(target, "x", 1)
    if not lldb.SBModule(module).IsValid() or str(module) == "":
        yield "no description"


def walk(target):
    published = [module for module in target.module_iter() if "lldb-clr-published-" in (module.GetFileSpec().GetDirectory() or "")]
    strange = 0
    for module in published:
        for problem in problems_of(module, target):
            strange += 1
            print(f"STRANGE {module.GetFileSpec().GetFilename()}: {problem}")
    stream = lldb.SBStream()
    target.GetDescription(stream, lldb.eDescriptionLevelVerbose)
    target.GetProcess().GetDescription(stream)
    target.GetStatistics().GetAsJSON(stream)
    print(f"WALKED {len(published)} modules, {strange} strange")


def __lldb_init_module(debugger, _):
    walk(debugger.GetSelectedTarget())
