#!/bin/bash
# Loads the plugin of BUILD_DIR into every supported LLDB and tries its commands from outside.
#
#   tests/extension/run_smoke.sh BUILD_DIR [VERSION...]
#
# Prints `ok`, `FAIL` and `skip` lines and a last line "N passed, N failed, N skipped". Exit code 0 when nothing failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=${1:?usage: run_smoke.sh BUILD_DIR [VERSION...]}
shift
exec python3 "$here/smoke.py" --plugin "$build/liblldb-clr.so" --lldbs "${CLR_LLDBS:-$build/lldbs}" "$@"
