#!/usr/bin/env python3
"""What `clr savecore` leaves out at its limits, and that it says so: save_limits.py RECORD_CORE

A recorded core is saved again, each time with one limit that it reaches. Without a limit nothing is left out."""
import lzma
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CORE = HERE / "waiting-x64.core.xz"
PDB = HERE.parent / "fuzz/cores/waiting-x64.pdb.xz"


class Saver:
    def __init__(self, tool, folder):
        self.tool, self.folder = tool, folder
        self.core, self.pdb = (self.unpacked(path) for path in (CORE, PDB))

    def unpacked(self, path):
        out = self.folder / path.name[:-len(".xz")]
        out.write_bytes(lzma.open(path).read())
        return out

    def run(self, *words):
        done = subprocess.run([self.tool, *map(str, words)], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(map(str, words))}: {done.stderr}")
        return done.stdout.splitlines()

    def save(self, *options, name="copy.core"):
        """(bytes of memory that are saved, what is left out, the file)"""
        out = self.folder / name
        first, *left_out = self.run("--values", f"--pdb={self.pdb}", *options, self.core, out)
        return int(re.fullmatch(r".*: (\d+) bytes of memory in \d+ segments", first)[1]), left_out, out


def check(saver):
    whole, left_out, copy = saver.save(name="whole.core")
    assert left_out == [], left_out
    size = saver.pdb.stat().st_size

    stack, left_out, _ = saver.save("--stack=256")
    assert left_out and all(re.fullmatch(r"the stack of thread \d+ is kept to 256 bytes: the values of the frames behind are left out", t) for t in left_out), left_out
    assert stack <= whole, (stack, whole)

    stacks, left_out, _ = saver.save("--stacks=256")
    assert left_out == ["all stacks together are kept to 256 bytes: the values of the other frames are left out"], left_out
    assert stacks <= stack, (stacks, stack)

    frames, left_out, _ = saver.save("--frames=5")
    assert left_out == ["the stacks have more than 5 frames: what the others need is left out"], left_out
    assert frames < whole, (frames, whole)

    objects, left_out, _ = saver.save("--objects=3")
    assert left_out == ["the stacks lead to more than 3 objects: the values of the others are left out"], left_out
    assert objects < whole, (objects, whole)

    _, left_out, _ = saver.save("--object=24")
    assert len(left_out) == 1 and re.fullmatch(r"\d+ objects are kept to 24 bytes: the rest is left out", left_out[0]), left_out

    steps, left_out, _ = saver.save("--steps=20")
    assert left_out == ["what the stacks lead to has more than 20 values: the others are left out"], left_out
    assert steps < whole, (steps, whole)

    _, left_out, _ = saver.save("--heap", "--steps=200")
    others = "what the texts of objects of the other types need beside the heap is left out"
    assert left_out[-1] == f"one object of each type has more than 200 values in all: {others}", left_out

    _, left_out, without = saver.save("--pdbs=1000", name="without.core")
    assert left_out == [f"the PDB of waiting.dll is left out: {size} bytes are too many for the copy"], left_out
    assert without.stat().st_size < copy.stat().st_size

    def of_program(most, core):
        return [line for line in saver.run(f"--pdbs-of-target={most}", core) if line.startswith("waiting.dll: ")]
    assert of_program(size, copy) == ["waiting.dll: waiting.pdb in the core"], of_program(size, copy)
    assert of_program(size - 1, copy) == [f"waiting.dll: its PDB and those of other modules have more than {size - 1} bytes"], of_program(size - 1, copy)
    assert "in the core" not in of_program(size, without)[0], of_program(size, without)
    return f"{whole} bytes of memory, {objects} with 3 objects"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        print(check(Saver(sys.argv[1], pathlib.Path(folder))))


if __name__ == "__main__":
    main()
