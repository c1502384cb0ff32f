"""A chroot often has no /proc: what is published comes to LLDB all the same."""
import os
import re
import subprocess

COUNTS = r"^\d+ modules, \d+ pieces of code"
HIDE_PROC = ["unshare", "-m" if os.geteuid() == 0 else "-rm", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]


def impossible():
    """Why /proc cannot be hidden here; None when it can."""
    try:
        done = subprocess.run([*HIDE_PROC, "test", "!", "-e", "/proc/self"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return None if done.returncode == 0 else f"no mount namespace of its own: {done.stdout.strip() or done.returncode}"


def check(driver, report, tag, core):
    """`core`: one that holds all that is read of it."""
    commands = [f'target create --core "{core}"', "clr publish", "clr info"]
    (_, plain, _), (_, hidden, info) = driver.run(commands), driver.within(HIDE_PROC).run(commands)
    if "core file is not known" in info:
        report.check(f"{tag} without /proc, and LLDB does not name the core", info, "mount /proc, where it can be found")
        return
    counts = re.search(COUNTS, plain, re.M)
    report.check(f"{tag} published without /proc", hidden, rf"^{counts.group(0)}" if counts else COUNTS, absent=["^warning: "])
