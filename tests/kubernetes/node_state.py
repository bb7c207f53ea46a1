"""What a node's network consists of, without its pods and without kube-proxy's rules."""
import json

TAP = "tap"


def node_state(node):
    """A set of texts, to be compared with another one of this node."""
    return {*_kernel_state(node.host), *_switch_state(node.ovs)}


def _kernel_state(host):
    for link in json.loads(host.run("ip -json address show")):
        if link["ifname"].startswith(TAP):
            continue
        yield f"link {link['ifname']}"
        yield from (f"address {each['local']}/{each['prefixlen']} of {link['ifname']}" for each in link["addr_info"])
    for family in ("-4", "-6"):
        for route in json.loads(host.run(f"ip -json {family} route show")):
            if not route.get("dev", "").startswith(TAP):
                yield f"route {family} {route['dst']} via {route.get('gateway')} dev {route.get('dev')}"
        yield from (f"rule {family} {line}" for line in host.run(f"ip {family} rule show").splitlines())
    yield from (line for line in host.run("nft list tables").splitlines() if "kuryr" in line)


def _switch_state(ovs):
    for bridge in ovs.vsctl("list-br").split():
        yield f"bridge {bridge}"
        yield from (f"port {name} of {bridge}" for name in ovs.vsctl("list-ports", bridge).split() if not name.startswith(TAP))
    yield f"external_ids {ovs.vsctl('get', 'Open_vSwitch', '.', 'external_ids')}"
    yield f"other_config {ovs.vsctl('get', 'Open_vSwitch', '.', 'other_config')}"
