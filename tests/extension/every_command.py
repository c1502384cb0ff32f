"""Every command of LLDB's `help`, without the plugin and with it, on managed code in a core and in a live process: no new error, no crash, no hang,
and text that differs by managed code alone. The commands and their arguments are those of command_table.py."""
import difflib
import json
import os
import pathlib
import re
import subprocess

import command_table
from lldb_driver import Died

HERE = pathlib.Path(__file__).resolve().parent
LIMIT = 300   # seconds of one LLDB that runs all commands, which take it 5 on an idle machine
# The Python inside LLDB is the system's; it looks for its modules beside the first python3 of PATH, which may be another.
ENVIRONMENT = {"PATH": os.pathsep.join(["/usr/bin", os.environ["PATH"]])}
MANAGED = re.compile(r"\.dll\b|\bclr\b|clr-stubs|clr-code|lldb-clr|PT_LOAD\[0\]|\.text\b|\bSystem\.|^-+$|^s?byte: ")
# LLDB prints the frame that it selected when it gets round to it, among the text of any command.
# The code of a frame that is missing in a core is told by its address, by the section of a stand-in, or, where LLDB has just dropped all modules, by neither.
SELECTED = re.compile(r"^[* ] thread #|^ +(\* )?frame #|^error: core file does not contain|^error: error reading data from section \.text|^error: 0xf{16} can't be resolved")
# The name that a stand-in, or a file, gives to native code.
NATIVE = re.compile(r" +[\w+-]+\.so[.\d]*`[^,|]*? \+ \d+")
# Numbers of breakpoints, hooks, modules and expressions: the plugin has some of its own.
NUMBER = re.compile(r"(?:^|^\[ *|\b[Bb]reakpoint |hook #|\bfor )\d+(?=: |\.\d+: |\]| modules?\b| added|:$)|(?<=<user expression )\d+(?=>)")
# Code that LLDB compiled into the process for commands of its own; news of breakpoints that found managed code.
ASIDE = re.compile("__lldb_|ObjectFileJIT|locations? added to breakpoint")
SUBCOMMANDS = "The following subcommands are supported"


def heads(text):
    """Names of a list of LLDB's help."""
    return re.findall(r"^ +(\S+) +-- ", text, re.M)


def commands_of(driver):
    """Every command that `help` leads to, subcommands in place of what has them, and every alias."""
    (text,) = driver.run(["help"])
    todo, found = [], set()
    for section in re.split(r"\n(?=\S.*:\n)", "\n" + text):
        (found.update if "abbreviations" in section else todo.extend)(heads(section))
    while todo:
        texts = driver.run([f"help {name}" for name in todo])
        further = []
        for name, text in zip(todo, texts):
            before, _, listed = text.partition(SUBCOMMANDS)
            if listed:
                further += [f"{name} {head}" for head in heads(listed)]
            else:
                found.add(name)
        todo = further
    return found


def begins(command, names):
    """The longest of `names` that `command` begins with, word for word; None when it begins with none."""
    words = command.split()
    return next((name for i in range(len(words), 0, -1) if (name := " ".join(words[:i])) in names), None)


def steps_of(blocks, known, facts):
    """(mark, command, name in help) of the lines that this LLDB has."""
    steps = []
    for line in "\n".join(blocks).split("\n"):
        if not line:
            continue
        command = line[2:].format(**facts)
        name = begins(command, known)
        if name or not begins(command, command_table.OTHERS):
            steps.append((line[0], command, name))
    return steps


def lines_of(text, stand_ins):
    """What is compared: without the zeros in front of numbers, frames that LLDB selected meanwhile, the numbers that the plugin shifts, and the columns that
    its longest name widens."""
    text = re.sub(r"\b0x0+(?=[0-9a-f])", "0x", text)
    text = re.sub(r" +-- ", " -- ", text)
    if stand_ins:
        text = NATIVE.sub("", text)
    lines = [line.rstrip() for line in text.splitlines() if line.strip() and not SELECTED.search(line) and not ASIDE.search(line)]
    return [NUMBER.sub("N", line) for line in lines]


def difference(mark, without, with_plugin, stand_ins):
    """What is wrong with a command's two texts, or None."""
    old, new = lines_of(without, stand_ins), lines_of(with_plugin, stand_ins)
    errors = [line for line in new if line.startswith("error:")]
    if errors and not any(line.startswith("error:") for line in old):
        return f"a new error: {errors[0]}"
    if mark == "!":
        return None
    old = [line for line in old if mark == "=" or not line.startswith(("error:", "warning:"))]
    changes = [line for line in difflib.ndiff(old, new) if line[0] in "-+"] if len(new) < 2000 else []
    lost, added = ([line[2:] for line in changes if line[0] == sign] for sign in "-+")
    if mark == "=" and changes:
        return "other text: " + " | ".join(changes[:6])
    if mark == "+" and (set(old) - set(new)):
        return "lost: " + " | ".join(sorted(set(old) - set(new))[:3])
    strange = [line for line in added if not MANAGED.search(line) and not line.startswith(("error:", "warning:"))]
    if mark == "~" and strange:
        return "no managed code: " + " | ".join(strange[:6]) + (f" in place of {lost[0]}" if lost else "")
    return None


def run(driver, opening, steps, folder):
    """Text of each of `steps`. None of a command that ends LLDB by itself, without the plugin; those behind it run in another LLDB without it."""
    folder.mkdir(parents=True)
    texts, dead = [], set()
    while len(texts) < len(steps):
        commands = [command for _, command, _ in steps if command not in dead]
        try:
            # LLDB 20 and later may hang when they load modules with several threads (docs/lldb-commands.md).
            found = iter(driver.run(["settings set auto-confirm true", "settings set target.parallel-module-load false", *opening, *commands], LIMIT, folder, ENVIRONMENT)[2 + len(opening):])
        except Died as died:
            if driver.plugin or died.at not in commands:
                raise
            dead.add(died.at)
            continue
        texts = [None if command in dead else next(found) for _, command, _ in steps]
    return texts


def compare(driver, report, tag, opening, blocks, facts, folder, stand_ins=False):
    """Runs the commands of `blocks` without and with the plugin, and compares. Returns the names that `help` has, and (command, text with the plugin)."""
    known = commands_of(driver.without_plugin())
    steps = steps_of(blocks, known, dict(facts, folder=folder / "run"))
    report.check(f"{tag} commands of the table are LLDB's", ", ".join(command for _, command, name in steps if not name) or "all", "^all$")
    steps, dead, done = [step for step in steps if step[2]], [], []
    for name, who in (("without", driver.without_plugin()), ("with", driver)):
        try:
            texts = run(who, opening, steps, folder / "run")
        except subprocess.TimeoutExpired as late:
            printed = late.output.decode(errors="replace") if isinstance(late.output, bytes) else late.output or ""
            report.fail(f"{tag} {name} the plugin", f"no end after {LIMIT} s, at: {(re.findall(r'^.lldb. (.*)', printed, re.M) or ['?'])[-1]}")
            return known, []
        (folder / "run").rename(folder / name)
        dead += [step[1] for step, text in zip(steps, texts) if text is None]
        steps = [step for step, text in zip(steps, texts) if text is not None]
        done.append([text for text in texts if text is not None])
    problems = [(command, problem) for (mark, command, _), *texts in zip(steps, *done) if (problem := difference(mark, *texts, stand_ins))]
    for command, problem in problems:
        report.fail(f"{tag} {command}", problem)
    report.check(f"{tag} {len(steps)} commands", f"{len(problems)} differ", "^0 differ$")
    if dead:
        report.skip(f"{tag} {', '.join(dead)}", "LLDB dies of it, also without the plugin")
    without, with_plugin = (sorted(core.name for core in (folder / name).glob("*.dmp") if core.stat().st_size) for name in ("without", "with"))
    report.check(f"{tag} minidumps", "the same" if with_plugin == without else f"{with_plugin}, without the plugin {without}", "^the same$")
    return known, [(command, text) for (_, command, _), text in zip(steps, done[1])]


def facts_of(driver, opening):
    """A jitted method on a stack of the target."""
    text = driver.run([*opening, "clrbt --json all"], 300)[-1]
    stacks = json.loads(text[text.index("{"):text.rindex("}") + 1])
    frames = [f for t in stacks["threads"] for f in t["frames"] if f["kind"] == "managed" and f["code"]["kind"] == "jitted" and f["method"]["kind"] == "il"]
    frame = next(f for f in frames if f["method"]["full_name"].endswith("Report.Here()"))
    name = frame["method"]["name"]
    return {"ip": frame["ip"], "method": name, "type": name.rpartition(".")[0], "module": frame["method"]["module"]}


def check_modules(driver, report, tag, opening):
    """LLDB's Python API goes through what is published."""
    text = driver.run([*opening, "clr publish", f'command script import "{HERE / "module_walk.py"}"'], LIMIT, environment=ENVIRONMENT)[-1]
    report.check(f"{tag} modules by Python", text, r"^WALKED [1-9]\d* modules, 0 strange$")


def check_core(driver, report, tag, core, folder):
    opening = [f'target create --core "{core}"']
    table = command_table
    blocks = [table.LOOKING, table.BREAKPOINTS, table.ENDING_OF_A_CORE]
    known, _ = compare(driver, report, tag, opening, blocks, facts_of(driver, opening), folder, stand_ins=True)
    listed = {begins(line[2:], known) for line in "\n".join(blocks).split("\n")}
    missing = [name for name in sorted(known - listed) if not begins(name, table.EXEMPT)]
    report.check(f"{tag} every command of help is in the table", ", ".join(missing) or "all", "^all$")
    check_modules(driver, report, tag, opening)


def check_standing(driver, report, tag, pid, folder):
    """A live process that stands still."""
    opening = [f"process attach --pid {pid}"]
    facts = facts_of(driver, opening)
    _, texts = compare(driver, report, tag, opening, [command_table.LOOKING, command_table.BREAKPOINTS, "! detach"], facts, folder / "standing")
    # LLDB dropped all modules when its search paths changed.
    report.check(f"{tag} methods are found behind all of that", dict(texts).get(f"breakpoint set --name {facts['method']}", ""), rf"where = {facts['module']}`")


def check_running(driver, report, tag, program, folder):
    """A program that LLDB starts, steps through and ends."""
    opening = ["script lldb.debugger.SetAsync(False)", f'target create "{program}"', "breakpoint set --name SystemNative_Write", "process launch --no-stdio -- list"]
    compare(driver, report, tag, opening, [command_table.RUNNING], {}, folder / "running")
