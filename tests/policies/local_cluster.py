"""Two nodes whose pods kuryr-controller plans by itself, in routed pools: backend local, as README's cluster has it."""
import contextlib
import ipaddress

from controller.cluster import Cluster
from harness.host import UPLINK, Segment
from harness.kuryr_node import kuryr_node, kuryr_target
from harness.process import run
from ovn.central import EVENT_SECONDS
from ovn.controlled_pods import ControlledPods
from policies.policy_chance import CIDRS

NAMES = ("node1", "node2")
# The segment's network of IPv6, in which the hosts have the numbers that they have in that of IPv4.
SEGMENT6 = ipaddress.ip_network("2001:db8:2::/64")
NETWORK = {"enabled": "true", "service_cidrs": "10.96.0.0/16, fd00:96::/112"}
BACKEND = f"""[controller]
backend = local
leader_elect = false
[node_network]
enabled = true
service_cidrs = {NETWORK['service_cidrs']}
[pool:pods]
cidr = {', '.join(CIDRS.values())}
node_prefix = 28, 80
default = true
rest = 1
"""
FORWARDING = ("net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")


class LocalCluster(ControlledPods):
    def __init__(self, chosen, define, users=""):
        """As ControlledPods."""
        self.patience, self.segment = EVENT_SECONDS, Segment()
        run(f"ip address add {SEGMENT6[1]}/64 dev {self.segment.bridge} nodad")
        self.hosts = [self.make_host(name) for name in NAMES]
        self.begin(chosen, lambda programs: Cluster(programs, users, address=self.segment.address), BACKEND, define)

    def make_host(self, name):
        host = self.segment.make_host(name)
        number = int(host.address.rpartition(".")[2])
        host.address6 = str(SEGMENT6[number])
        host.run(f"ip address add {host.address6}/64 dev {UPLINK} nodad")
        for setting in FORWARDING:
            host.run("sysctl", "-qw", setting)
        return host

    def join(self, chosen):
        for host in self.hosts:
            addresses = [{"type": "InternalIP", "address": each} for each in (host.address, host.address6)]
            self.api.patch(f"/api/v1/nodes/{host.name}/status", {"status": {"addresses": addresses}})
        return [kuryr_node(kuryr_target(chosen.plugin), self.api, chosen.daemon, host, node_network=NETWORK,
                           cni_daemon={"daemon_enabled": "true", "vif_annotation_timeout": EVENT_SECONDS}) for host in self.hosts]

    def explain(self, pod):
        """What the pod's node says of its policies."""
        agent = self.sandboxes[pod].node.agent
        return agent.host.run(agent.program, "--config-file", agent.conf, "policy", pod)

    @contextlib.contextmanager
    def disturbed(self, number):
        """A node's kuryr-daemon is killed and, by number, starts at once or only after the block; or an administrator removes all rules
        of a node's nftables."""
        node = self.nodes[number // 3 % len(self.nodes)]
        if number % 3 == 2:
            node.host.run("nft flush ruleset")
            yield
            return
        node.agent.kill()
        if number % 3:
            node.agent.start()
        yield
        if not number % 3:
            node.agent.start()
