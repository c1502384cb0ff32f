#!/bin/sh
# Installs lldb-clr for LLDB 14 and later, or takes it away.
#   ./install.sh               for this user: below $XDG_DATA_HOME (default ~/.local/share), and a line in ~/.lldbinit
#   ./install.sh --system      for all users, as root: /opt/lldb-clr, and links in LLDB's folder of plugins
#   ./install.sh --uninstall [--system]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
system=no remove=no
for word in "$@"; do
  case $word in
  --system) system=yes ;;
  --uninstall) remove=yes ;;
  *)
    sed -n '2,5s/^# //p' "$0" >&2
    exit 2
    ;;
  esac
done
plugins=/usr/lib/lldb/plugins
mark='# lldb-clr: the next line is written by its install.sh'
if [ $system = yes ]; then home=/opt/lldb-clr; else home=${XDG_DATA_HOME:-$HOME/.local/share}/lldb-clr; fi
if [ -e "$home" ] && [ ! -e "$home/.lldb-clr" ]; then
  echo "$home exists and is not an installation of lldb-clr" >&2
  exit 1
fi

# What an installation adds beside its folder. Links of ours alone: what somebody else put there stays.
drop() {
  if [ -L "$1" ] && [ "$(readlink "$1")" = "$2" ]; then rm "$1"; fi
}
if [ $system = yes ]; then
  drop "$plugins/liblldb-clr.so" "$home/lib/liblldb-clr.so"
  drop "$plugins/lldb-clr" "$home/lib/lldb-clr"
elif [ -f "$HOME/.lldbinit" ] && grep -qxF "$mark" "$HOME/.lldbinit"; then
  sed "\\@^$mark\$@,+1d" "$HOME/.lldbinit" >"$HOME/.lldbinit.lldb-clr"
  cat "$HOME/.lldbinit.lldb-clr" >"$HOME/.lldbinit"
  rm "$HOME/.lldbinit.lldb-clr"
  [ -s "$HOME/.lldbinit" ] || rm "$HOME/.lldbinit"
fi
[ ! -e "$home" ] || rm -r "$home"
if [ $remove = yes ]; then
  echo "lldb-clr is gone from $home"
  exit 0
fi

if [ $system = yes ] && { [ -e "$plugins/liblldb-clr.so" ] || [ -L "$plugins/liblldb-clr.so" ]; }; then
  echo "$plugins/liblldb-clr.so exists and is not of this installation" >&2
  exit 1
fi
mkdir -p "$home"
cp -R "$here/." "$home"
: >"$home/.lldb-clr"
if [ $system = yes ]; then
  mkdir -p "$plugins"
  ln -s "$home/lib/liblldb-clr.so" "$plugins/liblldb-clr.so"
  # The libraries that the plugin brings along are looked for beside the name by which it was loaded.
  ln -s "$home/lib/lldb-clr" "$plugins/lldb-clr"
else
  printf '%s\nplugin load "%s"\n' "$mark" "$home/lib/liblldb-clr.so" >>"$HOME/.lldbinit"
fi
echo "lldb-clr is installed: start lldb and type 'clr version'"
