#!/usr/bin/env python3
"""All unique stacks of a core file as JSON, those of most threads first. Needs no LLDB.

    unique_stacks.py CORE [--managed]       --managed: stacks are equal when their managed frames are
"""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import sys
from typing import Any, Dict, List, Tuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import lldb_clr


def describe(frame: lldb_clr.Frame) -> Dict[str, Any]:
    row: Dict[str, Any] = {"kind": frame.kind, "text": frame.text.partition(" ")[2] or frame.text}
    if frame.method:
        row["method"] = frame.method.full_name
    if frame.file:
        row["file"], row["line"] = frame.file, frame.line
    return row


def unique_stacks(runtime: lldb_clr.Runtime, managed_only: bool) -> List[Dict[str, Any]]:
    groups: Dict[Tuple[int, ...], Dict[str, Any]] = {}
    for thread in runtime.threads:
        if thread.index is None:
            continue   # it has ended: no stack
        backtrace = thread.backtrace(runtime_frames=False)
        frames = [f for f in backtrace if f.kind == "managed" or not managed_only]
        group = groups.setdefault(tuple(f.ip or 0 for f in frames), {"threads": [], "frames": [describe(f) for f in frames], "end": backtrace.end})
        group["threads"].append({"os_id": thread.os_id, "managed_id": thread.managed_id, "name": thread.name})
    return sorted(groups.values(), key=lambda group: -len(group["threads"]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("core")
    parser.add_argument("--managed", action="store_true")
    options = parser.parse_args()
    try:
        stacks = unique_stacks(lldb_clr.open_core(options.core), options.managed)
    except lldb_clr.Error as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    try:
        json.dump({"stacks": stacks}, sys.stdout, indent=1)
        print(flush=True)
    except BrokenPipeError:   # the reader of a pipe wants no more; Python itself must not flush to it either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    sys.exit(main())
