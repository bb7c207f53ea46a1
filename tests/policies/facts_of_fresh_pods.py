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
# The first addresses of the pods' networks, of which every pod gets one of each family.
TARGETS = [*(("10.44.0.%d" % number, 4) for number in range(2, 64)), *((f"fd00:44::{number:x}", 6) for number in range(2, 64))]
PAUSE_SECONDS = 0.002
ROUNDS_AFTER_ADD = 5
TRIES = 2  # without the policy
ETH_P_ALL = socket.htons(3)
ETHERTYPES = {socket.htons(0x0800): 4, socket.htons(0x86DD): 6}
CAPTURE_BYTES = 1 << 25


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
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUFFORCE, CAPTURE_BYTES)
        self.socket.setblocking(False)

    def packets_from(self, sources):
        """How many came from these addresses; closes it."""
        count = 0
        with contextlib.suppress(BlockingIOError), self.socket:
            while True:
                packet, (_, protocol, kind, *_) = self.socket.recvfrom(100)
                family = ETHERTYPES.get(socket.htons(protocol))
                if family and kind != socket.PACKET_OUTGOING:
                    source = packet[12:16] if family == 4 else packet[8:24]
                    count += socket.inet_ntop(FAMILIES[family], source) in sources
        return count


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

    def live(self):
        """A pod's life, always of the same name, on one node after the other: (packets of floods that came, datagrams that the floods'
        pods got from it)."""
        number = next(self.numbers)
        node = self.cluster.nodes[number % len(self.cluster.nodes)]
        containers = [{"name": "main", "image": "pause"}]
        sandbox = self.cluster.create_pod(LOCKED, {"name": "fresh"}, containers, node)
        path = self.cluster.path_of(f"{LOCKED}/fresh")
        capture, sender = Capture(path), Sender(path, f"fresh-{number}", self.addresses)
        try:
            sandbox.add().result()
            self.cluster.tell(sandbox)
            for each in (sender, *self.floods):
                each.wait_rounds(ROUNDS_AFTER_ADD)
            self.cluster.end_pod(LOCKED, "fresh")
        finally:
            sender.stop()
        return capture.packets_from({address for address, _ in self.addresses}), self.received(f"fresh-{number}")

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

    def stop(self):
        for each in (*self.floods, *self.servers):
            each.stop() if isinstance(each, Sender) else each.close()
        self.pods.remove()


def check(facts, cluster, count):
    """cluster: ControlledPods without pods; count: how many lives."""
    with facts.fact("without policies, a new pod gets what others send to its address, and they get what it sends", basis=True):
        pods = FreshPods(cluster)
        lives = [pods.live() for _ in range(TRIES * len(cluster.nodes))]
        expect(all(min(each) > 0 for each in lives), json.dumps(lives))
    with facts.fact(f"{count} pods come and go under a policy that denies everything: no packet enters or leaves one, not even the first"):
        pods.deny()
        lives = [pods.live() for _ in range(count)]
        leaks = {number: each for number, each in enumerate(lives) if any(each)}
        expect(not leaks, f"(packets in, out) by pod: {json.dumps(leaks)}")
        pods.deny(False)
    with facts.fact("pods that go leave no flood"):
        pods.stop()
