#!/usr/bin/env python3
"""The packages of what was built: a Debian package, a tarball with an installer, a Python wheel; of all builds together a .NET tool.
    packaging/packages.py [--build BUILD_DIR]... [--out FOLDER]       needs the target `product` of each build, which may be for another CPU
Prints the path of each, and what could not be made."""
import argparse
import base64
import gzip
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "packaging")]

from man_pages import man_pages

# By the machine in an ELF header: Debian's name of the CPU, that of .NET, that of wheels, and the program that strips.
CPUS = {62: ("amd64", "x64", "x86_64", "strip"), 183: ("arm64", "arm64", "aarch64", "aarch64-linux-gnu-strip")}
GLIBC = (2, 34)
# What every host that has LLDB has, and what belongs to the C library.
OF_THE_HOST = ("libc.so", "libm.so", "libdl.so", "libpthread.so", "ld-linux", "libstdc++.so", "libgcc_s.so", "libz.so", "linux-vdso")
DESCRIPTION = """LLDB extension for .NET (CoreCLR) processes and cores
 Makes managed code readable in LLDB 14 and later: stacks, names, lines,
 values, the heap and who holds what in it, in live processes and in core
 dumps. Needs no .NET on the host."""


def run(*words):
    return subprocess.run([str(w) for w in words], check=True, capture_output=True, text=True).stdout


# readelf reads the libraries of every CPU.
def needed(library):
    return re.findall(r"\(NEEDED\)\s+Shared library: \[(.+)\]", run("readelf", "-dW", library))


def newest_glibc(library):
    return max(tuple(map(int, v.split("."))) for v in re.findall(r"Name: GLIBC_(\d+\.\d+)\b", run("readelf", "-VW", library)))


def machine_of(library):
    return int.from_bytes(library.read_bytes()[18:20], "little")


class Product:
    """What `cmake --install` puts in place, stripped."""

    def __init__(self, build, folder):
        self.folder = folder
        run("cmake", "--install", build, "--prefix", folder)
        self.version = re.search(r"^project\(lldb-clr VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
        self.plugin = self.one("lib/**/liblldb-clr.so")
        self.library = self.one("lib/**/libclr.so.?").resolve()
        self.debian_cpu, self.cpu, self.wheel_cpu, strip = CPUS[machine_of(self.plugin)]
        for library in (self.plugin, self.library):
            run(strip, "--strip-unneeded", library)
            assert newest_glibc(library) <= GLIBC, f"{library.name} needs glibc {newest_glibc(library)}"
        self.library = self.one("lib/**/libclr.so.?")
        self.package = self.one("lib/**/python/lldb_clr")
        self.header = folder / "include" / "lldb_clr.h"
        # A build for another CPU has the system's libraries in its sysroot.
        sysroot = re.search(r"^CLR_SYSROOT:\w+=(.+)$", (build / "CMakeCache.txt").read_text(), re.M)
        self.system = System(pathlib.Path(sysroot[1] if sysroot else "/"), f"{self.wheel_cpu}-linux-gnu")

    def one(self, pattern):
        found = sorted(self.folder.glob(pattern))
        assert len(found) == 1, f"{pattern}: {found}"
        return found[0]

    def brought_along(self):
        """The libraries of the system that a package carries: name and file."""
        libraries, waiting = {}, [self.plugin, self.library]
        while waiting:
            for name in needed(waiting.pop(0)):
                if not name.startswith(OF_THE_HOST) and name not in libraries:
                    libraries[name] = self.system.library(name)
                    assert newest_glibc(libraries[name]) <= GLIBC, name
                    waiting.append(libraries[name])
        return libraries


class System:
    """The system whose libraries a build was linked to: this one, or the unpacked packages of another CPU (scripts/get-sysroot)."""

    def __init__(self, root, triplet):
        self.root, self.triplet = root, triplet

    def library(self, name):
        for folder in ("usr/lib", "lib"):
            path = self.root / folder / self.triplet / name
            if path.exists():
                return path.resolve()
        raise SystemExit(f"{name} is not in {self.root}")

    def licence_of(self, library):
        """The package that a library is of, and Debian's copyright file of it."""
        name = self.package_of(library)
        return name, self.root / "usr/share/doc" / name / "copyright"

    def package_of(self, library):
        inside = library.relative_to(self.root)
        # Before /lib became a link to /usr/lib, packages were written for it.
        names = {str(inside), str(inside).removeprefix("usr/"), f"usr/{inside}"}
        owners = self.root / ".owners"
        if owners.exists():
            for line in owners.read_text().splitlines():
                package, _, path = line.partition(" ")
                if path in names:
                    return package
        else:
            for name in names:
                done = subprocess.run(["dpkg-query", "-S", f"/{name}"], capture_output=True, text=True)
                if done.returncode == 0:
                    return done.stdout.split(":")[0]
        raise SystemExit(f"no package of {self.root} has {library}")


def copy(source, to, mode=0o644):
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, to)
    to.chmod(mode)


def copy_python(product, to):
    shutil.copytree(product.package, to, ignore=shutil.ignore_patterns("__pycache__"))


def documents(to):
    copy(ROOT / "README.md", to / "README.md")
    copy(ROOT / "LICENSE", to / "LICENSE")
    copy(ROOT / "CHANGELOG.md", to / "CHANGELOG.md")
    for page in (ROOT / "docs").glob("*.md"):
        copy(page, to / "docs" / page.name)


def manuals(product, to, zipped):
    for name, text in man_pages((ROOT / "docs" / "commands.md").read_text(), product.version):
        to.mkdir(parents=True, exist_ok=True)
        if zipped:
            (to / f"{name}.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))
        else:
            (to / name).write_text(text)


def carry(product, libraries, licences):
    """The system's libraries, beside ours, and their licences."""
    for name, file in product.brought_along().items():
        copy(file, libraries / name)
        package, licence = product.system.licence_of(file)
        copy(licence, licences / f"{package}.txt")


def debian_package(product, out, work):
    root = work / "deb"
    triplet = f"{product.wheel_cpu}-linux-gnu"
    libraries = root / "usr" / "lib" / triplet
    copy(product.plugin, root / "usr/lib/lldb/plugins/liblldb-clr.so")
    copy(product.library, libraries / product.library.name)
    (libraries / "libclr.so").symlink_to(product.library.name)
    copy(product.header, root / "usr/include/lldb_clr.h")
    package = root / "usr/lib/python3/dist-packages/lldb_clr"
    copy_python(product, package)
    # The package looks for both libraries beside itself.
    (package / product.library.name).symlink_to(f"../../../{triplet}/{product.library.name}")
    (package / "liblldb-clr.so").symlink_to("../../../lldb/plugins/liblldb-clr.so")
    documents(root / "usr/share/doc/lldb-clr")
    copy(ROOT / "LICENSE", root / "usr/share/doc/lldb-clr/copyright")
    manuals(product, root / "usr/share/man/man1", zipped=True)
    size = sum(f.stat().st_size for f in root.rglob("*") if f.is_file()) // 1024
    control = root / "DEBIAN" / "control"
    control.parent.mkdir()
    control.write_text(f"Package: lldb-clr\nVersion: {product.version}\nArchitecture: {product.debian_cpu}\nMaintainer: The lldb-clr developers\nInstalled-Size: {size}\n"
                       f"Depends: libc6 (>= {GLIBC[0]}.{GLIBC[1]}), libstdc++6 (>= 12), zlib1g, libdw1 | libdw1t64, libelf1 | libelf1t64, libmd0\n"
                       f"Recommends: lldb\nSection: devel\nPriority: optional\nDescription: {DESCRIPTION}\n")
    file = out / f"lldb-clr_{product.version}_{product.debian_cpu}.deb"
    run("dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, file)
    return file


def installable(product, root):
    """What the tarball's installer installs, with it."""
    copy(ROOT / "packaging" / "install.sh", root / "install.sh", 0o755)
    copy(product.plugin, root / "lib" / product.plugin.name)
    copy(product.library, root / "lib" / product.library.name)
    copy_python(product, root / "lib" / "lldb-clr" / "python" / "lldb_clr")
    carry(product, root / "lib" / "lldb-clr", root / "licenses")
    copy(ROOT / "LICENSE", root / "licenses" / "lldb-clr.txt")


def tarball(product, out, work):
    name = f"lldb-clr-{product.version}-linux-{product.cpu}"
    root = work / name
    installable(product, root)
    (root / "lib" / "libclr.so").symlink_to(product.library.name)
    copy(product.header, root / "include" / "lldb_clr.h")
    documents(root)
    manuals(product, root / "share" / "man" / "man1", zipped=False)
    file = out / f"{name}.tar.gz"
    with tarfile.open(file, "w:gz") as tar:
        def plain(entry):
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = "root"
            return entry
        tar.add(root, name, filter=plain)
    return file


def wheel(product, out, work):
    tag = f"py3-none-manylinux_{GLIBC[0]}_{GLIBC[1]}_{product.wheel_cpu}"
    root = work / "wheel"
    copy_python(product, root / "lldb_clr")
    copy(product.library, root / "lldb_clr" / product.library.name, 0o755)
    info = root / f"lldb_clr-{product.version}.dist-info"
    carry(product, root / "lldb_clr" / "lldb-clr", info / "licenses")
    copy(ROOT / "LICENSE", info / "licenses" / "LICENSE")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: lldb_clr\nVersion: {product.version}\nSummary: .NET (CoreCLR) cores for scripts, without a debugger\nLicense: MIT\n"
                                   "Requires-Python: >=3.7\nDescription-Content-Type: text/markdown\n\n" + (ROOT / "docs" / "python.md").read_text())
    (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: lldb-clr\nRoot-Is-Purelib: false\nTag: {tag}\n")
    record = info / "RECORD"
    rows = []
    for file in sorted(f for f in root.rglob("*") if f.is_file()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(file.read_bytes()).digest()).rstrip(b"=").decode()
        rows.append(f"{file.relative_to(root)},sha256={digest},{file.stat().st_size}")
    record.write_text("\n".join([*rows, f"{record.relative_to(root)},,"]) + "\n")
    made = out / f"lldb_clr-{product.version}-{tag}.whl"
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(f for f in root.rglob("*") if f.is_file()):
            archive.write(file, file.relative_to(root))
    return made


class Impossible(Exception):
    """A package cannot be made on this machine."""


def dotnet_tool(products, out, work):
    """One package with the libraries of every CPU that was built."""
    dotnet = shutil.which("dotnet")
    if not dotnet or not run(dotnet, "--list-sdks").strip():
        raise Impossible("no .NET SDK is installed")
    project = work / "tool"
    shutil.copytree(ROOT / "packaging" / "tool", project, ignore=shutil.ignore_patterns("bin", "obj"))
    for product in products:
        installable(product, project / "native" / f"linux-{product.cpu}")
    shutil.copyfile(ROOT / "LICENSE", project / "native" / "LICENSE")
    version = products[0].version
    done = subprocess.run([dotnet, "pack", "--configuration", "Release", f"-p:Version={version}", "--output", work / "packed"], cwd=project, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "DOTNET_CLI_TELEMETRY_OPTOUT": "1", "DOTNET_NOLOGO": "1"})
    if done.returncode != 0:
        raise Impossible(f"dotnet pack failed:\n{done.stdout[-3000:]}")
    return shutil.copy(work / "packed" / f"lldb-clr.{version}.nupkg", out)


def make(builds, out):
    """The packages: their paths, and why others are not there."""
    out.mkdir(parents=True, exist_ok=True)
    made, lacking = [], []
    with tempfile.TemporaryDirectory() as folder:
        products = []
        for build in builds:
            work = pathlib.Path(folder) / f"build-{len(products)}"
            product = Product(build, work / "product")
            if product.cpu in (p.cpu for p in products):
                raise SystemExit(f"two builds are for {product.cpu}")
            products.append(product)
            made += [one(product, out, work) for one in (debian_package, tarball, wheel)]
        try:
            made.append(pathlib.Path(dotnet_tool(products, out, pathlib.Path(folder))))
        except Impossible as why:
            lacking.append(f"the .NET tool is not made: {why}")
    return made, lacking


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, action="append")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    builds = [b.resolve() for b in options.build or [ROOT / "build"]]
    made, lacking = make(builds, (options.out or builds[0] / "packages").resolve())
    for file in made:
        print(f"{file} ({file.stat().st_size / 1e6:.1f} MB)")
    for text in lacking:
        print(text, file=sys.stderr)


if __name__ == "__main__":
    main()
