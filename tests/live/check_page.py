"""`clr report`: one page that stands alone, that is sound as XML and as HTML, and that says what the commands say."""
import html.parser
import json
import os
import pathlib
import re
import tempfile
import xml.etree.ElementTree as xml

import browser
from plugin import Failed

SECTIONS = {"deadlocks", "graph", "thread", "locks", "async", "pool", "stacks", "threads", "exceptions", "failed", "heap", "retained", "types", "statics", "missing"}
ELEMENTS = {"html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "b", "span", "div", "nav", "a", "section", "ul", "ol", "li", "pre", "table", "tr", "th", "td",
            "details", "summary", "svg", "g", "rect", "path", "text"}
ATTRIBUTES = {"lang", "charset", "http-equiv", "content", "name", "class", "id", "href", "title", "value", "start", "open", "role", "width", "height", "viewBox",
              "x", "y", "rx", "d", "fill"}
VOID = {"meta", "rect", "path"}
# What a browser or a terminal obeys in a text, and what XML forbids.
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffe\uffff]")
LARGEST = 8 << 20


class Elements(html.parser.HTMLParser):
    """As a browser's parser sees the page: elements, their attributes, and whether they are closed in order."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.problems, self.seen = [], [], []
        self.feed(text)
        self.close()
        self.problems += [f"<{e}> is not closed" for e in self.open]

    def handle_starttag(self, tag, attributes):
        self.handle_startendtag(tag, attributes)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.seen.append(tag)
        if tag not in ELEMENTS:
            self.problems.append(f"<{tag}> is no element of a page")
        self.problems += [f"{tag} has {name}={value!r}" for name, value in attributes
                          if name not in {a.lower() for a in ATTRIBUTES} or name == "href" and not re.fullmatch(r"#\w+", value)]

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> closes nothing")

    def handle_comment(self, text):
        self.problems.append(f"comment {text!r}")

    def handle_pi(self, text):
        self.problems.append(f"instruction {text!r}")


class Sections:
    """A page by its sections."""

    def __init__(self, root):
        self.sections = {s.get("id"): s for s in root.iter("section")}
        self.verdict = " ".join("".join(p.itertext()) for p in root.iter("p") if (p.get("class") or "").startswith("verdict"))

    def words(self, section):
        return "".join(self.sections[section].itertext())

    def rows(self, section):
        """The cells of the tables' rows, without the heads."""
        return [["".join(d.itertext()) for d in row.findall("td")] for row in self.sections[section].iter("tr") if row.find("td") is not None]

    def number(self, section, pattern):
        found = re.search(pattern, self.words(section))
        assert found, f"{section}: no {pattern!r} in {self.words(section)[:300]!r}"
        return int(found[1].replace(",", ""))


class Page(Sections):
    """A page as it was written, after it was found sound."""

    def __init__(self, text):
        self.text = text
        problems = []
        if not text.startswith("<!DOCTYPE html>\n"):
            problems.append("no DOCTYPE in front")
        if len(text.encode()) > LARGEST:
            problems.append(f"{len(text)} characters")
        problems += [f"{m[0]!r} at {m.start()}" for m in OBEYED.finditer(text)][:5]
        elements = Elements(text)
        problems += elements.problems[:10]
        root = xml.fromstring(text.split("\n", 1)[1])
        if [e.tag for e in root.iter()] != elements.seen:
            problems.append("as XML it has other elements than as HTML")
        policy = [m.get("content") for m in root.iter("meta") if m.get("http-equiv") == "Content-Security-Policy"]
        if len(policy) != 1 or "default-src 'none'" not in policy[0] or "script" in policy[0]:
            problems.append(f"policy {policy}")
        if re.search(r"url\(|@import|javascript:", "".join(root.find("head/style").itertext())):
            problems.append("the style refers to something")
        super().__init__(root)
        if set(self.sections) != SECTIONS:
            problems.append(f"sections {sorted(self.sections)}")
        assert not problems, "\n    ".join(["the page is not sound", *problems])


def write(lldb, target, commands=()):
    """The page of `target`, and what the commands of `commands` said in the same session."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "page.html"
        texts = lldb.run(target, [f"clr report {path}", *commands])
        if not path.is_file():
            raise Failed(f"no page: {texts[0]!r} {lldb.errors[-300:]}")
        assert path.stat().st_mode & 0o777 == 0o600, oct(path.stat().st_mode)
        assert os.listdir(folder) == [path.name], os.listdir(folder)
        page = path.read_text(encoding="utf-8")
        assert texts[0].startswith(f"{path}: {len(page.encode())} bytes"), texts[0]
    return Page(page), texts[1:]


COMMANDS = ["clr analyze --json", "clr deadlocks --json", "clr locks --json", "clr threads --json", "clr async --json", "clr pool --json", "clr heap --stat --json",
            "clr retained --json", "clr retained --by type --json"]


def check(lldb, target):
    """The page says what the commands say of the same stop."""
    page, texts = write(lldb, target, COMMANDS)
    answers = [lldb.parse(c, t, target) for c, t in zip(COMMANDS, texts)]
    return f"{len(page.text.encode())} bytes, {compare(page, answers)}"


def compare(page, answers):
    analysis, deadlocks, locks, threads, chains, pool, heap, retained, by_type = answers
    wrong = []

    def same(what, actual, expected):
        if actual != expected:
            wrong.append(f"{what}: {actual!r} for {expected!r}")

    same("verdict", page.verdict.removeprefix("probably ").split(":")[0], analysis["verdict"])
    same("deadlocks", len([p for p in page.sections["deadlocks"].iter("p") if p.get("class") == "bad"]), len(deadlocks))
    if locks:
        same("locks", page.number("locks", r"([\d,]+) locks? held or waited for"), len(locks))
        same("waiters", sorted(int(r[2].replace(",", "")) for r in page.rows("locks")), sorted(len(l["waiters"]) for l in locks))
        same("addresses of locks", sorted(r[0].split()[-1] for r in page.rows("locks")), sorted(l["object"] for l in locks))
    same("threads", [(r[1], r[2]) for r in page.rows("threads")], [(str(t["os_id"]), str(t["managed_id"])) for t in threads])
    same("threads of stacks", page.number("stacks", r"of ([\d,]+) threads?"), analysis["threads"])
    if chains["stacks"]:
        same("chains", page.number("async", r"([\d,]+) chains? of async"), sum(s["count"] for s in chains["stacks"]))
    mine = [s for s in chains["stacks"] if not s["plumbing"]]
    same("different chains", len(page.sections["async"].findall("details")), min(len(mine), 100))
    same("first methods", [d.find("ol/li/b").text for d in page.sections["async"].findall("details")],
         [shown(s["frames"][0]["method"]) for s in mine[:100]])
    if pool:
        same("items", page.number("pool", r"([\d,]+) items?"), pool["items"])
    same("types", page.number("heap", r"objects? of ([\d,]+) types?"), len(heap["types"]))
    same("bytes", page.number("heap", r"\(([\d,]+) bytes\)"), heap["bytes"])
    same("counts of types", [[int(r[0].replace(",", "")), int(r[2].replace(",", "")), r[4]] for r in page.rows("heap")],
         [[t["bytes"], t["count"], as_shown(t["name"])] for t in heap["types"][:100]])
    same("tiles", len([e for e in page.sections["heap"].iter("rect")]), min(len(heap["types"]), 61))
    same("retained", [int(r[0].replace(",", "")) for r in page.rows("retained")], [r["retained"] for r in retained])
    same("retained by types", [r[4] for r in page.rows("types")], [as_shown(r["type"]) for r in by_type])
    assert not wrong, "\n    ".join(["the page says other things than the commands", *wrong])
    return f"{len(locks)} locks, {len(mine)} chains, {len(heap['types'])} types"


def shown(method):
    """The name for people: the method as it was written, with its mark."""
    user = method.get("user_method")
    if user:
        return f"{user['full_name']} [{user['mark']}]"
    mark = " [async thunk]" if method["kind"] == "async_thunk" else " [async]" if method.get("runtime_async") else ""
    return method["full_name"] + mark


def check_alone(lldb, target):
    """A page of a core without a heap, or without a runtime, is sound, and says what it lacks."""
    page, _ = write(lldb, target)
    lacking = [s for s in page.sections if "Not to be had" in page.words(s)]
    assert "Nothing that was asked for" not in page.words("missing"), page.words("missing")
    assert not {"stacks", "thread"} & set(lacking), f"no stacks: {page.words('stacks')[:300]}"
    return f"{len(page.text.encode())} bytes, not to be had: {', '.join(sorted(lacking))}"


def check_places(lldb, target):
    """Where a page may be written, and what is said of other places."""
    with tempfile.TemporaryDirectory() as folder:
        old = pathlib.Path(folder) / "old.html"
        old.write_text("old")
        cases = {f"clr report {old}": "it exists; --force replaces it", f"clr report {folder}": "it is a folder", f"clr report {folder}/no/page.html": "No such file",
                 "clr report /proc/page.html": "cannot write /proc/page.html"}
        lldb.run(target, list(cases), go_on=True)
        for command, reason in cases.items():
            assert reason in lldb.errors, f"{command}: no {reason!r} in {lldb.errors!r}"
        assert old.read_text() == "old" and os.listdir(folder) == ["old.html"], os.listdir(folder)
        lldb.run(target, [f"clr report --force {old}"])
        Page(old.read_text(encoding="utf-8"))
        assert os.listdir(folder) == ["old.html"], os.listdir(folder)
    return f"{len(cases) + 1} places"


def check_deadlock(lldb, target):
    """The picture has the deadlock in red."""
    page, texts = write(lldb, target, ["clr deadlocks --json"])
    (deadlocks,) = (lldb.parse("clr deadlocks --json", t, target) for t in texts)
    members = {(k, m[k]) for d in deadlocks for m in d["members"] for k in ("thread", "box") if k in m}
    red = [r for r in page.sections["graph"].iter("rect") if "red" in r.get("class").split()]
    threads = [r for r in red if r.get("class").split() == ["node", "red"]]
    assert len(threads) == len([m for m in members if m[0] == "thread"]), f"{len(threads)} red threads for {members}"
    arrows = [p for p in page.sections["graph"].iter("path") if p.get("class") == "arrow red"]
    assert len(arrows) >= len(members), f"{len(arrows)} red arrows for {members}"
    return f"{len(red)} red boxes, {len(arrows)} red arrows"


# Width of the window, and whether its colours are dark.
WINDOWS = ((360, False), (1100, True))


def check_browser(lldb, target, names=()):
    """The page in a browser without a network: nothing in its console, it shows what the commands say, and all of it can be read. `names` are texts
    that it must show as they are."""
    browser.browser()
    page, texts = write(lldb, target, COMMANDS)
    root, said = browser.show(page.text)
    assert not said, said[:3]
    others = {e.tag for e in root.iter()} - ELEMENTS - {"tbody"}
    assert not others, f"elements {others}"
    shown = Sections(root)
    assert set(shown.sections) == SECTIONS, sorted(shown.sections)
    figures = compare(shown, [lldb.parse(c, t, target) for c, t in zip(COMMANDS, texts)])
    words = "".join(root.itertext())
    missing = [name for name in names if as_shown(name) not in words]
    assert not missing, f"not shown: {missing}"
    seen = 0
    for width, dark in WINDOWS:
        wrong, looked = browser.measure(page.text, width, dark)
        assert not wrong, "\n    ".join([f"{width} wide, {'dark' if dark else 'light'}", *wrong])
        seen += looked["texts"] + looked["labels"]
    network = "no network" if browser.without_network() else "no name is resolved"
    return f"{pathlib.Path(browser.browser()).name}, {network}: {len(words)} characters, {figures}, {seen} texts can be read"


def as_shown(text):
    """As names are shown: what a terminal or a browser obeys is escaped."""
    return re.sub("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]", lambda m: f"\\u{ord(m[0]):04x}" if ord(m[0]) > 0x7f else f"\\x{ord(m[0]):02x}", text)


def names_of(running):
    """The names that programs/odd says it uses."""
    return [json.loads(line) for line in running.output.decode().splitlines() if line.startswith('"')]
