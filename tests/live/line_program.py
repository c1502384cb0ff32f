"""Makes Lines.cs of programs/debugged: a random program, each line of which writes its own number into the mapped file before it does
anything else, and what it returns. Its own log is then the truth of what a debugger that goes from line to line must show.

A line logs its number; a return logs its number negated and the value after it. What has no entry of its own: braces, loop heads that come
round again, and a caller's line that a call returns to."""
import random

HEAD = """using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Debugged;

public static unsafe class Lines
{
    public static int* At;
    public static object Kept = "";
    public static Link Chain;
    public static readonly object[] Slots = new object[4];
    public static readonly int[] Few = { 3, 4 };
    public static readonly List<int> Numbers = new List<int> { 1, 2, 3, 4 };

    public sealed class Link { public Link Next; public int Count; }

    public static void Begin(IntPtr file)
    {
        At = (int*)file;
        for (int i = 0; i < 3; i++) Round(i);   // everything is compiled
        Program.Ready();
        for (int i = 0; i < 4000; i++)
        {
            Thread.Sleep(20);
            Round(i);
        }
    }

"""

# return type -> (what a method returns of its int r, the value that is logged of it)
RETURNS = {"int": ("r", "r"), "long": ("r * 5L", "(int)(r * 5L)"), "bool": ("(r & 1) == 0", "(r & 1) == 0 ? 1 : 0"), "double": ("r * 0.5", "r"), "short": ("(short)r", "(short)r"),
           "byte": ("(byte)r", "(byte)r")}
# The expression by which a caller uses the result.
USES = {"int": "{}", "long": "(int){}", "bool": "({} ? 3 : 4)", "double": "(int){}", "short": "{}", "byte": "{}"}


class Writer:
    def __init__(self, seed):
        self.random, self.lines = random.Random(seed), HEAD.splitlines()

    def put(self, text, indent=2):
        """One line; `LOG` in it becomes the entry of its number, `RETURN(V)` that of a return."""
        number = len(self.lines) + 1
        text = text.replace("LOG", f"*At++ = {number};")
        if "RETURN" in text:
            before, _, rest = text.partition("RETURN<")
            value, _, after = rest.partition(">")
            text = f"{before}*At++ = -{number}; *At++ = {value};{after}"
        self.lines.append("    " * indent + text)
        return number

    def block(self, indent, *lines):
        """Lines within braces; the number of the last brace."""
        self.put("{", indent)
        for line in lines:
            self.put(line, indent + 1)
        return self.put("}", indent)


class Program:
    """`functions`: name -> (first line, last line) of its braces. `heads`: loop heads. `handler_lines`: of catch and finally blocks,
    their heads too, and those that a compiler made for lock and foreach.
    `soft`: lines with calls that a debugger may step over (through stubs)."""

    def __init__(self, seed, functions=40):
        self.writer, self.functions, self.heads, self.handler_lines, self.soft, self.returns = Writer(seed), {}, set(), set(), set(), {}
        self.count = functions
        self.kinds = [self.writer.random.choice(["static"] * 4 + ["instance", "generic", "struct", "virtual"]) for _ in range(functions)]
        self.types = [self.writer.random.choice(["int"] * 4 + list(RETURNS)) for _ in range(functions)]
        self.round()
        self.thrower()
        for i in range(functions):
            self.function(i)
        self.writer.put("}", 0)

    def text(self):
        return "\n".join(self.writer.lines) + "\n"

    def call(self, above):
        """An expression that calls a function behind `above`, and whether it goes through a stub."""
        i = self.writer.random.randint(above + 1, min(self.count - 1, above + 8))
        arguments = f"(r & 15, b + {i})"
        target = {"static": f"F{i}", "instance": f"new C{i}().F{i}", "struct": f"new C{i}().F{i}", "generic": self.writer.random.choice([f"F{i}<int>", f"F{i}<string>"]),
                  "virtual": f"((B{i})new C{i}()).F{i}"}[self.kinds[i]]
        return USES[self.types[i]].format(target + arguments), self.kinds[i] == "virtual"

    def round(self):
        w = self.writer
        w.put("[MethodImpl(MethodImplOptions.NoInlining)] public static int Round(int a)", 1)
        first = w.put("{", 1)
        w.put("LOG int r = a, b = a & 7;")
        for _ in range(6):
            self.call_line(-1)
        w.put("RETURN<r> return r;")
        self.functions["Round"] = (first, w.put("}", 1))
        self.returns["Round"] = "int"
        w.put("", 0)

    def thrower(self):
        w = self.writer
        w.put("[MethodImpl(MethodImplOptions.NoInlining)] public static int Throws(int a)", 1)
        first = w.put("{", 1)
        w.put("LOG int r = a;")
        w.put('LOG if ((r & 1) == 0) throw new InvalidOperationException("even");')
        w.put("RETURN<r> return r;")
        self.functions["Throws"] = (first, w.put("}", 1))
        self.returns["Throws"] = "int"
        w.put("", 0)

    def call_line(self, above, indent=2):
        expression, soft = self.call(above)
        line = self.writer.put(f"LOG r += {expression};", indent)
        if soft:
            self.soft.add(line)
        return line

    def function(self, i):
        w, kind, returned = self.writer, self.kinds[i], self.types[i]
        name, indent = f"F{i}", 2
        if kind == "virtual":
            w.put(f"public abstract class B{i} {{ public abstract {returned} {name}(int a, int b); }}", 1)
        if kind in ("instance", "struct", "virtual"):
            w.put(f"public {'struct' if kind == 'struct' else 'sealed class'} C{i}{f' : B{i}' if kind == 'virtual' else ''}", 1)
            w.put("{", 1)
            indent = 3
            w.put(f"[MethodImpl(MethodImplOptions.NoInlining)] public {'override ' if kind == 'virtual' else ''}{returned} {name}(int a, int b)", 2)
        else:
            w.put(f"[MethodImpl(MethodImplOptions.NoInlining)] public static {returned} {name}{'<T>' if kind == 'generic' else ''}(int a, int b)", 1)
        first = w.put("{", indent - 1)
        w.put("LOG int r = a;", indent)
        self.lambdas = 0
        for _ in range(w.random.randint(2, 5)):
            self.statement(i, indent)
        value, logged = RETURNS[returned]
        w.put(f"RETURN<{logged}> return {value};", indent)
        self.functions[name] = (first, w.put("}", indent - 1))
        self.returns[name] = returned
        if indent == 3:
            w.put("}", 1)
        w.put("", 0)

    def statement(self, i, indent):
        w = self.writer
        kind = w.random.choice(["plain", "plain", "text", "choice", "branch", "loop", "switch", "finally", "catch", "lambda", "store", "objects", "foreach", "lock", "format", "call", "call", "two"])
        if kind in ("call", "two", "finally") and i + 1 >= self.count:
            kind = "plain"
        if kind == "plain":
            w.put(f"LOG r = r * {w.random.randint(2, 9)} + b - {w.random.randint(0, 99)};", indent)
        elif kind == "text":
            w.put(f'LOG string s{len(w.lines)} = "x" + b; r += s{len(w.lines)}.Length;', indent)
        elif kind == "store":   # through the runtime's write barriers
            w.put(f'LOG Kept = "k" + b; Slots[r & 3] = Kept; Chain = new Link {{ Next = r % {w.random.randint(2, 9)} == 0 ? null : Chain, Count = r }}; r += Chain.Count & 3;', indent)
        elif kind == "objects":   # through helpers, stubs of interfaces and methods of the framework
            o, n, k = (f"{name}{len(w.lines)}" for name in "onk")
            w.put(f"LOG object {o} = r; IList<int> {n} = Numbers; {n}[b & 3] = (int){o} & 7; r += {n}.Count + {n}[r & 3] + (Kept is string {k} ? {k}.Length : 0) + {o}.GetHashCode() % 3;", indent)
        elif kind == "choice":
            w.put("LOG if ((r & 1) == 0) r += 3; else r -= 1;", indent)
        elif kind == "switch":
            w.put("LOG switch (r & 3) { case 0: r++; break; case 1: r += b; break; default: r--; break; }", indent)
        elif kind == "branch":
            w.put(f"LOG if ((r & {w.random.choice([1, 2])}) == 0)", indent)
            w.block(indent, "LOG r ^= b;")
        elif kind == "loop":
            self.heads.add(w.put(f"LOG for (int i = 0; i < {w.random.randint(1, 3)}; i++)", indent))
            w.block(indent, "LOG r += i;")
        elif kind == "finally":
            w.put("try", indent)
            w.put("{", indent)
            self.call_line(i, indent + 1)
            w.put("}", indent)
            start = w.put("finally", indent)
            self.handler_lines.update(range(start, w.block(indent, "LOG r ^= 5;", "LOG r += b;") + 1))
        elif kind == "foreach":   # with a finally block that no line belongs to
            self.handler_lines.add(len(w.lines) + 1)
            self.heads.add(w.put(f"LOG foreach (int q in {w.random.choice(['Numbers', 'Few', '(IEnumerable<int>)Few'])})", indent))
            w.block(indent, "LOG r += q;")
        elif kind == "lock":
            w.put("LOG lock (Slots)", indent)
            self.handler_lines.add(w.block(indent, f"LOG r ^= {w.random.randint(1, 9)};"))
        elif kind == "format":
            w.put('LOG r += $"{b}:{r & 15:x}".Length + string.Join("-", Few).Length;', indent)
        elif kind == "catch":
            nested = w.random.random() < 0.5
            for depth in range(1 + nested):
                w.put("try", indent + depth)
                w.put("{", indent + depth)
            w.put(w.random.choice(["LOG r += Throws(r + b);", 'LOG if ((r & 2) == 0) throw new InvalidOperationException("here");']), indent + 1 + nested)
            w.put("LOG r ^= 3;", indent + 1 + nested)
            if nested:
                w.put("}", indent + 1)
                start = w.put("finally", indent + 1)
                self.handler_lines.update(range(start, w.block(indent + 1, "LOG r += 7;") + 1))
            w.put("}", indent)
            start = w.put("catch (InvalidOperationException)" + w.random.choice(["", f" when (r != {w.random.randint(100, 999)})"]), indent)
            self.handler_lines.update(range(start, w.block(indent, "LOG r -= b;") + 1))
        elif kind == "lambda":
            name = f"l{len(w.lines)}"
            first = w.put(f"LOG Func<int, int> {name} = x =>", indent) + 1
            w.put("{", indent)
            w.put(f"LOG x += {w.random.randint(1, 9)};", indent + 1)
            w.put("RETURN<x> return x;", indent + 1)
            self.functions[name] = (first, w.put("};", indent))
            self.returns[name] = "int"
            self.soft.add(w.put(f"LOG r += {name}(r & 255);", indent))
        elif kind == "call":
            self.call_line(i, indent)
        else:
            (one, soft), (two, also) = self.call(i), self.call(i)
            line = w.put(f"LOG r += {one} - {two};", indent)
            if soft or also:
                self.soft.add(line)

    def function_of(self, line):
        """The innermost function that holds a line, or None."""
        held = [(last - first, name) for name, (first, last) in self.functions.items() if first <= line <= last]
        return min(held)[1] if held else None


def make(path, seed=1):
    program = Program(seed)
    if not path.exists() or path.read_text() != program.text():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(program.text())
    return program
