"""What ClusterNetworkPolicies of few rules let through: the scenarios of their API's conformance profile, written anew. Packets of
SCTP are sent by none: policy_test has them."""
import itertools

from policies.admin_chance import CLUSTER, GROUP, KINDS, NODES, node_object, path_of
from policies.policy_chance import PORT_NAME

ACTIONS = ("Accept", "Deny", "Pass")
TIERS = ("Admin", "Baseline")
SUBJECT, ORDERED, LIMITED = "north", "east", "west"  # names of namespaces
NUMBERS = {"TCP": 8001, "UDP": 9001}
BY_NUMBER = [{protocol.lower(): {"destinationPort": {"number": number}}} for protocol, number in NUMBERS.items()]
KEYS = {"ingress": "from", "egress": "to"}
BY_NAME = [{"destinationNamedPort": PORT_NAME}]


def pods_of(namespace):
    return {"namespaces": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}


def policy(name, tier, priority, ingress=(), egress=()):
    kind, version = KINDS[CLUSTER]
    return {"apiVersion": f"{GROUP}/{version}", "kind": kind, "metadata": {"name": name},
            "spec": {"tier": tier, "priority": priority, "subject": pods_of(SUBJECT), "ingress": list(ingress), "egress": list(egress)}}


def rules_of(action, ports, key, peer_of):
    """One peer meets three rules of which the first one decides, the other one a rule for some ports and one for the rest."""
    rest = "Accept" if action == "Deny" else "Deny"
    return [*({"action": each, key: [peer_of(ORDERED)]} for each in (action, *(each for each in ACTIONS if each != action))),
            {"action": action, key: [peer_of(LIMITED)], "protocols": ports}, {"action": rest, key: [peer_of(LIMITED)]}]


def both_ways(action):
    return {direction: [{"action": action, key: [pods_of(ORDERED)]}] for direction, key in KEYS.items()}


class Scenarios:
    def __init__(self, pods):
        """pods: PolicedPods without policies."""
        self.pods = pods

    def closed(self, way, directions, action, ports):
        """Whether the rules close the way."""
        source, target = self.pods.pods[way.source], self.pods.pods[way.target]
        peers = [peer for pod, peer, direction in ((source, target, "egress"), (target, source, "ingress"))
                 if pod.namespace == SUBJECT and direction in directions]
        number = target.ports[PORT_NAME, way.protocol] if ports is BY_NAME else NUMBERS[way.protocol]
        return any(peer.namespace == ORDERED and action == "Deny"
                   or peer.namespace == LIMITED and (way.port == number) == (action == "Deny") for peer in peers)

    def expect(self, is_closed, when):
        self.pods.expect_ways({way for way in self.pods.all_ways() if not is_closed(way)}, when)

    def write(self, body):
        self.pods.apply(("POST", path_of(CLUSTER), body))

    def change(self, name, field, value):
        self.pods.apply(("REPLACE", f"{path_of(CLUSTER)}/{name}", [{"op": "replace", "path": field, "value": value}]))

    def remove(self, *names):
        for name in names:
            self.pods.apply(("DELETE", f"{path_of(CLUSTER)}/{name}", None))

    def addresses_of(self, namespace):
        return [address for pod in self.pods.pods.values() if pod.namespace == namespace for address in pod.addresses.values()]

    # ---- scenarios
    def rules(self, directions, ports, peer_of):
        for tier, action in itertools.product(TIERS, ACTIONS):
            self.write(policy("rules", tier, 10, **{
                direction: rules_of(action, ports, KEYS[direction], peer_of) for direction in directions}))
            self.expect(lambda way, by=action: self.closed(way, directions, by, ports), f"{tier}, {action}, {directions}, {ports}")
            self.remove("rules")

    def peers(self):
        for directions, ports in itertools.product((["ingress"], ["egress"], ["ingress", "egress"]), (BY_NUMBER, BY_NAME)):
            self.rules(directions, ports, pods_of)

    def networks(self):
        self.rules(["egress"], BY_NUMBER, lambda namespace: {
            "networks": [f"{each}/{128 if ':' in each else 32}" for each in self.addresses_of(namespace)]})

    def nodes(self):
        for each in (ORDERED, LIMITED):
            self.pods.apply(("POST", NODES, node_object(each, {"of": each}, self.addresses_of(each))))
        self.rules(["egress"], BY_NUMBER, lambda namespace: {"nodes": {"matchLabels": {"of": namespace}}})
        for each in (ORDERED, LIMITED):
            self.pods.apply(("DELETE", f"{NODES}/{each}", None))

    def priorities(self):
        """A policy that passes on gets the priority before one that denies."""
        for name, tier, priority, action in (
                ("deny", "Admin", 50, "Deny"), ("pass", "Admin", 60, "Pass"), ("open", "Baseline", 10, "Accept")):
            self.write(policy(name, tier, priority, **both_ways(action)))
        self.expect(self.is_between, "the policy of priority 50 denies")
        self.change("pass", "/spec/priority", 40)
        self.expect(lambda way: False, "the policy of priority 40 passes on")
        self.remove("deny", "pass", "open")

    def is_between(self, way):
        """Between pods of the subject's namespace and those of its peer's."""
        return {self.pods.pods[way.source].namespace, self.pods.pods[way.target].namespace} == {SUBJECT, ORDERED}

    def tiers(self):
        """What the tier Admin denies, then passes on; a NetworkPolicy allows it; without that, the tier Baseline denies it."""
        listed = f"/apis/networking.k8s.io/v1/namespaces/{SUBJECT}/networkpolicies"
        for name, tier in (("first", "Admin"), ("last", "Baseline")):
            self.write(policy(name, tier, 10, **both_ways("Deny")))
        every = {"namespaceSelector": {}}
        self.pods.apply(("POST", listed, {"metadata": {"name": "open"}, "spec": {
            "podSelector": {}, "policyTypes": ["Ingress", "Egress"], "ingress": [{"from": [every]}], "egress": [{"to": [every]}]}}))
        self.expect(self.is_between, "the tier Admin denies")
        for direction in KEYS:
            self.change("first", f"/spec/{direction}/0/action", "Pass")
        self.expect(lambda way: False, "a NetworkPolicy allows what is passed on")
        self.pods.apply(("DELETE", f"{listed}/open", None))
        self.expect(self.is_between, "the tier Baseline denies what is passed on")
        self.remove("first", "last")


def check(facts, pods):
    """pods: PolicedPods by chance, without policies."""
    scenarios = Scenarios(pods)
    for title, scenario in (("pods, by numbers and names of ports, in both tiers", scenarios.peers),
                            ("networks", scenarios.networks), ("nodes", scenarios.nodes),
                            ("the policy of lowest priority first", scenarios.priorities),
                            ("NetworkPolicies between the tiers", scenarios.tiers)):
        with facts.fact(f"ClusterNetworkPolicies accept, deny and pass on in the order of their rules: {title}"):
            scenario()
    pods.expect_ways(pods.all_ways())
