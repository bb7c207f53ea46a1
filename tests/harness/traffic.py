"""Traffic between network namespaces: TCP that is timed, and datagrams whose loss is told."""
import contextlib
import selectors
import socket
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from harness import namespaces
from harness.process import run

INTERVAL_SECONDS = 0.05
PORT = 4711
END_SECONDS = 30


def socket_in(netns, address):
    """A datagram socket of that network namespace."""
    with namespaces.network(netns):
        made = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    made.bind((address, PORT))
    return made


def ping(netns, address):
    """Until one comes back."""
    run("nsenter", f"--net={netns}", "ping", "-c", "1", "-w", END_SECONDS, address)


def flow(sender, receiver, target, listen_port=None, amount=(0, 1)):
    """Bits per second of TCP. sender, receiver: paths of namespaces; target: (address, port) that the sender connects to;
    listen_port: another, where it is translated; amount: bytes that are not timed, and bytes that are."""
    with namespaces.network(receiver):
        listener = socket.create_server(("", listen_port or target[1]))
    with listener, namespaces.network(sender):
        source = socket.create_connection(target, timeout=END_SECONDS)
        sink, _ = listener.accept()
    with source, ThreadPoolExecutor(1) as work:
        work.submit(send, source)
        with sink:
            receive(sink, amount[0])
            began = time.monotonic()
            receive(sink, amount[1])
            return int(amount[1] * 8 / (time.monotonic() - began))


def send(source):
    """Until the other one has enough."""
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        while True:
            source.sendall(bytes(1 << 16))


def receive(sink, size):
    sink.settimeout(END_SECONDS)
    while size > 0:
        received = len(sink.recv(min(size, 1 << 16)))
        assert received, "the sender went away"
        size -= received


class Flows:
    """Something from each pod to the next, all the time."""

    interval = INTERVAL_SECONDS

    def __init__(self, pods, receivers):
        """pods: [(namespace's path, address)]; receivers: their sockets, of which one may read."""
        self.receivers = receivers
        self.addresses = [address for _, address in pods]
        self.sent = [[] for _ in pods]  # times of sending
        self.last_arrived = [0.0] * len(pods)  # times of sending
        self.changed = threading.Condition()
        self.stopping = False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        with selectors.DefaultSelector() as self.selector:
            for receiver in self.receivers:
                self.selector.register(receiver, selectors.EVENT_READ)
            due = time.monotonic()
            while not self.stopping:
                for key, _ in self.selector.select(max(0.0, due - time.monotonic())):
                    self.receive(key.fileobj)
                if time.monotonic() >= due:
                    self.send()
                    due = time.monotonic() + self.interval

    def arrived(self, flow, number):
        self.last_arrived[flow] = max(self.last_arrived[flow], self.sent[flow][number])
        self.changed.notify_all()

    def wait_until_all_flow(self, seconds=END_SECONDS):
        """Until of each flow something has arrived that was sent from now on."""
        now = time.monotonic()
        with self.changed:
            return self.changed.wait_for(lambda: min(self.last_arrived) >= now, seconds)

    def stop(self):
        self.stopping = True
        self.thread.join()

    def count(self):
        return sum(map(len, self.sent))


class Traffic(Flows):
    """Datagrams, whose loss is told."""

    def __init__(self, pods):
        self.sockets = [socket_in(*pod) for pod in pods]
        self.missing = [set() for _ in pods]  # numbers
        super().__init__(pods, self.sockets)

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
            self.arrived(flow, number)

    def lost(self):
        """[(flow, time of sending)] of those that a later one has overtaken."""
        return [(flow, self.sent[flow][number]) for flow, numbers in enumerate(self.missing)
                for number in sorted(numbers) if self.sent[flow][number] < self.last_arrived[flow]]


class Streams(Flows):
    """TCP connections, a byte at a time. No outage may end one."""

    interval = 0.25

    def __init__(self, pods):
        self.received = [0] * len(pods)  # bytes
        self.ended = {}  # flow: why
        following = [*pods[1:], pods[0]]
        ends = [connection(netns, *receiver) for (netns, _), receiver in zip(pods, following)]
        self.senders = [sender for sender, _ in ends]
        self.flows = {receiver: flow for flow, (_, receiver) in enumerate(ends)}
        super().__init__(pods, list(self.flows))

    def send(self):
        for flow, sender in enumerate(self.senders):
            try:
                sender.send(b".")
                self.sent[flow].append(time.monotonic())
            except BlockingIOError:
                pass  # the other end has not answered for long
            except OSError as error:
                self.ended.setdefault(flow, str(error))

    def receive(self, receiver):
        flow = self.flows[receiver]
        try:
            size, why = len(receiver.recv(1 << 16)), "closed by its sender"
        except OSError as error:
            size, why = 0, str(error)
        if size:
            self.received[flow] += size
            with self.changed:
                self.arrived(flow, self.received[flow] - 1)
        else:
            self.ended.setdefault(flow, why)
            self.selector.unregister(receiver)


def connection(netns, there, address):
    """Both ends of a TCP connection to that address of another network namespace."""
    with namespaces.network(there):
        listener = socket.create_server((address, PORT))
    with listener, namespaces.network(netns):
        sender = socket.create_connection((address, PORT), timeout=END_SECONDS)
        receiver, _ = listener.accept()
    for end in (sender, receiver):
        end.setblocking(False)
    return sender, receiver
