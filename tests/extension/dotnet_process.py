"""A real .NET process that every machine with an SDK can start: the SDK's compiler server, idle."""
import contextlib
import glob
import os
import pathlib
import shutil
import subprocess
import time


def compiler_server(name="smoke"):
    """Command line of the compiler server, which there is one of for each `name`; None where there is no SDK."""
    dotnet = shutil.which("dotnet")
    if not dotnet:
        return None
    root = pathlib.Path(os.path.realpath(dotnet)).parent
    found = sorted(glob.glob(str(root / "sdk/*/Roslyn/bincore/VBCSCompiler.dll")))
    return [dotnet, found[-1], f"-pipename:lldb-clr-{os.getpid()}-{name}"] if found else None


def short_program():
    """Command line of a .NET program that ends by itself, at once; None where there is no SDK."""
    server = compiler_server()
    return [server[0], server[1].replace("VBCSCompiler.dll", "csc.dll"), "-version"] if server else None


@contextlib.contextmanager
def running(command, environment=None, settle=4.0):
    """The process of `command`, started and given time to come to rest; killed at the end."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env=dict(os.environ, **(environment or {})))
    try:
        deadline = time.time() + settle
        while time.time() < deadline and process.poll() is None:
            time.sleep(0.1)
        if process.poll() is not None:
            raise RuntimeError(f"{command[0]} ended with {process.returncode}")
        yield process
    finally:
        process.kill()
        process.wait()


def gcore(pid, path, filter_=None):
    """A core of `pid` by gdb's gcore at `path`; False when it cannot be had."""
    if not shutil.which("gcore"):
        return False
    if filter_:
        pathlib.Path(f"/proc/{pid}/coredump_filter").write_text(filter_)
    done = subprocess.run(["gcore", "-o", str(path), str(pid)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          timeout=300)
    made = pathlib.Path(f"{path}.{pid}")
    if done.returncode or not made.exists():
        return False
    made.rename(path)
    return True
