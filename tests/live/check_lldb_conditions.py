"""Conditions of breakpoints: they hold when code was compiled and shown since they were evaluated last, one that has no meaning in some instantiation
of generic code (`key == 3` where the key is a reference) says so once and does not stop there, and what only C# has (`name == "three"`, null, members of
enums) has the meaning that it has there, also for `p`."""
import re

import check_dap
from check_lldb_into import Launched
from results import Examples

BREAKPOINTS, STOPS, LAST = check_dap.CONDITIONS, check_dap.CONDITION_STOPS, check_dap.CONDITION_WORDS


class Conditional(Launched):
    def __init__(self, program, environment):
        super().__init__(program, environment, 1, "conditions")
        self.start = [line for line in self.start if not line.startswith(("breakpoint set", "process launch"))]
        for place, condition in BREAKPOINTS:
            self.start.append(f"breakpoint set --file Program.cs --line {check_dap.line_of(place)}" + (f" --condition '{condition}'" if condition else ""))
        self.start.append("process launch -- conditions")


# What `p` says of the same at these stops.
ASKED = {("Named", "7"): ("p next != null", "(bool) false"),
         ("Named", "11"): ('p name == "three\\n" && next.Name.Length == 4 && due == null && mood != Mood.Calm', "(bool) true"),
         ("Named+1", "0"): ("p null != name || due.HasValue", "(bool) true"),
         ("Named+1", "1"): ("p null != name || due.HasValue", "(bool) false")}


def check(lldb, program, environment):
    names = {number: line.partition("// at: ")[2] for number, line in enumerate(check_dap.SOURCE.read_text().splitlines(), 1)}
    texts = lldb.run(Conditional(program, environment), [command for stop in STOPS for command in ("frame info", "frame variable --flat key", ASKED.get(stop, ["frame info"])[0], "process continue")], 120, go_on=True)
    wrong = Examples()
    for number, (place, key) in enumerate(STOPS):
        frame, variable, said, _ = texts[4 * number:4 * number + 4]
        line = re.search(r" at Program\.cs:(\d+)", frame)
        if not line or names[int(line[1])] != place:
            wrong.add("a stop", f"stop {number}: {frame[:200]} for {place}")
            break
        if key and variable.strip() != f"key = {key}":
            wrong.add("the key", f"stop {number}: {variable[:200]} for {key}")
        if (place, key) in ASKED:
            said = re.sub(r"\$\d+ = ", "", said)   # before LLDB 17 `p` keeps a result
            if said.strip() != ASKED[place, key][1]:
                wrong.add("an expression of C#", f"stop {number}: {said[:200]}")
    if LAST not in texts[-1]:
        wrong.add("the program did not run to its end", texts[-1][:300])
    complaints = re.findall(r"^error: stopped due to an error evaluating condition.*null == name.*", lldb.errors, re.M | re.I)
    # LLDB 21 and 22 never compile a condition again, whatever was taken away of what it needs; the stops are right all the same.
    if complaints and not re.search(r"2[12]$|/2[12]/", str(lldb.driver)):
        wrong.add("LLDB complains", complaints[0])
    if not re.search(r"^lldb-clr: the condition `key > 6 && next.Name .*` of breakpoint \d+ cannot be evaluated: ", lldb.errors, re.M):
        wrong.add("no reason for the stop at a null reference", lldb.errors[-300:])
    said = re.findall(r"^lldb-clr: (breakpoint \d+ does not stop in .*)$", lldb.errors, re.M)
    if len(said) != 1 or "Keyed<System.__Canon>" not in said[0] or "its condition `key == 3` has no meaning there: " not in said[0]:
        wrong.add("what is said of references", f"{said}")
    return wrong.require_none(f"{len(STOPS)} stops at {len(BREAKPOINTS)} breakpoints")
