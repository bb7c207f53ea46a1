"""The cluster of two nodes whose pods share one network: a segment of its own joins the bridges of the nodes, and the machine outside
is the pods' gateway."""
from harness.process import run
from kubernetes.two_nodes import TwoNodes

SEGMENT, PORT = "segment1", "pods"
NETWORKS = {4: ("10.244.0.1", "10.244.0.0/16"), 6: ("fd00:244::1", "fd00:244::/64")}


class FlatNodes(TwoNodes):
    seen_at_service = "its node's"
    seen_outside = "its own"
    keeps_clients = False
    nodes_enforce_policies = False
    pods_route_services = True

    def __init__(self, release, options):
        run(f"ip link add {SEGMENT} up type bridge")
        for family in options.families:
            gateway, network = NETWORKS[family]
            run(f"ip address add {gateway}/{network.partition('/')[2]} dev {SEGMENT} {'nodad' if family == 6 else ''}")
        # Pods reach the nodes' own addresses by their gateway.
        run("sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1")
        super().__init__(release, options)

    def _make_node(self, host):
        node, link = super()._make_node(host), f"{PORT}-{host.name}"
        run(f"ip link add {link} up master {SEGMENT} type veth peer name {PORT} netns {host.holder.pid}")
        # The datapath of userspace makes no checksums, so the kernel makes them.
        run(f"ethtool -K {link} tx off")
        host.run(f"ip link set {PORT} up")
        node.ovs.vsctl("add-port", node.ovs.bridge, PORT)
        return node

    def source_at_service(self, pod, family):
        return self.management_address(pod.node, family)

    def source_outside(self, pod, family):
        return pod.addresses[family]

    def _controller_changes(self):
        networks = ", ".join(NETWORKS[family][1] for family in self.families)
        return {"pool:pods": {"cidr": networks, "from_node": None, "node_prefix": None}}
