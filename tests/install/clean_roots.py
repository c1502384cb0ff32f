#!/usr/bin/env python3
"""Each package in a clean root of Debian 12, 13 and sid, from its installation to a named stack of a recorded core. On request, as root: debootstrap fetches some 100 MB for each.
    scripts/package --native && tests/install/clean_roots.py [--packages build/packages] [--suites bookworm,trixie,sid] [--work DIR]
A root is made once in DIR, and each package gets a copy of it, so that none finds what another has brought. Prints `ok`, `FAILED` and `SKIPPED` lines with the seconds from the first command to the
stack, and a last line "N passed, N failed, N skipped"."""
import argparse
import lzma
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE.parent / "live")]

from results import Results

MIRROR = "http://deb.debian.org/debian"
# Frames of the core's first thread, in this order: of a library of which only memory is left, managed, and of the program's start.
WANTED = ("libc.so.6`abort", "situations.dll`Situations.Gallery.Order(Situations.Gallery.Customer) + 49", "situations.dll`Situations.Program.Main(string[])", "libc.so.6`__libc_start_main")
# What a person types: the newest LLDB that the system has brought.
LLDB = "$(ls /usr/bin/lldb-[0-9] /usr/bin/lldb-[0-9][0-9] 2>/dev/null | sort -V | tail -n 1)"


class Root:
    def __init__(self, made, folder):
        self.folder = folder
        subprocess.run(["cp", "-a", made, folder], check=True)
        shutil.copy("/etc/resolv.conf", folder / "etc" / "resolv.conf")
        # A mirror of sid that was not brought up to date for a week is refused otherwise.
        (folder / "etc" / "apt" / "apt.conf.d" / "90old-mirrors").write_text('Acquire::Check-Valid-Until "false";\n')
        subprocess.run(["mount", "-t", "proc", "proc", folder / "proc"], check=True)

    def run(self, command):
        done = subprocess.run(["chroot", self.folder, "/usr/bin/env", "-i", "HOME=/root", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive", "sh", "-c", command],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900)
        assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}"
        return done.stdout

    def give(self, file):
        shutil.copy(file, self.folder / "tmp")
        return f"/tmp/{file.name}"

    def remove(self):
        # What is still mounted must not be gone through: a process that was started here may hold it.
        subprocess.run(["umount", "--lazy", self.folder / "proc"], check=True)
        shutil.rmtree(self.folder)


def in_order(text, wanted):
    at = 0
    for frame in wanted:
        at = text.find(frame, at)
        assert at >= 0, f"{frame} is not in its place in\n{text[-4000:]}"


def stack_in_lldb(root, core):
    text = root.run(f"{LLDB} --batch -o 'target create --core {core}' -o bt")
    in_order(text, WANTED)
    return root.run(f"{LLDB} --version 2>/dev/null").splitlines()[0]


def debian_package(root, packages, core):
    root.run(f"apt-get install -y {root.give(packages['.deb'])}")
    return stack_in_lldb(root, core)


def archive(root, packages, core):
    root.run("apt-get install -y lldb")
    root.run(f"tar -xzf {root.give(packages['.gz'])} -C /tmp && /tmp/lldb-clr-*/install.sh")
    return stack_in_lldb(root, core)


def wheel(root, packages, core):
    root.run("apt-get install -y --no-install-recommends python3-venv")
    root.run(f"python3 -m venv /opt/venv && /opt/venv/bin/pip install --no-index {root.give(packages['.whl'])}")
    script = f"import lldb_clr; [print(frame) for frame in lldb_clr.open_core('{core}').threads[0].backtrace()]"
    in_order(root.run(f'/opt/venv/bin/python -c "{script}"'), (WANTED[1].split("`")[1].split(" + ")[0], "Situations.Program.Main(string[])"))
    return "Python alone"


def make(suite, work):
    made = work / suite
    if (made / "usr" / "bin" / "apt-get").exists():
        return made
    shutil.rmtree(made, ignore_errors=True)
    done = subprocess.run(["debootstrap", "--variant=minbase", suite, made, MIRROR], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
    return made


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--packages", type=pathlib.Path, default=ROOT / "build" / "packages")
    options.add_argument("--suites", default="bookworm,trixie,sid")
    options.add_argument("--work", type=pathlib.Path, help="where roots are kept; otherwise they are removed at the end")
    args = options.parse_args()
    for tool in ("debootstrap", "chroot"):
        if shutil.which(tool) is None:
            sys.exit(f"{tool} is not installed")
    packages = {suffix: sorted(args.packages.glob("*" + pattern))[0] for suffix, pattern in ((".deb", "_amd64.deb"), (".gz", "-linux-x64.tar.gz"), (".whl", "_x86_64.whl"))}
    results = Results()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        core = folder / "gallery.core"
        core.write_bytes(lzma.open(ROOT / "tests" / "cores" / "gallery-x64.core.xz").read())
        for suite in args.suites.split(","):
            try:
                made = make(suite, args.work or folder)
            except AssertionError as error:
                results.skip(f"clean/{suite}", f"debootstrap cannot make it: {str(error).splitlines()[-1]}")
                continue
            for install in (debian_package, archive, wheel):
                root = Root(made, folder / "root")
                try:
                    given = root.give(core)
                    root.run("apt-get update")
                    begin = time.monotonic()

                    def check():
                        found = install(root, packages, given)
                        return f"{found}, {time.monotonic() - begin:.0f} s"

                    results.check(f"clean/{suite}/{install.__name__}", check)
                finally:
                    root.remove()
    return results.summary()


if __name__ == "__main__":
    sys.exit(main())
