#!/usr/bin/env python3
"""A port on a real (if virtual) interface: packets of another process, and what goes wrong there.

  veth_test.py RECEIVER WORK_FOLDER

Two network namespaces with a veth pair; one sends a capture, the other receives it through our
Source by net_af_packet and by net_af_xdp. Every byte has to be the file's, in order. Exits 77
(skipped) where it may not make namespaces."""
import os
import random
import signal
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SKIP = 77
NOBODY = 65534


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def make_frames(count, seed):
    """Lengths from the least frame to the largest; every fifth with a VLAN tag, each numbered."""
    choose = random.Random(seed)
    frames = []
    for number in range(count):
        ether = struct.pack("!6s6s", b"\x02\0\0\0\0\x02", b"\x02\0\0\0\0\x01")
        if number % 5 == 0:
            ether += struct.pack("!HH", 0x8100, 1 + number % 4000)
        ether += struct.pack("!H", 0x88B5)  # IEEE 802: for local experiments
        size = choose.choice([60, 61, 128, 590, 1500, choose.randint(60, 1514)])
        body = struct.pack("!Q", number) + choose.randbytes(size)
        frames.append((ether + body)[:size])
    return frames


def write_capture(path, frames):
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
        for number, frame in enumerate(frames):
            file.write(struct.pack("<IIII", number, 0, len(frame), len(frame)) + frame)


def read_records(path):
    records = []
    with open(path, "rb") as file:
        while len(head := file.read(4)) == 4:
            records.append(file.read(struct.unpack("<I", head)[0]))
    return records


class Net:
    """near: where the receiver runs, on tw0; far: where the sender runs, on tw1."""

    def __init__(self):
        self.near, self.far = f"tw{os.getpid()}n", f"tw{os.getpid()}f"

    def __enter__(self):
        for name in (self.near, self.far):
            run("ip", "netns", "add", name)
            for scope in ("all", "default"):
                run("ip", "netns", "exec", name, "sysctl", "-qw",
                    f"net.ipv6.conf.{scope}.disable_ipv6=1")
        run("ip", "-n", self.near, "link", "add", "tw0", "type", "veth", "peer", "name", "tw1",
            "netns", self.far)
        run("ip", "-n", self.near, "link", "set", "tw0", "up")
        run("ip", "-n", self.far, "link", "set", "tw1", "up")
        return self

    def __exit__(self, *_):
        for name in (self.near, self.far):
            subprocess.run(["ip", "netns", "del", name], check=False)


class Test:
    def __init__(self, receiver, work, net):
        self.receiver, self.work, self.net = receiver, work, net
        self.failures = 0

    def expect(self, good, what):
        print(("ok      " if good else "FAILED  ") + what, flush=True)
        self.failures += not good

    def command(self, *words, user=None):
        return ["ip", "netns", "exec", self.net.near,
                *(["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
                  if user else []), self.receiver, *words]

    def start(self, *words):
        """Started and taking packets; the lines that it said about itself."""
        process = subprocess.Popen(self.command(*words), stdout=subprocess.PIPE, text=True)
        said = []
        for line in process.stdout:
            if line.strip() == "ready":
                return process, said
            said.append(line.strip())
        sys.exit(f"the receiver did not get ready: {words}")

    def finish(self, process):
        out, _ = process.communicate(timeout=60)
        return {name: int(value) for name, value in
                (line.split() for line in out.splitlines() if len(line.split()) == 2)}

    def send(self, capture, rate):
        out = run("ip", "netns", "exec", self.net.far, sys.executable,
                  os.path.join(HERE, "send_capture.py"), "--rate", str(rate), "tw1", capture)
        return dict(line.split() for line in out.splitlines())

    def refused(self, *words, user=None):
        done = subprocess.run(self.command(*words, user=user), capture_output=True, text=True,
                              timeout=60, check=False)
        return done.stderr.strip() if done.returncode == 1 else f"started: {done.stdout}"

    def whole(self, device, capture, frames, queues=1):
        out = os.path.join(self.work, "received.bin")
        process, said = self.start("--out", out, "--count", str(len(frames)), "--queues",
                                   str(queues), device)
        print("        " + " | ".join(said))
        sent = self.send(capture, 10000)
        counters = self.finish(process)
        self.expect(int(sent["sent"]) == len(frames), f"{device}: all were sent {sent}")
        received = read_records(out)
        if queues > 1:
            received.sort()
            frames = sorted(frames)
        same = received == frames
        self.expect(same, f"{device}: {len(received)} packets equal to the capture, {counters}")
        if not same:
            for number, (mine, theirs) in enumerate(zip(received, frames)):
                if mine != theirs:
                    print(f"        first difference at {number}: {mine[:40].hex()} ({len(mine)}) "
                          f"for {theirs[:40].hex()} ({len(theirs)})")
                    break

    def overrun(self, capture, count):
        """A ring of the kernel that nobody empties: what does not fit is counted, to the packet."""
        process, _ = self.start("--stall", "1500", "net_af_packet0,iface=tw0,framecnt=64")
        self.send(capture, 20000)
        got = self.finish(process)
        self.expect(got["missed"] > 0 and got["packets"] + got["missed"] == count,
                    f"net_af_packet: {count} sent = {got['packets']} received + "
                    f"{got['missed']} missed")

    def in_use(self, capture, frames):
        """A second start is refused, and the first one does not notice."""
        device = "net_af_xdp0,iface=tw0"
        out = os.path.join(self.work, "received.bin")
        process, _ = self.start("--out", out, "--seconds", "20", "--count", str(len(frames)),
                                device)
        message = self.refused(device)
        self.expect("in use" in message and "ip link set dev tw0 xdp off" in message,
                    f"net_af_xdp, interface in use: {message}")
        self.send(capture, 10000)
        self.finish(process)
        self.expect(read_records(out) == frames, "net_af_xdp: the first still receives all")

    def after_a_kill(self, capture, frames):
        device = "net_af_xdp0,iface=tw0"
        process, _ = self.start("--seconds", "60", device)
        process.send_signal(signal.SIGKILL)
        process.wait()
        left = run("ip", "-n", self.net.near, "link", "show", "tw0")
        self.expect("prog/xdp" in left, "net_af_xdp: a killed process leaves its program behind")
        self.whole(device, capture, frames)
        left = run("ip", "-n", self.net.near, "link", "show", "tw0")
        self.expect("prog/xdp" not in left, "net_af_xdp: the next start takes it over and away")

    def rights(self):
        for device, right in (("net_af_packet0,iface=tw0", "CAP_NET_RAW"),
                              ("net_af_xdp0,iface=tw0", "CAP_BPF")):
            message = self.refused(device, user=NOBODY)
            self.expect(right in message and "setcap" in message, f"as nobody: {message}")


def why_not():
    """Why this process may not make namespaces; None: it may."""
    if os.geteuid() != 0:
        return "making network namespaces takes root"
    probe = subprocess.run(["ip", "netns", "add", f"tw{os.getpid()}p"], check=False,
                           capture_output=True)
    if probe.returncode != 0:
        return f"no network namespaces here: {probe.stderr.decode().strip()}"
    run("ip", "netns", "del", f"tw{os.getpid()}p")
    return None


def main():
    receiver, work = sys.argv[1:3]
    skip = why_not()
    if skip:
        print(f"skipped: {skip}")
        return SKIP
    os.makedirs(work, exist_ok=True)
    capture = os.path.join(work, "sent.pcap")
    seed = int(os.environ.get("TIDEWIRE_SEED", time.time_ns() % 1_000_000))
    print(f"seed {seed} (TIDEWIRE_SEED)")
    frames = make_frames(5000, seed)
    write_capture(capture, frames)
    # Nobody may not enter the build folder everywhere.
    public = f"/tmp/tidewire_receive_{os.getpid()}"
    run("cp", receiver, public)
    run("chmod", "755", public)
    try:
        with Net() as net:
            test = Test(public, work, net)
            test.whole("net_af_packet0,iface=tw0", capture, frames)
            test.whole("net_af_xdp0,iface=tw0", capture, frames)
            test.whole("net_af_packet0,iface=tw0", capture, frames, queues=2)
            test.overrun(capture, len(frames))
            test.in_use(capture, frames)
            test.after_a_kill(capture, frames)
            test.rights()
    finally:
        os.unlink(public)
    return 1 if test.failures else 0


if __name__ == "__main__":
    sys.exit(main())
