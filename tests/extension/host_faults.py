"""Hosts that fail: no folder for temporary files, memory that runs out, a core that is cut, a second debugger, a target that is killed, splits or becomes
another program. LLDB stays alive, and says what is wrong."""
import contextlib
import glob
import os
import shutil
import signal
import subprocess
import threading
import time

import dotnet_process
from lldb_driver import Died
from without_proc import HIDE_PROC, impossible

# In LLDB's own Python: the process may take no more than it has.
LIMIT_MEMORY = ("script import resource; size = int([l for l in open('/proc/self/status') if l.startswith('VmSize')][0].split()[1]) * 1024; "
                "resource.setrlimit(resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))")
FREE_MEMORY = "script resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))"
MANAGED = r"frame #\d+: 0x[0-9a-f]+ [\w.]+\.dll`"
DELAYS = (0.3, 0.6, 1.0, 1.5, 2.2, 3.0)   # of the target's death, in seconds after LLDB began


def check(driver, report, tag, core, folder):
    """What needs no .NET. `core`: a recorded one."""
    check_temporary_folder(driver, report, tag, core)
    check_memory(driver, report, tag, core)
    check_cut_core(driver, report, tag, core, folder)


def check_live(driver, report, tag):
    """What needs a .NET process, each its own."""
    command = dotnet_process.compiler_server("host-faults")
    if not command:
        report.skip(f"{tag} host faults of live processes", "no .NET SDK")
        return
    check_two_debuggers(driver, report, tag, command)
    check_fork(driver, report, tag, command)
    check_exec(driver, report, tag, command)
    check_killed(driver, report, tag, command)


def check_temporary_folder(driver, report, tag, core):
    commands = [f'target create --core "{core}"', "clr publish status", "clrbt --managed all", "version"]
    for name, temporary in (("missing", "/nonexistent/folder"), ("read-only", "/proc")):
        _, status, stacks, version = driver.run(commands, environment={"TMPDIR": temporary})
        report.check(f"{tag} TMPDIR {name}", "\n".join((status, stacks, version)), "^publishing is on", MANAGED, "lldb version")
        if impossible():
            continue
        # Without /proc published modules need the folder. They are what is lost, and nothing else.
        _, status, stacks, version = driver.within(HIDE_PROC).run(commands, environment={"TMPDIR": "/nonexistent/folder"})
        report.check(f"{tag} TMPDIR missing without /proc", stacks + version, "lldb version", absent=["^error: internal"])


def check_memory(driver, report, tag, core):
    """bad_alloc within commands is an error. LLDB's own code ends the process where it gets no memory, which happens now and then between the
    plugin's commands: then all is done again."""
    path = os.pathsep.join(["/usr/bin", os.environ["PATH"]])
    if "ok" not in driver.run(["script print('o' + 'k')"], environment={"PATH": path})[0]:
        report.skip(f"{tag} memory that runs out", "this LLDB has no Python")
        return
    asked = ["clr info", "clr methods --json Situations*", "clrbt --json all"]
    plain = driver.run([f'target create --core "{core}"', *asked], environment={"PATH": path})
    commands = [f'target create --core "{core}"', "version"]
    for command in asked:
        commands += [LIMIT_MEMORY, command, FREE_MEMORY]
    for again in range(5, -1, -1):
        try:
            texts = driver.run([*commands, "clr info", "version"], environment={"PATH": path})
            break
        except Died as died:   # between the plugin's commands: LLDB's own code got no memory
            if died.at in asked or not again:
                raise
    told = [texts[i] for i in range(3, len(commands), 3)]
    odd = [text[-200:] for text in told if "out of memory" not in text and "not enough memory" not in text and not text.strip()]
    report.check(f"{tag} memory that runs out: told or answered", "\n".join(odd) or "all", "^all$")
    report.check(f"{tag} memory that runs out: LLDB lives", texts[-1], "lldb version")
    report.check(f"{tag} memory that ran out and is there again", texts[-2].split("memory:")[0], "^runtime: +CoreCLR", r"^jitted methods: +\d+")
    report.check(f"{tag} memory that ran out: undamaged answers", plain[1], "^runtime: +CoreCLR")


def check_cut_core(driver, report, tag, core, folder):
    """A core that shrinks while it is open. LLDB maps it and dies when it looks at it itself, so only commands follow for which the plugin reads alone."""
    copy = folder / f"cut-{driver.version}.core"
    shutil.copyfile(core, copy)
    texts = driver.run([f'target create --core "{copy}"', "clr info", f"platform shell truncate -s 65536 {copy}", "clr methods Situations*", "clr info", "version"])
    report.check(f"{tag} a core that was cut: LLDB lives", texts[5], "lldb version")
    report.check(f"{tag} a core that was cut: what was read is known", texts[4], "^runtime: +CoreCLR|core file is not known")
    report.check(f"{tag} a core that was cut: a walk over all code ends", texts[3], r"^\d+ methods$")


def check_two_debuggers(driver, report, tag, command):
    with dotnet_process.running(command) as process:
        first = subprocess.Popen([driver.program, "--no-lldbinit", "--no-use-colors", "-p", str(process.pid)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        try:
            wait_until_traced(process.pid)
            attach, info, version = driver.run([f"process attach --pid {process.pid}", "clr info", "version"])
            report.check(f"{tag} a second debugger is refused", attach, "^error: .*(attach|not permitted|traced)")
            report.check(f"{tag} a second debugger: clr info", info, "^error: (.*no process|the process has exited)")
            report.check(f"{tag} a second debugger: LLDB lives", version, "lldb version")
        finally:
            first.kill()
            first.wait()


def wait_until_traced(pid, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with open(f"/proc/{pid}/status") as status:
            if "TracerPid:\t0\n" not in status.read():
                return
        time.sleep(0.1)
    raise Died(f"no debugger attached to {pid} in {seconds} s")


def check_fork(driver, report, tag, command):
    """A target that splits: LLDB stays with the parent, of which everything is known as before; what was written to it lies in the child as well."""
    with dotnet_process.running(command) as process:
        try:
            texts = driver.run([f"process attach --pid {process.pid}", "clr break Microsoft.CodeAnalysis.*Never*", "clrbt --managed all",
                                "expression --timeout 5000000 -- (int)fork()", "clr info", "clrbt --managed all", "clr break list", "version", "process detach"])
        finally:
            for child in children_of(process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
        report.check(f"{tag} a target that forks", texts[3], r"= [1-9]\d*$|(reason|interrupted): fork")
        report.check(f"{tag} after fork: clr info", texts[4], "^runtime: +CoreCLR")
        report.check(f"{tag} after fork: managed frames", texts[5], MANAGED)
        report.check(f"{tag} after fork: LLDB lives", texts[7], "lldb version")


def children_of(pid):
    found = []
    for task in glob.glob(f"/proc/{pid}/task/*/children"):
        with contextlib.suppress(OSError), open(task) as children:
            found += map(int, children.read().split())
    return found


def check_exec(driver, report, tag, command):
    """A target that becomes another program: nothing that was known of it is believed."""
    with dotnet_process.running(command) as process:
        texts = driver.run([f"process attach --pid {process.pid}", "clr info", "clrbt --managed all",
                            'expression --timeout 5000000 -- (int)execl("/bin/sleep", "sleep", "100", (char*)0)', "clr info", "clrbt --managed all", "clr publish status", "bt", "version",
                            "process kill"])
        report.check(f"{tag} before exec", texts[1], "^runtime: +CoreCLR")
        report.check(f"{tag} after exec: clr info", texts[4], "no .NET runtime", absent=["^runtime: +CoreCLR"])
        report.check(f"{tag} after exec: no managed frame is left", texts[5] + texts[7] or "(nothing)", ".", absent=[MANAGED])
        report.check(f"{tag} after exec: LLDB lives", texts[8], "lldb version")


def check_killed(driver, report, tag, command):
    """kill -9 at any moment of what the plugin does."""
    asked = ["clr publish", "bt all", "clrbt all", "clr publish off", "clr methods *", "clr publish"] * 2
    ended = 0
    for delay in DELAYS:
        with dotnet_process.running(command, settle=2.0) as process:
            killer = threading.Timer(delay, process.kill)
            killer.start()
            try:
                texts = driver.run([f"process attach --pid {process.pid}", *asked, "clr info", "version"], 300)
                ended += "lldb version" in texts[-1]
            except Died as error:
                report.fail(f"{tag} killed after {delay} s", str(error))
            finally:
                killer.cancel()
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
    report.check(f"{tag} a target that is killed: LLDB lives", f"{ended} of {len(DELAYS)}", f"^{len(DELAYS)} of")
