"""Facts of a node whose agent is away, under a runtime that asks its plugins for STATUS."""
import time

from harness.expectation import expect, expect_same
from harness.kube_api import PODS
from harness.report import Skipped
from kubernetes import runtime
from kubernetes.controllers import is_true
from kubernetes.network_pods import specification

NODES, EVENTS = "/api/v1/nodes", "/api/v1/namespaces/default/events"
# Seconds: shorter than agent_wait of etc/kubernetes, and that with what a kubelet needs to see it.
SHORT, LONG = 9, 60 + 30
# A pod that is evicted as soon as its node is not ready.
DELICATE = {"tolerations": [{"key": f"node.kubernetes.io/{state}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}
                            for state in ("not-ready", "unreachable")]}


class AbsenceFacts:
    def __init__(self, cluster, facts):
        """cluster: TwoNodes, which run. The second one's agent is killed."""
        self.cluster, self.api, self.fact = cluster, cluster.api, facts.fact
        self.node, self.agent = cluster.nodes[1], cluster.agents[1]

    def state(self):
        with self.fact(f"kuryr-daemon is killed for {SHORT} s: the node stays ready, no pod is evicted, and one that comes runs"):
            self.need_status()
            self.short()
        with self.fact("it is gone for longer than agent_wait: the node is not ready, and ready again when it is back"):
            self.need_status()
            self.long()

    @staticmethod
    def need_status():
        if not runtime.asks_for_status():
            raise Skipped("containerd 1.6 asks no plugin for STATUS")

    def short(self):
        self.create("delicate", **DELICATE)
        self.wait_until_runs("delicate")
        before = self.ready_since()
        self.agent.kill()
        self.create("coming")
        time.sleep(SHORT)
        self.agent.start()
        self.wait_until_runs("coming")
        expect_same(before, self.ready_since(), "since when the node is ready")
        expect("deletionTimestamp" not in self.api.get(f"{PODS}/delicate")["metadata"], "the delicate pod is evicted")
        delays = [event for event in self.api.get(EVENTS)["items"] if event["reason"] == "FailedScheduling"]
        expect(not delays, f"{delays}")
        for name in ("coming", "delicate"):
            self.api.request("DELETE", f"{PODS}/{name}")

    def long(self):
        self.wait_for_node(True)
        self.agent.kill()
        began = time.monotonic()
        self.wait_for_node(False)
        gone = time.monotonic()
        self.agent.start()
        self.wait_for_node(True)
        print(f"        not ready after {gone - began:.1f} s, ready {time.monotonic() - gone:.1f} s after its return", flush=True)
        self.api.wait("it has no taint", lambda nodes: not nodes["", self.node.name]["spec"].get("taints"), NODES)

    # ---- what the API server has
    def create(self, name, **fields):
        """A pod that the scheduler gives to the node."""
        pod = specification(name, None, None)
        pod["spec"].update(nodeSelector={"kubernetes.io/hostname": self.node.name}, **fields)
        self.api.request("POST", PODS, pod)

    def wait_until_runs(self, name):
        self.api.wait(f"{name} runs", lambda pods: is_true(pods.get(("default", name), {"status": {}}), "Ready"), PODS)

    def wait_for_node(self, ready):
        self.api.wait(f"the node is {'' if ready else 'not '}ready", lambda nodes: is_true(nodes["", self.node.name], "Ready") == ready,
                      NODES, LONG)

    def ready_since(self):
        return ready_since(self.api.get(f"{NODES}/{self.node.name}"))


def ready_since(node):
    """Since when a node has been ready all the time, or the message why it is not."""
    (condition,) = [each for each in node["status"]["conditions"] if each["type"] == "Ready"]
    return condition["lastTransitionTime"] if condition["status"] == "True" else condition["message"]
