#!/usr/bin/env python3
"""How long a start takes: from exec until all memory is faulted in and the workers are let go, a million keys reserved.

  start_bench.py TIDEWIRE CAPTURE [--smoke] [--repeat N]

A file source, and a port (net_null) with DPDK and all. Goal 0.5 s, on a host that is quiet. Wall time and, since the
kernel zeroing pages is nearly all of it, CPU time of the whole process until then. The run behind it gives results and
digest. Exit code 1: the least of all runs is 10 % above the goal."""
import argparse
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

GOAL = 0.5
TICKS = os.sysconf("SC_CLK_TCK")


def config(path, source, keys):
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"""
[source.in]
{source}
[query.talkers]
source = "in"
where = "src present"
key = ["src"]
aggregates = ["count", "sum(wire_length) as bytes"]
window = {{ type = "tumbling", size = "1 s" }}
max_keys = {keys}
[sink.out]
type = "stdout"
format = "binary"
""")


def start(tidewire, conf, endless):
    begin = time.monotonic()
    run = subprocess.Popen([tidewire, "run", "--no-progress", conf], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                           text=True)
    for line in run.stderr:
        if " reserved on " in line:
            break
    wall = time.monotonic() - begin
    with open(f"/proc/{run.pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    cpu = (int(fields[11]) + int(fields[12])) / TICKS
    if endless:
        run.send_signal(signal.SIGINT)
    errors = run.communicate()[1]
    closing = re.search(r"(\d+) windows, .*, digest ([0-9a-f]{16})", errors)
    if run.returncode != 0 or not closing:
        sys.exit(f"start_bench: the program failed: {line}{errors}")
    reserved = re.search(r"([0-9.]+ [KM]iB) reserved on (.+)", line)
    return wall, cpu, f"{reserved[1]} on {reserved[2]}", closing[1], closing[2]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tidewire")
    parser.add_argument("capture")
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--repeat", type=int, default=7)
    args = parser.parse_args()
    keys = 1_000_000
    if args.smoke:
        args.repeat, keys = 1, 1_000
    sources = {"start-file": f'type = "file"\npath = "{os.path.abspath(args.capture)}"',
               "start-port": 'type = "port"\ndevice = "net_null0"'}
    failed = False
    print(f"{'name':12} {'keys':>8} {'least':>6} {'median':>6} {'goal':>5} {'':6} {'CPU s':>6} windows digest   memory")
    with tempfile.TemporaryDirectory() as folder:
        for name, source in sources.items():
            conf = os.path.join(folder, "start.conf")
            config(conf, source, keys)
            runs = [start(args.tidewire, conf, name == "start-port") for _ in range(args.repeat)]
            least, median = min(run[0] for run in runs), statistics.median(run[0] for run in runs)
            far = not args.smoke and least > 1.1 * GOAL
            failed |= far
            verdict = "FAIL" if far else "above" if median > GOAL and not args.smoke else ""
            _, _, memory, windows, digest = runs[0]
            print(f"{name:12} {keys:8} {least:6.2f} {median:6.2f} {GOAL:5} {verdict:6} "
                  f"{statistics.median(run[1] for run in runs):6.2f} {windows} {digest}   {memory}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
