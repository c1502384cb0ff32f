"""Every symbol of LLDB's that the plugin is linked to is one that this LLDB's library defines. What newer versions have is looked up when it is
wanted (extension/newer_api.cpp), and is none of these."""
import re
import subprocess

# Prints the files that the driver has loaded, whichever way they were found: its library, and the plugin.
WHICH_LIBRARIES = "platform shell grep -o '/[^ ]*liblldb[^ ]*' /proc/$PPID/maps"
OF_LLDB = re.compile(r"^_Z\w*?N[VK]*4lldb\d")   # lldb::SBTarget..., not lldb_private


def symbols(kind, library):
    """The dynamic symbols of a library, without their versions: kind is --defined-only or --undefined-only."""
    done = subprocess.run(["nm", "-D", kind, "--format=posix", library], stdout=subprocess.PIPE, text=True, check=True)
    return {line.split()[0].split("@")[0] for line in done.stdout.splitlines() if line}


def check(driver, report, tag):
    (text,) = driver.run([WHICH_LIBRARIES])
    library = next((line for line in text.splitlines() if line.startswith("/") and line != str(driver.plugin)), None)
    if library is None:
        report.fail(f"{tag} symbols of the API", f"the driver's library is not known: {text}")
        return
    wanted = {name for name in symbols("--undefined-only", driver.plugin) if OF_LLDB.match(name)}
    missing = sorted(wanted - symbols("--defined-only", library))
    if missing:
        missing = subprocess.run(["c++filt", *missing], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    known = f"{len(wanted)} symbols wanted" + "".join(f"\nmissing: {name}" for name in missing)
    report.check(f"{tag} symbols of the API", known, r"^[1-9]\d\d+ symbols wanted", absent=["^missing: "])
