#!/usr/bin/env python3
"""Checks the documentation: what its transcripts show is what the commands print today, and its links lead somewhere.

    run.py [--plugin build/liblldb-clr.so] [--lldb DRIVER] [--only PAGE]... [--show]      --show prints what the commands of the pages print now

A transcript is a fenced block behind a comment that says what it runs on: `<!-- transcript: KIND -->`. Kinds:

    gallery-x64, gallery-arm64   the recorded cores of tests/cores, as files of these names with `.core`; addresses and numbers are compared too
    shop-core     a crash of tests/live/programs/shop: the file `core`. Needs .NET. What differs from crash to crash is not compared (VOLATILE).
    shop-bare     the same on a host without the program and .NET, and a copy of their files below `rootfs`. Needs .NET and the right to hide folders.
    shop-live     the program itself, the file `shop`. Needs .NET.
    python        lines of Python, beside gallery-x64.core
    shell         lines of a shell, in the same folder
    not-run: WHY  shown, not run

The blocks of one kind in a page are one session of LLDB, in the page's order. `plugin load` and `target create` come first where the page does not say
them. In what a page shows, a line `...` stands for any number of lines, and `...` in a line for any text.

The last line is `N passed, N failed, N skipped`.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "live"), str(HERE.parent / "cores")]

import pages
from plugin import ENVIRONMENT, Lldb, split
from processes import Unavailable
from results import Results
from run_cores import unpack
from shop import Shop

CORES = HERE.parent / "cores"
LLDB_KINDS = ("gallery-x64", "gallery-arm64", "shop-core", "shop-bare", "shop-live")
KINDS = (*LLDB_KINDS, "python", "shell", "not-run")
PROMPTS = {**dict.fromkeys(LLDB_KINDS, "(lldb) "), "python": ">>> ", "shell": "$ "}
# Texts that differ each time that a program crashes: addresses, offsets in code compiled for this CPU, process ids, sizes, times, the runtime's version.
VOLATILE = [(re.compile(pattern), by) for pattern, by in [
    (r"0x[0-9a-f]{6,}", "0x#"), (r"([+-]) \d+\b", r"\1 #"), (r"(?i)\b(process:? +)\d+", r"\1#"), (r"\b[\d.]+ (ms|[kMG]B|bytes)\b", r"# \1"),
    (r"\b10\.0\.\d+\b", "10.0.#"), (r"<\+\d+>", "<+#>"), (r"\b\d+ pages\b", "# pages"), (r"\b\d+ of \d+ relocated\b", "# of # relocated")]]


def steady(line):
    for pattern, by in VOLATILE:
        line = pattern.sub(by, line)
    return line


class Setup:
    """Folders to run in, one for each kind, made when they are needed."""

    def __init__(self, lldb, folder):
        self.lldb, self.folder = lldb, pathlib.Path(folder)
        self.shop = Shop(self.folder / "shop")
        self.made = {}

    def room(self, kind):
        """(folder, command before LLDB's, LLDB's command that opens the target)."""
        if kind not in self.made:
            folder = self.folder / kind
            folder.mkdir()
            for name, to in (("build", self.lldb.plugin.parent), ("python", pages.ROOT / "python"), ("tests", pages.ROOT / "tests")):
                (folder / name).symlink_to(to)
            try:
                self.made[kind] = (folder, *getattr(self, "make_" + kind.replace("-", "_"))(folder))
            except Unavailable as why:
                self.made[kind] = why
        if isinstance(self.made[kind], Unavailable):
            raise self.made[kind]
        return self.made[kind]

    def recorded(self, folder, name):
        unpack(CORES / f"{name}.core.xz", folder)
        return [], f"target create --core {name}.core"

    def make_gallery_x64(self, folder):
        return self.recorded(folder, "gallery-x64")

    def make_gallery_arm64(self, folder):
        return self.recorded(folder, "gallery-arm64")

    def make_python(self, folder):
        return self.recorded(folder, "gallery-x64")

    def make_shop_core(self, folder):
        (folder / "core").symlink_to(self.shop.core)
        return [], "target create --core core"

    def make_shop_bare(self, folder):
        before = self.shop.hiding()
        (folder / "rootfs").symlink_to(self.shop.root_copy)
        (folder / "core").symlink_to(self.shop.core)
        return before, "target create --core core"

    def make_shop_live(self, folder):
        for part in self.shop.executable.parent.iterdir():
            (folder / part.name).write_bytes(part.read_bytes())
        (folder / "shop").chmod(0o755)
        return [], "target create shop"

    def session(self, kind, commands, seconds=300):
        """What each of these commands prints, in one LLDB."""
        folder, before, opening = self.room(kind)
        setup = ["settings set interpreter.stop-command-source-on-error false"]
        if not any(c.startswith("plugin load ") for c in commands):
            setup.append(f"plugin load build/{self.lldb.plugin.name}")
        if not any(c.startswith("target create ") for c in commands):
            setup.append(opening)
        lines = [*setup[1:], *commands]
        script = folder / "commands.lldb"
        script.write_text("\n".join(lines) + "\n")
        with tempfile.TemporaryFile("w+", errors="replace") as out:
            done = subprocess.run([*before, self.lldb.driver, "--no-lldbinit", "--batch", "--no-use-colors", "--one-line-before-file", setup[0],
                                   "--source", script.name], stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=seconds, cwd=folder,
                                  env=dict(ENVIRONMENT, LLDB_CLR_LIBRARY_DIR=str(self.lldb.plugin.parent), TERM="dumb"))
            out.seek(0)
            texts = split(out, lines)
            out.seek(0)
            assert done.returncode == 0 and len(texts) == len(lines), f"LLDB ended after {len(texts)} of {len(lines)} commands: {out.read()[-400:]}"
        return [text.splitlines() for text in texts[len(lines) - len(commands):]]

    def environment(self):
        return dict(os.environ, LLDB_CLR_LIBRARY_DIR=str(self.lldb.plugin.parent))

    def shell(self, commands):
        """What each of these commands of a shell prints."""
        folder = self.room("python")[0]
        done = [subprocess.run(["bash", "-c", command], cwd=folder, env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, timeout=300) for command in commands]
        return [each.stdout.splitlines() for each in done]

    def doctest(self, block):
        folder = self.room("python")[0]
        script = folder / f"line{block.line}.txt"
        script.write_text("\n".join(block.lines) + "\n")
        env = dict(self.environment(), PYTHONPATH=str(pages.ROOT / "python"))
        done = subprocess.run([sys.executable, "-m", "doctest", "-o", "ELLIPSIS", script.name], cwd=folder, env=env, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr


def check_comparison():
    """What the comparison of transcripts takes for equal, and what not."""
    cases = [("a\n...\nc", "a\nx\ny\nc", True), ("...", "", True), ("a ... d", "  a  b c d", True), ("a\n...", "a", True), ("a", "a\n\n", True),
             ("...\nb\n...\nb", "b\nb", True), ("a", "a\nb", False), ("a\nb", "a", False), ("a\n...\nb", "a\nb\nc", False), ("a ... d", "a b c", False)]
    for expected, actual, same in cases:
        found = pages.difference(expected.split("\n"), actual.split("\n"))
        assert (found is None) == same, f"{actual!r} for {expected!r}: {found}"
    return f"{len(cases)} cases"


def check_links(page, every_page):
    wrong = pages.broken_links(page, every_page)
    assert not wrong, "\n    ".join([f"{len(wrong)} broken links", *wrong])
    return f"{len(page.links)} links"


def check_marked(page):
    """A block that shows what a command prints is run, or says why not."""
    wrong = [f"line {number}: the marker stands before no block" for number in page.unused_markers]
    wrong += [f"line {b.line}: {b.kind} is no kind of transcript" for b in page.blocks if b.kind and b.kind not in KINDS]
    wrong += [f"line {b.line}: not-run needs a reason" for b in page.blocks if b.kind == "not-run" and not b.reason]
    wrong += [f"line {b.line}: a transcript without a marker" for b in page.blocks if not b.kind and b.is_transcript()]
    wrong += [f"line {b.line}: no command in a transcript" for b in page.blocks if b.kind in PROMPTS and not b.steps(PROMPTS[b.kind])]
    assert not wrong, "\n    ".join(["transcripts that are not checked", *wrong])


def check_session(setup, page, kind, show):
    steps = [step for block in page.blocks if block.kind == kind for step in block.steps(PROMPTS[kind])]
    commands = [step.command for step in steps]
    outputs = setup.shell(commands) if kind == "shell" else setup.session(kind, commands)
    if show:
        for step, lines in zip(steps, outputs):
            print(PROMPTS[kind] + step.command, *lines, sep="\n")
    exact = not kind.startswith("shop")
    wrong = []
    for step, lines in zip(steps, outputs, strict=True):
        expected = step.expected
        if not exact:
            expected, lines = [steady(line) for line in expected], [steady(line) for line in lines]
        if found := pages.difference(expected, lines):
            wrong.append(f"line {step.line}: {step.command}: {found}")
    assert not wrong, "\n    ".join(["the commands print something else", *wrong])
    return f"{len(steps)} commands"


def check_python(setup, page):
    blocks = [block for block in page.blocks if block.kind == "python"]
    for block in blocks:
        setup.doctest(block)
    return f"{sum(len(block.steps('>>> ')) for block in blocks)} statements"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plugin", default=pages.ROOT / "build" / "liblldb-clr.so")
    parser.add_argument("--lldb")
    parser.add_argument("--only", action="append", help="pages of which the path contains this")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    results = Results()
    every_page = pages.all_pages()
    chosen = [p for p in every_page if not options.only or any(part in p.name for part in options.only)]
    results.check("docs/comparison", check_comparison)
    for page in chosen:
        results.check(f"{page.name}/links", check_links, page, every_page)
        if page.blocks:
            results.check(f"{page.name}/marked", check_marked, page)
    try:
        lldb = Lldb(options.plugin, options.lldb)
    except Unavailable as e:
        results.skip("docs/transcripts", str(e))
        return results.summary()
    with tempfile.TemporaryDirectory(prefix="lldb-clr-docs-") as folder:
        setup = Setup(lldb, folder)
        for page in chosen:
            for kind in dict.fromkeys(block.kind for block in page.blocks if block.kind in PROMPTS):
                if kind == "python":
                    results.check(f"{page.name}/python", check_python, setup, page)
                else:
                    results.check(f"{page.name}/{kind}", check_session, setup, page, kind, options.show)
    return results.summary()


if __name__ == "__main__":
    sys.exit(main())
