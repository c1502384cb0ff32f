#!/usr/bin/env python3
"""Asks recorded cores of .NET 10 through a descriptor of .NET 11's shape: net11_shape.py CORE_TOOL [CORE...]

What .NET 11 keeps in another form, a copy of the core is given in that form (net11_memory.py). The answers must be those through
the runtime's own descriptor, but for the differences that EXPECTED lists."""
import json
import lzma
import os
import re
import subprocess
import sys
import tempfile

import net11_descriptor
import net11_memory

CORES = ("gallery-x64", "gallery-arm64", "suspended-x64", "waiting-x64")
HERE = os.path.dirname(os.path.abspath(__file__))


# What .NET 10 cannot be made to hold, of a core: (the core, where in an answer, whether the two values differ so).
EXPECTED = [
    # It was recorded without the page of CoreLib's metadata that has the names of the fields of System.Threading.Thread, by which .NET 11's
    # are found; .NET 10's are known by a supplement. Where there is no name, that of the thread in the system is shown.
    ("gallery-arm64", r".*/\d+/name", lambda here, there: there in (None, "", "situations")),
    # The locks of sync blocks are objects of .NET 11's own, which .NET 10 has none of, and what a thread says of its wait lies elsewhere: without
    # them a wait is what the stack tells, which is called probable. waiting11-x64, a core of such a runtime, has them.
    ("waiting-x64", r".*/waits_for", lambda here, there: here["certain"] >= there["certain"] is False),
]


def expected(core, path, here, there):
    """Whether a difference is one of those that .NET 10's memory must make."""
    return any(core == of and re.fullmatch(where, "/".join(map(str, path))) and differ(here, there) for of, where, differ in EXPECTED)


def differences(core, here, there, path=()):
    if here == there or expected(core, path, here, there):
        return
    if isinstance(here, dict) and isinstance(there, dict):
        for key in sorted(set(here) | set(there)):
            yield from differences(core, here.get(key), there.get(key), path + (key,))
    elif isinstance(here, list) and isinstance(there, list) and len(here) == len(there):
        for index, (one, other) in enumerate(zip(here, there)):
            yield from differences(core, one, other, path + (index,))
    else:
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


COMMANDS = ("threads", "stacks", "methods", "exceptions")


def prepare(tool, core, folder):
    """Writes a copy of the core in which all is as .NET 11 has it, and the descriptor for it: (copy, descriptor, answers of the core itself, what was moved)."""
    info, recorded = ask(tool, "info", core), ask(tool, "descriptor", core)
    answers = {command: ask(tool, command, core) for command in COMMANDS}
    with open(net11_descriptor.FROZEN) as frozen:
        made = net11_descriptor.make(recorded, info, json.load(frozen))
    descriptor = os.path.join(folder, "net11.json")
    with open(descriptor, "w") as out:
        json.dump(made, out)
    mover = net11_memory.Mover(core, recorded, info, answers)
    moved = mover.move(ask(tool, "sections", core))
    copy = os.path.join(folder, "moved-" + os.path.basename(core))
    mover.memory.save(copy)
    return copy, descriptor, answers, moved


def check(tool, core, folder):
    copy, descriptor, answers, moved = prepare(tool, core, folder)
    through = ask(tool, "info", copy, descriptor)
    assert "descriptor" not in through, through["descriptor"]
    assert through["supplements"] == [], through["supplements"]
    bad = compared = 0
    for command, here in answers.items():
        there = ask(tool, command, copy, descriptor)
        compared += len(json.dumps(here))
        for path, one, other in differences(os.path.basename(core).removesuffix(".core"), here, there):
            bad += 1
            if bad <= 20:
                print(f"{os.path.basename(core)} {command} {'/'.join(map(str, path))}: {json.dumps(one)[:300]} -> {json.dumps(other)[:300]}")
    print(f"{os.path.basename(core)}: {compared} bytes of answers, {', '.join(f'{count} {what}' for what, count in moved.items())} moved, {bad} unexpected differences")
    return bad, moved["exceptions"]


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
