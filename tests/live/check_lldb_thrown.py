"""`clr break --exception`: each throw of a type and of those that are derived from it stops once, with the object; what others throw does not stop."""
import re

import check_dap
from check_lldb_into import Launched, place_of
from results import Examples

# What programs/edited throws of Edited.Refused, in order: the type, the message, the line. The last one is thrown again by `throw;`.
THROWN = [("Program.Refused", "refused 0", "Refused"), ("Program.OutOfStock", "no stock 1", "OutOfStock"), ("Program.Refused", "refused 3", "Refused"),
          ("Program.OutOfStock", "no stock 4", "OutOfStock"), ("Program.OutOfStock", "no stock at all", "Last thrown")]
CAUGHT = 7
# Types that a breakpoint may mean, and whether a module has one.
NAMED = {"Edited.Program.NoSuchType": False, "OutOfStock": True, "Program+Refused": True, "System.Net.Http.HttpRequestException": False}
UNKNOWN = re.compile(r"none of the \d+ modules that are loaded has a type of this name; the breakpoint stops when a module that is loaded later has one")


class Throwing(Launched):
    def __init__(self, program, environment):
        super().__init__(program, environment, 1, "thrown")
        self.start = [line for line in self.start if not line.startswith(("breakpoint set", "process launch"))]
        self.start += ["clr break --exception Edited.Program.Refused", "process launch -- thrown"]


def check(lldb, program, environment):
    names = {number: line.partition("// at: ")[2] for number, line in enumerate(check_dap.SOURCE.read_text().splitlines(), 1)}
    commands = [command for _ in THROWN for command in ("frame info", "clr pe", "process continue")]
    commands[-1:-1] = [f"clr break --exception {name}" for name in NAMED]
    texts = lldb.run(Throwing(program, environment), [*commands, "breakpoint list"], 120)
    wrong = Examples()
    for number, (kind, message, line) in enumerate(THROWN):
        frame, exception, _ = texts[3 * number:3 * number + 3]
        place = place_of(frame, names)
        if not place.endswith(f":{line}"):
            wrong.add("the frame that has thrown", f"throw {number}: {place} for {line}")
        if not re.search(rf"^Edited\.{kind} at 0x[0-9a-f]+$", exception, re.M) or f"message: {message}" not in exception:
            wrong.add("the exception", f"throw {number}: {exception[:300]} for {kind}, {message}")
    for (name, known), text in zip(NAMED.items(), texts[3 * len(THROWN) - 1:]):
        if f"exceptions of {name}" not in text or bool(UNKNOWN.search(text)) == known:
            wrong.add("what is said of a type", f"{name}: {text[:300]}")
    last = texts[-2]
    if f"thrown {CAUGHT}" not in last:
        wrong.add("a stop that nobody asked for", last[:500])
    listed = re.findall(r"^\d+:", texts[-1], re.M)
    if len(listed) != 1 + len(NAMED):
        wrong.add("breakpoints in the list", texts[-1][:500])
    return wrong.require_none(f"{len(THROWN)} of {CAUGHT} exceptions")
