"""What is wrong in the answers about a damaged core, compared with those about the undamaged one.

A wrong name is a name that the undamaged core does not have at that address, or at that Frame. It is not wrong
  - to know less: no method, a fault, a name of the token alone, or one that the plugin itself calls incomplete (`degraded`), of the same method;
  - to read another text where the text itself was damaged: metadata and the names of modules and of dynamic methods are the only truth about themselves. Then a name is wrong
    when it belongs to another method: another MethodDesc, token or start.
Where a damaged stack leads to other addresses, the undamaged core is asked about these (`Late`)."""
import itertools
import json
import re

# What a terminal obeys, and what reorders or ends a line; newline and tab are the plugin's own.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
CONTROL_OF_JSON = re.compile("[\x00-\x08\x0b-\x1f]")   # JSON keeps the true text
FRAME = re.compile(r"frame #\d+: (0x[0-9a-f]+) ([^`\n]+)`([^\n]*)")
SUMMARY = re.compile(r"Summary: ([^`\n]+)`([^\n]*)")
# Kinds of places that hold text, or decide which text a name is.
TEXTS = {"metadata", "image"}
# What says where the text of a name is.
NAMING = "DynamicMethodDesc.MethodName "


def is_text(kind, what):
    return kind in TEXTS or what.startswith(NAMING)


def control_bytes(command, text):
    found = (CONTROL_OF_JSON if "--json" in command else CONTROL).search(text)
    return f"`{command}` prints the control character {found[0]!r}: {text[max(0, found.start() - 60):found.end() + 20]!r}" if found else None


def parsed(text):
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return None


def identity(answer):
    """Of what the plugin says of an address or a frame: the method and its code, or None."""
    method = answer.get("method")
    # Of a gap the method before it is told, which is no name of the address.
    if not method or answer.get("result") == "fault" or answer.get("reason") == "gap":
        return None
    return {"name": method.get("full_name") or method.get("name"), "token": method.get("token"), "desc": method.get("method_desc"),
            "module": method.get("module"), "start": answer.get("code", {}).get("start"), "degraded": method.get("degraded"),
            "from": method.get("name_from"), "result": answer.get("result")}


def before_arguments(text):
    """`Ns.Type.Run` of LLDB's `Ns.Type.Run(a=1) + 12 at File.cs:3`."""
    return re.split(r"\(| \+ \d+| at ", text, maxsplit=1)[0].strip()


class Claims:
    """The names in one LLDB's answers."""

    def __init__(self, texts):
        self.methods, self.frames, self.published = {}, {}, {}
        for command, text in texts.items():
            if command.startswith("clrip2md --json"):
                for answer in parsed(text) or []:
                    self.methods[int(answer["address"], 16)] = identity(answer)
            elif command.startswith("clrbt --json"):
                for thread in (parsed(text) or {"threads": []})["threads"]:
                    for frame in thread["frames"]:
                        self.add_frame(frame)
            elif command.startswith("image lookup -a "):
                found = SUMMARY.search(text)
                if found:
                    self.published[int(command.split()[-1], 16)] = found[1], before_arguments(found[2])
            elif command.startswith("thread backtrace "):
                for ip, module, name in FRAME.findall(text):
                    self.published.setdefault(int(ip, 16), (module, before_arguments(name)))

    def add_frame(self, frame):
        claim = identity(frame)
        if claim and frame["kind"] == "runtime":
            self.frames[frame.get("sp"), frame.get("frame_type")] = claim
        elif claim and "ip" in frame:
            self.methods.setdefault(int(frame["ip"], 16), claim)


class Late:
    """Names at addresses that the undamaged core was not asked about yet."""

    def __init__(self):
        self.waiting = []

    def add(self, mutant, how, address, claim, text_damaged):
        self.waiting.append((mutant, how, address, claim, text_damaged))

    def addresses(self, how):
        return sorted({a for _, h, a, _, _ in self.waiting if h == how})


def difference(claim, true, text_damaged):
    """Why `claim` is a wrong name where the undamaged core says `true`; None when it is not."""
    if claim is None or claim["name"] is None:
        return None
    if true is None:
        return f"{claim['name']} ({claim['token']}), where the undamaged core has no method"
    if same(claim, true):
        return None
    known_less = claim["degraded"] or claim["from"] == "token"
    # A record that says that the runtime made the method takes its token away.
    of_the_same = claim["token"] in (None, true["token"]) and claim["desc"] == true["desc"] and claim["start"] == true["start"]
    if of_the_same and (known_less or text_damaged):
        return None
    # Where a module's metadata cannot be had, nothing tells that a damaged token is another method's; the plugin says that it has no metadata.
    if claim["from"] == "token" and claim["degraded"] and claim["desc"] == true["desc"] and claim["start"] == true["start"]:
        return None
    return f"{claim['name']} ({claim['token']}, {claim['desc']}), for {true['name']} ({true['token']}, {true['desc']})" + (f", told as: {claim['degraded']}" if known_less else "")


def same(claim, true):
    return claim["name"] == true["name"] and (claim["module"] == true["module"] or claim["degraded"] or claim["token"] == true["token"])


def judge(number, claims, true, late, text_damaged):
    """Wrong names, as sentences; what `true` does not know goes to `late`."""
    wrong = []
    for address, claim in claims.methods.items():
        if address not in true.methods:
            if claim:
                late.add(number, "method", address, claim, text_damaged)
        elif why := difference(claim, true.methods[address], text_damaged):
            wrong.append(f"at {address:#x}: {why}")
    for key, claim in claims.frames.items():
        # A Frame that the undamaged stack does not have is no place with a name.
        if key in true.frames and (why := difference(claim, true.frames[key], text_damaged)):
            wrong.append(f"in the Frame {key[1]} at {key[0]}: {why}")
    for address, claim in claims.published.items():
        if address not in true.published:
            late.add(number, "published", address, claim, text_damaged)
        elif why := other_symbol(claim, true.published[address], text_damaged, true.methods.get(address)):
            wrong.append(f"published at {address:#x}: {why}")
    return wrong


def is_one_type(text):
    """Whether the brackets of `text` close only what it opened: "int>.Inner<int" is no type."""
    depths = list(itertools.accumulate({"<": 1, ">": -1}.get(c, 0) for c in text))
    return min(depths) >= 0 and depths[-1] == 0


def is_less_of(name, whole):
    """Whether `name` is `whole`, but for a "?" where that has a type."""
    found = re.fullmatch(re.escape(name).replace(r"\?", "(.+?)"), whole)
    return bool(found) and all(map(is_one_type, found.groups()))


def other_symbol(claim, true, text_damaged, method=None):
    if claim == true or (text_damaged and true is not None):
        return None
    # What LLDB itself calls a place for which it has unwind rows and no name.
    if claim[1].startswith("___lldb_unnamed_symbol"):
        return None
    # Of a method whose type cannot be read, nothing but its MethodDesc is known.
    if method and claim[1] == f"method {method['desc']}":
        return None
    if true is None:
        return f"{claim[0]}`{claim[1]}, where the undamaged core has no name"
    # A name of which less is known is that of its token, app.dll!0x06000123, or has a "?" for each type that could not be read.
    return None if "!0x06" in claim[1] or is_less_of(claim[1], true[1]) else f"{claim[0]}`{claim[1]}, for {true[0]}`{true[1]}"


def judge_late(late, true):
    """(mutant, sentence) of each wrong name among those that waited for the undamaged core's answers."""
    for number, how, address, claim, text_damaged in late.waiting:
        if how == "published":
            why = other_symbol(claim, true.published.get(address), text_damaged, true.methods.get(address) or true.methods.get(address - 1))
        else:
            # A caller's frame is looked up by the instruction before its return address.
            whys = [difference(claim, true.methods.get(a), text_damaged) for a in (address, address - 1)]
            why = None if None in whys else whys[0]
        if why:
            yield number, f"at {address:#x} ({how}): {why}"
