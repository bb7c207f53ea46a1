"""AdminNetworkPolicies and the BaselineAdminNetworkPolicy by chance."""
from policies.policy_chance import LABELS, NAMESPACE_LABELS, NETWORKS, PORT_NAME, PORTS

GROUP = "policy.networking.k8s.io"
VERSION = "v1alpha1"
PATH = f"/apis/{GROUP}/{VERSION}"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
KINDS = {"adminnetworkpolicies": "AdminNetworkPolicy", "baselineadminnetworkpolicies": "BaselineAdminNetworkPolicy"}
ADMINS, BASELINE = KINDS
MOST_ADMINS = 4


def definition(plural):
    kind = KINDS[plural]
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {
                "name": f"{plural}.{GROUP}", "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs"}},
            "spec": {"group": GROUP, "scope": "Cluster",
                     "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()},
                     "versions": [{"name": VERSION, "served": True, "storage": True, "schema": {"openAPIV3Schema": anything}}]}}


class AdminChance:
    def __init__(self, chance):
        """chance: the policy_chance.Chance that makes the NetworkPolicies."""
        self.chance, self.dice = chance, chance.dice
        self.policies, self.made = [], 0  # (plural, object)

    def __str__(self):
        return str([[plural, each["metadata"]["name"], each["spec"]] for plural, each in self.policies])

    def next(self):
        """Changes, as Chance.next has them: a new policy, another spec, or a policy less; often nothing."""
        if not self.chance.often(0.5):
            return []
        if len(self.policies) > MOST_ADMINS or (self.policies and self.chance.often(0.3)):
            return [self.remove(self.dice.choice(self.policies))]
        if self.policies and self.chance.often(0.4):
            return [self.replace(self.dice.choice(self.policies))]
        return [self.add()]

    def remove_all(self):
        return [self.remove(each) for each in list(self.policies)]

    def add(self):
        has_baseline = any(plural == BASELINE for plural, _ in self.policies)
        plural = BASELINE if not has_baseline and self.chance.often(0.3) else ADMINS
        self.made += 1
        name = "default" if plural == BASELINE else f"admin-{self.made}"
        policy = {"apiVersion": f"{GROUP}/{VERSION}", "kind": KINDS[plural], "metadata": {"name": name}, "spec": self.spec(plural)}
        self.policies.append((plural, policy))
        return "POST", f"{PATH}/{plural}", policy

    def replace(self, policy):
        plural, body = policy
        body["spec"] = self.spec(plural)
        return "REPLACE", f"{PATH}/{plural}/{body['metadata']['name']}", [{"op": "replace", "path": "/spec", "value": body["spec"]}]

    def remove(self, policy):
        self.policies.remove(policy)
        return "DELETE", f"{PATH}/{policy[0]}/{policy[1]['metadata']['name']}", None

    def spec(self, plural):
        actions = ("Allow", "Deny") if plural == BASELINE else ("Allow", "Deny", "Pass", "Pass")
        return {**({} if plural == BASELINE else {"priority": self.dice.choice((1, 2, 3))}),
                "subject": self.some_pods(),
                "ingress": self.chance.some(lambda: self.rule("from", actions), 3),
                "egress": self.chance.some(lambda: self.rule("to", actions), 3)}

    def rule(self, key, actions):
        peers = [self.peer(key) for _ in range(self.dice.randint(1, 2))]
        ports = [self.port() for _ in range(self.dice.randint(1, 2))] if self.chance.often(0.4) else None
        return {"action": self.dice.choice(actions), key: peers, **({"ports": ports} if ports else {})}

    def peer(self, key):
        if key == "to" and self.chance.often(0.3):
            return {"networks": self.dice.sample(NETWORKS, 2)}
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
