"""A page as headless Chromium shows it, without a network: the document that it made of the page, what its console said, and how it is laid out."""
import functools
import html.parser
import json
import pathlib
import shutil
import subprocess
import tempfile
import xml.etree.ElementTree as xml

from processes import Unavailable

NAMES = ("chromium-headless-shell", "chromium", "google-chrome")
# Elements that have no end tag in a document that a browser writes down.
VOID = {"meta", "link", "br", "hr", "img", "input"}


@functools.lru_cache(maxsize=None)
def browser():
    for name in NAMES:
        found = shutil.which(name)
        if found:
            return found
    raise Unavailable(f"there is no headless Chromium ({', '.join(NAMES)})")


@functools.lru_cache(maxsize=None)
def without_network():
    """What runs a program in a network of its own, which has no way out; nothing where that is not permitted."""
    tool = shutil.which("unshare")
    command = [tool, "--net"] if tool else []
    return command if tool and subprocess.run([*command, "true"], capture_output=True).returncode == 0 else []


class Tree(html.parser.HTMLParser):
    """The elements of a document that a browser wrote down."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.builder = xml.TreeBuilder()
        self.feed(text)
        self.close()
        self.root = self.builder.close()

    def handle_starttag(self, tag, attributes):
        self.builder.start(tag, {k: v or "" for k, v in attributes})
        if tag in VOID:
            self.builder.end(tag)

    def handle_startendtag(self, tag, attributes):
        self.builder.start(tag, {k: v or "" for k, v in attributes})
        self.builder.end(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            self.builder.end(tag)

    def handle_data(self, data):
        self.builder.data(data)


def show(text, width=1200, dark=False):
    """(document, lines of the console) of a page with this text."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "page.html"
        path.write_text(text, encoding="utf-8")
        # 0 is the dark scheme of colours, 1 the light one.
        words = [*without_network(), browser(), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile",
                 "--host-resolver-rules=MAP * ~NOTFOUND", f"--window-size={width},1000", f"--blink-settings=preferredColorScheme={0 if dark else 1}",
                 "--enable-logging=stderr", "--dump-dom", path.as_uri()]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "<html" in done.stdout, f"exit code {done.returncode}: {done.stderr[-500:]}"
    return Tree(done.stdout[done.stdout.index("<html"):]).root, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


# Runs in a copy of the page that lets scripts run. All of the page is unfolded.
MEASURE = """
document.querySelectorAll('details').forEach(d => d.open = true);
const wrong = [], seen = {texts: 0, labels: 0, width: innerWidth};
const say = (what, e) => { if (wrong.length < 20) wrong.push(what + ': ' + (e.textContent || '').trim().slice(0, 60)); };
const light = c => { const v = c.slice(0, 3).map(x => (x /= 255) <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4); return .2126 * v[0] + .7152 * v[1] + .0722 * v[2]; };
const colour = s => { const m = s.match(/[\\d.]+/g); return m ? m.map(Number) : null; };
const contrast = (a, b) => { const x = light(a), y = light(b); return (Math.max(x, y) + .05) / (Math.min(x, y) + .05); };
const visible = c => c && (c.length < 4 || c[3] > 0);
const behind = e => { for (; e; e = e.parentElement) { const c = colour(getComputedStyle(e).backgroundColor); if (visible(c)) return c; } return [255, 255, 255]; };
const root = document.documentElement;
if (root.scrollWidth > root.clientWidth + 1) wrong.push(`the page is ${root.scrollWidth} wide in a window of ${root.clientWidth}`);
const inside = (a, b) => a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
document.querySelectorAll('section *').forEach(e => {
  if (e.closest('svg') || ![...e.childNodes].some(n => n.nodeType == 3 && n.data.trim())) return;
  ++seen.texts;
  const ratio = contrast(colour(getComputedStyle(e).color), behind(e));
  if (ratio < 4.5) say('contrast ' + ratio.toFixed(1), e);
  const cell = e.closest('td,th');
  if (cell && cell.scrollWidth > cell.clientWidth + 1) say('runs out of its cell', e);
  if (cell && cell.tagName == 'TD' && !cell.classList.contains('n') && !cell.classList.contains('k') && cell.textContent.length > 20 && cell.clientWidth < 90)
    say('a cell of ' + cell.clientWidth, e);
});
document.querySelectorAll('svg').forEach(svg => {
  const frame = svg.getBoundingClientRect(), placed = [];
  if (svg.matches('.map') && innerWidth > 760 && frame.right > svg.parentElement.getBoundingClientRect().right + 1) wrong.push('a picture of ' + frame.width);
  svg.querySelectorAll('text').forEach(t => {
    ++seen.labels;
    const box = t.getBoundingClientRect(), rect = t.parentElement.querySelector('rect');
    if (!inside(box, frame)) say('out of its picture', t);
    if (rect && !inside(box, rect.getBoundingClientRect())) say('out of its box', t);
    for (const other of placed) if (Math.min(box.right, other.right) - Math.max(box.left, other.left) > 2 && Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top) > 3) { say('over another', t); break; }
    placed.push(box);
    const fill = rect ? colour(getComputedStyle(rect).fill) : behind(svg);
    const ratio = contrast(colour(getComputedStyle(t).fill), visible(fill) ? fill : behind(svg));
    if (ratio < 4.5) say('contrast ' + ratio.toFixed(1), t);
  });
  const nodes = [...svg.querySelectorAll('rect.node')].map(r => r.getBoundingClientRect());
  nodes.forEach((a, i) => nodes.slice(0, i).forEach(b => { if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1) wrong.push('boxes over each other'); }));
});
document.body.textContent = JSON.stringify({wrong, seen});
"""


def measure(text, width, dark):
    """What is wrong with how a page is laid out, unfolded, in a window of this width: a list of texts; and how much was looked at."""
    policy = text.index("<meta http-equiv=")
    copy = text[:policy] + text[text.index(">", policy) + 1:]
    copy = copy.replace("</body>", f"<script>{MEASURE}</script></body>")
    root, said = show(copy, width, dark)
    assert not said, said[:3]
    answer = json.loads("".join(root.find("body").itertext()))
    return answer["wrong"], answer["seen"]
