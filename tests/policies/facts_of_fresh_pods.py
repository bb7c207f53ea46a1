"""Pods come and go under a policy that denies everything, while others flood their addresses and they flood the others."""
import contextlib
import errno
import itertools
import json
import socket
import threading
import time

from harness.expectation import expect
from harness.namespaces import network
from ovn.exchange import FAMILIES
from ovn.packets import Packets
from policies.policed_pods import PolicedPods
from policies.policy_chance import Pod

LOCKED, FLOOD = "locked", "flood"
DENY = {"metadata": {"name": "deny"}, "spec": {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}}
PATH = f"/apis/networking.k8s.io/v1/namespaces/{LOCKED}/networkpolicies"
PORT = 9
# Of the pods' networks, in which every pod gets an address of each family; each node has a block with backend local.
TARGETS = [*((f"10.44.0.{number}", 4) for number in range(2, 48)),
           *((f"fd00:44:0:0:{block}::{number:x}", 6) for block in range(3) for number in range(2, 16))]
PAUSE_SECONDS = 0.002
ROUNDS_AFTER_ADD = 5
TRIES = 2  # without the policy
NEIGHBOUR_DISCOVERY = (135, 136)  # RFC 4861
ETH_P_ALL = socket.htons(3)
ETHERTYPES = {socket.htons(0x0800): 4, socket.htons(0x86DD): 6}
SO_RCVBUFFORCE, CAPTURE_BYTES = 33, 1 << 25  # socket(7)


class Sender(threading.Thread):
    """Sends datagrams with its name from a network namespace to addresses, until it is stopped: from the first moment on in which the
    kernel has a way to them."""

    def __init__(self, path, name, targets):
        super().__init__(daemon=True)
        with network(path):
            self.sockets = {family: socket.socket(kind, socket.SOCK_DGRAM) for family, kind in FAMILIES.items()}
        self.content, self.targets, self.rounds = name.encode(), targets, 0
        self.stopped = threading.Event()
        self.start()

    def run(self):
        while not self.stopped.wait(PAUSE_SECONDS):
            for address, family in self.targets:
                try:
                    self.sockets[family].sendto(self.content, (address, PORT))
                except OSError as error:
                    # No way yet, or no more; and what a filter of the sender's own node answers.
                    if error.errno not in (errno.ENETUNREACH, errno.EADDRNOTAVAIL, errno.EHOSTUNREACH, errno.EPERM, errno.ENOBUFS):
                        raise
            self.rounds += 1

    def wait_rounds(self, count):
        wanted = self.rounds + count
        while self.rounds < wanted:
            expect(self.is_alive(), "the sender has ended")
            time.sleep(PAUSE_SECONDS)

    def stop(self):
        self.stopped.set()
        self.join()
        for each in self.sockets.values():
            each.close()


class Capture:
    """All packets that enter a network namespace from now on."""

    def __init__(self, path):
        with network(path):
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, ETH_P_ALL)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, CAPTURE_BYTES)
        self.socket.setblocking(False)

    def packets_from(self, sources):
        """How many came from these addresses since the last call."""
        count = 0
        with contextlib.suppress(BlockingIOError):
            while True:
                packet, (_, protocol, kind, *_) = self.socket.recvfrom(100)
                family = ETHERTYPES.get(socket.htons(protocol))
                # A bridge also sends it what is for the MAC of a pod that is gone: its kernel drops that.
                if family and kind == socket.PACKET_HOST:
                    source = packet[12:16] if family == 4 else packet[8:24]
                    count += socket.inet_ntop(FAMILIES[family], source) in sources and not is_of_neighbours(packet)
        return count

    def close(self):
        self.socket.close()


def is_of_neighbours(packet):
    """Pods of one switch ask for each other's MAC, whatever the policies say. packet: of IPv4 or IPv6."""
    return packet[0] >> 4 == 6 and packet[6] == socket.IPPROTO_ICMPV6 and packet[40] in NEIGHBOUR_DISCOVERY


class FreshPods:
    def __init__(self, cluster):
        """A flooding pod on each node of ControlledPods, which has no other pods."""
        self.cluster = cluster
        flooders = [Pod(FLOOD, f"flooder-{number}", {}, {}) for number in range(len(cluster.nodes))]
        self.pods = PolicedPods(cluster, {LOCKED: {}, FLOOD: {}}, flooders, {})
        self.addresses = [(address, family) for pod in flooders for family, address in pod.addresses.items()]
        self.servers = [self.serve(f"{FLOOD}/{pod.name}", family) for pod in flooders for family in FAMILIES]
        targets = [each for each in TARGETS if each not in self.addresses]
        self.floods = [Sender(cluster.path_of(f"{FLOOD}/{pod.name}"), pod.name, targets) for pod in flooders]
        self.numbers = itertools.count()

    def serve(self, name, family):
        with network(self.cluster.path_of(name)):
            return Packets.listen(family, "UDP", PORT)

    def live(self, is_open=False):
        """A pod's life, on one node after the other: how many packets of the floods came, and how many of its datagrams the flooding pods
        got. is_open: it lives until there are both."""
        number = next(self.numbers)
        node, name = self.cluster.nodes[number % len(self.cluster.nodes)], f"fresh-{number}"
        sandbox = self.cluster.create_pod(LOCKED, {"name": name}, [{"name": "main", "image": "pause"}], node)
        path, counts, deadline = self.cluster.path_of(f"{LOCKED}/{name}"), [0, 0], time.monotonic() + self.cluster.patience
        sources = {address for address, _ in self.addresses}
        capture, sender = Capture(path), Sender(path, name, self.addresses)

        def count():
            counts[0] += capture.packets_from(sources)
            counts[1] += self.received(name)

        try:
            sandbox.add().result()
            self.cluster.tell(sandbox)
            for each in (sender, *self.floods):
                each.wait_rounds(ROUNDS_AFTER_ADD)
            count()
            while is_open and not all(counts) and time.monotonic() < deadline:
                time.sleep(PAUSE_SECONDS)
                count()
            self.cluster.end_pod(LOCKED, name)
            # What the switch still holds of it, or for it, comes within that time.
            for each in self.floods:
                each.wait_rounds(1)
            count()
        finally:
            sender.stop()
        capture.close()
        return counts

    def received(self, name):
        count = 0
        for server in self.servers:
            with contextlib.suppress(BlockingIOError):
                while True:
                    count += server.recv(100).decode() == name
        return count

    def deny(self, denies=True):
        if denies:
            self.cluster.ask("POST", PATH, DENY)
        else:
            self.cluster.ask("DELETE", f"{PATH}/deny")

    def wait_until_closed(self):
        """Until all nodes have heard of the policy: one pod after the other, on each node, got and sent nothing."""
        closed, deadline = 0, time.monotonic() + self.cluster.patience
        while closed < len(self.cluster.nodes):
            closed = 0 if any(self.live()) else closed + 1
            expect(time.monotonic() < deadline, "pods are still open")

    def stop(self):
        for each in (*self.floods, *self.servers):
            each.stop() if isinstance(each, Sender) else each.close()
        self.pods.remove()


def check(facts, cluster, count):
    """cluster: ControlledPods without pods; count: how many lives."""
    with facts.fact("without policies, a new pod gets what others send to its address, and they get what it sends", basis=True):
        pods = FreshPods(cluster)
        lives = [pods.live(is_open=True) for _ in range(TRIES * len(cluster.nodes))]
        expect(all(min(each) > 0 for each in lives), json.dumps(lives))
    with facts.fact(f"{count} pods come and go under a policy that denies everything: no packet enters or leaves one, not even the first"):
        pods.deny()
        pods.wait_until_closed()
        lives = [pods.live() for _ in range(count)]
        pods.deny(False)
        leaks = {number: each for number, each in enumerate(lives) if any(each)}
        expect(not leaks, f"(packets in, out) by pod: {json.dumps(leaks)}")
    with facts.fact("pods that go leave no flood"):
        pods.stop()
