"""A core on a host that has none of its files: LLDB's own stacks are whole, and the stand-ins of native modules make way for files."""
import json
import re
import shutil

SECONDS = 180
THREAD = re.compile(r"^[* ] thread #(\d+)")
PUBLISHED = r"lldb-clr-published-\w+/"
FRAME = re.compile(r"^\s+\*? ?frame #\d+: (0x[0-9a-f]+) (\S+?)`(.*)$")


def stacks_of(text):
    """number of a thread -> (address, module, name) of each of its frames, in LLDB's own `bt all`."""
    stacks, frames = {}, []
    for line in text.splitlines():
        if match := THREAD.match(line):
            frames = stacks.setdefault(int(match[1]), [])
        elif match := FRAME.match(line):
            frames.append((int(match[1], 16), match[2], match[3]))
    return stacks


def native_frames(thread):
    return [(int(f["ip"], 16), f.get("module"), f.get("symbol")) for f in thread["frames"] if f["kind"] == "native"]


def check(driver, report, tag, core, folder):
    _, every, own, images = driver.run([f'target create --core "{core}"', "bt all", "clrbt --json all", "image list"], SECONDS)
    stacks, threads = stacks_of(every), json.loads(own)["threads"]
    lost, named, count = [], [], 0
    for thread in threads:
        seen = iter(stacks.get(thread["index"], []))
        for ip, module, symbol in native_frames(thread):
            count += 1
            # LLDB shows inlined functions too where it found the file and its debug information.
            met = next((frame for frame in seen if frame[0] == ip), None)
            if met is None:
                lost.append(f"thread {thread['index']}: {ip:#x} {module}`{symbol}")
                break
            if met[1] != module or not (symbol or met[2].startswith("___lldb_unnamed_symbol")):
                named.append(f"thread {thread['index']}: {ip:#x} is {met[1]}`{met[2]}, not {module}`{symbol}")
    report.check(f"{tag} stand-ins: the threads of bt all", f"{len(stacks)} of {len(threads)}", rf"^{len(threads)} of {len(threads)}$")
    report.check(f"{tag} stand-ins: native frames of bt all", f"{count} frames" if not lost else "; ".join(lost[:5]), r"^[1-9]\d\d+ frames$")
    report.check(f"{tag} stand-ins: their names", "; ".join(named[:5]) or "all", "^all$")
    if not re.search(PUBLISHED + r"libcoreclr\.so", images):
        return   # LLDB has found the file itself
    report.check(f"{tag} stand-ins: one for each native module", images, PUBLISHED + r"libc\.so\.6 ", PUBLISHED + r"libhostfxr\.so ")
    # Files by the names of modules, whatever they hold.
    place = folder / f"{tag}-stand-ins"
    place.mkdir()
    other, same = place / "other.so", place / "libcoreclr.so"
    for file in (other, same):
        shutil.copy("/bin/true", file)
    _, _, _, beside, _, instead = driver.run([f'target create --core "{core}"', "bt 2", f'target modules add "{other}"', "image list",
                                              f'target modules add "{same}"', "image list"], SECONDS)
    report.check(f"{tag} stand-ins: another file changes nothing", beside, PUBLISHED + r"libcoreclr\.so ", re.escape(str(other)))
    report.check(f"{tag} stand-ins: a file takes the place of its own", instead, PUBLISHED + r"libc\.so\.6 ", re.escape(str(same)), absent=[PUBLISHED + r"libcoreclr\.so "])
