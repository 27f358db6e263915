# Echo requests by ICMP, of either version. Node has no raw sockets; Open vSwitch brings Python along.
#
#   ping.py load ADDRESS INTERVAL_MS   until its input ends: says "warm" after the first answer, counts from then on
#   ping.py reach PATIENCE_MS ADDRESS...   says of each address how long its first answer took, or null
import json
import os
import select
import socket
import struct
import sys
import time

ON_THE_WAY_S = 0.5
WARM_UP_EVERY_S = 0.1
REACH_EVERY_S = 0.2


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


class Echo:
    """One flow of echo requests: an identifier of its own, and numbers that count up."""

    def __init__(self, address):
        self.six = ":" in address
        self.address = address
        family, protocol = (socket.AF_INET6, socket.IPPROTO_ICMPV6) if self.six else (socket.AF_INET, socket.IPPROTO_ICMP)
        self.socket = socket.socket(family, socket.SOCK_RAW, protocol)
        self.socket.setblocking(False)
        self.id = int.from_bytes(os.urandom(2), "big")

    def send(self, sequence):
        # The sequence has 16 bits on the wire; the whole number is in the data.
        data = struct.pack("!Q", sequence) + bytes(48)
        kind = 128 if self.six else 8
        head = struct.pack("!BBHHH", kind, 0, 0, self.id, sequence & 0xFFFF)
        # The kernel fills in the checksum of version 6.
        total = 0 if self.six else checksum(head + data)
        packet = struct.pack("!BBHHH", kind, 0, total, self.id, sequence & 0xFFFF) + data
        try:
            self.socket.sendto(packet, (self.address, 0))
        except OSError:
            pass  # no way there, or no room: it shows in the count

    def answers(self):
        """The numbers that were answered since the last time."""
        found = []
        while True:
            try:
                packet = self.socket.recv(2048)
            except BlockingIOError:
                return found
            body = packet if self.six else packet[(packet[0] & 15) * 4 :]
            if len(body) >= 16 and body[0] == (129 if self.six else 0) and struct.unpack("!H", body[4:6])[0] == self.id:
                found.append(struct.unpack("!Q", body[8:16])[0])


def load(address, every_s):
    echo = Echo(address)
    stdin = sys.stdin.fileno()
    warm, sent, seen, last, gap, over = False, 0, set(), None, 0.0, None
    upcoming = time.monotonic()
    while over is None or time.monotonic() < over:
        now = time.monotonic()
        if over is None and now >= upcoming:
            echo.send(sent)
            sent += 1
            upcoming += every_s if warm else WARM_UP_EVERY_S
        wait = max(0.0, (upcoming if over is None else over) - time.monotonic())
        ready, _, _ = select.select([echo.socket] + ([stdin] if over is None else []), [], [], wait)
        if stdin in ready and os.read(stdin, 64) == b"":
            over = time.monotonic() + ON_THE_WAY_S
        for number in echo.answers():
            now = time.monotonic()
            if not warm:
                warm, first, upcoming = True, sent, now
                print("warm", flush=True)
            elif number >= first:
                gap = max(gap, now - last) if last is not None else gap
                last = now
                seen.add(number)
    counted = sent - first if warm else sent
    print(json.dumps({"sent": counted, "returned": len(seen), "longestGapMs": round(gap * 1000, 1)}), flush=True)


def reach(patience_s, addresses):
    echoes = {address: Echo(address) for address in addresses}
    began = time.monotonic()
    took = {address: None for address in addresses}
    number = 0
    while time.monotonic() < began + patience_s and None in took.values():
        for address, echo in echoes.items():
            if took[address] is None:
                echo.send(number)
        number += 1
        until = time.monotonic() + REACH_EVERY_S
        while time.monotonic() < until and None in took.values():
            sockets = [echo.socket for address, echo in echoes.items() if took[address] is None]
            select.select(sockets, [], [], max(0.0, until - time.monotonic()))
            for address, echo in echoes.items():
                if took[address] is None and echo.answers():
                    took[address] = round((time.monotonic() - began) * 1000, 1)
    print(json.dumps(took))


if sys.argv[1] == "load":
    load(sys.argv[2], float(sys.argv[3]) / 1000)
else:
    reach(float(sys.argv[2]) / 1000, sys.argv[3:])
