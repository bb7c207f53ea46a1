"""Facts of Kubernetes' network model on two nodes: who reaches whom, as whom, and how much at a time."""
import json

from harness import runtime_node
from harness.expectation import expect, expect_same
from harness.host import HERE
from harness.kube_api import PODS
from harness.process import run
from kubernetes.connectivity_check import ConnectivityCheck
from kubernetes.controllers import SYSTEM_PODS, is_true
from kubernetes.later_facts import LaterFacts
from kubernetes.network_pods import NetworkPods, ask, client_seen, until_answered
from kubernetes.policed_doors import PolicedDoors
from kubernetes.pod_traffic import check_tcp, check_udp

HOST_PORT = 8088
# Addresses that the outside has a way to by a node.
EXTERNAL = {4: "198.51.100.1", 6: "2001:db8:3::1"}
STREAM = 2_000_000
# Of IP and UDP.
HEADERS = {4: 28, 6: 48}
NEEDS = {4: (*runtime_node.CGROUPS, *runtime_node.PACKET_FILTER, *runtime_node.OVERLAY), 6: ("test -e /proc/net/if_inet6",)}


class NetworkFacts:
    def __init__(self, make_cluster, options):
        """make_cluster(): TwoNodes, which are to be started."""
        self.make_cluster, self.options = make_cluster, options
        self.cluster = None

    def state(self, facts):
        self.fact = facts.fact
        with self.fact("the machine has what it takes", basis=True):
            runtime_node.need((*NEEDS[4], *(NEEDS[6] if 6 in self.options.families else ())))
        with self.fact("two nodes with a control plane, kube-proxy, kuryr-controller and kuryr-daemon become ready", basis=True):
            self.cluster = self.make_cluster()
            self.cluster.start()
        self.nodes, self.pods = self.cluster.nodes, NetworkPods(self.cluster)
        with self.fact("pods become ready by their nodes' probes", basis=True):
            first, second = self.nodes
            made = self.pods.make({"web": (first, HOST_PORT), "near": (first, None), "far": (second, None)})
            self.web, self.near, self.far = (made[name] for name in ("web", "near", "far"))
        doors = PolicedDoors(self.cluster, self.fact, self.pods, made, HOST_PORT)
        with self.fact("the cluster's DNS becomes ready, which asks the API server at its Service"):
            self.cluster.api.wait("it is ready", lambda pods: any(is_true(pod, "Ready") for pod in pods.values()), SYSTEM_PODS)
        for family in self.cluster.families:
            self.of_family(family)
            if self.cluster.nodes_enforce_policies:
                doors.state(family)
        with self.fact("a pod of each node reaches the API server at its Service"):
            for pod in (self.near, self.far):
                self.pods.ask_api(pod)
        LaterFacts(self.cluster, facts, self.pods, self.web).state()
        for pod in (self.web, self.near, self.far):
            self.cluster.api.request("DELETE", f"{PODS}/{pod.name}")
        ConnectivityCheck(self.cluster, facts).state()

    def of_family(self, family):
        title, outside = f"IPv{family}", self.cluster.families[family].outside
        everyone = (self.web, self.near, self.far)
        web, near, far = (pod.addresses.get(family) for pod in everyone)
        with self.fact(f"{title}: pods have an address", basis=True):
            expect(web and near and far, f"{web}, {near}, {far}")
        with self.fact(f"{title}: each node reaches the pods of both"):
            for node in self.nodes:
                for pod in everyone:
                    expect_same(pod.name, ask(node.host.netns, pod.addresses[family]), f"from {node.name}")
        with self.fact(f"{title}: a pod of each node reaches both nodes"):
            for node in self.nodes:
                for pod in (self.near, self.far):
                    check_tcp(pod.netns, node.host.netns, self.cluster.address_of(node, family))
        for name, pod in {"the same node": self.near, "the other node": self.far}.items():
            with self.fact(f"{title}: a pod reaches one of {name}, which sees its address"):
                expect_same(pod.addresses[family], client_seen(pod.netns, web), pod.name)
        self.services(title, family)
        with self.fact(f"{title}: a hostPort is reached from outside"):
            expect_same(self.web.name, ask(HERE.netns, self.cluster.address_of(self.nodes[0], family), HOST_PORT), "the pod")
        with self.fact(f"{title}: a pod reaches the outside, which sees {self.cluster.seen_outside} address"):
            for pod in (self.near, self.far):
                expect_same(self.cluster.source_outside(pod, family), check_tcp(pod.netns, HERE.netns, outside), pod.name)
        for name, pod in {"one node": self.near, "two nodes": self.far}.items():
            with self.fact(f"{title}: {STREAM // 1_000_000} MB from pod to pod on {name}, by TCP and by UDP at full MTU"):
                check_tcp(pod.netns, self.web.netns, web, STREAM)
                check_udp(pod.netns, self.web.netns, web, mtu_of(pod) - HEADERS[family], STREAM)

    def services(self, title, family):
        service = self.pods.serve(self.web, family)
        for name, pod in {"the same node": self.near, "the other node": self.far}.items():
            with self.fact(f"{title}: a pod reaches a Service's pod of {name}, which sees {self.cluster.seen_at_service} address"):
                until_answered(pod.netns, service["clusterIP"], 80, self.web.name)
                expect_same(self.cluster.source_at_service(pod, family), client_seen(pod.netns, service["clusterIP"], 80), pod.name)
        with self.fact(f"{title}: a pod reaches itself by its Service"):
            until_answered(self.web.netns, service["clusterIP"], 80, self.web.name)
        with self.fact(f"{title}: each node reaches a Service's pod"):
            for node in self.nodes:
                until_answered(node.host.netns, service["clusterIP"], 80, self.web.name)
        with self.fact(f"{title}: a pod of each node finds the Service's address by its name"):
            for pod in (self.near, self.far):
                told = pod.run("getent", f"ahostsv{family}", f"{service['name']}.default.svc.cluster.local")
                expect_same(service["clusterIP"], told.split()[0], pod.name)
        with self.fact(f"{title}: a NodePort is reached from outside, at each node"):
            port = self.pods.serve(self.far, family, type="NodePort")["ports"][0]["nodePort"]
            for node in self.nodes:
                until_answered(HERE.netns, self.cluster.address_of(node, family), port, self.far.name)
        with self.fact(f"{title}: an externalIP is reached from outside"):
            self.pods.serve(self.far, family, externalIPs=[EXTERNAL[family]])
            run(f"ip route add {EXTERNAL[family]} via {self.cluster.address_of(self.nodes[0], family)}")
            until_answered(HERE.netns, EXTERNAL[family], 80, self.far.name)
        seen = "the outside's" if self.cluster.keeps_clients else "its node's"
        with self.fact(f"{title}: with externalTrafficPolicy Local the pod sees {seen} address"):
            spec = self.pods.serve(self.far, family, type="NodePort", externalTrafficPolicy="Local")
            address, port = self.cluster.address_of(self.far.node, family), spec["ports"][0]["nodePort"]
            until_answered(HERE.netns, address, port, self.far.name)
            client = (self.cluster.families[family].outside if self.cluster.keeps_clients
                      else self.cluster.management_address(self.far.node, family))
            expect_same(client, client_seen(HERE.netns, address, port), self.far.name)


def mtu_of(pod):
    (link,) = json.loads(run("nsenter", f"--net={pod.netns}", "ip", "-json", "link", "show", "dev", "eth0"))
    return link["mtu"]
