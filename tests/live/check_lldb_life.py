"""The life of what is published to LLDB: it comes by itself, goes with `clr publish off`, follows the process over stops, detaching, and runtimes
that come later, and keeps targets apart."""
import json
import re
import time

import processes
from check_lldb_breaks import line_of, slots
from plugin import Target, without_selection
from processes import Running, settings

IMAGES = "image list -b"


class Commands(Target):
    """LLDB without a target of ours: the commands make their own."""

    def commands(self):
        return []


def run(lldb, target, commands, seconds=120):
    """A command that fails does not end the session."""
    return lldb.run(target, commands, seconds, go_on=True)


def managed_frames(text):
    return re.findall(r"frame #\d+: 0x[0-9a-f]+ ([\w.]+\.dll)`(.*)", text)


def assemblies(text):
    return [line for line in re.findall(r"(\S+\.dll)\b", text)]


def status(text):
    return json.loads(text)


def on_and_off(lldb, pid):
    texts = run(lldb, Target(pid=pid), ["bt", IMAGES, "clr publish status --json", "clr publish off", IMAGES, "bt", "image lookup -n Debugged.Breaks.Plain", "clr publish status", "clr publish on", "bt", IMAGES,
                                       "clr publish status --json"])
    first, images, before, _, none, bare, gone, off, _, again, restored, after = texts
    named = managed_frames(first)
    assert len(named) >= 2 and any("Debugged.Breaks.Begin" in name for _, name in named), f"bt names no managed frames: {first[:1500]}"
    assert "debugged.dll" in assemblies(images) and "System.Private.CoreLib.dll" in assemblies(images), f"modules: {assemblies(images)}"
    assert not assemblies(none), f"modules after off: {assemblies(none)}"
    assert not managed_frames(bare) and "frame #1" in bare, f"bt after off: {bare[:1500]}"
    assert "Breaks" not in gone.replace("Debugged.Breaks.Plain\n", ""), f"a name is found after off: {gone}"
    assert "off" in off, off
    assert managed_frames(again) == named, f"bt after on: {again[:1500]}"
    assert set(assemblies(restored)) == set(assemblies(images)), f"modules after on: {assemblies(restored)}"
    before, after = status(before), status(after)
    assert before["on"] and before["methods"] > 1000 and after["methods"] >= before["methods"] and after["modules"] <= before["modules"], f"{before} {after}"
    return f"{len(named)} frames, {before['modules']} modules, {before['methods']} pieces of code in {before['first_ms']:.0f} ms, again in {after['first_ms']:.0f} ms"


def detached_and_attached(lldb, pid):
    texts = run(lldb, Target(pid=pid), ["bt", "process detach", f"process attach --pid {pid}", "bt", IMAGES])
    first, again = managed_frames(texts[0]), managed_frames(texts[3])
    assert len(first) >= 2 and again == first, f"{first}, after attaching again {texts[3][:1500]}"
    images = assemblies(texts[4])
    assert len(images) == len(set(images)) or len(images) < 60, f"modules twice: {images}"
    return f"{len(again)} frames, {len(images)} modules"


def later_methods(lldb, running, file):
    """The second stop: what was compiled since is known, and costs little."""
    names = slots(running.output)
    line = line_of("LateLine")
    go = f'script f=open("{file}","r+b"); f.seek({names["Go"] * 8}); f.write((1).to_bytes(8,"little")); f.close()'
    texts = run(lldb, Target(pid=running.pid), ["clr publish status --json", "image lookup -n Debugged.Breaks.Late.Method", "bt", "clr publish status --json", f"b Breaks.cs:{line}", go, "process continue", "bt",
                                               "image lookup -n Debugged.Breaks.Late.Method", "clr publish status --json", "clr info"])
    first, second = status(texts[3]), status(texts[9])
    assert "Late.Method" not in texts[1].replace("image lookup", ""), f"it is there too early: {texts[1]}"
    named = managed_frames(texts[7])
    assert named and "Breaks.Late.Method" in named[0][1], f"the stop: {texts[6]} {texts[7][:1500]}"
    assert f"Breaks.cs:{line}" in texts[7], texts[7][:500]
    assert "Late.Method" in texts[8], f"not found: {texts[8]}"
    assert second["methods"] > first["methods"], f"{first} {second}"
    return f"{second['methods'] - first['methods']} new pieces of code, the last stop's took {second['last_ms']:.0f} ms, the first {first['first_ms']:.0f} ms of {first['methods']}"


def two_targets(lldb, one, two):
    texts = run(lldb, Commands(), [f"process attach --pid {one}", "bt", "target create /bin/true", f"process attach --pid {two}", "bt", "target select 0", "bt", IMAGES, "target select 1", "bt", "process detach", "target select 0",
                                  "bt", "process detach"])
    stacks = [managed_frames(texts[i]) for i in (1, 4, 6, 9, 12)]
    assert all(any("Debugged.Breaks.Begin" in name for _, name in s) for s in stacks[:1] + stacks[2:3] + stacks[4:]), f"the first target: {stacks[0::2]} {texts[6][:800]}"
    assert all(any("Debugged.Values.Begin" in name for _, name in s) for s in (stacks[1], stacks[3])), f"the second target: {stacks[1::2]} {texts[4][:800]}"
    return f"{sum(map(len, stacks))} frames of two processes"


def other_target_selected(lldb, pid, program, file, hook):
    """A process that a script lets go on while another target is selected: its hook judges its own stops, and a signal of the runtime's is none of the user's.
    `hook`: begins with the hook that clients of the API have, which LLDB copies to each target."""
    file.write_bytes((1).to_bytes(8, "little") + bytes(4088))   # it goes on by itself
    launch = [f'target create "{program}"', "settings set target.disable-aslr false", "b Debugged.Breaks.Plain", f'process launch --no-stdio -- breaks "{file}"', "bt", "breakpoint delete -f 2", f"b Breaks.cs:{line_of('Null')}"]
    go_on = ["target select 0", "script lldb.debugger.GetTargetAtIndex(1).process.Continue()", "script print(lldb.debugger.GetSelectedTarget() == lldb.debugger.GetTargetAtIndex(0))"]
    commands = [f"process attach --pid {pid}", "bt", *launch, *go_on, "target select 1", "bt", "process kill", "target select 0", "process detach"]
    texts = run(lldb, Commands(), [*hook, *commands])[len(hook):]
    at_first, selected, at_last = texts[6], texts[11], texts[13]
    assert "Debugged.Breaks.Plain" in at_first, f"the first stop: {at_first[:1500]}"
    assert "True" in selected, f"the selected target: {selected}"
    named = managed_frames(at_last)
    assert named and "Breaks.Dereference" in named[0][1] and "stop reason = breakpoint" in at_last, f"the next stop: {texts[10][-800:]} {at_last[:1500]}"
    return f"stopped in {named[0][1]}"


def launched(lldb, program, file):
    """Nothing of the runtime is there when LLDB starts the program and the breakpoint is set."""
    texts = run(lldb, Commands(), [f'target create "{program}"', "settings set target.disable-aslr false", "b Debugged.Breaks.Plain", "b Debugged.Breaks.Never", f'process launch --no-stdio -- breaks "{file}"', "bt", "frame variable n", "clr publish status --json",
                                  "process kill"], 60)
    named = managed_frames(texts[5])
    assert named and "Debugged.Breaks.Plain" in named[0][1] and "Debugged.Breaks.Begin" in named[1][1], f"the stop: {texts[2]} {texts[4][-800:]} {texts[5][:1000]}"
    assert re.search(r"\bn = 1\b", texts[6]), f"its argument: {texts[6]}"
    # Breakpoints by name need the code of these names, and not all of the framework's.
    published = status(texts[7])
    assert published["level"] == "stack" and published["methods"] < 5000, f"more is published than the breakpoints ask for: {published}"
    return f"stopped in {named[0][1]}"


def later_image(lldb, program, file):
    """The breakpoint's method is precompiled, in an assembly that is loaded long after it was set, and only what stands on the stack is published."""
    file.write_bytes((1).to_bytes(8, "little") + bytes(4088))   # it goes on by itself
    texts = run(lldb, Commands(), [f'target create "{program}"', "settings set target.disable-aslr false", "b System.Text.RegularExpressions.Regex.Escape", f'process launch --no-stdio -- breaks "{file}"', "bt", "clr publish status --json",
                                  "process kill"], 60)
    named = managed_frames(texts[4])
    assert named and named[0][0] == "System.Text.RegularExpressions.dll" and "Regex.Escape" in named[0][1] and "Debugged.Breaks.Phases" in named[1][1], f"the stop: {texts[2]} {texts[3][-800:]} {texts[4][:1000]}"
    published = status(texts[5])
    assert published["level"] == "stack" and published["methods"] < 5000, f"more is published than the breakpoint asks for: {published}"
    return f"stopped in {named[0][1]}"


# Behind a plain `bt`, which describes the selected thread alone, what shows other threads, or code by its address; and then the same again.
BESIDE = {"bt all": [], "thread list": [], "thread info all": [], "frame select 2": [], "up": ["down"], "process status": []}
FRAMES = "script print([n for t in lldb.debugger.GetSelectedTarget().GetProcess() for n in [[f.GetFunctionName() for f in t]] if any('Debugged' in str(f) for f in n)])"


def other_threads(lldb, pid):
    """Each is a session of its own: the command says the same as behind `clr publish`."""
    _, whole, *frames = run(lldb, Target(pid=pid), ["clr publish --wait", "bt all", FRAMES])
    threads = [section for section in re.split(r"^(?=[* ] thread #)", whole, flags=re.M) if "debugged.dll" in section]
    assert len(threads) >= 3, f"threads with managed frames: {whole[:2000]}"
    # A thread of the runtime's may end meanwhile, and the numbers of those behind it change.
    numbers = [int(re.search(r"thread #(\d+)", section)[1]) for section in threads[-2:]]
    address = re.search(r"0x([0-9a-f]+) debugged\.dll`", threads[-1])[1]
    asked = {**BESIDE, **{f"thread backtrace {n}": [] for n in numbers}, f"image lookup -a 0x{address}": []}
    for command, between in asked.items():
        plain, level, first, *_, second = run(lldb, Target(pid=pid), ["bt", "clr publish status --json", command, "clr publish --wait", *between, command])
        assert status(level)["level"] == "stack", f"bt published {level}"
        assert first == second and managed_frames(plain), f"{command}: {first[:1500]} but with everything {second[:1500]}"
    stacks = []
    for n in numbers:
        *_, selected, _, again = run(lldb, Target(pid=pid), ["bt", f"thread select {n}", "bt", "clr publish --wait", "bt"])
        assert without_selection(selected) == without_selection(again), f"thread select {n}: {selected[:1500]} but with everything {again[:1500]}"
        stacks += managed_frames(selected)
    assert any("Debugged.Objects" in name for _, name in stacks), f"selected threads: {stacks}"
    _, by_api = run(lldb, Target(pid=pid), ["bt", FRAMES])
    assert [by_api] == frames, f"by the API: {by_api[:1500]} but {frames[0][:1500]}"
    return f"{len(asked)} commands, {len(threads)} threads"


def other_threads_at_stops(lldb, program, file):
    """At breakpoints, where several threads run: each command's text is the same when everything is published behind it."""
    file.write_bytes((1).to_bytes(8, "little") + bytes(4088))   # it goes on by itself
    opening = [f'target create "{program}"', "settings set target.disable-aslr false", "b Debugged.Breaks.OnThread", f'process launch --no-stdio -- breaks "{file}"']
    turns = [["thread backtrace 1"], ["bt all"], ["thread list"], ["thread info all"]]
    commands = [line for (command,) in turns for line in ("bt", "clr publish status --json", command, "clr publish --wait", command, "process continue")]
    texts = run(lldb, Commands(), [*opening, *commands, "process kill"], 120)[len(opening):]
    for i, (command,) in enumerate(turns):
        plain, level, first, _, second, _ = texts[6 * i: 6 * i + 6]
        named = managed_frames(plain)
        assert named and "Breaks.OnThread" in named[0][1], f"stop {i}: {plain[:1500]}"
        assert status(level)["level"] == "stack", f"stop {i}: bt published {level}"
        assert first == second, f"{command}: {first[:1500]} but with everything {second[:1500]}"
    return f"{len(turns)} stops"


def left_alone(lldb, running, log):
    """After detaching, the process is as it was: no trap in its code, no page that can be written and run, and it goes on."""
    with open(log, "r+b") as f:
        f.seek(((1 << 20) - 1) * 4)
        f.write((1).to_bytes(4, "little"))
    texts = run(lldb, Target(pid=running.pid), ["b Debugged.Mix.Linq", "process continue", "next", "next", "next", "process detach", "breakpoint list"])
    stops = [int(found[1], 16) for text in texts[1:5] if (found := re.search(r"frame #0: (0x[0-9a-f]+)", text))]
    assert len(stops) == 4 and "Mix.Linq" in texts[4], f"the stops: {texts[:5]}"
    assert "made writable" in lldb.errors, f"nothing was changed that could be left: {lldb.errors[-500:]}"
    with open(f"/proc/{running.pid}/mem", "rb", buffering=0) as memory:
        for at in stops:
            memory.seek(at)
            assert memory.read(1) != b"\xcc", f"a trap is left at {at:#x}"
    assert not writable_code(running.pid), f"pages are left writable: {writable_code(running.pid)[:3]}"
    assert "disabled" not in texts[6], f"the user's breakpoints: {texts[6]}"
    before = written(log)
    for _ in range(50):
        if written(log) > before:
            return f"{len(stops)} stops, no trap and no writable code left"
        time.sleep(0.1)
    raise AssertionError("the process does not go on")


def writable_code(pid):
    with open(f"/proc/{pid}/maps") as f:
        # LLDB itself leaves an anonymous page in which it evaluates expressions.
        return [line.strip() for line in f if line.split()[1].startswith("rwx") and "doublemapper" in line]


def left_by_quit(lldb, running):
    """The same of an LLDB that ends by `quit`, which lets the process go."""
    run(lldb, Commands(), [f"process attach --pid {running.pid}", r"breakpoint set -s debugged.dll -r Debugged\.Mix", "quit"])
    assert "made writable" in lldb.errors, f"nothing was changed that could be left: {lldb.errors[-500:]}"
    assert not writable_code(running.pid), f"pages are left writable: {writable_code(running.pid)[:3]}"
    assert running.process.poll() is None, "the process ended"
    return "no writable code left"


def written(log):
    with open(log, "rb", buffering=0) as f:
        return len(f.read(1 << 20).rstrip(b"\0"))


def no_runtime(lldb, folder):
    with Running(["sleep", "100"], folder) as running:
        core = processes.gcore(running.pid, folder / "core.sleep")
    texts = run(lldb, Target(core=core), ["bt", "clr publish status", "clr publish on", "bt", "clr publish off", "bt"])
    assert all("frame #0" in texts[i] for i in (0, 3, 5)), f"no stack: {texts}"
    assert re.search(r"nothing is published|^0 modules", texts[1], re.M) and not managed_frames(texts[0]), f"{texts[1]}"
    return "a core without a runtime is left alone"


def check_all(c, executable, folder):
    with Running([executable, "breaks", folder / "counts"], folder / "one", settings()) as one, Running([executable, "values", folder / "said"], folder / "two", settings()) as two:
        assert one.wait_ready() and two.wait_ready(), "the programs did not start"
        two.wait_lines(folder / "said", "scopes")
        c.check("lldb/life/on-and-off", on_and_off, c.lldb, one.pid)
        c.check("lldb/life/attached-again", detached_and_attached, c.lldb, one.pid)
        c.check("lldb/life/two-targets", two_targets, c.lldb, one.pid, two.pid)
        c.check("lldb/life/other-target-selected", other_target_selected, c.lldb, two.pid, executable, folder / "counts-other-target", [])
        c.check("lldb/life/other-target-copied-hook", other_target_selected, c.lldb, two.pid, executable, folder / "counts-copied-hook", ["target stop-hook add -o 'clr publish update --hook 0'"])
        c.check("lldb/life/later-methods", later_methods, c.lldb, one, folder / "counts")
    with Running([executable, "objects", folder / "objects"], folder / "four", settings()) as four:
        assert four.wait_ready(), "the program did not start"
        c.check("lldb/life/other-threads", other_threads, c.lldb, four.pid)
    c.check("lldb/life/other-threads-at-stops", other_threads_at_stops, c.lldb, executable, folder / "counts-threads")
    with Running([executable, "mix", folder / "mix"], folder / "three", settings()) as three:
        assert three.wait_ready(), "the program did not start"
        c.check("lldb/life/left-alone", left_alone, c.lldb, three, folder / "mix")
        c.check("lldb/life/left-by-quit", left_by_quit, c.lldb, three)
    c.check("lldb/life/launched", launched, c.lldb, executable, folder / "counts-launched")
    c.check("lldb/life/later-image", later_image, c.lldb, executable, folder / "counts-later-image")
    c.check("lldb/life/no-runtime", no_runtime, c.lldb, folder)
