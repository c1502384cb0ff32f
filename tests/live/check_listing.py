"""`clr u` of many methods: its instructions cover the parts of each body exactly, and what is called has a name or a reason why it has none."""
import collections

from results import Examples


def check(lldb, target, wanted):
    """Methods of every kind, evenly over the whole list."""
    (rows,) = lldb.json(target, ["clr methods --json"], 600)
    rows = rows[::max(1, len(rows) // wanted)][:wanted]
    listings = lldb.json(target, [f"clr u --json {row['code']['start']}" for row in rows], 900)
    wrong, figures = Examples(), collections.Counter()
    for row, listing in zip(rows, listings):
        name = f"{row['code']['start']} {row['method']['full_name']}"
        if listing["code"]["regions"] != row["code"]["regions"]:
            wrong.add("regions", f"{name}: {listing['code']['regions']}")
        expected, linear = [], 0
        instructions = iter(listing["instructions"])
        for region in listing["code"]["regions"]:
            at, end = int(region["start"], 16), int(region["start"], 16) + region["size"]
            while at < end:
                instruction = next(instructions, None)
                if instruction is None or int(instruction["address"], 16) != at or instruction["offset"] != linear:
                    wrong.add("instructions do not cover the region", f"{name} at {at:#x}: {instruction}")
                    break
                at, linear = at + instruction["size"], linear + instruction["size"]
            else:
                if at != end:
                    wrong.add("instructions beyond the region", f"{name}: {at - end} bytes")
        if next(instructions, None) is not None:
            wrong.add("instructions beyond the body", name)
        for instruction in listing["instructions"]:
            figures["instructions"] += 1
            if instruction["text"] is None:
                wrong.add("not an instruction", f"{name} at {instruction['address']}")
                continue
            if not instruction["text"].startswith(("call", "blr", "bl ")):
                continue
            reference = instruction.get("target")
            if reference is None:
                figures["calls through registers"] += 1
            elif "name" in reference:
                figures["named"] += 1
            elif "unnamed" in reference:
                figures["not named: " + reference["unnamed"]] += 1
            else:   # a call within its own body needs none
                figures["within the body"] += 1
    return wrong.require_none(f"{len(listings)} methods; " + ", ".join(f"{count} {what}" for what, count in sorted(figures.items())))
