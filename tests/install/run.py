#!/usr/bin/env python3
"""The product as others use it: installed into an empty folder, then found there by CMake, pkg-config, Python and LLDB.
    tests/install/run.py --build BUILD_DIR [--arm64 BUILD_DIR]
Needs the target `product` of the build. --arm64: also the packages of scripts/cross-arm64's build, asked under user-mode emulation. Prints `ok`, `FAILED` and `SKIPPED` lines and a last line "N passed, N failed, N skipped"."""
import argparse
import base64
import csv
import hashlib
import io
import json
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
EXAMPLES = ROOT / "docs" / "examples"
sys.path[:0] = [str(HERE.parent / "live")]

from processes import Unavailable
from results import Results


class Setup:
    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.prefix = folder / "prefix"
        self.core = folder / "gallery-x64.core"
        self.core.write_bytes(lzma.open(ROOT / "tests" / "cores" / "gallery-x64.core.xz").read())
        answers = json.loads(lzma.open(ROOT / "tests" / "cores" / "gallery-x64.expected.json.xz").read())["clrip2md"]
        self.known = next(a for a in answers if a["result"] == "method" and (a["method"]["module"] or "").startswith("situations"))

    def run(self, *command, good=True, **environment):
        # Nothing of this tree shall be found in place of what is installed.
        kept = {k: v for k, v in os.environ.items() if k not in ("LLDB_CLR_LIBRARY_DIR", "PYTHONPATH", "LD_LIBRARY_PATH", "XDG_DATA_HOME")}
        done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=600, cwd=self.folder,
                              stdin=subprocess.DEVNULL, env={**kept, **environment})
        assert not good or done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
        return done

    def file(self, pattern):
        """The one installed file of this name; the library folder's name differs between systems."""
        found = sorted(self.prefix.glob(pattern))
        assert len(found) == 1, f"{pattern}: {found}"
        return found[0]

    def pkg_config(self, *words):
        return self.run("pkg-config", *words, PKG_CONFIG_PATH=str(self.file("lib/**/pkgconfig"))).stdout.split()


def install(setup):
    """Everything comes, by the target that scripts/demo and scripts/test build, and nothing of it names the folders of the build."""
    setup.run("cmake", "--install", setup.build, "--prefix", setup.prefix)
    names = {str(p.relative_to(setup.prefix)) for p in setup.prefix.rglob("*") if not p.is_dir()}
    number = re.search(r"^#define CLR_API_VERSION (\d+)u$", (ROOT / "include" / "lldb_clr.h").read_text(), re.M)[1]
    wanted = ["include/lldb_clr.h", "lib/libclr.so", f"lib/libclr.so.{number}", "lib/liblldb-clr-core.a", "lib/pkgconfig/lldb-clr.pc",
              "lib/pkgconfig/lldb-clr-core.pc", "lib/cmake/lldb-clr/lldb-clr-config.cmake", "lib/lldb-clr/python/lldb_clr/__init__.py", "share/doc/lldb-clr/LICENSE"]
    if (setup.build / "liblldb-clr.so").exists():
        wanted.append("lib/liblldb-clr.so")
    wanted += [f"include/lldb-clr/{p.relative_to(ROOT)}" for p in (ROOT / "core").rglob("*.h")]
    missing = set(wanted) - names
    assert not missing, f"not installed: {sorted(missing)}"
    strange = [n for n in names if n.endswith((".cpp", ".pyc", ".txt"))]
    assert not strange, f"installed: {strange}"
    for name in names:
        if name.endswith((".cmake", ".pc")):
            assert str(ROOT) not in (setup.prefix / name).read_text(), f"{name} names the folder of the sources"
    for script in ("demo", "test"):
        assert re.search(r"\bproduct\b", (ROOT / "scripts" / script).read_text()), f"scripts/{script} does not build what is installed"
    return f"{len(names)} files"


def check_program(setup, program, **environment):
    """name_address.cpp, built: a method, an address without one, a file that is no core."""
    method = setup.known["method"]
    done = setup.run(program, setup.core, setup.known["address"], **environment)
    text = f"{method['module']}`{method.get('user_method', {}).get('full_name') or method['full_name']}"
    assert done.stdout.startswith(text), f"{done.stdout!r} is not {text!r}"
    assert setup.run(program, setup.core, "0x10", **environment).stdout == "no managed method: outside every range of managed code\n"
    refused = setup.run(program, __file__, "0x10", good=False, **environment)
    assert refused.returncode == 1 and refused.stderr.startswith("error: "), refused
    return done.stdout.strip()


def check_c_program(setup, program, **environment):
    row = json.loads(setup.run(program, setup.core, setup.known["address"], **environment).stdout.splitlines()[0])["rows"][0]
    assert (row["address"], row["method"]["full_name"]) == (setup.known["address"], setup.known["method"]["full_name"]), row
    refused = setup.run(program, __file__, "0x10", good=False, **environment)
    assert refused.returncode == 1 and refused.stderr.startswith("error: "), refused
    return row["method"]["full_name"]


def by_cmake(setup):
    """docs/examples, as its CMakeLists.txt says."""
    build = setup.folder / "examples"
    setup.run("cmake", "-S", EXAMPLES, "-B", build, f"-DCMAKE_PREFIX_PATH={setup.prefix}", "-DCMAKE_BUILD_TYPE=Debug")
    setup.run("cmake", "--build", build)
    check_c_program(setup, build / "name_address_c")
    return check_program(setup, build / "name_address")


def another_version(setup):
    """Before version 1 a program says which minor version it was written for."""
    folder = setup.folder / "another"
    folder.mkdir()
    for version, found in (("0.0", False), ("0.1", True), ("0.9", False)):
        (folder / "CMakeLists.txt").write_text(f"cmake_minimum_required(VERSION 3.25)\nproject(another LANGUAGES CXX)\nfind_package(lldb-clr {version} REQUIRED)\n")
        done = setup.run("cmake", "-S", folder, "-B", folder / version, f"-DCMAKE_PREFIX_PATH={setup.prefix}", good=False)
        assert (done.returncode == 0) == found, f"{version}: {done.stderr}"


def by_pkg_config(setup):
    """The C interface, and the C++ library with every header of it in one program: what a header includes is installed, too."""
    program = setup.folder / "by_pkg_config_c"
    setup.run("cc", "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", EXAMPLES / "name_address.c", *setup.pkg_config("--cflags", "--libs", "lldb-clr"), "-o", program)
    library = setup.file("lib/**/libclr.so").parent
    check_c_program(setup, program, LD_LIBRARY_PATH=str(library))
    everything = setup.folder / "everything.cpp"
    headers = sorted(p.relative_to(setup.prefix / "include" / "lldb-clr") for p in (setup.prefix / "include" / "lldb-clr").rglob("*.h"))
    everything.write_text("".join(f"#include <{h}>\n" for h in headers) + (EXAMPLES / "name_address.cpp").read_text())
    program = setup.folder / "by_pkg_config"
    setup.run("c++", "-std=c++2b", everything, *setup.pkg_config("--cflags", "--libs", "lldb-clr-core"), "-o", program)
    check_program(setup, program)
    return f"{len(headers)} headers"


def page(setup):
    """docs/library.md shows the program as it is, which stays short, and what it prints."""
    text = (ROOT / "docs" / "library.md").read_text()
    source = (EXAMPLES / "name_address.cpp").read_text()
    assert source in text, "docs/library.md shows another name_address.cpp"
    lines = [line for line in source[source.index("int main"):].splitlines() if line.strip("} ")]
    assert len(lines) <= 20, f"{len(lines)} lines"
    shown = re.search(r"\$ \./name_address gallery-x64\.core (0x[0-9a-f]+)\n *(.+)\n", text)
    program = setup.folder / "examples" / "name_address"
    assert shown and program.exists(), "there is nothing to run" if shown else "docs/library.md shows no run"
    assert setup.run(program, setup.core, shown[1]).stdout == shown[2] + "\n", shown[0]
    return f"{len(lines)} lines"


def python(setup):
    """The installed package finds the installed library."""
    script = "import sys, lldb_clr, lldb_clr._library as l\nprint(lldb_clr.open_core(sys.argv[1]).method_at(int(sys.argv[2], 16)).full_name)\nprint(*l._libraries)"
    done = setup.run(sys.executable, "-c", script, setup.core, setup.known["address"], PYTHONPATH=str(setup.file("lib/**/python/lldb_clr").parent))
    name, library = done.stdout.splitlines()
    assert name == setup.known["method"]["full_name"] and pathlib.Path(library).is_relative_to(setup.prefix), done.stdout
    return name


def lldb_19(*options):
    lldb = shutil.which("lldb-19")
    if not lldb:
        raise Unavailable("lldb-19 is not installed")
    return [lldb, *options, "--batch", "--no-use-colors"]


def plugin(setup):
    """The installed plugin loads."""
    if not (setup.build / "liblldb-clr.so").exists():
        raise Unavailable("the plugin is not built")
    done = setup.run(*lldb_19("--no-lldbinit"), "-o", f"plugin load {setup.file('lib/**/liblldb-clr.so')}", "-o",
                     f"target create --core {setup.core}", "-o", f"clrip2md {setup.known['address']}")
    assert setup.known["method"]["module"] + "`" in done.stdout, done.stdout + done.stderr


def make_packages(setup, out, *builds):
    """By the end of their names; and why others are not there."""
    for tool in ("dpkg-deb", "readelf", "strip"):
        if not shutil.which(tool):
            raise Unavailable(f"{tool} is not installed")
    done = setup.run(sys.executable, ROOT / "packaging" / "packages.py", *(word for build in builds for word in ("--build", build)), "--out", out)
    made = {}
    for line in done.stdout.splitlines():
        file = pathlib.Path(line.rpartition(" (")[0])
        made.setdefault(file.suffix, []).append(file)
    return made, done.stderr.strip()


def packages(setup):
    """What scripts/package makes of this build."""
    if not (setup.build / "liblldb-clr.so").exists():
        raise Unavailable("the plugin is not built")
    made, setup.lacking = make_packages(setup, setup.folder / "packages", setup.build)
    setup.packages = {kind: file for kind, (file,) in made.items()}
    assert {".deb", ".gz", ".whl"} <= set(setup.packages) and bool(setup.lacking) == (".nupkg" not in setup.packages), (made, setup.lacking)
    return ", ".join(file.name for file in setup.packages.values())


def of_packages(setup, kind):
    if not getattr(setup, "packages", None):
        raise Unavailable("there are no packages")
    if kind not in setup.packages:
        raise Unavailable(setup.lacking.splitlines()[0])
    return setup.packages[kind]


def ask_library(setup, **environment):
    """Python's package without LLDB."""
    script = "import sys, lldb_clr\nprint(lldb_clr.open_core(sys.argv[1]).method_at(int(sys.argv[2], 16)).full_name)"
    name = setup.run(sys.executable, "-c", script, setup.core, setup.known["address"], **environment).stdout.strip()
    assert name == setup.known["method"]["full_name"], name


def debian_package(setup):
    """Unpacked as it would be installed: what is in it, what it depends on, and that LLDB and Python take it."""
    deb = of_packages(setup, ".deb")
    root = setup.folder / "deb"
    setup.run("dpkg-deb", "-x", deb, root)
    depends = setup.run("dpkg-deb", "-f", deb, "Depends").stdout
    assert all(name in depends for name in ("libdw1", "libelf1", "libmd0", "libstdc++6", "zlib1g")), depends
    plugin = root / "usr/lib/lldb/plugins/liblldb-clr.so"
    assert ".symtab" not in setup.run("objdump", "-h", plugin).stdout and "no symbols" in setup.run("objdump", "-t", plugin).stdout, "the plugin is not stripped"
    pages = {p.name for p in (root / "usr/share/man/man1").iterdir()}
    commands = {name.replace(" ", "-") + ".1.gz" for name in re.findall(r"^## (clr [\w-]+)$", (ROOT / "docs" / "commands.md").read_text(), re.M)}
    assert pages == commands | {"clr.1.gz"}, pages ^ commands
    if shutil.which("man"):
        shown = setup.run("man", "-P", "cat", root / "usr/share/man/man1/clr-bt.1.gz").stdout
        assert "clrbt" in shown and "OPTIONS" in shown, shown
    ask_library(setup, PYTHONPATH=str(root / "usr/lib/python3/dist-packages"))
    done = setup.run(*lldb_19("--no-lldbinit"), "-o", f"plugin load {plugin}", "-o", "clr version")
    assert f"loaded from {plugin}" in done.stdout, done.stdout + done.stderr
    return f"{deb.stat().st_size / 1e6:.1f} MB, {len(pages)} manual pages"


def archive(setup):
    """The tarball, installed for a user, twice: LLDB has the plugin without being told. Then it is gone without a trace."""
    home = setup.folder / "home"
    (home / "unpacked").mkdir(parents=True)
    init = home / ".lldbinit"
    init.write_text("settings set stop-line-count-before 2\n")
    setup.run("tar", "-xzf", of_packages(setup, ".gz"), "-C", home / "unpacked")
    (unpacked,) = (home / "unpacked").iterdir()
    before = set(home.rglob("*"))
    env = {"HOME": str(home)}
    for _ in range(2):
        setup.run(unpacked / "install.sh", **env)
    installed = home / ".local/share/lldb-clr"
    assert init.read_text().count("plugin load") == 1, init.read_text()
    done = setup.run(*lldb_19(), "-o", "clr version", "-o", f"target create --core {setup.core}", "-o", f"clrip2md {setup.known['address']}", **env)
    assert f"loaded from {installed}/lib/liblldb-clr.so" in done.stdout and setup.known["method"]["module"] + "`" in done.stdout, done.stdout + done.stderr
    again = setup.run(*lldb_19(), "-o", f"plugin load {setup.build / 'liblldb-clr.so'}", "-o", "clr version", **env)
    assert "the plugin is loaded already" in again.stderr and f"loaded from {installed}" in again.stdout, again.stdout + again.stderr
    ask_library(setup, PYTHONPATH=str(installed / "lib/lldb-clr/python"))
    assert list((unpacked / "licenses").iterdir()), "the libraries that are brought along have no licences"
    setup.run(unpacked / "install.sh", "--uninstall", **env)
    left = {p for p in home.rglob("*") if not p.is_dir()} - before
    assert not left and init.read_text() == "settings set stop-line-count-before 2\n", (left, init.read_text())
    installed.mkdir(parents=True)
    refused = setup.run(unpacked / "install.sh", good=False, **env)
    assert refused.returncode == 1 and "is not an installation of lldb-clr" in refused.stderr and not list(installed.iterdir()), refused


def wheel(setup):
    """A wheel is an archive of what pip would put in place, with a list of digests."""
    root = setup.folder / "wheel"
    with zipfile.ZipFile(of_packages(setup, ".whl")) as archived:
        archived.extractall(root)
        (record,) = (n for n in archived.namelist() if n.endswith("/RECORD"))
        listed = {row[0]: row[1] for row in csv.reader(io.StringIO(archived.read(record).decode()))}
        assert set(listed) == set(archived.namelist()), set(listed) ^ set(archived.namelist())
        for name, digest in listed.items():
            if name != record:
                made = base64.urlsafe_b64encode(hashlib.sha256(archived.read(name)).digest()).rstrip(b"=").decode()
                assert digest == f"sha256={made}", name
    ask_library(setup, PYTHONPATH=str(root))


def dotnet_tool(setup):
    """Installed from the folder of the package, without a registry: it knows a core without LLDB, and installs the extension for a user."""
    package = of_packages(setup, ".nupkg")
    home = setup.folder / "tool-home"
    home.mkdir()
    env = {"HOME": str(home), "DOTNET_CLI_HOME": str(home), "NUGET_PACKAGES": str(home / "packages"), "DOTNET_CLI_TELEMETRY_OPTOUT": "1", "DOTNET_NOLOGO": "1"}
    version = package.name.removeprefix("lldb-clr.").removesuffix(".nupkg")
    setup.run("dotnet", "tool", "install", "lldb-clr", "--version", version, "--tool-path", setup.folder / "tools", "--source", package.parent, **env)
    tool = setup.folder / "tools" / "lldb-clr"
    assert setup.run(tool, "version", **env).stdout.startswith(f"lldb-clr {version}, "), "the version is another"
    text = setup.run(tool, "analyze", setup.core, "--count", "30", **env).stdout
    verdict = json.loads(setup.run(tool, "analyze", setup.core, "--json", **env).stdout)
    assert text.startswith(f"verdict:   {verdict['sentence']}\n") and verdict["verdict"] == "crash", text
    for line in ("runtime:   CoreCLR 10.0.12 (linux x64)", "it had the signal", "exception: in flight:\nSystem.NullReferenceException at 0x", "situations.dll`Situations.Gallery.Order(Situations.Gallery.Customer) + 49 [cfi]"):
        assert line in text, f"{line!r} is not in\n{text}"
    if shutil.which("lldb-19"):
        command = setup.run(*lldb_19("--no-lldbinit"), "-o", f"plugin load {setup.build / 'liblldb-clr.so'}", "-o", f"target create --core {setup.core}", "-o", "clr analyze").stdout
        assert text.splitlines()[0] in command.splitlines(), command
    samples = setup.folder / "samples.txt"
    samples.write_text(f"{setup.known['address']} 3\n0x10\nnonsense\n")
    done = setup.run(tool, "symbolize", setup.core, samples, **env)
    method = setup.known["method"]
    name = f"{method['user_method']['full_name']} [{method['user_method']['mark']}]" if "user_method" in method else method["full_name"]
    assert f"         3  75.00%  {method['module']}`{name}" in done.stdout and "         1  25.00%  0x10\n" in done.stdout, done.stdout
    assert "1 lines left out" in done.stderr, done.stderr
    for wrong, code, said in ((("analyze", __file__), 1, "error: "), (("analyze",), 2, "CORE is missing"), (("fly",), 2, "there is no command 'fly'"), (("analyze", "a", "b", "--fast"), 2, "no option --fast")):
        refused = setup.run(tool, *wrong, good=False, **env)
        assert refused.returncode == code and said in refused.stderr, refused
    if shutil.which("lldb-19"):
        setup.run(tool, "install", **env)
        done = setup.run(*lldb_19(), "-o", "clr version", **env)
        assert f"loaded from {home}/.local/share/lldb-clr/lib/liblldb-clr.so" in done.stdout, done.stdout + done.stderr
        setup.run(tool, "uninstall", **env)
        assert not (home / ".lldbinit").exists() and not (home / ".local/share/lldb-clr").exists()
    return f"{package.stat().st_size / 1e6:.1f} MB"


def arm64(setup):
    """The packages of another CPU, unpacked and asked under user-mode emulation: Python without LLDB, and the plugin in that CPU's LLDB."""
    emulator, sysroot = shutil.which("qemu-aarch64-static"), setup.arm64 / "sysroot"
    if not emulator:
        raise Unavailable("qemu-user-static is not installed")
    made, _ = make_packages(setup, setup.folder / "packages-arm64", setup.build, setup.arm64)
    deb, tar, archived = (next(f for f in made[kind] if "arm64" in f.name or "aarch64" in f.name) for kind in (".deb", ".gz", ".whl"))
    if ".nupkg" in made:
        with zipfile.ZipFile(made[".nupkg"][0]) as package:
            found = {cpu for cpu in ("x64", "arm64") for name in package.namelist() if name.endswith(f"native/linux-{cpu}/lib/libclr.so.1")}
        assert found == {"x64", "arm64"}, found
    assert setup.run("dpkg-deb", "-f", deb, "Architecture").stdout == "arm64\n"
    root = setup.folder / "arm64"
    setup.run("dpkg-deb", "-x", deb, root / "deb")
    setup.run("tar", "-xzf", tar, "-C", root)
    with zipfile.ZipFile(archived) as wheel_file:
        wheel_file.extractall(root / "wheel")
    (unpacked,) = root.glob("lldb-clr-*")
    assert list((unpacked / "licenses").iterdir()), "no licences"
    python = [emulator, "-L", sysroot, sysroot / "usr/bin/python3"]
    env = {"PYTHONHOME": str(sysroot / "usr")}
    script = "import platform, sys, lldb_clr\nprint(platform.machine(), lldb_clr.open_core(sys.argv[1]).method_at(int(sys.argv[2], 16)).full_name)"
    for place in (root / "wheel", unpacked / "lib/lldb-clr/python"):
        done = setup.run(*python, "-c", script, setup.core, setup.known["address"], PYTHONPATH=str(place), **env)
        assert done.stdout.strip() == f"aarch64 {setup.known['method']['full_name']}", done.stdout
    for plugin_file in (root / "deb/usr/lib/lldb/plugins/liblldb-clr.so", unpacked / "lib/liblldb-clr.so"):
        done = setup.run(emulator, "-L", sysroot, sysroot / "usr/lib/llvm-19/bin/lldb", "--no-lldbinit", "--batch", "--no-use-colors", "-o", f"plugin load {plugin_file}", "-o",
                         f"target create --core {setup.core}", "-o", f"clrip2md {setup.known['address']}", **env)
        assert setup.known["method"]["module"] + "`" in done.stdout, done.stdout + done.stderr
    return ", ".join(f.name for f in (deb, tar, archived))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--arm64", type=pathlib.Path)
    options = parser.parse_args()
    results = Results()
    with tempfile.TemporaryDirectory() as folder:
        setup = Setup(options.build.resolve(), pathlib.Path(folder).resolve())
        checks = [install, by_cmake, another_version, by_pkg_config, page, python, plugin, packages, debian_package, archive, wheel, dotnet_tool]
        if options.arm64:
            setup.arm64 = options.arm64.resolve()
            checks.append(arm64)
        for check in checks:
            results.check(f"install/{check.__name__}", check, setup)
    return results.summary()


if __name__ == "__main__":
    sys.exit(main())
