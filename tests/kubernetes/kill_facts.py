"""Facts of a cluster whose parts of kuryr-cni are killed under traffic, and taken away at the end."""
import threading
import time

from harness.expectation import POLL_SECONDS, Failed, expect, nothing
from harness.kube_api import PODS
from kubernetes.network_pods import PORT, NetworkPods, ask, until_answered
from kubernetes.node_state import node_state

BACK_SECONDS = 30
# What is killed stays away so long.
AWAY_SECONDS = 0.5


class Way:
    """Requests from a network namespace to a pod, one after the other, in a thread of its own."""

    def __init__(self, name, netns, address, port, stopping):
        self.name, self.netns, self.address, self.port, self.stopping = name, netns, address, port, stopping
        self.last, self.gap, self.failures = time.monotonic(), 0.0, 0
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.stopping.wait(POLL_SECONDS):
            try:
                ask(self.netns, self.address, self.port)
            except OSError:
                self.failures += 1
                continue
            now = time.monotonic()
            self.gap, self.last = max(self.gap, now - self.last), now

    def begin(self):
        self.gap, self.failures = 0.0, 0


class KillFacts:
    def __init__(self, cluster, facts, kills):
        """cluster: TwoNodes, which run; kills: of each part."""
        self.cluster, self.fact, self.kills = cluster, facts.fact, kills
        self.pods = NetworkPods(cluster)

    def state(self):
        first, second = self.cluster.nodes
        made = self.pods.make({"asking": (first, None), "answering": (second, None)})
        self.stopping = threading.Event()
        self.ways = [way for family in self.cluster.families for way in self.make_ways(family, made["asking"], made["answering"])]
        print(f"        {'killed':16} {'way':34} failed requests   longest gap, s")
        try:
            for name, (kill, start) in self.parts().items():
                with self.fact(f"{name} is killed {self.kills} times, and node, pods of two nodes and a Service reach each other"):
                    self.kill(name, kill, start)
        finally:
            self.stopping.set()
            for way in self.ways:
                way.thread.join()
        self.uninstall(made)

    def make_ways(self, family, asking, answering):
        title, there = f"IPv{family}", answering.addresses[family]
        service = self.pods.serve(answering, family)["clusterIP"]
        until_answered(asking.netns, service, 80, answering.name)
        first, second = self.cluster.nodes
        ends = {"node to its own pod": (second.host.netns, there, PORT), "node to the other's pod": (first.host.netns, there, PORT),
                "pod to the other node's pod": (asking.netns, there, PORT), "pod to a Service": (asking.netns, service, 80)}
        return [Way(f"{title}, {name}", *end, self.stopping) for name, end in ends.items()]

    def parts(self):
        """{name: (how it is killed, how it is started again)}"""
        agent, ovs = self.cluster.agents[1], self.cluster.nodes[1].ovs
        return {"kuryr-daemon": (agent.kill, agent.start), "Open vSwitch": (ovs.stop, ovs.start),
                "kuryr-controller": (self.cluster.kill_controller, self.cluster.start_controller)}

    def kill(self, name, kill, start):
        self.wait_until_all_carry()
        for way in self.ways:
            way.begin()
        for _ in range(self.kills):
            kill()
            time.sleep(AWAY_SECONDS)
            start()
            self.wait_until_all_carry()
        for way in self.ways:
            print(f"        {name:16} {way.name:34} {way.failures:15} {way.gap:17.2f}")
        if name != "Open vSwitch":
            nothing([way.name for way in self.ways if way.failures], "had failed requests")

    def wait_until_all_carry(self):
        now = time.monotonic()
        while left := [way.name for way in self.ways if way.last < now]:
            if time.monotonic() > now + BACK_SECONDS:
                raise Failed(f"after {BACK_SECONDS} s there is no answer: {', '.join(left)}")
            time.sleep(POLL_SECONDS)

    def uninstall(self, pods):
        with self.fact("without pods and agents, remove-node-network leaves links, addresses, routes, rules and ports as they were"):
            for name in pods:
                self.cluster.api.request("DELETE", f"{PODS}/{name}")
            self.cluster.api.wait("they are gone", lambda found: not {name for _, name in found} & set(pods), PODS)
            for agent, node, before in zip(self.cluster.agents, self.cluster.nodes, self.cluster.states_before):
                agent.stop()
                expect(node_state(node) - before, f"kuryr-daemon had made nothing on {node.name}")
                node.host.run(agent.program, "--config-file", agent.conf, "remove-node-network")
                nothing(node_state(node) ^ before, f"differ from before on {node.name}")
