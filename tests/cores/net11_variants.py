#!/usr/bin/env python3
"""Judges the variants of a descriptor of .NET 11's shape: net11_variants.py FOLDER_OF_TOOLS [CORE [NAME]]

Each field, size, type, global and contract is taken out alone, and each contract gets a version that nobody knows. An
answer must be the one through the whole descriptor, or be poorer and say so: null, a miss, or a sentence that tells what
is missing. A list that is shorter needs a sentence, too."""
import json
import lzma
import os
import re
import subprocess
import sys
import tempfile

import net11_shape

# Those of .NET 11 with their own descriptor.
CORES = ("gallery-x64", "suspended-x64", "waiting-x64", "gallery11-x64", "waiting11-x64")
HERE = os.path.dirname(os.path.abspath(__file__))
SENTENCES = ("fault", "degraded", "problem", "notes", "end", "reason", "metadata_note")
# Texts that are composed of the others, and the place of a row in its list.
COMPOSED = ("text", "index", "repeat")
NAMES = ("name", "full_name", "sos_name", "shown", "symbol", "user", "type")


def sentences(value):
    """The sentences that belong to an answer as a whole: not those of the rows of its lists, which tell of one row each."""
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        if key in SENTENCES and inner:
            yield from [inner] if isinstance(inner, str) else map(str, inner)
        elif key == "text" and ("miss" in value or "reason" in value):
            yield str(inner)
        else:
            yield from sentences(inner)


def poorer_name(name):
    return name is None or name.startswith("<") or "!0x" in name or "!MethodDesc" in name or "?" in name or name == ""


# What a text says in place of what is not known.
NOT_KNOWN = re.compile(r"an object|its owner is not to be known|a thread that could not be found \(its managed number is \d+\)|\d+ that could not be found|<[^>]*>|"
                       r"\{[\w.<>, ]*\}|\S*!(MethodDesc )?0x\w+|\S*[?]\S*")


def poorer_text(whole, other):
    """Whether `other` has no word that `whole` has not, but for those by which it says that something is not known."""
    return set(re.split(r"[\s,;]+", NOT_KNOWN.sub(" ", other))) <= {"", *re.split(r"[\s,;]+", whole)}


# How an answer says that something is not known, where that is no null. A chain of which only the framework's methods are
# known is called plumbing; the lock of an object is the object of another type then.
UNKNOWN = {"signature_known": (False,), "frame_type": ("Frame",), "kind": ("unknown", "lock", "awaiter"), "module": ("?",),
           "owner_known": (False,), "certain": (False,), "plumbing": (True,)}


# What is absent where it is not known, as the published schema says. The method of an explicit Frame is so, too.
ABSENT = {"source", "module_path", "instantiation"}


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
            return self.rows(path, whole, other, excuse) if len(path) == 2 and path[1] in ROWS else self.objects(path, whole, other, excuse)
        if isinstance(whole, list) and isinstance(other, list):
            return self.lists(path, whole, other, excuse)
        key = path[-1] if path else ""
        if key in COMPOSED or key in SENTENCES:
            return
        # How a frame was found, and where a name is from, is told and may be worse.
        if excuse and key in ("found_by", "name_from"):
            return
        if excuse and key in NAMES and (poorer_name(other) or str(whole).startswith(other)):
            return
        if excuse and other in UNKNOWN.get(key, ()):
            return
        # A time that is waited at least: a smaller one is as true.
        if key == "age_ms" and other <= whole:
            return
        # The row is that of an address, and says why no method is known.
        if excuse and key == "kind" and (whole, other) == ("managed", "native"):
            return
        if isinstance(other, str) and self.says(whole, other):
            return
        self.wrong.append((path, whole, other))

    def says(self, whole, text):
        """Whether a text tells of what is missing, or has a mark for it. The whole one has neither."""
        return any(name in text.replace(str(whole), "") and (name not in str(whole) or "descriptor" in text or "contract" in text) for name in self.names) or "?" in text and "?" not in str(whole)

    def objects(self, path, whole, other, excuse):
        # A miss or a fault in place of a method, or of a better miss. Without a runtime the address is that of no question.
        if other.get("result") in ("miss", "fault") and (other["result"] != whole.get("result") or other["result"] == "fault"):
            self.excused(whole, other)
            return
        excuse = self.excused(whole, other) or excuse
        # What an async method waits for is not known, which the text says.
        if path[-1] == "waits_for" and other.get("kind") == "unknown":
            return
        # A wait that is called probable where a note tells what is missing.
        if excuse and probable(other) and path[0] == "locks":
            return
        # What is waited for is not known, which is sure.
        if path[0] == "locks" and str(other.get("text")).startswith("an unknown ") and "object" not in other and "objects" not in other:
            return
        # The object that .NET 11 keeps behind a lock of another object: where that one is not known, this is what is waited for.
        if excuse and whole.get("kind") in ("monitor", "condition") and "System.Threading.Lock" in str(other.get("text")):
            return
        # Where the runtime's Frame of a call of native code cannot be read, the frame that calls has the address to which the processor
        # returns, and not that of the call.
        if excuse and whole.get("found_by") == "cfi" and other.get("sp") == whole.get("sp") and 0 < abs(int(whole["ip"], 16) - int(other["ip"], 16)) < 64:
            whole, other = ({key: value for key, value in row.items() if key not in ("ip", "code", "source", "text")} for row in (whole, other))
        for key, value in whole.items():
            if key in other:
                self.compare(path + (key,), value, other[key], excuse)
            elif not excuse and key not in ABSENT | set(SENTENCES + COMPOSED) and (key, whole.get("kind")) != ("method", "runtime"):
                self.wrong.append((path + (key,), value, "absent without a note"))
        for key, value in other.items():
            # A root is said to be uncertain; an exception, not to be known to be in flight.
            if excuse and (key.endswith(" uncertain") or key == "last_thrown" and (whole.get("exception") or {}).get("address") == value["address"]):
                continue
            if key not in whole and key not in SENTENCES and key not in COMPOSED:
                self.wrong.append((path + (key,), None, value))
        # A text that is composed of the same is the same, but for names that are not known.
        one, two = whole.get("text"), other.get("text")
        same = all(whole.get(key) == other.get(key) for key in {*whole, *other} if key not in COMPOSED)
        if one and two and one != two and same and not self.says(one, two) and not poorer_text(one, two):
            self.wrong.append((path + ("text",), one, two))

    def lists(self, path, whole, other, excuse):
        if path and path[-1] in SENTENCES:
            return
        if path[0].startswith("exception"):   # each but the first is found through the one before it
            excuse = any([self.excused(one, two) for one, two in zip(whole, other)]) or excuse
        if len(whole) == len(other) and all(same_row(a, b) for a, b in zip(whole, other)):
            for index, (one, two) in enumerate(zip(whole, other)):
                self.compare(path + (index,), one, two, excuse)
            return
        if not excuse:
            self.wrong.append((path, f"{len(whole)} rows", f"{len(other)} rows without a note"))
            return
        self.rows(path, {row_key(row): row for row in whole}, {row_key(row): row for row in other}, excuse)

    def rows(self, path, whole, other, excuse):
        """Rows by what they are of. Fewer need a note, and another one has to say that nothing sure is known of it."""
        if not excuse and set(whole) != set(other):
            self.wrong.append((path, f"{len(whole)} rows", f"{len(other)} others without a note"))
            return
        for key, row in other.items():
            if key in whole:
                self.compare(path + (key,), whole[key], row, excuse)
            elif not unsure(row) and not same_chain(row, whole.values()):
                self.wrong.append((path, "a row that is not there", row))


# What an async method waits for, where nothing is known but that it is a task or another thing that can be awaited.
COARSE = ("unknown", "task", "completion_source", "awaiter")
# Where, in the answer to a question, the keys of an object are what its rows are of.
ROWS = ("locks", "waits", "stacks", "faulted", "roots", "methods")


def probable(row):
    """A wait that is not sure, or an object of which nothing but such waits is known."""
    if "certain" in row:
        return row["certain"] is False
    return bool(row.get("waiters")) and all(probable(waiter) for waiter in row["waiters"]) and row.get("owner") is None


def unsure(row):
    """Whether a row that the whole answer does not have says that it is not sure."""
    if not isinstance(row, dict):
        return False
    if row.get("kind") == "native" or probable(row) or (row.get("waits_for") or {}).get("kind") in COARSE or str((row.get("method") or {}).get("name")).startswith("<"):
        return True
    if row.get("kind") in ("lock", "condition") and row.get("type") == "System.Threading.Lock":
        return True
    return bool(row) and all("uncertain" in key for key in row)   # roots


def same_chain(row, rows):
    """Whether a chain of async methods is a part of one but for continuations that, as it says, are of no known method."""
    if not isinstance(row, dict) or "boxes" not in row:
        return False
    known = {frame["box"] for frame in row["frames"] if not frame["method"]["name"].startswith("<")}
    return any(known <= {frame["box"] for frame in other["frames"]} for other in rows)


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
        recorded = net11_shape.ask(tool, "descriptor", core)
        if recorded["descriptor"]["version"] == 2:
            descriptor = os.path.join(folder, "net11.json")
            with open(descriptor, "w") as out:
                json.dump(recorded, out)
            asked = core
        else:
            asked, descriptor, _, _ = net11_shape.prepare(tool, core, folder)
        done = subprocess.run([os.path.join(tools, "descriptor_variants"), asked, descriptor] + name, capture_output=True, text=True)
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
