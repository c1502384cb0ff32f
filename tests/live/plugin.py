"""Runs the plugin in a batch LLDB and hands back what each command printed."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from processes import Unavailable


# The Python inside LLDB is the system's; it looks for its modules beside the first python3 of PATH, which may be another.
ENVIRONMENT = dict(os.environ, LLDB_DISABLE_PYTHON="1", PATH=os.pathsep.join(["/usr/bin", os.environ.get("PATH", "/bin")]))


class Failed(Exception):
    """LLDB or a command did not do what it should."""


class Target:
    """What LLDB opens: a process id, or a core with (when it needs one) its executable."""

    def __init__(self, pid=None, core=None, executable=None):
        self.pid, self.core, self.executable = pid, core, executable

    def commands(self):
        if self.pid:
            return [f"process attach --pid {self.pid}"]
        exe = f' "{self.executable}"' if self.executable else ""
        return [f'target create{exe} --core "{self.core}"']

    def __str__(self):
        return f"process {self.pid}" if self.pid else str(self.core)


def without_selection(text):
    """The text of a command without what LLDB prints of a selected thread: it does so by an event, now and then among the next texts."""
    return re.sub(r"^\* thread #\d+.*\n(?: {4}frame #.*\n?)?", "", text, flags=re.M)


class Lldb:
    def __init__(self, plugin, driver=None, keep=None):
        self.plugin = pathlib.Path(plugin).resolve()
        if not self.plugin.exists():
            raise Unavailable(f"the plugin is not built: {self.plugin.name}")
        self.driver = driver or shutil.which("lldb-19") or shutil.which("lldb")
        if not self.driver:
            raise Unavailable("lldb is not installed")
        self.keep = keep

    def run(self, target, commands, seconds=300, go_on=False):
        """Texts that the commands printed, in their order. A crash of LLDB is a Failed. `go_on`: also behind a command that fails."""
        lines = [f'plugin load "{self.plugin}"', *target.commands(), *commands]
        if target.pid:
            lines.append("process detach")
        # From a file: the driver hands -o commands to itself through a pipe, and waits for ever when they fill it.
        with tempfile.NamedTemporaryFile("w", suffix=".lldb") as script, tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            script.write("\n".join(lines) + "\n")
            script.flush()
            before = ["--one-line-before-file", "settings set interpreter.stop-command-source-on-error false"] if go_on else []
            done = subprocess.run([self.driver, "--no-lldbinit", "--batch", "--no-use-colors", *before, "--source", script.name], stdout=out, stderr=err,
                                  stdin=subprocess.DEVNULL, timeout=seconds, env=ENVIRONMENT)
            out.seek(0)
            err.seek(0)
            texts, errors = split(out, lines), err.read()
        if done.returncode < 0:
            raise Failed(f"LLDB died of signal {-done.returncode} on {target}: {errors[-500:]}")
        if len(texts) < len(lines) - (1 if target.pid else 0):
            raise Failed(f"LLDB stopped before `{lines[len(texts)]}` on {target}: {errors[-500:]}")
        self.errors = errors
        first = 1 + len(target.commands())
        return texts[first: first + len(commands)]

    def json(self, target, commands, seconds=300):
        """The same for commands with --json, parsed."""
        return [self.parse(command, text, target) for command, text in zip(commands, self.run(target, commands, seconds))]

    def parse(self, command, text, target):
        """The JSON that `command` printed."""
        try:
            return json.loads(text)
        except json.JSONDecodeError as e:
            raise Failed(f"`{command}` on {target} printed no JSON ({e}): {text[:300]!r} {self.errors[-300:]!r}") from None

    def ip2md(self, target, addresses, seconds=600):
        """clrip2md of many addresses: address -> answer."""
        with tempfile.NamedTemporaryFile("w", suffix=".addresses") as f:
            f.write("".join(f"{a:#x}\n" for a in addresses))
            f.flush()
            (answers,) = self.json(target, [f"clrip2md --json --from {f.name}"], seconds)
        by = {int(a["address"], 16): a for a in answers}
        if len(by) != len(set(addresses)):
            raise Failed(f"{len(set(addresses))} addresses asked, {len(by)} answered on {target}")
        return by


def split(lines, commands):
    """Output of each command that ran, in order: LLDB echoes each as `(lldb) COMMAND`."""
    texts, parts = [], None
    for line in lines:
        if line.startswith("(lldb) ") and len(texts) < len(commands) and line[7:].rstrip("\n") == commands[len(texts)]:
            parts = []
            texts.append(parts)
        elif parts is not None:
            parts.append(line)
    return ["".join(parts) for parts in texts]


class CoreTool(Lldb):
    """The core library without LLDB (tests/cores/core_tool.cpp): the same questions, for cores only."""

    COMMANDS = {"clr info --json": "info", "clr methods --json": "methods", "clrbt --json all": "stacks"}

    def __init__(self, tool):
        self.tool = pathlib.Path(tool).resolve()
        if not self.tool.exists():
            raise Unavailable(f"not built: {self.tool.name}")

    def run(self, target, commands, seconds=300):
        if not target.core:
            raise Unavailable("the core library alone opens cores only")
        texts = []
        for command in commands:
            if command.startswith("clrip2md --json --from "):
                words = ["ip2md", target.core, command.split()[-1]]
            elif command in self.COMMANDS:
                words = [self.COMMANDS[command], target.core]
            else:
                raise Unavailable(f"the core library alone has no `{command}`")
            with tempfile.TemporaryFile("w+") as out:
                done = subprocess.run([self.tool, *map(str, words)], stdout=out, stderr=subprocess.PIPE, text=True, timeout=seconds)
                out.seek(0)
                texts.append(out.read())
            self.errors = done.stderr
            if done.returncode:
                raise Failed(f"core_tool {words[0]} of {target}: exit code {done.returncode}: {done.stderr[-300:]}")
        return texts


def ask_package(plugin, script):
    """What `script`, in a Python without LLDB and with the package of this tree over the libclr.so beside `plugin`, prints as JSON."""
    folder = pathlib.Path(plugin).parent
    if not (folder / "libclr.so").exists():
        raise Unavailable("libclr.so is not built")
    python = pathlib.Path(__file__).resolve().parent.parent.parent / "python"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=600,
                          env=dict(os.environ, LLDB_CLR_LIBRARY_DIR=str(folder), PYTHONPATH=str(python)))
    assert done.returncode == 0, done.stderr[-500:]
    return json.loads(done.stdout)
