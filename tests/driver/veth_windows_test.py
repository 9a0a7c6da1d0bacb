#!/usr/bin/env python3
"""The whole program on a live interface: a second process sends the bundled capture, Tidewire receives it by
net_af_packet and by net_af_xdp, and its windows are those of reading the file.

  veth_windows_test.py TIDEWIRE CAPTURE WORK_FOLDER

Live stamps are not the file's, so the query is one whose windows do not depend on them: sessions with a gap longer than
the test, keyed by addresses, ports and protocol. Exits 77 (skipped) where it may not make namespaces."""
import json
import os
import signal
import subprocess
import sys
import time

import veth_test


def config(path, source, out):
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"""
[source.in]
{source}
[query.flows]
source = "in"
key = ["flow"]
aggregates = ["count", "sum(captured_length) as bytes", "max(captured_length) as largest"]
window = {{ type = "session", gap = "1 h" }}
[sink.out]
type = "file"
path = "{out}"
format = "json"
""")


def rows(path):
    with open(path, encoding="utf-8") as file:
        return sorted((json.dumps(row["key"]), json.dumps(row["values"])) for row in map(json.loads, file))


def count_records(path):
    with open(path, "rb") as file:
        data = file.read()
    at, count = 24, 0
    while at < len(data):
        at, count = at + 16 + int.from_bytes(data[at + 8:at + 12], "little"), count + 1
    return count


def main():
    tidewire, capture, work = sys.argv[1:4]
    skip = veth_test.why_not()
    if skip:
        print(f"skipped: {skip}")
        return veth_test.SKIP
    os.makedirs(work, exist_ok=True)
    failures = 0

    def run_with(name, source, around=lambda process: None, prefix=()):
        out, conf = os.path.join(work, name + ".json"), os.path.join(work, name + ".conf")
        if os.path.exists(out):
            os.remove(out)
        config(conf, source, out)
        process = subprocess.Popen([*prefix, tidewire, "run", conf], stderr=subprocess.PIPE, text=True)
        around(process)
        _, errors = process.communicate(timeout=60)
        return rows(out), errors, process.returncode

    want, errors, code = run_with("file", f'type = "file"\npath = "{capture}"')
    assert code == 0 and want, errors
    count = count_records(capture)
    with veth_test.Net() as net:
        def send(process):
            for line in process.stderr:
                if "workers on cores" in line:
                    break
            time.sleep(0.2)  # the port is open; the workers turn
            veth_test.run("ip", "netns", "exec", net.far, sys.executable,
                          os.path.join(veth_test.HERE, "send_capture.py"), "--rate", "4000", "tw1", capture)
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)

        def promiscuous():
            return "on" if "PROMISC" in veth_test.run("ip", "-n", net.near, "link", "show", "tw0") else "off"

        for device in ("net_af_packet0,iface=tw0", "net_af_xdp0,iface=tw0"):
            for found, asked in (("off", "true"), ("on", "true"), ("on", "false")):  # a stop leaves the interface as it was
                veth_test.run("ip", "-n", net.near, "link", "set", "tw0", "promisc", found)
                got, errors, code = run_with(device.split(",", maxsplit=1)[0], f'type = "port"\ndevice = "{device}"\npromiscuous = {asked}',
                                             send, ("ip", "netns", "exec", net.near))
                good = got == want and code == 0 and f"tidewire: {count} packets, {count} events" in errors
                print(("ok      " if good else "FAILED  ") + f"{device}: {len(got)} sessions as from the file")
                if not good:
                    print(errors)
                    print([pair for pair in zip(got, want) if pair[0] != pair[1]][:3], len(got), len(want))
                left = promiscuous()
                print(("ok      " if left == found else "FAILED  ") + f"{device}: promiscuous {found} before, {left} after asking {asked}")
                failures += (not good) + (left != found)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
