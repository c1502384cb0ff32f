"""The program of the pages' transcripts (tests/live/programs/shop): built, crashed, and looked at from a host that has none of its files."""
import functools
import pathlib
import resource
import shutil
import subprocess

import processes
from processes import Unavailable

# Hides folders from one command, as if this host did not have them: "HIDDEN... -- COMMAND...".
HIDE = 'while [ "$1" != -- ]; do mount -t tmpfs none "$1" || exit 125; shift; done; shift; exec "$@"'


class Shop:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    @functools.cached_property
    def executable(self):
        return processes.build("shop", self.folder / "artifacts")

    @functools.cached_property
    def core(self):
        """The core that the kernel writes when it crashes."""
        with processes.Running([self.executable], self.folder / "crash", core_limit=resource.RLIM_INFINITY) as program:
            program.wait_end()
            core = program.kernel_core()
        if core is None:
            raise Unavailable("the kernel writes no cores into the folder of a program here")
        return core

    @functools.cached_property
    def root_copy(self):
        """A copy of what the program used of this host's file system: the program and the runtime."""
        copy = self.folder / "rootfs"
        framework = processes.shared_framework()
        for part in (self.executable.parent, framework, framework.parents[2] / "host"):
            shutil.copytree(part, copy / part.relative_to("/"))
        return copy

    def hiding(self):
        """What to put before a command so that it sees neither the program nor .NET."""
        if subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", str(self.executable.parent)], capture_output=True).returncode:
            raise Unavailable("this user may not hide folders from a program (unshare -m)")
        framework = processes.shared_framework()
        return ["unshare", "-m", "sh", "-c", HIDE, "hide", str(self.executable.parent), str(framework.parents[2]), "--"]
