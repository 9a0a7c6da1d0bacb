#!/usr/bin/env python3
"""The program as a user meets it: commands, exit codes, digests, signals, sinks that fail.
    command_line_test.py BINARY CAPTURE        BINARY: tidewire; CAPTURE: the bundled one"""
import collections
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BINARY, CAPTURE = (os.path.abspath(path) for path in sys.argv[1:3])
CLOSING = re.compile(r"^tidewire: (\d+) packets, (\d+) events, (\d+) windows, (\d+) late, .+/s, digest ([0-9a-f]{16})")


def tidewire(*arguments, **options):
    return subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=60, **options)


def closing(run):
    lines = [line for line in run.stderr.splitlines() if CLOSING.match(line)]
    assert len(lines) == 1 and run.stderr.splitlines()[-1] == lines[0], run.stderr[-3000:]
    return CLOSING.match(lines[0]).groups()


def pcap_records(path):
    """An independent reader: (time ns, captured, wire length) of each record of a pcap file."""
    with open(path, "rb") as file:
        data = file.read()
    order = {b"\xd4\xc3\xb2\xa1": ("little", 1000), b"\x4d\x3c\xb2\xa1": ("little", 1),
             b"\xa1\xb2\xc3\xd4": ("big", 1000), b"\xa1\xb2\x3c\x4d": ("big", 1)}[data[:4]]
    at, records = 24, []
    while at < len(data):
        sec, frac, captured, wire = (int.from_bytes(data[at + 4 * i:at + 4 * i + 4], order[0]) for i in range(4))
        records.append((sec * 10**9 + frac * order[1], captured, wire))
        at += 16 + captured
    return records


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def config(self, sink, source=None, query=None, name="t.conf"):
        text = f"""
[source.capture]
{source or f'type = "file"{chr(10)}path = "{CAPTURE}"'}
format = "packet"
out_of_orderness = "50 ms"

[query.totals]
source = "capture"
{query or '''window = { type = "tumbling", size = "1 s" }
aggregates = ["count as packets", "sum(wire_length) as bytes"]'''}
sinks = ["out"]

[sink.out]
{sink}
"""
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)


class Digest(Folder):
    def test_does_not_depend_on_workers_or_bursts(self):
        seen = {}
        for workers in (1, 2, 3):
            for burst in (1, 7, 32, 256):
                run = tidewire("run", "--workers", str(workers), "--burst", str(burst))
                self.assertEqual(run.returncode, 0, run.stderr)
                seen[workers, burst] = closing(run)[0:4] + closing(run)[4:5]
        self.assertEqual(len(set(seen.values())), 1, seen)

    def test_does_not_depend_on_the_reader_or_the_form(self):
        source = f'type = "file"\npath = "{CAPTURE}"\nreader = '
        sink = 'type = "stdout"\nformat = "json"'
        digests = {reader: closing(tidewire("run", self.config(sink, source + f'"{reader}"')))[4]
                   for reader in ("uring", "pread")}
        digests["csv"] = closing(tidewire("run", self.config(sink, source + '"pread"'), "--output", "csv"))[4]
        self.assertEqual(len(set(digests.values())), 1, digests)


def pair_of_lines():
    """ITCH orders 1 to 40, a millisecond apart, on two lines as a pcap: line A loses 7, 20 and 39; line B is 1.5 ms
    behind and loses 20 and 40. Message 1 names the stock."""
    midnight, opening, ms = (18199 * 86400 + 4 * 3600) * 10**9, 34200 * 10**9, 10**6  # 2019-10-30 in New York
    sent = []
    for number in range(1, 41):
        stamp = (opening + number * ms).to_bytes(6, "big")
        body = b"AAPL    " + b" " * 20 if number == 1 else number.to_bytes(8, "big")
        message = (b"R" if number == 1 else b"D") + b"\0\x09\0\0" + stamp + body
        mold = b"SESSION   " + number.to_bytes(8, "big") + b"\0\1" + len(message).to_bytes(2, "big") + message
        udp = b"\0\1\x67\x6d" + (8 + len(mold)).to_bytes(2, "big") + b"\0\0" + mold
        header = b"\x45\0" + (20 + len(udp)).to_bytes(2, "big") + bytes(4) + b"\x40\x11\0\0" + bytes([10, 0, 0, 1])
        frame = bytes(12) + b"\x08\0" + header + bytes([233, 54, 12, 111]) + udp
        for lost, delay in (((7, 20, 39), 0), ((20, 40), 3 * ms // 2)):
            if number not in lost:
                sent.append((midnight + opening + number * ms + delay, frame))
    file = bytes.fromhex("4d3cb2a102000400000000000000000000000400") + (1).to_bytes(4, "little")
    for at, frame in sorted(sent):
        for word in (at // 10**9, at % 10**9, len(frame), len(frame)):
            file += word.to_bytes(4, "little")
        file += frame
    return file


class Pair(Folder):
    def test_is_one_feed_in_order_to_its_end(self):
        with open(self.path("pair.pcap"), "wb") as file:
            file.write(pair_of_lines())
        digests = set()
        for burst in (1, 3, 256):
            config = self.path(f"{burst}.conf")
            with open(config, "w") as file:
                file.write(f"""
[runtime]
burst = {burst}
[source.feed]
type = "file"
path = "{self.path('pair.pcap')}"
reader = "auto"
format = "itch"
reorder_wait = "2 ms"
out_of_orderness = "0 s"
[query.orders]
source = "feed"
where = "order_ref present"
key = ["symbol"]
aggregates = ["count as n", "first(order_ref) as first", "last(order_ref) as last"]
window = {{ type = "tumbling", size = "10 ms" }}
[sink.out]
type = "stdout"
format = "csv"
""")
            run = tidewire("run", config)
            self.assertEqual(run.returncode, 0, run.stderr)
            # Number 20 came on neither line; 39 came behind 40, which the end of the file found waiting.
            self.assertEqual([row.split(",")[-4:] for row in run.stdout.split()[1:]],
                             [["AAPL", "8", "2", "9"], ["AAPL", "10", "10", "19"], ["AAPL", "9", "21", "29"],
                              ["AAPL", "10", "30", "39"], ["AAPL", "1", "40", "40"]])
            self.assertIn("noted gap: 1\n", run.stderr)
            self.assertIn("dropped duplicate: 36\n", run.stderr)
            self.assertNotIn("not balanced", run.stderr)
            digests.add(closing(run)[-1])
        self.assertEqual(len(digests), 1)


class Windows(Folder):
    def test_equal_an_independent_count(self):
        run = tidewire("run", self.config('type = "stdout"\nformat = "json"'))
        self.assertEqual(run.returncode, 0, run.stderr)
        want = collections.defaultdict(lambda: [0, 0])
        for at, _, wire in pcap_records(CAPTURE):
            want[at // 10**9][0] += 1
            want[at // 10**9][1] += wire
        rows = [json.loads(line) for line in run.stdout.splitlines()]
        got = [(row["values"]["packets"], row["values"]["bytes"]) for row in rows]
        self.assertEqual(got, [tuple(want[second]) for second in sorted(want)])
        packets, events, windows, late, _ = closing(run)
        self.assertEqual(int(packets), len(pcap_records(CAPTURE)))
        self.assertEqual((int(windows), int(late)), (len(want), 0))

    def test_the_embedded_default_prints_a_table_and_ends_with_one_line(self):
        run = tidewire("run")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("protocol", run.stdout)
        closing(run)
        self.assertNotIn("\r", run.stderr)  # no progress line where it is no terminal

    def test_replay_refuses_a_port(self):
        done = tidewire("replay", os.path.join(os.path.dirname(CAPTURE), "live_af_packet.conf"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("source 'wire' is a port", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_replay_at_a_multiple_of_the_pace_gives_the_same_digest(self):
        self.assertEqual(closing(tidewire("replay", "--speed", "1000x"))[4], closing(tidewire("run"))[4])


class Signals(Folder):
    def follow(self):
        live = self.path("live.pcap")
        shutil.copy(CAPTURE, live)
        sink = f'type = "file"\npath = "{self.path("out.json")}"\nformat = "json"'
        source = f'type = "file"\npath = "{live}"\nfollow = true'
        return subprocess.Popen([BINARY, "run", self.config(sink, source)], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True), live

    def wait_for_results(self, running):
        for _ in range(600):
            if os.path.exists(self.path("out.json")) and os.path.getsize(self.path("out.json")) > 0:
                return
            self.assertIsNone(running.poll())
            time.sleep(0.05)
        self.fail("no results")

    def rows_of_what_was_read(self, errors):
        """A signal may come at any packet: the rows are those of the packets before it."""
        read = int(CLOSING.match(errors.splitlines()[-1])[1])
        want = collections.Counter(at // 10**9 for at, _, _ in pcap_records(CAPTURE)[:read])
        with open(self.path("out.json")) as file:
            rows = [json.loads(line) for line in file]
        self.assertEqual([row["values"]["packets"] for row in rows], [want[second] for second in sorted(want)])
        return rows

    def test_the_first_one_drains(self):
        for name in (signal.SIGINT, signal.SIGTERM):
            if os.path.exists(self.path("out.json")):
                os.remove(self.path("out.json"))
            running, _ = self.follow()
            self.wait_for_results(running)
            running.send_signal(name)
            _, errors = running.communicate(timeout=30)
            self.assertEqual(running.returncode, 0, errors)
            rows = self.rows_of_what_was_read(errors)
            kinds = [row["kind"] for row in rows]
            self.assertEqual(kinds[-1], "partial")  # the window that was still open
            self.assertEqual(kinds, sorted(kinds))  # on_time, then partial
            self.assertRegex(errors, "balance|balanced")

    def test_kill_leaves_nothing_that_hinders_the_next_start(self):
        running, _ = self.follow()
        self.wait_for_results(running)
        running.kill()
        running.communicate()
        self.assertEqual(tidewire("run").returncode, 0)

    def test_a_growing_file_is_followed(self):
        live = self.path("live.pcap")
        with open(CAPTURE, "rb") as file:
            data = file.read()
        cut = len(data) // 2
        with open(live, "wb") as file:
            file.write(data[:cut])
        sink = f'type = "file"\npath = "{self.path("out.json")}"\nformat = "json"'
        config = self.config(sink, f'type = "file"\npath = "{live}"\nfollow = true')
        running = subprocess.Popen([BINARY, "run", config], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.wait_for_results(running)
        with open(live, "ab") as file:
            file.write(data[cut:])
        seconds = len({at // 10**9 for at, _, _ in pcap_records(CAPTURE)})
        for _ in range(600):
            if open(self.path("out.json")).read().count("\n") >= seconds - 1:
                break
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=30)
        self.assertEqual(running.returncode, 0, errors)
        self.rows_of_what_was_read(errors)


class Sinks(Folder):
    def test_a_file_is_never_overwritten(self):
        with open(self.path("out.json"), "w") as file:
            file.write("mine\n")
        config = self.config(f'type = "file"\npath = "{self.path("out.json")}"\nformat = "json"')
        self.assertEqual(tidewire("run", config).returncode, 0)
        self.assertEqual(tidewire("run", config).returncode, 0)
        self.assertEqual(open(self.path("out.json")).read(), "mine\n")
        others = [n for n in os.listdir(self.folder) if n.startswith("out") and n != "out.json"]
        self.assertEqual(len(others), 2, others)
        self.assertEqual(open(self.path(others[0])).read(), open(self.path(others[1])).read())

    def test_results_are_not_appended_to_a_capture_that_is_read(self):
        shutil.copy(CAPTURE, self.path("mine.pcap"))
        os.symlink(self.path("mine.pcap"), self.path("other-name"))
        for append, code in (("false", 0), ("true", 1)):
            run = tidewire("run", self.config(f'type = "file"\npath = "{self.path("other-name")}"\nappend = {append}',
                                              f'type = "file"\npath = "{self.path("mine.pcap")}"'))
            self.assertEqual(run.returncode, code, run.stderr)
            with open(self.path("mine.pcap"), "rb") as mine, open(CAPTURE, "rb") as bundled:
                self.assertEqual(mine.read(), bundled.read())
        self.assertRegex(run.stderr, r"t\.conf:\d+:\d+: sink\.out\.path: .*source\.capture")

    def test_a_closed_pipe_is_counted_and_no_crash(self):
        run = subprocess.Popen([BINARY, "run", self.config('type = "stdout"\nformat = "json"', query='''key = ["flow"]
window = { type = "session", gap = "1 s" }
aggregates = ["count"]''')], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        run.stdout.close()
        errors = run.stderr.read()
        self.assertEqual(run.wait(timeout=30), 4, errors)
        self.assertRegex(errors, r"[1-9]\d* (records|results) lost")

    def test_a_full_disk_is_counted_and_no_crash(self):
        with open("/dev/full", "w") as full:
            run = subprocess.run([BINARY, "run", "--output", "json"], stdout=full, stderr=subprocess.PIPE, text=True,
                                 timeout=60)
        self.assertEqual(run.returncode, 4, run.stderr)
        self.assertIn("No space left", run.stderr)
        closing(run)

    def test_datagrams_reach_a_receiver(self):
        import socket
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(5)
        address = "127.0.0.1:%d" % receiver.getsockname()[1]
        run = tidewire("run", self.config(f'type = "udp"\naddress = "{address}"\nformat = "json"'))
        self.assertEqual(run.returncode, 0, run.stderr)
        seconds = len({at // 10**9 for at, _, _ in pcap_records(CAPTURE)})
        rows = [json.loads(receiver.recv(65536)) for _ in range(seconds)]
        self.assertEqual(sum(row["values"]["packets"] for row in rows), len(pcap_records(CAPTURE)))


class Surroundings(Folder):
    """What a caller may take away: descriptors, threads, file size, readers."""

    # Sanitizers take what is limited: LeakSanitizer a thread; UBSan a descriptor to look at an object's type, else it
    # takes each for a wrong one.
    ENVIRONMENT = os.environ | {"ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "halt_on_error=0"}

    def limited(self, kind, value, *arguments):
        return tidewire(*arguments, env=self.ENVIRONMENT,
                        preexec_fn=lambda: resource.setrlimit(kind, (value, value)))

    def test_any_number_of_descriptors_is_enough_or_an_error(self):
        codes = {}
        for limit in range(3, 24):
            run = self.limited(resource.RLIMIT_NOFILE, limit, "run", "--pcap", CAPTURE)
            # 127: the loader itself, where libraries are shared
            self.assertIn(run.returncode, (0, 3, 127), (limit, run.stderr))
            codes[limit] = run.returncode
        self.assertEqual(codes[23], 0)
        self.assertIn(3, codes.values())

    def test_any_number_of_threads_is_enough_or_an_error(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become a user without other threads")
        program = self.path("tidewire")
        shutil.copy(BINARY, program)
        shutil.copy(CAPTURE, self.path("a.pcap"))
        os.chmod(self.folder, 0o755)
        user = 61_234  # nobody's, so that only threads of this run count
        for limit in range(1, 9):
            run = subprocess.run([program, "run", "--pcap", self.path("a.pcap"), "--workers", "3"],
                                 capture_output=True, text=True, timeout=60, cwd="/", env=self.ENVIRONMENT,
                                 preexec_fn=lambda: (resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit)),
                                                     os.setgid(user), os.setuid(user)))
            # Main, signals, 3 workers, egress. With just these, io_uring lacks its own: a read that fails. A sanitizer may
            # have one, too.
            allowed = (3,) if limit < 6 else (0, 3, 4) if limit == 6 else (0, 4)
            self.assertIn(run.returncode, allowed, (limit, run.stderr))
            if limit < 6:
                self.assertIn("no thread can be started", run.stderr)

    def test_a_file_at_its_limit_is_a_full_disk(self):
        config = self.config(f'type = "file"\npath = "{self.path("out.json")}"\nformat = "json"', query='''key = ["flow"]
window = { type = "session", gap = "1 s" }
aggregates = ["count"]''')
        run = self.limited(resource.RLIMIT_FSIZE, 4096, "run", config)
        self.assertEqual(run.returncode, 4, run.stderr)
        self.assertIn("File too large", run.stderr)
        with open(self.path("out.json")) as out:
            for line in out:
                json.loads(line)  # whole records only

    def test_a_standard_descriptor_that_is_closed_is_nobody_elses(self):
        # pread takes one descriptor for the capture; the next one is the sink's.
        config = self.config(f'type = "file"\npath = "{self.path("out.json")}"\nformat = "json"',
                             f'type = "file"\npath = "{CAPTURE}"\nreader = "pread"')
        for closed in ("<&-", ">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"):
            subprocess.run(["sh", "-c", f'exec "$0" run "$1" {closed}', BINARY, config], timeout=60,
                           stderr=subprocess.DEVNULL)
            with open(self.path("out.json")) as out:
                rows = [json.loads(line) for line in out]
            self.assertEqual(sum(row["values"]["packets"] for row in rows), len(pcap_records(CAPTURE)), closed)
            os.remove(self.path("out.json"))
        run = subprocess.run(["sh", "-c", 'exec "$0" run --output json >&-', BINARY], timeout=60,
                             stderr=subprocess.PIPE, text=True)
        self.assertEqual(run.returncode, 4, run.stderr)

    def test_an_answer_that_could_not_be_written_is_an_error(self):
        for arguments in (("version",), ("--help",), ("explain",), ("peek", CAPTURE),
                          ("check", self.config('type = "stdout"'))):
            with open("/dev/full", "w") as full:
                run = subprocess.run([BINARY, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
            self.assertEqual(run.returncode, 4, arguments)
            self.assertIn("standard output", run.stderr)

    def test_who_waits_for_a_config_can_be_interrupted(self):
        os.mkfifo(self.path("pipe"))
        waiting = subprocess.Popen([BINARY, "check", self.path("pipe")], stderr=subprocess.PIPE,
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        self.addCleanup(waiting.kill)
        time.sleep(0.2)
        waiting.send_signal(signal.SIGINT)
        self.assertEqual(waiting.wait(timeout=30), -signal.SIGINT)
        waiting.stderr.close()


class Errors(Folder):
    def test_every_problem_of_a_config_in_one_go_with_its_place(self):
        path = self.path("bad.conf")
        with open(path, "w") as file:
            file.write('[source.a]\ntype = "file"\npathh = ["x"]\nout_of_orderness = "5 parsecs"\nformat = "packet"\n'
                       '[query.q]\nsource = "b"\nkey = ["srcc"]\nwindow = { type = "tumbling", size = "1 s" }\n'
                       'aggregates = ["count"]\nsinks = ["s"]\n[sink.s]\ntype = "stdout"\nformat = "jason"\n')
        run = tidewire("check", path)
        self.assertEqual(run.returncode, 1)
        text = run.stdout + run.stderr
        for line, word in ((3, "pathh"), (4, "parsecs"), (7, "'b'"), (14, "jason")):
            self.assertRegex(text, rf"bad\.conf:{line}:\d+: .*{word}")
        self.assertIn("'path'", text)
        self.assertIn("json", text)
        self.assertEqual(tidewire("run", path).returncode, 1)

    def test_usage(self):
        for arguments in ((), ("runn",), ("run", "--wrkers", "2"), ("run", "--workers", "0"), ("run", "--workers"),
                          ("run", "a", "b"), ("check",), ("peek",), ("check", "--burst", "2")):
            run = tidewire(*arguments)
            self.assertEqual(run.returncode, 2, arguments)
            self.assertIn("--help", run.stderr, arguments)
        self.assertIn("run", tidewire("runn").stderr)
        self.assertIn("--workers", tidewire("run", "--wrkers", "2").stderr)

    def test_help_teaches(self):
        for arguments in (("--help",), ("help", "run"), ("run", "--help"), ("peek", "-h"), ("replay", "--help")):
            run = tidewire(*arguments)
            self.assertEqual(run.returncode, 0)
            self.assertIn("tidewire", run.stdout)
        self.assertIn("Exit codes", tidewire("--help").stdout)
        for word in ('format = "packet"', "wire_length", "10.0.0.0/8"):
            self.assertIn(word, tidewire("help", "fields").stdout)
        self.assertRegex(tidewire("version").stdout, r"^tidewire \d+\.\d+\.\d+")

    def test_files_that_cannot_be_read(self):
        with open(self.path("empty.pcap"), "w"):
            pass
        with open(self.path("text.pcap"), "w") as file:
            file.write("this is no capture, but long enough to look at its first bytes\n")
        for name, word in (("missing.pcap", "No such file"), ("empty.pcap", "empty"), ("text.pcap", "capture")):
            run = tidewire("run", "--pcap", self.path(name))
            self.assertEqual(run.returncode, 3, run.stderr)
            self.assertIn(name, run.stderr)
            self.assertIn(word, run.stderr)
        run = tidewire("run", self.path("missing.conf"))
        self.assertEqual(run.returncode, 1)
        self.assertIn("missing.conf", run.stderr)

    def test_a_taken_name_is_kept_and_the_one_written_is_said(self):
        config = self.config(f'type = "file"\npath = "{self.path("out.json")}"\nformat = "json"')
        self.assertIn(f"sink out: {self.path('out.json')}, written by ", tidewire("run", config).stderr)
        with open(self.path("out.json"), "rb") as file:
            first = file.read()
        said = re.search(r"sink out: (.+), written by ", tidewire("run", config).stderr)[1]
        self.assertNotEqual(said, self.path("out.json"))
        for name in (said, self.path("out.json")):
            with open(name, "rb") as file:
                self.assertEqual(file.read(), first)

    def test_a_capture_that_is_cut_keeps_everything_before(self):
        with open(CAPTURE, "rb") as file:
            data = file.read()
        with open(self.path("cut.pcap"), "wb") as file:
            file.write(data[:len(data) - 5])
        run = tidewire("run", "--pcap", self.path("cut.pcap"))
        self.assertEqual(int(closing(run)[0]), len(pcap_records(CAPTURE)) - 1)
        self.assertIn("1 bad frames or cut records", run.stderr)


class Derived(Folder):
    ROOT = os.path.dirname(os.path.dirname(os.path.abspath(CAPTURE)))

    def test_the_example_agrees_with_an_independent_reader(self):
        run = tidewire("run", "config/derived.conf", "--output", "json", cwd=self.ROOT)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stderr, r"lookup config/sites\.csv: 4 entries, [0-9a-f]{16}")
        rows = [json.loads(line) for line in run.stdout.splitlines()]
        sizes = collections.Counter()
        for row in rows:
            if row["query"] == "sizes":
                sizes[row["key"]["size"]] += row["values"]["packets"]
        self.assertEqual(sizes, collections.Counter(wire // 256 * 256 for _, _, wire in pcap_records(CAPTURE)))
        names = {row["key"]["site"] for row in rows if row["query"] == "sites"}
        self.assertTrue(names >= {"inside", "office, first", "lab"}, names)
        explained = tidewire("explain", "config/derived.conf", cwd=self.ROOT).stdout
        self.assertIn("derived: bits = wire_length * 8", explained)
        self.assertRegex(explained, r"KiB  host .* lookup config/sites\.csv, two versions")

    def test_a_lookup_file_is_read_again_on_a_hang_up(self):
        live, names = self.path("live.pcap"), self.path("names.csv")
        with open(CAPTURE, "rb") as file:
            data = file.read()
        ends = [24]
        for _, captured, _ in pcap_records(CAPTURE):
            ends.append(ends[-1] + 16 + captured)
        half = len(ends) // 2
        with open(live, "wb") as file:
            file.write(data[:ends[half]])

        def write(text):
            with open(names, "w") as file:
                file.write(text)
        write("0..65535,before\n")
        query = """key = ["name"]
window = { type = "tumbling", size = "1 s" }
aggregates = ["count as packets"]"""
        source = f'''type = "file"
path = "{live}"
follow = true
columns = {{ name = "lookup(wire_length, '{names}', 'other')" }}'''
        config = self.config(f'type = "file"\npath = "{self.path("out.json")}"\nformat = "json"', source, query)
        with open(self.path("errors"), "w") as errors:
            running = subprocess.Popen([BINARY, "run", config], stderr=errors)

            def said(pattern, where="errors"):
                for _ in range(1200):
                    if os.path.exists(self.path(where)) and re.search(pattern, open(self.path(where)).read()):
                        return
                    time.sleep(0.05)
                running.kill()
                self.fail(f"never said: {pattern}: " + open(self.path("errors")).read())
            said(r"lookup .*names\.csv: 1 entries")
            said('"name":"before"', "out.json")  # the half is one burst
            write("0..65535,before\n7,x,y\n")
            running.send_signal(signal.SIGHUP)
            said(r"reload: .*names\.csv:2: one comma too many.*; the tables stay as they are")
            write("0..65535,before\n")
            running.send_signal(signal.SIGHUP)
            said(r"reload: the lookup files have not changed")
            write("0..65535,after\n")
            running.send_signal(signal.SIGHUP)
            said(r"reload: .*names\.csv: 1 entries")
            time.sleep(0.2)  # the worker takes it over in its next turn
            with open(live, "ab") as file:
                file.write(data[ends[half]:])
            said('"name":"after"', "out.json")
            running.send_signal(signal.SIGINT)
            self.assertEqual(running.wait(timeout=60), 0, open(self.path("errors")).read())
        packets = collections.Counter()
        for line in open(self.path("out.json")):
            row = json.loads(line)
            packets[row["key"]["name"]] += row["values"]["packets"]
        self.assertEqual(packets, {"before": half, "after": len(ends) - 1 - half})


class Looking(Folder):
    def test_peek_shows_the_first_events(self):
        run = tidewire("peek", CAPTURE, "--count", "3")
        self.assertEqual(run.returncode, 0, run.stderr)
        at = pcap_records(CAPTURE)[0][0]
        self.assertIn(time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at // 10**9)) + ".%09dZ" % (at % 10**9), run.stdout)

    def test_explain_prints_the_plan(self):
        run = tidewire("explain", "--workers", "2")
        self.assertEqual(run.returncode, 0, run.stderr)
        for word in ("lane", "memory", "pane", "worker", "src/24", "default"):
            self.assertIn(word, run.stdout)

    def test_what_explain_sums_up_is_what_is_reserved(self):
        for workers in ("1", "2", "3"):
            # What is not reserved by us is in the sum, too: stacks, heaps, the program, what pages round up. Terms are rounded.
            terms = re.findall(r"^ +([0-9.]+) ([KM])iB  worker \d+ +(.+)$", tidewire("explain", "--workers", workers).stdout, re.M)
            said = sum(float(size) / (1 if unit == "M" else 1024) for size, unit, what in terms if what != "stack" and not what.startswith("rounding"))
            reserved = float(re.search(r"([0-9.]+) MiB reserved", tidewire("run", "--workers", workers).stderr)[1])
            self.assertAlmostEqual(said, reserved, delta=0.1)

    def test_replicas_without_peers_are_said_to_be_a_single_host(self):
        self.assertIn("single host", tidewire("run").stderr)



class Examples(Folder):
    """Those of the folder of the bundled capture, run where a copy of that folder stands."""
    NAMES = ("early_results", "sessions", "count_windows", "late_data", "calendar", "ranking")

    def setUp(self):
        super().setUp()
        os.mkdir(self.path("config"))
        os.symlink(os.path.abspath(CAPTURE), self.path("config/demo.pcap"))
        for name in self.NAMES:
            shutil.copy(os.path.join(os.path.dirname(CAPTURE), name + ".conf"), self.path("config"))

    def tidewire(self, command, name, *arguments):
        run = subprocess.run([os.path.abspath(BINARY), command, f"config/{name}.conf", *arguments],
                             capture_output=True, text=True, timeout=60, cwd=self.folder)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run

    def test_run_and_do_not_depend_on_workers_and_bursts(self):
        for name in self.NAMES:
            digests = {closing(self.tidewire("run", name, "--workers", workers, "--burst", burst))[4]
                       for workers, burst in (("1", "256"), ("3", "7"))}
            self.assertEqual(len(digests), 1, name)

    def test_global_windows_hold_every_packet(self):
        run = self.tidewire("run", "count_windows", "--output", "json")
        rows = [row for row in map(json.loads, run.stdout.splitlines()) if row["query"] == "totals"]
        self.assertEqual(sum(row["values"]["packets"] for row in rows), len(pcap_records(CAPTURE)))

    def test_explain_draws_windows_from_the_first_event(self):
        at = pcap_records(CAPTURE)[0][0]
        first = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at // 10**9))
        for name in self.NAMES:
            out = self.tidewire("explain", name).stdout
            queries = len(re.findall(r"^query ", out, re.M))
            self.assertEqual(len(re.findall(r"^    1       +\[", out, re.M)), queries, out)
            for line in re.findall(r"^    (?:panes|events|[123]) .*[|\[*].*$", out, re.M):
                self.assertLessEqual(len(line), 80)
            if name not in ("count_windows",):
                self.assertIn(f"the first event of its source ({first}", out)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
