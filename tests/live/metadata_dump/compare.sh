#!/bin/sh
# compare.sh TEST_TYPES [DIRECTORY...]: the names of all methods of the assemblies in the directories (by default
# the newest shared framework), ours against System.Reflection.Metadata's. Needs a .NET SDK.
set -eu
test_types=$(realpath "$1")
shift
here=$(dirname "$(realpath "$0")")
if [ $# -eq 0 ]; then
  root=$(dirname "$(realpath "$(command -v dotnet)")")/shared/Microsoft.NETCore.App
  set -- "$root/$(ls "$root" | sort -V | tail -n 1)"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here"/*.cs "$here/metadata_dump.csproj" "$work"
dotnet build "$work" -c Release -o "$work/out" --nologo -v quiet
find "$@" -maxdepth 1 -name '*.dll' | sort | xargs dotnet "$work/out/metadata_dump.dll" > "$work/names.il"
CLR_METADATA_ORACLE=$work/names.il "$test_types" '[.oracle]'
