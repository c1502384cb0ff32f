"""Markdown pages as the documentation tests see them: transcripts in fenced blocks, links, headings."""
import pathlib
import re
import subprocess
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

FENCE = re.compile(r"^\s*(```+|~~~+)")
MARKER = re.compile(r"^<!-- transcript: (?P<kind>[\w-]+)(?:: (?P<reason>.+))? -->$")
PROMPTS = ("(lldb) ", "$ ", ">>> ")
ELLIPSIS = "..."


@dataclass
class Step:
    """A command of a transcript and what the page says that it prints."""
    command: str
    line: int   # in the page, from 1
    expected: list = field(default_factory=list)


@dataclass
class Block:
    """A fenced block. `kind` is what its marker says (the comment on the line above it), empty without one."""
    line: int
    kind: str
    reason: str
    lines: list

    def steps(self, prompt):
        """Its commands at this prompt. Lines before the first one belong to none."""
        found = []
        for offset, line in enumerate(self.lines):
            if line.startswith(prompt):
                found.append(Step(line[len(prompt):].strip(), self.line + 1 + offset))
            elif found:
                found[-1].expected.append(line)
        return found

    def is_transcript(self):
        """True when the block shows a command together with what it prints."""
        return any(step.expected for prompt in PROMPTS for step in self.steps(prompt))


class Page:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.name = str(self.path.relative_to(ROOT))
        self.blocks, self.links, self.anchors, self.unused_markers = [], [], set(), []
        self._read(self.path.read_text(encoding="utf-8").splitlines())

    def _read(self, lines):
        fence = marker = None
        for number, line in enumerate(lines, 1):
            opening = FENCE.match(line)
            if fence:
                if opening and opening[1].startswith(fence):
                    fence = None
                else:
                    self.blocks[-1].lines.append(line)
                continue
            if opening:
                fence = opening[1]
                self.blocks.append(Block(number, marker[1]["kind"] if marker else "", (marker[1]["reason"] or "") if marker else "", []))
                marker = None
                continue
            if marker:
                self.unused_markers.append(marker[0])
            found = MARKER.match(line)
            marker = (number, found) if found else None
            if line.startswith("#"):
                self._add_anchor(line.lstrip("#").strip())
            self._add_links(number, line)
        if marker:
            self.unused_markers.append(marker[0])

    def _add_anchor(self, heading):
        """The name that GitHub gives a heading: lower case, punctuation gone, spaces as hyphens, a number for repeated ones."""
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        anchor = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        number, name = 0, anchor
        while name in self.anchors:
            number += 1
            name = f"{anchor}-{number}"
        self.anchors.add(name)

    def _add_links(self, number, line):
        text = re.sub(r"`[^`]*`", "", line)
        for target in re.findall(r"\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)", text) + re.findall(r"^\s*\[[^\]]+\]:\s*(\S+)", text):
            self.links.append((number, target))


def all_pages():
    """Every Markdown page that git knows or would add; without git every one outside of build folders."""
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"], capture_output=True, text=True)
    names = listed.stdout.split("\0") if listed.returncode == 0 else [str(path.relative_to(ROOT)) for path in ROOT.rglob("*.md")]
    return [Page(ROOT / name) for name in sorted(names) if name and not name.startswith("build") and (ROOT / name).exists()]


def broken_links(page, pages):
    """What is wrong with the relative links of a page, one line each."""
    by_path = {p.path.resolve(): p for p in pages}
    wrong = []
    for number, target in page.links:
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        name, _, anchor = target.partition("#")
        path = (page.path.parent / name).resolve() if name else page.path.resolve()
        if not path.is_relative_to(ROOT):
            wrong.append(f"line {number}: {target} leaves the project")
        elif not path.exists():
            wrong.append(f"line {number}: {target} is not there")
        elif anchor and path in by_path and anchor not in by_path[path].anchors:
            wrong.append(f"line {number}: {target}: {by_path[path].name} has no such heading")
    return wrong


def _same_line(expected, actual):
    parts = (re.escape(" ".join(part.split())) for part in expected.split(ELLIPSIS))
    return re.fullmatch(r"\s*.*\s*".join(parts), " ".join(actual.split())) is not None


def difference(expected, actual):
    """Where lines differ from what a page says, as a sentence; None when they do not. In `expected` a line `...` stands for any number of lines, `...`
    within a line for any text. Amounts of white space do not count; neither do blank lines at the end."""
    expected, actual = [line.strip() for line in expected], [line.strip() for line in actual]
    while expected and not expected[-1]:
        expected.pop()
    while actual and not actual[-1]:
        actual.pop()
    reached = {0}   # the lines of the page so far stand for this many of the first lines
    for line in expected:
        if line == ELLIPSIS:
            reached = set(range(min(reached), len(actual) + 1))
        else:
            before, reached = reached, {j + 1 for j in reached if j < len(actual) and _same_line(line, actual[j])}
            if not reached:
                where = min(before)
                return f"no line {line!r} at or behind " + (repr(actual[where]) if where < len(actual) else "the end of the output")
    return None if len(actual) in reached else f"more is printed: {actual[max(reached)]!r}"
