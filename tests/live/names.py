"""Method names of the perf map and of StackTrace brought to the notation of our JSON."""
import collections
import re

PerfMethod = collections.namedtuple("PerfMethod", "module type arguments name parameters suffix dynamic")

KEYWORDS = {"Boolean": "bool", "Char": "char", "SByte": "sbyte", "Byte": "byte", "Int16": "short", "UInt16": "ushort", "Int32": "int", "UInt32": "uint",
            "Int64": "long", "UInt64": "ulong", "Single": "float", "Double": "double", "String": "string", "Object": "object", "Void": "void",
            "IntPtr": "nint", "UIntPtr": "nuint", "Decimal": "decimal"}


def parse_perf(text):
    """`RETURN [MODULE] TYPE::NAME(PARAMETERS)[TIER]`"""
    suffix = ""
    m = re.search(r"\[([A-Za-z0-9]+)\]$", text)
    if m and text[: m.start()].endswith(")"):
        suffix, text = m[1], text[: m.start()]
    m = re.search(r"(?:^|\s)\[([^\[\]]*)\] ", text)
    module, rest = (m[1], text[m.end():]) if m else ("", text)
    owner, _, call = rest.partition("::")
    name, _, parameters = call.partition("(")
    parameters = split_top(parameters[:-1]) if parameters.endswith(")") else None
    type_name, arguments = parse_type(owner)
    return PerfMethod(module, type_name, arguments, name, parameters, suffix, owner == "dynamicClass")


def of_event(text):
    """`Ns.Type`1[A].Method` of the runtime's method events as `Ns.Type.Method`."""
    owner, dot, name = text.rpartition("].")
    if not dot:
        return text
    return parse_type(owner + "]")[0] + "." + name


def split_top(text):
    """Splits at commas outside brackets of any kind."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        if c in "[<(":
            depth += 1
        elif c in "]>)":
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    if text:
        parts.append(text[start:])
    return parts


def parse_type(text):
    """`Ns.Outer`1+Inner`1[A,B]` -> ("Ns.Outer`1+Inner`1", [A, B]); brackets of arrays belong to the name."""
    m = re.match(r"^(.*?`\d+[^\[]*)\[(?![,\]*])(.*)\]$", text)
    if m and balanced(m[2]):
        return m[1], split_top(m[2])
    return text, []


def balanced(text):
    depth = 0
    for c in text:
        depth += (c == "[") - (c == "]")
        if depth < 0:
            return False
    return depth == 0


def plain(type_name, method):
    """The form of Method.name, generic arities removed."""
    return re.sub(r"`\d+", "", f"{type_name}.{method}" if type_name else method)


def squash(text):
    """A name without what notations differ in: arities, spaces, nesting marks, module prefixes."""
    text = re.sub(r"`\d+", "", text)
    return text.replace("+", ".").replace("/", ".").replace(" ", "")


def render(text):
    """A type of the perf map's instantiation (`System.Collections.Generic.List`1[System.Int32]`) in the notation of full_name."""
    suffix = ""
    m = re.search(r"((?:\[[,*]*\]|\*|&)+)$", text)
    if m:
        suffix, text = m[1], text[: m.start()]
    name, arguments = parse_type(text)
    if not arguments:
        if name.startswith("System.") and name[7:] in KEYWORDS:
            name = KEYWORDS[name[7:]]
        return name.replace("+", ".") + suffix
    return instantiate(name, arguments) + suffix


def instantiate(name, arguments):
    """Deals the arguments out over the nested types by their arities."""
    left = [render(a) for a in arguments]
    parts = []
    for part in name.split("+"):
        base, _, arity = part.partition("`")
        n = int(arity) if arity.isdigit() else 0
        parts.append(base + (f"<{', '.join(left[:n])}>" if n else ""))
        left = left[n:]
    return ".".join(parts)


def same_as_perf(method, perf):
    """Whether our Method and a line of the perf map name the same method; else what differs."""
    if perf.dynamic:
        ours = method["name"].rpartition(".")[2] if not method["name"].endswith(perf.name) else perf.name
        return None if ours == perf.name else f"name {method['name']} for {perf.name}"
    want = plain(perf.type, perf.name)
    if squash(method["name"]) != squash(want):
        return f"name {method['name']} for {want}"
    full = method["full_name"]
    prefix = instantiate(perf.type, perf.arguments) if perf.arguments else render(perf.type)
    prefix = (prefix + "." + perf.name).replace(" ", "")
    got = full.replace(" ", "")
    if not got.startswith(prefix) or got[len(prefix): len(prefix) + 1] not in ("(", "<", ""):
        return f"full name {full} for {prefix}"
    if method.get("signature_known") and perf.parameters is not None:
        ours = parameters(full)
        if ours is None or len(ours) != len(perf.parameters):
            return f"parameters of {full} for {perf.parameters}"
    return None


def parameters(full_name):
    """The parameters at the end of a full name, or None."""
    if not full_name.endswith(")"):
        return None
    depth = 0
    for at in range(len(full_name) - 1, -1, -1):
        depth += (full_name[at] == ")") - (full_name[at] == "(")
        if depth == 0:
            return split_top(full_name[at + 1: -1])
    return None
