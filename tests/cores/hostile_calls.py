#!/usr/bin/env python3
"""Makes every call of the C interface (include/lldb_clr.h) on a core, LLDB_CLR_LIBRARY_DIR saying where its library is: hostile_calls.py CORE FOLDER [SYMBOLS]

Files go to FOLDER. Each text that comes back must be UTF-8, each answer JSON, and each error a sentence that a terminal can show. hostile.py judges how this
ends; the last line is one JSON object: {"calls", "rows", "errors", "seconds" (processor time of the slowest call), "slowest" (its name)}."""
import ctypes
import json
import pathlib
import re
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HEADER = ROOT / "include" / "lldb_clr.h"
sys.path.insert(0, str(ROOT / "python"))

from lldb_clr import _library
from lldb_clr._library import CError

OBEYED = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
CONTROL = re.compile(rb"[\x00-\x1f\x7f]")
MOST_BATCHES = 40   # of one answer; the rest is closed unread, as a program may do
MOST = 8            # threads, methods, objects that are asked about
MOST_KEPT = 16 << 20   # bytes of one answer: the memory that is judged is not to be that of this test
ENOUGH = 4.0        # seconds of the processor: then no further thread and no further address is asked about
SEVERAL = (1 << 64) - 1
NO_ADDRESS = 0x6666_0000_1000


class Calls:
    """One core. The answers of each call come as lists of rows; errors are counted."""

    def __init__(self, core, folder, symbols):
        self.folder = folder
        self.functions = _library.Library(_library.find_library(_library.CORE_LIBRARY))._library
        self.functions.clr_query_save_core.restype = ctypes.c_void_p   # the package has no use for it
        self.functions.clr_query_save_core.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.POINTER(CError)]
        self.made, self.rows, self.errors, self.slowest, self.asked = 0, 0, 0, (0.0, ""), set()
        options = json.dumps({"symbols": symbols}).encode()
        self.runtime = self.call("clr_open_core", str(core).encode(), options, failure=None)

    def call(self, name, *arguments, failure=None):
        """What a function with an error returns; `failure` when it has failed."""
        error, began = CError(), time.process_time()
        self.made += 1
        self.asked.add(name)
        result = getattr(self.functions, name)(*arguments, ctypes.byref(error))
        self.took(name, began)
        failed = result is None or name == "clr_publish" and not result
        assert failed == (error.status != 0), f"{name} returned {result} with status {error.status}"
        if failed:
            self.judge_error(name, error)
            return failure
        return result

    def took(self, name, began):
        self.slowest = max(self.slowest, (time.process_time() - began, name))

    def judge_error(self, name, error):
        self.errors += 1
        text = error.text.decode()
        assert text, f"{name} fails without a text"
        assert not OBEYED.search(text), f"{name} fails with {text!a}"
        assert error.status != 8, f"{name} finds a defect of its own: {text}"

    def document(self, name, *arguments):
        """JSON of a function that returns text and size."""
        size = ctypes.c_size_t()
        return self.parsed(name, getattr(self.functions, name)(*arguments, ctypes.byref(size)), size.value)

    def parsed(self, name, text, size):
        content = ctypes.string_at(text, size)
        bad = CONTROL.search(content)
        assert bad is None, f"{name} answers with {content[max(0, bad.start() - 60):bad.end() + 20]!a}"
        try:
            document = json.loads(content.decode())
            json.dumps(document, ensure_ascii=False).encode()   # no half of a surrogate pair either
        except ValueError as e:
            raise AssertionError(f"{name} answers with what is no JSON in UTF-8: {e}: {content[:200]!a}") from e
        return document

    def query(self, name, *arguments):
        rows = self.call(f"clr_query_{name}", self.runtime, *arguments)
        answer, kept, text, size = [], 0, ctypes.c_void_p(), ctypes.c_size_t()
        for _ in range(MOST_BATCHES if rows else 0):
            error, began = CError(), time.process_time()
            more = self.functions.clr_rows_next(rows, ctypes.byref(text), ctypes.byref(size), ctypes.byref(error))
            self.took(f"clr_query_{name}", began)
            if more <= 0:
                assert (more < 0) == (error.status != 0), f"clr_query_{name}: {more} with status {error.status}"
                if more < 0:
                    self.judge_error(f"clr_query_{name}", error)
                break
            batch = self.parsed(f"clr_query_{name}", text, size.value)["rows"]
            self.rows += len(batch)
            kept += size.value
            if kept < MOST_KEPT:
                answer += batch
        self.functions.clr_rows_close(rows)
        return answer

    def heap_table(self):
        table = self.call("clr_heap_table", self.runtime, failure=None) if self.has_heap() else None
        count = self.functions.clr_table_count(table) if table else 0
        types = self.document("clr_table_json", table)["types"] if table else []
        for i in {0, count // 2, count - 1} if count else ():
            ctypes.cast(self.functions.clr_table_addresses(table), ctypes.POINTER(ctypes.c_uint64))[i]
            number = ctypes.cast(self.functions.clr_table_types(table), ctypes.POINTER(ctypes.c_uint32))[i]
            assert number < len(types), f"object {i} has type {number} of {len(types)}"
        self.functions.clr_table_close(table)

    def has_heap(self):
        """An empty heap has no table, and that is no error."""
        error = CError()
        table = self.functions.clr_heap_table(self.runtime, ctypes.byref(error))
        self.functions.clr_table_close(table)
        return table is not None or error.status != 0

    def symbolize(self, addresses):
        column = (ctypes.c_uint64 * len(addresses))(*addresses)
        symbols = self.call("clr_symbolize", self.runtime, column, len(addresses), 1)
        if symbols is None:
            return
        owners = self.document("clr_symbols_json", symbols)
        self.document("clr_symbols_files", symbols)
        numbers = ctypes.cast(self.functions.clr_symbols_owners(symbols), ctypes.POINTER(ctypes.c_uint32))
        assert all(numbers[i] < len(owners) for i in range(len(addresses))), "an address has an owner that is not there"
        self.functions.clr_symbols_close(symbols)


def addresses_in(rows):
    """Numbers that stand in answers as addresses."""
    found = re.findall(r'"(?:address|object|ip|start|this|method_desc)": "(0x[0-9a-f]+)"', json.dumps(rows))
    return list(dict.fromkeys(int(text, 16) for text in found))


def ask_all(calls):
    text = {name: str(calls.folder / name).encode() for name in ("saved.gcdump", "saved.heap", "saved.core")}
    calls.query("info", 0)
    calls.query("info", 1)
    modules = calls.query("modules")
    methods = calls.query("methods", None, 3)
    calls.query("methods", b"*ituation*", 3)
    calls.query("statics", b"*", 0)
    threads = calls.query("threads")
    answers = [threads]
    numbers = [thread["os_id"] for thread in threads if thread.get("os_id")][:MOST]
    for number in [SEVERAL, *numbers]:
        if number != SEVERAL and time.process_time() > ENOUGH:
            break
        answers.append(calls.query("frames", number, 0, 7))
        calls.query("frames", number, 1, 0)
        answers.append(calls.query("roots", number))
        calls.query("statics", b"*Gallery*", number)
    for name in ("heap", "free_space", "allocations", "handles", "finalizers", "verification", "heap_roots", "analysis", "async", "locks", "deadlocks", "waits"):
        answers.append(calls.query(name))
    for part in (-1, 0, 5, 77):
        calls.query("heap_types", None, part)
        answers.append(calls.query("objects", b"*", part))
    calls.query("objects_where", b"*", -1, (ctypes.c_char_p * 2)(b"_message~*", b"_size=1"), 2)
    calls.query("reached_types", None, -1, 1)
    calls.query("reached_types", None, -1, 0)
    calls.query("strings", None, 0)
    calls.query("duplicate_strings", b"*", 1, 0)
    calls.query("arrays", None, -1, 1, 0, 10)
    for by in range(6):
        calls.query("retainers", by, None, 20)
    found = addresses_in([answers, methods[:50], modules])
    for address in [0, NO_ADDRESS, SEVERAL, *found[::max(1, len(found) // (4 * MOST))]]:
        if address not in (0, NO_ADDRESS, SEVERAL) and time.process_time() > ENOUGH:
            break
        for name in ("address", "exception", "unwind", "gc_info", "references", "referrers", "retained", "versions"):
            calls.query(name, address)
        calls.query("object", address, None, 100)
        calls.query("object", address, b"_items[0]._message", SEVERAL)
        calls.query("paths", address, 3)
    calls.query("gcdump", text["saved.gcdump"], 0)
    calls.query("heap_save", text["saved.heap"])
    calls.query("heap_difference", text["saved.heap"])
    # A part that fails costs the copy itself, but not its time.
    calls.query("small_core", text["saved.core"], 7)
    if time.process_time() < ENOUGH:
        calls.query("save_core", text["saved.core"], 1)
    calls.asked.add("clr_query_save_core")
    calls.heap_table()
    calls.symbolize([*found[:1000], 0, SEVERAL])


def main():
    calls = Calls(sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:])
    if calls.runtime is not None:
        assert calls.functions.clr_is_current(calls.runtime) == 1
        assert calls.call("clr_publish", calls.runtime, failure=0) == 0
        ask_all(calls)
        # A function that is new in the interface has its place here, too.
        forgotten = set(re.findall(r"clr_query_\w+", HEADER.read_text())) - calls.asked
        assert not forgotten, f"nobody asks {sorted(forgotten)}"
        calls.functions.clr_close(calls.runtime)
    print(json.dumps({"calls": calls.made, "rows": calls.rows, "errors": calls.errors, "seconds": round(calls.slowest[0], 2), "slowest": calls.slowest[1]}))


if __name__ == "__main__":
    main()
