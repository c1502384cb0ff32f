"""Runs a script within LLDB that measures one command, and takes its figures from a file: what LLDB prints is not mixed with them."""
import json
import os
import subprocess
import sys


def figures(lldb, before, inside, after, command, folder):
    """What the Python text `inside` writes as JSON to $BENCH_OUT for $BENCH_COMMAND, between the LLDB commands `before` and `after`."""
    script, out = os.path.join(folder, "inside.py"), os.path.join(folder, "figures.json")
    with open(script, "w") as file:
        file.write(inside)
    words = [word for line in [*before, f"command script import {script}", *after] for word in ("-o", line)]
    done = subprocess.run([lldb, "--no-lldbinit", "--batch", *words], env={**os.environ, "BENCH_COMMAND": command, "BENCH_OUT": out},
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
    try:
        with open(out) as file:
            return json.load(file)
    except OSError:
        sys.exit(f"{command}: LLDB gave no figures:\n{done.stdout[-2000:]}")
    finally:
        if os.path.exists(out):
            os.unlink(out)
