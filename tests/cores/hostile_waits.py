"""Cores that do harm to who asks what waits for what: objects of no type, a list that all tasks share, locks without sense, thousands of threads.
Each function damages a Core (hostile_parts.py) of waiting-x64 and returns how much of it. `answers`: what the plugin says of the sound one."""
import random
import struct

from hostile_cases import make_loops, make_threads, place
from hostile_files import make_named_files
from hostile_parts import PAGE

ASKED = ["clr locks --json", "clr async --json", "clr objects --json System.Collections.Generic.List<object>", "clr heap --json"]
COMMANDS = ["clr info", "clr threads", "clrbt -n 30 all", "clr locks", "clr locks --json", "clr deadlocks", "clr deadlocks --json", "clr deadlocks --dot", "clr async", "clr async --json",
            "clr async --tops", "clr async --each", "clr async --each --json", "clr async --faulted", "clrbt --async -n 30 all", "clr pool", "clr timers", "clr analyze -n 5", "clr analyze --json", "clr heap --stat", "clr heap",
            "clr objects *TaskCompletionSource*", "clr retained --by type", "clr statics waiting.dll", "clr report {folder}/page.html", "bt all"]
NO_TYPE = 0x6666_0000_1000   # where nothing is
GROWN = 0x7E00_0000_0000     # where nothing was
BOX, MACHINE = 80, 40        # bytes of `Simple.Equal` and of its state machine, in a Debug build an object of its own


def objects(core):
    """Objects that threads and async methods wait with."""
    return sorted(set(core.structures.pointers["object"]))


def in_core(core, address, size=8):
    try:
        core.offset(address)
        core.offset(address + size - 1)
    except StopIteration:
        return False
    return True


def make_no_types(core, folder):
    """What is waited for has a type that cannot be read."""
    awaited = {int(s["waits_for"]["object"], 16) for s in core.structures.answers["clr async --json"]["stacks"] if s["waits_for"].get("object")}
    found = [a for a in awaited if in_core(core, a)]
    for address in found:
        core.put(address, NO_TYPE)
    return len(found)


def edges(core):
    """(task, its word that leads to who goes on) of awaits: the offset is that of Task.m_continuationObject."""
    for stack in core.structures.answers["clr async --json"]["stacks"]:
        boxes = [int(f["box"], 16) for f in stack["frames"]]
        for task, box in zip(boxes, boxes[1:]):
            for offset in range(8, 64, 8):
                if in_core(core, task + offset) and core.word(task + offset) == box:
                    yield task, offset, box


def make_shared_list(core, folder):
    """Every task leads to one list of two million continuations, all of them the same method."""
    _, offset, box = next(edges(core))
    row = next(r for r in core.structures.answers[ASKED[2]] if in_core(core, int(r["address"], 16), 32) and core.word(int(r["address"], 16) + 8))
    a_list = int(row["address"], 16)
    array = core.word(a_list + 8)
    count = 2 << 20
    # Behind the length of the array its elements: a page of them again and again.
    begin = place(core, struct.pack("<QQ", core.word(array) & ~7, count) + struct.pack("<510Q", *[box] * 510))
    core.add_memory([(begin + PAGE, struct.pack("<512Q", *[box] * 512), count // 512)])
    shared = place(core, struct.pack("<QQIIQ", core.word(a_list) & ~7, begin, count, 0, 0))
    changed = 0
    for task, at, _ in list(edges(core)):
        if at == offset:
            core.put(task + at, shared)
            changed += 1
    return changed


def make_lock_words(core, folder):
    """The word before each object says that somebody holds its lock, or that it has a sync block of any number."""
    chance, count = random.Random(1), 0
    for address in objects(core):
        if in_core(core, address - 4, 4):
            word = chance.choice([1, 5, 0xFFFF, 0x3F_FFFF, 0x0800_0001, 0x0BFF_FFFF, 0x0800_0000 | chance.randrange(64)])
            struct.pack_into("<I", core.bytes, core.offset(address - 4), word)
            count += 1
    return count


def make_fields(seed):
    """Words of these objects lead to other ones of them, to nothing, and count what is not there."""
    def make(core, folder):
        chance, all_objects, count = random.Random(seed), objects(core), 0
        for address in all_objects:
            for offset in range(8, 72, 8):
                if chance.random() < 0.25 and in_core(core, address + offset):
                    core.put(address + offset, chance.choice([0, address, chance.choice(all_objects), 0x7FFF_FFFF, (1 << 64) - 1, NO_TYPE, chance.choice(all_objects) + 8]))
                    count += 1
        return count
    return make


def add_objects(core, data):
    """Objects in a region of large objects that has none."""
    core.add_memory([(GROWN, bytes(40) + data + bytes(-(40 + len(data)) % PAGE), 1)])
    segment = next(s for s in core.structures.answers["clr heap --json"]["heaps"][0]["segments"] if s["generation"] == "loh" and s["begin"] == s["end"])
    region, empty, end = int(segment["address"], 16), int(segment["begin"], 16), GROWN + 40 + len(data)
    for offset in range(0, 40, 8):   # of a heap_segment: allocated, committed, reserved, used, mem
        core.put(region + offset, GROWN + 40 if offset == 32 else end if core.word(region + offset) == empty else end + PAGE & ~(PAGE - 1))


def grow_heap(core, count, who_goes_on, what_is_awaited):
    """`count` more async methods in a region of large objects that has none, by number: who goes on behind each (None: nobody) and which one each awaits
    (None: the source that `Simple.Equal` awaits)."""
    stacks = core.structures.answers["clr async --json"]["stacks"]
    first, caller = (int(f["box"], 16) for f in next(s for s in stacks if s["count"] > 1)["frames"][:2])
    machines = [core.word(box + BOX - 16) for box in (first, caller)]
    awaited = [m + 24 for m in machines]
    words = [struct.unpack("<10Q", core.bytes[core.offset(box):core.offset(box) + BOX]) for box in (first, caller)]
    source, begin = core.word(awaited[0]), GROWN + 40

    def at(number):
        return 0 if number is None else begin + (BOX + MACHINE) * number

    boxes = []
    for i in range(count):
        task = what_is_awaited(i)
        table, _, context, _, _, *flags, _, _ = words[task is not None]
        boxes.append(struct.pack("<15Q", table, 0, context, 0, at(who_goes_on(i)), *flags, at(i) + BOX, 0,
                                 core.word(machines[task is not None]), core.word(machines[task is not None] + 8), at(i), source if task is None else at(task), 0))
    add_objects(core, b"".join(boxes))
    return count


def make_long_chains(core, folder):
    """Half a million async methods that the same 10,000 ones wait for, one behind the other."""
    length = 10_000
    return grow_heap(core, 500_000, lambda i: i + 1 if i < length - 1 else None if i == length - 1 else 0,
                     lambda i: None if i >= length else i - 1 if i else length)


def make_references(core, folder):
    """An array of twelve million references: the text of all would have 800 MB, which LLDB keeps."""
    count = 12_000_000
    row = next(r for r in core.structures.answers[ASKED[2]] if in_core(core, int(r["address"], 16), 32) and core.word(int(r["address"], 16) + 8))
    add_objects(core, struct.pack("<QQ", core.word(core.word(int(row["address"], 16) + 8)) & ~7, count) + struct.pack("<Q", GROWN + 40) * count + bytes(8))
    return count


def make_pairs(core, folder):
    """100,000 async methods, each two of which wait for each other."""
    return grow_heap(core, 100_000, lambda i: i ^ 1, lambda i: i ^ 1)


CASES = {
    "awaited objects of no type": make_no_types,
    "a list that all tasks share": make_shared_list,
    "locks without sense": make_lock_words,
    "fields of tasks and locks": make_fields(1),
    "more fields of tasks and locks": make_fields(2),
    "lists that do not end, with a heap": make_loops,
    "2,000 threads that wait": make_threads,
    "async methods with the same 10,000 callers": make_long_chains,
    "pairs of async methods": make_pairs,
    "twelve million references": make_references,
    "files that a user names": make_named_files,   # clr heap --diff wants a heap
}
# Nine million lines, which `clr refs` prints without --json, cost LLDB 15 seconds to write.
ARRAY = f"{GROWN + 40:#x}"
OWN_COMMANDS = {"twelve million references": ["clr heap --stat", "clr objects -m 1000000", f"clr object {ARRAY}", f"clr refs --json {ARRAY}", f"clr root {ARRAY}", f"clr retained {ARRAY}"]}
CUT = {"twelve million references": "error: the answer is longer than 125 MB"}   # what one of its commands says
