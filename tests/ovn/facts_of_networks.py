"""MultiNetworkPolicies hold for three pods with an additional network. After each change packets of every pod to every other one, on
both networks, are compared with what the policy says."""
import itertools
import json

from controller import definitions
from controller.definitions import NETWORKS, POLICIES
from harness.expectation import expect
from ovn.controlled_pods import ControlledPods
from ovn.packets import Packets

NAMES = ("backup", "database", "web")
NAMESPACE = "default"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
SELECTION = "k8s.v1.cni.cncf.io/networks"
# A network has ports of its own, as pods listen at any address.
PORTS = {"eth0": {"TCP": (8080,), "UDP": (8080,)}, "san0": {"TCP": (7070,), "UDP": (7070,)}}
SAN = {"pool": "san"}
FROM_BACKUP = {"podSelector": {"matchLabels": {"app": "database"}},
               "ingress": [{"from": [{"podSelector": {"matchLabels": {"app": "backup"}}}]}]}


class Pods(ControlledPods):
    def __init__(self, chosen, node, backend, **options):
        """ControlledPods' options; backend: kuryr.conf's sections, with [pool:san] for pods of all namespaces."""
        super().__init__(chosen, node, backend, definitions.define, **options)
        self.define_network("storage", SAN)
        addresses = {name: self.run_pod(NAMESPACE, {"name": name, "labels": {"app": name}, "annotations": {SELECTION: "storage@san0"}},
                                        [{"name": "pause", "image": "pause"}]) for name in NAMES}
        self.packets = {interface: Packets({name: (self.sandboxes[f"{NAMESPACE}/{name}"].netns_path, each[interface])
                                            for name, each in addresses.items()}, ports) for interface, ports in PORTS.items()}

    def define_network(self, name, network):
        annotations = {"openstack.org/kuryr-config": json.dumps(network)}
        self.ask("POST", definitions.path(NETWORKS, NAMESPACE), definitions.thing(NETWORKS, name, metadata={"annotations": annotations}))

    def isolate(self, spec):
        annotations = {"k8s.v1.cni.cncf.io/policy-for": "storage"}
        self.ask("POST", definitions.path(POLICIES, NAMESPACE),
                 definitions.thing(POLICIES, "p", metadata={"annotations": annotations}, spec=spec))

    def remove(self, plural, name):
        self.ask("DELETE", f"{definitions.path(plural, NAMESPACE)}/{name}")

    def select(self, name, selection):
        self.api.patch(f"{PODS}/{name}", {"metadata": {"annotations": {SELECTION: selection}}})

    def expect_closed(self, interface, closed=frozenset()):
        """closed: the pairs of pods of which the first does not reach the second on this interface."""
        wanted = {(source, target, family, protocol, port) for source, target in itertools.permutations(NAMES, 2)
                  for family in (4, 6) for protocol, ports in PORTS[interface].items() for port in ports
                  if (source, target) not in closed}
        problem = self.wait_for(wanted, self.packets[interface])
        expect(not problem, f"{interface}: {problem}")


def check(facts, make_pods, other):
    """make_pods: makes the Pods; other: another name of their network in a definition."""
    with facts.fact("three pods reach each other on both networks", basis=True):
        pods = make_pods()
        pods.expect_closed("eth0")
        pods.expect_closed("san0")
    isolated = {("web", "database")}
    with facts.fact("a MultiNetworkPolicy lets in on its network whom it names, and nobody else"):
        pods.isolate(FROM_BACKUP)
        pods.expect_closed("san0", isolated)
    with facts.fact("the pods still reach each other on eth0"):
        pods.expect_closed("eth0")
    with facts.fact("a pod whose annotation names another definition of the network stays isolated"):
        pods.define_network("mine", other)
        pods.select("database", "mine@san0")
        pods.expect_closed("san0", isolated)
    with facts.fact("kuryr-controller is killed, and the pods stay isolated"):
        pods.controller.end(9)
        pods.controller.start()
        pods.expect_closed("san0", isolated)
    with facts.fact("without the definition, the pod is reached by nobody on the network"):
        pods.remove(NETWORKS, "storage")
        pods.expect_closed("san0", {(source, "database") for source in NAMES})
        pods.expect_closed("eth0")
    with facts.fact("with the definition again, the policy holds again"):
        pods.define_network("storage", SAN)
        pods.expect_closed("san0", isolated)
    with facts.fact("without the policy, all pods reach each other again"):
        pods.remove(POLICIES, "p")
        pods.expect_closed("san0")
    for packets in pods.packets.values():
        packets.close()
    return pods
