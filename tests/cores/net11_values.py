"""What the plugin says in LLDB of a recorded core of .NET 10, and of a copy whose memory and descriptor are those of .NET 11.

The second descriptor is put in place of the core's own with `clr settings --descriptor`. The answers must be the same, and so
must what LLDB shows by itself: its frames, and the variables in each."""
import json
import pathlib

import net11_shape
from plugin import Target
from processes import Unavailable

HERE = pathlib.Path(__file__).resolve().parent
ANSWERS = ("clr threads --json", "clrbt --json all", "clr methods --json")
# Of each thread, innermost first; a recursion of the recorded programs is deeper.
MOST_FRAMES = 40


def ask(lldb, target, descriptor=None):
    """command or (thread, what) -> answer"""
    before = [f"clr settings --descriptor {descriptor}"] if descriptor else []
    commands = [*before, f'command script import "{HERE / "lldb_variables.py"}"', f"variables-of-frames {MOST_FRAMES}", *ANSWERS]
    texts = lldb.run(target, commands)[len(before) + 1:]
    answers = {command: lldb.parse(command, text, target) for command, text in zip(ANSWERS, texts[1:], strict=True)}
    for thread in lldb.parse("variables-of-frames", texts[0][texts[0].index("["):], target):
        said = thread["exceptions"]
        answers[thread["index"], "clr pe"] = json.loads(said) if said.startswith(("[", "{")) else said
        answers[thread["index"], "frames"] = thread["frames"]
    return answers


def check(lldb, core_tool, target, name, folder, recorded=True):
    """Of a core that was recorded no PDB is there, and so no variable."""
    if not pathlib.Path(core_tool).exists():
        raise Unavailable("core_tool is not built")
    copy, descriptor, _, moved = net11_shape.prepare(str(core_tool), str(target.core), str(folder))
    here, there = ask(lldb, target), ask(lldb, Target(core=copy, executable=target.executable), descriptor)
    wrong = [f"{question} {'/'.join(map(str, path))}: {json.dumps(one)[:300]} -> {json.dumps(other)[:300]}"
             for question in here for path, one, other in net11_shape.differences(name, here[question], there[question], (str(question),))]
    assert not wrong, "\n    ".join([f"{len(wrong)} answers differ", *wrong[:20]])
    frames = [frame for question in here if question[1] == "frames" for frame in here[question]]
    variables = sum(frame["variables"].count(" = ") for frame in frames)
    exceptions = sum(question[1] == "clr pe" and not isinstance(answer, str) for question, answer in here.items())
    assert recorded or variables, "no frame has a variable"
    return f"{len(frames)} frames of LLDB's, {variables} variables, {exceptions} threads with an exception; {moved['debug info']} bodies' debug info moved"
