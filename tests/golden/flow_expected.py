#!/usr/bin/env python3
"""Makes flow_expected.tsv: the flows that tshark reads out of the flow export in ../shared/samples/flow.
Run by hand when a sample is added:
    tests/golden/flow_expected.py ../shared/samples/flow > tests/golden/flow_expected.tsv
A row: sample, template, addresses, ports, protocol, bytes, packets, start and end (ns since 1970).
tshark shows milliseconds of uptime as they stand on the wire: the wall clock follows here as RFC 3954
says. Records of options are left out; of a sample of several files those with templates come first, as
the test reads them."""
import datetime
import os
import re
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as tree

LOGSTASH = "logstash-codec-netflow"
TELEGRAF = "telegraf/testcases"


def samples(root):
    """Name and files, in the order in which they are read."""
    found = {}
    for name in sorted(os.listdir(f"{root}/{LOGSTASH}")):
        if name.endswith(".dat"):
            group = re.sub(r"_(tpl|data|opttpl).*", "", name[:-4])
            found.setdefault(group, []).append(f"{LOGSTASH}/{name}")
    del found["ipfix_test_ixia"]  # tshark reads none of its records
    for files in found.values():
        files.sort(key=lambda file: ("tpl" not in file, file))
    for case in ("ipfix_example", "netflow_v5_example", "netflow_v9_example"):
        folder = f"{TELEGRAF}/{case}"
        found[case] = [f"{folder}/{name}" for name in sorted(os.listdir(f"{root}/{folder}")) if name.endswith(".bin")]
    return found


def capture(payloads):
    out = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    for at, payload in enumerate(payloads):
        udp = struct.pack(">HHHH", 50000, 2055, 8 + len(payload), 0) + payload
        ip = struct.pack(">BBHHHBBHII", 0x45, 0, 20 + len(udp), at, 0, 64, 17, 0, 0x0A000001, 0x0A000002)
        frame = bytes.fromhex("0200000000020200000000010800") + ip + udp
        out += struct.pack("<IIII", 1_700_000_000 + at, 0, len(frame), len(frame)) + frame
    return out


def absolute(shown):
    text, fraction, _ = re.fullmatch(r".*?: (\w+ +\d+, \d+ \d+:\d+:\d+)\.(\d{9}) (UTC)", shown).groups()
    moment = datetime.datetime.strptime(text, "%b %d, %Y %H:%M:%S").replace(tzinfo=datetime.timezone.utc)
    return int(moment.timestamp()) * 10**9 + int(fraction)


def number(fields, *names):
    for name in names:
        if name in fields:
            return str(int(fields[name].get("value"), 16))
    return "-"


def moment(fields, which, header, init):
    shown = fields.get(f"cflow.abstime{which}")
    if shown is not None and (init is None or "Jan  1, 1970" not in shown.get("showname")):
        return str(absolute(shown.get("showname")))
    said = fields.get(f"cflow.time{which}", fields.get(f"cflow.abstime{which}"))  # uptime 0 is shown as 1970
    if said is not None and init is not None:
        return str((init + int(said.get("value"), 16)) * 10**6)
    if said is None or "cflow.sysuptime" not in header:
        return "-"
    uptime = int(header["cflow.sysuptime"].get("value"), 16)
    before = (uptime - int(fields[f"cflow.time{which}"].get("value"), 16)) & 0xFFFFFFFF
    before -= (before >> 31) << 32
    exported = int(header["cflow.unix_secs"].get("value"), 16) * 1000
    if "cflow.unix_nsecs" in header:
        exported += int(header["cflow.unix_nsecs"].get("value"), 16) // 10**6
    return str((exported - before) * 10**6)


def first_of(elements):
    """By name; tshark gives reverse and substitute elements the name of the plain one, which comes first."""
    found = {}
    for element in elements:
        found.setdefault(element.get("name"), element)
    return found


def address(fields, *names):
    """Of exporters that send both an IPv4 and an IPv6 address, the one that is not zero."""
    shown = [fields[name].get("show") for name in names if name in fields]
    return next((text for text in shown if text not in ("::", "0.0.0.0")), shown[0] if shown else "-")


def flows(packet, options):
    for proto in packet.iter("proto"):
        if proto.get("name") != "cflow":
            continue
        header = first_of(proto.iter("field"))
        for part in proto.iter("field"):
            said = re.match(r"Options Template \(Id = (\d+)\)|Options Template \(Id = (\d+),", part.get("show") or "")
            if said:
                options.add(said[1] or said[2])
        for part in proto:
            template = re.search(r"\[id=(\d+)\]", part.get("show") or "")
            records = part if template else proto
            for record in records:
                if not re.match(r"Flow \d+$" if template else r"pdu \d+/\d+", record.get("show") or ""):
                    continue
                if template and template[1] in options:
                    continue
                yield (template[1] if template else "0"), first_of(record.iter("field")), header
            if not template and any(re.match(r"pdu \d+/", r.get("show") or "") for r in proto):
                break


def main():
    root = sys.argv[1]
    for name, files in samples(root).items():
        payloads = [open(f"{root}/{file}", "rb").read() for file in files]
        print("\t".join(["#", name, *files]))
        with tempfile.NamedTemporaryFile(suffix=".pcap") as wrapped:
            wrapped.write(capture(payloads))
            wrapped.flush()
            pdml = subprocess.run(["tshark", "-r", wrapped.name, "-d", "udp.port==2055,cflow", "-T", "pdml"],
                                  capture_output=True, check=True).stdout
        options, init = set(), None
        for said in tree.fromstring(pdml).iter("field"):
            if said.get("name") == "cflow.sys_init_time":
                init = int(said.get("value"), 16)
        for packet in tree.fromstring(pdml).iter("packet"):
            for template, fields, header in flows(packet, options):
                print("\t".join([
                    name, template, address(fields, "cflow.srcaddr", "cflow.srcaddrv6"),
                    address(fields, "cflow.dstaddr", "cflow.dstaddrv6"), number(fields, "cflow.srcport"),
                    number(fields, "cflow.dstport"), number(fields, "cflow.protocol"),
                    number(fields, "cflow.octets", "cflow.octets64", "cflow.permanent_octets", "cflow.initiator_octets"),
                    number(fields, "cflow.packets", "cflow.packets64", "cflow.permanent_packets"), moment(fields, "start", header, init), moment(fields, "end", header, init)]))


main()
