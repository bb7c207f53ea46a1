"""Datagrams from each running pod to the next, all the time."""
import os
import selectors
import socket
import struct
import threading
import time

from cni_conformance.namespaces import CLONE_NEWNET, LIBC

INTERVAL_SECONDS = 0.05
PORT = 4711
SO_NO_CHECK = 11


def socket_in(netns, address):
    """A datagram socket of that network namespace."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    there = os.open(netns, os.O_RDONLY)
    try:
        if LIBC.setns(there, CLONE_NEWNET) != 0:
            raise OSError(f"setns to {netns}")
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    finally:
        LIBC.setns(home, CLONE_NEWNET)
        os.close(there)
        os.close(home)
    # A veth leaves the sum to a card that Open vSwitch's userspace datapath has not got.
    made.setsockopt(socket.SOL_SOCKET, SO_NO_CHECK, 1)
    made.bind((address, PORT))
    return made


class Traffic:
    def __init__(self, pods):
        """pods: [(namespace's path, IPv4 address)]"""
        self.sockets = [socket_in(*pod) for pod in pods]
        self.addresses = [address for _, address in pods]
        self.sent = [[] for _ in pods]  # times of sending
        self.missing = [set() for _ in pods]  # numbers
        self.last_arrived = [0.0] * len(pods)  # times of sending
        self.changed = threading.Condition()
        self.stopping = False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        with selectors.DefaultSelector() as selector:
            for receiver in self.sockets:
                selector.register(receiver, selectors.EVENT_READ)
            due = time.monotonic()
            while not self.stopping:
                for key, _ in selector.select(max(0.0, due - time.monotonic())):
                    self.receive(key.fileobj)
                if time.monotonic() >= due:
                    self.send()
                    due = time.monotonic() + INTERVAL_SECONDS

    def send(self):
        for flow, sender in enumerate(self.sockets):
            number = len(self.sent[flow])
            with self.changed:
                self.sent[flow].append(time.monotonic())
                self.missing[flow].add(number)
            try:
                sender.sendto(struct.pack("!II", flow, number),
                              (self.addresses[(flow + 1) % len(self.addresses)], PORT))
            except OSError:
                pass  # nobody answers ARP: it counts as lost

    def receive(self, receiver):
        flow, number = struct.unpack("!II", receiver.recv(64))
        with self.changed:
            self.missing[flow].discard(number)
            self.last_arrived[flow] = max(self.last_arrived[flow], self.sent[flow][number])
            self.changed.notify_all()

    def wait_until_all_flow(self, seconds=30):
        """Until of each flow a datagram has arrived that was sent from now on."""
        now = time.monotonic()
        with self.changed:
            return self.changed.wait_for(lambda: min(self.last_arrived) >= now, seconds)

    def stop(self):
        self.stopping = True
        self.thread.join()

    def lost(self):
        """[(flow, time of sending)] of those that a later one has overtaken."""
        return [(flow, self.sent[flow][number]) for flow, numbers in enumerate(self.missing)
                for number in sorted(numbers) if self.sent[flow][number] < self.last_arrived[flow]]

    def count(self):
        return sum(map(len, self.sent))
