"""Requests that go on while parts of kuryr-cni are killed or replaced."""
import http.client
import threading
import time

from harness import namespaces
from harness.expectation import POLL_SECONDS, Failed, nothing
from kubernetes.network_pods import CALL_SECONDS, PORT, ask, until_answered

BACK_SECONDS = 30


class Way:
    """Requests from a network namespace to a pod, one after the other, in a thread of its own."""

    def __init__(self, name, netns, address, port, stopping):
        self.name, self.netns, self.address, self.port, self.stopping = name, netns, address, port, stopping
        self.last, self.gap, self.failures = time.monotonic(), 0.0, 0
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.stopping.wait(POLL_SECONDS):
            self.count(lambda: ask(self.netns, self.address, self.port))

    def count(self, act):
        try:
            act()
        except (OSError, http.client.HTTPException):
            self.failures += 1
            return
        now = time.monotonic()
        self.gap, self.last = max(self.gap, now - self.last), now

    def begin(self):
        self.gap, self.failures = 0.0, 0


class Connection(Way):
    """The same by one TCP connection, which is opened again only where it has failed."""

    def run(self):
        with namespaces.network(self.netns):
            self.connection, self.is_open = http.client.HTTPConnection(self.address, self.port, timeout=CALL_SECONDS), False
            # Otherwise a request would open another one, unseen, where the server has closed this one.
            self.connection.auto_open = 0
            while not self.stopping.wait(POLL_SECONDS):
                self.count(self.request)
            self.connection.close()

    def request(self):
        try:
            if not self.is_open:
                self.connection.connect()
                self.is_open = True
            self.connection.request("GET", "/hostname")
            self.connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            self.connection.close()
            self.is_open = False
            raise


class Ways:
    """All ways between the nodes of a cluster and two of its pods. To be used by with."""

    def __init__(self, cluster, pods, asking, answering):
        """cluster: TwoNodes; pods: its NetworkPods; asking is on the first node, answering on the second."""
        self.cluster, self.pods, self.stopping = cluster, pods, threading.Event()
        self.ways = [way for family in cluster.families for way in self.make(family, asking, answering)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stopping.set()
        for way in self.ways:
            way.thread.join()

    def make(self, family, asking, answering):
        title, there = f"IPv{family}", answering.addresses[family]
        service = self.pods.serve(answering, family)["clusterIP"]
        until_answered(asking.netns, service, 80, answering.name)
        first, second = self.cluster.nodes
        ends = {"node to its own pod": (Way, second.host.netns, there, PORT),
                "node to the other's pod": (Way, first.host.netns, there, PORT),
                "pod to the other node's pod": (Way, asking.netns, there, PORT),
                "pod to a Service": (Way, asking.netns, service, 80),
                "one connection of pods": (Connection, asking.netns, there, PORT),
                "one connection to a Service": (Connection, asking.netns, service, 80)}
        return [kind(f"{title}, {name}", *end, self.stopping) for name, (kind, *end) in ends.items()]

    @staticmethod
    def print_head():
        print(f"        {'killed':16} {'way':34} failed requests   longest gap, s")

    def begin(self):
        self.wait_until_all_carry()
        for way in self.ways:
            way.begin()

    def print(self, what):
        for way in self.ways:
            print(f"        {what:16} {way.name:34} {way.failures:15} {way.gap:17.2f}", flush=True)

    @property
    def longest_gap(self):
        """(seconds, the way's name)"""
        return max((way.gap, way.name) for way in self.ways)

    def require_no_failure(self):
        nothing([way.name for way in self.ways if way.failures], "had failed requests")

    def wait_until_all_carry(self):
        now = time.monotonic()
        while left := [way.name for way in self.ways if way.last < now]:
            if time.monotonic() > now + BACK_SECONDS:
                raise Failed(f"after {BACK_SECONDS} s there is no answer: {', '.join(left)}")
            time.sleep(POLL_SECONDS)
