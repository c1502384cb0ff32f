# Runs on the emulated machine, as its first program: a managed process is debugged there. Each part begins with a line `== NAME`; judge.py reads them.
begin() { echo; echo "== $1"; }
lldb_on() { # lldb_on COMMAND...: LLDB with the plugin, attached to the program
  set -- "plugin load /opt/liblldb-clr.so" "process attach --pid $pid" "$@" "detach"
  : >/tmp/commands
  for command in "$@"; do echo "$command" >>/tmp/commands; done
  lldb --no-lldbinit --batch --no-use-colors --source /tmp/commands 2>&1
}
line_of() { sed -n "/at: $1\$/=" /opt/Program.cs; }

begin machine
uname -a
lldb --version
/opt/counting/counting >/tmp/out 2>&1 &
pid=$!
waited=0
until grep -q READY /tmp/out || [ $waited = 900 ]; do sleep 1; waited=$((waited + 1)); done
cat /tmp/out
echo "the program was ready after $waited s"
begin attach
lldb_on "bt" "clrbt all" "clr analyze"
begin steps
lldb_on "b Program.cs:$(line_of Call)" "continue" "bt 3" "v" "next" "frame info" "next" "frame info"
begin finish
lldb_on "b Counting.Program.Price" "continue" "bt 3" "p order->Number" "finish" "frame info"
begin savecore
lldb_on "clr savecore /tmp/saved.core"
kill -9 $pid
ls -l /tmp/saved.core
printf '%s\n' "plugin load /opt/liblldb-clr.so" "target create --core /tmp/saved.core" "bt" "clrbt all" >/tmp/commands
lldb --no-lldbinit --batch --no-use-colors --source /tmp/commands 2>&1
begin end
