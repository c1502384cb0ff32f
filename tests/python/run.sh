#!/bin/bash
# The Python package: in plain Python on the recorded cores, within every LLDB that can be had, and - where .NET is installed - on a live process.
#   tests/python/run.sh BUILD_DIR [VERSION...]
# Prints `ok`, `FAILED` and `SKIPPED` lines and a last line "N passed, N failed, N skipped". Exit code 0 when nothing failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=${1:?usage: run.sh BUILD_DIR [VERSION...]}
shift
exec python3 "$here/run.py" --build "$build" --lldbs "${CLR_LLDBS:-$build/lldbs}" "$@"
