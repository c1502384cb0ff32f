#!/usr/bin/env python3
"""Cross-compiles ReadyToRun images for several CPUs, each with the compiler's own map of addresses and names: real 32-bit and 64-bit, x86, arm
and arm64 tables for the unit suites, which find them through CLR_R2R_IMAGES.

    images.py FOLDER        FOLDER/SYSTEM-CPU/NAME.dll, NAME.ni.r2rmap, NAME.map; images that are there already are kept

Ends with exit code 77 and one line when a machine cannot do it.
"""
import os
import pathlib
import subprocess
import sys

import processes
from processes import Unavailable
from variants import packages

CROSSGEN = "microsoft.netcore.app.crossgen2.linux-x64"
CROSSGEN_VERSION = "10.0.12"
TARGETS = ["linux-x64", "linux-arm64", "linux-arm", "windows-x64", "windows-x86", "windows-arm64"]


def fetch_crossgen(folder):
    found = packages() / CROSSGEN / CROSSGEN_VERSION / "tools" / "crossgen2"
    if not found.exists():
        project = folder / "fetch" / "fetch.csproj"
        project.parent.mkdir(parents=True, exist_ok=True)
        project.write_text(f'<Project Sdk="Microsoft.NET.Sdk"><PropertyGroup><TargetFramework>net10.0</TargetFramework></PropertyGroup>'
                           f'<ItemGroup><PackageDownload Include="{CROSSGEN}" Version="[{CROSSGEN_VERSION}]" /></ItemGroup></Project>')
        done = subprocess.run([processes.dotnet(), "restore", str(project)], capture_output=True, text=True, timeout=600)
        if not found.exists():
            raise Unavailable(f"NuGet does not give {CROSSGEN} {CROSSGEN_VERSION}: {done.stdout.strip()[-150:]}")
    os.chmod(found, 0o755)
    return found


def compile_image(crossgen, framework, assemblies, target, out, *options):
    """One image (or one composite image of several assemblies) with its maps. `out` is the file to write."""
    if out.exists():
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    system, cpu = target.split("-")
    command = [crossgen, "--targetos", system, "--targetarch", cpu, "-r", f"{framework}/", *assemblies, "-o", out, "--perfmap", "--perfmap-format-version", "1", "--map", "-O", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    if done.returncode:
        out.unlink(missing_ok=True)
        raise RuntimeError(f"crossgen2 failed for {out.name} of {target}: {done.stdout.strip()[:300]}")


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        framework = processes.shared_framework()
        crossgen = fetch_crossgen(folder)
        many = processes.build("many", folder / "artifacts").with_suffix(".dll")
    except Unavailable as e:
        print(e)
        return 77
    xml, linq = framework / "System.Private.Xml.dll", framework / "System.Linq.dll"
    for target in TARGETS:
        for assembly in [many, linq] + ([xml] if target in ("linux-x64", "linux-arm64", "linux-arm", "windows-x86") else []):
            compile_image(crossgen, framework, [assembly], target, folder / target / assembly.name)
    # Cold parts: crossgen2 can split for x64 only.
    compile_image(crossgen, framework, [xml], "linux-x64", folder / "hotcold-linux-x64" / xml.name, "--hot-cold-splitting")
    for target in ("linux-x64", "linux-arm64"):
        compile_image(crossgen, framework, [many, linq], target, folder / f"composite-{target}" / "framework.r2r.dll", "--composite", "--inputbubble")
        # Its generic code is instantiated over types of the core library.
        corelib = folder / f"composite-{target}" / "System.Private.CoreLib.dll"
        if not corelib.exists():
            corelib.symlink_to(framework / corelib.name)
    print(f"{len(list(folder.glob('*/*.dll')))} images")
    return 0


if __name__ == "__main__":
    sys.exit(main())
