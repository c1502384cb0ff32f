#!/usr/bin/env python3
"""What was seen on the emulated machine: judge.py TRANSCRIPT PROGRAM. Prints `ok` and `FAILED` lines, and a last line "N passed, N failed"."""
import re
import sys


def parts_of(text):
    """name -> what the machine printed in that part."""
    parts = re.split(r"^== (\w+)$", text.replace("\r", ""), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def main():
    transcript, program = (open(name, errors="replace").read() for name in sys.argv[1:3])
    lines = {match[1]: number for number, line in enumerate(program.splitlines(), 1) if (match := re.search(r"at: (\S+)$", line))}
    parts, passed, failed = parts_of(transcript), 0, 0
    frame = r"frame #\d+: 0x[0-9a-f]{16} "

    def expect(part, what, *patterns):
        nonlocal passed, failed
        text, at = parts.get(part, ""), 0
        for pattern in patterns:   # one behind the other
            match = re.compile(pattern, re.M).search(text, at)
            if not match:
                failed += 1
                print(f"FAILED   {part}: {what}: no /{pattern}/ behind\n         | " + "\n         | ".join(text[at:].strip().splitlines()[:25]))
                return
            at = match.end()
        passed += 1
        print(f"ok       {part}: {what}")

    method = r"counting\.dll`Counting\.Program\."
    expect("machine", "the program runs on arm64", r"Linux .*aarch64", r"^READY")
    expect("attach", "a named bt of a live process", r"^\(lldb\) bt", frame, rf"{frame}{method}Serve\(number=\d+\) at Program\.cs:{lines['Sleep']}", rf"{frame}{method}Main\(\) at Program\.cs:{lines['Main']}")
    expect("attach", "clrbt", r"^\(lldb\) clrbt all", rf"{method}Serve\(int\).* at Program\.cs:{lines['Sleep']}", rf"{method}Main\(\)")
    expect("attach", "clr analyze", r"^\(lldb\) clr analyze", r"CoreCLR 10\.0\.\d+ \(linux arm64\)")
    expect("steps", "a breakpoint by line is hit", r"stop reason = breakpoint", rf"{method}Serve\(number=\d+\) at Program\.cs:{lines['Call']}", rf"frame #1: .*{method}Main\(\)")
    expect("steps", "variables", r"^\(lldb\) v", r"number = \d+", r"order = ")
    expect("steps", "next, twice", r"^\(lldb\) next", r"stop reason = step over", rf"Program\.cs:{lines['Serve+2']}", r"^\(lldb\) next", r"stop reason = step over", rf"Program\.cs:{lines['Sleep']}")
    expect("finish", "a breakpoint by name is hit", r"stop reason = breakpoint", rf"{method}Price\(.*\) at Program\.cs:{lines['Price']}", rf"frame #1: .*{method}Serve\(")
    expect("finish", "a field of an argument", r"^\(lldb\) p order->Number", r"\(int\) (?:\$0 = )?\d+")
    expect("finish", "finish", r"^\(lldb\) finish", r"stop reason = step out", rf"Program\.cs:{lines['Call']}")
    expect("savecore", "a core of the live process", r"^\(lldb\) clr savecore", r"saved\.core", r"^\(lldb\) bt", rf"{frame}{method}Main\(\)", r"^\(lldb\) clrbt all", rf"{method}Main\(\)")
    expect("end", "all was asked", r"")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
