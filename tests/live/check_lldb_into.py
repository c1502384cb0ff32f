"""`step` into calls that go through stubs (the first call of a method, an interface, a delegate), into an async method that another one starts,
and `next` behind awaits and over calls that throw: against the marks of programs/edited. The same steps as an editor's (check_dap.py)."""
import json
import os
import pathlib
import re
import select
import subprocess
import time

import check_dap
import plugin
from results import Examples

COMMANDS = {"stepIn": "thread step-in", "next": "thread step-over", "stepOut": "thread step-out"}


class Launched:
    """A program that LLDB starts."""
    pid = None

    def __init__(self, program, environment, place, scene, options="--one-shot true"):
        words = " ".join(f"{name}={value}" for name, value in environment.items())
        self.program = program
        self.start = [f"settings set target.env-vars {words}"] if words else []
        self.start += [f'target create "{program}"', f"breakpoint set --file Program.cs --line {place} {options}", f"process launch -- {scene}"]

    def commands(self):
        return self.start

    def __str__(self):
        return str(self.program)


def place_of(text, names):
    """"Square.Size:Size" of what `frame info` prints."""
    found = re.search(r"`Edited\.([\w.]+)\(.* at Program\.cs:(\d+)", text)
    return f"{found[1]}:{names[int(found[2])]}" if found else text.strip()


def walk(lldb, program, environment, place, scene, steps, words, last="process continue"):
    """`steps` from the line `place` on, which one of the program's scenes comes to; behind `last` it goes on to its end, where it says `words`."""
    names = {number: line.partition("// at: ")[2] for number, line in enumerate(check_dap.SOURCE.read_text().splitlines(), 1)}
    target = Launched(program, environment, check_dap.line_of(place), scene)
    texts = lldb.run(target, [command for how, _ in steps for command in (COMMANDS[how], "thread info", "frame info")] + ["breakpoint list", last], 120)
    wrong = Examples()
    for number, (how, wanted) in enumerate(steps):
        found = place_of(texts[3 * number + 2], names)   # thread info: from then on the thread is selected that the step ended on
        if found != wanted:
            wrong.add(how, f"step {number}: {found} for {wanted}")
            break
    if re.search(r"^\d+:", texts[-2], re.M):
        wrong.add("breakpoints that the user did not set are listed", texts[-2][:300])
    # Its last words, and not its end: lldb-server 19 is lost now and then in the moment in which the process exits.
    if words not in texts[-1]:
        wrong.add("the program did not go on", texts[-1][:300])
    return wrong.require_none(f"{len(steps)} steps")


def check(lldb, program, environment):
    return walk(lldb, program, environment, "Interface", "steps", check_dap.STEPS, "steps 10 10")


def check_released(lldb, program, environment):
    """A Release build. At its end a thread waits for the method that the last step leads out of: nobody goes on that could be shown."""
    return walk(lldb, program, environment, "Used", "released", check_dap.RELEASED, "released 48", "thread step-out")


def check_filtered(lldb, program, environment):
    return walk(lldb, program, environment, "Call of Break", "released", check_dap.FILTERED, "released 48")


def check_nested(lldb, program, environment, steps):
    return walk(lldb, program, environment, "Inner caught", "nested", steps, "nested 5")


def check_faults(lldb, program, environment):
    """Threads that meet null references in the moment of a step's end, or several in the same moment, are no stop."""
    return walk(lldb, program, environment, "Faults", "faults", check_dap.FAULTS, "faults 1")


def check_scene(lldb, program, environment, scene):
    """One of check_dap.SCENES."""
    place, steps, words = check_dap.SCENES[scene]
    return walk(lldb, program, environment, place, scene, steps, words)


class Typed:
    """An LLDB at whose prompt somebody types: it does not wait for the end of a step, and a thread of its own tells of stops."""

    def __init__(self, lldb, target):
        self.process = subprocess.Popen([lldb.driver, "--no-lldbinit", "--no-use-colors"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=plugin.ENVIRONMENT)
        self.heard, self.asked = "", 0
        # The program has no terminal, which would take what is typed while it runs.
        for command in ["settings set auto-confirm true", f'plugin load "{lldb.plugin}"', *target.commands()[:-1]]:
            self.ask(command)
        self.go(target.commands()[-1].replace("process launch", "process launch --no-stdio"))

    def until(self, pattern, seconds=60):
        end = time.monotonic() + seconds
        while not (found := re.search(pattern, self.heard)):
            left = end - time.monotonic()
            assert left > 0, f"LLDB says no {pattern}: {self.heard[-300:]!r}"
            if select.select([self.process.stdout], [], [], min(left, 1))[0]:
                part = os.read(self.process.stdout.fileno(), 1 << 16)
                assert part, f"LLDB ended: {self.heard[-300:]!r}"
                self.heard += part.decode("utf-8", "replace")
        text, self.heard = self.heard[:found.end()], self.heard[found.end():]
        return text

    def send(self, text):
        self.process.stdin.write(f"{text}\n".encode())
        self.process.stdin.flush()

    def ask(self, command):
        """What a command prints that is over at once."""
        self.asked += 1
        self.send(command)
        self.send(f"no-command-{self.asked}")
        return self.until(f"error: 'no-command-{self.asked}' is not a valid command[^\n]*\n")

    def go(self, command):
        """The stop behind a command that lets the program run."""
        self.send(command)
        return self.until(r"Process \d+ (stopped|exited)[^\n]*\n")

    def close(self):
        self.process.kill()
        self.process.wait()


def check_typed(lldb, program, environment, place, scene, steps):
    """Steps as somebody types them, from a line of a scene on."""
    names = {number: line.partition("// at: ")[2] for number, line in enumerate(check_dap.SOURCE.read_text().splitlines(), 1)}
    typed = Typed(lldb, Launched(program, environment, check_dap.line_of(place), scene))
    wrong = Examples()
    try:
        for number, (how, wanted) in enumerate(steps):
            typed.go(COMMANDS[how])
            reason = typed.ask("thread info")   # from then on the thread is selected that the step ended on
            found = place_of(typed.ask("frame info"), names)
            if found != wanted:
                wrong.add(how, f"step {number}: {found} for {wanted}; {reason.strip()}")
                break
    finally:
        typed.send("process kill")
        typed.close()
    return wrong.require_none(f"{len(steps)} steps")


def check_first_stop(lldb, program, environment, optimised):
    """The line that tells what is missing, at a stop in a native function: the stub of the P/Invoke is optimised in every build."""
    target = Launched(program, environment, 0, "native")
    target.start = [*target.start[:-2], "breakpoint set --name labs --shlib libc.so.6", target.start[-1]]
    texts = lldb.run(target, ["thread backtrace -c 4", "process continue"], 120)
    said = "runs optimised code" in lldb.errors + "".join(texts)
    # Optimised code makes such a call by itself.
    assert "Edited.Program.Main" in texts[0] and ("IL_STUB_PInvoke" in texts[0]) == (not optimised), f"the stop: {texts[0]}"
    assert said == optimised, f"said: {said}; {lldb.errors[-500:]}"
    return "said" if said else "nothing is missing"


def check_halted(lldb, program, environment):
    """At the SIGTRAP of Debugger.Break, the first stop: a breakpoint is in code that was compiled before, and `finish` leads back to the program."""
    names = {number: line.partition("// at: ")[2] for number, line in enumerate(check_dap.SOURCE.read_text().splitlines(), 1)}
    target = Launched(program, environment, 0, "halted")
    target.start = [*target.start[:-2], target.start[-1]]
    texts = lldb.run(target, [f"breakpoint set --file Program.cs --line {check_dap.line_of('Area')}", "breakpoint list", "frame select 2", "thread step-out", "frame info",
                              "process continue", "frame info", "process continue"], 120)
    assert "resolved = 1" in texts[1] and "error: 9" not in texts[0] + lldb.errors, f"{texts[0]} {texts[1]} {lldb.errors[-500:]}"
    found = place_of(texts[4], names), place_of(texts[6], names)
    assert found == ("Program.Main:Halted", "Program.Area:Area"), f"{found}"
    assert "halted 8" in texts[-1], f"the program did not go on: {texts[-1][:300]}"
    return "a breakpoint, and back"


def check_reserved(lldb, program, environment):
    """During a step LLDB has code where the runtime will put its next stubs: it takes the caller's caller for their caller otherwise."""
    driver = pathlib.Path(__file__).resolve().parent / "lldb_drive.py"
    target = Launched(program, environment, check_dap.line_of("Interface"), "steps")
    texts = lldb.run(target, [f'command script import "{driver}"', "drive-reserved", "process kill"], 120)
    found = json.loads(next(line for line in texts[1].splitlines() if line.startswith("[")))
    known = [row for row in found if row["modules"][:3] == ["clr-code"] * 3 and row["modules"][-1] is None]
    assert len(known) == 1, f"{found}"
    return f"{known[0]['begin']:#x}, one of {len(found)} large reservations"


def check_lambda(lldb, program, environment):
    """A breakpoint in a lambda that is not compiled: LLDB plants one at the next line of the method around it, where jitted code cannot be written to."""
    target, wrong = Launched(program, environment, check_dap.line_of("Lambda again+1"), "released", ""), Examples()
    frame, listed = lldb.run(target, ["frame info", "breakpoint list"], 120)
    if not re.search(rf"\[lambda\] at Program\.cs:{check_dap.line_of('Lambda again+1')}\b", frame):
        wrong.add("the stop", frame[:300])
    if "locations = 2, resolved = 1, hit count = 1" not in listed:
        wrong.add("the list", listed[:300])
    if "failed to set" in lldb.errors + listed:
        wrong.add("LLDB complains", (lldb.errors + listed)[:600])
    return wrong.require_none("the lambda alone")
