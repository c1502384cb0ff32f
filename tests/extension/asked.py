"""A command gets what it needs: it prints the same as when everything was published before it, and no more is published than that."""
import json
import re

from every_command import ENVIRONMENT

# Each is a session of its own; the text of the last command is compared.
COMMANDS = [["bt"], ["bt all"], ["thread list"], ["thread info"], ["register read"], ["process status"], ["frame variable"], ["up", "up"],
            ["up", "up", "register read"], ["frame select 3"], ["frame select 12"], ["disassemble"], ["image lookup -n Main"],
            ["image lookup -v -n Situations.Gallery.Customer"], ["image lookup -r -n Main"], ["breakpoint set -r Main"], ["bt", "bt all"], ["bt", "thread backtrace 3"], ["bt", "thread list"], ["bt", "up"],
            ["breakpoint set -n Situations.Gallery.Customer"], ["breakpoint set -n Main"], ["breakpoint set -f Program.cs -l 20"], ["b Nowhere.cs:3"], ["b Recurse"], ["b MoveNext"], ["tbreak NobodyIsCalledSo"]]
FEW = [["bt"], ["up", "up"], ["b Recurse"]]   # of the versions that others stand for
# Between commands of one session: as at its beginning.
AGAIN = ["breakpoint delete --force", "frame select 0"]
# What stands on the stack of the selected thread.
STACK = ("bt", "thread info", "register read", "frame variable", "frame select 3", "frame select 12", "up")
# What stands on all stacks, and for breakpoints and searches by name or file what is called so.
STACKS = ("bt ", "thread", "register", "frame", "up", "process", "breakpoint set -n ", "breakpoint set -f ", "b ", "tbreak", "image lookup -n ", "image lookup -v -n ")
# Of the files that are made for LLDB: a folder for each module, the place of the code in a section, and the numbers of entries. And of breakpoints.
TEMPORARY = re.compile(r"lldb-clr-published-\w+|\.PT_LOAD\[\d+\]\S* \+ \d+|id = \{0x[0-9a-f]+\}|[Bb]reakpoint \d+")


def level(text):
    return json.loads(text[text.index("{"):])["level"]


def when_published(driver, opening, every):
    """The text of the last of each list of commands, in one session that has published everything."""
    opening = [*opening, "clr publish --wait"]
    texts = driver.run([*opening, *(command for commands in every for command in [*commands, *AGAIN])], environment=ENVIRONMENT)
    at, lasts = len(opening), []
    for commands in every:
        at += len(commands)
        lasts.append(texts[at - 1])
        at += len(AGAIN)
    return lasts


def check(driver, report, tag, core, every):
    """`every`: all commands, or FEW of them."""
    opening = [f'target create --core "{core}"']
    asked_for = COMMANDS if every else FEW
    for commands, whole in zip(asked_for, when_published(driver, opening, asked_for)):
        (*_, asked, status) = driver.run([*opening, *commands, "clr publish status --json"], environment=ENVIRONMENT)
        name = f"{tag} {'; '.join(commands)}"
        report.check(f"{name}: as with everything published", TEMPORARY.sub("", asked), "^" + re.escape(TEMPORARY.sub("", whole)) + r"\Z")
        wanted = "stack" if commands[-1] in STACK else "stacks" if commands[-1].startswith(STACKS) else "everything"
        report.check(f"{name}: what is published", level(status), f"^{wanted}$")
    (_, first, _, kept, all_now, last) = driver.run([*opening, "clr publish status --json", "bt", "clr settings --publish lines,variables", "clr publish",
                                                     "clr publish status --json"])
    report.check(f"{tag} nothing is published unasked", level(first), "^nothing$")
    report.check(f"{tag} clr settings publishes nothing", kept, r"^publish: names, unwinding, lines, variables; when: auto")
    report.check(f"{tag} clr publish", all_now, r"^\d+ modules, \d+ pieces of code", absent=["^code on stacks"])
    report.check(f"{tag} clr publish publishes everything", level(last), "^everything$")
    # A script may look at code by the API, without any command.
    (_, _, scripted) = driver.run([*opening, "script 1", "clr publish status --json"])
    report.check(f"{tag} a script gets everything", level(scripted), "^everything$")
    (*_, once) = driver.run([*opening, "expression unsigned long $n = 5", 'disassemble -c 1 -s "($n++, (unsigned long)$sp)"', "expression $n"])
    # LLDB 21 does not evaluate it.
    report.check(f"{tag} an expression that writes is evaluated by LLDB alone", once, r"\$n = [56]$")
    (_, _, _, chosen) = driver.run([*opening, "clr settings --publish-when stop", "bt", "clr publish status --json"])
    report.check(f"{tag} everything at each stop", level(chosen), "^everything$")
