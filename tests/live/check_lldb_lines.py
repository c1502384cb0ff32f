"""`next`, `step` and `finish` through a generated program (line_program.py) against the log that the program writes of itself: at each stop the
line that LLDB shows is the one that runs next, and between two stops ran what the command says, neither more nor less."""
import array
import collections

import check_lldb_step
from results import Examples

Entry = collections.namedtuple("Entry", "line depth function value stack")


def read_log(path, program):
    """Every entry with the calls that are active when it is written. What an exception ended is over with the first line of the handler."""
    numbers = array.array("i", path.read_bytes())
    firsts = {first + 1: name for name, (first, _) in program.functions.items()}
    entries, stack, i = [], [], 0
    while i < len(numbers) and numbers[i]:
        line, value = abs(numbers[i]), None
        if numbers[i] < 0:
            value = numbers[i + 1]
            i += 1
        i += 1
        if line in firsts:
            stack = stack + [(firsts[line], line)]
        while line in program.handler_lines and line not in program.heads and stack and program.function_of(line) != stack[-1][0]:
            stack = stack[:-1]
        assert stack and program.function_of(line) == stack[-1][0], f"the log is not one of this program: line {line} in {stack}"
        stack = stack[:-1] + [(stack[-1][0], line)]
        entries.append(Entry(line, len(stack), stack[-1][0], value, stack))
        if value is not None:
            stack = stack[:-1]
    return entries


class Walk:
    def __init__(self, program, entries, wrong):
        self.program, self.entries, self.wrong = program, entries, wrong
        self.source = [""] + program.writer.lines

    def active(self, count):
        """The calls that are active when `count` entries have been written."""
        if not count:
            return []
        last = self.entries[count - 1]
        return last.stack[:-1] if last.value is not None else last.stack

    def classify(self, row):
        """What a stop is: the start of the next line, or a place without an entry. None: it can be none of them."""
        line, count = row["line"], row["log"]
        stack = self.active(count)
        following = self.entries[count] if count < len(self.entries) else None
        enters = following and len(following.stack) > len(stack)
        if following and line == following.line:
            return "line"
        text, inside = self.source[line].strip(), self.program.function_of(line)
        if line in self.program.handler_lines and any(inside == name for name, _ in stack) and (text in "{}" or text.startswith(("catch", "finally"))):
            return "brace"   # perhaps of an exception that ends what the method called
        if text in ("{", "}", "};", "try", "finally"):
            if (stack and inside == stack[-1][0]) or (enters and inside == following.function) or (count and inside == self.entries[count - 1].function):
                return "brace"
        if stack and line == stack[-1][1]:
            return "back"
        if line in self.program.heads and stack and self.program.function_of(line) == stack[-1][0]:
            return "head"
        return None

    def depth(self, row, kind):
        """How deep the stopped frame is."""
        count, line = row["log"], row["line"]
        if kind == "line":
            return self.entries[count].depth
        stack = self.active(count)
        inside = self.program.function_of(line)
        if kind != "brace":
            return len(stack)
        # Not active is the brace before a method's first line, or behind its last.
        return next((i + 1 for i, (name, _) in enumerate(stack) if name == inside), len(stack) + 1)

    def check(self, before, row, op):
        kind, was = self.classify(row), self.classify(before)
        what = f"{op} at line {before['line']} ({was}, {self.source[before['line']].strip()}), {before['log']} entries: at line {row['line']} {self.source[row['line']].strip()}, {row['log']} entries"
        if kind is None:
            following = self.entries[row["log"]].line if row["log"] < len(self.entries) else "none"
            self.wrong.add(f"a line that does not run next, after {op}", f"{what}; next is {following}")
            return kind
        if was is None:
            return kind
        ran = self.entries[before["log"]:row["log"]]
        depth = self.depth(before, was)
        mine = 1 if was == "line" else 0
        if op == "next":
            if sum(e.depth <= depth for e in ran) != mine:
                self.wrong.add("next ran another number of lines", f"{what}: {[e.line for e in ran if e.depth <= depth]}")
        elif op == "step":
            over = len(ran) - mine
            if over and not (before["line"] in self.program.soft and all(e.depth > depth for e in ran[mine:])):
                self.wrong.add("step ran another number of lines", f"{what}: {[e.line for e in ran]}")
        elif op == "finish":
            self.check_finish(what, before, row, ran, depth)
        return kind

    def check_finish(self, what, before, row, ran, depth):
        if before["line"] in self.program.handler_lines:
            return   # the handler returns to its method, and returns nothing
        if row["line"] in self.program.handler_lines and self.source[row["line"]].strip().startswith(("catch", "finally", "{")):
            return   # an exception ended the method
        behind = self.classify(before) == "brace" and not ran   # the value is in its register already
        last = ran[-1] if ran else self.entries[before["log"] - 1] if behind else None
        if last is None or last.value is None or last.depth != depth or sum(e.depth == depth and e.value is not None for e in ran) > 1 or any(e.depth < depth for e in ran):
            self.wrong.add("finish does not end with the return", f"{what}: {[(e.line, e.depth) for e in ran][-5:]}, depth {depth}")
            return
        kind, got = self.program.returns[last.function], row.get("returned")
        if got is None:
            self.wrong.add(f"finish shows no returned value of type {kind}", what)
        elif not same_value(kind, got["value"], last.value):
            self.wrong.add(f"returned value of type {kind}", f"{what}: {got} for {last.value}")


def same_value(kind, text, logged):
    try:
        if kind == "bool":
            return text == ("true" if logged else "false")
        if kind == "double":
            return float(text) == logged * 0.5
        if kind == "byte" and not text.lstrip("-").isdigit():
            return False
        number = int(text)
    except (TypeError, ValueError):
        return False
    return number == logged if kind != "long" else (number - logged) % (1 << 32) == 0


def check(lldb, target, program, log, count, seed=7):
    rows = check_lldb_step.drive(lldb, target, f"drive-lines {log} Debugged.Lines.Round {count} {seed}", seconds=120 + count)
    entries = read_log(log, program)
    wrong, figures, kinds = Examples(), collections.Counter(), collections.Counter()
    walk, before, steps = Walk(program, entries, wrong), None, [r for r in rows if r["op"] in ("continue", "next", "step", "finish")]
    for number, row in enumerate(steps):
        if row["state"] != "stopped":
            wrong.add("the process is lost", f"{row['op']} {number}: {row['state']} {row.get('text', '')[:300]}")
            break
        name = row["function"] or ""
        if row["op"] != "continue" and (row["description"] or "").startswith("signal"):
            wrong.add("a signal", f"{row['op']} {number}: {row['description']} in {name}")
            break
        inside = row.get("file") == "Lines.cs" and row["line"] and ".Begin" not in name
        if row["op"] == "finish" and before is not None and before["line"] in program.handler_lines and row.get("file") == "Lines.cs" and row["line"] == 0:
            before = None   # behind the call of a handler, which no line has
            continue
        if not inside:
            # Out of the outermost method is allowed; anywhere else is not.
            if before is not None and not (program.function_of(before["line"]) == "Round" or ".Begin" in name):
                wrong.add("a stop outside of the program", f"{row['op']} {number} from line {before['line']}: {row['pc']:#x} {name} {row.get('text', '')[:200]}")
            before = None
            continue
        function = program.function_of(row["line"])
        if function and not function.startswith("l") and f".{function}" not in name:
            wrong.add("name of the function", f"line {row['line']} is in {function}: {name}")
        if row["op"] == "continue" or before is None:
            before = row
            continue
        if row.get("thread") != before["thread"]:
            wrong.add("another thread", f"{row['op']} {number}")
        figures[row["op"]] += 1
        kinds[walk.check(before, row, row["op"])] += 1
        before = row
    done = sum(figures.values())
    text = f"{done} steps ({', '.join(f'{n} {op}' for op, n in figures.items())}), {kinds['line']} lines, " + ", ".join(f"{n} {k}" for k, n in kinds.items() if k not in ("line", None))
    text += f"; {rows[-1].get('seconds', 0) / max(1, len(steps)) * 1000:.0f} ms each"
    assert done > count / 2 and kinds["line"] > count / 4, f"too few steps were compared: {text}; the last: {steps[-1] if steps else rows}"
    return wrong.require_none(text)
