#!/usr/bin/env python3
"""Sensor readings as CSV, as JSON lines and as line protocol through the whole program, against windows that a
Flink job gave (../shared/samples/reference). The three give one digest; compressed files and other readers, too.
    text_golden_test.py BINARY SAMPLES"""
import csv
import datetime
import decimal
import gzip
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BINARY, SAMPLES = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
READINGS = SAMPLES / "sensors/NAB/machine_temperature_system_failure.csv"
SOURCE = """
[source.machine]
type = "file"
path = "{path}"
format = "{format}"
{options}
out_of_orderness = "{bound}"
max_ahead = "never"

[query.temperature]
source = "machine"
where = "value present"
aggregates = ["count", "sum(value) as sum", "min(value) as least", "max(value) as most"]
window = {{ type = "tumbling", size = "{size}" }}

[sink.out]
type = "stdout"
format = "csv"
"""
CSV = 'time = "timestamp"\nfields = ["value decimal(8)"]'
JSON = 'time = "/at"\ntime_unit = "s"\nfields = ["value decimal(8) from /reading/value"]'
INFLUX = 'fields = ["value decimal(8)"]'


def ns(text):
    seconds, _, fraction = text.rstrip("Z").partition(".")
    return int(datetime.datetime.fromisoformat(seconds).replace(tzinfo=datetime.timezone.utc).timestamp()) * 10**9 + int((fraction or "0").ljust(9, "0"))


@unittest.skipUnless(READINGS.exists(), "no samples beside the project")
class Text(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_on(self, path, kind, options, size="1 h", bound="0 s"):
        config = self.folder / "text.conf"
        config.write_text(SOURCE.format(path=path, format=kind, options=options, size=size, bound=bound))
        run = subprocess.run([BINARY, "run", str(config)], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        digest = re.search(r"(\d+) late, .* digest ([0-9a-f]{16})", run.stderr)
        return list(csv.DictReader(run.stdout.splitlines())), int(digest[1]), digest[2]

    def compare(self, rows, reference):
        expected = [line.split("\t") for line in (SAMPLES / "reference" / reference).read_text().splitlines()]
        self.assertEqual(len(rows), len(expected))
        exact = decimal.Decimal("0.00000001")
        for row, (_, start, end, count, total, least, most) in zip(rows, expected):
            self.assertEqual((ns(row["start"]), ns(row["end"]), row["count"]), (int(start), int(end), count))
            for ours, theirs in ((row["least"], least), (row["most"], most)):
                self.assertEqual(decimal.Decimal(ours), decimal.Decimal(theirs).quantize(exact, decimal.ROUND_HALF_EVEN))
            # Theirs is a sum of doubles.
            self.assertAlmostEqual(float(row["sum"]), float(total), places=5)

    def test_windows_of_a_csv_are_flinks(self):
        self.compare(self.run_on(READINGS, "csv", CSV)[0], "machine_temp.1h_ooo0.tsv")
        rows, late, _ = self.run_on(READINGS, "csv", CSV, "5 m")
        self.compare(rows, "machine_temp.5m_ooo0s.tsv")
        self.assertEqual(late, 11)  # one clock step back
        rows, late, _ = self.run_on(READINGS, "csv", CSV, "5 m", "3300 s")
        self.compare(rows, "machine_temp.5m_ooo3300s.tsv")
        self.assertEqual(late, 0)

    def test_the_same_readings_in_other_dress(self):
        with open(READINGS, encoding="ascii") as file:
            readings = [(ns(row["timestamp"].replace(" ", "T")), row["value"]) for row in csv.DictReader(file)]
        json_lines = self.folder / "readings.jsonl"
        json_lines.write_text("".join(f'{{"reading": {{"value": {value}}}, "at": {at / 10**9:.1f}}}\n' for at, value in readings))
        lines = self.folder / "readings.lp"
        lines.write_text("\r\n".join(f"machine,plant=a\\ b value={value} {at}" for at, value in readings))  # no last end
        packed = self.folder / "readings.csv.gz"
        packed.write_bytes(gzip.compress(READINGS.read_bytes()))
        digests = {name: self.run_on(path, kind, options)[2] for name, path, kind, options in (
            ("csv", READINGS, "csv", CSV), ("packed", packed, "csv", CSV), ("pread", READINGS, "csv", CSV + '\nreader = "pread"'),
            ("json", json_lines, "json", JSON), ("influx", lines, "influx", INFLUX))}
        self.assertEqual(len(set(digests.values())), 1, digests)

    def test_a_text_for_another_format_is_refused(self):
        config = self.folder / "text.conf"
        config.write_text(SOURCE.format(path=READINGS, format="packet", options="", size="1 h", bound="0 s").replace("value present", "wire_length > 0").replace("(value)", "(wire_length)"))
        run = subprocess.run([BINARY, "run", str(config)], capture_output=True, text=True, timeout=60, check=False)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("not a capture, text", run.stderr)


class Messages(unittest.TestCase):
    def test_a_day_file_of_itch(self):
        """Nasdaq's BinaryFILE: a length of two bytes before each message, 0 at the end. 34200 s after midnight of New York
        on 2019-10-30 is 13:30 in UTC."""
        def message(kind, since, body):
            data = kind + (7).to_bytes(2, "big") + bytes(2) + since.to_bytes(6, "big") + body
            return len(data).to_bytes(2, "big") + data
        opening = 34_200 * 10**9
        with tempfile.TemporaryDirectory() as folder:
            day = pathlib.Path(folder) / "day.itch"
            day.write_bytes(message(b"D", opening, (5).to_bytes(8, "big")) + message(b"D", opening + 10**9, (6).to_bytes(8, "big")) +
                            bytes(2) + b"behind the end")
            config = pathlib.Path(folder) / "day.conf"
            config.write_text(f"""
[source.day]
type = "file"
path = "{day}"
format = "itch"
date = "2019-10-30"
[query.all]
source = "day"
key = ["type", "stock_locate"]
aggregates = ["count"]
window = {{ type = "tumbling", size = "1 s" }}
[sink.out]
type = "stdout"
format = "csv"
""")
            run = subprocess.run([BINARY, "run", str(config)], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        rows = list(csv.DictReader(run.stdout.splitlines()))
        self.assertEqual([(ns(row["start"]), row["type"], row["stock_locate"], row["count"]) for row in rows],
                         [(ns("2019-10-30T13:30:00") + i * 10**9, "D", "7", "1") for i in range(2)])


unittest.main(argv=sys.argv[:1], verbosity=2)
