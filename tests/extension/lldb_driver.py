"""Runs LLDB's own driver over a list of commands and hands back what each printed, as a user would see it."""
import os
import pty
import re
import subprocess
import tempfile


class Driver:
    def __init__(self, version, program, plugin, prefix=()):
        self.version, self.program, self.plugin, self.prefix = version, program, plugin, prefix

    def within(self, prefix):
        """The same driver, started by the command `prefix`."""
        return Driver(self.version, self.program, self.plugin, tuple(prefix))

    def without_plugin(self):
        return Driver(self.version, self.program, None, self.prefix)

    def run(self, commands, seconds=120, folder=None, environment=None):
        """Texts (output and errors together) of `commands`, in their order, run in `folder`. Commands after a failed one run too."""
        setup = ["settings set interpreter.stop-command-source-on-error false",
                 "settings set interpreter.prompt-on-quit false",
                 f'plugin load "{self.plugin}"' if self.plugin else "version"]
        lines = [*setup, *commands]
        # LLDB echoes each command; a marker in front of each tells their texts apart.
        script = "".join(f"{line}\n" for line in lines) + "quit\n"
        with subprocess.Popen([*self.prefix, self.program, "--no-lldbinit", "--no-use-colors"], stdin=subprocess.PIPE, text=True, errors="replace",
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder, env={**os.environ, "TERM": "dumb", **(environment or {})}) as done:
            try:
                printed, _ = done.communicate(script, timeout=seconds)
            except subprocess.TimeoutExpired:
                stacks = stacks_of(done.pid)
                done.kill()
                printed, _ = done.communicate()
                raise Died(f"LLDB {self.version} hung for {seconds} s: {printed[-400:]}\n{stacks}", None) from None
        texts, current, rest = [], [], iter([*lines, "quit"])
        expected = next(rest)
        for line in printed.splitlines():
            if line == f"(lldb) {expected}":
                texts.append("\n".join(current))
                current, expected = [], next(rest, None)
            else:
                current.append(line)
        if len(texts) != len(lines) + 1:
            raise Died(f"LLDB {self.version} ended after {len(texts) - 1} of {len(lines)} commands, exit code {done.returncode}: "
                       + printed[-400:], lines[len(texts) - 1])
        self.load_text = texts[len(setup)]
        return texts[len(setup) + 1:]


    def run_in_colour(self, commands, seconds=120):
        """The same on a terminal, with LLDB's colours on: texts with their escapes."""
        lines = [f'plugin load "{self.plugin}"', "settings set use-color true", *commands]
        before = ["--one-line-before-file", "settings set interpreter.stop-command-source-on-error false"]
        master, slave = pty.openpty()
        with tempfile.NamedTemporaryFile("w", suffix=".lldb") as script, open(master, "rb", buffering=0) as terminal:
            script.write("\n".join(lines) + "\n")
            script.flush()
            process = subprocess.Popen([self.program, "--no-lldbinit", "--batch", *before, "--source", script.name], stdin=slave, stdout=slave, stderr=slave,
                                       env=dict(os.environ, TERM="xterm-256color"))
            os.close(slave)
            text = b"".join(parts_until_closed(terminal))
            process.wait(seconds)
        texts = {}
        current = texts.setdefault(None, [])
        for line in text.decode(errors="replace").splitlines():
            plain = ESCAPE.sub("", line)
            if plain.startswith("(lldb) ") and plain[7:] in lines:
                current = texts.setdefault(plain[7:], [])
            else:
                current.append(line)
        missing = [command for command in commands if command not in texts]
        if missing:
            raise Died(f"LLDB {self.version} on a terminal did not run {missing[0]}: {text[-400:]!r}")
        return ["\n".join(texts[command]) for command in commands]


def stacks_of(pid):
    """Where the threads of a process that hangs stand, as far as gdb is here to tell."""
    try:
        done = subprocess.run(["gdb", "--batch", "--nx", "-p", str(pid), "-ex", "thread apply all bt 16"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, errors="replace", timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"(no stacks: {error})"
    return done.stdout[-6000:]


ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def parts_until_closed(terminal):
    """What arrives at `terminal`; the system tells of its end by an error."""
    while True:
        try:
            part = terminal.read(1 << 16)
        except OSError:
            return
        if not part:
            return
        yield part


class Died(Exception):
    """LLDB did not run every command; `at`: the last one that it began."""

    def __init__(self, text, at=None):
        super().__init__(text)
        self.at = at


class Report:
    """Counts checks, and keeps one line for each until it is printed."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.lines = []

    def print(self, of):
        """Prints what the report `of` keeps, and counts it."""
        for line in of.lines:
            print(line, flush=True)
        self.passed, self.failed, self.skipped = self.passed + of.passed, self.failed + of.failed, self.skipped + of.skipped

    def check(self, name, text, *patterns, absent=()):
        missing = [p for p in patterns if not re.search(p, text, re.M)]
        found = [p for p in absent if re.search(p, text, re.M)]
        if not missing and not found:
            self.passed += 1
            self.lines.append(f"ok    {name}")
            return
        self.failed += 1
        self.lines.append(f"FAIL  {name}: " + "; ".join([f"no /{p}/" for p in missing] + [f"has /{p}/" for p in found]))
        self.lines.append("      | " + "\n      | ".join(text.splitlines()[:12]))

    def fail(self, name, why):
        self.failed += 1
        self.lines.append(f"FAIL  {name}: {why}")

    def skip(self, name, why):
        self.skipped += 1
        self.lines.append(f"skip  {name}: {why}")

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped")
        return 1 if self.failed else 0
