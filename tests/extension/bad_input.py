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
    """Name, address, width, torn value, what `clr info` says of it."""
    at, _, text, _, _ = descriptor
    yield "no magic", at, 8, 0, "wrong magic at 0x"
    yield "magic of the other byte order", at, 8, 0x444E434344414300, "with flags 0x1000000 at 0x"
    yield "flags say nothing", at + 8, 4, 0, "with flags 0x0 at 0x"
    yield "flags say 32 bits", at + 8, 4, 3, "memory at 0x[0-9a-f]{1,8} is not available"
    yield "JSON of no bytes", at + 12, 4, 0, "JSON: .*unexpected end of input"
    yield "JSON cut short", at + 12, 4, 100, "JSON: .*at line 1, column 101"
    yield "JSON of 2 GB", at + 12, 4, 0x7FFFFFFF, "with 2147483647 bytes of JSON"
    yield "JSON of 4 GB", at + 12, 4, 0xFFFFFFFF, "with 4294967295 bytes of JSON"
    yield "JSON nowhere", at + 16, 8, 0x10, "memory at 0x10 is not available"
    yield "JSON at the end of the address space", at + 16, 8, 0xFFFFFFFFFFFFFFF0, "memory at 0xfffffffffffffff0 is not available"
    yield "JSON that is no JSON", text, 4, 0x5D7D5D7D, "JSON: .*unexpected '}'"
    yield "pointer table of 4 billion slots", at + 24, 4, 0xFFFFFFFF, "with 4294967295 pointers"
    yield "pointer table of no slots", at + 24, 4, 0, "is pointer [0-9]+ of 0"
    yield "pointer table nowhere", at + 32, 8, 0x10, "memory at 0x10 is not available"
    yield "pointer table that is not mapped", at + 32, 8, at + 0x100000000000, "memory at 0x[0-9a-f]+ is not available"


# Where the runtime is one whose layouts are known, commands still answer, by g_dacTable; the tear is told all the same.
def check(driver, report, tag, pid):
    tears = list(cases(descriptor_of(driver, pid)))
    reads = [f"memory read -s {width} -f x -c 1 {address:#x}" for _, address, width, _, _ in tears]
    before = driver.run([f"process attach --pid {pid}", *reads, "detach"])[1:-1]
    for (name, address, width, value, problem), intact in zip(tears, before, strict=True):
        # Both stacks in one stop: a server that waits wakes up now and then.
        texts = driver.run([f"process attach --pid {pid}", "clrbt --managed all",
                            f"memory write -s {width} {address:#x} {value:#x}", "clr settings --clear",
                            "clr info", "clrip2md $pc", "clrip2md --json 0x1000", "clr methods *Main*", "clr threads", "clrbt", "clrbt --managed all",
                            "clr analyze -n 3",
                            f"memory write -s {width} {address:#x} {number(intact):#x}", "clr settings --clear", "clr info", "detach"])
        whole = texts[1]
        torn, pc, as_json, methods, threads, stack, managed, analysis = texts[4:12]
        report.check(f"{tag} {name}: clr info", torn, "^runtime: ", f"^problem: .*{problem}")
        report.check(f"{tag} {name}: clrip2md", pc, "^0x[0-9a-f]+: no managed method")
        report.check(f"{tag} {name}: --json", as_json, r'"result":"miss","reason":"outside"')
        report.check(f"{tag} {name}: clr methods", methods, r"^0x[0-9a-f]+ .*Main", "methods$")
        report.check(f"{tag} {name}: clr threads", threads, r"^index", r"^ *\*? *#\d+ +\d+ ")
        report.check(f"{tag} {name}: clrbt", stack, r"^\* thread #1", r"frame #0: 0x")
        report.check(f"{tag} {name}: same managed frames", named(managed), "^" + re.escape(named(whole) or "some") + "$")
        report.check(f"{tag} {name}: clr analyze", analysis, "thread")
        report.check(f"{tag} {name}: and back", texts[14], "^runtime: +CoreCLR", absent=[problem])


def named(stacks):
    """The managed frames of the first thread that has some. It need not be thread #1: LLDB numbers threads by their ids, which begin again."""
    for thread in re.split(r"^[* ] thread #\d+", stacks, flags=re.M):
        if frames := re.findall(r"[\w.]+\.dll`[^\n]*", thread):
            return " | ".join(frames)
    return ""
