"""Every line of the runtime's perf map against clrip2md: first, middle and last byte, and the bytes around."""
import pathlib

import names
import perfmap
from results import Examples

# How each kind of process is started.
MODES = {
    "jit": {"ReadyToRun": 0},
    "tiered": {"TieredPGO": 1, "TC_QuickJitForLoops": 1, "OSR_HitLimit": 1, "TC_OnStackReplacement_InitialCounter": 1},
    "default": {},
    "no-tiering": {"ReadyToRun": 0, "TieredCompilation": 0},
}


def read_truth(path):
    """The file that `many --truth` writes: kind -> rows."""
    rows = {"method": [], "load": [], "r2r": [], "gone": []}
    for line in pathlib.Path(path).read_text(encoding="utf-8", errors="replace").splitlines():
        kind, *fields = line.split("\t")
        rows[kind].append(fields)
    return rows


def probes(line):
    inside = {line.start, line.start + line.size // 2, line.start + line.size - 1}
    return inside, {line.start - 1, line.start + line.size}


def is_gone(line, gone):
    """Whether the program says that this code is dead."""
    name = line.method.name if line.method.dynamic else line.method.type
    return any(name.startswith(prefix) for prefix in gone)


def may_be_gone(line):
    """Collectible code that the program does not keep on purpose: dead or alive, who knows."""
    return line.method.module == "plugin" or line.method.dynamic and not line.method.name.startswith(("kept_", "compiled_"))


def check(lldb, target, map_path, truth_path):
    lines, damaged = perfmap.read(map_path)
    kept, dead = perfmap.alive(lines)
    truth = read_truth(truth_path)
    gone = [g[0] for g in truth["gone"]]
    wanted, alive = set(), []
    for line in kept:
        inside, around = probes(line)
        wanted |= inside | around
        if not is_gone(line, gone):
            alive.append(line)
    for line in dead:
        wanted |= probes(line)[0]
    answers = lldb.ip2md(target, sorted(wanted))
    loads = {int(f[1], 16): f for f in truth["load"]}

    wrong, count, tiers, unknown_tiers, absent = Examples(), 0, {}, 0, 0
    for line in alive:
        inside, around = probes(line)
        found = [answers[a] for a in sorted(inside)]
        if may_be_gone(line) and not any(owns(a, line) for a in found):
            absent += 1
            continue
        count += 1
        what = f"0x{line.start:x} {line.size:x} {line.text}"
        for a in found:
            if a["result"] != "method":
                wrong.add(f"{a['result']} {a.get('reason')}", f"{a['address']} {a.get('text')}: {what}")
            elif not owns(a, line):
                wrong.add("start or size", f"{a['address']} {a['code']['start']} {a['code'].get('regions')}: {what}")
            elif (difference := names.same_as_perf(a["method"], line.method)):
                wrong.add("name", f"{difference}: {what}")
        if len({a["method"]["method_desc"] for a in found if a["result"] == "method"}) > 1:
            wrong.add("several MethodDescs", what)
        load = loads.get(line.start)
        if load and found[0]["result"] == "method" and int(load[2]) == line.size and int(found[0]["method"]["method_desc"], 16) != int(load[0], 16):
            wrong.add("MethodDesc", f"{found[0]['method']['method_desc']} for {load[0]}: {what}")
        if found[0]["result"] == "method":
            tier = found[0]["code"].get("tier")
            if tier is None and line.tier in perfmap.UNKNOWABLE:
                unknown_tiers += 1
            elif tier != line.tier:
                wrong.add(f"tier {tier} for {line.tier}", what)
            tiers[line.tier] = tiers.get(line.tier, 0) + 1
        for a in around:
            if owns(answers[a], line):
                wrong.add("byte outside resolves", f"0x{a:x}: {what}")
    living = {(k.start, k.size) for k in kept if not is_gone(k, gone)}
    for line in dead + [k for k in kept if is_gone(k, gone)]:
        for a in probes(line)[0]:
            # A dead body may lie under a new one of the same start and size.
            if owns(answers[a], line) and (line.start, line.size) not in living:
                wrong.add("dead code resolves", f"0x{a:x} {line.text}")
    figures = (f"{count} lines ({', '.join(f'{n} {t}' for t, n in sorted(tiers.items()))}), {len(wanted)} addresses, {len(dead)} overwritten, "
               f"{sum(is_gone(k, gone) for k in kept)} unloaded, {absent} collected, {damaged} damaged, {unknown_tiers} tiers not in memory")
    assert count >= 5000, f"only {count} lines compared: " + figures
    return wrong.require_none(figures)


def owns(answer, line):
    """Whether the answer is the body of this line: its start, and a hot region of its size."""
    if answer["result"] != "method" or int(answer["code"]["start"], 16) != line.start:
        return False
    hot = [r for r in answer["code"].get("regions", []) if r["part"] == "hot"]
    return bool(hot) and int(hot[0]["start"], 16) == line.start and hot[0]["size"] == line.size


def check_written(lldb, target, map_path, truth_path, written_path):
    """`clr perfmap` against the runtime's own map, line by line, and what it adds: every ReadyToRun method that the runtime reported."""
    kept, _ = perfmap.alive(perfmap.read(map_path)[0])   # before the process goes on, and compiles more
    (said,) = lldb.run(target, [f'clr perfmap "{written_path}"'])
    assert said.startswith(str(written_path)), said + lldb.errors
    truth = read_truth(truth_path)
    gone = [g[0] for g in truth["gone"]]
    ours, damaged = perfmap.read(written_path)
    by_start = {line.start: line for line in ours}
    wrong, count, absent, unknown = Examples(), 0, 0, 0
    for line in kept:
        if is_gone(line, gone):
            continue
        found = by_start.get(line.start)
        if may_be_gone(line) and (found is None or found.text != line.text):
            absent += 1
            continue
        count += 1
        if found is None:
            wrong.add("not written", f"0x{line.start:x} {line.size:x} {line.text}")
        elif found.size != line.size:
            wrong.add("size", f"{found.size:x} for {line.size:x} {line.text}")
        elif found.text != line.text:
            same = found.text.rpartition("[")[0] == line.text.rpartition("[")[0]
            if same and found.text.endswith("[Unknown]") and line.tier in perfmap.UNKNOWABLE:
                unknown += 1
            else:
                wrong.add("text", f"{found.text} for {line.text}")
    for _, address, name in truth["r2r"]:
        found = by_start.get(int(address, 16))
        if int(address, 16) and (found is None or not found.text.endswith(perfmap.PRECOMPILED)):
            wrong.add("ReadyToRun method not written", f"{address} {name}")
    _, overlaps = perfmap.alive(ours)
    for line in overlaps[:5]:
        wrong.add("lines overlap", f"0x{line.start:x} {line.size:x} {line.text}")
    precompiled = sum(line.text.endswith(perfmap.PRECOMPILED) for line in ours)
    cold = sum(line.text.endswith(perfmap.PRECOMPILED[1]) for line in ours)
    assert count >= 5000, f"only {count} lines compared"
    return wrong.require_none(f"{count} lines equal, {absent} collected, {unknown} tiers not in memory; {len(ours)} lines, "
                              f"{precompiled} of ReadyToRun code ({cold} cold parts), {damaged} damaged")


def check_events(lldb, target, truth_path):
    """What the runtime reported of itself: every method's entry point, every R2R entry point."""
    truth = read_truth(truth_path)
    entries = {int(f[1], 16): f for f in truth["method"]}
    r2r = {int(f[1], 16): f for f in truth["r2r"] if int(f[1], 16)}
    answers = lldb.ip2md(target, sorted(entries.keys() | r2r.keys()))
    wrong, precodes = Examples(), 0
    for address, (md, _, token, module, name) in entries.items():
        a = answers[address]
        method = a.get("method")
        if a["result"] == "miss" and a["reason"] in ("precode", "stub"):
            precodes += 1
        if not method:
            wrong.add(f"entry point: {a['result']} {a.get('reason')}", f"0x{address:x} {name}: {a.get('text')}")
        elif int(method["method_desc"], 16) != int(md, 16):
            wrong.add("entry point of another MethodDesc", f"0x{address:x} {name}: {method['full_name']} {method['method_desc']} for {md}")
        elif method["token"] != token or method["module"] != module:
            wrong.add("token or module", f"0x{address:x} {name}: {method['token']} {method['module']} for {token} {module}")
    for address, (md, _, name) in r2r.items():
        a = answers[address]
        if a["result"] != "method":
            wrong.add(f"r2r entry: {a['result']} {a.get('reason')}", f"0x{address:x} {name}: {a.get('text')}")
        elif int(a["code"]["start"], 16) != address or a["code"]["kind"] != "r2r":
            wrong.add("r2r entry: start", f"0x{address:x} {name}: {a['code']}")
        elif names.squash(a["method"]["name"]) != names.squash(names.of_event(name)):
            wrong.add("r2r entry: name", f"0x{address:x} {name}: {a['method']['name']}")
        elif int(a["method"]["method_desc"], 16) not in (0, int(md, 16)):
            wrong.add("r2r entry: MethodDesc", f"0x{address:x} {name}: {a['method']['method_desc']} for {md}")
    figures = f"{len(entries)} entry points ({precodes} precodes), {len(r2r)} R2R entry points"
    return wrong.require_none(figures)
