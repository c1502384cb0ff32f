#!/usr/bin/env python3
"""Asks recorded cores of .NET 10 through a descriptor of .NET 11's shape: net11_shape.py CORE_TOOL [CORE...]

The answers must be those through the runtime's own descriptor, but for the differences that expected() names."""
import json
import lzma
import os
import subprocess
import sys
import tempfile

import net11_descriptor

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


def check(tool, core, folder):
    info = ask(tool, "info", core)
    recorded = ask(tool, "descriptor", core)
    with open(net11_descriptor.FROZEN) as frozen:
        made = net11_descriptor.make(recorded, info, json.load(frozen))
    descriptor = os.path.join(folder, "net11.json")
    with open(descriptor, "w") as out:
        json.dump(made, out)
    through = ask(tool, "info", core, descriptor)
    assert "descriptor" not in through, through["descriptor"]
    assert through["supplements"] == [], through["supplements"]
    bad = compared = 0
    for command in ("threads", "stacks", "methods"):
        here, there = ask(tool, command, core), ask(tool, command, core, descriptor)
        compared += len(json.dumps(here))
        for path, one, other in differences(os.path.basename(core).removesuffix(".core"), here, there):
            bad += 1
            if bad <= 20:
                print(f"{os.path.basename(core)} {command} {'/'.join(map(str, path))}: {json.dumps(one)[:300]} -> {json.dumps(other)[:300]}")
    print(f"{os.path.basename(core)}: {compared} bytes of answers, {bad} unexpected differences")
    return bad


def main():
    tool, cores = sys.argv[1], sys.argv[2:]
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        if not cores:
            for name in ("gallery-x64", "gallery-arm64"):
                cores.append(os.path.join(folder, name + ".core"))
                with lzma.open(os.path.join(HERE, name + ".core.xz")) as packed, open(cores[-1], "wb") as out:
                    out.write(packed.read())
        for core in cores:
            bad += check(tool, core, folder)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
