"""A node's link as a port of Open vSwitch, as tunnels of the userspace datapath want it."""
import json

from harness.host import UPLINK
from harness.process import run

BRIDGE = "br-ex"
# Packets of the link get to Open vSwitch, and would get to the kernel a second time.
DROP_IN_KERNEL = (f"add table netdev {UPLINK}; add chain netdev {UPLINK} received "
                  f"{{ type filter hook ingress device {UPLINK} priority 0; policy drop; }}")


def make_uplink_bridge(ovs):
    """Moves the addresses and routes of a segment's host from its link to a bridge's port. ovs: the host's Open vSwitch. The
    datapath of userspace makes no checksums, so the kernel makes them."""
    host = ovs.host
    (link,) = json.loads(host.run(f"ip -json address show dev {UPLINK}"))
    routes = [(family, route) for family in (4, 6) for route in json.loads(host.run(f"ip -{family} -json route show dev {UPLINK}"))
              if "gateway" in route]
    ovs.vsctl("add-br", BRIDGE, "--", "set", "Bridge", BRIDGE, f"datapath_type={ovs.datapath}", "--", "add-port", BRIDGE, UPLINK)
    host.run("nft", DROP_IN_KERNEL)
    host.run(f"ethtool -K {BRIDGE} tx off")
    run(f"ethtool -K {host.name} tx off")
    for what in ("address", "-6 route"):
        host.run(f"ip {what} flush dev {UPLINK}")
    host.run(f"ip link set {BRIDGE} up")
    for each in link["addr_info"]:
        if each["scope"] == "global":
            host.run(f"ip address add {each['local']}/{each['prefixlen']} dev {BRIDGE} {'nodad' if ':' in each['local'] else ''}")
    for family, route in routes:
        host.run(f"ip -{family} route add {route['dst']} via {route['gateway']} dev {BRIDGE}")
