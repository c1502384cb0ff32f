"""What `clr analyze` says of services in a known state: of programs/serving."""
import contextlib
import json
import os
import pathlib
import pty
import re
import select
import signal
import threading
import time
import urllib.request

from check_locks import ask
from plugin import ENVIRONMENT
from processes import HERE

SOURCE = HERE / "programs" / "serving" / "Program.cs"
BUILDS = {"debug": ("Debug", {}), "release": ("Release", {})}
LIMIT = 200_000_000


def line_of(mark):
    """The number of the line of the program that ends with this comment."""
    (number,) = [n for n, text in enumerate(SOURCE.read_text().splitlines(), 1) if text.endswith("// " + mark)]
    return number


def analyze(lldb, target):
    (answer,) = ask(lldb, target, ["clr analyze --json"])
    return answer


def check_group(answer, count, kind, mark, name=None, holder=()):
    """All calls are one group, with its place, the name of what is waited for, and who holds it."""
    assert answer["verdict"] == "waiting", f"{answer['verdict']}: {answer['text']} {answer['evidence']} {answer['missing']}"
    group = answer["waiting"][0]
    assert group["count"] == count and group["waits_for"]["kind"] == kind, group
    assert pathlib.Path(group["source"]["file"]).name == SOURCE.name and group["source"]["line"] == line_of(mark), group["source"]
    assert name is None or group["waits_for"].get("name") == name, group["waits_for"]
    for text in holder:
        assert text in group.get("holder", ""), f"{text}: {group.get('holder')}"
    assert group["text"] in answer["text"] and group["text"] in answer["evidence"], answer
    return answer["text"]


def semaphore(lldb, target):
    answer = analyze(lldb, target)
    # One holds it, and waits for what it loads.
    return check_group(answer, 199, "semaphore", "at the gate", "Serving.Cache._gate", ("Cache.Get(int)", f":{line_of('behind the gate')}", "a TaskCompletionSource"))


def thread(lldb, target):
    answer = analyze(lldb, target)
    return check_group(answer, 49, "semaphore", "at the gate of the thread", "Serving.Cache._gate", ("thread #", "which waits for the lock of object", "'keeper'"))


def source(lldb, target):
    return check_group(analyze(lldb, target), 30, "completion_source", "at the source", "reply")


def reply(lldb, target):
    return check_group(analyze(lldb, target), 5, "socket", "at the reply")


def knot(lldb, target):
    answer = analyze(lldb, target)
    assert answer["verdict"] == "deadlock", answer
    assert any("async methods wait for each other" in e and "First" in e and "Second" in e for e in answer["evidence"]), answer["evidence"]
    (deadlocks,) = lldb.json(target, ["clr deadlocks --json"])
    assert len(deadlocks) == 1 and deadlocks[0]["kind"] == "async" and deadlocks[0]["certain"] and len(deadlocks[0]["members"]) >= 2, deadlocks
    assert {"First", "Second"} <= {w for m in deadlocks[0]["members"] for w in re.findall("First|Second", m["text"])}, deadlocks
    return answer["text"]


def itself(lldb, target):
    deadlocks, answer = ask(lldb, target, ["clr deadlocks --json", "clr analyze --json"])
    assert answer["verdict"] == "deadlock" and answer["certain"], answer
    assert len(deadlocks) == 1 and deadlocks[0]["kind"] == "async" and len(deadlocks[0]["members"]) == 1, deadlocks
    assert "WaitsForItself" in deadlocks[0]["members"][0]["text"], deadlocks
    assert any("WaitsForItself" in e and f"Program.cs:{line_of('at itself')}" in e for e in answer["evidence"]), answer["evidence"]
    return answer["text"]


def callback(lldb, target):
    answer = analyze(lldb, target)
    assert answer["verdict"] == "waiting", answer
    told = [e for e in answer["evidence"] if f"Program.cs:{line_of('at the callback')}" in e]
    assert len(told) == 1 and "the end of a callback of a cancellation, which thread #" in told[0] and "'canceler' runs" in told[0], answer["evidence"]
    return told[0]


def spins(lldb, target):
    answer = analyze(lldb, target)
    assert answer["verdict"] == "busy", answer
    assert any(f"Program.cs:{line_of('at the word')}" in e and "runs in" in e for e in answer["evidence"]), answer["evidence"]
    return answer["text"]


def polls(lldb, target):
    answer = analyze(lldb, target)
    assert answer["verdict"] == "busy", answer
    assert any(f"Program.cs:{line_of('at the turn')}" in e and "runs in" in e for e in answer["evidence"]), answer["evidence"]
    return answer["text"]


def healthy(lldb, target):
    answer = analyze(lldb, target)
    assert answer["verdicts"] == ["healthy"] and answer["certain"] and answer["waiting"] == [], answer
    return answer["text"]


def memory(lldb, target):
    answer = analyze(lldb, target)
    assert answer["verdict"] == "memory", answer
    assert answer["memory"]["limit"] == {"bytes": LIMIT, "source": answer["memory"]["limit"]["source"]}, answer["memory"]
    assert answer["memory"]["types"][0]["name"] == "byte[]", answer["memory"]
    return f"{answer['text']}; {answer['memory']['types'][0]}"


def failed(lldb, target):
    answer = analyze(lldb, target)
    assert answer["verdict"] == "memory" and "1 task failed with an OutOfMemoryException" in answer["text"], answer
    return answer["text"]


# mode -> (arguments, settings of the runtime, check)
MODES = {"semaphore": (("semaphore", "200"), {}, semaphore), "thread": (("thread",), {}, thread), "source": (("source",), {}, source), "reply": (("reply",), {}, reply), "knot": (("knot",), {}, knot), "itself": (("itself",), {}, itself),
         "callback": (("callback",), {}, callback), "spins": (("spins",), {}, spins), "polls": (("polls",), {}, polls),
         "idle": (("idle",), {}, healthy), "dispatch": (("dispatch",), {}, healthy), "web": (("web",), {}, healthy), "failed": (("failed",), {}, failed),
         "memory": (("memory",), {"GCHeapHardLimit": hex(LIMIT)}, memory)}


@contextlib.contextmanager
def load(port, path="", clients=8):
    """Requests without end from other threads; yields the count of answers so far."""
    answers, over = [0], threading.Event()

    def client():
        while not over.is_set():
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=120) as answer:
                    answer.read()
                answers[0] += 1
            except OSError:
                if over.is_set():
                    return

    threads = [threading.Thread(target=client, daemon=True) for _ in range(clients)]
    for t in threads:
        t.start()
    try:
        yield answers
    finally:
        over.set()


def port_of(running):
    return int(next(line for line in running.output.decode().splitlines() if line.startswith("PORT ")).split()[1])


def check_load(lldb, target, running):
    """A web server whose requests are all answered has no trouble that keeps it from working."""
    with load(port_of(running)) as answers:
        while answers[0] < 200:
            threading.Event().wait(0.05)
        seen = []
        for _ in range(5):
            deadlocks, answer = ask(lldb, target, ["clr deadlocks --json", "clr analyze --json"])
            assert deadlocks == [], deadlocks
            assert answer["verdict"] in ("healthy", "busy"), f"{answer['verdict']}: {answer['evidence']}"
            seen.append(answer["verdict"])
    return f"{', '.join(seen)} with {answers[0]} answers"


def check_requests(lldb, target, running):
    """Requests that are never answered are told as requests, by what they wait for."""
    with load(port_of(running), "never", 6):
        threading.Event().wait(3)
        answer = analyze(lldb, target)
    group = answer["waiting"][0]
    assert answer["verdict"] == "waiting" and (group["count"], group["requests"]) == (5, 5), answer
    assert group["waits_for"]["name"] == "Serving.Cache._gate" and "5 requests wait for" in answer["text"], answer
    return answer["text"]


def check_signal(lldb, target, running):
    """A thread that waits for a signal may wait for work, but not in a request."""
    with load(port_of(running), "signal", 3):
        threading.Event().wait(3)
        answer = analyze(lldb, target)
    (stand,) = [text for text in answer["evidence"] if text.startswith("3 threads wait in ")]
    assert answer["verdict"] == "waiting" and f":{line_of('at the signal')}:" in stand and "not set" in stand, answer
    return stand


def check_again(lldb, target, moves):
    """Two stops tell a hang from a wait; the process goes on between them, and stands at the end."""
    answer, state = lldb.run(target, ["clr analyze --again 1.5 --json", "process status"])
    answer = json.loads(answer)
    again = answer["again"]
    assert "stopped" in state, state
    assert again["finding"] == ("wait" if moves else "hang"), again
    assert 1.4 < again["seconds"] < 30, again
    chains = again["chains"]
    if moves:
        assert chains["moved"] > chains["stood"], chains
    else:
        assert chains["moved"] == 0 and chains["stood"] == answer["waiting"][0]["count"] + sum(g["count"] for g in answer["waiting"][1:]), again
        assert answer["certain"], answer
    return again["text"]


def state_of(pid):
    """The letter of the kernel for a process: t is one that its debugger holds."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def wait_for(what, seconds, told):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, told()
        time.sleep(0.05)


def check_again_interrupted(lldb, target):
    """Ctrl-C at a terminal ends the wait at once and says so; the process stands as before, and goes on when it is let go."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(lldb.driver, [str(lldb.driver), "--no-lldbinit", "--no-use-colors"], {**ENVIRONMENT, "TERM": "dumb"})
    text = bytearray()

    def said(words):
        while select.select([terminal], [], [], 0)[0]:
            text.extend(os.read(terminal, 65536))
        return words in text

    def shown():
        return text.decode(errors="replace")[-2000:]

    def command(line):
        os.write(terminal, line.encode() + b"\n")

    try:
        wait_for(lambda: said(b"(lldb)"), 60, shown)
        command(f'plugin load "{lldb.plugin}"')
        command(f"process attach --pid {target.pid}")
        wait_for(lambda: said(b"Architecture set to"), 60, shown)
        time.sleep(1)
        command("clr analyze --again 600")
        wait_for(lambda: said(b"") or state_of(target.pid) != "t", 60, shown)
        time.sleep(2)
        begin = time.monotonic()
        os.write(terminal, b"\x03")
        wait_for(lambda: said(b"and stands: nothing was compared"), 60, shown)
        seconds = time.monotonic() - begin
        assert state_of(target.pid) == "t", state_of(target.pid)
        assert seconds < 20, f"{seconds:.1f} s"
        command("process detach")
        wait_for(lambda: said(b"detached"), 60, shown)
        wait_for(lambda: state_of(target.pid) in "SR", 10, shown)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)
    return f"stands {seconds:.1f} s after Ctrl-C"


def check_again_refused(lldb, core):
    lldb.run(core, ["clr analyze --again 1"], go_on=True)
    assert "a core does not run" in lldb.errors, lldb.errors
    return "refused"


def check_bare(lldb, core):
    """Without the heap the stacks decide, and the answer says so."""
    answer = analyze(lldb, core)
    assert answer["verdict"] == "healthy" and not answer["certain"], answer
    told = [m for m in answer["missing"] if "by the stacks of threads alone" in m]
    assert len(told) == 1, answer["missing"]
    return told[0]
