"""The package's objects against the JSON of the commands: every field of the JSON is an attribute of the same name and value."""


def differences(json, value, where="", found=None, skip=()):
    found = [] if found is None else found
    if len(found) >= 10:
        return found
    if isinstance(json, dict):
        for name, field in json.items():
            if name in skip:
                continue
            if isinstance(value, dict):
                if name in value:
                    differences(field, value[name], f"{where}.{name}", found, skip)
                else:
                    found.append(f"{where}.{name} is missing")
            elif hasattr(value, name):
                differences(field, getattr(value, name), f"{where}.{name}", found, skip)
            else:
                found.append(f"{where}.{name} is missing in {type(value).__name__}")
    elif isinstance(json, list):
        values = list(value)
        if len(values) != len(json):
            found.append(f"{where}: {len(values)} elements for {len(json)}")
        for i, (j, v) in enumerate(zip(json, values)):
            differences(j, v, f"{where}[{i}]", found, skip)
    elif isinstance(json, str) and json.startswith("0x") and isinstance(value, int):
        if int(json, 16) != value:
            found.append(f"{where}: {value:#x} for {json}")
    elif json is None:
        if value is not None and value != ():
            found.append(f"{where}: {value!r} for null")
    elif json != value or isinstance(json, bool) != isinstance(value, bool):
        found.append(f"{where}: {value!r} for {json!r}")
    return found


# Members that depend on the binaries and PDBs of the machine, not on the core alone.
MACHINE = ("memory", "problems", "notes", "source", "text", "symbol")


def frame_of(row):
    """The members of a frame as the package names them."""
    exact = row.get("instantiation")
    return row if exact is None else {**row, "instantiation": exact["method"], "instantiation_from": exact["from"]}


def runtime_differences(lldb_clr, runtime, expected, skip=MACHINE):
    """`expected`: what the commands print, by command. Lists each difference."""
    found = []
    differences(expected["clr info --json"], runtime.info, "info", found, skip)
    threads = runtime.threads
    managed = {t.address: t for t in threads if t.is_managed}
    for row in expected["clr threads --json"]:
        thread = managed.get(int(row["address"], 16))
        without = (*skip, "name") if row["name"] is None else skip   # the system may have a name for it
        waits_for = row.get("waits_for")
        differences({k: v for k, v in row.items() if k != "waits_for"}, thread, f"threads[{row['os_id']}]", found, without)
        differences(waits_for, thread.waiting_for, f"threads[{row['os_id']}].waiting_for", found, skip)
    stacks = {t.os_id: t for t in threads if t.index is not None}
    if len(stacks) != len(expected["clrbt --json all"]["threads"]):
        found.append(f"{len(stacks)} threads for {len(expected['clrbt --json all']['threads'])}")
    for row in expected["clrbt --json all"]["threads"]:
        thread = stacks[row["os_id"]]
        backtrace = thread.backtrace()
        differences([frame_of(frame) for frame in row["frames"]], backtrace, f"stack of {row['os_id']}", found, (*skip, "module"))
        differences(row["end"], backtrace.end, f"end of {row['os_id']}", found)
    for row in expected["clrip2md"]:
        address = int(row["address"], 16)
        answer = runtime.method_at(address)
        if row["result"] == "method":
            differences(row["method"], answer, row["address"], found, skip)
            differences(row["code"], answer.code, row["address"] + ".code", found, skip)
        else:
            differences({k: v for k, v in row.items() if k != "result"}, answer, row["address"], found, skip)
    return found
