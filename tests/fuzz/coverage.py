#!/usr/bin/env python3
"""Prints which lines of each decoder the corpus of its fuzz target runs, a row for each file, then a row for each decoder: scripts/fuzz --coverage.

    coverage.py BUILD TARGET...      BUILD: made with CLR_COVERAGE, with BUILD/fuzz/TARGET.profraw of a run of each target

Which files belong to which targets stands in decoders.txt: lines of "TARGET[+TARGET...]: PATTERN...", where a PATTERN is a path that may have * in it.
A file that several lines name belongs to the last one. "none" in the place of targets means: no decoder. Every source of core/ is named, so that a
new one cannot be forgotten. A row counts the runs of all targets of its file that were given. Files below 90 % come with the lines that were not
run. Lines that no input of a target can run are left out of the count, by the rules of `beyond_inputs`; a decoder's row says how many these are.
The exit code is 1 when a file is below 90 % whose targets were all given.
"""
import glob
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BAR = 90   # percent


def output_of(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"coverage: {command[0]} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


def decoders():
    """FILE -> its targets."""
    files = {}
    for line in (HERE / "decoders.txt").read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        targets, patterns = line.split(":")
        for pattern in patterns.split():
            found = sorted(glob.glob(str(ROOT / pattern)))
            if not found:
                sys.exit(f"coverage: decoders.txt: no file {pattern}")
            for path in found:
                files[path] = () if targets.strip() == "none" else tuple(targets.strip().split("+"))
    unnamed = sorted(set(glob.glob(str(ROOT / "core/**/*.cpp"), recursive=True)) - files.keys())
    if unnamed:
        sys.exit("coverage: decoders.txt does not say whose these are: " + " ".join(unnamed))
    return {path: targets for path, targets in files.items() if targets}


# The first line of a function, and what may stand in front of it.
FUNCTION = r"(?P<indent> *)(?:static |explicit |constexpr |friend )*"
BEYOND = (
    # Reads or writes a file of the host: a target gives bytes, and faults of the host have tests of their own.
    re.compile(FUNCTION + r"\S[^;=]*\((?:const std::string& path|(?:const )?HostFile&? file|LoadedFile file|std::vector<std::string> folders)\b"),
    # Writes a file: output, beside the reader of the same form.
    re.compile(FUNCTION + r"\S[^;=(]* (?:\w+::)*(?:write_\w+|save)\("),
    # Prints a value: output, beside the decoder that made the value.
    re.compile(FUNCTION + r"std::string(?:_view)? (?:\w+::)*(?:to_string|format_\w+|\w+_text|\w+_name)\("),
)
# Beyond what an input can ask for in its time: what is kept becomes too much and is forgotten, all work together too long.
BEYOND_LIMIT = re.compile(r"(?P<indent> *)if \(.*\bmax_(?:kept|all)_\w+")
# A fault of the host or of the caller, which no input leads to.
BEYOND_THROW = re.compile(r"throw Error\(ErrorKind::(?:io|internal|invalid_argument)\b")


def end_of_branch(lines, first, indent):
    """The index of the last line of what an `if` leads to that begins on line `first`."""
    last = first
    while not lines[last].endswith(("{", ";")):
        last += 1
    if lines[last].endswith("{"):
        while lines[last] not in (indent + "}", indent + "} else {"):
            last += 1
    return last


def beyond_inputs(path):
    """The numbers of the lines that no input can run. Sources are formatted, so a function ends at the first brace with its own indentation."""
    left_out, lines = set(), pathlib.Path(path).read_text().splitlines()
    for first, line in enumerate(lines):
        start = next((m for m in (rule.match(line) for rule in BEYOND) if m), None)
        if start and not line.endswith(";"):
            last = first
            while not lines[last].endswith("}") or (last != first and lines[last] != start["indent"] + "}"):
                last += 1
            left_out.update(range(first + 1, last + 2))
        if limit := BEYOND_LIMIT.match(line):
            left_out.update(range(first + 2, end_of_branch(lines, first, limit["indent"]) + 2))
        if BEYOND_THROW.search(line):
            last = first
            while not lines[last].rstrip().endswith(";"):
                last += 1
            left_out.update(range(first + 1, last + 2))
    return left_out


def ranges(lines):
    """"3-5 9" of 3, 4, 5, 9."""
    parts = []
    for line in lines:
        if parts and parts[-1][1] == line - 1:
            parts[-1][1] = line
        else:
            parts.append([line, line])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def line_counts(build, targets, files):
    """FILE -> (lines, lines that were run, the others, lines that are left out), of the runs of `targets`."""
    profile = build / "fuzz" / ("+".join(targets) + ".profdata")
    output_of("llvm-profdata-19", "merge", "-sparse", *[build / f"fuzz/{t}.profraw" for t in targets], "-o", profile)
    objects = [build / f"tests/fuzz_{targets[0]}"]
    for target in targets[1:]:
        objects += ["-object", build / f"tests/fuzz_{target}"]
    text = output_of("llvm-cov-19", "export", "-format=lcov", "-instr-profile", profile, *objects, "-sources", *files)
    counts = {}
    for record in text.split("end_of_record"):
        path, lines = None, {}
        for line in record.splitlines():
            if line.startswith("SF:"):
                path = line[3:]
            elif line.startswith("DA:"):
                number, count = line[3:].split(",")[:2]
                lines[int(number)] = int(count)
        if path:
            all_lines = len(lines)
            for number in beyond_inputs(path):
                lines.pop(number, None)
            missed = [n for n, c in sorted(lines.items()) if not c]
            counts[path] = (len(lines), len(lines) - len(missed), missed, all_lines - len(lines))
    return counts


def print_decoders(rows):
    """Of each decoder: its files, their lines, how many of these were run, those of the file with the fewest, and the lines that are left out."""
    by_decoder = {}
    for targets, path, lines, run, _, left_out in rows:
        by_decoder.setdefault(targets, []).append((path, lines, run, left_out))
    print(f"\n{'decoder':24} {'files':>5} {'lines':>6} {'run':>6} {'lowest':>7} {'left out':>9}")
    for targets, files in sorted(by_decoder.items()):
        lines, run = sum(f[1] for f in files), sum(f[2] for f in files)
        lowest = min(files, key=lambda f: f[2] / f[1])
        print(f"{targets:24} {len(files):5} {lines:6} {100 * run / lines:5.1f}% {100 * lowest[2] / lowest[1]:6.1f}% {sum(f[3] for f in files):9}"
              f"  {pathlib.Path(lowest[0]).relative_to(ROOT)}")


def main():
    build, asked = pathlib.Path(sys.argv[1]), set(sys.argv[2:])
    by_targets = {}
    for path, targets in decoders().items():
        run = tuple(t for t in targets if t in asked)
        if run:
            by_targets.setdefault(run, []).append(path)
    rows = []
    for targets, files in by_targets.items():
        counts = line_counts(build, targets, files)
        rows += [("+".join(targets), path, *counts[path]) for path in files if path in counts and counts[path][0]]
    below, partly = 0, 0
    all_targets = decoders()
    print(f"{'target':24} {'file':44} {'lines':>6} {'run':>6}")
    for targets, path, lines, run, missed, _ in sorted(rows):
        percent = 100 * run / lines
        short = str(pathlib.Path(path).relative_to(ROOT))
        without = [t for t in all_targets[path] if t not in asked]
        print(f"{targets:24} {short:44} {lines:6} {percent:5.1f}%" + (f"  not run: {ranges(missed)}" if percent < BAR else "")
              + (f"  without {'+'.join(without)}" if percent < BAR and without else ""))
        below += percent < BAR and not without
        partly += percent < BAR and bool(without)
    print_decoders(rows)
    total, run = sum(r[2] for r in rows), sum(r[3] for r in rows)
    print(f"{len(rows)} files, {total} lines, {100 * run / max(total, 1):.1f} % run; {below} files below {BAR} %"
          + (f"; {partly} more of which other targets run lines, too" if partly else ""))
    return 1 if below else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main())
