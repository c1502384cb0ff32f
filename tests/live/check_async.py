"""Async methods that wait: every chain that the program says it has, complete, in order, with the lines of its awaits; and no other."""
import collections
import json
import pathlib
import re
import sys

from plugin import ask_package
from processes import HERE

sys.path.insert(0, str(HERE.parent / "python"))
from json_schema import Schema   # noqa: E402

SCHEMA = HERE.parent.parent / "python" / "docs" / "schema.json"
SOURCES = HERE / "programs" / "waits"
SUSPENDED, SUSPENDED_FILE = HERE / "programs" / "suspended", "Program.cs"
# `line //@ CHAIN:INDEX METHOD [= KIND]`, see Program.cs.
MARK = re.compile(r"//@ ([\w-]+):(\d+)(?:-(\d+))? ([^=\s]+)(?: = (\w+))?")
# Chains whose last method a thread waits for.
BY_THREAD = "thread-"

MODES = {"debug": ("Debug", {}), "release": ("Release", {}), "release-optimized": ("Release", {"TieredCompilation": 0, "ReadyToRun": 0})}


def known_chains(sources=SOURCES):
    """chain -> ([(method, file, line)] from the first one on, kind)."""
    frames, kinds = collections.defaultdict(dict), {}
    for path in sorted(sources.glob("*.cs")):
        for number, text in enumerate(path.read_text().splitlines(), 1):
            for chain, first, last, method, kind in MARK.findall(text):
                for index in range(int(first), int(last or first) + 1):
                    assert index not in frames[chain], f"{chain}:{index} is marked twice"
                    frames[chain][index] = (method, path.name, number)
                if kind:
                    kinds[chain] = kind
    chains = {}
    for chain, by_index in frames.items():
        # A first method that is none of the program's has no mark.
        chains[chain] = ([by_index[i] for i in sorted(by_index)], kinds.get(chain))
    return chains


def told_by(running):
    return json.loads(next(line for line in running.output.decode().splitlines() if line.startswith("{")))


def method_of(frame):
    method = frame["method"]
    name = (method.get("user_method") or method)["full_name"]
    # A lambda is marked with the method around it, a local function too.
    return re.sub(r"\(.*", "", name)


def frames_of(stack):
    """The program's own methods of a stack."""
    return [(method_of(f), pathlib.Path(f["source"]["file"]).name, f["source"]["line"]) for f in stack["frames"]
            if f.get("source", {}).get("file") and pathlib.Path(f["source"]["file"]).parent.name == "waits"]


def check(lldb, target, running):
    chains, told = known_chains(), told_by(running)
    assert set(chains) >= set(told["chains"]), set(told["chains"]) - set(chains)
    merged, each, faulted = lldb.json(target, ["clr async --json", "clr async --json --each", "clr async --json --faulted"])
    schema = Schema(SCHEMA)
    wrong = [p for answer in (merged, each, faulted) for p in schema.problems("clr async", answer)]
    assert not wrong, wrong[:5]
    wanted = collections.Counter()
    for name, count in told["chains"].items():
        frames, kind = chains[name]
        wanted[(tuple(frames), kind, name.startswith(BY_THREAD))] += count
    for stacks, name in ((each["stacks"], "--each"), (merged["stacks"], "merged")):
        found = collections.Counter()
        for stack in stacks:
            frames = tuple(frames_of(stack))
            if not frames:
                assert stack["plumbing"], stack
                continue
            # What is waited for is marked where the first method is the program's, or stands for it.
            kind = stack["waits_for"]["kind"]
            marked = [k for f, k, _ in wanted if f == frames]
            kind = kind if kind in marked or not marked or marked[0] is not None else None
            found[(frames, kind, stack["kept_by"]["kind"] == "thread")] += stack["count"]
        missing, invented = wanted - found, found - wanted
        assert not missing and not invented, f"{name}: missing {list(missing.items())[:3]}, invented {list(invented.items())[:3]}"
    for method, text in (("ProviderDelay", "a delay of 00:07:00"), ("WrappingProviderDelay", "a delay of 00:08:00"), ("ProviderTimer", "a PeriodicTimer of 01:35:00"),
                         ("ProviderTimeout", "a TaskCompletionSource, for 00:09:00 at most")):
        told_texts = [s["waits_for"]["text"] for s in merged["stacks"] if frames_of(s)[:1] and frames_of(s)[0][0] == f"WaitsProgram.Sources.{method}"]
        assert len(told_texts) == 1 and told_texts[0].startswith(text), f"{method}: {told_texts}"
    forgotten = sorted(t["exception"]["message"].strip('"') for t in faulted["faulted"] if not t["observed"])
    assert forgotten == sorted(told["faulted"]), forgotten
    joined = check_threads(lldb, target, told, each["stacks"])
    timers = check_timers(lldb, target, told, schema)
    lines = sum(len(frames_of(s)) for s in each["stacks"])
    return f"{sum(told['chains'].values())} chains of {len(told['chains'])} kinds, {lines} lines; {joined} threads, {timers} timers"


def check_suspended(lldb, target, kept=True):
    """Methods that the runtime itself suspends: their chains in order, with the lines of their awaits, also in code that is not as it was compiled first.
    `kept`: the continuations of methods that a thread runs stay behind their task. Those of .NET 11 do not: the task's state object is null then, and
    what the thread runs is on its stack only."""
    (answer,) = lldb.json(target, ["clr async --json"])
    wrong = Schema(SCHEMA).problems("clr async", answer)
    assert not wrong, wrong[:5]
    wanted = sorted(frames for frames, _ in known_chains(SUSPENDED).values())
    waiting = [stack for stack in answer["stacks"] if stack["waits_for"]["kind"] == "completion_source"]
    found = sorted([(method_of(f), SUSPENDED_FILE, f.get("source", {}).get("line")) for f in stack["frames"]] for stack in waiting)
    assert found == wanted, found
    running = [stack for stack in answer["stacks"] if stack not in waiting]
    assert len(running) == kept, running
    for runs in running:   # the first of its methods has ended
        assert runs["waits_for"]["kind"] == "running" and re.fullmatch(r"nothing: thread \d+ runs it", runs["waits_for"]["text"]), runs
        assert [(method_of(f), "source" in f) for f in runs["frames"]] == [("Suspended.Program.Stands", False)], runs["frames"]
    disposes = [method_of(f) for stack in waiting for f in stack["frames"] if f.get("line_kind") == "dispose"]
    assert disposes == ["Suspended.Program.Closes"], disposes
    return f"{len(found)} chains, {sum(map(len, found))} lines"


# What the threads of `suspended` run, innermost first: all that is shown of its own methods.
RUN = {"stands": ["Stand(Suspended.Order)", "Stands(Suspended.Order) [async]"],
       "runs": ["Stand(Suspended.Order)", "Inner(Suspended.Order) [async]", "Runs(Suspended.Order) [async]", "Main() [lambda]"],
       "through": ["Stand(Suspended.Order)", "Through(Suspended.Order)", "Awaits(Suspended.Order) [async]", "Main() [lambda]"]}
# A frame of a text: its number, and what is behind the address. LLDB may print the stop of a core in between, whose frames do not end so.
SHOWN = re.compile(r"^  [ *] frame #(\d+): 0x[0-9a-f]+ (.*) \[(?:context|unwind_info|cfi|stub|frame_pointer)\]$", re.M)
LEFT_OUT = re.compile(r"^\((\d+) frames? that the runtime puts around async methods (?:is|are) left out: clrbt --no-fold shows (?:it|them)\)$", re.M)


def own_methods(texts):
    return [re.sub(r" \+ \d+( at .*)?$", "", text.split("`Suspended.Program.")[1]) for text in texts if "`Suspended.Program." in text]


def check_folded(lldb, target, run=RUN):
    """`clrbt` shows of such methods those that were written; JSON has every frame and says which are left out; a frame is counted as LLDB counts."""
    for _ in range(5):
        try:
            return check_folded_once(lldb, target, run)
        except Changed:   # a thread of the runtime's has come or gone, and those of the program have other numbers
            pass
    raise AssertionError("threads came and went five times")


class Changed(Exception):
    pass


def check_folded_once(lldb, target, run):
    (stack,) = lldb.json(target, ["clrbt --json all"])
    assert not Schema(SCHEMA).problems("clr bt", stack), Schema(SCHEMA).problems("clr bt", stack)[:3]
    threads = {t["name"]: t for t in stack["threads"] if t.get("name") in run}
    assert set(threads) == set(run), set(threads)
    # The text counts without the runtime's explicit Frames.
    frames = {name: [f for f in t["frames"] if f["kind"] != "runtime"] for name, t in threads.items()}
    every = {name: list(range(len(found))) for name, found in frames.items()}
    folded = {name: {i: f["folded"] for i, f in enumerate(found) if "folded" in f} for name, found in frames.items()}
    all_left = sum("folded" in f for t in stack["threads"] for f in t["frames"])
    questions = ["clrbt --json all", "clrbt all", "clrbt --unique"]
    for name, thread in threads.items():
        questions += [f"{command} {thread['index']}" for command in ("clrbt", "clrbt --no-fold", "clrbt --unique --managed")]
        questions += [f"thread select {thread['index']}", "bt"]
    texts = iter(lldb.run(target, questions))
    if [(t["os_id"], t["index"]) for t in json.loads(next(texts))["threads"]] != [(t["os_id"], t["index"]) for t in stack["threads"]]:
        raise Changed
    for text in (next(texts), next(texts)):
        assert LEFT_OUT.findall(text) == [str(all_left)], f"{all_left}: {LEFT_OUT.findall(text)}"
    found, selects = {}, []
    for name, thread in threads.items():
        text, whole, managed, _, own = (next(texts) for _ in range(5))
        shown = [(int(n), words) for n, words in SHOWN.findall(text)]
        assert [n for n, _ in shown] == [n for n in every[name] if n not in folded[name]], f"{name}: {folded[name]} {text}"
        assert [int(n) for n, _ in SHOWN.findall(whole)] == every[name] and not LEFT_OUT.search(whole), f"{name}: {whole}"
        assert LEFT_OUT.findall(text) == LEFT_OUT.findall(managed) == [str(len(folded[name]))], f"{name}: {folded[name]} {text}"
        # .NET 11 compiles Through once more, for those who await it: that body is marked.
        found[name] = [m.replace("Through(Suspended.Order) [async]", "Through(Suspended.Order)") for m in own_methods(words for _, words in shown)]
        # LLDB shows what is left out; it counts inlined functions of native code, too.
        numbers = {int(pc, 16): int(n) for n, pc in re.findall(r"^ *\*? *frame #(\d+): (0x[0-9a-f]+)", own, re.M)}
        first = min(folded[name])
        for index in (first, next(n for n in every[name] if n > first and n not in folded[name])):
            selects.append((name, index, [f"thread select {thread['index']}", f"frame select {numbers[int(frames[name][index]['ip'], 16)]}", f"clrbt {thread['index']}"]))
    assert found == run, found
    texts = iter(lldb.run(target, ["clrbt --json all", *(command for _, _, commands in selects for command in commands)]))
    if [(t["os_id"], t["index"]) for t in json.loads(next(texts))["threads"]] != [(t["os_id"], t["index"]) for t in stack["threads"]]:
        raise Changed
    for name, index, _ in selects:
        _, _, text = (next(texts) for _ in range(3))
        others = len(folded[name]) - (index in folded[name])   # one that is selected is shown
        assert f"  * frame #{index}: " in text and LEFT_OUT.findall(text) == [str(others)] * (others > 0), f"{name}, frame {index}: {text}"
    kinds = collections.Counter(why for one in folded.values() for why in one.values())
    assert set(kinds) == {"async_thunk", "async_resumption", "async_helper"}, kinds
    return f"{sum(kinds.values())} frames left out of {len(run)} stacks: {dict(sorted(kinds.items()))}"


def check_threads(lldb, target, told, stacks):
    """Each thread that waits for a chain is named by the chain, and has the chain beside its stack."""
    threads, beside = lldb.json(target, ["clr threads --json", "clrbt --async --json all"])
    os_ids = {t["name"]: t["os_id"] for t in threads if t["name"] in told["blocked"]}
    assert set(os_ids) == set(told["blocked"]), os_ids
    chains = known_chains()
    shown = {t["os_id"]: t for t in beside["threads"]}
    for name, chain in told["blocked"].items():
        frames = chains[chain][0]
        (stack,) = [s for s in stacks if frames_of(s) == frames]
        assert stack["kept_by"] == {"kind": "thread", "object": stack["kept_by"]["object"], "thread": os_ids[name]}, f"{name}: {stack['kept_by']}"
        (below,) = shown[os_ids[name]]["waits_for_async"]
        assert frames_of(below) == frames, f"{name}: {below}"
    others = [t["name"] for t in beside["threads"] if t["os_id"] not in os_ids.values() and t["waits_for_async"]]
    assert not others, others
    # A method that has waited and runs again is on a stack; those that wait for it are beside it.
    running = [(c["frame"], frames_of(chain)) for t in beside["threads"] for c in t["async_callers"] for chain in c["chains"]]
    (callers,) = [frames for _, frames in running] or [[]]   # the running method has no line of an await
    assert callers == chains["running"][0], callers
    return len(os_ids)


# A frame that `bt` shows behind a stack: name, file and line.
ADDED = re.compile(r"frame #(\d+): (.+) \[awaiting\](?: at ([^ :]+):(\d+))? \[")
STOPS = 5


def added_frames(text):
    """Those of all threads of `bt all`, in their order. LLDB prints a stop when it comes to it, into other lines of the text."""
    found = ADDED.findall(text)
    assert all(int(number) > 5 for number, *_ in found), found   # below the thread's own
    return [(name, file, int(line or 0)) for _, name, file, line in found]


def check_added_frames(lldb, target):
    """LLDB's own `bt` has the async methods that wait behind a stack when the user wants it, the same as `clrbt --async`, and never without that."""
    on, off, everything = "clr settings --async-frames on", "clr settings --async-frames off", "bt all"
    (asked,) = lldb.json(target, ["clrbt --async --json all"])
    for _ in range(STOPS):   # LLDB prints the first stop on another thread at the same time: nothing may hang
        before, _, first, again, _, after, _, last = lldb.run(target, [everything, on, everything, everything, off, everything, on, everything], seconds=60)
        wanted = []
        for thread in asked["threads"]:
            frames = [f for callers in thread["async_callers"] for chain in callers["chains"] for f in chain["frames"][1:]]
            frames += [f for chain in thread["waits_for_async"] for f in chain["frames"]]
            wanted += [(shown_name(f["method"]), pathlib.Path(f.get("source", {}).get("file", "")).name, f.get("source", {}).get("line", 0)) for f in frames]
        for name, text in (("on", first), ("again", again), ("on again", last)):
            found = added_frames(text)
            assert found == wanted, f"{name}: {found}, clrbt has {wanted}"
        for name, text in (("before", before), ("off", after)):
            assert "awaiting" not in text, f"{name}: {text[:300]}"
    assert len(wanted) >= 7, wanted
    return f"{len(wanted)} frames, {STOPS} times"


def shown_name(method):
    user = method.get("user_method")
    return f"{user['full_name']} [{user['mark']}]" if user else method["full_name"]


def check_no_added_frames(lldb, target):
    """An LLDB that cannot says so."""
    (text,) = lldb.run(target, ["bt all"])
    lldb.run(target, ["clr settings --async-frames on", "bt all"], go_on=True)
    assert "LLDB 22 and later" in lldb.errors, lldb.errors
    assert "awaiting" not in text, text
    return "refused"


def check_timers(lldb, target, told, schema):
    """The program's own timers, with what they call; a delay is a timer, too."""
    (timers,) = lldb.json(target, ["clr timers --json"])
    assert not schema.problems("clr timers", timers), schema.problems("clr timers", timers)[:3]
    found = [(t["due_ms"], t["period_ms"], re.sub(r"\(.*", "", t["callback"])) for t in timers]
    for timer in told["timers"]:
        wanted = (timer["due"], timer["period"], f"WaitsProgram.Sources.{timer['callback']}")
        assert found.count(wanted) == 1, f"{wanted} in {found}"
    hours = sorted(t["due_ms"] // 3_600_000 for t in timers if t.get("state_type", "").endswith("DelayPromise") and t["due_ms"] >= 3_600_000)
    assert hours == [1, 2, 3, 4, 5], hours
    assert [t["left_ms"] for t in timers] == sorted(t["left_ms"] for t in timers)
    return len(timers)


def check_python(lldb, core):
    """The Python package, over libclr.so, has the same chains as the command."""
    script = ("import json, lldb_clr; print(json.dumps([[t.object, t.waits_for, t.thread, [[f.box, f.source.line if f.source else None] for f in t.chain]] "
              "for t in lldb_clr.open_core(" + repr(str(core.core)) + ").tasks]))")
    (answer,) = lldb.json(core, ["clr async --json --each"])
    wanted = [[int(s["boxes"][0], 16), s["waits_for"]["kind"], s["kept_by"].get("thread"),
               [[int(f["box"], 16), f.get("source", {}).get("line")] for f in s["frames"]]] for s in answer["stacks"]]
    assert ask_package(lldb.plugin, script) == wanted, "Python has other chains than clr async"
    return f"{len(wanted)} tasks"


def check_pool(lldb, target, told):
    """A pool without free workers: what is queued, by method."""
    schema = Schema(SCHEMA)
    (pool,) = lldb.json(target, ["clr pool --json"])
    assert not schema.problems("clr pool", pool), schema.problems("clr pool", pool)[:3]
    queued = collections.Counter()
    for group in pool["queued"]:
        queued[re.sub(r"\(.*", "", group["method"])] += group["count"]
    for method, count in told["queued"].items():
        assert queued[f"WaitsProgram.{method}"] == count, f"{method}: {queued}, the program has {count}"
    workers = pool["workers"]
    assert workers["maximum"] == workers["processing"] == told["workers"] and pool["starved"] and pool["complete"], pool
    return f"{pool['items']} items, {workers['processing']} workers"
