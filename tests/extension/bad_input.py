"""A live runtime whose self-description is torn in every way, one after the other: the plugin says what is wrong, LLDB stays alive, and
once the bytes are back every command answers again."""
import json
import re


def number(text):
    """The last 0x... of `memory read`'s text."""
    return int(re.findall(r"0x[0-9a-f]+", text)[-1], 16)


def descriptor_of(driver, pid):
    """Addresses and sizes of the live descriptor's parts."""
    (_, info) = driver.run([f"process attach --pid {pid}", "clr info --json"])[:2]
    at = int(json.loads(info)["descriptor"]["address"], 16)
    reads = [f"memory read -s 4 -f x -c 1 {at + 12:#x}", f"memory read -s 8 -f x -c 1 {at + 16:#x}", f"memory read -s 4 -f x -c 1 {at + 24:#x}",
             f"memory read -s 8 -f x -c 1 {at + 32:#x}"]
    size, text, count, slots = (number(t) for t in driver.run([f"process attach --pid {pid}", *reads, "detach"])[1:5])
    return at, size, text, count, slots


def cases(descriptor):
    """Name, address, width, torn value."""
    at, _, text, _, _ = descriptor
    yield "no magic", at, 8, 0
    yield "magic of the other byte order", at, 8, 0x444E434344414300
    yield "flags say nothing", at + 8, 4, 0
    yield "flags say 32 bits", at + 8, 4, 3
    yield "JSON of no bytes", at + 12, 4, 0
    yield "JSON cut short", at + 12, 4, 100
    yield "JSON of 2 GB", at + 12, 4, 0x7FFFFFFF
    yield "JSON of 4 GB", at + 12, 4, 0xFFFFFFFF
    yield "JSON nowhere", at + 16, 8, 0x10
    yield "JSON at the end of the address space", at + 16, 8, 0xFFFFFFFFFFFFFFF0
    yield "JSON that is no JSON", text, 4, 0x5D7D5D7D
    yield "pointer table of 4 billion slots", at + 24, 4, 0xFFFFFFFF
    yield "pointer table of no slots", at + 24, 4, 0
    yield "pointer table nowhere", at + 32, 8, 0x10
    yield "pointer table of zeros", at + 32, 8, at + 0x100000000000


def check(driver, report, tag, pid):
    descriptor = descriptor_of(driver, pid)
    for name, address, width, value in cases(descriptor):
        read = f"memory read -s {width} -f x -c 1 {address:#x}"
        before = number(driver.run([f"process attach --pid {pid}", read, "detach"])[1])
        texts = driver.run([f"process attach --pid {pid}",
                            f"memory write -s {width} {address:#x} {value:#x}",
                            "clr info", "clrip2md $pc", "clrip2md --json 0x1000", "clr methods *Main*", "clr threads", "clrbt", "clr analyze -n 3",
                            f"memory write -s {width} {address:#x} {before:#x}", "clr settings --clear", "clr info", "detach"])
        torn, pc, as_json, methods, threads, stack = texts[2:8]
        report.check(f"{tag} {name}: clr info", torn, "^runtime: ")
        report.check(f"{tag} {name}: clrip2md", pc, "^0x[0-9a-f]+: (no managed method|not known)")
        report.check(f"{tag} {name}: --json", as_json, r'"result":"(miss|fault)"')
        report.check(f"{tag} {name}: clr methods", methods, "^error: |^0x|methods$")
        report.check(f"{tag} {name}: clr threads", threads, "^error: |^index")
        report.check(f"{tag} {name}: clrbt", stack, r"^\* thread #1", r"frame #0: 0x")
        report.check(f"{tag} {name}: and back", texts[11], "^runtime: +CoreCLR")
