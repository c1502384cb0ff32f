"""Runs LLDB's own driver over a list of commands and hands back what each printed, as a user would see it."""
import os
import re
import subprocess


class Driver:
    def __init__(self, version, program, plugin, prefix=()):
        self.version, self.program, self.plugin, self.prefix = version, program, plugin, prefix

    def within(self, prefix):
        """The same driver, started by the command `prefix`."""
        return Driver(self.version, self.program, self.plugin, tuple(prefix))

    def run(self, commands, seconds=120):
        """Texts (output and errors together) of `commands`, in their order. Commands after a failed one run too."""
        setup = ["settings set interpreter.stop-command-source-on-error false",
                 "settings set interpreter.prompt-on-quit false",
                 f'plugin load "{self.plugin}"']
        lines = [*setup, *commands]
        # LLDB echoes each command; a marker in front of each tells their texts apart.
        script = "".join(f"{line}\n" for line in lines) + "quit\n"
        done = subprocess.run([*self.prefix, self.program, "--no-lldbinit", "--no-use-colors"], input=script, text=True, errors="replace",
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds,
                              env=dict(os.environ, TERM="dumb"))
        texts, current, rest = [], [], iter([*lines, "quit"])
        expected = next(rest)
        for line in done.stdout.splitlines():
            if line == f"(lldb) {expected}":
                texts.append("\n".join(current))
                current, expected = [], next(rest, None)
            else:
                current.append(line)
        if len(texts) != len(lines) + 1:
            raise Died(f"LLDB {self.version} ended after {len(texts) - 1} of {len(lines)} commands, exit code {done.returncode}: "
                       + done.stdout[-400:])
        self.load_text = texts[len(setup)]
        return texts[len(setup) + 1:]


class Died(Exception):
    """LLDB did not run every command."""


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
