#!/usr/bin/env python3
"""Watches a process of this host and prints the managed stacks of threads that wait longer than N seconds. Needs LLDB's Python module:

    PYTHONPATH=$(lldb-19 -P) watch_waits.py PID [--seconds N] [--reports COUNT]

A thread waits when the kernel has not run it: /proc tells, without stopping anything. Only for a report is the process stopped, for as long as its stacks
take; each wait is reported once. Ends with the process, by Ctrl-C, or after COUNT reports.
"""
from __future__ import annotations

import argparse
import pathlib
import sys
import time
from typing import Dict, List, Optional, Tuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import lldb_clr

POLL = 0.2   # seconds


class Waits:
    """Since when each thread of a process has not run."""

    def __init__(self, pid: int) -> None:
        self.tasks = pathlib.Path(f"/proc/{pid}/task")
        self.since: Dict[int, Tuple[str, float]] = {}

    def poll(self) -> Dict[int, float]:
        """Seconds that each thread has waited; raises FileNotFoundError when the process has ended."""
        now = time.monotonic()
        before, self.since = self.since, {}
        for task in self.tasks.iterdir():
            try:
                lines = (task / "status").read_text().splitlines()
            except (FileNotFoundError, ProcessLookupError):
                continue   # the thread ended
            switches = " ".join(line for line in lines if "ctxt_switches" in line)
            known = before.get(int(task.name))
            self.since[int(task.name)] = known if known and known[0] == switches else (switches, now)
        return {thread: now - start for thread, (_, start) in self.since.items()}

    def forget_stop(self) -> None:
        """The debugger's stop ran every thread for a moment: what waits goes on waiting."""
        before = self.since
        self.poll()
        self.since = {thread: (switches, before.get(thread, ("", start))[1]) for thread, (switches, start) in self.since.items()}


def managed_stacks(pid: int, threads: Dict[int, float]) -> List[str]:
    """Attaches, reads, detaches."""
    lldb = lldb_clr.import_lldb()
    debugger = lldb.SBDebugger.Create()
    debugger.SetAsync(False)
    error = lldb.SBError()
    process = debugger.CreateTarget("").AttachToProcessWithID(debugger.GetListener(), pid, error)
    if not error.Success():
        raise lldb_clr.UsageError(f"cannot attach to {pid}: {error.GetCString()}")
    lines: List[str] = []
    try:
        with lldb_clr.Runtime(process) as runtime:
            for thread in runtime.threads:
                waited: Optional[float] = threads.get(thread.os_id or 0)
                if waited is None or thread.index is None:
                    continue
                managed = [f for f in thread.backtrace(runtime_frames=False) if f.kind == "managed"]
                if not managed:
                    continue
                lines.append(f"thread {thread.os_id}{f' {lldb_clr.printable(thread.name)}' if thread.name else ''} has waited for {waited:.0f} s")
                lines.extend(f"    {lldb_clr.printable(frame.text.partition(' ')[2])}" for frame in managed)
    finally:
        process.Detach()
        lldb.SBDebugger.Destroy(debugger)
    return lines


def watch(pid: int, seconds: float, reports: int) -> None:
    waits = Waits(pid)
    reported: Dict[int, float] = {}
    made = 0
    while reports == 0 or made < reports:
        time.sleep(POLL)
        waited = waits.poll()
        due = {thread: time_waited for thread, time_waited in waited.items() if time_waited >= seconds and reported.get(thread) != waits.since[thread][1]}
        if not due:
            continue
        reported.update({thread: waits.since[thread][1] for thread in due})
        lines = managed_stacks(pid, due)
        waits.forget_stop()
        if lines:
            print("\n".join(lines), flush=True)
            made += 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pid", type=int)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--reports", type=int, default=0)
    options = parser.parse_args()
    try:
        watch(options.pid, options.seconds, options.reports)
    except FileNotFoundError:
        print(f"process {options.pid} has ended")
    except KeyboardInterrupt:
        pass
    except lldb_clr.Error as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
