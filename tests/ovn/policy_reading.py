"""What NetworkPolicies allow, read from the API's words as directly as can be: every way is asked of every policy."""
import ipaddress
from collections import namedtuple

# source, target: names of pods, NAMESPACE/NAME; family: 4 or 6.
Way = namedtuple("Way", "source target family protocol port")
TYPES = {"Ingress": ("ingress", "from"), "Egress": ("egress", "to")}


def allowed(policies, namespaces, pods, ways):
    """The ways that policies let through. policies: objects; namespaces: {name: labels}; pods: {name: policy_chance.Pod}."""
    def is_open(way):
        source, target = pods[way.source], pods[way.target]
        return (passes(policies, namespaces, "Egress", source, target, target, way)
                and passes(policies, namespaces, "Ingress", target, source, target, way))

    return {way for way in ways if is_open(way)}


def passes(policies, namespaces, kind, pod, peer, target, way):
    """Whether the policies of this kind that select the pod let it talk to the peer."""
    key, peers_key = TYPES[kind]
    selecting = [each for each in policies if each["metadata"]["namespace"] == pod.namespace
                 and kind in types_of(each["spec"]) and matches(each["spec"]["podSelector"], pod.labels)]
    return not selecting or any(
        is_peer(rule.get(peers_key), namespaces, pod, peer, way.family) and is_port(rule.get("ports"), target, way)
        for each in selecting for rule in each["spec"].get(key) or ())


def types_of(spec):
    return spec.get("policyTypes") or ["Ingress", *(["Egress"] if spec.get("egress") else [])]


def is_peer(peers, namespaces, pod, peer, family):
    return not peers or any(is_one_peer(each, namespaces, pod, peer, family) for each in peers)


def is_one_peer(entry, namespaces, pod, peer, family):
    if block := entry.get("ipBlock"):
        address = ipaddress.ip_address(peer.addresses[family])
        inside = [address in ipaddress.ip_network(text) for text in (block["cidr"], *block.get("except", ()))]
        return inside[0] and not any(inside[1:])
    if (selector := entry.get("namespaceSelector")) is None:
        return peer.namespace == pod.namespace and matches(entry["podSelector"], peer.labels)
    return matches(selector, namespaces[peer.namespace]) and matches(entry.get("podSelector", {}), peer.labels)


def is_port(ports, target, way):
    return not ports or any(is_one_port(each, target, way) for each in ports)


def is_one_port(entry, target, way):
    if entry.get("protocol", "TCP") != way.protocol:
        return False
    port = entry.get("port")
    if isinstance(port, str):
        port = target.ports.get((port, way.protocol), -1)
    return port in (None, way.port)


def matches(selector, labels):
    return all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items()) and all(
        holds(each, labels) for each in selector.get("matchExpressions", ()))


def holds(expression, labels):
    key, values = expression["key"], expression.get("values", ())
    return {"In": labels.get(key) in values, "NotIn": labels.get(key) not in values,
            "Exists": key in labels, "DoesNotExist": key not in labels}[expression["operator"]]
