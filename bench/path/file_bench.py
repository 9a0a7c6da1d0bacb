#!/usr/bin/env python3
"""File to window, the whole program: io_uring feed, packet parser, windows by source, null output.

  file_bench.py TIDEWIRE MAKE_CAPTURE FOLDER [--smoke] [--packets N] [--repeat N]

One worker on one file; two workers on two files as lanes, each with half of the packets, exchanged (a row goes to its
key's owner) and local (each worker keeps its own). Alternating runs; medians of wall time from start of the workers."""
import argparse
import os
import re
import statistics
import subprocess


def config(path, files, workers, placement):
    names = ", ".join(f'"{name}"' for name in files)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"""
[runtime]
workers = {workers}
[source.capture]
type = "file"
path = [{names}]
lanes = "per_file"
out_of_orderness = "10 ms"
max_drift = "500 ms"
[query.talkers]
source = "capture"
key = ["src"]
aggregates = ["count", "sum(wire_length) as bytes"]
window = {{ type = "tumbling", size = "1 s" }}
max_keys = 65536
placement = "{placement}"
[sink.out]
type = "stdout"
format = "binary"
""")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tidewire")
    parser.add_argument("make_capture")
    parser.add_argument("folder")
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--packets", type=int, default=8_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    args = parser.parse_args()
    if args.smoke:
        args.packets, args.repeat = 20_000, 1
    os.makedirs(args.folder, exist_ok=True)
    captures = [os.path.join(args.folder, name) for name in ("whole.pcap", "half0.pcap", "half1.pcap")]
    for number, path in enumerate(captures):
        packets = args.packets if number == 0 else args.packets // 2
        rate = 1_000_000 if number == 0 else 500_000
        subprocess.run([args.make_capture, path, str(packets), "60", "10000", str(rate), str(number)], check=True)
    cases = {"1 worker": (captures[:1], 1, "auto"), "2 workers, exchange": (captures[1:], 2, "exchange"),
             "2 workers, local": (captures[1:], 2, "local")}
    rates = {name: [] for name in cases}
    for _ in range(args.repeat):
        for name, (files, workers, placement) in cases.items():
            path = os.path.join(args.folder, "bench.conf")
            config(path, files, workers, placement)
            with open(os.devnull, "wb") as null:
                run = subprocess.run([args.tidewire, "run", path], stdout=null, stderr=subprocess.PIPE, text=True, check=True)
            match = re.search(r"(\d+) packets, .*, ([0-9.]+) ([kMG]?) ?packets/s", run.stderr)
            assert int(match[1]) == args.packets, run.stderr
            rates[name].append(float(match[2]) * {"k": 1e3, "M": 1e6, "G": 1e9, "": 1}[match[3]])
    first = statistics.median(rates["1 worker"])
    print(f"file to window, {args.packets} packets of 60 bytes, 10,000 sources, tumbling 1 s; medians of {args.repeat}")
    for name, values in rates.items():
        rate = statistics.median(values)
        print(f"  {name:22s} {rate / 1e6:6.2f} M packets/s  {1e9 / rate:6.1f} ns/packet  {rate / first:5.2f}x  "
              f"(least {min(values) / 1e6:.2f}, most {max(values) / 1e6:.2f})")
    for path in captures:
        os.remove(path)


if __name__ == "__main__":
    main()
