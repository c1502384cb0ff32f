#!/usr/bin/env python3
"""Asks recorded cores of .NET 10 through a descriptor of .NET 11's shape: net11_shape.py CORE_TOOL [CORE...]

The answers must be those through the runtime's own descriptor, but for the differences that expected() names."""
import json
import lzma
import os
import struct
import subprocess
import sys
import tempfile

import net11_descriptor
from hostile_parts import Core

CORES = ("gallery-x64", "gallery-arm64", "waiting-x64")
HERE = os.path.dirname(os.path.abspath(__file__))


def expected(core, path, here, there):
    """Whether a difference is one of those that .NET 10's memory must make."""
    key = path[-1] if path else ""
    # This core was recorded without the pages by which the fields of System.Threading.Thread are found.
    if core == "gallery-arm64" and key == "name" and path[0] == "threads" and len(path) == 3:
        return there in (None, "")
    # .NET 11 stores the tier of a default version, .NET 10 does not, and its call counters are not looked for.
    if key == "tier":
        return there is None and here in ("tier0", "optimized")
    # .NET 10 has debug info of another form, and the descriptor does not list the contract.
    if key in ("il_offset", "source", "line", "il", "file"):
        return there is None
    return False


def differences(core, here, there, path=()):
    if isinstance(here, dict) and isinstance(there, dict):
        for key in sorted(set(here) | set(there)):
            yield from differences(core, here.get(key), there.get(key), path + (key,))
    elif isinstance(here, list) and isinstance(there, list) and len(here) == len(there):
        for index, (one, other) in enumerate(zip(here, there)):
            yield from differences(core, one, other, path + (index,))
    elif here != there and not expected(core, path, here, there):
        yield path, here, there


def ask(tool, command, core, descriptor=None, addresses=None):
    environment = dict(os.environ)
    if descriptor:
        environment["CLR_DESCRIPTOR"] = descriptor
    words = [tool, command, core] + ([addresses] if addresses else [])
    done = subprocess.run(words, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words)}: {done.stderr}")
    return json.loads(done.stdout)


def move(core, moved, recorded, threads):
    """Writes a copy of the core in which two things are as .NET 11 has them: the links of the list of threads lead to the
    threads, and not to their own links; each ExInfo holds the exception itself, and not a handle. Returns how many
    exceptions that were."""
    with open(core, "rb") as file:
        copy = Core(file.read())
    move_threads(copy, recorded, threads)
    count = move_thrown_objects(copy, recorded["descriptor"]["types"], threads)
    with open(moved, "wb") as file:
        file.write(copy.bytes)
    return count


def addresses_of(copy, value):
    """Where a word holds `value`."""
    packed = struct.pack("<Q", value)
    for kind, _, offset, start, _, size, _, _ in copy.segments:
        at = copy.bytes.find(packed, offset, offset + size) if kind == 1 else -1
        while at >= 0:
            yield start + at - offset
            at = copy.bytes.find(packed, at + 1, offset + size)


def move_threads(copy, recorded, threads):
    types = recorded["descriptor"]["types"]
    link = net11_descriptor.offset_of(types["Thread"]["LinkNext"])
    first_at = net11_descriptor.offset_of(types["ThreadStore"]["FirstThreadLink"])
    (slot,), _ = recorded["descriptor"]["globals"]["ThreadStore"]
    in_page = int(recorded["pointers"][slot], 16) % 4096
    # A recorded descriptor does not say where the image lies: the list begins in what the runtime's variable leads to.
    (at,) = (place for place in addresses_of(copy, int(threads[0]["address"], 16) + link)
             if any(variable % 4096 == in_page for variable in addresses_of(copy, place - first_at)))
    moved = 0
    while following := copy.word(at):
        struct.pack_into("<Q", copy.bytes, copy.offset_of(at), following - link)
        at, moved = following, moved + 1
    assert moved == len(threads), f"{moved} links lead to {len(threads)} threads"


def move_thrown_objects(copy, types, threads):
    place = {name: net11_descriptor.offset_of(types[name.split(".")[0]][name.split(".")[1]])
             for name in ("Thread.ExceptionTracker", "ExceptionInfo.PreviousNestedInfo", "ExceptionInfo.ThrownObject")}
    count = 0
    for thread in threads:
        record = copy.word(int(thread["address"], 16) + place["Thread.ExceptionTracker"])
        while record:
            slot = record + place["ExceptionInfo.ThrownObject"]
            handle = copy.word(slot)
            thrown = copy.word(handle) if handle else None
            if thrown:
                struct.pack_into("<Q", copy.bytes, copy.offset_of(slot), thrown)
                count += 1
            record = copy.word(record + place["ExceptionInfo.PreviousNestedInfo"])
    return count


def check(tool, core, folder):
    info = ask(tool, "info", core)
    recorded = ask(tool, "descriptor", core)
    with open(net11_descriptor.FROZEN) as frozen:
        made = net11_descriptor.make(recorded, info, json.load(frozen))
    descriptor = os.path.join(folder, "net11.json")
    with open(descriptor, "w") as out:
        json.dump(made, out)
    moved = os.path.join(folder, "moved-" + os.path.basename(core))
    exceptions = move(core, moved, recorded, ask(tool, "threads", core)["threads"])
    through = ask(tool, "info", moved, descriptor)
    assert "descriptor" not in through, through["descriptor"]
    assert through["supplements"] == [], through["supplements"]
    bad = compared = 0
    for command in ("threads", "stacks", "methods", "exceptions"):
        here, there = ask(tool, command, core), ask(tool, command, moved, descriptor)
        compared += len(json.dumps(here))
        for path, one, other in differences(os.path.basename(core).removesuffix(".core"), here, there):
            bad += 1
            if bad <= 20:
                print(f"{os.path.basename(core)} {command} {'/'.join(map(str, path))}: {json.dumps(one)[:300]} -> {json.dumps(other)[:300]}")
    print(f"{os.path.basename(core)}: {compared} bytes of answers, {exceptions} exceptions moved, {bad} unexpected differences")
    return bad, exceptions


def main():
    tool, cores = sys.argv[1], sys.argv[2:]
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        if not cores:
            for name in CORES:
                cores.append(os.path.join(folder, name + ".core"))
                with lzma.open(os.path.join(HERE, name + ".core.xz")) as packed, open(cores[-1], "wb") as out:
                    out.write(packed.read())
        for core in cores:
            found, exceptions = check(tool, core, folder)
            bad += found
            assert exceptions or "gallery" not in core, "no thread has an exception in flight"
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
