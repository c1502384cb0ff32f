"""Counted results: each check is one test case, with figures and, when it fails, its first examples."""
import sys
import time
import traceback

from known_differences import reason_for
from processes import Unavailable


class Results:
    def __init__(self):
        self.passed, self.failed, self.skipped, self.repeated = [], [], [], []

    def check(self, name, function, *arguments):
        """Runs one check. It returns the text of its figures, raises AssertionError to fail, Unavailable to skip."""
        start = time.monotonic()
        try:
            figures = function(*arguments)
            self.passed.append(name)
            word = "ok"
        except Unavailable as e:
            self.skipped.append((name, str(e)))
            figures, word = str(e), "SKIPPED"
        except Exception as e:   # a check that dies is a failed check, and the rest goes on
            figures, word = str(e) or traceback.format_exc(), "FAILED"
            if not isinstance(e, AssertionError):
                figures = f"{type(e).__name__}: {figures}"
            known = reason_for(name, figures)
            if known:
                self.skipped.append((name, f"known difference: {known}"))
                word = "SKIPPED"
            else:
                self.failed.append(name)
        print(f"{word:8} {name} ({time.monotonic() - start:.1f} s){': ' + str(figures) if figures else ''}", flush=True)

    def with_second_try(self, name, run):
        """run() makes a group of checks of one fresh program. When one of them fails, the whole group runs again with another program, and that
        counts: a program that is interrupted at a bad moment (the runtime compiles, the machine is overloaded) is not there twice. Both are printed,
        and the closing table names what failed at first: a defect that shows now and then must not hide here."""
        before = len(self.passed), len(self.failed), len(self.skipped)
        run()
        if len(self.failed) == before[1]:
            return
        print(f"AGAIN    {name}: the checks above are repeated once", flush=True)
        self.repeated += self.failed[before[1]:]
        for checks, count in zip((self.passed, self.failed, self.skipped), before):
            del checks[count:]
        run()

    def skip(self, name, reason):
        self.skipped.append((name, reason))
        print(f"SKIPPED  {name}: {reason}", flush=True)

    def summary(self):
        if self.skipped:
            print("\nskipped, and why:")
            reasons = {}
            for name, reason in self.skipped:
                reasons.setdefault(reason.splitlines()[0][:160], []).append(name)
            for reason, skipped in reasons.items():
                print(f"  {len(skipped):3}  {reason}  ({', '.join(skipped[:3])}{', ...' if len(skipped) > 3 else ''})")
        if self.repeated:
            print("\nfailed at first, and were repeated:")
            for name in self.repeated:
                print(f"  {name}: {'failed again' if name in self.failed else 'passed'}")
        for name in self.failed:
            print(f"failed: {name}")
        sys.stdout.flush()
        print(f"{len(self.passed)} passed, {len(self.failed)} failed, {len(self.skipped)} skipped", flush=True)
        return 1 if self.failed else 0


class Examples:
    """Counts what is wrong by kind and keeps the first of each."""

    def __init__(self, shown=3):
        self.shown, self.counts, self.first = shown, {}, {}

    def add(self, kind, text):
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if len(self.first.setdefault(kind, [])) < self.shown:
            self.first[kind].append(text)

    def require_none(self, figures):
        if self.counts:
            lines = [f"{n} x {kind}\n      " + "\n      ".join(self.first[kind]) for kind, n in sorted(self.counts.items(), key=lambda x: -x[1])]
            raise AssertionError(figures + "\n    " + "\n    ".join(lines))
        return figures
