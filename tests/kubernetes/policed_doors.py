"""Who gets into pods that a NetworkPolicy selects, by each door that kube-proxy and portmap open."""
import time

from harness.expectation import POLL_SECONDS, Failed, expect_same
from harness.host import HERE
from kubernetes.network_pods import PORT, ask, until_answered

POLICIES = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"
NAME = "doors"
# The agent needs far less to write its rules, and an open door to answer.
EFFECT_SECONDS, SHUT_SECONDS = 20, 1


class PolicedDoors:
    def __init__(self, cluster, fact, pods, named, host_port):
        """cluster: TwoNodes; pods: NetworkPods; named: {name: NetworkPod} of web, which has the host port, near, and far on another
        node."""
        self.cluster, self.api, self.fact, self.pods, self.host_port = cluster, cluster.api, fact, pods, host_port
        self.web, self.near, self.far = (named[name] for name in ("web", "near", "far"))

    def state(self, family):
        title, outside = f"IPv{family}, policies", self.cluster.families[family].outside
        service = self.pods.serve(self.far, family)["clusterIP"]
        whole, local = (self.pods.serve(self.far, family, type="NodePort", **fields)["ports"][0]["nodePort"]
                        for fields in ({}, {"externalTrafficPolicy": "Local"}))
        own, other = (self.cluster.address_of(node, family) for node in (self.far.node, self.web.node))
        doors = {"a hostPort": (self.cluster.address_of(self.web.node, family), self.host_port, self.web.name),
                 "a NodePort with externalTrafficPolicy Local": (own, local, self.far.name),
                 "a NodePort with externalTrafficPolicy Cluster, at the pod's node": (own, whole, self.far.name)}
        for address, port, name in doors.values():
            until_answered(HERE.netns, address, port, name)
        until_answered(HERE.netns, other, whole, self.far.name)
        far = self.far.addresses[family]

        self.let_in("POST", {"podSelector": {"matchLabels": {"name": self.near.name}}})
        with self.fact(f"{title}: the pod that a policy lets in reaches the pod, also by its Service; another one does not"):
            until_shut(self.web.netns, far, PORT)
            expect_same(self.far.name, ask(self.near.netns, far), "the pod")
            until_answered(self.near.netns, service, 80, self.far.name)
            expect_shut(self.web.netns, service, 80)
        for door, (address, port, _) in doors.items():
            with self.fact(f"{title}: {door} is shut to the outside, which no policy lets in"):
                expect_shut(HERE.netns, address, port)
        with self.fact(f"{title}: a NodePort at another node is shut, too, and so is the pod to that node"):
            expect_shut(HERE.netns, other, whole)
            expect_shut(self.web.node.host.netns, far, PORT)
        with self.fact(f"{title}: the pod's node always reaches it, and it reaches itself by its Service"):
            expect_same(self.far.name, ask(self.far.node.host.netns, far), "the pod")
            until_answered(self.far.netns, service, 80, self.far.name)

        self.let_in("PUT", {"ipBlock": {"cidr": f"{outside}/{128 if family == 6 else 32}"}})
        for door, (address, port, name) in doors.items():
            with self.fact(f"{title}: {door} is open to the outside that a policy lets in by its address"):
                until_answered(HERE.netns, address, port, name)
        with self.fact(f"{title}: a NodePort at another node hides the outside's address, and stays shut"):
            expect_shut(HERE.netns, other, whole)
        self.api.request("DELETE", f"{POLICIES}/{NAME}")
        until_answered(self.web.netns, far, PORT, self.far.name)

    def let_in(self, verb, peer):
        path = POLICIES if verb == "POST" else f"{POLICIES}/{NAME}"
        self.api.request(verb, path, {
            "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": NAME}, "spec": {
                "podSelector": {"matchExpressions": [{"key": "name", "operator": "In", "values": [self.web.name, self.far.name]}]},
                "ingress": [{"from": [peer]}]}})


def is_shut(netns, address, port):
    try:
        ask(netns, address, port, seconds=SHUT_SECONDS)
        return False
    except OSError:
        return True


def expect_shut(netns, address, port):
    if not is_shut(netns, address, port):
        raise Failed(f"{address} port {port} answers")


def until_shut(netns, address, port):
    deadline = time.monotonic() + EFFECT_SECONDS
    while not is_shut(netns, address, port):
        if time.monotonic() > deadline:
            raise Failed(f"{address} port {port} still answers after {EFFECT_SECONDS} s")
        time.sleep(POLL_SECONDS)
