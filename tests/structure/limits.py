#!/usr/bin/env python3
"""Compares the table of limits in docs/security.md with the constants of core, extension and capi.

    limits.py [--write]     --write brings the columns of files, names and values up to date; what a new limit means is left to be written

A limit is a constant whose name begins with `max_` or ends with `_limit`. Each has a row, its row says its value, and no row is of a limit that is gone.
Prints one line for each check; the last line is `N passed, N failed`.
"""
import ast
import operator
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/security.md"
DECLARATION = re.compile(r"\bconstexpr\s+(?:inline\s+)?(?:const\s+)?[\w:]+\s+((?:\w+\s*(?:=|\{)[^;]*))\s*;", re.S)
ASSIGNED = re.compile(r"\b(\w+)\s*=\s*([^,;]+?)\s*(?:,(?=\s*\w+\s*=)|$)", re.S)
LIMIT = re.compile(r"max_\w+|\w+_limit")
ROW = re.compile(r"^\| `([^`]+)` \| `(\w+)` \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$", re.M)
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv, ast.Div: operator.floordiv,
             ast.LShift: operator.lshift, ast.BitOr: operator.or_, ast.RShift: operator.rshift}


def without_comments(text):
    return re.sub(r"//[^\n]*", "", text)


def sources():
    try:
        out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "core", "extension", "capi"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    except (OSError, subprocess.CalledProcessError):
        out = [str(p.relative_to(ROOT)) for top in ("core", "extension", "capi") for p in (ROOT / top).rglob("*")]
    return sorted(n for n in out if n.endswith((".cpp", ".h")) and (ROOT / n).is_file())


def constants():
    """(file, name) -> expression, of every constant; those that are no limits give the limits their values."""
    found = {}
    for name in sources():
        for declared in DECLARATION.findall(without_comments((ROOT / name).read_text())):
            for constant, expression in ASSIGNED.findall(declared):
                found[name, constant] = " ".join(expression.split())
    return found


def value_of(expression, known):
    """The number of a C++ expression of constants; None for one that is not understood."""
    text = re.sub(r"(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])", "", expression)
    text = re.sub(r"\b[A-Za-z_][\w:]*\{([^{}]*)\}", r"(\1)", text)
    text = re.sub(r"\b(0x[0-9a-fA-F]+|\d+)[uUlLzZ]+\b", r"\1", text)
    text = re.sub(r"\b(\w+)::(?=\w)", "", text)

    def of(node):
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.Name):
            same = [e for (_, name), e in known.items() if name == node.id]
            values = {value_of(e, known) for e in same if node.id not in e}
            return values.pop() if len(values) == 1 else None
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            left, right = of(node.left), of(node.right)
            return None if left is None or right is None else OPERATORS[type(node.op)](left, right)
        return None

    try:
        return of(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError):
        return None


def spelled(number):
    """As the table writes it: 4 Mi for 4,194,304, where that is whole; else digits in groups."""
    for unit, shift in (("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10)):
        if number and number % (1 << shift) == 0 and number % 1000:
            return f"{number >> shift:,} {unit}"
    return f"{number:,}"


def limits():
    known = constants()
    result = {}
    for (name, constant), expression in known.items():
        if LIMIT.fullmatch(constant):
            number = value_of(expression, known)
            result[name, constant] = spelled(number) if number is not None else f"`{expression}`"
    return result


def rows():
    return {(name, constant): (value.strip(), what.strip(), then.strip()) for name, constant, value, what, then in ROW.findall(PAGE.read_text())}


def check():
    real, told = limits(), rows()
    missing = [f"{name}: `{constant}` has no row" for name, constant in sorted(real.keys() - told.keys())]
    gone = [f"{name} has no `{constant}`" for name, constant in sorted(told.keys() - real.keys())]
    wrong = [f"{name}: `{constant}` is {real[name, constant]}, not {told[name, constant][0]}" for name, constant in sorted(real.keys() & told.keys())
             if real[name, constant] != told[name, constant][0]]
    silent = [f"{name}: nothing says what `{constant}` limits, or what happens then" for name, constant in sorted(told)
              if "" in told[name, constant][1:] or "?" in told[name, constant][1:]]
    few = [] if len(real) > 200 else [f"only {len(real)} limits were found in the sources: the search is broken"]
    return [("limits have rows", missing + few), ("rows have limits", gone), ("values", wrong), ("meanings", silent)]


def write():
    """Puts a table with the constants of today in place of that of the page, and keeps what was written of each."""
    real, told = limits(), rows()
    text = PAGE.read_text()
    begin, end = text.index("<!-- limits -->"), text.index("<!-- /limits -->")
    table = ["<!-- limits -->", "| file | limit | value | of what | beyond it |", "|---|---|---|---|---|"]
    for name, constant in sorted(real):
        _, what, then = told.get((name, constant), ("", "?", "?"))
        table.append(f"| `{name}` | `{constant}` | {real[name, constant]} | {what} | {then} |")
    PAGE.write_text(text[:begin] + "\n".join(table) + "\n" + text[end:])


def main():
    if "--write" in sys.argv[1:]:
        write()
        return 0
    passed = failed = 0
    for label, problems in check():
        print(f"{'FAILED  ' if problems else 'ok      '} limits of docs/security.md: {label}")
        for problem in problems:
            print(f"         {problem}")
        passed, failed = passed + (not problems), failed + bool(problems)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
