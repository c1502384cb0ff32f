"""A client of the Debug Adapter Protocol: what an editor says to lldb-dap, and what it hears."""
import json
import queue
import subprocess
import threading
import time


class DapError(Exception):
    """A request that failed, or that nobody answered."""


class Client:
    def __init__(self, adapter, environment=None):
        self.process = subprocess.Popen([adapter], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
        self.seq = 0
        self.answers = queue.Queue()
        self.events = []
        self.changed = threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        out = self.process.stdout
        while True:
            size = 0
            while True:
                line = out.readline()
                if not line:
                    with self.changed:
                        self.events.append({"event": "closed", "body": {}})
                        self.changed.notify_all()
                    self.answers.put(None)
                    return
                line = line.strip()
                if not line:
                    break
                if line.lower().startswith(b"content-length:"):
                    size = int(line.split(b":")[1])
            message = json.loads(out.read(size))
            if message["type"] == "response":
                self.answers.put(message)
            elif message["type"] == "event":
                with self.changed:
                    self.events.append(message)
                    self.changed.notify_all()

    def send(self, command, **arguments):
        self.seq += 1
        text = json.dumps({"seq": self.seq, "type": "request", "command": command, "arguments": arguments}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(text), text))
        self.process.stdin.flush()
        return self.seq

    def wait_for(self, seq, command, seconds=60):
        """The body of the answer to request `seq`. Answers come in the order of the requests, but for `launch`'s."""
        held, end = [], time.monotonic() + seconds
        try:
            while True:
                try:
                    answer = self.answers.get(timeout=max(0.1, end - time.monotonic()))
                except queue.Empty:
                    raise DapError(f"no answer to {command} within {seconds} s") from None
                if answer is None:
                    raise DapError(f"lldb-dap ended at {command}")
                if answer["request_seq"] == seq:
                    break
                held.append(answer)
        finally:
            for other in held:
                self.answers.put(other)
        if not answer["success"]:
            body = answer.get("body") or {}
            raise DapError(f"{command}: {answer.get('message') or ''} {body.get('error', {}).get('format', '')}".strip())
        return answer.get("body", {})

    def ask(self, command, seconds=60, **arguments):
        return self.wait_for(self.send(command, **arguments), command, seconds)

    def event(self, name, seconds=60, after=0, where=lambda body: True):
        """The first event of that name behind number `after`, and its number behind that."""
        end = time.monotonic() + seconds
        with self.changed:
            while True:
                for i, event in enumerate(self.events[after:], after + 1):
                    if event["event"] == name and where(event.get("body", {})):
                        return event.get("body", {}), i
                    if event["event"] == "closed":
                        raise DapError(f"lldb-dap ended before the event {name}")
                if not self.changed.wait(end - time.monotonic()) and time.monotonic() >= end:
                    raise DapError(f"no event {name} within {seconds} s")

    def close(self):
        try:
            self.ask("disconnect", 20, terminateDebuggee=True)
        except (DapError, OSError):
            pass
        self.process.kill()
        self.process.wait()
