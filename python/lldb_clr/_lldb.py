"""LLDB's objects as the C interface takes them, and the loading of the plugin. `lldb` itself is imported only when one of its objects is used."""
from __future__ import annotations

import importlib
import os
import pathlib
import sys
from typing import Any, Optional, Tuple

from ._errors import LibraryError, UsageError
from ._library import PLUGIN, Library, find_library, load_once, mapped_library

# LLDB looks for its server beside the Python that loads it, where Debian has none.
_SERVER_VARIABLE = "LLDB_DEBUGSERVER_PATH"

_BROKEN = """LLDB's Python module cannot be imported ({error}).
In a Python of its own: export PYTHONPATH="$(lldb-19 -P)", with the LLDB that is installed.
Debian 12's LLDB 14 and 15 put it where no interpreter looks, with a dangling link: make a folder F/lldb with links to all files of
/usr/lib/llvm-N/lib/python3.11/dist-packages/lldb and a link _lldb.so to liblldb-N.so.1, and put F on PYTHONPATH (scripts/get-lldbs does it). Both
need python3-six, too."""


def import_lldb() -> Any:
    """LLDB's module, able to attach; raises LibraryError with what to do."""
    try:
        module = importlib.import_module("lldb")
        module.SBDebugger
    except (ImportError, AttributeError) as error:
        raise LibraryError(_BROKEN.format(error=error)) from None
    if _SERVER_VARIABLE not in os.environ:
        # .../llvm-N/lib/python3.x/site-packages/lldb/__init__.py -> .../llvm-N/bin/lldb-server
        for folder in pathlib.Path(str(module.__file__)).resolve().parents:
            if (folder / "bin" / "lldb-server").exists():
                os.environ[_SERVER_VARIABLE] = str(folder / "bin" / "lldb-server")
                break
    return module


def plugin_library() -> Library:
    """The plugin, as this process has loaded it, else as it is found."""
    return load_once(mapped_library(PLUGIN) or find_library(PLUGIN))


def ensure_plugin(debugger: Any) -> Library:
    """Loads the plugin into a debugger that does not have it."""
    lldb = import_lldb()
    path: pathlib.Path = mapped_library(PLUGIN) or find_library(PLUGIN)
    # The plugin takes LLDB's functions from the LLDB that loads it: it must be LLDB that loads it first.
    library: Optional[Library] = load_once(path) if mapped_library(PLUGIN) else None
    if library is not None and library.debugger_known(debugger.GetID()):
        return library
    result = lldb.SBCommandReturnObject()
    debugger.GetCommandInterpreter().HandleCommand(f'plugin load "{path}"', result)
    if not result.Succeeded():
        raise LibraryError(f"LLDB cannot load {path}: {(result.GetError() or '').strip()}")
    library = load_once(path)
    if not library.debugger_known(debugger.GetID()):
        raise LibraryError(f"LLDB loaded {path}, but it did not start; is it of this build?")
    return library


def open_process(what: Any) -> Tuple[Library, int, str, Any]:
    """The process of an SBTarget, SBProcess or SBDebugger: its handle, its name, its SBTarget."""
    if hasattr(what, "GetSelectedTarget"):
        target = what.GetSelectedTarget()
    elif hasattr(what, "GetProcess") and hasattr(what, "GetDebugger"):
        target = what
    elif hasattr(what, "GetTarget") and hasattr(what, "GetUniqueID"):
        target = what.GetTarget()
    else:
        raise UsageError(f"{type(what).__name__} is no SBTarget, SBProcess or SBDebugger")
    if not target.IsValid():
        raise UsageError("there is no target; attach to a process or open a core file")
    process = target.GetProcess()
    if not process.IsValid():
        raise UsageError("there is no process; attach to one, launch one or open a core file")
    debugger = target.GetDebugger()
    library = ensure_plugin(debugger)
    handle = library.open("clr_open_process", debugger.GetID(), debugger.GetIndexOfTarget(target), process.GetUniqueID())
    return library, handle, f"process {process.GetProcessID()}", target


def number_of_address(what: Any, target: Any) -> int:
    """An address as a number: of itself, an SBFrame, an SBAddress of `target`."""
    if isinstance(what, int):
        address = what
    elif hasattr(what, "GetPC"):
        address = what.GetPC()
        if what.GetFrameID() > 0 and address:
            address -= 1   # a return address: the call before it is meant
    elif hasattr(what, "GetLoadAddress") and target is not None:
        address = what.GetLoadAddress(target)
    else:
        raise UsageError(f"{type(what).__name__} is no address")
    if not 0 <= address < 1 << 64:
        raise UsageError(f"{address:#x} is no address: it has more than 64 bits or a sign")
    return int(address)


def number_of_thread(what: Any) -> int:
    return int(what.GetThreadID()) if hasattr(what, "GetThreadID") else int(what)


def init_module(debugger: Any) -> None:
    """What `command script import lldb_clr` does."""
    if sys.version_info < (3, 9):
        raise LibraryError("lldb_clr needs Python 3.9 or newer")
    ensure_plugin(debugger)
