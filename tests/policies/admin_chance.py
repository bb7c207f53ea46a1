"""Admins' policies of all kinds, and the nodes that they name, by chance."""
from policies.policy_chance import LABELS, NAMESPACE_LABELS, NETWORKS, PORT_NAME, PORTS

GROUP = "policy.networking.k8s.io"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NODES = "/api/v1/nodes"
KINDS = {"clusternetworkpolicies": ("ClusterNetworkPolicy", "v1alpha2"), "adminnetworkpolicies": ("AdminNetworkPolicy", "v1alpha1"),
         "baselineadminnetworkpolicies": ("BaselineAdminNetworkPolicy", "v1alpha1")}
CLUSTER, ADMINS, BASELINE = KINDS
NODE_LABELS = {"zone": ("one", "two"), "role": ("edge", "inner")}
MOST_ADMINS = 6
PODS_OF_A_NODE = 2


def path_of(plural):
    return f"/apis/{GROUP}/{KINDS[plural][1]}/{plural}"


def definition(plural):
    kind, version = KINDS[plural]
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {
                "name": f"{plural}.{GROUP}", "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs"}},
            "spec": {"group": GROUP, "scope": "Cluster",
                     "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()},
                     "versions": [{"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": anything}}]}}


def define(cluster):
    for plural in KINDS:
        cluster.insist("POST", DEFINITIONS, definition(plural))
    for plural in KINDS:
        cluster.api.wait_for(path_of(plural))


def node_object(name, labels, addresses):
    return {"metadata": {"name": name, "labels": labels},
            "status": {"addresses": [{"type": "ExternalIP", "address": each} for each in addresses]}}


class AdminChance:
    def __init__(self, chance):
        """chance: the policy_chance.Chance that makes the NetworkPolicies."""
        self.chance, self.dice = chance, chance.dice
        self.policies, self.made = [], 0  # (plural, object)
        self.nodes = {}  # {name: (labels, addresses)}; packets to an address of a node find the pod that also has it

    def __str__(self):
        return str([[plural, each["metadata"]["name"], each["spec"]] for plural, each in self.policies] + [self.nodes])

    def next(self):
        """Changes, as Chance.next has them: a new policy, another spec, or a policy less; often nothing. Sometimes a node."""
        changes = [self.change_node()] if self.chance.often(0.2) else []
        if not self.chance.often(0.6):
            return changes
        if len(self.policies) > MOST_ADMINS or (self.policies and self.chance.often(0.3)):
            return [*changes, self.remove(self.dice.choice(self.policies))]
        if self.policies and self.chance.often(0.4):
            return [*changes, self.replace(self.dice.choice(self.policies))]
        return [*changes, self.add()]

    def remove_all(self):
        return [*(self.remove(each) for each in list(self.policies)), *(self.remove_node(each) for each in list(self.nodes))]

    # ---- nodes
    def change_node(self):
        name = self.dice.choice(("node-a", "node-b", "node-c"))
        if name in self.nodes and self.chance.often(0.4):
            return self.remove_node(name)
        labels = self.chance.labels(NODE_LABELS)
        if name in self.nodes:
            self.nodes[name] = (labels, self.nodes[name][1])
            return "PATCH", f"{NODES}/{name}", self.chance.relabel(NODE_LABELS, labels)
        pods = self.dice.sample(sorted(self.chance.pods), PODS_OF_A_NODE)
        self.nodes[name] = (labels, [address for pod in pods for address in self.chance.pods[pod].addresses.values()])
        return "POST", NODES, node_object(name, *self.nodes[name])

    def remove_node(self, name):
        del self.nodes[name]
        return "DELETE", f"{NODES}/{name}", None

    # ---- policies
    def add(self):
        has_baseline = any(plural == BASELINE for plural, _ in self.policies)
        plural = self.dice.choice((CLUSTER, CLUSTER, CLUSTER, ADMINS, ADMINS if has_baseline else BASELINE))
        self.made += 1
        kind, version = KINDS[plural]
        name = "default" if plural == BASELINE else f"admin-{self.made}"
        policy = {"apiVersion": f"{GROUP}/{version}", "kind": kind, "metadata": {"name": name}, "spec": self.spec(plural)}
        self.policies.append((plural, policy))
        return "POST", path_of(plural), policy

    def replace(self, policy):
        plural, body = policy
        body["spec"] = self.spec(plural)
        return "REPLACE", f"{path_of(plural)}/{body['metadata']['name']}", [{"op": "replace", "path": "/spec", "value": body["spec"]}]

    def remove(self, policy):
        self.policies.remove(policy)
        return "DELETE", f"{path_of(policy[0])}/{policy[1]['metadata']['name']}", None

    def spec(self, plural):
        tier = {"tier": self.dice.choice(("Admin", "Baseline"))} if plural == CLUSTER else {}
        return {**tier, **({} if plural == BASELINE else {"priority": self.dice.choice((1, 2, 3))}),
                "subject": self.some_pods(),
                "ingress": self.chance.some(lambda: self.rule("from", plural), 3),
                "egress": self.chance.some(lambda: self.rule("to", plural), 3)}

    def rule(self, key, plural):
        actions = {CLUSTER: ("Accept", "Deny", "Pass", "Pass"), ADMINS: ("Allow", "Deny", "Pass", "Pass"), BASELINE: ("Allow", "Deny")}
        peers = [self.peer(key) for _ in range(self.dice.randint(1, 2))]
        make = self.protocol if plural == CLUSTER else self.port
        ports = [make() for _ in range(self.dice.randint(1, 2))] if self.chance.often(0.4) else None
        return {"action": self.dice.choice(actions[plural]), key: peers,
                **({"protocols" if plural == CLUSTER else "ports": ports} if ports else {})}

    def peer(self, key):
        if key == "to" and self.chance.often(0.3):
            return {"networks": self.dice.sample(NETWORKS, 2)}
        if key == "to" and self.chance.often(0.3):
            return {"nodes": self.chance.selector(NODE_LABELS)}
        return self.some_pods()

    def some_pods(self):
        namespaces = self.chance.selector(NAMESPACE_LABELS)
        if self.chance.often(0.5):
            return {"namespaces": namespaces}
        return {"pods": {"namespaceSelector": namespaces, "podSelector": self.chance.selector(LABELS)}}

    def port(self):
        protocol = self.dice.choice(list(PORTS))
        numbers = PORTS[protocol]
        return self.dice.choice(({"portNumber": {"protocol": protocol, "port": self.dice.choice(numbers)}},
                                 {"portRange": {"protocol": protocol, "start": min(numbers), "end": self.dice.choice(numbers)}},
                                 {"namedPort": PORT_NAME}))

    def protocol(self):
        protocol = self.dice.choice(list(PORTS))
        numbers = PORTS[protocol]
        port = self.dice.choice(({"number": self.dice.choice(numbers)}, {"range": {"start": min(numbers), "end": max(numbers)}}))
        return self.dice.choice(({protocol.lower(): {"destinationPort": port}}, {"destinationNamedPort": PORT_NAME}))
