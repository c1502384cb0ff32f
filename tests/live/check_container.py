"""A process in a container of its own, as docs/containers-and-other-cpus.md says that it is debugged: other mounts and process ids, a root of
its own, and a program that is nowhere on this host but below /proc/PID/root."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import check_lldb_bt
import check_native
import check_stacks
from plugin import Target
from processes import Unavailable, gcore

APP = "app"   # the program's folder in the container
# $1: the root. What follows is what runs there.
ENTER = """set -e
mount --make-rprivate /
mount --bind "$1" "$1"
cd "$1"
mkdir -p usr proc dev tmp .old
mount --rbind /usr usr
mount -t proc proc proc
mount --bind /dev dev
pivot_root . .old
shift
exec chroot . /bin/sh -c 'umount -l /.old && exec "$@"' sh "$@"
"""


class Container:
    """A process of the self-contained program `variant`, started in a root below `folder` that holds nothing else."""

    def __init__(self, variant, arguments, folder):
        if os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("pivot_root"):
            raise Unavailable("containers are made by root alone, with unshare and pivot_root")
        self.root, self.errors = folder / "root", folder / "container.log"
        (self.root / "etc").mkdir(parents=True)
        for name in ("bin", "lib", "lib64"):
            (self.root / name).symlink_to(f"usr/{name}")
        program = pathlib.Path(variant.command[0])
        shutil.copytree(program.parent, self.root / APP)
        self.program = f"/{APP}/{program.name}"
        with open(self.errors, "wb") as log:
            self.process = subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "sh", "-c", ENTER, "sh", self.root, self.program, *arguments], stdout=log, stderr=log,
                                            stdin=subprocess.PIPE, start_new_session=True)

    def wait_ready(self, seconds=120):
        """The process id of the program on the host."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            if b"READY" in self.errors.read_bytes():
                (child,) = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
                return int(child)
            time.sleep(0.1)
        text = self.errors.read_text(errors="replace")[-300:]
        if "not permitted" in text or "denied" in text:
            raise Unavailable(f"this user may make no container: {text}")
        raise AssertionError(f"the program did not start in its container: {text}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process.stdin.close()


class InContainer(Target):
    """As the page says it."""

    def __init__(self, pid, program):
        super().__init__(pid=pid)
        self.program = program

    def commands(self):
        root = f"/proc/{self.pid}/root"
        return [f"settings set target.exec-search-paths {root}{pathlib.Path(self.program).parent}", f"clr settings --sysroot {root}",
                f"target create {root}{self.program}", f"process attach --pid {self.pid}"]


class OfContainer(Target):
    """A core of it, on a host that has the container's file system in a folder."""

    def __init__(self, core, root):
        super().__init__(core=core)
        self.root = root

    def commands(self):
        return [f"platform select --sysroot {self.root} remote-linux", f"clr settings --sysroot {self.root}", *super().commands()]


def report_of_host(pid, report, to):
    """What the program said of itself, with the ids that its threads have on the host."""
    ids = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        outside, *_, inside = re.search(r"^NSpid:\s+(.*)$", (task / "status").read_text(), re.M)[1].split()
        ids[int(inside)] = int(outside)
    with open(to, "w") as f:
        for row in check_stacks.read_report(report):
            f.write(json.dumps({**row, "thread": ids[row["thread"]]}) + "\n")
    return to


def check_live(lldb, pid, program, report):
    stop = check_native.Stop(lldb, lambda: InContainer(pid, program))
    return f"{check_stacks.check(stop, None, report)}; LLDB's own: {check_lldb_bt.check(stop)}"


def check_core(lldb, container, pid, report, folder):
    """gcore's default of it: the container's file system in a folder is as good as its files."""
    core = gcore(pid, folder / "core.container")
    stop = check_native.Stop(lldb, lambda: OfContainer(core, container.root))
    return f"{check_stacks.check(stop, None, report)}; LLDB's own: {check_lldb_bt.check(stop)}"
