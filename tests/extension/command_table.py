"""Every command of LLDB with arguments that make sense, and how much of its text may differ once managed code is published.

A line is a mark and a command. The marks:
    =   the text is the same without and with the plugin
    ~   some lines stand in place of others; each line that is new names managed code or a module of it
    +   no line is lost; what managed modules have is added
    !   the texts are not compared: times, disassembly, threads that run
Whatever the mark, a command that told no error without the plugin tells none with it.

{ip}, {method}, {type}, {module}: managed code of the target, and its names. {folder}: a folder of the test's. A command that this LLDB does not
have is left out; OTHERS names those that not every LLDB has.
"""

# Why a command is not run.
EXEMPT = {
    **dict.fromkeys(["quit", "exit", "q"], "ends LLDB: each run of the test ends with it"),
    "gui": "needs a terminal",
    **dict.fromkeys(["script", "scripting run", "sc", "scr", "scri", "scrip"], "runs Python: module_walk.py goes through what it reaches"),
    **dict.fromkeys(["gdb-remote", "kdp-remote", "process connect"], "need another host"),
    **dict.fromkeys(["platform", "shell"], "tell of hosts and their files, not of a target"),
    **dict.fromkeys(["protocol-server start", "protocol-server stop", "protocol-server get"], "wait for clients of the network"),
    **dict.fromkeys(["bugreport", "diagnostics report"], "opens a web browser"),
    "reproducer": "generating one ends LLDB, xcrash crashes it on purpose",
    "plugin structured-data": "ends LLDB by itself where the system is not macOS",
    **dict.fromkeys(["attach", "process attach"], "the live half begins with it"),
}

# Commands that not every LLDB has.
OTHERS = {"e", "h", "breakpoint add", "breakpoint override", "diagnostics dump", "dwim-print", "frame recognizer disable", "frame recognizer enable", "language renderscript",
          "log dump", "plugin disable", "plugin enable", "plugin list", "process trace save", "register info", "scripting extension", "source cache", "statistics",
          "sys_bt", "target dump", "target frame-provider", "target hook", "target modules dump pcm-info", "target modules dump separate-debug-info", "thread trace", "trace", "var", "vo"}

# Of a process that stands still, live or in a core.
LOOKING = """
= version
! help
= help breakpoint set
= h frame
= apropos module
~ process status
~ process status --verbose
~ target list
~ target select 0
~ thread list
! thread select 4
! t 4
! frame select 0
! f 0
! frame info
! thread info
! thread info --json
~ thread backtrace
~ thread backtrace all
~ thread backtrace --extended true
! thread backtrace unique
~ bt
~ bt all
~ bt 3
~ sys_bt
! up
! down
! frame select --relative 0
~ frame variable
~ frame variable --no-args
~ frame variable --show-all-children --depth 2
~ frame variable no_such_name
~ v
~ var
~ vo
~ frame diagnose
= frame recognizer add --function no_such_name --module no_such_module --python-class no.such.Class
= frame recognizer list
= frame recognizer info 0
= frame recognizer disable 0
= frame recognizer enable 0
= frame recognizer delete 0
= frame recognizer clear
~ target variable
~ target variable no_such_name
! disassemble --count 6 --start-address {ip}
! disassemble --address {ip} --bytes
! disassemble --frame
! disassemble --pc
! disassemble --name {method}
! disassemble --line
! di --count 3 --start-address {ip}
! dis --count 3 --start-address {ip}
! source list
! source list --address {ip}
! source list --name {method}
! source list --file Program.cs --line 10
! source info
! source info --address {ip}
! source info --name {method}
! source info --file Program.cs --line 10
= source cache clear
! source cache dump
! l
! list
= expression 1 + 2
= expression -- 3 + 4
= e 5
= call 6
= p 7
= print 8
= po 9
= dwim-print 10
= expression (char)*(char*)$sp
= parray 2 (int*)$sp
! poarray 2 (int*)$sp
= expression no_such_name
= memory read --count 16 $sp
= memory read --size 8 --format A --count 4 $sp
~ memory read --size 8 --format A --count 4 {ip}
= x --count 8 $sp
= memory find --string "lldb-clr" $sp $sp+64
= memory find --expression 1 $sp $sp+64
~ memory region {ip}
~ memory region $sp
! memory region --all
= memory history $sp
= memory tag read $sp
= memory tag write $sp 1
~ register read
= register read --all
~ register read rip
= register info rip
= re read rsp
= process handle SIGUSR2
= process plugin packet monitor x
= process unload 0
= process load {folder}/no-such-library.so
= process signal 99999
= thread siginfo
= thread exception
! thread plan list
! thread plan list all
= thread plan prune
= thread plan discard 5
= thread trace start
= thread trace stop
= thread trace dump info
= thread trace dump instructions
= thread trace dump function-calls
= thread trace export ctf --file {folder}/trace
= process trace start
= process trace stop
= process trace save {folder}/trace
= trace dump
= trace load {folder}/no-such-trace
= trace save {folder}/trace
= trace schema intel-pt
= target show-launch-environment
= env
+ image list
~ target modules list --address {ip}
~ target modules list --address $sp
+ target modules list -A -b -d -h -o -u
+ target modules list -f -s -S -t
! target modules list -g -t -m
! target modules list -p -r
~ target modules list {module}
~ target modules list no-such-module
~ target modules lookup --address {ip}
+ target modules lookup --address {ip} --verbose
+ target modules lookup --address {ip} --verbose --all
~ target modules lookup --address $sp
~ target modules lookup --address {ip} --offset 4
~ target modules lookup --name {method}
~ target modules lookup --function {method}
~ target modules lookup --symbol {method}
~ target modules lookup --regex --name {method}
~ target modules lookup --regex --symbol {method}
~ target modules lookup --type {type}
~ target modules lookup --type no_such_type
~ target modules lookup --file Program.cs --line 10
~ target modules lookup --file no-such-file.cs --line 10
~ target modules lookup --name no_such_name
~ target modules lookup --address {ip} {module}
! target modules dump ast
+ target modules dump line-table Program.cs
+ target modules dump line-table no-such-file.cs
! target modules dump objfile
+ target modules dump objfile {module}
= target modules dump pcm-info {folder}/no-such.pcm
+ target modules dump sections
+ target modules dump sections {module}
+ target modules dump separate-debug-info
+ target modules dump separate-debug-info --json --errors-only
+ target modules dump symfile
+ target modules dump symtab
+ target modules dump symtab --sort address
+ target modules dump symtab --sort name --show-mangled-names
+ target modules dump symtab {module}
+ target modules show-unwind --address {ip}
+ target modules show-unwind --name {method}
= target modules search-paths add /no/such/a /no/such/b
= target modules search-paths insert 0 /no/such/c /no/such/d
= target modules search-paths list
= target modules search-paths query /no/such/a/file
= target modules search-paths clear
= target modules add {folder}/no-such-module
~ target modules load --file no-such-module --slide 0
= target symbols add {folder}/no-such-symbols
= add-dsym {folder}/no-such-symbols
! target dump typesystem
+ target dump section-load-list
= target frame-provider list
= target frame-provider register --script-class no.such.Class
= target frame-provider remove 1
= target frame-provider clear
~ type lookup no_such_type
~ type lookup {type}
= type category define of-the-test
= type category enable of-the-test
= type category disable of-the-test
= type category delete of-the-test
~ type category list
= type filter add --child a no_such_type
~ type filter list
= type filter delete no_such_type
= type filter clear
= type format add --format hex no_such_type
~ type format list
= type format info 1 + 2
= type format delete no_such_type
= type format clear
= type summary add --summary-string text no_such_type
+ type summary list
= type summary info 1 + 2
= type summary delete no_such_type
= type summary clear
= type synthetic add --python-class no.such.Class no_such_type
+ type synthetic list
= type synthetic info 1 + 2
= type synthetic delete no_such_type
= type synthetic clear
= language cplusplus demangle _Z3fooi
= language objc class-table dump
= language objc tagged-pointer info 0
= language renderscript status
= language renderscript module dump
= language renderscript context dump
= language renderscript allocation dump 1
= language renderscript allocation list
= language renderscript allocation load 1 {folder}/no-such-file
= language renderscript allocation refresh
= language renderscript allocation save 1 {folder}/no-such-file
= language renderscript kernel list
= language renderscript kernel coordinate
= language renderscript kernel breakpoint all enable
= language renderscript kernel breakpoint set no_such_name
= language renderscript reduction breakpoint set no_such_name
= language renderscript scriptgroup list
= language renderscript scriptgroup breakpoint set no_such_name
= plugin list
= plugin disable trace-exporter.ctf
= plugin enable trace-exporter.ctf
= plugin load {folder}/no-such-plugin.so
= log list
= log enable --file {folder}/log lldb process target
= log disable lldb
= log dump lldb --file {folder}/log-dump
= log timers enable 2
! log timers increment true
! log timers dump
! log timers reset
! log timers disable
! statistics enable
! statistics dump
! statistics dump --summary
! statistics dump --all-targets
! statistics dump --load-all-debug-info
! statistics disable
= settings list target.process
= settings show target.max-string-summary-length
= settings set target.max-string-summary-length 900
= settings append target.run-args one
= settings insert-before target.run-args 0 zero
= settings insert-after target.run-args 1 two
= settings replace target.run-args 1 else
= settings remove target.run-args 0
= settings clear target.run-args
= settings write --file {folder}/settings target.run-args
= settings read --file {folder}/settings
= command alias of-the-test version
= command unalias of-the-test
= command container add of-the-test
= command container delete of-the-test
= command regex of-the-test 's/(.+)/version/'
= command delete of-the-test
= command script import {folder}/no_such_module.py
= command script add --function no.such of-the-test
+ command script list
= command script delete of-the-test
= command script clear
= command source {folder}/no-such-file
! session history --count 1
! history --count 1
! session save {folder}/session
! diagnostics dump --directory {folder}/diagnostics
= scripting extension list
= scripting extension generate --class-name Some --output {folder}/extension.py --edit false OperatingSystem
! target stop-hook add --one-liner version
! target stop-hook list
! target stop-hook disable 1
! target stop-hook enable 1
! target stop-hook delete 1
! display 1
! undisplay 2
= target hook add --on-stop --one-liner version
= target hook list
= target hook disable 1
= target hook enable 1
= target hook modify 1
= target hook delete 1
"""

# Breakpoints and watchpoints, which have names because the plugin has some of its own: numbers are not the same.
BREAKPOINTS = """
! frame select 0
= breakpoint set --name no_such_name --breakpoint-name mine
= breakpoint name configure --one-shot true of-the-test
= breakpoint name add --name of-the-test mine
! breakpoint name list
= breakpoint name delete --name of-the-test mine
= breakpoint modify --ignore-count 2 mine
= breakpoint command add --one-liner version mine
= breakpoint command list mine
= breakpoint command delete mine
= breakpoint disable mine
= breakpoint enable mine
= breakpoint list mine
= breakpoint write --file {folder}/breakpoints mine
= breakpoint read --file {folder}/breakpoints
= breakpoint delete mine
= breakpoint clear --file no-such-file.cs --line 10
= b no_such_other_name
= tbreak no_such_third_name
= rbreak no_such_regular.*expression
= breakpoint add name no_such_name
= breakpoint add file --file no-such-file.cs --line 10
= breakpoint add pattern --filename no-such-file.cs no_such_text
= breakpoint add exception --language c++
= breakpoint add scripted --script-class no.such.Class
= breakpoint add address 0x10
= breakpoint override add --script-class no.such.Class
= breakpoint override list
= breakpoint override delete 1
~ breakpoint set --name {method}
~ breakpoint set --file Program.cs --line 10
~ breakpoint set --address {ip}
! breakpoint list
! breakpoint list --internal
= watchpoint set expression -- $sp
= watchpoint set variable no_such_name
= watchpoint list
= watchpoint modify --condition 1
= watchpoint ignore --ignore-count 2 1
= watchpoint command add --one-liner version 1
= watchpoint command list 1
= watchpoint command delete 1
= watchpoint disable 1
= watchpoint enable 1
= watchpoint delete 1
"""

# What changes a process, and its end. A core refuses most of it.
ENDING_OF_A_CORE = """
= memory write $sp 1
= register write rax 1
= re write rax 1
= process handle SIGUSR2 --notify false
= process interrupt
= process continue
= c
= continue
~ process launch
~ run
~ r
~ thread step-in
= s
= step
= thread step-inst
= si
= stepi
= thread step-inst-over
= ni
= nexti
= thread step-over
= n
= next
! thread step-out
! finish
= thread step-scripted --python-class no.such.Class
= sif no_such_name
= thread until 10
= thread continue
! thread return 0
= thread jump --line 10
= jump 10
= j 10
~ process save-core --plugin-name=minidump --style stack {folder}/stack.dmp
~ process save-core --plugin-name=minidump --style modified-memory {folder}/modified.dmp
~ process save-core --plugin-name=minidump --style full {folder}/full.dmp
~ process save-core {folder}/default.dmp
= process detach
= detach
= process kill
= kill
= target modules add /bin/true
= target symbols add /bin/true
= target delete
= target create /bin/true
= file /bin/true
= target delete --all
"""

# Of a process that stopped in a native function that managed code called. It is told by LLDB when it stops, so only errors are compared.
RUNNING = """
! bt
! process save-core --plugin-name=minidump --style stack {folder}/stack.dmp
! memory write $sp-4096 1
! register write r15 `$r15`
! process handle SIGUSR2 --notify false
! process interrupt
! thread step-inst
! stepi
! si
! thread step-inst-over
! nexti
! ni
! thread step-in
! s
! step
! sif no_such_name
! thread step-over
! n
! next
! thread step-out
! finish
! bt
! thread until --address $pc
! thread jump --by 0
! jump 10
! j 10
! thread continue
! continue
! c
! bt all
! thread return
! thread step-scripted --python-class no.such.Class
! expression (int)getpid()
! process signal SIGCONT
! process status
! process continue
! process kill
! process status
! process launch --no-stdio -- list
! bt
! process detach
! target delete
"""
