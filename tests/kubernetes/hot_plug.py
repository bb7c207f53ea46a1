"""Interfaces that pods get and lose while they run."""
import contextlib
import json

from controller import definitions
from harness.expectation import nothing
from harness.kube_api import PODS
from harness.pod import Plan
from harness.process import run
from harness.traffic import Traffic, ping
from kubernetes.controller_facts import IN_SMALL
from kubernetes.controllers import is_true
from kubernetes.node_pods import PORT_LIST
from kubernetes.other_producer import OtherProducer

NETWORKS = "k8s.v1.cni.cncf.io/networks"
PLANNED = "kuryr.openstack.org/planned-interfaces"
NETWORK = definitions.thing(definitions.NETWORKS, "small", metadata={
    "annotations": {"openstack.org/kuryr-config": json.dumps({"pool": "small"})}})


class HotPlug:
    def __init__(self, checks):
        """checks: KubeletFacts"""
        self.checks, self.fact, self.api, self.pods = checks, checks.fact, checks.api, checks.pods

    def state(self):
        with self.fact("the cluster has NetworkAttachmentDefinitions", basis=True):
            self.api.request("POST", definitions.DEFINITIONS, definitions.definition(definitions.NETWORKS))
            self.api.wait("it is established", lambda found: any(is_true(made, "Established") for name, made in found.items()
                                                                 if definitions.NETWORKS in name[1]), definitions.DEFINITIONS)
            self.api.request("POST", definitions.path(definitions.NETWORKS, "default"), NETWORK)
        self.by_networks()
        self.by_port()

    def by_networks(self):
        (pod, peer), (near,) = self.pods.make(2), self.pods.make(1, IN_SMALL)
        self.pods.wait_until_run([pod, peer, near])
        netns = self.pods.netns(pod)
        with self.unbroken(pod, peer):
            with self.fact("a running pod's annotation names a network: kuryr-controller plans an interface,"
                           " kuryr-daemon plugs it, and packets pass"):
                self.annotate(pod, NETWORKS, "small@san")
                self.checks.wait_for_event(pod, "CNIPlanFollowed", "plugged san")
                ping(netns, near.plan.address)
            with self.fact("the annotation names it no more: the interface is unplugged, its port and record are gone"):
                self.annotate(pod, NETWORKS, None)
                self.checks.wait_for_event(pod, "CNIPlanFollowed", "unplugged san")
                assert links_in(netns) == {"lo", "eth0"}, links_in(netns)
                self.pods.check(pod)
        self.end([pod, peer, near])

    def by_port(self):
        pod, peer = (OtherProducer(self.pods).make(Plan(number)) for number in (211, 213))
        self.pods.wait_until_run([pod, peer])
        netns = self.pods.netns(pod)
        with self.unbroken(pod, peer):
            with self.fact("another producer adds a VIF to the KuryrPort of a running pod, and says so: it is plugged"):
                self.change(pod, {"default": False, "vif": Plan(212).vif()}, "one")
                self.checks.wait_for_event(pod, "CNIPlanFollowed", "plugged net1")
                assert links_in(netns) == {"lo", "eth0", "net1"}, links_in(netns)
            with self.fact("it takes the VIF from the KuryrPort: it is unplugged"):
                self.change(pod, None, "two")
                self.checks.wait_for_event(pod, "CNIPlanFollowed", "unplugged net1")
                assert links_in(netns) == {"lo", "eth0"}, links_in(netns)
        for each in (pod, peer):
            self.api.request("DELETE", f"{PORT_LIST}/{each.name}")
        self.end([pod, peer])

    def change(self, pod, vif, mark):
        self.api.patch(f"{PORT_LIST}/{pod.name}", {"status": {"vifs": {"net1": vif}}})
        self.annotate(pod, PLANNED, mark)

    def annotate(self, pod, annotation, value):
        self.api.patch(f"{PODS}/{pod.name}", {"metadata": {"annotations": {annotation: value}}})

    @contextlib.contextmanager
    def unbroken(self, pod, peer):
        """Meanwhile datagrams go from eth0 to eth0 both ways, 20 a second."""
        traffic = Traffic([(self.pods.netns(each), each.plan.address) for each in (pod, peer)])
        try:
            traffic.wait_until_all_flow()
            yield
            traffic.wait_until_all_flow()
        finally:
            traffic.stop()
        with self.fact("no datagram of the pod's first interface was lost meanwhile"):
            nothing(traffic.lost(), f"lost of {traffic.count()}")

    def end(self, pods):
        self.pods.delete(pods)
        self.pods.wait_until_gone(pods)


def links_in(netns):
    return {link["ifname"].partition("@")[0] for link in json.loads(run("nsenter", f"--net={netns}", "ip", "-json", "link"))}
