#!/usr/bin/env python3
"""Checks that the house stands as docs/architecture.md draws it.

The linker sees a call into a room that a target does not name, but not an include of a header. These checks read the sources:

  arrows        a file of core includes headers of its own room and of rooms below it (clr_room in CMakeLists.txt), and none of LLDB;
                a folder of the extension includes only what extension/README.md allows it
  sizes         a file of product code has at most 400 lines; a room has at most 12 % of them
  first pages   each room and each folder of the extension has a README.md
  generic names a name that says too little in namespace clr stands in the namespace of its room
  names         each place that docs/architecture.md names exists: the file, and the name within it
  decoders      each source of core is in tests/fuzz/decoders.txt, so that a new decoder is not forgotten, and each name there is one

Prints one line for each check; the last line is `N passed, N failed`.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MAX_LINES = 400
MAX_SHARE = 0.12
GENERIC = {"Answer", "Blob", "Code", "Entry", "Enumerator", "EventHeader", "EventType", "Guid", "Header", "Info", "Malformed", "MapRow", "Miss", "Profile", "Record",
           "Result", "Row", "Sample", "State", "Symbol", "Table", "TextSink", "Variable", "Walk"}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)


def product_files():
    # Of a checkout the tracked files; of an archive without git every file.
    try:
        out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "core", "extension", "capi"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        names = out.split()
    except (OSError, subprocess.CalledProcessError):
        names = [str(p.relative_to(ROOT)) for top in ("core", "extension", "capi") for p in (ROOT / top).rglob("*")]
    return sorted(n for n in names if n.endswith((".cpp", ".h")) and (ROOT / n).is_file())


def room_of(name):
    parts = name.split("/")
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def rooms_below():
    """Of each room of core the rooms that it may include, by the clr_room lines."""
    direct = {}
    for name, needs in re.findall(r"^clr_room\((\w+) DEPENDS ([^)]*)\)", (ROOT / "CMakeLists.txt").read_text(), re.M):
        direct[name] = [n[len("clr_"):] for n in needs.split() if n.startswith("clr_") and n != "clr_fmt"]
    closed = {}

    def close(name):
        if name not in closed:
            closed[name] = set()  # a circle would end here; the linker refuses one
            for below in direct.get(name, []):
                closed[name] |= {below} | close(below)
        return closed[name]

    for name in direct:
        close(name)
    return closed


def extension_order():
    """Folders of the extension from the ground up, by the line `order: a <- b <- c, d` of extension/README.md."""
    page = ROOT / "extension/README.md"
    found = re.search(r"^\s*order: (.+)$", page.read_text(), re.M) if page.is_file() else None
    if not found:
        return None
    allowed, below = {}, set()
    for floor in found.group(1).split("<-"):
        folders = {f.strip() for f in floor.split(",")}
        for folder in folders:
            allowed[folder] = below | {folder}
        below = below | folders
    return allowed


def check_arrows(files):
    below = rooms_below()
    order = extension_order()
    problems = [] if order else ["extension/README.md has no line `order: ...`"]
    for name in files:
        top, room = name.split("/")[0], room_of(name)
        for header in INCLUDE.findall((ROOT / name).read_text()):
            to = header.split("/")
            if top == "core":
                own = name.split("/")[1]
                if header.startswith("lldb/"):
                    problems.append(f"{name} includes {header}: core knows no LLDB")
                elif to[0] in ("extension", "capi"):
                    problems.append(f"{name} includes {header}: an arrow upward")
                elif to[0] == "core" and len(to) > 2 and to[1] != own and to[1] not in below.get(own, ()):
                    problems.append(f"{name} includes {header}: {own} does not stand on {to[1]}")
            elif top == "capi" and to[0] == "extension":
                problems.append(f"{name} includes {header}: an arrow upward")
            elif order and top == "extension" and to[0] == "extension" and len(to) > 2 and "/" in room:
                if to[1] not in order.get(room.split("/")[1], ()):
                    problems.append(f"{name} includes {header}: an arrow upward in the extension")
    return problems


def check_sizes(files):
    lines = {name: (ROOT / name).read_text().count("\n") for name in files}
    problems = [f"{name} has {count} lines, at most {MAX_LINES} are good" for name, count in lines.items() if count > MAX_LINES]
    total, rooms = sum(lines.values()), {}
    for name, count in lines.items():
        rooms[room_of(name)] = rooms.get(room_of(name), 0) + count
    problems += [f"{room} has {count} of {total} lines, {count / total:.0%}: it holds more than one concept" for room, count in rooms.items() if count > MAX_SHARE * total]
    return problems


def check_first_pages(files):
    rooms = {room_of(name) for name in files} - {"extension", "capi"}
    return [f"{room} has no README.md that says what may stand there" for room in sorted(rooms | {"extension", "capi"}) if not (ROOT / room / "README.md").is_file()]


def check_generic_names(files):
    """clang-format indents nothing in a namespace: a type that begins at the margin stands in the innermost namespace that was opened there."""
    problems = []
    for name in files:
        if not (name.startswith("core/") and name.endswith(".h")):
            continue
        opened = []
        for line in (ROOT / name).read_text().splitlines():
            if found := re.match(r"(?:inline )?namespace ([\w:]*)", line):
                opened += found[1].split("::") if "}" not in line else []
            elif line.startswith("} // namespace"):
                del opened[-len(line.split("namespace")[1].strip().split("::")):]
            elif opened == ["clr"] and (found := re.match(r"(?:(?:struct|class|enum class) (\w+)[^;]*(?:[^;]|};)$|using (\w+) =)", line)):
                word = found[1] or found[2]
                if word in GENERIC:
                    problems.append(f"{name} declares clr::{word}: that says too little; clr::{name.split('/')[1]}::{word} would do")
    return problems


def check_names():
    page = ROOT / "docs/architecture.md"
    if not page.is_file():
        return ["docs/architecture.md is missing"]
    rows = re.findall(r"^\| ([^|]+) \| `([^`|]+)` \| `([^`|]+)` \|", page.read_text(), re.M)
    problems = [] if len(rows) >= 6 else [f"docs/architecture.md names only {len(rows)} places"]
    for what, name, symbol in rows:
        path = ROOT / name
        if not path.is_file():
            problems.append(f"docs/architecture.md: {what}: there is no {name}")
        elif not re.search(r"\b" + re.escape(symbol.split("::")[-1]) + r"\b", path.read_text()):
            problems.append(f"docs/architecture.md: {what}: {name} has no {symbol}")
    known = set(re.findall(r"^clr_room\((\w+)", (ROOT / "CMakeLists.txt").read_text(), re.M))
    problems += [f"docs/architecture.md does not tell of core/{room}" for room in sorted(known) if f"`core/{room}`" not in page.read_text()]
    return problems


def check_decoders(files):
    named, problems = set(), []
    for line in (ROOT / "tests/fuzz/decoders.txt").read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        for pattern in line.split(":")[1].split():
            found = {str(path.relative_to(ROOT)) for path in ROOT.glob(pattern)}
            problems += [] if found else [f"tests/fuzz/decoders.txt: there is no {pattern}"]
            named |= found
    sources = {name for name in files if name.startswith("core/") and name.endswith(".cpp")}
    return problems + [f"tests/fuzz/decoders.txt does not say whose {name} is" for name in sorted(sources - named)]


def main():
    files = product_files()
    passed = failed = 0
    for label, problems in (("arrows", check_arrows(files)), ("sizes", check_sizes(files)), ("first pages", check_first_pages(files)), ("generic names", check_generic_names(files)), ("names of docs/architecture.md", check_names()),
                            ("decoders", check_decoders(files))):
        if problems:
            failed += 1
            print(f"FAILED   structure: {label}")
            for problem in problems:
                print(f"         {problem}")
        else:
            passed += 1
            print(f"ok       structure: {label}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
