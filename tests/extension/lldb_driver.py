"""Runs LLDB's own driver over a list of commands and hands back what each printed, as a user would see it."""
import os
import re
import subprocess


class Driver:
    def __init__(self, version, program, plugin):
        self.version, self.program, self.plugin = version, program, plugin

    def run(self, commands, seconds=120, environment=None):
        """Texts (output and errors together) of `commands`, in their order. Commands after a failed one run too."""
        setup = ["settings set interpreter.stop-command-source-on-error false",
                 "settings set interpreter.prompt-on-quit false",
                 f'plugin load "{self.plugin}"']
        lines = [*setup, *commands]
        # LLDB echoes each command; a marker in front of each tells their texts apart.
        script = "".join(f"{line}\n" for line in lines) + "quit\n"
        done = subprocess.run([self.program, "--no-lldbinit", "--no-use-colors"], input=script, text=True, errors="replace",
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds,
                              env=dict(os.environ, TERM="dumb", **(environment or {})))
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
    """Counts checks and prints one line for each."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def check(self, name, text, *patterns, absent=()):
        missing = [p for p in patterns if not re.search(p, text, re.M)]
        found = [p for p in absent if re.search(p, text, re.M)]
        if not missing and not found:
            self.passed += 1
            print(f"ok    {name}")
            return
        self.failed += 1
        print(f"FAIL  {name}: " + "; ".join([f"no /{p}/" for p in missing] + [f"has /{p}/" for p in found]))
        print("      | " + "\n      | ".join(text.splitlines()[:12]))

    def fail(self, name, why):
        self.failed += 1
        print(f"FAIL  {name}: {why}")

    def skip(self, name, why):
        self.skipped += 1
        print(f"skip  {name}: {why}")

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped")
        return 1 if self.failed else 0
