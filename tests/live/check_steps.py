"""A thread single-stepped through prologues, bodies, epilogues, calls and stubs: at every stop its managed frames are a call chain
that the program can have, and the walk reaches the bottom of the stack."""
import json

from results import Examples

PROGRAM = "Situations.Stepping"
# caller -> methods that it calls
EDGES = {
    "Loop": {"Top"},
    "Top": {"Guarded", "Square.Area", "Circle.Area", "Generic", "Shape.Scale", "Circle.Scale", "Large"},
    "Guarded": {"Leaf", "Guarded"},   # its finally is a funclet of it
    "Generic": {"Leaf"},
    "Large": {"Leaf"},
    "Square.Area": {"Leaf"},
    "Circle.Area": {"Leaf"},
    "Shape.Scale": {"Leaf"},
    "Circle.Scale": {"Leaf"},
    "Leaf": set(),
}


def short(frame):
    name = frame["method"]["name"]
    return name[len(PROGRAM) + 1:].replace("+", ".").lstrip(".") if name.startswith(PROGRAM) else None


def chain(thread):
    """The program's own frames from the outermost in; helpers of the framework called from them are left out."""
    found = []
    for f in reversed(thread["frames"]):
        if f["kind"] == "managed":
            name = short(f)
            if name:
                found += [name] * f.get("repeat", 1)
    return found


def check(lldb, target, os_id, steps):
    # By the system's number: LLDB's own may be another thread's after the next attach.
    one = ["thread step-inst --run-mode this-thread", "clrbt --json"]
    answers = lldb.run(target, [f"thread select --thread-id {os_id}"] + one * steps, seconds=60 + steps)[2::2]

    wrong, depths, places = Examples(), {}, set()
    for number, text in enumerate(answers):
        try:
            # LLDB may still print the stop of the attach before it.
            answer, _ = json.JSONDecoder().raw_decode(text, max(text.find('{"threads"'), 0))
            (thread,) = answer["threads"]
        except (ValueError, KeyError) as e:
            wrong.add("no stack", f"stop {number}: {text[:200]!r} {e}")
            continue
        pc = thread["frames"][0]["ip"]
        places.add(pc)
        calls = chain(thread)
        depths[len(calls)] = depths.get(len(calls), 0) + 1
        what = f"stop {number} at {pc} ({thread['frames'][0].get('text')}): {' > '.join(calls)}"
        if thread["end"] != "bottom":
            wrong.add("the walk ended early", f"{thread['end']}: {what}")
        if not calls or calls[0] != "Loop":
            wrong.add("the loop is not at the bottom", what)
        for caller, callee in zip(calls, calls[1:]):
            if callee not in EDGES.get(caller, ()):
                wrong.add("a call that the program does not have", f"{caller} > {callee}: {what}")
    return wrong.require_none(f"{len(answers)} stops at {len(places)} instructions, chain lengths {dict(sorted(depths.items()))}")
