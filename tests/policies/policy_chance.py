"""NetworkPolicies, and labels of pods and namespaces, by chance."""
import json
from dataclasses import dataclass, field

LABELS = {"app": ("web", "db", "cache"), "tier": ("front", "back")}
NAMESPACE_LABELS = {"team": ("red", "blue"), "stage": ("test", "live")}
# The ports that are tried. The name "main" is one of each protocol, in each pod another.
PORTS = {"TCP": (8001, 8002), "UDP": (9001, 9002)}
PORT_NAME = "main"
# The pods' networks, by family.
CIDRS = {4: "10.44.0.0/24", 6: "fd00:44::/64"}
NETWORKS = (CIDRS[4], "10.44.0.0/28", "10.44.0.4/30", "0.0.0.0/0", CIDRS[6], "fd00:44::/124", "::/0")
PARTS = {CIDRS[4]: "10.44.0.8/29", "0.0.0.0/0": "10.44.0.0/28", CIDRS[6]: "fd00:44::8/125", "::/0": "fd00:44::/124"}
MOST_POLICIES = 8


@dataclass
class Pod:
    namespace: str
    name: str
    labels: dict
    ports: dict  # {(name, protocol): number}
    addresses: dict = field(default_factory=dict)  # {family: address}


class Chance:
    def __init__(self, dice, namespaces, pods):
        """namespaces: {name: labels}; pods: {NAMESPACE/NAME: Pod}. Changes of labels change both."""
        self.dice, self.namespaces, self.pods, self.policies, self.made = dice, namespaces, pods, [], 0

    def __str__(self):
        return json.dumps({"policies": [[each["metadata"], each["spec"]] for each in self.policies], "namespaces": self.namespaces,
                           "pods": {name: [pod.labels, list(pod.ports.items()), pod.addresses] for name, pod in self.pods.items()}},
                          default=str)

    # ---- changes: (method, path, object)
    def next(self):
        """A new policy, or a policy in place of another one; sometimes fewer policies, or other labels."""
        changes = []
        while len(self.policies) > MOST_POLICIES or (self.policies and self.often(0.2)):
            changes.append(self.remove(self.dice.choice(self.policies)))
        if self.often(0.3):
            changes.append(self.label_pod(self.dice.choice(list(self.pods.values()))))
        if self.often(0.2):
            changes.append(self.label_namespace(self.dice.choice(list(self.namespaces))))
        return [*changes, self.replace(self.dice.choice(self.policies)) if self.policies and self.often(0.3) else self.add()]

    def remove_all(self):
        return [self.remove(each) for each in list(self.policies)]

    @staticmethod
    def path(policy, named=True):
        metadata = policy["metadata"]
        listed = f"/apis/networking.k8s.io/v1/namespaces/{metadata['namespace']}/networkpolicies"
        return f"{listed}/{metadata['name']}" if named else listed

    def add(self):
        self.made += 1
        policy = {"metadata": {"name": f"policy-{self.made}", "namespace": self.dice.choice(list(self.namespaces))}, "spec": self.spec()}
        self.policies.append(policy)
        return "POST", self.path(policy, named=False), policy

    def replace(self, policy):
        policy["spec"] = self.spec()
        return "PUT", self.path(policy), policy

    def remove(self, policy):
        self.policies.remove(policy)
        return "DELETE", self.path(policy), None

    def label_pod(self, pod):
        pod.labels = self.labels(LABELS)
        return "PATCH", f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}", self.relabel(LABELS, pod.labels)

    def label_namespace(self, name):
        self.namespaces[name] = self.labels(NAMESPACE_LABELS)
        return "PATCH", f"/api/v1/namespaces/{name}", self.relabel(NAMESPACE_LABELS, self.namespaces[name])

    @staticmethod
    def relabel(known, labels):
        return {"metadata": {"labels": {key: labels.get(key) for key in known}}}

    def labels(self, known):
        return {key: self.dice.choice(values) for key, values in known.items() if self.often(0.8)}

    # ---- policies
    def often(self, share):
        return self.dice.random() < share

    def some(self, make, most):
        return [make() for _ in range(self.dice.randint(0, most))]

    def spec(self):
        spec = {"podSelector": self.selector(LABELS)}
        types = self.dice.choice((None, ["Ingress"], ["Egress"], ["Ingress", "Egress"]))
        if types:
            spec["policyTypes"] = types
        if self.often(0.7):
            spec["ingress"] = self.some(lambda: self.rule("from"), 2)
        if self.often(0.5):
            spec["egress"] = self.some(lambda: self.rule("to"), 2)
        return spec

    def rule(self, key):
        rule = {}
        if self.often(0.8):
            rule[key] = self.some(self.peer, 2)
        if self.often(0.6):
            rule["ports"] = self.some(self.port, 2)
        return rule

    def peer(self):
        kind = self.dice.randrange(4)
        if kind == 0:
            cidr = self.dice.choice(NETWORKS)
            return {"ipBlock": {"cidr": cidr, **({"except": [PARTS[cidr]]} if cidr in PARTS and self.often(0.5) else {})}}
        return {**({"podSelector": self.selector(LABELS)} if kind != 1 else {}),
                **({"namespaceSelector": self.selector(NAMESPACE_LABELS)} if kind != 2 else {})}

    def port(self):
        protocol = self.dice.choice(list(PORTS))
        port = self.dice.choice((None, PORT_NAME, *PORTS[protocol]))
        return {"protocol": protocol, **({"port": port} if port else {})}

    def selector(self, known):
        key = self.dice.choice(list(known))
        operator = self.dice.choice(("", "labels", "In", "NotIn", "Exists", "DoesNotExist"))
        if operator in ("", "labels"):
            return {"matchLabels": {key: self.dice.choice(known[key])}} if operator else {}
        values = sorted(self.dice.sample(known[key], self.dice.randint(1, len(known[key])))) if operator in ("In", "NotIn") else None
        return {"matchExpressions": [{"key": key, "operator": operator, **({"values": values} if values else {})}]}
