"""Programs of tests/live/programs: build them, start them, wait until they stand still, take cores of them."""
import functools
import os
import pathlib
import re
import resource
import select
import shutil
import signal
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"


class Unavailable(Exception):
    """Something that this machine lacks; its text says what."""


def dotnet():
    path = shutil.which("dotnet")
    if not path:
        raise Unavailable("dotnet is not installed")
    return path


# Where the programs find their runtime, as the variable DOTNET_ROOT says it: None for that of the SDK.
_root = None


def use_root(root):
    """The programs that are started from now on run on the runtime of this folder, which is laid out as an installation is."""
    global _root
    _root = pathlib.Path(root)


def shared_framework():
    """The folder of the newest shared framework, which holds libcoreclr.so and createdump."""
    if _root:
        (found,) = (_root / "shared" / "Microsoft.NETCore.App").iterdir()
        return found
    root = pathlib.Path(os.path.realpath(dotnet())).parent / "shared" / "Microsoft.NETCore.App"
    found = sorted(root.glob("10.*"), key=lambda p: [int(n) for n in re.findall(r"\d+", p.name)])
    if not found:
        raise Unavailable("no .NET 10 shared framework beside dotnet")
    return found[-1]


@functools.lru_cache(maxsize=None)
def build(name, artifacts, configuration="Debug", options=()):
    """Builds one program, once in a run, and returns the path of its executable (or, without an apphost, of its assembly)."""
    env = dict(os.environ, LIVE_ARTIFACTS=str(artifacts), DOTNET_CLI_TELEMETRY_OPTOUT="1", DOTNET_NOLOGO="1")
    command = [dotnet(), "build", str(PROGRAMS / name), "-c", configuration, "-v", "q", "-nologo", *options]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise Unavailable(f"building {name} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return pathlib.Path(artifacts) / "bin" / name / configuration.lower() / name


def settings(**knobs):
    """The environment of a target: ours without any DOTNET_ setting, and these.

    One arena of malloc for all threads: the C library reserves 64 MB for each, which gdb writes into its cores as so many zeros."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("DOTNET_", "COMPlus_"))} | {"MALLOC_ARENA_MAX": "1"}
    if _root:
        env["DOTNET_ROOT"] = str(_root)
    env.update({"DOTNET_" + k: str(v) for k, v in knobs.items()})
    return env


class Running:
    """A started program. Its standard input is held open; leaving the `with` block ends it."""

    def __init__(self, command, folder, env=None, core_filter=None, core_limit=0):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.command = [str(c) for c in command]

        def prepare():
            resource.setrlimit(resource.RLIMIT_CORE, (core_limit, resource.RLIM_INFINITY))
            if core_filter is not None:
                pathlib.Path("/proc/self/coredump_filter").write_text(hex(core_filter))

        self.errors = open(self.folder / "stderr", "w+b")
        self.process = subprocess.Popen(self.command, cwd=self.folder, env=env or settings(), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.errors, preexec_fn=prepare)
        self.pid = self.process.pid
        self.output = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.errors.close()

    def wait_ready(self, seconds=120):
        """Waits for the line READY; False when the program ended without it."""
        return self.wait_for(b"READY", seconds)

    def wait_for(self, text, seconds=120):
        """Waits until it has written `text`; False when it ended without that."""
        end = time.monotonic() + seconds
        while text not in self.output:
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"{' '.join(self.command)}: no {text.decode()} in {seconds} s")
            if select.select([self.process.stdout], [], [], min(left, 0.5))[0]:
                part = os.read(self.process.stdout.fileno(), 65536)
                if not part:
                    return text in self.output
                self.output += part
        return True

    def wait_lines(self, path, text, seconds=60):
        """Waits until a file that the program writes contains `text`."""
        end = time.monotonic() + seconds
        while not (path.exists() and text in path.read_text()):
            if time.monotonic() > end or self.process.poll() is not None:
                raise TimeoutError(f"{' '.join(self.command)}: no {text} in {path.name}")
            time.sleep(0.05)

    def thread_named(self, name):
        """OS id of the thread with this name (the kernel keeps 15 characters of it), or None."""
        for task in pathlib.Path(f"/proc/{self.pid}/task").iterdir():
            if (task / "comm").read_text().strip() == name[:15]:
                return int(task.name)
        return None

    def threads(self):
        return {int(task.name) for task in pathlib.Path(f"/proc/{self.pid}/task").iterdir()}

    def wait_still(self, threads, quiet=0.2, seconds=30):
        """Waits until these threads sleep and have not run for `quiet` seconds: between READY and its place a thread still prints, compiles and binds."""
        end, since, before = time.monotonic() + seconds, time.monotonic(), None
        while time.monotonic() < end:
            now = [self._switches(t) for t in threads]
            if now != before:
                since, before = time.monotonic(), now
            elif all(state == "S" for state, _ in now) and time.monotonic() - since > quiet:
                return
            time.sleep(0.02)
        raise TimeoutError(f"{' '.join(self.command)}: these threads do not come to rest in {seconds} s")

    def _switches(self, thread):
        """(state, how often it began to wait) of one thread."""
        try:
            text = pathlib.Path(f"/proc/{self.pid}/task/{thread}/status").read_text()
        except FileNotFoundError:
            return "S", "ended"
        return re.search(r"^State:\s+(\S)", text, re.M)[1], re.search(r"^voluntary_ctxt_switches:\s+(\d+)", text, re.M)[1]

    def wait_end(self, seconds=60):
        """Waits for the end and returns the exit code (a negative signal number, as Popen says it)."""
        try:
            self.output += self.process.communicate(timeout=seconds)[0] or b""
        except ValueError:
            self.process.wait(seconds)
        return self.process.returncode

    def kernel_core(self):
        """The core that the kernel wrote into the folder, or None. Only a plain core_pattern puts it there."""
        for name in ("core", f"core.{self.pid}"):
            if (self.folder / name).exists():
                return self.folder / name
        return None


def kernel_writes_cores():
    pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()
    return pattern in ("core", "core.%p")


def gcore(pid, path, core_filter=0x33):
    """gdb's core of a running process with this coredump_filter."""
    if not shutil.which("gcore"):
        raise Unavailable("gcore (package gdb) is not installed")
    pathlib.Path(f"/proc/{pid}/coredump_filter").write_text(hex(core_filter))
    prefix = str(path) + ".part"
    done = subprocess.run(["gcore", "-o", prefix, str(pid)], capture_output=True, text=True, timeout=300)
    made = pathlib.Path(f"{prefix}.{pid}")
    if not made.exists():
        raise Unavailable("gcore failed: " + (done.stdout + done.stderr)[-300:])
    made.rename(path)
    return path


def createdump(pid, path, kind):
    """The runtime's own dump tool. kind: normal, withheap, triage, full."""
    tool = shared_framework() / "createdump"
    if not tool.exists():
        raise Unavailable("createdump is not beside libcoreclr.so")
    done = subprocess.run([tool, "--" + kind, "-f", str(path), str(pid)], capture_output=True, text=True, timeout=300)
    if not pathlib.Path(path).exists():
        raise Unavailable("createdump failed: " + (done.stdout + done.stderr)[-300:])
    return path


def cut(source, path, percent):
    """A copy of a core that ends early, as a full disk leaves it."""
    left = os.path.getsize(source) * percent // 100
    with open(source, "rb") as a, open(path, "wb") as b:
        while left:
            part = a.read(min(left, 1 << 20))
            if part.count(0) == len(part):
                b.seek(len(part), os.SEEK_CUR)
            else:
                b.write(part)
            left -= len(part)
        b.truncate()
    return path


def workspace():
    """A folder for targets and cores, which are large."""
    return pathlib.Path(tempfile.mkdtemp(prefix="lldb-clr-live-"))
