"""What NetworkPolicies and admins' policies allow, read from the API's words as directly as can be: every way is asked of every policy."""
import ipaddress
from collections import namedtuple

# source, target: names of pods, NAMESPACE/NAME; family: 4 or 6.
Way = namedtuple("Way", "source target family protocol port")
TYPES = {"Ingress": ("ingress", "from"), "Egress": ("egress", "to")}


def allowed(policies, admins, namespaces, pods, ways):
    """The ways that policies let through. policies: objects; admins: admins' policies, with their kinds; namespaces: {name: labels};
    pods: {name: policy_chance.Pod}."""
    ordered = sorted((each for each in admins if each["kind"] == "AdminNetworkPolicy"),
                     key=lambda each: (each["spec"]["priority"], each["metadata"]["name"]))
    baseline = [each for each in admins if each["kind"] == "BaselineAdminNetworkPolicy"]

    def is_open_for(kind, pod, peer, target, way):
        action = action_of(ordered, namespaces, kind, pod, peer, target, way)
        if action in ("Allow", "Deny"):
            return action == "Allow"
        selecting = selecting_pod(policies, kind, pod)
        if selecting:
            return passes(selecting, namespaces, kind, pod, peer, target, way)
        return action_of(baseline, namespaces, kind, pod, peer, target, way) != "Deny"

    def is_open(way):
        source, target = pods[way.source], pods[way.target]
        return is_open_for("Egress", source, target, target, way) and is_open_for("Ingress", target, source, target, way)

    return {way for way in ways if is_open(way)}


def action_of(admins, namespaces, kind, pod, peer, target, way):
    """The action of the first rule that matches; None without one."""
    key, peers_key = TYPES[kind]
    for each in admins:
        spec = each["spec"]
        if not is_admin_peer(spec["subject"], namespaces, pod, way.family):
            continue
        for rule in spec[key]:
            matching = [each for each in rule[peers_key] if is_admin_peer(each, namespaces, peer, way.family)]
            # A named port means nothing at a network.
            has_pods = kind == "Ingress" or any("networks" not in each for each in matching)
            if matching and is_admin_port(rule.get("ports"), has_pods, target, way):
                return rule["action"]
    return None


def is_admin_peer(entry, namespaces, pod, family):
    if (networks := entry.get("networks")) is not None:
        address = ipaddress.ip_address(pod.addresses[family])
        return any(address in ipaddress.ip_network(text) for text in networks)
    if (selector := entry.get("namespaces")) is not None:
        return matches(selector, namespaces[pod.namespace])
    pods = entry["pods"]
    return matches(pods["namespaceSelector"], namespaces[pod.namespace]) and matches(pods["podSelector"], pod.labels)


def is_admin_port(ports, has_pods, target, way):
    return ports is None or any(is_one_admin_port(each, has_pods, target, way) for each in ports)


def is_one_admin_port(entry, has_pods, target, way):
    if name := entry.get("namedPort"):
        return has_pods and target.ports.get((name, way.protocol)) == way.port
    numbers = entry.get("portNumber") or entry["portRange"]
    first, last = numbers.get("port", numbers.get("start")), numbers.get("port", numbers.get("end"))
    return numbers["protocol"] == way.protocol and first <= way.port <= last


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
