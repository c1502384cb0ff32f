#!/usr/bin/env python3
"""Judges the variants of a descriptor of .NET 11's shape: net11_variants.py FOLDER_OF_TOOLS [CORE [NAME]]

Each field, size, type, global and contract is taken out alone, and each contract gets a version that nobody knows. An
answer must be the one through the whole descriptor, or be poorer and say so: null, a miss, or a sentence that tells what
is missing. A list that is shorter needs a sentence, too."""
import json
import lzma
import os
import subprocess
import sys
import tempfile

import net11_descriptor
import net11_shape

# Those of .NET 11 with their own descriptor.
CORES = ("gallery-x64", "suspended-x64", "waiting-x64", "gallery11-x64", "waiting11-x64")
HERE = os.path.dirname(os.path.abspath(__file__))
SENTENCES = ("fault", "degraded", "problem", "notes", "end", "reason", "metadata_note")
# Texts that are composed of the others, and the place of a row in its list.
COMPOSED = ("text", "index", "repeat")
NAMES = ("name", "full_name", "sos_name", "shown", "symbol", "user", "type")


def sentences(value):
    """Every sentence within an answer."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in SENTENCES and inner:
                yield from [inner] if isinstance(inner, str) else map(str, inner)
            elif key == "text" and ("miss" in value or "reason" in value):
                yield str(inner)
            else:
                yield from sentences(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from sentences(inner)


def poorer_name(name):
    return name is None or name.startswith("<") or "!0x" in name or "!MethodDesc" in name or "?" in name or name == ""


# How an answer says that something is not known, where that is no null. A chain of which only the framework's methods are
# known is called plumbing; the lock of an object is the object of another type then.
UNKNOWN = {"signature_known": (False,), "frame_type": ("Frame",), "kind": ("unknown", "lock", "awaiter"), "module": ("?",),
           "owner_known": (False,), "certain": (False,), "plumbing": (True,)}


class Judge:
    def __init__(self, names):
        self.names = names
        self.wrong = []    # a value that is another one, or lacks without a sentence
        self.unnamed = []  # the sentence does not tell what is missing

    def excused(self, whole, other):
        """Whether `other` says something that `whole` does not."""
        said = set(sentences(other)) - set(sentences(whole))
        if not said:
            return False
        # That a file stands in, and the number of a Frame's kind, are what can be told.
        told = [text for text in said if "is from the file on this host" not in text]
        if "Identifier" in self.names[0]:
            told = [text for text in told if "its identifier 0x" not in text]
        if told and not any(name in text for text in told for name in self.names):
            self.unnamed.append(sorted(told)[0])
        return True

    def compare(self, path, whole, other, excuse=False):
        if whole == other or other is None:
            return
        if isinstance(other, dict) and (set(other) == {"fault"} or (other.get("result") == "fault" and not isinstance(whole, dict))):
            self.excused(whole, other)
            return
        if isinstance(whole, dict) and isinstance(other, dict):
            return self.objects(path, whole, other, excuse)
        if isinstance(whole, list) and isinstance(other, list):
            return self.lists(path, whole, other, excuse)
        key = path[-1] if path else ""
        if key in COMPOSED or key in SENTENCES:
            return
        # How a frame was found, and where a name is from, is told and may be worse.
        if key in ("found_by", "name_from"):
            return
        if excuse and key in NAMES and (poorer_name(other) or str(whole).startswith(other)):
            return
        if excuse and other in UNKNOWN.get(key, ()):
            return
        # "probably", and what is waited for may be another part of the same thing.
        if key == "certain" and other is False:
            return
        # A time that is waited at least.
        if key == "age_ms" and isinstance(other, int) and other <= whole:
            return
        # The row is that of an address, and says why no method is known.
        if excuse and key == "kind" and (whole, other) == ("managed", "native"):
            return
        # The return address of a helper, in place of that of the call that the runtime's Frame recorded.
        if excuse and key == "ip" and abs(int(whole, 16) - int(other, 16)) < 64:
            return
        if excuse and key == "offset" and abs(whole - other) < 64:
            return
        if isinstance(other, str) and ("<" in other or "?" in other) and path[0].startswith(("object", "roots")):
            return  # the text of an object, or the name of a type, says in angle brackets, or by a question mark, that something is missing
        self.wrong.append((path, whole, other))

    def objects(self, path, whole, other, excuse):
        # Another wait, or place of a wait, that is called probable, or that names the lock of an object instead of the object.
        if path[:1] == ("locks",) and "certain" in whole and (other.get("certain") is False or excuse and other.get("kind") in ("lock", "condition")):
            return
        # Something that is not known, and a method without a name.
        if excuse and (other.get("kind") == "unknown" or path[-1:] == ("method",) and poorer_name(other.get("name"))):
            return
        # A miss or a fault in place of a method, or of a better miss. Without a runtime the address is that of no question.
        if other.get("result") in ("miss", "fault") and (other["result"] != whole.get("result") or other["result"] == "fault"):
            self.excused(whole, other)
            return
        excuse = self.excused(whole, other) or excuse
        for key, value in whole.items():
            if key in other:  # else it is not known, and left out
                self.compare(path + (key,), value, other[key], excuse)
        for key, value in other.items():
            if key not in whole and key not in SENTENCES and key not in COMPOSED and not excuse:
                self.wrong.append((path + (key,), None, value))

    def lists(self, path, whole, other, excuse):
        if path and path[-1] in SENTENCES:
            return
        excuse = self.excused(whole, other) or excuse
        if len(whole) == len(other) and all(same_row(a, b) for a, b in zip(whole, other)):
            for index, (one, two) in enumerate(zip(whole, other)):
                self.compare(path + (index,), one, two, excuse)
            return
        if not excuse:
            self.wrong.append((path, f"{len(whole)} rows", f"{len(other)} rows without a note"))
            return
        rows = {row_key(row): row for row in whole}
        for row in other:
            if row_key(row) in rows:
                self.compare(path + (row_key(row),), rows[row_key(row)], row, excuse)
            elif not isinstance(row, dict) or row.get("kind") != "native" and not str(row.get("method", {}).get("name")).startswith("<"):
                self.wrong.append((path, "a row that is not there", row))


def row_key(row):
    if not isinstance(row, dict):
        return str(row)
    return str([row.get(key) for key in ("sp", "address", "path", "ip", "box", "os_id") if key in row][:1])


def same_row(one, two):
    return row_key(one) == row_key(two)


def judge(line):
    judge = Judge(line["names"])
    for question, (whole, other) in line["differs"].items():
        judge.compare((question,), whole, other)
    return judge


def check(tools, core, name):
    """Prints what is wrong, and returns whether anything is."""
    tool = os.path.join(tools, "core_tool")
    with tempfile.TemporaryDirectory() as folder:
        with open(net11_descriptor.FROZEN) as frozen:
            recorded = net11_shape.ask(tool, "descriptor", core)
            made = recorded if recorded["descriptor"]["version"] == 2 else net11_descriptor.make(recorded, net11_shape.ask(tool, "info", core), json.load(frozen))
        descriptor = os.path.join(folder, "net11.json")
        with open(descriptor, "w") as out:
            json.dump(made, out)
        done = subprocess.run([os.path.join(tools, "descriptor_variants"), core, descriptor] + name, capture_output=True, text=True)
        if done.returncode != 0:
            print(f"descriptor_variants ended with {done.returncode}: {done.stderr}")
            return True
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    wrong = unnamed = 0
    for line in lines[:-1]:
        found = judge(line)
        for path, one, two in found.wrong[:3]:
            print(f"WRONG {line['change']}: {'/'.join(map(str, path))}: {json.dumps(one)[:200]} -> {json.dumps(two)[:300]}")
        for text in sorted(set(found.unnamed))[:2]:
            print(f"UNNAMED {line['change']}: {text[:200]}")
        wrong += bool(found.wrong)
        unnamed += bool(found.unnamed)
    print(f"{os.path.basename(core)}: {lines[-1]['variants']} variants, {lines[-1]['questions']} questions each: {len(lines) - 1} change answers, "
          f"{wrong} with a wrong one, {unnamed} with a sentence that does not name what is missing")
    return wrong + unnamed > 0


def main():
    tools, given = sys.argv[1], sys.argv[2:]
    if given:
        return 1 if check(tools, given[0], given[1:]) else 0
    bad = False
    with tempfile.TemporaryDirectory() as folder:
        for name in CORES:
            core = os.path.join(folder, name + ".core")
            with lzma.open(os.path.join(HERE, name + ".core.xz")) as packed, open(core, "wb") as out:
                out.write(packed.read())
            bad = check(tools, core, []) or bad
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
