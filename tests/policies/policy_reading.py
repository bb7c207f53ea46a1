"""What NetworkPolicies and admins' policies allow, read from the API's words as directly as can be: every way is asked of every policy."""
import ipaddress
from collections import namedtuple

# source, target: names of pods, NAMESPACE/NAME; family: 4 or 6.
Way = namedtuple("Way", "source target family protocol port")
# policies: NetworkPolicies; admins: admins' policies, with their kinds; namespaces: {name: labels}; nodes: {name: (labels, addresses)}.
Cluster = namedtuple("Cluster", "policies admins namespaces nodes")
TYPES = {"Ingress": ("ingress", "from"), "Egress": ("egress", "to")}
LAST = 1001


def allowed(cluster, pods, ways):
    """The ways that policies let through. cluster: a Cluster; pods: {name: policy_chance.Pod}."""
    ordered = {tier: in_order(cluster.admins, tier) for tier in ("Admin", "Baseline")}

    def is_open_for(kind, pod, peer, target, way):
        action = action_of(ordered["Admin"], cluster, kind, pod, peer, target, way)
        if action in ("Accept", "Deny"):
            return action == "Accept"
        selecting = selecting_pod(cluster.policies, kind, pod)
        if selecting:
            return passes(selecting, cluster.namespaces, kind, pod, peer, target, way)
        return action_of(ordered["Baseline"], cluster, kind, pod, peer, target, way) != "Deny"

    def is_open(way):
        source, target = pods[way.source], pods[way.target]
        return is_open_for("Egress", source, target, target, way) and is_open_for("Ingress", target, source, target, way)

    return {way for way in ways if is_open(way)}


def in_order(admins, tier):
    """Those of the tier. Of equal priority they are asked by kind and name, and a BaselineAdminNetworkPolicy is asked last."""
    tiers = {"AdminNetworkPolicy": "Admin", "BaselineAdminNetworkPolicy": "Baseline"}
    return sorted((each for each in admins if tiers.get(each["kind"], each["spec"].get("tier")) == tier),
                  key=lambda each: (each["spec"].get("priority", LAST), each["kind"], each["metadata"]["name"]))


def action_of(admins, cluster, kind, pod, peer, target, way):
    """The action of the first rule that matches, in the words of v1alpha2; None without one."""
    key, peers_key = TYPES[kind]
    for each in admins:
        spec = each["spec"]
        if not is_admin_peer(spec["subject"], cluster, pod, way.family):
            continue
        for rule in spec[key]:
            matching = [each for each in rule[peers_key] if is_admin_peer(each, cluster, peer, way.family)]
            # A named port means nothing at addresses.
            has_pods = kind == "Ingress" or any("namespaces" in each or "pods" in each for each in matching)
            if matching and is_admin_port(rule.get("ports") or rule.get("protocols"), has_pods, target, way):
                return "Accept" if rule["action"] == "Allow" else rule["action"]
    return None


def is_admin_peer(entry, cluster, pod, family):
    if (networks := entry.get("networks")) is not None:
        address = ipaddress.ip_address(pod.addresses[family])
        return any(address in ipaddress.ip_network(text) for text in networks)
    if (selector := entry.get("nodes")) is not None:
        return any(pod.addresses[family] in addresses for labels, addresses in cluster.nodes.values() if matches(selector, labels))
    if (selector := entry.get("namespaces")) is not None:
        return matches(selector, cluster.namespaces[pod.namespace])
    pods = entry["pods"]
    return matches(pods["namespaceSelector"], cluster.namespaces[pod.namespace]) and matches(pods["podSelector"], pod.labels)


def is_admin_port(ports, has_pods, target, way):
    return ports is None or any(is_one_admin_port(each, has_pods, target, way) for each in ports)


def is_one_admin_port(entry, has_pods, target, way):
    if name := entry.get("namedPort", entry.get("destinationNamedPort")):
        return has_pods and target.ports.get((name, way.protocol)) == way.port
    if numbers := entry.get("portNumber") or entry.get("portRange"):
        first, last = numbers.get("port", numbers.get("start")), numbers.get("port", numbers.get("end"))
        return numbers["protocol"] == way.protocol and first <= way.port <= last
    protocol, port = next(((key.upper(), value["destinationPort"]) for key, value in entry.items()))
    numbers = port.get("range", {"start": port.get("number"), "end": port.get("number")})
    return protocol == way.protocol and numbers["start"] <= way.port <= numbers["end"]


def selecting_pod(policies, kind, pod):
    return [each for each in policies if each["metadata"]["namespace"] == pod.namespace
            and kind in types_of(each["spec"]) and matches(each["spec"]["podSelector"], pod.labels)]


def passes(selecting, namespaces, kind, pod, peer, target, way):
    """Whether the policies of this kind, which select the pod, let it talk to the peer."""
    key, peers_key = TYPES[kind]
    for rule in (rule for each in selecting for rule in each["spec"].get(key) or ()):
        peers = rule.get(peers_key)
        matching = [each for each in peers or () if is_one_peer(each, namespaces, pod, peer, way.family)]
        # A named port means nothing at a block.
        has_pods = kind == "Ingress" or not peers or any("ipBlock" not in each for each in matching)
        if (not peers or matching) and is_port(rule.get("ports"), has_pods, target, way):
            return True
    return False


def types_of(spec):
    return spec.get("policyTypes") or ["Ingress", *(["Egress"] if spec.get("egress") else [])]


def is_one_peer(entry, namespaces, pod, peer, family):
    if block := entry.get("ipBlock"):
        address = ipaddress.ip_address(peer.addresses[family])
        inside = [address in ipaddress.ip_network(text) for text in (block["cidr"], *block.get("except", ()))]
        return inside[0] and not any(inside[1:])
    if (selector := entry.get("namespaceSelector")) is None:
        return peer.namespace == pod.namespace and matches(entry["podSelector"], peer.labels)
    return matches(selector, namespaces[peer.namespace]) and matches(entry.get("podSelector", {}), peer.labels)


def is_port(ports, has_pods, target, way):
    return not ports or any(is_one_port(each, has_pods, target, way) for each in ports)


def is_one_port(entry, has_pods, target, way):
    if entry.get("protocol", "TCP") != way.protocol:
        return False
    port = entry.get("port")
    if isinstance(port, str):
        port = target.ports.get((port, way.protocol), -1) if has_pods else -1
    return port in (None, way.port)


def matches(selector, labels):
    return all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items()) and all(
        holds(each, labels) for each in selector.get("matchExpressions", ()))


def holds(expression, labels):
    key, values = expression["key"], expression.get("values", ())
    return {"In": labels.get(key) in values, "NotIn": labels.get(key) not in values,
            "Exists": key in labels, "DoesNotExist": key not in labels}[expression["operator"]]
