#!/usr/bin/env python3
"""What users type: the command reference, every documented option, wrong numbers, colours, the debug log.

    command_line.py --plugin build/liblldb-clr.so --write      writes docs/commands.md anew from the commands
"""
import argparse
import lzma
import os
import pathlib
import re
import shutil
import stat
import sys

from lldb_driver import Driver

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
REFERENCE = ROOT / "docs" / "commands.md"
RENEW = "tests/extension/command_line.py --plugin build/liblldb-clr.so --write"
# Refusals of the arguments themselves; all else that a command says comes behind them.
REFUSED = r"there is no option|there is no place|is missing|needs a value|takes a|is not one of|cannot be used together|more than once|say what to do"
OPTION = re.compile(r"(?<![\w/.=-])--?[a-zA-Z][\w-]*")


def reference(driver):
    (text,) = driver.run(["clr help --markdown"])
    return text.strip("\n") + "\n"


def commands_of(text):
    """Names of the reference's headings ("clr bt"), with the short ones, and the actions of each."""
    names, actions = {}, {}
    for part in text.split("\n## ")[1:]:
        name = part.split("\n", 1)[0]
        names[name] = name
        short = re.search(r"^Short name: `(\w+)`", part, re.M)
        if short:
            names[short.group(1)] = name
        actions[name] = re.findall(r"^\| \*\*`(\w+)", part, re.M)
    return names, actions


def code_of(text):
    """Code of a page of Markdown: lines of blocks, and spans in its text, which may go over a line's end. Spans of a table's row with the row's first cell."""
    fenced, plain = False, []
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            yield line.strip().removeprefix("(lldb) "), ""
        elif line.startswith("|"):
            first = re.split(r"(?<!\\)\|", line)[1]
            for span in re.findall(r"`([^`]+)`", line):
                yield span.replace("\\|", "|"), first
        else:
            plain.append(line)
    for span in re.findall(r"`([^`]+)`", " ".join(plain)):
        yield span, ""


def documented(pages, names):
    """(page, command, option) of everything in `pages` that is written as an option of one of the commands; option "" stands for the command alone."""
    known = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    begins = re.compile(rf"(?:{known})\b|clr [a-z]\w*")
    for page, text in pages.items():
        for code, row in code_of(text):
            here = begins.match(code)
            of = [here.group(0)] if here else begins.findall(row) if code.startswith("-") else []
            if here:
                yield page, (here.group(0),), ""
            for option in OPTION.findall(code.split("#")[0]) if of else []:
                yield page, tuple(of), option


def check_documented(driver, report, tag, text):
    """An option that is written down is one that the command's parser knows."""
    names, actions = commands_of(text)
    pages = {str(path.relative_to(ROOT)): path.read_text() for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]}
    pages["the commands' help"] = text
    helps = driver.run([f"help {name}" for name in names])
    pages.update({f"help {name}": "\n".join(f"    {line.strip()}" for line in page.splitlines() if line.strip().startswith("clr")) for name, page in zip(names, helps)})
    wanted = sorted(set(documented(pages, names)))
    lines = {}
    for page, of, option in wanted:
        for command in of:
            for action in ["", *actions.get(names.get(command, ""), [])]:
                lines.setdefault(" ".join(filter(None, [command, action, option])), None)
    lines["clr bt --no-such-option"] = None   # the check can fail
    # Alone a command may do something: then its help is as good.
    run = [line if line.split()[-1].startswith("-") else f"help {line}" for line in lines]
    known = {line: not re.search(r"there is no option|is not a (valid|known) (sub)?command|invalid command|not a known command|does not have|'.*' is not", said)
             for line, said in zip(lines, driver.run(run, 300), strict=True)}
    unknown = [f"{page}: `{' or '.join(of)} {option}`".replace(" `", "`") for page, of, option in wanted
               if not any(known[" ".join(filter(None, [command, action, option]))] for command in of for action in ["", *actions.get(names.get(command, ""), [])])]
    report.check(f"{tag} documented options exist", "\n".join(unknown) or f"all {len(wanted)}", r"^all \d\d+$")
    report.check(f"{tag} an option that does not exist is found out", str(known["clr bt --no-such-option"]), "^False$")
    short = {option for _, _, option in wanted}
    report.check(f"{tag} options of the documentation were found", " ".join(sorted(short)), r"--no-lines\b", r"-n\b", r"--path-map\b", r"--base\b")


def check_reference(driver, report, tag, text):
    committed = REFERENCE.read_text() if REFERENCE.exists() else ""
    same = "same" if committed == text else f"docs/commands.md is not what the commands say: {RENEW}"
    report.check(f"{tag} docs/commands.md", same, "^same$")


def check_help(driver, report, tag, text):
    names, _ = commands_of(text)
    plain, listed, helped, one, of_one = driver.run(["clr", "clr help", "help clr", "clr help bt", "help clr bt"])
    report.check(f"{tag} clr help is help clr", listed, re.escape(helped.strip()), "savecore")
    report.check(f"{tag} clr alone lists the commands", plain, "savecore", "ip2md")
    report.check(f"{tag} clr help NAME", one, re.escape(of_one.strip()), "Syntax: clr bt", "--no-lines")
    for word, command in {"deadlock": "clr deadlocks", "heap": "clr heap", "await": "clr async", "exception": "clr break"}.items():
        (found,) = driver.run([f"apropos {word}"])
        report.check(f"{tag} apropos {word}", found, rf"^ *{command} +-- ")
    examples = re.findall(r"^Example: `", text, re.M)
    report.check(f"{tag} every command has an example", f"{len(examples)} of {len(set(names.values()))}", rf"^{len(set(names.values()))} of ")


NUMBERS = {
    "clrbt -n -3": "--count takes a number from 1 to 600000, not '-3'", "clrbt -n 0": "--count takes", "clrbt -n 3x": "--count takes", "clrbt -n 0x10": "--count takes",
    "clrbt --count=99999999999999999999": "--count takes", "clrbt -n": "--count needs a value: N", "clrbt -n 3 -n 4": "--count is given more than once",
    "clr analyze -n -1": "--count takes a number from 1 to 600000", "clr analyze --again x": "--again takes seconds from 0.1 to 3600, not 'x'", "clr source -c -1": "--context takes a number from 0 to 10000, not '-1'",
    "clr source -c 10001": "--context takes", "clr symbolize x -t -1": "--top takes a number from 1 to", "clr symbolize x -t 0": "--top takes",
    "clr symbols add x --process -1": "--process takes a number from 1 to 4294967295", "clr symbols add x --base -1": "--base takes an address as a number",
    "clr break --thrown": "--thrown and --unhandled go with --exception", "clr break -e --unhandled Foo": "--unhandled takes no type",
    "clr break delete -1": "N takes a number from 1 to 2147483647, not '-1'", "clr break delete 0": "N takes", "clrbt -1": "THREAD '-1' is not a thread number",
    "clrip2md -3": "'-3' is not an address: it is negative", "clr u -3": "'-3' is not an address", "clr unwind -3": "'-3' is not an address",
    "clr gcinfo -3": "'-3' is not an address", "clr roots heap": "'heap' is not one of stack",
    "clr handles -k Pinned": "'Pinned' is not one of weak_short, weak_long, strong, pinned, ref_counted, dependent,", "clr retained -b thread": "'thread' is not one of object, type,",
    "clr methods --count --json": "--json", "clr async --tops --faulted": "--faulted",
    "clr roots stack -t x": "THREAD 'x' is not a thread number",
    "clr heap *": "GLOB is possible only with --stat", "clr heap --top 5": "--top is possible only with --stat", "clr heap --stat -g 3": "'3' is not one of 0, 1, 2, loh, poh, frozen", "clr heap --stat -n 0": "--top takes", "clr heap --segments --stat": "cannot be used together",
    "clr refs": "ADDRESS is missing", "clr root 0x10 -p 0": "--paths takes", "clr root 0x10 --all --paths 2": "cannot be used together", "clr refs -i -o 0x10": "cannot be used together",
    "clr source -3": "'-3' is not an address", "clr pe -3": "'-3' is not an address",
    "clrbt --bogus": r"there is no option '--bogus'; the syntax is: clr bt \[-n N\]", "clr info extra": "there is no place for 'extra'; the syntax is: clr info",
    "clr publish maybe": r"there is no place for 'maybe'.*\[on \| off \| status \| update\]", "clr settings --publish x": "--publish.*'x' is not one of lines, variables, r2r, none",
    "clrbt -m --native": "--managed and --native cannot be used together", "clr savecore": "FILE is missing; the syntax is: clr savecore", "clr report --force": "FILE is missing; the syntax is: clr report",
    "clr symbols": "clr symbols takes one of add, list, remove, save", "clr symbols list x": "there is no place for 'x'", "clr break x list": "WHERE 'x' goes with no action",
    "clr help x": "'x' is not one of alloc, analyze, arrays, async", "clr perfmap --references a b c --r2r x": "there is no place for 'c'",
    # Options that would have no effect.
    "clr async --faulted -w 0x10": "cannot be used together",
    "clr symbolize x --each --top 3": "cannot be used together", "clr pe --nested 0x10": "cannot be used together",
    "clr u --any --no-lines": "cannot be used together", "clrbt -m -r": "cannot be used together", "clrbt --native -r": "cannot be used together",
    "clr perfmap --references a": "--references is possible only with --r2r", "clr break -e list": "the options of a new breakpoint go with no action", "clr break -o delete 1": "the options of a new breakpoint go with no action",
    "clr settings --publish none,lines": "--publish none goes with no other kind", "clr publish update --json": "update prints nothing", "clr publish --wait off": "--wait does not go with off",
    "clr step": "a core does not run",
}


def check_numbers(driver, report, tag, core):
    opening = [f'target create --core "{core}"']
    for command, said in zip(NUMBERS, driver.run([*opening, *NUMBERS], 300)[1:], strict=True):
        report.check(f"{tag} {command}", said, f"^error: .*{NUMBERS[command]}")


def check_lines(driver, report, tag, core):
    opening = f'target create --core "{core}"'
    _, without, read_without = driver.run([opening, "clrbt --no-lines --json all", "clr info"], 300)
    _, with_lines, read_with = driver.run([opening, "clrbt --json all", "clr info"], 300)
    report.check(f"{tag} clrbt --no-lines: no source", without, r'^\{"threads": \[', '"kind":"managed"', absent=['"source":'])
    report.check(f"{tag} clrbt has source otherwise", with_lines, '"source":')
    pages = [int(re.search(r"(\d+) pages read", text).group(1)) for text in (read_without, read_with)]
    report.check(f"{tag} clrbt --no-lines reads less", f"{pages[0]} pages, {pages[1]} with lines: {pages[0] < pages[1]}", "True")


def check_examples(driver, report, tag, core, folder, text):
    """Examples do what they say, or, where this core has nothing to show, are at least understood."""
    work = folder / f"examples-{driver.version}"
    work.mkdir()
    (work / "samples.txt").write_text("0x10 3\n")
    examples = re.findall(r"^Example: `([^`]+)`", text, re.M)
    # A core does not run, and the program's source is elsewhere; this one holds no heap.
    nothing_here = {"clr alloc", "clr arrays", "clr async", "clr break", "clr core", "clr finalizers", "clr gcdump", "clr handles", "clr heap", "clr object", "clr objects", "clr pool", "clr refs", "clr retained", "clr root", "clr source", "clr static", "clr statics", "clr step",
                    "clr strings", "clr timers"}
    for example, said in zip(examples, driver.run([f'target create --core "{core}"', *examples], 300, folder=work)[1:], strict=True):
        report.check(f"{tag} example {example}", said, absent=[REFUSED] if " ".join(example.split()[:2]) in nothing_here else ["^error: "])


def check_first(driver, report, tag, core):
    """A register has no type yet when nothing else was asked of the core."""
    said = driver.run([f'target create --core "{core}"', "clr unwind", "clrip2md $pc $xmm0", "clr methods Gallery", "clr methods --jitted *Gallery.Or?er*", "clrip2md Situations.Gallery.Order", "clr source Situations.Gallery.Order", "clr source Situations.Gallery.Nope", "clr break Deep"])[1:]
    report.check(f"{tag} clr unwind as the first command", said[0], r"^0x00007f888aea8eec: ", absent=["error"])
    report.check(f"{tag} a register that is no address", said[1], r"^0x00007f888aea8eec: no managed method", r"^error: '\$xmm0' is not an address")
    report.check(f"{tag} a pattern of a part", said[2], r"^0 methods; .*: \*Gallery\* finds it anywhere$")
    report.check(f"{tag} a pattern with ?", said[3], r"^\d+ methods?$", absent=["^0 methods"])
    report.check(f"{tag} a method's name as an address", said[4], r"^error: 'Situations.Gallery.Order' is not an address: .*`clr methods`")
    report.check(f"{tag} the source of a method without a PDB", said[5], "^error: no source line: its PDB is not at ")
    report.check(f"{tag} the source of a method that is none", said[6], "^error: no method is called Situations\\.Gallery\\.Nope")
    report.check(f"{tag} a breakpoint by a name without its type, without a PDB", said[7], r"^  0x00007f880c6ab6f0 situations\.dll`Situations\.Calls\.Deep\(int\) \[jitted", r"Crashes\.Deep\(int, System\.Action\): not compiled$")


def check_colours(driver, report, tag, core):
    """LLDB's colours are in LLDB's own texts only."""
    ours = ["clrbt -n 3", "clrbt --unique", "clrbt --json -n 3", "clr analyze -n 3", "clr threads", "clr pe", "clr u Situations.Gallery.Order", "clr source", "clr unwind", "clr gcinfo Situations.Gallery.Order", "clr roots stack", "clr methods *Gallery*", "clr info",
            "clr break Situations.Gallery.Order", "clr break list", "clr publish", "clr settings", "clr symbols list", "clrip2md $pc", "clrip2md no_such_name_at_all", "clrip2md (1+", "clr u no such method", "clrbt -n -1"]
    shown, created, *texts = driver.run_in_colour(["settings show use-color", f'target create --core "{core}"', *ours, "thread list"], 300)
    report.check(f"{tag} colours are on", texts[-1], "\x1b\\[")
    for command, said in zip(ours, texts):
        # The words before a text, "error: " and "warning: ", are LLDB's.
        own = re.sub(r"^(\x1b\[[0-9;]*m)*(error|warning): (\x1b\[[0-9;]*m)*", "", said, flags=re.M)
        report.check(f"{tag} no colour in {command}", own, r".", absent=["\x1b", r"\\x1b"])


def check_formatting(driver, report, tag):
    avoided = "settings show target.process.thread.step-avoid-regexp"
    before, categories, said, on, twice, both, off, after = driver.run(
        [avoided, "type category list", "clr settings", "clr settings --step-over-properties on", "clr settings --step-over-properties on", avoided,
         "clr settings --step-over-properties off", avoided])
    report.check(f"{tag} types without a namespace are those of C++ until managed code is seen", categories, r"clr-plain \(disabled\)", r"clr \(enabled")
    report.check(f"{tag} steps go into properties", said, "^step over properties: off$")
    report.check(f"{tag} steps go over properties", on, "^step over properties: on$")
    report.check(f"{tag} what else is stepped over stays", both + twice, r"\^std::\|\[.\]\(get\|set\|op\)_[^|]*\|\$\)", absent=[r"op\).*op\)"])
    report.check(f"{tag} the setting is as it was", "same" if before == after else f"{before} {after}", "^same$")
    report.check(f"{tag} and is told", off, "^step over properties: off$")


def check_refused_settings(driver, report, tag, folder):
    """A call of which one option is refused changes nothing, also where the others would do."""
    log, other, pipe = (folder / f"{name}-{driver.version}" for name in ("kept", "other", "no-file"))
    os.mkfifo(pipe)
    *_, first = driver.run([f'clr settings --async-frames on --sysroot / --log "{pipe}"', "clr settings"])
    report.check(f"{tag} refused settings change nothing", first, r"^sysroot: \(none\)$", "^async frames: off$", "^log: off$")
    start = f'clr settings --log "{log}"'
    *_, second = driver.run([start, f'clr settings --log "{pipe}"', "clr settings"])
    report.check(f"{tag} a refused log leaves the one that is open", second, rf"^log: {re.escape(str(log))}$")
    # LLDB before 22 refuses async frames.
    _, refused, third = driver.run([start, f'clr settings --async-frames on --log "{other}"', "clr settings"])
    kept = log if refused.startswith("error: ") else other
    report.check(f"{tag} refused async frames leave the log", third, rf"^log: {re.escape(str(kept))}$", f"^async frames: {'off' if kept is log else 'on'}$")


def check_log(driver, report, tag, core, folder):
    log = folder / f"debug-{driver.version}.log"
    pipe = folder / f"pipe-{driver.version}"
    os.mkfifo(pipe)
    start = f'clr settings --log "{log}"'
    _, on, *_ = driver.run([f'target create --core "{core}"', start, "clrbt -n 3"])
    off, again, refused, missing = driver.run([start, "clr settings --log off", f'clr settings --log "{pipe}"', f'clr settings --log "{folder}/no/such"'])
    report.check(f"{tag} clr settings --log", on, rf"^log: {re.escape(str(log))}$")
    report.check(f"{tag} clr settings --log appends", off, rf"^log: {re.escape(str(log))}$")
    report.check(f"{tag} clr settings --log off", again, "^log: off$")
    report.check(f"{tag} clr settings --log of a pipe", refused, "^error: cannot log to .*: it is not a regular file")
    report.check(f"{tag} clr settings --log to nowhere", missing, "^error: cannot log to .*: No such file or directory")
    text = log.read_text()
    report.check(f"{tag} what the log holds", text, r"^\d{4}-\d\d-\d\dT[\d:.]+Z \d+ plugin lldb-clr \d+\.\d+\.\d+( \(commit \w+\))?, .*lldb version \d+", r"^\S+ \d+ plugin target 0: x86_64-",
                 absent=[re.escape(str(core))])
    report.check(f"{tag} the log was appended to", str(len(re.findall("plugin lldb-clr ", text))), "^2$")
    report.check(f"{tag} only its owner reads the log", f"{stat.S_IMODE(log.stat().st_mode):o}", "^600$")


def check(driver, report, tag, folder):
    core = folder / "gallery.core"
    if not core.exists():
        with lzma.open(ROOT / "tests" / "cores" / "gallery-x64.core.xz") as packed, open(core, "wb") as out:
            shutil.copyfileobj(packed, out)
    text = reference(driver)
    check_reference(driver, report, tag, text)
    check_help(driver, report, tag, text)
    check_documented(driver, report, tag, text)
    check_numbers(driver, report, tag, core)
    check_lines(driver, report, tag, core)
    check_examples(driver, report, tag, core, folder, text)
    check_first(driver, report, tag, core)
    check_colours(driver, report, tag, core)
    check_formatting(driver, report, tag)
    check_log(driver, report, tag, core, folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plugin", required=True, type=pathlib.Path)
    parser.add_argument("--write", action="store_true", required=True)
    arguments = parser.parse_args()
    program = shutil.which("lldb-19") or shutil.which("lldb")
    if not program:
        sys.exit("lldb is not installed")
    REFERENCE.parent.mkdir(exist_ok=True)
    REFERENCE.write_text(reference(Driver("", program, arguments.plugin.resolve())))


if __name__ == "__main__":
    main()
