"""clrbt against LLDB's own stacks of the same stop: every native frame of LLDB's is there, in the same order; and the walk of every
thread ends where the thread began, whether LLDB gets there or not."""
import pathlib
import re

from plugin import CoreTool
from processes import Unavailable
from results import Examples

HERE = pathlib.Path(__file__).resolve().parent
STACKS = "clrbt --json all"


class Stop:
    """One LLDB session of one target, for several checks of the same stop. A drop-in for Lldb, of which `clrbt --json all` is asked."""

    def __init__(self, lldb, find_target):
        self._lldb, self._find_target, self._answers = lldb, find_target, None

    def json(self, _, commands, seconds=300):
        assert commands == [STACKS], f"a Stop does not answer {commands}"
        return [self.answers(seconds)[0]]

    def answers(self, seconds=300):
        """(clrbt's stacks, LLDB's own or None where they cannot be had)."""
        if self._answers is None:
            target = self._find_target()
            if isinstance(self._lldb, CoreTool):
                self._answers = (*self._lldb.json(target, [STACKS], seconds), None)
            else:
                imported = f'command script import "{HERE / "lldb_frames.py"}"'
                texts = self._lldb.run(target, [STACKS, imported, "native-frames"], seconds)
                self._answers = self._lldb.parse(STACKS, texts[0], target), self._lldb.parse("native-frames", texts[2], target)
        return self._answers


def check_numbers(lldb, target):
    """The numbers of clrbt's frames are those of LLDB's `bt`, so that `frame select` takes them: LLDB counts functions that are inlined in native code."""
    text, _, theirs = lldb.run(target, ["clrbt --no-fold all", f'command script import "{HERE / "lldb_frames.py"}"', "native-frames"])
    shown, thread = {}, None
    for line in text.splitlines():
        if m := re.match(r"[* ] thread #(\d+)", line):
            thread = int(m[1])
        elif m := re.match(r" +\*? *frame #(\d+): (0x[0-9a-f]+) ", line):
            shown.setdefault(thread, {})[int(m[1])] = int(m[2], 16)
    wrong, compared, behind = Examples(), 0, 0
    for thread in lldb.parse("native-frames", theirs, target)["threads"]:
        ours = shown.get(thread["index"], {})
        for place, f in enumerate(thread["frames"]):
            at = ours.get(f["number"])
            # The address of a P/Invoke's caller in ReadyToRun code: check_lldb_bt.calls_out.
            if at is None or not at <= f["pc"] <= at + 128:
                wrong.add("another frame has the number", f"thread #{thread['index']} frame #{f['number']}: {f['pc']:#x} {f['module']}, {at and hex(at)}")
                break
            compared += 1
            behind += f["number"] > place
    if not behind and not wrong.counts:
        raise Unavailable("no native function on these stacks has inlined ones: the C library has no symbols here")
    return wrong.require_none(f"{compared} frames, {behind} of them behind inlined ones")


# Names of the functions that begin a thread, where the modules have symbols.
START_FUNCTIONS = {"_start", "clone", "__clone", "clone3", "__clone3"}


def check(stop):
    ours, theirs = stop.answers()
    if theirs is None:
        raise Unavailable("there is no LLDB to compare with")
    wrong, figures = Examples(), dict.fromkeys(("compared", "lost", "guessed", "cut", "newborn"), 0)
    by_id = {t["os_id"]: t for t in ours["threads"]}
    for thread in theirs["threads"]:
        if thread["os_id"] not in by_id:
            wrong.add("thread missing", str(thread["os_id"]))
            continue
        check_thread(by_id[thread["os_id"]], thread, theirs["starts"], wrong, figures)
    assert figures["compared"] and all(t["frames"] for t in theirs["threads"]), f"LLDB has no frames: {theirs['threads']}"
    rare = {"cut": "of LLDB's are compared in part", "newborn": "have not begun", "guessed": "of its frames are guesses"}
    return wrong.require_none(f"{figures['compared']} native frames of LLDB's in {len(theirs['threads'])} threads, {figures['lost']} of which it does not follow to their start"
                              + "".join(f", {figures[what]} {text}" for what, text in rare.items() if figures[what]))


def check_thread(mine, theirs, starts, wrong, figures):
    where = f"thread {theirs['os_id']}"
    frames = [f for f in mine["frames"] if f["kind"] != "runtime" for _ in range(f.get("repeat", 1))]
    native = [f for f in frames if f["kind"] == "native"]
    at_bottom = mine["end"] == "bottom"
    if not native or not is_start(int(native[-1]["ip"], 16), native[-1].get("symbol"), starts):
        wrong.add("the walk does not end where the thread began", f"{where}: {native[-1]['text'] if native else 'no native frame'}")
    elif not at_bottom and len(frames) == 1 and mine["end"] == f"no unwind information for {frames[0]['ip']}":
        figures["newborn"] += 1   # still in clone: libc ends the call frame information at the system call, because the new thread has no caller
    elif not at_bottom:
        wrong.add("the walk ended early", f"{where}: {mine['end']}")

    last = theirs["frames"][-1] if theirs["frames"] else None
    lost = not theirs["cut"] and not (last and is_start(last["pc"], last["symbol"], starts))
    figures["lost"] += lost
    figures["cut"] += theirs["cut"]
    at, innermost = 0, True   # innermost: LLDB has not come to managed code or a stub yet
    for number, f in enumerate(theirs["frames"]):
        if f["module"] is None or f["module"].endswith(".dll"):   # managed code, which the plugin has told LLDB of: check_lldb_bt.py
            innermost = False
            continue
        found = next((i for i in range(at, len(frames)) if (int(frames[i]["ip"], 16), int(frames[i]["sp"], 16)) == (f["pc"], f["sp"])), None)
        if found is not None:
            at = found + 1
            figures["compared"] += 1
        elif not innermost and lost and at_bottom:
            figures["guessed"] += 1
        else:
            wrong.add("a native frame of LLDB's is missing", f"{where} frame {number} {f['pc']:#x} {f['module']}`{f['symbol']}, sp {f['sp']:#x}, after {frames[at - 1]['text'] if at else 'nothing'}")


def is_start(pc, symbol, starts):
    return symbol in START_FUNCTIONS or any(s["first"] <= pc < s["end"] for s in starts)
