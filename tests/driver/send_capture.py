#!/usr/bin/env python3
"""Sends the packets of a capture out of an interface through a raw socket, at a steady pace.

  send_capture.py [--rate N] [--repeat N] INTERFACE FILE

Reads libpcap files of either byte order and resolution (Ethernet). The pace is an average over
steps of a few milliseconds: a packet is never sent before its turn. Prints how many were sent and
how many the interface refused (longer than its MTU, shorter than an Ethernet header)."""
import argparse
import socket
import struct
import sys
import time

MAGICS = {0xA1B2C3D4, 0xA1B23C4D}
ETHERNET = 1


def packets(path):
    with open(path, "rb") as file:
        head = file.read(24)
        for order in "<>":
            if struct.unpack(order + "I", head[:4])[0] in MAGICS:
                break
        else:
            sys.exit(f"{path}: not a libpcap file")
        if struct.unpack(order + "I", head[20:])[0] & 0xFFFF != ETHERNET:
            sys.exit(f"{path}: not a capture of Ethernet")
        while len(record := file.read(16)) == 16:
            length = struct.unpack(order + "IIII", record)[2]
            yield file.read(length)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float, default=20000, help="packets a second")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("interface")
    parser.add_argument("file")
    args = parser.parse_args()
    frames = list(packets(args.file)) * args.repeat
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw:
        raw.bind((args.interface, 0))
        sent = refused = 0
        begin = time.monotonic()
        for turn, frame in enumerate(frames):
            ahead = turn / args.rate - (time.monotonic() - begin)
            if ahead > 0.002:
                time.sleep(ahead)
            try:
                raw.send(frame)
                sent += 1
            except OSError:
                refused += 1
    print(f"sent {sent}\nrefused {refused}")


if __name__ == "__main__":
    main()
