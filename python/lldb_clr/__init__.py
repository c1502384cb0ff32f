"""lldb-clr for scripts: the runtime of a .NET process or core as objects, over the same library as the commands.

In LLDB:             (lldb) command script import .../python/lldb_clr      loads the plugin when it is not loaded
                     (lldb) script print(lldb_clr.Runtime(lldb.process).threads)
In any Python:       runtime = lldb_clr.open_core("core.1234")             needs no LLDB
                     for thread in runtime.threads: print(thread, thread.backtrace())

Addresses are numbers, sizes and offsets bytes. Answers are values; what cannot be had raises Error or one of its kinds.
Names and texts are what the target holds; what is to be printed goes through printable(), as every repr() does.
"""
from __future__ import annotations

from typing import Any, Dict

from ._analysis import Analysis
from ._async import AsyncFrame, Task
from ._errors import BusyError, Error, Fault, FileError, Interrupted, LibraryError, StaleError, UsageError
from ._frames import Frame, ManagedException, TraceFrame
from ._gc import GcChange, GcInfo, GcRange, GcSafePoint, GcSlot
from ._heap import Heap, HeapChange, HeapObject, HeapSegment, HeapType, SavedGcdump
from ._heap_lists import Allocation, Finalizable, Finalizers, FreeBlock, FreePart, FreeSpace, Handle, HeapArray, HeapFailure, HeapInfo, HeapString, Verification
from ._holders import HeapPath, HeapRoot, Reference, Retained, Step
from ._locks import Deadlock, DeadlockMember, Lock, LockWaiter, WaitingFor
from ._info import Contract, Descriptor, Info, MemorySource, Module, RuntimeVersion, SavedCore
from ._lldb import import_lldb, init_module
from ._objects import Field, Item, Object, Static, Value
from ._printable import printable
from ._roots import Root, Roots
from ._runtime import Methods, Runtime, open_core
from ._table import HeapTable, TableType
from ._threads import Backtrace, Thread, ThrownException
from ._values import Code, CodeVersion, Method, Miss, Owner, Region, Source, Symbol, UnwindInfo, UserMethod

__all__ = ["Allocation", "Analysis", "AsyncFrame", "Backtrace", "BusyError", "Code", "CodeVersion", "Contract", "Deadlock", "DeadlockMember", "Descriptor", "Error", "Fault", "Field", "FileError", "Finalizable", "Finalizers", "Frame", "FreeBlock", "FreePart", "FreeSpace", "GcChange", "GcInfo",
           "GcRange", "GcSafePoint", "GcSlot", "Handle", "Heap", "HeapArray", "HeapChange", "HeapFailure", "HeapInfo", "HeapObject", "HeapPath", "HeapRoot", "HeapSegment", "HeapString", "HeapTable", "HeapType", "Info", "Interrupted", "Item", "LibraryError", "Lock", "LockWaiter",
           "ManagedException", "MemorySource", "Method", "Methods", "Miss", "Module", "Object", "Owner", "Reference", "Region", "Retained", "Root", "Roots", "Runtime", "RuntimeVersion",
           "SavedCore", "SavedGcdump", "Source", "StaleError", "Static", "Step", "Symbol", "TableType", "Task", "Thread", "ThrownException", "TraceFrame", "UnwindInfo", "UsageError", "UserMethod",
           "Value", "Verification", "WaitingFor", "import_lldb", "open_core", "printable"]


def __lldb_init_module(debugger: Any, _dictionary: Dict[str, Any]) -> None:
    init_module(debugger)
