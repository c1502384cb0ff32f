"""Methods that have lines and variables: LLDB shows their whole names wherever it shows a name, and finds them by each of their forms."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "live"))

import processes

HERE = "Situations.Report.Here()"
GO = "Situations.Calls.Generic<System.__Canon>.Instance<int>.Go(System.__Canon, int)"
RUN = "Situations.Calls.Generic<System.__Canon>.Run<int>(System.__Canon, int)"
LAMBDA = "Situations.Calls.All() [lambda]"
MAIN = "Situations.Program.Main(string[])"
# The stack of the situation, and what `bt` makes of it: the names of the parameters with their values.
FRAMES = {
    HERE: r"Situations\.Report\.Here\(\) at Report\.cs:\d+",
    GO: r"Situations\.Calls\.Generic<System\.__Canon>\.Instance<int>\.Go\(this=.*, t=\"a\", v=1\) at Calls\.cs:\d+",
    RUN: r"Situations\.Calls\.Generic<System\.__Canon>\.Run<int>\(t=\"a\", u=1\) at Calls\.cs:\d+",
    LAMBDA: r"Situations\.Calls\.All\(this=.*\) \[lambda\] at Calls\.cs:\d+",
    MAIN: r"Situations\.Program\.Main\(args=.*\) at Program\.cs:\d+",
}
FORMS = {
    HERE: ["Here", "Report.Here", "Situations.Report.Here", HERE],
    GO: ["Go", "Situations.Calls.Generic.Instance.Go", "Situations.Calls.Generic<System.__Canon>.Instance<int>.Go", GO],
    RUN: ["Run", "Calls.Generic.Run", "Situations.Calls.Generic<System.__Canon>.Run<int>", RUN],
    MAIN: ["Main", "Program.Main", "Situations.Program.Main", MAIN],
}


def make_core(folder):
    """A core of a program that was built with its symbols. Throws processes.Unavailable where that cannot be had."""
    program = processes.build("situations", folder / "artifacts")
    with processes.Running([program, "generics", folder / "report"], folder / "situation") as running:
        if not running.wait_ready():
            raise processes.Unavailable("the program did not start")
        return processes.gcore(running.pid, folder / "situation.core")


def check(driver, report, tag, core):
    opening = [f'target create --core "{core}"', "clr publish"]
    (_, published, stack) = driver.run([*opening, "bt"])
    report.check(f"{tag} published", published, r"^[1-9]\d* modules, ", absent=["^warning: "])
    places = {name: re.search(rf"frame #\d+: (0x[0-9a-f]+) situations\.dll`{frame}", stack) for name, frame in FRAMES.items()}
    report.check(f"{tag} names in bt", stack, *(rf"situations\.dll`{frame}" for frame in FRAMES.values()))
    asked = [(f'image lookup -n "{form}"', name) for name, forms in FORMS.items() for form in forms]
    asked += [(f'image lookup -F "{forms[0]}"', name) for name, forms in FORMS.items()]
    asked += [(f"image lookup -a {place.group(1)}", name) for name, place in places.items() if place]
    lookups = len(asked)
    asked += [(f'breakpoint set -s situations.dll -n "{form}"', name) for name, forms in FORMS.items() for form in forms]
    asked += [(f'breakpoint set -s situations.dll -F "{forms[-1]}"', name) for name, forms in FORMS.items()]
    # LLDB tells functions of classes, which have a `this`, from others.
    asked += [(f'breakpoint set -s situations.dll {"-M" if name == GO else "-b"} "{forms[0]}"', name) for name, forms in FORMS.items()]
    # In a core they cannot be enabled, which LLDB says of each.
    texts = driver.run([*opening, *(command for command, _ in asked), "breakpoint list"])[len(opening):]
    breakpoints = dict(re.findall(r"^(\d+): (.*?)(?=^\d+: |\Z)", texts[-1], re.M | re.S))
    for number, ((command, name), text) in enumerate(zip(asked, texts)):
        if number < lookups:
            report.check(f"{tag} {command}", text, rf"Summary: situations\.dll`{re.escape(name)} ")
        else:
            made = re.search(r"^Breakpoint (\d+): ", text, re.M)
            report.check(f"{tag} {command}", breakpoints.get(made.group(1), "") if made else text, rf"where = situations\.dll`{re.escape(name)} \+ \d+ at ")
