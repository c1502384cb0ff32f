"""The plugin's sources themselves: LLDB is given no function or object to call but in one file, and runs commands for the plugin from one file. (Which folder may know which is checked by
tests/structure/run.py.)"""
import pathlib
import re

EXTENSION = pathlib.Path(__file__).resolve().parent.parent.parent / "extension"
ENTRIES = ("lldb/entries.h", "lldb/entries.cpp")
# The functions of LLDB that take something to call, and what a command of LLDB's is derived from.
REGISTRATIONS = re.compile(r"\b(SetCallback|SetCommandOverrideCallback|CreateWithCallback|AddMultiwordCommand|AddCommand|SetScriptCallback\w*|DoExecute|"
                           r"SBCommandPluginInterface|SetLoggingCallback|SetDestroyCallback|AddDestroyCallback|SetLogCallback)\b")
# They work on the state of a debugger: only the door makes a turn, and only a turn leads there.
BACK_DOORS = re.compile(r"\bstatic_cast<Workspace&>|\bTurn\(\*this\)|\bconst Turn turn\(")
# LLDB's commands come back to the plugin, which follows the user's, unless they are run there.
COMMANDS = re.compile(r"\bHandleCommand\b")
OWN_COMMANDS = ("lldb/own_command.cpp",)
DOORS = ("door/door.h", "process/workspace.h")


def code(path):
    """The text without comments."""
    return re.sub(r"//[^\n]*", "", path.read_text())


def check(report):
    found = {"callbacks": [], "turns": [], "commands": []}
    registered = 0
    for path in sorted(EXTENSION.rglob("*")):
        if path.suffix not in (".h", ".cpp"):
            continue
        name, text = path.relative_to(EXTENSION).as_posix(), code(path)
        if name in ENTRIES:
            registered += len(REGISTRATIONS.findall(text))
        else:
            found["callbacks"] += [f"{name}: {what}" for what in REGISTRATIONS.findall(text)]
        if name not in DOORS:
            found["turns"] += [f"{name}: {what}" for what in BACK_DOORS.findall(text)]
        if name not in OWN_COMMANDS:
            found["commands"] += [f"{name}: {what}" for what in COMMANDS.findall(text)]
    if not registered:
        found["callbacks"].append("lldb/entries.cpp registers nothing: this check is out of date")
    for what, problems in found.items():
        if problems:
            report.fail(f"sources: {what}", "; ".join(problems))
        else:
            report.check(f"sources: {what}", "")
