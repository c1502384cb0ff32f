"""LLDB's own `disassemble` of a managed method: calls are annotated with the names of the methods, those of the source and as `clr u` has them,
where code refers to a stub of the runtime or to the cell of one."""
import json
import re

import check_dap
from check_lldb_into import Launched
from results import Examples

# What the method calls that is stopped in, by the source; not all of these have run yet.
CALLED = ["Edited.Program.Kept()", "Edited.Program.Numbers()", "Edited.Program.Later(int)", "Edited.Program.Fail()", "Edited.Program.Deep(int)"]
STUB = " [fixup precode]"


def annotations(text):
    """What LLDB says behind the instructions that call, by address."""
    return {int(found[1], 16): found[2] or "" for found in re.finditer(r"^(?:->)? *(0x[0-9a-f]+) <\+\d+>: *call\w* [^;\n]*(?:; (.*))?$", text, re.M)}


def check(lldb, program, environment):
    target = Launched(program, environment, check_dap.line_of("Interface"), "steps")
    whole, named, ours, listed = lldb.run(target, ["disassemble", "disassemble -c 2000 -s $pc", "clr u --json", "breakpoint list"], 120)
    wrong, compared = Examples(), 0
    said = annotations(whole)
    for name in CALLED:
        if name not in said.values():
            wrong.add("a call of the source is not annotated", name)
    for address, text in said.items():
        if "[fixup precode] +" in text:
            wrong.add("a call is annotated with a stub's offset", f"{address:#x}: {text}")
    behind = annotations(named)
    for instruction in json.loads(ours)["instructions"]:
        address, name = int(instruction["address"], 16), instruction.get("target", {}).get("name", "")
        # Where the cell leads for the time being is no matter of its name.
        name = name.removeprefix("call counting stub of ")
        # LLDB names an address that is in the instruction, and of a cell the cell's.
        if not re.search(r"\)( \[fixup precode\])?$", name) or "cell" in instruction["target"] and "(%rip)" not in instruction["text"] or address not in said:
            continue
        if STUB not in name and "cell" not in instruction["target"]:
            continue
        compared += 1
        for where, texts in (("the method", said), ("what follows", behind)):
            if address in texts and texts[address].removesuffix(STUB) != name.removesuffix(STUB):
                wrong.add(f"{where} is annotated otherwise than by clr u", f"{address:#x}: {texts[address]} for {name}")
    if compared < len(CALLED):
        wrong.add("clr u names few calls", f"{compared}")
    if re.search(r"^\d+:", listed, re.M):
        wrong.add("breakpoints that the user did not set are listed", listed[:300])
    return wrong.require_none(f"{compared} calls named as clr u names them, {len(said)} calls")
