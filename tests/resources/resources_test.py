#!/usr/bin/env python3
"""What a running program takes from its host: what `explain` said, and after its start nothing more.
    resources_test.py BINARY MAKE_CAPTURE

Each case runs the whole program on a recorded capture at its own pace for ten seconds. Memory is looked at when it
says that it is ready; page faults and system calls of the workers' threads from then until shortly before the end.
A build with debug checks ends at once where a worker allocates."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BINARY, MAKE_CAPTURE = (os.path.abspath(path) for path in sys.argv[1:3])
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20}
RATE, SECONDS, FLOWS = 100_000, 11, 1_000_000


def memory_terms(explained):
    """{(where, what): bytes} of the sum that `explain` prints, and its total."""
    section = explained.split("\nmemory, reserved at start\n")[1].split("\n\n")[0]
    terms, total = {}, 0
    for line in section.splitlines():
        number, unit, rest = line.split(None, 2)
        size = float(number) * UNITS[unit]
        if rest == "in all":
            total = size
        else:
            where, what = re.split(r"\s{2,}", rest, maxsplit=1)
            terms[where, what] = size
    return terms, total


def in_memory(pid):
    with open(f"/proc/{pid}/status") as status:
        found = dict(re.findall(r"^(VmRSS|HugetlbPages):\s+(\d+) kB", status.read(), re.M))
    return (int(found["VmRSS"]) + int(found.get("HugetlbPages", 0))) << 10


def workers_of(pid):
    """{thread: page faults, minor and major} of the workers. A thread that the kernel makes for a worker's io_uring has
    its name too until it first runs; it is the younger one."""
    found = {}
    for thread in sorted(map(int, os.listdir(f"/proc/{pid}/task")), reverse=True):
        try:
            with open(f"/proc/{pid}/task/{thread}/stat") as stat:
                text = stat.read()
        except FileNotFoundError:
            continue  # it has just ended
        name, fields = text[text.index("(") + 1:text.rindex(")")], text[text.rindex(")") + 2:].split()
        if name.startswith("worker-"):
            found[name] = thread, int(fields[7]) + int(fields[9])
    return dict(found.values())


class Calls:
    """strace on one thread, or nothing where it may not be used."""

    def __init__(self, thread):
        self.words = None
        if not shutil.which("strace"):
            return
        self.strace = subprocess.Popen(["strace", "-c", "-p", str(thread)], stderr=subprocess.PIPE, text=True)
        if "attached" in self.strace.stderr.readline():
            self.words = set()

    def end(self):
        """The calls' names; None: not known."""
        if self.words is None:
            return None
        self.strace.send_signal(signal.SIGINT)
        rows = [line.split() for line in self.strace.communicate(timeout=60)[1].splitlines()]
        self.words = {row[-1] for row in rows if len(row) >= 5 and row[0][0].isdigit() and row[-1] != "total"}
        return self.words


class Resources(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        for number in range(2):
            subprocess.run([MAKE_CAPTURE, cls.path(f"{number}.pcap"), str(RATE * SECONDS // 2), "60", str(FLOWS),
                            str(RATE // 2), str(number + 1)], check=True)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    def config(self, workers, keys, window, more=""):
        with open(self.path("t.conf"), "w") as file:
            file.write(f"""
[runtime]
workers = {workers}
idle = "{'spin' if workers == 1 else 'yield'}"
[source.capture]
type = "file"
path = ["{self.path('0.pcap')}", "{self.path('1.pcap')}"]
lanes = "per_file"
pace = "recorded"
out_of_orderness = "10 ms"
[query.talkers]
source = "capture"
key = ["src"]
aggregates = ["count", "sum(wire_length) as bytes"]
window = {window}
max_keys = {keys}
memory = "1 GiB"
{more}
[sink.out]
type = "stdout"
format = "binary"
""")
        return self.path("t.conf")

    def run_case(self, workers, keys, window, more=""):
        """Runs it; what explain said of it, what was in memory when it was ready."""
        config = self.config(workers, keys, window, more)
        explained = subprocess.run([BINARY, "explain", config], capture_output=True, text=True, check=True, timeout=60)
        terms, total = memory_terms(explained.stdout)
        self.assertAlmostEqual(sum(terms.values()) / total, 1, delta=0.01)  # the lines are rounded
        with open(os.devnull, "wb") as null:
            running = subprocess.Popen([BINARY, "run", "--no-progress", config], stdout=null, stderr=subprocess.PIPE,
                                       text=True)
        self.addCleanup(running.stderr.close)
        self.addCleanup(running.wait)
        self.addCleanup(running.kill)
        said = []
        for line in running.stderr:
            said.append(line)
            if " reserved on " in line:
                break
        at = in_memory(running.pid)
        self.assertAlmostEqual(at / total, 1, delta=0.05, msg=f"{at >> 10} KiB in memory\n{explained.stdout}")
        before = workers_of(running.pid)
        self.assertEqual(len(before), workers, said)
        calls = {thread: Calls(thread) for thread in before}
        time.sleep(SECONDS - 2)
        after = workers_of(running.pid)
        seen = {thread: call.end() for thread, call in calls.items()}
        _, errors = running.communicate(timeout=120)
        self.assertEqual(running.returncode, 0, errors)
        self.assertRegex(errors, r"windows, 0 late, ")
        self.assertEqual(after, before, "page faults of workers after the start")
        # io_uring's door is the only one that a worker goes through; a yielding one gives its core away as well.
        allowed = {"io_uring_enter"} | ({"sched_yield"} if workers > 1 else set())
        for words in seen.values():
            if words is None:
                print("skipped: system calls of workers, since strace is missing or may not look", file=sys.stderr)
            else:
                self.assertLessEqual(words, allowed)
        return terms, at

    def bytes_of(self, terms, what):
        return sum(size for (where, name), size in terms.items() if name == f"query talkers: {what}")

    def test_tumbling(self):
        small = self.run_case(1, 100_000, '{ type = "tumbling", size = "1 s" }')
        large = self.run_case(1, 1_000_000, '{ type = "tumbling", size = "1 s" }')
        # What a key and a pane cost is what is really taken, and little: 38 bytes a key of one word and the room that
        # shards need, a cell of 32 bytes a pane.
        said = sum(large[0].values()) - sum(small[0].values())
        self.assertAlmostEqual((large[1] - small[1]) / said, 1, delta=0.05)
        self.assertLess(self.bytes_of(large[0], "keys") / 1_000_000, 80)

    def test_sliding_with_an_exchange(self):
        self.run_case(2, 100_000, '{ type = "sliding", size = "4 s", slide = "1 s" }', 'placement = "exchange"')

    def test_sessions(self):
        self.run_case(1, 100_000, '{ type = "session", gap = "500 ms" }')

    def test_sessions_with_an_exchange(self):
        self.run_case(2, 1_000_000, '{ type = "session", gap = "2 s" }', 'placement = "exchange"')


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
