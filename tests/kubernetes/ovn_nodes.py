"""The cluster of two nodes on OVN: its central part on the first node, ovn-controller and an end of Geneve's tunnels on each."""
from harness.uplink_bridge import make_uplink_bridge
from kubernetes.network import in_url
from kubernetes.two_nodes import APPLIED, TwoNodes, joined
from ovn.central import CONTROLLER, NORTHBOUND, SOUTHBOUND_PORT, Central, Daemons, avoid_zero_snat


class OvnNodes(TwoNodes):
    nodes_enforce_policies = False

    def __init__(self, release, options):
        # With kube-proxy pods answer each other past the nodes, so these masquerade what it has translated.
        self.proxy_serves_pods = options.services == "kube-proxy"
        self.seen_at_service = "its node's" if self.proxy_serves_pods else "its"
        super().__init__(release, options)

    def _make_node(self, host):
        node = super()._make_node(host)
        make_uplink_bridge(node.ovs)
        avoid_zero_snat(host, node.ovs)
        return node

    def start(self):
        self.central = Central(self.hosts[0], listens=True)
        self.controllers = [Daemons({CONTROLLER: [CONTROLLER]}, host) for host in self.hosts]
        for daemons in self.controllers:
            # kuryr-daemon tells it of the databases.
            daemons.start(CONTROLLER)
        super().start()

    def source_at_service(self, pod, family):
        if not self.proxy_serves_pods:
            return super().source_at_service(pod, family)
        return self.management_address(pod.node, family)

    def _manifests(self):
        return joined(APPLIED if self.proxy_serves_pods else (*APPLIED, "ovn/rbac-services.yaml"))

    def _controller_changes(self):
        return {"controller": {"backend": "ovn"}, "ovn": {"nb_connection": NORTHBOUND, "services": self.options.services}}

    def _agent_changes(self):
        (address, *_) = self.nodes[0].addresses
        return {"ovn": {"manage_node": "true", "sb_connection": f"tcp:{in_url(address)}:{SOUTHBOUND_PORT}"}}
