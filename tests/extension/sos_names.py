"""Names that people know from SOS: each is there in every LLDB, is our command with other words, stays another's where it is taken, and is in the table of docs/heap.md."""
import lzma
import pathlib
import re
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
HEAP_PAGE = HERE.parent.parent / "docs" / "heap.md"
RECORDED = HERE.parent / "cores" / "waiting-x64.core.xz"   # it holds the managed heap

# Each name, and the command whose help it shows.
NAMES = {"dumpheap": "objects", "gcroot": "root", "objsize": "retained", "eeheap": "heap", "gchandles": "handles", "finalizequeue": "finalizers", "syncblk": "locks",
         "dumpasync": "async", "threadpool": "pool"}
# What is typed as SOS wants it, and as it is typed here.
SAME = {"dumpheap -stat": "clr heap --stat", "dumpheap -stat -min 2000": "clr heap --stat --min 2000", "dumpheap -stat -type Lock": "clr heap --stat *Lock*", "dumpheap -stat -live": "clr heap --stat --live", "dumpheap -live": "clr heap --stat --live",
        "dumpheap -type Threading.Lock": "clr objects *Threading.Lock*", "dumpheap -gen 2 -min 3000": "clr objects --gen 2 --min 3000", "dumpheap -type Free": "clr heap --free", "dumpheap -strings": "clr strings --duplicates",
        "dumpheap System.Threading.Lock": "clr objects System.Threading.Lock", "eeheap -gc": "clr heap", "eeheap": "clr heap", "gchandles": "clr handles", "finalizequeue": "clr finalizers", "syncblk": "clr locks",
        "dumpasync": "clr async", "threadpool": "clr pool"}


COMMAND_OF_HELP = re.compile(r"^  (\S+) +-- ", re.M)


def lost_abbreviations(before, after):
    """Beginnings of LLDB's own commands that meant one of them `before`, and do not `after`: what `help` lists without the plugin and with it."""
    def meant(names, text):
        return {text} if text in names else {name for name in names if name.startswith(text)}
    before, after = set(COMMAND_OF_HELP.findall(before)), set(COMMAND_OF_HELP.findall(after))
    beginnings = {name[:length] for name in before for length in range(1, len(name))}
    return sorted(text for text in beginnings if len(meant(before, text)) == 1 and len(meant(after, text)) != 1)


def check_everywhere(driver, report, tag):
    (its,), (ours, thread, finish) = driver.without_plugin().run(["help"]), driver.run(["help", "help th", "help fin"])
    report.check(f"{tag} beginnings of LLDB's commands", f"{len(COMMAND_OF_HELP.findall(its))} commands, lost: {' '.join(lost_abbreviations(its, ours))}.", r"^[4-9]\d commands, lost: \.$")
    report.check(f"{tag} th and fin", f"{thread}\n{finish}", "(?s)abbreviation for 'thread'.*Finish executing the current stack frame")
    asked = [f"help {text}" for name, command in NAMES.items() for text in (name, f"clr {command}")]
    texts = driver.run(asked)
    for (name, command), ours, its in zip(NAMES.items(), texts[::2], texts[1::2]):
        report.check(f"{tag} {name} is there", ours, rf"Syntax: {name}\b")
        report.check(f"{tag} {name} is clr {command}", "same" if ours.splitlines()[0] == its.splitlines()[0] else f"{ours[:200]}\n{its[:200]}", "^same$")
    taken = ["command alias objsize version", "command alias syncblk version", f'plugin load "{driver.plugin}"', "objsize", "help clr", "clr help retained", "gcroot"]
    *_, loaded, kept, tree, _, other = driver.without_plugin().run(taken)
    report.check(f"{tag} a name that is taken stays another's", loaded, "a command 'objsize' exists already and is kept", "a command 'syncblk' exists already and is kept", absent=["'gcroot'"])
    report.check(f"{tag} what it was before", kept, "^lldb version")
    report.check(f"{tag} the others are there", f"{tree}\n{other}", "retained", "^error: ADDRESS is missing")


def check_words(driver, report, tag):
    page = HEAP_PAGE.read_text()
    table = page[page.index("| SOS | here |"):]
    for name in NAMES:
        report.check(f"{tag} docs/heap.md maps {name}", table, rf"^\| `{name}\b[^|]*`.*\| `clr ")
    with tempfile.TemporaryDirectory(prefix="lldb-clr-sos-") as folder:
        core = pathlib.Path(folder) / "waiting.core"
        core.write_bytes(lzma.decompress(RECORDED.read_bytes()))
        asked = [text for pair in SAME.items() for text in pair]
        opening = [f'target create --core "{core}"']
        texts = driver.run([*opening, *asked, "clr objects System.Threading.Lock", "dumpheap -type", "dumpheap -short", "dumpheap -stat -mt 0x10"], 300)[1:]
        for (theirs, ours), one, other in zip(SAME.items(), texts[::2], texts[1::2]):
            report.check(f"{tag} {theirs} is {ours}", "same" if one == other and len(one) > 20 else f"{one[:300]}\n{other[:300]}", "^same$")
        locks, no_value, unknown, table_of_counts = texts[-4:]
        report.check(f"{tag} dumpheap -type", no_value, "^error: -type needs a value")
        report.check(f"{tag} dumpheap -short", unknown, "^error: there is no option '--short'; the syntax is: clr objects")
        report.check(f"{tag} dumpheap -stat -mt", table_of_counts, "^error: there is no option '--method-table'; the syntax is: clr heap")
        first = re.search(r"^(0x[0-9a-f]+) ", locks, re.M)[1]
        shown = driver.run([*opening, f"clr object --json {first}"], 300)[-1]
        table_at = re.search(r'"method_table":"(0x[0-9a-f]+)"', shown)[1]
        (by_table,) = driver.run([*opening, f"dumpheap -mt {table_at[2:]:0>16}"], 300)[1:]
        report.check(f"{tag} dumpheap -mt", "same" if by_table == locks else f"{by_table[:300]}\n{locks[:300]}", "^same$")
