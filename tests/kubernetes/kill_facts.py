"""Facts of a cluster whose parts of kuryr-cni are killed under traffic, and taken away at the end."""
import time

from harness.expectation import expect, nothing
from harness.kube_api import PODS
from kubernetes.network_pods import NetworkPods
from kubernetes.node_state import node_state
from kubernetes.ways import Ways

# What is killed stays away so long.
AWAY_SECONDS = 0.5


class KillFacts:
    def __init__(self, cluster, facts, kills):
        """cluster: TwoNodes, which run; kills: of each part."""
        self.cluster, self.fact, self.kills = cluster, facts.fact, kills
        self.pods = NetworkPods(cluster)

    def state(self):
        first, second = self.cluster.nodes
        made = self.pods.make({"asking": (first, None), "answering": (second, None)})
        Ways.print_head()
        with Ways(self.cluster, self.pods, made["asking"], made["answering"]) as ways:
            for name, (kill, start) in self.parts().items():
                with self.fact(f"{name} is killed {self.kills} times, and node, pods of two nodes and a Service reach each other"):
                    self.kill(ways, name, kill, start)
        self.uninstall(made)

    def parts(self):
        """{name: (how it is killed, how it is started again)}"""
        agent, ovs = self.cluster.agents[1], self.cluster.nodes[1].ovs
        return {"kuryr-daemon": (agent.kill, agent.start), "Open vSwitch": (ovs.stop, ovs.start),
                "kuryr-controller": (self.cluster.kill_controller, self.cluster.start_controller)}

    def kill(self, ways, name, kill, start):
        ways.begin()
        for _ in range(self.kills):
            kill()
            time.sleep(AWAY_SECONDS)
            start()
            ways.wait_until_all_carry()
        ways.print(name)
        if name != "Open vSwitch":
            ways.require_no_failure()

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
