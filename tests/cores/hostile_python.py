#!/usr/bin/env python3
"""Prints what the Python package says of a core, LLDB_CLR_LIBRARY_DIR saying where its library is: hostile_python.py CORE FOLDER [SYMBOLS]

hostile.py judges what comes out. All that is printed is the text that `print` gives for the objects of the package."""
import itertools
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "python"))

import lldb_clr

MOST = 200   # of each list


def show(ask):
    """Prints what `ask` returns, as text and as Python writes it, and returns it as a list; an error as well."""
    try:
        answer = ask()
        rows = list(itertools.islice(answer, MOST)) if hasattr(answer, "__iter__") else [answer]
    except lldb_clr.Error as error:
        print(error, repr(error))
        return []
    for row in rows:
        print(row, repr(row))
    if hasattr(answer, "__len__"):
        print(answer, len(answer))
    return rows


def main():
    runtime = lldb_clr.open_core(sys.argv[1], symbols=sys.argv[3:])
    show(lambda: runtime)
    show(lambda: runtime.info)
    for ask in (lambda: runtime.modules, lambda: runtime.methods("*ituation*"), lambda: runtime.statics("*"), lambda: runtime.locks, lambda: runtime.tasks, runtime.analyze,
                lambda: runtime.heap.stat(), lambda: runtime.heap.objects(), lambda: runtime.roots()):
        show(ask)
    for thread in show(lambda: runtime.threads):
        frames = show(lambda thread=thread: thread.backtrace(limit=MOST))
        show(lambda thread=thread: thread.roots)
        if thread.exception is not None:
            show(lambda thread=thread: thread.exception)
            show(lambda thread=thread: thread.exception.details)
        for frame in frames:
            if frame.method is not None:
                show(lambda frame=frame: frame.method)
                show(lambda frame=frame: frame.source)
            if frame.method is not None and frame.ip is not None:
                show(lambda frame=frame: runtime.unwind_info(frame.ip))
        show(lambda frames=frames: runtime.symbolize([frame.ip for frame in frames if frame.ip], lines=True))


if __name__ == "__main__":
    main()
