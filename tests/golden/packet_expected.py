#!/usr/bin/env python3
"""Makes packet_expected.tsv: what tshark counts in captures of ../shared/samples, by second,
protocol, addresses, ports and VLAN ids. Run by hand when a capture is added:
    tests/golden/packet_expected.py ../shared/samples > tests/golden/packet_expected.tsv
Reassembly is off (a later fragment has no ports) and GRE is not opened (the outer packet counts, as
in our parser); of fields that occur again inside a tunnel the first is taken."""
import collections
import subprocess
import sys

# Captures, and how long one row's time is: a second with addresses and ports, or a minute by protocol
# only where rows would be many.
CAPTURES = [
    ("capture/zeek/ticks-dns.pcap", 1),
    ("capture/zeek/pcapng-multi-interface.pcapng", 1),
    ("capture/pcap-parser/wireshark_samples-test.pcapng", 60),
    ("capture/pcap-parser/ntp.pcap", 1),
    ("capture/pcap-parser/modified-format.pcap", 1),
    ("capture/tcpdump/isup.pcap", 1),
    ("capture/tcpdump/pptp.pcap", 1),
    ("capture/tcpdump/tcp-handshake-nano.pcap", 1),
    ("capture/tcpdump/slow-ossp.pcap", 1),
    ("encap/tcpdump/802.1ad_QinQ.pcap", 1),
    ("encap/tcpdump/erspan-type-ii-1.pcap", 1),
    ("encap/tcpdump/mpls-over-udp.pcap", 1),
    ("encap/suricata-verify/gre-udp.pcap", 1),
    ("encap/suricata-verify/ipv4frags.pcap", 1),
    ("encap/suricata-verify/vxlan.pcap", 1),
    ("encap/suricata-verify/truncated.pcap", 1),
    ("encap/snabb/udp-afteraftr-ipv6-2frags.pcap", 1),
    ("encap/snabb/udp-frominet-3frag-bound.pcap", 1),
    ("encap/zeek/geneve.pcap", 1),
    ("encap/zeek/http-qinq-0.pcap", 1),
    ("encap/zeek/http-vlan-0.pcap", 1),
    ("encap/zeek/mixed-vlan-mpls.pcap", 1),
    ("encap/zeek/chksums/ip6-hoa-tcp-good-chksum.pcap", 1),
    ("encap/zeek/chksums/ip6-hoa-udp-good-chksum.pcap", 1),
    ("encap/zeek/chksums/ip6-route0-tcp-good-chksum.pcap", 1),
    ("encap/zeek/chksums/ip6-route0-icmp6-good-chksum.pcap", 1),
]
FIELDS = """frame.time_epoch frame.len frame.protocols ip.proto ipv6.nxt ipv6.hopopts.nxt ipv6.dstopts.nxt
ipv6.routing.nxt ipv6.fraghdr.nxt ip.src ipv6.src arp.src.proto_ipv4 ip.dst ipv6.dst
arp.dst.proto_ipv4 tcp.srcport udp.srcport sctp.srcport tcp.dstport udp.dstport sctp.dstport""".split()


def tshark(path, fields, occurrence):
    command = ["tshark", "-n", "-r", path, "-o", "ip.defragment:FALSE", "-o",
               "ipv6.defragment:FALSE", "--disable-protocol", "gre", "-T", "fields", "-E",
               "occurrence=" + occurrence]
    for field in fields:
        command += ["-e", field]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [line.split("\t") for line in out.split("\n")[:-1]]


def first(*values):
    return next((v for v in values if v), "-")


def main():
    root = sys.argv[1]
    print("# capture second protocol src dst src_port dst_port vlans packets bytes")
    for name, seconds in CAPTURES:
        path = root + "/" + name
        rows = collections.Counter()
        octets = collections.Counter()
        tags = tshark(path, ["ieee8021ad.id", "vlan.id"], "a")
        for values, tag in zip(tshark(path, FIELDS, "f"), tags):
            f = dict(zip(FIELDS, values))
            outer = next((p for p in f["frame.protocols"].split(":") if p in ("ip", "ipv6")), "arp")
            upper = ["ipv6.fraghdr.nxt", "ipv6.routing.nxt", "ipv6.dstopts.nxt", "ipv6.hopopts.nxt",
                     "ipv6.nxt"] if outer == "ipv6" else ["ip.proto"]
            protocol = first(*(f[upper_field] for upper_field in upper))
            # An ICMP error quotes the ports of the packet that it is about.
            has_ports = protocol in ("6", "17", "132")
            source = first(f["tcp.srcport"], f["udp.srcport"], f["sctp.srcport"]) if has_ports else "-"
            target = first(f["tcp.dstport"], f["udp.dstport"], f["sctp.dstport"]) if has_ports else "-"
            vlans = ",".join(t for field in tag for t in field.split(",") if t) or "-"
            second = int(f["frame.time_epoch"].split(".")[0])
            address = {"ip": "ip.", "ipv6": "ipv6."}.get(outer)
            source_address = first(f[address + "src"] if address else f["arp.src.proto_ipv4"])
            target_address = first(f[address + "dst"] if address else f["arp.dst.proto_ipv4"])
            key = (second, protocol, source_address, target_address, source, target, vlans)
            if seconds > 1:
                key = (second - second % seconds, protocol, "*", "*", "*", "*", "*")
            rows[key] += 1
            octets[key] += int(f["frame.len"])
        for key in sorted(rows):
            print(name, *key, rows[key], octets[key], sep="\t")


main()
