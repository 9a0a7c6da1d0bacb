#!/usr/bin/env python3
"""What bench tables say, compared and drawn; scripts/bench calls it.

  tables.py ab A B [ARGUMENT...]         two builds of pipeline_bench, alternating; medians and B / A
  tables.py record FILE BENCH [ARG...]   measures once and keeps the figures with machine, date and revision
  tables.py against FILE BENCH [ARG...]  measures and compares with what was recorded on this machine
  tables.py draw FOLDER                  legs.csv and *.hlog of the wire bench as SVG
"""
import base64
import csv
import datetime
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import zlib

RUNS = 3


def machine():
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8")
                  if line.startswith("model name")), "?")
    return f"{os.uname().nodename}, {os.cpu_count()} x {model}"


def measure(bench, arguments):
    """{(name, keys): (ratio, pipeline ns, results with their digest)} of one run."""
    run = subprocess.run([bench, *arguments], stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode not in (0, 1):
        sys.exit(f"{bench}: exit code {run.returncode}")
    found = {}
    for line in run.stdout.splitlines():
        words = [w for w in line.split() if w not in ("FAIL", "above")]
        if len(words) < 6 or not words[1].isdigit():
            continue
        found[words[0], int(words[1])] = (float(words[2]), float(words[5]), " ".join(words[-2:]))
    if not found:
        sys.exit(f"{bench}: printed no table")
    return found


def medians(runs):
    rows = {}
    for row in runs[0]:
        windows = {run[row][2] for run in runs}
        if len(windows) > 1:
            sys.exit(f"{row[0]}, {row[1]} keys: runs of one build differ in their results: {', '.join(sorted(windows))}")
        rows[row] = (*(statistics.median(run[row][i] for run in runs) for i in (0, 1)), windows.pop())
    return rows


def show(title, before, after):
    print(title)
    print(f"{'name':24s} {'keys':>8s} {'ratio':>7s} {'-> ratio':>8s} {'ns':>8s} {'-> ns':>8s} {'ns now/then':>11s}")
    other = False
    for row in dict.fromkeys([*after, *before]):
        if row not in before or row not in after:
            print(f"{row[0]:24s} {row[1]:8d}  {'gone' if row in before else 'new'}")
            continue
        (r0, n0, w0), (r1, n1, w1) = before[row], after[row]
        print(f"{row[0]:24s} {row[1]:8d} {r0:7.2f} {r1:8.2f} {n0:8.2f} {n1:8.2f} {n1 / n0:11.3f}"
              + (f"  OTHER RESULTS: {w0} -> {w1}" if w0 != w1 else ""))
        other |= w0 != w1
    if other:
        sys.exit("other results: figures of different windows, or of different events, say nothing together")


def ab(a, b, arguments):
    runs_a, runs_b = [], []  # by side: A and B may be one build, which shows what the machine alone does
    for _ in range(RUNS):
        runs_a.append(measure(a, arguments))
        runs_b.append(measure(b, arguments))
    show(f"A {a}\nB {b}\n{RUNS} alternating runs, medians", medians(runs_a), medians(runs_b))


def revision():
    run = subprocess.run(["git", "describe", "--always", "--dirty"], stdout=subprocess.PIPE, text=True, check=False)
    return run.stdout.strip()


def record(file, bench, arguments):
    try:
        open(file, "a", encoding="utf-8").close()  # before minutes are spent
    except OSError as error:
        sys.exit(f"{file}: {error.strerror}; --record needs a file that can be written")
    rows = medians([measure(bench, arguments) for _ in range(RUNS)])
    kept = {"machine": machine(), "date": datetime.date.today().isoformat(), "revision": revision(),
            "rows": [[name, keys, *figures] for (name, keys), figures in rows.items()]}
    with open(file, "w", encoding="utf-8") as out:
        json.dump(kept, out, indent=1)
    print(f"{file}: {len(rows)} rows of {kept['revision']} on {kept['machine']}")


def against(file, bench, arguments):
    try:
        with open(file, encoding="utf-8") as text:
            kept = json.load(text)
    except OSError as error:
        sys.exit(f"{file}: {error.strerror}; scripts/bench --record makes one")
    except ValueError:
        sys.exit(f"{file}: is no record of scripts/bench --record, or of one that was interrupted; record again")
    if kept["machine"] != machine():
        sys.exit(f"{file} is of another machine ({kept['machine']}); figures of two machines say nothing together")
    before = {(name, keys): tuple(figures) for name, keys, *figures in kept["rows"]}
    after = medians([measure(bench, arguments) for _ in range(RUNS)])
    show(f"recorded {kept['date']} at {kept['revision']}, now {revision()}; medians of {RUNS}", before, after)


# ---------------------------------------------------------------- drawings
STYLE = """<style>
text{font:12px sans-serif;fill:#222} .t{font-size:14px;font-weight:600} .g{stroke:#ddd} .a{stroke:#555}
polyline{fill:none;stroke-width:1.8} @media(prefers-color-scheme:dark){svg{background:#161616}
text{fill:#e6e6e6} .g{stroke:#3a3a3a} .a{stroke:#aaa}}</style>"""
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#8c564b"]


class Chart:
    W, H, LEFT, TOP, RIGHT, BOTTOM = 900, 440, 80, 40, 190, 50

    def __init__(self, title, x_name, y_name, x_ticks, y_low, y_high):
        self.out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.W} {self.H}" role="img" '
                    f'aria-label="{title}">', STYLE, f'<text class="t" x="{self.LEFT}" y="22">{title}</text>']
        self.x_low, self.x_high = x_ticks[0][0], x_ticks[-1][0]
        self.low, self.high = math.floor(math.log10(max(y_low, 1))), math.ceil(math.log10(max(y_high, 10)))
        bottom, right = self.H - self.BOTTOM, self.W - self.RIGHT
        for decade in range(self.low, self.high + 1):
            y = self.y(10 ** decade)
            us = 10 ** decade / 1000
            label = f"{us:g} us" if us < 1000 else f"{us / 1000:g} ms"
            self.out.append(f'<line class="g" x1="{self.LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>'
                            f'<text x="{self.LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
        for at, label in x_ticks:
            x = self.x(at)
            self.out.append(f'<line class="g" x1="{x:.1f}" y1="{self.TOP}" x2="{x:.1f}" y2="{bottom}"/>'
                            f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{label}</text>')
        self.out.append(f'<line class="a" x1="{self.LEFT}" y1="{bottom}" x2="{right}" y2="{bottom}"/>'
                        f'<text x="{(self.LEFT + right) / 2}" y="{self.H - 10}" text-anchor="middle">{x_name}</text>'
                        f'<text x="16" y="{self.TOP - 8}">{y_name}</text>')
        self.series = 0

    def x(self, value):
        return self.LEFT + (value - self.x_low) / (self.x_high - self.x_low) * (self.W - self.LEFT - self.RIGHT)

    def y(self, value):
        part = (math.log10(max(value, 10 ** self.low)) - self.low) / (self.high - self.low)
        return self.H - self.BOTTOM - part * (self.H - self.TOP - self.BOTTOM)

    def line(self, name, points):
        colour = COLOURS[self.series % len(COLOURS)]
        dash = "" if self.series < len(COLOURS) else ' stroke-dasharray="5 3"'
        drawn = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)
        row = self.TOP + 14 + 18 * self.series
        at = self.W - self.RIGHT + 14
        self.out.append(f'<polyline stroke="{colour}"{dash} points="{drawn}"/>'
                        f'<line x1="{at}" y1="{row - 4}" x2="{at + 22}" y2="{row - 4}" stroke="{colour}"'
                        f'{dash} stroke-width="2"/><text x="{at + 28}" y="{row}">{name}</text>')
        if len(points) < 20:  # what was measured; between two of them nothing was, or it was withheld
            self.out += [f'<circle cx="{self.x(x):.1f}" cy="{self.y(y):.1f}" r="3" fill="{colour}"/>' for x, y in points]
        self.series += 1

    def save(self, path):
        path.write_text("\n".join(self.out) + "\n</svg>\n", encoding="utf-8")
        print(path)


def hdr_values(line):
    """(value, count) pairs of a log line, ascending: HdrHistogram V2, three digits."""
    outer = base64.b64decode(line.rsplit(",", 1)[1])
    plain = zlib.decompress(outer[8:])
    pairs, index, at = [], 0, 40
    while at < len(plain):
        zigzag = shift = 0
        while True:
            byte = plain[at]
            at += 1
            zigzag |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        value = (zigzag >> 1) ^ -(zigzag & 1)
        if value < 0:
            index -= value
            continue
        bucket = max(0, index // 1024 - 1)
        pairs.append(((index - 1024 * bucket) << bucket, value))
        index += 1
    return pairs


def draw(folder):
    folder = pathlib.Path(folder)
    try:
        with open(folder / "legs.csv", encoding="utf-8") as text:
            legs = list(csv.DictReader(text))
        logs = {leg["leg"]: (folder / f"{leg['leg']}.hlog").read_text(encoding="utf-8") for leg in legs}
    except OSError as error:
        sys.exit(f"{error.filename}: {error.strerror}; scripts/bench wire --out {folder} writes it")
    if not logs:
        sys.exit(f"{folder / 'legs.csv'}: no legs; scripts/bench wire --out {folder} writes them")
    curves = {}
    for leg, log in logs.items():
        pairs = hdr_values(log.splitlines()[-1])
        total, seen, points = sum(c for _, c in pairs), 0, []
        for value, count in pairs:
            seen += count
            nines = -math.log10(max(1 - seen / total, 1 / total / 2))
            points.append((min(nines, 4.5), max(value, 1)))
        curves[leg] = points
    ticks = [(0, "0 %"), (0.30103, "50 %"), (1, "90 %"), (2, "99 %"), (3, "99.9 %"), (4, "99.99 %"), (4.5, "")]
    values = [y for points in curves.values() for _, y in points]
    chart = Chart("From the closing event to each result, by percentile", "percentile", "latency", ticks, min(values), max(values))
    for name, points in curves.items():
        chart.line(name, [(0, points[0][1]), *points])
    chart.save(folder / "latency.svg")
    # One leg a rate: in smoke mode several have the same.
    loads = {float(leg["rate"]): leg for leg in legs if leg["leg"] == "peers" or leg["leg"].startswith("rate-")}
    if len(loads) < 2:
        print("load.svg needs legs of two rates")
        return
    ticks = [(math.log10(rate), f"{rate / 1000:g} k/s") for rate in sorted(loads)]
    lines = {}
    for p in ("p50", "p90", "p99", "max"):
        points = [(math.log10(rate), float(loads[rate][p])) for rate in sorted(loads) if loads[rate][p]]
        if points:  # else withheld at every rate
            lines[p] = points
    values = [y for points in lines.values() for _, y in points]
    chart = Chart("Latency against load", "events offered", "latency", ticks, min(values), max(values))
    for name, points in lines.items():
        chart.line(name, points)
    chart.save(folder / "load.svg")


def main():
    words = sys.argv[1:]
    if len(words) >= 3 and words[0] == "ab":
        ab(words[1], words[2], words[3:])
    elif len(words) >= 3 and words[0] in ("record", "against"):
        (record if words[0] == "record" else against)(words[1], words[2], words[3:])
    elif len(words) == 2 and words[0] == "draw":
        draw(words[1])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
